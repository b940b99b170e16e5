#include "aten/cuda/device_check.cuh"
#include "aten/cuda/launch_shape.h"
#include "aten/cuda/solver/solver_kernels.h"
#include "c10/cuda/exception.h"
#include "c10/cuda/launch.h"
#include "c10/cuda/stream.h"

namespace at::cuda::solver {
namespace {

__global__ void addresses(const char* first, int64_t bytes, int64_t count, const char** to) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) to[i] = first + i * bytes;
}

// Rows of which the order is kept in shared memory while they are exchanged.
constexpr int64_t kSharedRows = 4096;
constexpr uint32_t kPermutationThreads = 64;

// A block takes a matrix. Its exchanges follow each other: one thread makes them all.
__global__ void permutations(const int* pivots, int64_t count, int64_t k, int64_t m, int64_t* order) {
  const bool is_shared = m <= kSharedRows;
  for (int64_t i = blockIdx.x; i < count; i += gridDim.x) {
    int64_t* const mine = is_shared ? c10::cuda::dynamic_shared<int64_t>() : order + i * m;
    for (int64_t r = threadIdx.x; r < m; r += kPermutationThreads) mine[r] = r;
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int64_t r = 0; r < k; ++r) {
        const int64_t other = int64_t{pivots[i * k + r]} - 1;
        AT_CUDA_KERNEL_CHECK(other >= 0 && other < m,
                             "pivots must be between 1 and LU.size(-2) inclusive. Did you properly pass the result of "
                             "lu_factor?");
        const int64_t held = mine[r];
        mine[r] = mine[other];
        mine[other] = held;
      }
    }
    __syncthreads();
    if (!is_shared) continue;
    for (int64_t r = threadIdx.x; r < m; r += kPermutationThreads) order[i * m + r] = mine[r];
    __syncthreads();
  }
}

c10::cuda::Launch shape_of(int64_t count) {
  const int64_t blocks = (count - 1) / kThreadsPerBlock + 1;
  return {.grid = static_cast<uint32_t>(std::min<int64_t>(blocks, kMostBlocks)),
          .block = kThreadsPerBlock,
          .stream = c10::cuda::getCurrentCUDAStream()};
}

}  // namespace

void launch_addresses(const char* first, int64_t bytes, int64_t count, const char** to) {
  c10::cuda::launch_or_throw("solver_addresses", addresses, shape_of(count), first, bytes, count, to);
}

void launch_permutations(const int* pivots, int64_t count, int64_t k, int64_t m, int64_t* order) {
  const c10::cuda::Launch shape{.grid = static_cast<uint32_t>(std::min<int64_t>(count, 65535)),
                                .block = kPermutationThreads,
                                .shared_bytes = m <= kSharedRows ? static_cast<size_t>(m) * sizeof(int64_t) : 0,
                                .stream = c10::cuda::getCurrentCUDAStream()};
  c10::cuda::launch_or_throw("lu_permutations", permutations, shape, pivots, count, k, m, order);
}

}  // namespace at::cuda::solver
