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

// The exchanges of a matrix follow each other: a thread takes them all.
__global__ void permutations(const int* pivots, int64_t count, int64_t k, int64_t m, int64_t* order) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    int64_t* const mine = order + i * m;
    for (int64_t r = 0; r < m; ++r) mine[r] = r;
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
  c10::cuda::launch_or_throw("lu_permutations", permutations, shape_of(count), pivots, count, k, m, order);
}

}  // namespace at::cuda::solver
