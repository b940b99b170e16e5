#include <cstdint>

#include "aten/cuda/complex_math.cuh"
#include "aten/cuda/creation/creation_call.h"
#include "aten/cuda/elementwise.cuh"

namespace at::cuda {
namespace {

c10::cuda::Launch shape_of(int64_t n) {
  return shape_for(static_cast<uint32_t>(std::min<int64_t>(n, INT32_MAX)), 1, c10::cuda::getCurrentCUDAStream());
}

template <class C>
__global__ void progression(char* to, ScalarType dtype, int64_t item, int64_t n, C first, C step) {
  const int64_t threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += threads) {
    if constexpr (std::is_same_v<C, uint64_t>)
      store_as(to + i * item, dtype, static_cast<int64_t>(first + static_cast<C>(i) * step));
    else
      store_as(to + i * item, dtype, first + static_cast<C>(i) * step);
  }
}

template <class C>
KD_DEVICE C power_of(double base, C exponent) {
  if constexpr (kIsComplex<C>) {
    if (exponent.imag() == 0) return C(::pow(base, exponent.real()), 0);
    return exp_of(exponent * log_of(C(base, 0)));
  } else {
    return static_cast<C>(::pow(base, static_cast<double>(exponent)));
  }
}

// A number of the range as an element: what does not fit an integer is the smallest int64's lowest bits.
template <class C>
KD_DEVICE void store_rounded(char* to, ScalarType dtype, C value) {
  if constexpr (!kIsComplex<C>) {
    if (isIntegralType(dtype, false)) {
      const bool fits = value >= static_cast<C>(-0x1p63) && value < static_cast<C>(0x1p63);
      return store_as(to, dtype, fits ? static_cast<int64_t>(value) : INT64_MIN);
    }
  }
  store_as(to, dtype, value);
}

template <class C>
__global__ void space(const __grid_constant__ SpaceCall call, int64_t item, C first, C last, C step) {
  using Real = std::conditional_t<std::is_same_v<C, float>, float, double>;
  const int64_t threads = int64_t{gridDim.x} * blockDim.x, middle = call.n > 1 ? call.n / 2 : 1;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < call.n; i += threads) {
    const C x = i < middle ? first + step * static_cast<Real>(i) : last - step * static_cast<Real>(call.n - 1 - i);
    char* const to = static_cast<char*>(call.to) + i * item;
    if (call.powers)
      store_rounded(to, call.dtype, power_of(call.base, x));
    else
      store_rounded(to, call.dtype, x);
  }
}

template <class C>
void launch_space_in(const SpaceCall& call) {
  using Real = std::conditional_t<std::is_same_v<C, float>, float, double>;
  const C first = convert<C>(call.first), last = convert<C>(call.last);
  const C step = call.n > 1 ? (last - first) / static_cast<Real>(call.n - 1) : C(0);
  c10::cuda::launch_or_throw(call.name, space<C>, shape_of(call.n), call,
                             static_cast<int64_t>(c10::elementSize(call.dtype)), first, last, step);
}

KD_DEVICE int64_t clamped(int64_t x, int64_t low, int64_t high) {
  return x < low ? low : x > high ? high : x;
}

// How many elements of the first `rows` rows lie on or below the diagonal `offset`.
KD_DEVICE int64_t elements_below(int64_t rows, int64_t columns, int64_t offset) {
  const int64_t first = clamped(-offset, 0, rows), full = clamped(columns - offset - 1, first, rows);
  return (full - first) * (first + full + 2 * offset + 1) / 2 + (rows - full) * columns;
}

__global__ void triangle_indices(const __grid_constant__ TriangleIndicesCall call, int64_t item) {
  const int64_t threads = int64_t{gridDim.x} * blockDim.x;
  const auto before = [&call](int64_t row) {
    return call.lower ? elements_below(row, call.columns, call.offset)
                      : row * call.columns - elements_below(row, call.columns, call.offset - 1);
  };
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < call.n; i += threads) {
    int64_t row = 0, end = call.rows;  // before(row) <= i < before(end)
    while (end - row > 1) {
      const int64_t middle = (row + end) / 2;
      if (before(middle) <= i)
        row = middle;
      else
        end = middle;
    }
    const int64_t first = call.lower ? 0 : clamped(row + call.offset, 0, call.columns);
    char* const to = static_cast<char*>(call.to);
    store_as(to + i * item, call.dtype, row);
    store_as(to + (call.n + i) * item, call.dtype, first + i - before(row));
  }
}

struct alignas(16) Bytes16 {
  uint64_t v[2];
};

// A row of a matrix for a row of threads.
template <class T>
__global__ void triangle(const __grid_constant__ TriangleCall call) {
  const auto* const from = reinterpret_cast<const T*>(call.from);
  auto* const to = reinterpret_cast<T*>(call.to);
  const int64_t all = call.matrices * call.rows;
  for (int64_t line = int64_t{blockIdx.x} * blockDim.y + threadIdx.y; line < all;
       line += int64_t{gridDim.x} * blockDim.y) {
    const int64_t row = line % call.rows, edge = row + call.diagonal;  // the column of the diagonal
    for (int64_t column = threadIdx.x; column < call.columns; column += blockDim.x) {
      const bool kept = call.upper ? column >= edge : column <= edge;
      const int64_t i = line * call.columns + column;
      to[i] = kept ? from[i] : T{};
    }
  }
}

auto triangle_kernel(int item_size) {
  switch (item_size) {
    case 1:
      return triangle<uint8_t>;
    case 2:
      return triangle<uint16_t>;
    case 4:
      return triangle<uint32_t>;
    case 8:
      return triangle<uint64_t>;
    default:
      return triangle<Bytes16>;
  }
}

}  // namespace

void launch_progression(const char* name, void* to, ScalarType dtype, int64_t n, int64_t first, int64_t step) {
  c10::cuda::launch_or_throw(name, progression<uint64_t>, shape_of(n), static_cast<char*>(to), dtype,
                             static_cast<int64_t>(c10::elementSize(dtype)), n, static_cast<uint64_t>(first),
                             static_cast<uint64_t>(step));
}
void launch_progression(const char* name, void* to, ScalarType dtype, int64_t n, double first, double step) {
  c10::cuda::launch_or_throw(name, progression<double>, shape_of(n), static_cast<char*>(to), dtype,
                             static_cast<int64_t>(c10::elementSize(dtype)), n, first, step);
}

void launch_space(const SpaceCall& call, ScalarType compute) {
  if (compute == ScalarType::ComplexDouble)
    launch_space_in<c10::complex<double>>(call);
  else if (compute == ScalarType::Double)
    launch_space_in<double>(call);
  else
    launch_space_in<float>(call);
}

void launch_triangle_indices(const TriangleIndicesCall& call) {
  c10::cuda::launch_or_throw(call.name, triangle_indices, shape_of(call.n), call,
                             static_cast<int64_t>(c10::elementSize(call.dtype)));
}

void launch_triangle(const TriangleCall& call) {
  const int64_t blocks = (call.matrices * call.rows - 1) / 8 + 1;
  const c10::cuda::Launch shape{.grid = static_cast<unsigned>(std::min<int64_t>(blocks, kMostBlocks)),
                                .block = dim3(32, 8),
                                .stream = c10::cuda::getCurrentCUDAStream()};
  c10::cuda::launch_or_throw(call.name, triangle_kernel(call.item_size), shape, call);
}

}  // namespace at::cuda
