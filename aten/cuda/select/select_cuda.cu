#include <cstdint>

#include "aten/cuda/device_check.cuh"
#include "aten/cuda/elementwise.cuh"
#include "aten/cuda/select/select_call.h"

namespace at::cuda {
namespace {

__global__ void coordinates(const __grid_constant__ CoordinatesCall call) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < call.count; i += step) {
    int64_t* const to = call.to + i * call.rank;
    if (call.small) {
      uint32_t rest = static_cast<uint32_t>(call.positions[i]);
      for (int d = call.rank - 1; d >= 0; --d) {
        const uint32_t above = divide(rest, call.divisors[d]);
        to[d] = rest - above * call.divisors[d].divisor;
        rest = above;
      }
    } else {
      int64_t rest = call.positions[i];
      for (int d = call.rank - 1; d >= 0; --d) {
        to[d] = rest % call.sizes[d];
        rest /= call.sizes[d];
      }
    }
  }
}

template <class T>
__global__ void take_flagged_elements(char* to, const uint8_t* flags, const int64_t* ranks, const char* from,
                                      int64_t size, int64_t n) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) {
    if (flags[i] == 0) continue;
    AT_CUDA_KERNEL_CHECK(ranks[i] < size, "masked_scatter: source has fewer elements than the mask has true ones");
    c10::cuda::store_aligned(to + i * int64_t{sizeof(T)},
                             c10::cuda::load_aligned<T>(from + ranks[i] * int64_t{sizeof(T)}));
  }
}

struct alignas(16) Bytes16 {
  uint64_t v[2];
};

auto flagged_kernel(int item_size) {
  switch (item_size) {
    case 1:
      return take_flagged_elements<uint8_t>;
    case 2:
      return take_flagged_elements<uint16_t>;
    case 4:
      return take_flagged_elements<uint32_t>;
    case 8:
      return take_flagged_elements<uint64_t>;
    default:
      return take_flagged_elements<Bytes16>;
  }
}

c10::cuda::Launch shape_of(int64_t n) {
  return shape_for(static_cast<uint32_t>(std::min<int64_t>(n, INT32_MAX)), 1, c10::cuda::getCurrentCUDAStream());
}

}  // namespace

void launch_coordinates(const CoordinatesCall& call) {
  c10::cuda::launch_or_throw("nonzero", coordinates, shape_of(call.count), call);
}

void launch_take_flagged(char* to, const uint8_t* flags, const int64_t* ranks, const char* from, int64_t size,
                         int64_t n, int item_size) {
  c10::cuda::launch_or_throw("masked_scatter", flagged_kernel(item_size), shape_of(n), to, flags, ranks, from, size, n);
}

}  // namespace at::cuda
