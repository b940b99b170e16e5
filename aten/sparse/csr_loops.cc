// Loops of sparse matrices by rows.
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
namespace at::sparse {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Elements whose rows of the dense matrix are asked for ahead of their use, where that is larger than a core's cache.
constexpr int64_t kAhead = 8;
constexpr int64_t kCached = int64_t{1} << 19;

// Elements that are looked through, and multiplied, at a time: they stay in the first cache.
constexpr int64_t kChunk = 1024;

template <class Index>
HWY_INLINE bool in_range(const Index* places, int64_t n, int64_t size) {
  const hn::ScalableTag<Index> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const Index last = static_cast<Index>(std::min<int64_t>(size - 1, hwy::HighestValue<Index>()));
  const auto most = hn::Set(d, last);
  // The sign of a place, or of its distance from the last one, shows.
  auto signs = hn::Zero(d);
  int64_t k = 0;
  for (; k + lanes <= n; k += lanes) {
    const auto place = hn::LoadU(d, places + k);
    signs = hn::Or(signs, hn::Or(place, hn::Sub(most, place)));
  }
  bool good = hn::AllFalse(d, hn::Lt(signs, hn::Zero(d)));
  for (; k < n; ++k) good &= places[k] >= 0 && places[k] <= last;
  return good;
}

// Calls f(row, end, elements) for runs of rows of at most kChunk elements, or of one row, whose places are in range.
template <class T, class Index, class F>
HWY_INLINE bool for_chunks(const RowsMemory<T, Index>& a, int64_t height, int64_t first, int64_t end, const F& f) {
  while (first < end) {
    const int64_t begin = a.pointers[first];
    int64_t stop = first + 1;
    while (stop < end && a.pointers[stop + 1] - begin <= kChunk) ++stop;
    const int64_t n = a.pointers[stop] - begin;
    if (!in_range(a.places + begin, n, height)) return false;
    f(first, stop);
    first = stop;
  }
  return true;
}

// A row's product with a vector: four sums of one lane each, which do not wait for each other. Gathers are no faster:
// they are made of such loads.
template <class T, class Index>
HWY_INLINE T dot_row(const Index* places, const T* values, const T* dense, int64_t n) {
  const hn::CappedTag<T, 1> d;
  auto a = hn::Zero(d), b = hn::Zero(d), c = hn::Zero(d), e = hn::Zero(d);
  int64_t k = 0;
  for (; k + 4 <= n; k += 4) {
    a = hn::MulAdd(hn::LoadU(d, values + k), hn::LoadU(d, dense + places[k]), a);
    b = hn::MulAdd(hn::LoadU(d, values + k + 1), hn::LoadU(d, dense + places[k + 1]), b);
    c = hn::MulAdd(hn::LoadU(d, values + k + 2), hn::LoadU(d, dense + places[k + 2]), c);
    e = hn::MulAdd(hn::LoadU(d, values + k + 3), hn::LoadU(d, dense + places[k + 3]), e);
  }
  for (; k < n; ++k) a = hn::MulAdd(hn::LoadU(d, values + k), hn::LoadU(d, dense + places[k]), a);
  return hn::GetLane(hn::Add(hn::Add(a, b), hn::Add(c, e)));
}

template <class T, class Index>
HWY_INLINE bool multiply_vector(const RowsMemory<T, Index>& a, const T* dense, int64_t height, int64_t first,
                                int64_t end, T* out) {
  return for_chunks(a, height, first, end, [&](int64_t row, int64_t stop) HWY_ATTR {
    for (; row < stop; ++row) {
      const int64_t from = a.pointers[row], length = a.pointers[row + 1] - from;
      // What the next chunk reads.
      constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(Index));
      for (int64_t k = 0; k < length; k += kLine) {
        __builtin_prefetch(a.values + from + kChunk + k);
        __builtin_prefetch(a.places + from + kChunk + k);
      }
      out[row] = dot_row(a.places + from, a.values + from, dense, length);
    }
  });
}

