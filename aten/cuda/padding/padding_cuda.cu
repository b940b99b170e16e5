#include <cstdint>

#include "aten/cuda/elementwise.cuh"
#include "aten/cuda/padding/padding_call.h"

namespace at::cuda {
namespace {

// The coordinate in the input of one in the result.
KD_DEVICE int64_t source_of(const PaddingCall& call, int d, int64_t place) {
  const int64_t n = call.in[d];
  int64_t at = place - call.before[d];
  if (!call.reflects) return at < 0 ? 0 : at >= n ? n - 1 : at;
  if (at < 0) at = -at;
  return at >= n ? 2 * (n - 1) - at : at;
}

struct alignas(16) Bytes16 {
  uint64_t v[2];
};

// Coordinates of element i of a [planes][sizes] tensor.
struct Coordinates {
  uint32_t plane, at[3];
};
KD_DEVICE Coordinates coordinates_of(const PaddingCall& call, uint32_t i) {
  Coordinates c;
  for (int d = 2; d >= 0; --d) {
    const FastDivisor& size = call.divisors[2 - d];
    const uint32_t above = divide(i, size);
    c.at[d] = i - above * size.divisor;
    i = above;
  }
  c.plane = i;
  return c;
}

template <class T>
__global__ void pad(const __grid_constant__ PaddingCall call, uint32_t n) {
  const uint32_t step = gridDim.x * blockDim.x;
  const auto* const from = reinterpret_cast<const T*>(call.from);
  auto* const to = reinterpret_cast<T*>(call.to);
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
    const Coordinates c = coordinates_of(call, i);
    int64_t place = c.plane;
    for (int d = 0; d < 3; ++d) place = place * call.in[d] + source_of(call, d, c.at[d]);
    to[i] = from[place];
  }
}

// The places in the result that come from a coordinate of the input: up to three runs, in ascending order.
struct Runs {
  int64_t first[3], count[3];
};
KD_DEVICE Runs runs_of(const PaddingCall& call, int d, int64_t at) {
  const int64_t n = call.in[d], size = call.out[d], before = call.before[d];
  Runs runs{};
  const auto add = [&](int k, int64_t first, int64_t last) {
    first = first < 0 ? 0 : first;
    last = last >= size ? size - 1 : last;
    runs.first[k] = first;
    runs.count[k] = last >= first ? last - first + 1 : 0;
  };
  if (call.reflects) {
    if (at > 0) add(0, before - at, before - at);
    add(1, before + at, before + at);
    if (at < n - 1) add(2, before + 2 * (n - 1) - at, before + 2 * (n - 1) - at);
  } else {
    add(0, at == 0 ? 0 : before + at, at == n - 1 ? size - 1 : before + at);
  }
  return runs;
}

template <class C>
__global__ void pad_backward(const __grid_constant__ PaddingCall call, uint32_t n) {
  const uint32_t step = gridDim.x * blockDim.x;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
    const Coordinates c = coordinates_of(call, i);
    const Runs depth = runs_of(call, 0, c.at[0]), height = runs_of(call, 1, c.at[1]), width = runs_of(call, 2, c.at[2]);
    C sum = C(0);
    for (int a = 0; a < 3; ++a) {
      for (int64_t z = depth.first[a]; z < depth.first[a] + depth.count[a]; ++z) {
        for (int b = 0; b < 3; ++b) {
          for (int64_t y = height.first[b]; y < height.first[b] + height.count[b]; ++y) {
            const int64_t line = ((c.plane * call.out[0] + z) * call.out[1] + y) * call.out[2];
            for (int k = 0; k < 3; ++k) {
              for (int64_t x = width.first[k]; x < width.first[k] + width.count[k]; ++x) {
                sum = sum + load_as<C>(call.from + (line + x) * call.item, call.dtype);
              }
            }
          }
        }
      }
    }
    store_as(call.to + i * call.item, call.dtype, sum);
  }
}

auto pad_kernel(int64_t item) {
  switch (item) {
    case 1:
      return pad<uint8_t>;
    case 2:
      return pad<uint16_t>;
    case 4:
      return pad<uint32_t>;
    case 8:
      return pad<uint64_t>;
    default:
      return pad<Bytes16>;
  }
}

auto backward_kernel(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Double:
      return pad_backward<double>;
    case ScalarType::ComplexFloat:
    case ScalarType::ComplexHalf:
      return pad_backward<c10::complex<float>>;
    case ScalarType::ComplexDouble:
      return pad_backward<c10::complex<double>>;
    default:
      return c10::isIntegralType(dtype, true) ? pad_backward<int64_t> : pad_backward<float>;
  }
}

// Launches on planes of `of` elements, as many together as a kernel counts; `other`: elements of a plane on the other
// side.
template <class Kernel>
void launch_planes(PaddingCall call, int64_t of, int64_t other, const int64_t* sizes, Kernel kernel) {
  for (int d = 0; d < 3; ++d) call.divisors[d] = FastDivisor(static_cast<uint32_t>(sizes[2 - d]));
  const int64_t together = std::max<int64_t>(1, INT32_MAX / of);
  for (int64_t left = call.planes; left > 0; left -= together) {
    const auto n = static_cast<uint32_t>(std::min(together, left) * of);
    c10::cuda::launch_or_throw(call.name, kernel, shape_for(n, 1, c10::cuda::getCurrentCUDAStream()), call, n);
    call.to += together * of * call.item;
    call.from += together * other * call.item;
  }
}

}  // namespace

void launch_padding(const PaddingCall& call) {
  launch_planes(call, call.outer, call.inner, call.out, pad_kernel(call.item));
}
void launch_padding_backward(const PaddingCall& call) {
  launch_planes(call, call.inner, call.outer, call.in, backward_kernel(call.dtype));
}

}  // namespace at::cuda
