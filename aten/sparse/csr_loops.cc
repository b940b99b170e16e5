// multiply_rows.
#include "aten/sparse/csr_loops.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/sparse/csr_loops.cc"
#include "hwy/foreach_target.h"
// clang-format off
#include "aten/cpu/isa_table.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace at::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Elements whose rows of the dense matrix are asked for ahead of their use.
constexpr int64_t kAhead = 8;

// One number a row: four sums that do not wait for each other.
template <class T>
HWY_INLINE T dot(const int64_t* places, const T* values, const T* dense, int64_t n) {
  T a{0}, b{0}, c{0}, d{0};
  int64_t k = 0;
  for (; k + 4 <= n; k += 4) {
    a += values[k] * dense[places[k]];
    b += values[k + 1] * dense[places[k + 1]];
    c += values[k + 2] * dense[places[k + 2]];
    d += values[k + 3] * dense[places[k + 3]];
  }
  for (; k < n; ++k) a += values[k] * dense[places[k]];
  return (a + b) + (c + d);
}

// kVectors vectors of a row of the result, from column `from` on, kept in registers.
template <int kVectors, class D, class T>
HWY_INLINE void tile(D d, const int64_t* places, const T* values, int64_t n, const T* dense, int64_t columns,
                     int64_t from, T* out) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<D> sums[kVectors];
  for (int v = 0; v < kVectors; ++v) sums[v] = hn::Zero(d);
  for (int64_t k = 0; k < n; ++k) {
    if (k + kAhead < n) {
      const T* ahead = dense + places[k + kAhead] * columns + from;
      for (int v = 0; v < kVectors; v += 2) __builtin_prefetch(ahead + v * lanes);
    }
    const T* row = dense + places[k] * columns + from;
    const auto weight = hn::Set(d, values[k]);
    for (int v = 0; v < kVectors; ++v) sums[v] = hn::MulAdd(weight, hn::LoadU(d, row + v * lanes), sums[v]);
  }
  for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[v], d, out + from + v * lanes);
}

template <class T>
HWY_INLINE void rows(const int64_t* pointers, const int64_t* places, const T* values, const T* dense, int64_t columns,
                     int64_t first, int64_t end, T* out) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = first; i < end; ++i) {
    const int64_t n = pointers[i + 1] - pointers[i];
    const int64_t* p = places + pointers[i];
    const T* w = values + pointers[i];
    T* to = out + i * columns;
    if (columns == 1) {
      *to = dot(p, w, dense, n);
      continue;
    }
    int64_t from = 0;
    for (; from + 8 * lanes <= columns; from += 8 * lanes) tile<8>(d, p, w, n, dense, columns, from, to);
    for (; from + 2 * lanes <= columns; from += 2 * lanes) tile<2>(d, p, w, n, dense, columns, from, to);
    for (; from + lanes <= columns; from += lanes) tile<1>(d, p, w, n, dense, columns, from, to);
    if (from == columns) continue;
    const int64_t rest = columns - from;
    T sums[hn::MaxLanes(d)] = {};
    for (int64_t k = 0; k < n; ++k) {
      const T* row = dense + p[k] * columns + from;
      for (int64_t j = 0; j < rest; ++j) sums[j] += w[k] * row[j];
    }
    for (int64_t j = 0; j < rest; ++j) to[from + j] = sums[j];
  }
}

void rows_of_float(const int64_t* pointers, const int64_t* places, const float* values, const float* dense,
                   int64_t columns, int64_t first, int64_t end, float* out) {
  rows(pointers, places, values, dense, columns, first, end, out);
}
void rows_of_double(const int64_t* pointers, const int64_t* places, const double* values, const double* dense,
                    int64_t columns, int64_t first, int64_t end, double* out) {
  rows(pointers, places, values, dense, columns, first, end, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace at::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace at::cpu {
namespace {

void float_rows(const int64_t* pointers, const int64_t* places, const float* values, const float* dense,
                int64_t columns, int64_t first, int64_t end, float* out) {
  AT_ISA_FUNCTION(rows_of_float)(pointers, places, values, dense, columns, first, end, out);
}
void double_rows(const int64_t* pointers, const int64_t* places, const double* values, const double* dense,
                 int64_t columns, int64_t first, int64_t end, double* out) {
  AT_ISA_FUNCTION(rows_of_double)(pointers, places, values, dense, columns, first, end, out);
}

}  // namespace
}  // namespace at::cpu

namespace at::sparse {

void multiply_rows(const int64_t* pointers, const int64_t* places, const float* values, const float* dense,
                   int64_t columns, int64_t first, int64_t end, float* out) {
  cpu::float_rows(pointers, places, values, dense, columns, first, end, out);
}
void multiply_rows(const int64_t* pointers, const int64_t* places, const double* values, const double* dense,
                   int64_t columns, int64_t first, int64_t end, double* out) {
  cpu::double_rows(pointers, places, values, dense, columns, first, end, out);
}

}  // namespace at::sparse
#endif  // HWY_ONCE