// kVectors vectors of a row of the result, from column `from` on, kept in registers: kSums times, so that additions do
// not wait for each other.
template <int kVectors, int kSums, class D, class T, class Index>
HWY_INLINE void tile(D d, const Index* places, const T* values, int64_t n, const T* dense, int64_t columns,
                     int64_t from, bool ahead, T* out) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<D> sums[kSums][kVectors];
  for (int s = 0; s < kSums; ++s) {
    for (int v = 0; v < kVectors; ++v) sums[s][v] = hn::Zero(d);
  }
  const auto add = [&](int64_t k, hn::Vec<D>* to) HWY_ATTR {
    const T* row = dense + static_cast<int64_t>(places[k]) * columns + from;
    const auto weight = hn::Set(d, values[k]);
    for (int v = 0; v < kVectors; ++v) to[v] = hn::MulAdd(weight, hn::LoadU(d, row + v * lanes), to[v]);
  };
  int64_t k = 0;
  for (; k + kSums <= n; k += kSums) {
    if (ahead && k + kSums + kAhead <= n) {
      for (int s = 0; s < kSums; ++s) {
        const T* row = dense + static_cast<int64_t>(places[k + s + kAhead]) * columns + from;
        constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(T));
        for (int64_t v = 0; v < kVectors * lanes; v += kLine) __builtin_prefetch(row + v);
      }
    }
    for (int s = 0; s < kSums; ++s) add(k + s, sums[s]);
  }
  for (; k < n; ++k) add(k, sums[0]);
  for (int s = 1; s < kSums; ++s) {
    for (int v = 0; v < kVectors; ++v) sums[0][v] = hn::Add(sums[0][v], sums[s][v]);
  }
  for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[0][v], d, out + from + v * lanes);
}

// Less columns than a vector has lanes.
template <class D, class T, class Index>
HWY_INLINE void tile_rest(D d, const Index* places, const T* values, int64_t n, const T* dense, int64_t columns,
                          int64_t from, T* out) {
  const int64_t rest = columns - from;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  const auto first = hn::FirstN(d, static_cast<size_t>(rest));
  auto a = hn::Zero(d), b = hn::Zero(d);
  const auto row = [&](int64_t k) HWY_ATTR {
    return hn::MaskedLoad(first, d, dense + static_cast<int64_t>(places[k]) * columns + from);
  };
  int64_t k = 0;
  for (; k + 2 <= n; k += 2) {
    a = hn::MulAdd(hn::Set(d, values[k]), row(k), a);
    b = hn::MulAdd(hn::Set(d, values[k + 1]), row(k + 1), b);
  }
  if (k < n) a = hn::MulAdd(hn::Set(d, values[k]), row(k), a);
  hn::BlendedStore(hn::Add(a, b), first, d, out + from);
#else
  T sums[hn::MaxLanes(d)] = {};
  for (int64_t k = 0; k < n; ++k) {
    const T* row = dense + static_cast<int64_t>(places[k]) * columns + from;
    for (int64_t j = 0; j < rest; ++j) sums[j] += values[k] * row[j];
  }
  for (int64_t j = 0; j < rest; ++j) out[from + j] = sums[j];
#endif
}

template <class T, class Index>
HWY_INLINE bool multiply(const RowsMemory<T, Index>& a, const T* dense, int64_t height, int64_t columns, int64_t first,
                         int64_t end, T* out) {
  if (columns == 1) return multiply_vector(a, dense, height, first, end, out);
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const bool ahead = height * columns * static_cast<int64_t>(sizeof(T)) > kCached;
  return for_chunks(a, height, first, end, [&](int64_t row, int64_t stop) HWY_ATTR {
    for (; row < stop; ++row) {
      const int64_t n = a.pointers[row + 1] - a.pointers[row];
      const Index* p = a.places + a.pointers[row];
      const T* w = a.values + a.pointers[row];
      T* to = out + row * columns;
      int64_t from = 0;
      for (; from + 8 * lanes <= columns; from += 8 * lanes) tile<8, 1>(d, p, w, n, dense, columns, from, ahead, to);
      for (; from + 2 * lanes <= columns; from += 2 * lanes) tile<2, 2>(d, p, w, n, dense, columns, from, ahead, to);
      for (; from + lanes <= columns; from += lanes) tile<1, 4>(d, p, w, n, dense, columns, from, ahead, to);
      if (from < columns) tile_rest(d, p, w, n, dense, columns, from, to);
    }
  });
}

