#include <algorithm>
#include <cstdint>

#include "aten/cuda/conv/unfold_call.h"
#include "aten/cuda/elementwise.cuh"

namespace at::cuda {
namespace {

struct alignas(16) Bytes16 {
  uint64_t v[2];
};

template <class T>
__global__ void im2col(const __grid_constant__ UnfoldCall call, uint32_t n) {
  const uint32_t step = gridDim.x * blockDim.x;
  const auto* const from = reinterpret_cast<const T*>(call.from);
  auto* const to = reinterpret_cast<T*>(call.to);
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
    uint32_t at[4], rest = i;  // in the kernel, then which window
#pragma unroll
    for (int d = 3; d >= 0; --d) {
      const FastDivisor& size = call.sizes[3 - d];
      const uint32_t above = divide(rest, size);
      at[d] = rest - above * size.divisor;
      rest = above;
    }
    bool inside = true;
    int64_t place[2];
#pragma unroll
    for (int d = 0; d < 2; ++d) {
      place[d] = int64_t{at[2 + d]} * call.stride[d].divisor + int64_t{at[d]} * call.dilation[d] - call.padding[d];
      inside = inside && place[d] >= 0 && place[d] < call.size[d];
    }
    to[i] = inside ? from[rest * call.plane + place[0] * call.size[1] + place[1]] : T{};
  }
}

// Which window has place `at` of the picture as number k of its kernel; false: none.
KD_DEVICE bool window_of(const UnfoldCall& call, int d, uint32_t at, uint32_t k, uint32_t* window) {
  const int64_t distance = int64_t{at} + call.padding[d] - int64_t{k} * call.dilation[d];
  if (distance < 0) return false;
  *window = divide(static_cast<uint32_t>(distance), call.stride[d]);
  return int64_t{*window} * call.stride[d].divisor == distance && *window < call.count[d];
}

template <class C>
__global__ void col2im(const __grid_constant__ UnfoldCall call, uint32_t n) {
  const uint32_t step = gridDim.x * blockDim.x;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
    const uint32_t line = divide(i, call.sizes[0]), column = i - line * call.sizes[0].divisor;
    const uint32_t plane = divide(line, call.sizes[1]), row = line - plane * call.sizes[1].divisor;
    C sum = C(0);
    for (uint32_t a = 0; a < call.kernel[0]; ++a) {
      uint32_t y;
      if (!window_of(call, 0, row, a, &y)) continue;
      for (uint32_t b = 0; b < call.kernel[1]; ++b) {
        uint32_t x;
        if (!window_of(call, 1, column, b, &x)) continue;
        const int64_t place = ((int64_t{a} * call.kernel[1] + b) * call.count[0] + y) * call.count[1] + x;
        const C value = load_as<C>(call.from + (plane * call.unfolded + place) * call.item, call.dtype);
        if constexpr (std::is_same_v<C, int64_t>)
          sum = static_cast<C>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(value));
        else
          sum = sum + value;
      }
    }
    store_as(call.to + i * call.item, call.dtype, sum);
  }
}

auto im2col_kernel(int64_t item) {
  switch (item) {
    case 1:
      return im2col<uint8_t>;
    case 2:
      return im2col<uint16_t>;
    case 4:
      return im2col<uint32_t>;
    case 8:
      return im2col<uint64_t>;
    default:
      return im2col<Bytes16>;
  }
}

auto col2im_kernel(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Double:
      return col2im<double>;
    case ScalarType::ComplexHalf:
    case ScalarType::ComplexFloat:
      return col2im<c10::complex<float>>;
    case ScalarType::ComplexDouble:
      return col2im<c10::complex<double>>;
    default:
      return c10::isIntegralType(dtype, true) ? col2im<int64_t> : col2im<float>;
  }
}

// As many planes together as a kernel counts; `of` elements of each are written, `other` read.
template <class Kernel>
void launch_planes(UnfoldCall call, int64_t of, int64_t other, Kernel kernel) {
  const int64_t together = std::max<int64_t>(1, INT32_MAX / of);
  for (int64_t left = call.planes; left > 0; left -= together) {
    const auto n = static_cast<uint32_t>(std::min(together, left) * of);
    c10::cuda::launch_or_throw(call.name, kernel, shape_for(n, 1, c10::cuda::getCurrentCUDAStream()), call, n);
    call.to += together * of * call.item;
    call.from += together * other * call.item;
  }
}

}  // namespace

void launch_im2col(const UnfoldCall& call) {
  launch_planes(call, call.unfolded, call.plane, im2col_kernel(call.item));
}
void launch_col2im(const UnfoldCall& call) {
  launch_planes(call, call.plane, call.unfolded, col2im_kernel(call.dtype));
}

}  // namespace at::cuda
