#include <algorithm>
#include <type_traits>

#include "aten/cuda/matmul/integer.h"
#include "c10/cuda/launch.h"
#include "c10/cuda/stream.h"
#include "c10/util/exception.h"

namespace at::cuda {
namespace {

constexpr int kTile = 64, kDepth = 16, kThreads = 256;
// A thread computes kEach x kEach elements that are kAcross apart.
constexpr int kEach = 4, kAcross = kTile / kEach;

// Sums wrap: computed unsigned, and no narrower than a register.
template <class T>
using Sum = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <class T>
KD_DEVICE T* element(const IntegerOperand& matrix, int64_t l, int64_t i, int64_t j) {
  return static_cast<T*>(matrix.data) + l * matrix.batch + i * matrix.row + j * matrix.column;
}

// Neighbouring threads read along the dimension whose elements are neighbours.
KD_DEVICE void place_of(int i, int rows, int columns, bool by_columns, int* row, int* column) {
  *row = by_columns ? i % rows : i / columns;
  *column = by_columns ? i / rows : i % columns;
}

template <class T>
__global__ void __launch_bounds__(kThreads) multiply_kernel(const __grid_constant__ IntegerProduct p) {
  using S = Sum<T>;
  // One more column spreads a column over the banks.
  __shared__ S left[kTile][kDepth + 1];
  __shared__ S right[kDepth][kTile + 1];
  const int thread = static_cast<int>(threadIdx.x), row = thread / kAcross, column = thread % kAcross;
  const bool left_by_columns = p.a.column != 1, right_by_columns = p.b.column != 1;
  const int64_t down = (p.m - 1) / kTile + 1, across = (p.n - 1) / kTile + 1;
  for (int64_t tile = blockIdx.x; tile < p.batches * down * across; tile += gridDim.x) {
    const int64_t l = tile / (down * across), in_batch = tile - l * down * across;
    const int64_t first_row = in_batch / across * kTile, first_column = in_batch % across * kTile;
    S sums[kEach][kEach] = {};
    for (int64_t depth = 0; depth < p.k; depth += kDepth) {
      for (int i = thread; i < kTile * kDepth; i += kThreads) {
        int r, c;
        place_of(i, kTile, kDepth, left_by_columns, &r, &c);
        left[r][c] = first_row + r < p.m && depth + c < p.k
                         ? static_cast<S>(*element<const T>(p.a, l, first_row + r, depth + c))
                         : 0;
        place_of(i, kDepth, kTile, right_by_columns, &r, &c);
        right[r][c] = depth + r < p.k && first_column + c < p.n
                          ? static_cast<S>(*element<const T>(p.b, l, depth + r, first_column + c))
                          : 0;
      }
      __syncthreads();
#pragma unroll
      for (int d = 0; d < kDepth; ++d) {
        S x[kEach], y[kEach];
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
          x[i] = left[row + i * kAcross][d];
          y[i] = right[d][column + i * kAcross];
        }
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
#pragma unroll
          for (int j = 0; j < kEach; ++j) sums[i][j] += x[i] * y[j];
        }
      }
      __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
#pragma unroll
      for (int j = 0; j < kEach; ++j) {
        const int64_t r = first_row + row + i * kAcross, c = first_column + column + j * kAcross;
        if (r >= p.m || c >= p.n) continue;
        S value = static_cast<S>(p.alpha) * sums[i][j];
        if (p.add.data != nullptr) value += static_cast<S>(p.beta) * static_cast<S>(*element<const T>(p.add, l, r, c));
        *element<T>(p.out, l, r, c) = static_cast<T>(value);
      }
    }
  }
}

template <class T>
void launch(const IntegerProduct& p) {
  const int64_t tiles = p.batches * ((p.m - 1) / kTile + 1) * ((p.n - 1) / kTile + 1);
  c10::cuda::launch_or_throw(p.name, multiply_kernel<T>,
                             {.grid = static_cast<uint32_t>(std::min<int64_t>(tiles, INT32_MAX)),
                              .block = kThreads,
                              .stream = c10::cuda::getCurrentCUDAStream()},
                             p);
}

}  // namespace

void multiply_integers(const IntegerProduct& product) {
  switch (product.dtype) {
    case c10::ScalarType::Byte:
      return launch<uint8_t>(product);
    case c10::ScalarType::Char:
      return launch<int8_t>(product);
    case c10::ScalarType::Short:
      return launch<int16_t>(product);
    case c10::ScalarType::Int:
      return launch<int32_t>(product);
    case c10::ScalarType::Long:
      return launch<int64_t>(product);
    default:
      TORCH_CHECK_NOT_IMPLEMENTED(false, "\"", product.name, "\" not implemented for '", toString(product.dtype), "'");
  }
}

}  // namespace at::cuda