// The product of two rows: sums that do not wait for each other.
template <class T>
HWY_INLINE T dot(const T* x, const T* y, int64_t n) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  auto a = hn::Zero(d), b = hn::Zero(d);
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    a = hn::MulAdd(hn::LoadU(d, x + i), hn::LoadU(d, y + i), a);
    b = hn::MulAdd(hn::LoadU(d, x + i + lanes), hn::LoadU(d, y + i + lanes), b);
  }
  if (i + lanes <= n) a = hn::MulAdd(hn::LoadU(d, x + i), hn::LoadU(d, y + i), a), i += lanes;
  T total = hn::GetLane(hn::SumOfLanes(d, hn::Add(a, b)));
  for (; i < n; ++i) total += x[i] * y[i];
  return total;
}

template <class T>
HWY_INLINE void sampled(const int64_t* pointers, const int64_t* places, const T* left, const T* right, int64_t inner,
                        int64_t first, int64_t end, T* out) {
  for (int64_t i = first; i < end; ++i) {
    for (int64_t k = pointers[i]; k < pointers[i + 1]; ++k) {
      out[k] = dot(left + i * inner, right + places[k] * inner, inner);
    }
  }
}

// The columns of one vector of a row.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void reduce_tile(D d, const int64_t* places, const T* values, int64_t n, int64_t number, const T* dense,
                            int64_t columns, int64_t column, bool greatest, T* out, int64_t* from) {
  const hn::RebindToSigned<D> di;
  using Number = hn::TFromD<decltype(di)>;
  auto best = hn::Mul(hn::Set(d, values[0]), hn::LoadU(d, dense + places[0] * columns + column));
  auto chosen = hn::Zero(di);
  for (int64_t k = 1; k < n; ++k) {
    const auto product = hn::Mul(hn::Set(d, values[k]), hn::LoadU(d, dense + places[k] * columns + column));
    const auto better = greatest ? hn::Gt(product, best) : hn::Lt(product, best);
    const auto taken = hn::Or(better, hn::Ne(product, product));
    best = hn::IfThenElse(taken, product, best);
    chosen = hn::IfThenElse(hn::RebindMask(di, taken), hn::Set(di, static_cast<Number>(k)), chosen);
  }
  hn::StoreU(best, d, out + column);
  Number numbers[hn::MaxLanes(d)];
  hn::StoreU(chosen, di, numbers);
  for (size_t j = 0; j < hn::Lanes(d); ++j) from[column + static_cast<int64_t>(j)] = number + numbers[j];
}

template <class T>
HWY_INLINE void reduce(const RowsMemory<T, int64_t>& a, const T* dense, int64_t columns, bool greatest, int64_t first,
                       int64_t end, T* out, int64_t* from) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 1> one;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = first; i < end; ++i) {
    const int64_t begin = a.pointers[i], n = a.pointers[i + 1] - begin;
    T* to = out + i * columns;
    int64_t* numbers = from + i * columns;
    if (n == 0) {
      std::fill_n(to, columns, T{0});
      std::fill_n(numbers, columns, int64_t{-1});
      continue;
    }
    const int64_t* p = a.places + begin;
    const T* w = a.values + begin;
    int64_t j = 0;
    for (; j + lanes <= columns; j += lanes) {
      reduce_tile(d, p, w, n, begin, dense, columns, j, greatest, to, numbers);
    }
    for (; j < columns; ++j) reduce_tile(one, p, w, n, begin, dense, columns, j, greatest, to, numbers);
  }
}

// A function of its own for each type.
bool in_range_i32(const int32_t* indices, int64_t n, int64_t size) {
  return in_range(indices, n, size);
}
bool in_range_i64(const int64_t* indices, int64_t n, int64_t size) {
  return in_range(indices, n, size);
}

