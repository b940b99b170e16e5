// The first elements of rows in order, found without sorting the rows.
#include <cstdint>

#include "aten/cuda/elementwise.cuh"
#include "aten/cuda/sort/order.cuh"
#include "aten/cuda/sort/sort_call.h"

namespace at::cuda {
namespace {

constexpr int kDigits = 256;  // of eight bits, and a thread for each
static_assert(kDigits == kThreadsPerBlock);
constexpr int kWarps = kThreadsPerBlock / 32;

// What comes before a thread's own bit in the block, and all: bits in the order of the threads. Two barriers; `totals` has kWarps places.
struct Before {
  uint32_t own, all;
};
__device__ Before count_before(bool bit, uint32_t* totals) {
  const unsigned mask = __ballot_sync(0xffffffff, bit), lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (lane == 0) totals[warp] = __popc(mask);
  __syncthreads();
  Before before{static_cast<uint32_t>(__popc(mask & ((1u << lane) - 1))), 0};
  for (unsigned w = 0; w < kWarps; ++w) {
    if (w < warp) before.own += totals[w];
    before.all += totals[w];
  }
  __syncthreads();
  return before;
}

// A block for a row. The k-th key is found digit by digit, the highest first; then the places of what is before it, and of as many of
// its equals as are missing, are written in their own order; with `only_last`, the place of the last of these equals.
template <class Position>
__global__ void select_first(const __grid_constant__ Rows rows, int64_t k, bool descending, bool only_last,
                             Position* places) {
  __shared__ uint32_t histogram[kDigits];
  __shared__ uint32_t totals[kWarps];
  __shared__ uint32_t chosen[2];  // the digit, and how many keys come before those that have it
  const int bits = bits_of_image(rows.dtype);
  const uint64_t used = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  for (int64_t row = blockIdx.x; row < rows.rows(); row += gridDim.x) {
    const int64_t outer = row / rows.inner;
    const char* const first = rows.data + (outer * rows.size * rows.inner + row - outer * rows.inner) * rows.item;
    const auto key_at = [&](int64_t place) {
      const uint64_t image = load_image(first + place * rows.inner * rows.item, rows.dtype);
      return descending ? ~image & used : image;
    };
    uint64_t prefix = 0, known = 0;
    int64_t missing = k;  // of the keys that begin with `prefix`
    for (int shift = bits - 8; shift >= 0; shift -= 8) {
      histogram[threadIdx.x] = 0;
      __syncthreads();
      for (int64_t place = threadIdx.x; place < rows.size; place += blockDim.x) {
        const uint64_t key = key_at(place);
        if ((key & known) == prefix) atomicAdd(&histogram[key >> shift & 0xff], 1u);
      }
      __syncthreads();
      uint32_t up_to = histogram[threadIdx.x];
      const uint32_t own = up_to;
      for (int step = 1; step < 32; step *= 2) {
        const uint32_t other = __shfl_up_sync(0xffffffff, up_to, step);
        if (threadIdx.x % 32 >= static_cast<unsigned>(step)) up_to += other;
      }
      if (threadIdx.x % 32 == 31) totals[threadIdx.x / 32] = up_to;
      __syncthreads();
      for (unsigned w = 0; w < threadIdx.x / 32; ++w) up_to += totals[w];
      if (up_to >= missing && up_to - own < missing) {
        chosen[0] = threadIdx.x;
        chosen[1] = up_to - own;
      }
      __syncthreads();
      prefix |= static_cast<uint64_t>(chosen[0]) << shift;
      known |= uint64_t{0xff} << shift;
      missing -= chosen[1];
      __syncthreads();
    }
    int64_t before = 0, equals = 0;
    for (int64_t start = 0; start < rows.size; start += blockDim.x) {
      const int64_t place = start + threadIdx.x;
      const uint64_t key = place < rows.size ? key_at(place) : ~uint64_t{0};
      const bool is_before = place < rows.size && key < prefix, is_equal = place < rows.size && key == prefix;
      const Before smaller = count_before(is_before, totals), same = count_before(is_equal, totals);
      const int64_t rank = equals + same.own;
      if (only_last) {
        if (is_equal && rank == missing - 1) places[row] = static_cast<Position>(place);
      } else if (is_before || (is_equal && rank < missing)) {
        const int64_t equals_before = rank < missing ? rank : missing;
        places[row * k + before + smaller.own + equals_before] = static_cast<Position>(place);
      }
      before += smaller.all;
      equals += same.all;
    }
  }
}

}  // namespace

void launch_select_first(const Rows& rows, int64_t k, bool descending, bool only_last, void* places) {
  const c10::cuda::Launch shape{.grid = static_cast<unsigned>(std::min<int64_t>(rows.rows(), kMostBlocks)),
                                .block = kThreadsPerBlock,
                                .stream = c10::cuda::getCurrentCUDAStream()};
  if (rows.wide) {
    c10::cuda::launch_or_throw("select_first", select_first<int64_t>, shape, rows, k, descending, only_last,
                               static_cast<int64_t*>(places));
  } else {
    c10::cuda::launch_or_throw("select_first", select_first<int32_t>, shape, rows, k, descending, only_last,
                               static_cast<int32_t*>(places));
  }
}

}  // namespace at::cuda
