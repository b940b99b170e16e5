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
HWY_INLINE bool are_in_range(const Index* places, int64_t n, int64_t height) {
  const hn::ScalableTag<Index> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const Index last = static_cast<Index>(std::min<int64_t>(height - 1, hwy::HighestValue<Index>()));
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

// The elements of `dense` at the next places.
template <class D, class Index, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> gather(D d, const T* dense, const Index* places) {
  const hn::RebindToSigned<D> di;
  if constexpr (sizeof(T) == sizeof(Index)) {
    return hn::GatherIndex(d, dense, hn::LoadU(di, places));
  } else if constexpr (sizeof(T) == 8) {
    return hn::GatherIndex(d, dense, hn::PromoteTo(di, hn::LoadU(hn::Rebind<int32_t, D>(), places)));
  } else {
    const hn::RepartitionToWide<decltype(di)> wide;
    const auto low = hn::LoadU(wide, places), high = hn::LoadU(wide, places + hn::Lanes(wide));
    return hn::GatherIndex(d, dense, hn::ConcatEven(di, hn::BitCast(di, high), hn::BitCast(di, low)));
  }
}

// values[k] * dense[places[k]] for n elements. Places fit 32 bits where T does not have more.
template <class T, class Index>
HWY_INLINE void weigh(const Index* places, const T* values, const T* dense, int64_t n, bool narrow, T* products) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t k = 0;
  if (narrow) {
    for (; k + lanes <= n; k += lanes) {
      // What the next chunk reads.
      constexpr int64_t kLine = 64;
      for (int64_t byte = 0; byte < lanes * static_cast<int64_t>(sizeof(T)); byte += kLine) {
        __builtin_prefetch(reinterpret_cast<const char*>(values + k + kChunk) + byte);
      }
      for (int64_t byte = 0; byte < lanes * static_cast<int64_t>(sizeof(Index)); byte += kLine) {
        __builtin_prefetch(reinterpret_cast<const char*>(places + k + kChunk) + byte);
      }
      hn::StoreU(hn::Mul(hn::LoadU(d, values + k), gather(d, dense, places + k)), d, products + k);
    }
  }
  for (; k < n; ++k) products[k] = values[k] * dense[places[k]];
}

template <class T>
HWY_INLINE T sum(const T* x, int64_t n) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  T a{0};
  int64_t k = 0;
  if (n >= 2 * lanes) {
    auto first = hn::LoadU(d, x), second = hn::LoadU(d, x + lanes);
    for (k = 2 * lanes; k + 2 * lanes <= n; k += 2 * lanes) {
      first = hn::Add(first, hn::LoadU(d, x + k));
      second = hn::Add(second, hn::LoadU(d, x + k + lanes));
    }
    if (k + lanes <= n) first = hn::Add(first, hn::LoadU(d, x + k)), k += lanes;
    a = hn::GetLane(hn::SumOfLanes(d, hn::Add(first, second)));
  }
  if (k + 4 <= n) {
    const hn::CappedTag<T, 4> four;
    const int64_t step = static_cast<int64_t>(hn::Lanes(four));
    auto rest = hn::LoadU(four, x + k);
    for (k += step; k + step <= n; k += step) rest = hn::Add(rest, hn::LoadU(four, x + k));
    a += hn::GetLane(hn::SumOfLanes(four, rest));
  }
  for (; k < n; ++k) a += x[k];
  return a;
}

// Calls f(row, end, elements) for runs of rows of at most kChunk elements, or of one row, whose places are in range.
template <class T, class Index, class F>
HWY_INLINE bool for_chunks(const RowsMemory<T, Index>& a, int64_t height, int64_t first, int64_t end, const F& f) {
  while (first < end) {
    const int64_t begin = a.pointers[first];
    int64_t stop = first + 1;
    while (stop < end && a.pointers[stop + 1] - begin <= kChunk) ++stop;
    const int64_t n = a.pointers[stop] - begin;
    if (!are_in_range(a.places + begin, n, height)) return false;
    f(first, stop);
    first = stop;
  }
  return true;
}

template <class T, class Index>
HWY_INLINE bool multiply_vector(const RowsMemory<T, Index>& a, const T* dense, int64_t height, int64_t first,
                                int64_t end, T* out) {
  T products[kChunk];
  const bool narrow = height <= INT32_MAX || sizeof(T) == 8;
  return for_chunks(a, height, first, end, [&](int64_t row, int64_t stop) HWY_ATTR {
    const int64_t begin = a.pointers[row], n = a.pointers[stop] - begin;
    if (n > kChunk) {  // one row
      T total{0};
      for (int64_t k = 0; k < n; k += kChunk) {
        const int64_t part = std::min(kChunk, n - k);
        weigh(a.places + begin + k, a.values + begin + k, dense, part, narrow, products);
        total += sum(products, part);
      }
      out[row] = total;
      return;
    }
    weigh(a.places + begin, a.values + begin, dense, n, narrow, products);
    const T* next = products;
    for (; row < stop; ++row) {
      const int64_t length = a.pointers[row + 1] - a.pointers[row];
      out[row] = sum(next, length);
      next += length;
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

// A function of its own for each type.
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

}  // namespace HWY_NAMESPACE
}  // namespace at::sparse
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace at::sparse {

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

}  // namespace at::sparse
#endif  // HWY_ONCE