#define OF_TYPES(T, Index, name)                                                                                    \
  bool multiply_##name(const RowsMemory<T, Index>& a, const T* dense, int64_t height, int64_t columns,              \
                       int64_t first, int64_t end, T* out) {                                                        \
    return multiply(a, dense, height, columns, first, end, out);                                                    \
  }
OF_TYPES(float, int32_t, f32_i32)
OF_TYPES(float, int64_t, f32_i64)
OF_TYPES(double, int32_t, f64_i32)
OF_TYPES(double, int64_t, f64_i64)
#undef OF_TYPES
void sampled_f32(const int64_t* pointers, const int64_t* places, const float* left, const float* right, int64_t inner,
                 int64_t first, int64_t end, float* out) {
  sampled(pointers, places, left, right, inner, first, end, out);
}
void sampled_f64(const int64_t* pointers, const int64_t* places, const double* left, const double* right,
                 int64_t inner, int64_t first, int64_t end, double* out) {
  sampled(pointers, places, left, right, inner, first, end, out);
}

void reduce_f32(const RowsMemory<float, int64_t>& a, const float* dense, int64_t columns, bool greatest, int64_t first,
                int64_t end, float* out, int64_t* from) {
  reduce(a, dense, columns, greatest, first, end, out, from);
}
void reduce_f64(const RowsMemory<double, int64_t>& a, const double* dense, int64_t columns, bool greatest,
                int64_t first, int64_t end, double* out, int64_t* from) {
  reduce(a, dense, columns, greatest, first, end, out, from);
}

}  // namespace HWY_NAMESPACE
}  // namespace at::sparse
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace at::sparse {

template <>
bool are_in_range<int32_t>(const int32_t* indices, int64_t n, int64_t size) {
  return AT_ISA_FUNCTION(in_range_i32)(indices, n, size);
}
template <>
bool are_in_range<int64_t>(const int64_t* indices, int64_t n, int64_t size) {
  return AT_ISA_FUNCTION(in_range_i64)(indices, n, size);
}

#define OF_TYPES(T, Index, name)                                                                                \
  template <>                                                                                                   \
  bool multiply_rows<T, Index>(const RowsMemory<T, Index>& a, const T* dense, int64_t height, int64_t columns,  \
                               int64_t first, int64_t end, T* out) {                                            \
    return AT_ISA_FUNCTION(multiply_##name)(a, dense, height, columns, first, end, out);                        \
  }
OF_TYPES(float, int32_t, f32_i32)
OF_TYPES(float, int64_t, f32_i64)
OF_TYPES(double, int32_t, f64_i32)
OF_TYPES(double, int64_t, f64_i64)
#undef OF_TYPES

template <>
void multiply_sampled<float>(const int64_t* pointers, const int64_t* places, const float* left, const float* right,
                             int64_t inner, int64_t first, int64_t end, float* out) {
  AT_ISA_FUNCTION(sampled_f32)(pointers, places, left, right, inner, first, end, out);
}
template <>
void multiply_sampled<double>(const int64_t* pointers, const int64_t* places, const double* left, const double* right,
                              int64_t inner, int64_t first, int64_t end, double* out) {
  AT_ISA_FUNCTION(sampled_f64)(pointers, places, left, right, inner, first, end, out);
}

template <>
void reduce_rows<float>(const RowsMemory<float, int64_t>& a, const float* dense, int64_t columns, bool greatest,
                        int64_t first, int64_t end, float* out, int64_t* from) {
  AT_ISA_FUNCTION(reduce_f32)(a, dense, columns, greatest, first, end, out, from);
}
template <>
void reduce_rows<double>(const RowsMemory<double, int64_t>& a, const double* dense, int64_t columns, bool greatest,
                         int64_t first, int64_t end, double* out, int64_t* from) {
  AT_ISA_FUNCTION(reduce_f64)(a, dense, columns, greatest, first, end, out, from);
}

}  // namespace at::sparse
#endif  // HWY_ONCE
