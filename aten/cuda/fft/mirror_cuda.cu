#include <algorithm>
#include <cstdint>

#include "aten/cuda/elementwise.cuh"
#include "aten/cuda/fft/mirror_call.h"

namespace at::cuda::fft {
namespace {

// Real numbers are moved as bits: the conjugate has another sign bit.
template <class Bits>
struct alignas(2 * sizeof(Bits)) Number {
  Bits real, imaginary;
};

template <class Bits>
__global__ void mirror_conjugates(const __grid_constant__ MirrorCall call, uint32_t n) {
  auto* const data = reinterpret_cast<Number<Bits>*>(call.data);
  const uint32_t step = gridDim.x * blockDim.x;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
    uint32_t rest = divide(i, call.missing);
    const int64_t place = call.n / 2 + 1 + (i - rest * call.missing.divisor);
    int64_t to = place * call.step, from = (call.n - place) * call.step;
    for (int d = 0; d < call.dims; ++d) {
      const FastDivisor& size = call.sizes[d];
      const uint32_t above = divide(rest, size), index = rest - above * size.divisor;
      rest = above;
      to += index * call.strides[d];
      from += (index == 0 ? 0 : size.divisor - index) * call.strides[d];
    }
    to += rest * call.distance;
    from += rest * call.distance;
    auto number = c10::cuda::load_aligned<Number<Bits>>(data + from);
    number.imaginary ^= static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
    c10::cuda::store_aligned(data + to, number);
  }
}

}  // namespace

void launch_mirror(const MirrorCall& call) {
  int64_t each = call.missing.divisor;
  for (int d = 0; d < call.dims; ++d) each *= call.sizes[d].divisor;
  const auto kernel = call.real_size == 2   ? mirror_conjugates<uint16_t>
                      : call.real_size == 4 ? mirror_conjugates<uint32_t>
                                            : mirror_conjugates<uint64_t>;
  MirrorCall part = call;
  const int64_t together = std::max<int64_t>(1, INT32_MAX / each);
  for (int64_t left = call.blocks; left > 0; left -= together) {
    const auto n = static_cast<uint32_t>(std::min(together, left) * each);
    c10::cuda::launch_or_throw("_fft_mirror", kernel, shape_for(n, 1, c10::cuda::getCurrentCUDAStream()), part, n);
    part.data += together * call.distance * 2 * call.real_size;
  }
}

}  // namespace at::cuda::fft
