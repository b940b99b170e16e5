// What pool.h declares.
#include "aten/cpu/rows/pool.h"

#include <algorithm>
#include <limits>

#include "aten/cpu/rows/tables.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/rows/pool.cc"
#include "hwy/foreach_target.h"
// clang-format off
#include "aten/cpu/isa_table.h"
#include "hwy/highway.h"
#include "aten/cpu/rows/rows-inl.h"
// clang-format on

#ifndef ATEN_CPU_ROWS_POOL_ONCE_
#define ATEN_CPU_ROWS_POOL_ONCE_
namespace at::cpu {
template <class T>
struct PoolTable {
  void (*max_row)(const T*, const int64_t*, int64_t, const PoolColumns&, T*, int64_t*);
  void (*max_windows)(const T*, const int64_t*, int64_t, const int64_t*, int64_t, T*, int64_t*);
  void (*max_pixel)(const T*, const int64_t*, int64_t, int64_t, T*, int64_t*);
  void (*sum_rows)(const T*, const int64_t*, int64_t, int64_t, T*);
  void (*sum_columns)(const T*, const PoolColumns&, const T*, T*);
  void (*avg_pixel)(const T*, const int64_t*, int64_t, int64_t, T, T*);
  void (*add)(const T*, T*, int64_t);
  void (*divide)(const T*, const T*, T*, int64_t);
  void (*spread_columns)(const T*, const PoolColumns&, T*);
  bool (*spread_maxima)(const T*, const int64_t*, const int64_t*, int64_t, int64_t, int64_t, T*);
};
using PoolTables = RealTables<PoolTable>;
}  // namespace at::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace at::cpu {
namespace HWY_NAMESPACE {

template <class D>
using Places = hn::RebindToSigned<D>;

// Every `stride`th element from p on: Lanes(d) of them, none beyond the last one touched.
template <class D>
HWY_INLINE hn::Vec<D> load_strided(D d, const hn::TFromD<D>* p, int64_t stride) {
  if (stride == 1) return hn::LoadU(d, p);
#if HWY_TARGET != HWY_SCALAR
  if (stride == 2) {
    const auto low = hn::LoadU(d, p), high = hn::LoadU(d, p + hn::Lanes(d) - 1);
    return hn::ConcatUpperLower(d, hn::ConcatOdd(d, high, high), hn::ConcatEven(d, low, low));
  }
#endif
  const Places<D> di;
  using I = hn::TFromD<Places<D>>;
  return hn::GatherIndex(d, p, hn::Mul(hn::Iota(di, 0), hn::Set(di, static_cast<I>(stride))));
}

template <class D>
HWY_INLINE void store_places(D d, hn::Vec<Places<D>> places, int64_t* to) {
  const Places<D> di;
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    hn::StoreU(places, di, to);
  } else {
#if HWY_TARGET == HWY_SCALAR
    *to = hn::GetLane(places);
#else
    const hn::RepartitionToWide<Places<D>> wide;
    const hn::Half<Places<D>> half;
    hn::StoreU(hn::PromoteTo(wide, hn::LowerHalf(half, places)), wide, to);
    hn::StoreU(hn::PromoteTo(wide, hn::UpperHalf(half, places)), wide, to + hn::Lanes(wide));
#endif
  }
}

#if HWY_TARGET != HWY_SCALAR
template <class D>
HWY_INLINE hn::Vec<Places<D>> load_places(D d, const int64_t* p) {
  const Places<D> di;
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    return hn::LoadU(di, p);
  } else {
    const hn::RebindToUnsigned<D> du;
    const hn::RepartitionToWide<decltype(du)> wide;
    const hn::Half<decltype(du)> half;
    const auto* at = reinterpret_cast<const uint64_t*>(p);
    const auto low = hn::TruncateTo(half, hn::LoadU(wide, at)),
               high = hn::TruncateTo(half, hn::LoadU(wide, at + hn::Lanes(wide)));
    return hn::BitCast(di, hn::Combine(du, high, low));
  }
}
#endif

template <bool kPlaces, class D>
HWY_INLINE void take_greater(D, hn::Vec<D> value, hn::Vec<Places<D>> place, hn::Vec<D>* max, hn::Vec<Places<D>>* best) {
  const auto better = hn::Or(hn::Gt(value, *max), hn::IsNaN(value));
  *max = hn::IfThenElse(better, value, *max);
  if constexpr (kPlaces) *best = hn::IfThenElse(hn::RebindMask(Places<D>(), better), place, *best);
}

#if HWY_TARGET != HWY_SCALAR
// The maxima of outputs x to x + Lanes(d) - 1 for stride 2 without dilation: the rows' first, so that every second
// column is picked out of their maxima only.
template <class D, class T>
HWY_INLINE void max_block_of_stride_2(D d, const T* plane, const int64_t* row_starts, int64_t rows,
                                      const PoolColumns& c, int64_t x, T* out) {
  const Places<D> di;
  const auto lowest = hn::Set(d, -std::numeric_limits<T>::infinity());
  const auto none = hn::Zero(di);
  hn::Vec<Places<D>> unused = none;
  auto max = lowest;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t k = 0; k < c.kernel; k += 2) {
    const bool both = k + 1 < c.kernel;
    // A last column alone: nothing behind it is read.
    const int64_t apart = both ? lanes : lanes - 1;
    auto low = lowest, high = lowest;
    for (int64_t i = 0; i < rows; ++i) {
      const T* at = plane + row_starts[i] + x * 2 - c.padding + k;
      take_greater<false>(d, hn::LoadU(d, at), none, &low, &unused);
      take_greater<false>(d, hn::LoadU(d, at + apart), none, &high, &unused);
    }
    if (both) {
      take_greater<false>(d, hn::ConcatEven(d, high, low), none, &max, &unused);
      take_greater<false>(d, hn::ConcatOdd(d, high, low), none, &max, &unused);
    } else {
      const auto every_second = hn::ConcatUpperLower(d, hn::ConcatOdd(d, high, high), hn::ConcatEven(d, low, low));
      take_greater<false>(d, every_second, none, &max, &unused);
    }
  }
  hn::StoreU(max, d, out + x);
}
#endif

// Outputs x to x + Lanes(d) - 1, whose windows lie inside the row.
template <bool kPlaces, class D, class T>
HWY_INLINE void max_block(D d, const T* plane, const int64_t* row_starts, int64_t rows, const PoolColumns& c, int64_t x,
                          T* out, int64_t* index) {
#if HWY_TARGET != HWY_SCALAR
  if (!kPlaces && c.stride == 2 && c.dilation == 1) return max_block_of_stride_2(d, plane, row_starts, rows, c, x, out);
#endif
  const Places<D> di;
  using I = hn::TFromD<Places<D>>;
  const auto steps = hn::Mul(hn::Iota(di, 0), hn::Set(di, static_cast<I>(c.stride)));
  auto max = hn::Set(d, -std::numeric_limits<T>::infinity());
  auto best = hn::Add(steps, hn::Set(di, static_cast<I>(row_starts[0] + x * c.stride - c.padding)));
  for (int64_t i = 0; i < rows; ++i) {
    int64_t at = row_starts[i] + x * c.stride - c.padding;
    for (int64_t k = 0; k < c.kernel; ++k, at += c.dilation)
      take_greater<kPlaces>(d, load_strided(d, plane + at, c.stride), hn::Add(steps, hn::Set(di, static_cast<I>(at))),
                            &max, &best);
  }
  hn::StoreU(max, d, out + x);
  if constexpr (kPlaces) store_places(d, best, index + x);
}

// The outputs [*begin, *end) whose windows lie inside the row.
HWY_INLINE void inner_columns(const PoolColumns& c, int64_t* begin, int64_t* end) {
  const int64_t first = c.padding / c.stride + (c.padding % c.stride != 0),
                room = c.in - 1 - (c.kernel - 1) * c.dilation + c.padding;
  *begin = first < c.out ? first : c.out;
  *end = room < 0 ? 0 : room / c.stride + 1;
  if (*end > c.out) *end = c.out;
  if (*end < *begin) *end = *begin;
}

// f(d, x) for vectors that cover [begin, end), the last one overlapping the one before; the first x for which there was
// none.
template <class T, class F>
HWY_INLINE int64_t cover(int64_t begin, int64_t end, const F& f) {
  const auto by = [&](auto d) HWY_ATTR {
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    if (end - begin < lanes) return false;
    for (int64_t x = begin; x < end; x += lanes) f(d, x + lanes <= end ? x : end - lanes);
    return true;
  };
#if HWY_TARGET == HWY_SCALAR
  by(hn::ScalableTag<T>());
  return end;
#else
  if (by(hn::ScalableTag<T>()) || by(hn::CappedTag<T, 8>()) || by(hn::CappedTag<T, 4>())) return end;
  if constexpr (sizeof(T) == 8) {
    if (by(hn::CappedTag<T, 2>())) return end;
  }
  return begin;
#endif
}

#if HWY_TARGET != HWY_SCALAR
// Output x, whose window has at least a vector's columns: the columns' maxima first, then theirs. Of equal ones the
// first counts, of NaNs the last.
template <bool kPlaces, class T>
HWY_INLINE void max_window(const T* plane, const int64_t* row_starts, int64_t rows, const PoolColumns& c, int64_t x,
                           T* out, int64_t* index) {
  const hn::CappedTag<T, 8> d;
  const Places<decltype(d)> di;
  using I = hn::TFromD<decltype(di)>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), first = x * c.stride - c.padding;
  auto max = hn::Set(d, -std::numeric_limits<T>::infinity());
  const auto steps = hn::Iota(di, 0);
  auto best = hn::Add(steps, hn::Set(di, static_cast<I>(row_starts[0] + first)));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t k = 0; k < c.kernel; k += lanes) {
      const int64_t at = row_starts[i] + first + (k + lanes <= c.kernel ? k : c.kernel - lanes);
      take_greater<kPlaces>(d, hn::LoadU(d, plane + at), hn::Add(steps, hn::Set(di, static_cast<I>(at))), &max, &best);
    }
  }
  const auto nan = hn::IsNaN(max);
  if (HWY_LIKELY(hn::AllFalse(d, nan))) {
    const auto greatest = hn::MaxOfLanes(d, max);
    out[x] = hn::GetLane(greatest);
    if constexpr (kPlaces) {
      const auto others = hn::Set(di, std::numeric_limits<I>::max());
      index[x] = static_cast<int64_t>(
          hn::GetLane(hn::MinOfLanes(di, hn::IfThenElse(hn::RebindMask(di, hn::Eq(max, greatest)), best, others))));
    }
  } else {
    out[x] = std::numeric_limits<T>::quiet_NaN();
    if constexpr (kPlaces) {
      const auto last = hn::MaxOfLanes(di, hn::IfThenElse(hn::RebindMask(di, nan), best, hn::Set(di, I{-1})));
      index[x] = static_cast<int64_t>(hn::GetLane(last));
    }
  }
}
#endif

template <bool kPlaces, class T>
void max_row_of(const T* plane, const int64_t* row_starts, int64_t rows, const PoolColumns& c, T* out, int64_t* index) {
  int64_t begin, end;
  inner_columns(c, &begin, &end);
#if HWY_TARGET != HWY_SCALAR
  const bool wide =
      c.dilation == 1 && c.stride > 2 && c.kernel >= static_cast<int64_t>(hn::Lanes(hn::CappedTag<T, 8>()));
  if (wide) {
    for (int64_t x = begin; x < end; ++x) max_window<kPlaces>(plane, row_starts, rows, c, x, out, index);
  }
#else
  const bool wide = false;
#endif
  const int64_t done = wide ? end : cover<T>(begin, end, [&](auto d, int64_t x) HWY_ATTR {
    max_block<kPlaces>(d, plane, row_starts, rows, c, x, out, index);
  });
  for (int64_t x = 0; x < c.out; ++x) {
    if (x == begin) x = done;
    if (x >= c.out) break;
    int64_t first = x * c.stride - c.padding;
    const int64_t reach = first + (c.kernel - 1) * c.dilation + 1, last = reach < c.in ? reach : c.in;
    if (first < 0) first += (-first + c.dilation - 1) / c.dilation * c.dilation;
    T max = -std::numeric_limits<T>::infinity();
    int64_t best = row_starts[0] + (first < c.in ? first : c.in - 1);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t k = first; k < last; k += c.dilation) {
        const T value = plane[row_starts[i] + k];
        if (value > max || value != value) max = value, best = row_starts[i] + k;
      }
    }
    out[x] = max;
    if constexpr (kPlaces) index[x] = best;
  }
}

template <class T>
void max_row(const T* plane, const int64_t* row_starts, int64_t rows, const PoolColumns& c, T* out, int64_t* index) {
  index != nullptr ? max_row_of<true>(plane, row_starts, rows, c, out, index)
                   : max_row_of<false>(plane, row_starts, rows, c, out, index);
}

template <class T>
void max_windows(const T* plane, const int64_t* corners, int64_t outputs, const int64_t* offsets, int64_t count, T* out,
                 int64_t* index) {
  int64_t done = 0;
#if HWY_TARGET != HWY_SCALAR
  done = cover<T>(0, outputs, [&](auto d, int64_t x) HWY_ATTR {
    const Places<decltype(d)> di;
    using I = hn::TFromD<decltype(di)>;
    const auto corner = load_places(d, corners + x);
    auto max = hn::Set(d, -std::numeric_limits<T>::infinity());
    auto best = corner;
    for (int64_t i = 0; i < count; ++i) {
      const auto place = hn::Add(corner, hn::Set(di, static_cast<I>(offsets[i])));
      take_greater<true>(d, hn::GatherIndex(d, plane, place), place, &max, &best);
    }
    hn::StoreU(max, d, out + x);
    store_places(d, best, index + x);
  });
#endif
  for (int64_t x = done; x < outputs; ++x) {
    T max = -std::numeric_limits<T>::infinity();
    int64_t best = corners[x];
    for (int64_t i = 0; i < count; ++i) {
      const T value = plane[corners[x] + offsets[i]];
      if (value > max || value != value) max = value, best = corners[x] + offsets[i];
    }
    out[x] = max;
    index[x] = best;
  }
}

template <bool kPlaces, class T>
void max_pixel_of(const T* image, const int64_t* places, int64_t count, int64_t channels, T* out, int64_t* index) {
  const int64_t done = cover<T>(0, channels, [&](auto d, int64_t j) HWY_ATTR {
    const Places<decltype(d)> di;
    using I = hn::TFromD<decltype(di)>;
    auto max = hn::Set(d, -std::numeric_limits<T>::infinity());
    auto best = hn::Set(di, static_cast<I>(places[0]));
    for (int64_t i = 0; i < count; ++i)
      take_greater<kPlaces>(d, hn::LoadU(d, image + places[i] * channels + j), hn::Set(di, static_cast<I>(places[i])),
                            &max, &best);
    hn::StoreU(max, d, out + j);
    if constexpr (kPlaces) store_places(d, best, index + j);
  });
  for (int64_t j = done; j < channels; ++j) {
    T max = -std::numeric_limits<T>::infinity();
    int64_t best = places[0];
    for (int64_t i = 0; i < count; ++i) {
      const T value = image[places[i] * channels + j];
      if (value > max || value != value) max = value, best = places[i];
    }
    out[j] = max;
    if constexpr (kPlaces) index[j] = best;
  }
}

template <class T>
void max_pixel(const T* image, const int64_t* places, int64_t count, int64_t channels, T* out, int64_t* index) {
  index != nullptr ? max_pixel_of<true>(image, places, count, channels, out, index)
                   : max_pixel_of<false>(image, places, count, channels, out, index);
}

// to[j] = finish(sum of from[starts[i] + j] over i)
template <class T, class F>
HWY_INLINE void sum_lines(const T* from, const int64_t* starts, int64_t scale, int64_t count, int64_t n, T* to,
                          const F& finish) {
  const int64_t done = cover<T>(0, n, [&](auto d, int64_t j) HWY_ATTR {
    auto sum = hn::Zero(d);
    for (int64_t i = 0; i < count; ++i) sum = hn::Add(sum, hn::LoadU(d, from + starts[i] * scale + j));
    hn::StoreU(finish(d, sum), d, to + j);
  });
  for (int64_t j = done; j < n; ++j) {
    T sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += from[starts[i] * scale + j];
    const hn::CappedTag<T, 1> one;
    to[j] = hn::GetLane(finish(one, hn::Set(one, sum)));
  }
}

template <class T>
void sum_rows(const T* plane, const int64_t* row_starts, int64_t rows, int64_t n, T* sums) {
  sum_lines(plane, row_starts, 1, rows, n, sums, [](auto, auto v) HWY_ATTR { return v; });
}

template <class T>
void avg_pixel(const T* image, const int64_t* places, int64_t count, int64_t channels, T divisor, T* out) {
  sum_lines(image, places, channels, count, channels, out,
            [divisor](auto d, auto v) HWY_ATTR { return hn::Div(v, hn::Set(d, divisor)); });
}

template <bool kDivide, class T>
HWY_INLINE void sum_columns_of(const T* sums, const PoolColumns& c, const T* divisors, T* out) {
  int64_t begin, end;
  inner_columns(c, &begin, &end);
  const int64_t done = cover<T>(begin, end, [&](auto d, int64_t x) HWY_ATTR {
    auto sum = hn::Zero(d);
    for (int64_t k = 0; k < c.kernel; ++k)
      sum = hn::Add(sum, load_strided(d, sums + x * c.stride - c.padding + k * c.dilation, c.stride));
    if constexpr (kDivide) sum = hn::Div(sum, hn::LoadU(d, divisors + x));
    hn::StoreU(sum, d, out + x);
  });
  for (int64_t x = 0; x < c.out; ++x) {
    if (x == begin) x = done;
    if (x >= c.out) break;
    T sum = 0;
    for (int64_t k = 0; k < c.kernel; ++k) {
      const int64_t at = x * c.stride - c.padding + k * c.dilation;
      if (at >= 0 && at < c.in) sum += sums[at];
    }
    out[x] = kDivide ? sum / divisors[x] : sum;
  }
}

template <class T>
void sum_columns(const T* sums, const PoolColumns& c, const T* divisors, T* out) {
  sum_columns_of<true>(sums, c, divisors, out);
}

template <class T>
void add_lines(const T* from, T* to, int64_t n) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t j = 0;
  for (; j + lanes <= n; j += lanes) hn::StoreU(hn::Add(hn::LoadU(d, to + j), hn::LoadU(d, from + j)), d, to + j);
  for (; j < n; ++j) to[j] += from[j];
}

template <class T>
void divide_lines(const T* from, const T* divisors, T* to, int64_t n) {
  const int64_t done = cover<T>(0, n, [&](auto d, int64_t j) HWY_ATTR {
    hn::StoreU(hn::Div(hn::LoadU(d, from + j), hn::LoadU(d, divisors + j)), d, to + j);
  });
  for (int64_t j = done; j < n; ++j) to[j] = from[j] / divisors[j];
}

// The outputs [*begin, *end) whose windows have an input at `place`.
HWY_INLINE void outputs_with(const PoolColumns& c, int64_t place, int64_t* begin, int64_t* end) {
  const int64_t shift = place - c.padding;
  *begin = shift < 0 ? -shift / c.stride + (-shift % c.stride != 0) : 0;
  *end = c.in - shift <= 0 ? 0 : (c.in - shift - 1) / c.stride + 1;
  if (*end > c.out) *end = c.out;
}

#if HWY_TARGET != HWY_SCALAR
// Adds the shares to the inputs at `place` and the one after it of all windows of stride 2: they are neighbours, as are
// the windows.
template <class T>
HWY_INLINE void spread_pairs(const T* share, const PoolColumns& c, int64_t place, T* line) {
  int64_t x, end, next, last;
  outputs_with(c, place, &x, &end);
  outputs_with(c, place + 1, &next, &last);
  T* to = line + place - c.padding;
  for (; next < last && next < x; ++next) to[next * 2 + 1] += share[next];
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (; x + lanes <= (end < last ? end : last); x += lanes) {
    hn::Vec<decltype(d)> even, odd;
    const auto v = hn::LoadU(d, share + x);
    hn::LoadInterleaved2(d, to + x * 2, even, odd);
    hn::StoreInterleaved2(hn::Add(even, v), hn::Add(odd, v), d, to + x * 2);
  }
  for (next = x; next < last; ++next) to[next * 2 + 1] += share[next];
  for (; x < end; ++x) to[x * 2] += share[x];
}
#endif

template <class T>
void spread_columns(const T* share, const PoolColumns& c, T* line) {
  if (c.stride == 1) {
    // The windows over an input are neighbours as well, and those that do not exist have shares of zero.
    const PoolColumns over{c.in + c.kernel - 1, c.in, c.kernel, 1, 0, 1};
    return sum_columns_of<false, T>(share + c.padding - (c.kernel - 1), over, nullptr, line);
  }
  std::fill_n(line, c.in, T(0));
  for (int64_t k = 0; k < c.kernel; ++k) {
#if HWY_TARGET != HWY_SCALAR
    if (c.stride == 2 && k + 1 < c.kernel) {
      spread_pairs(share, c, k, line);
      ++k;
      continue;
    }
#endif
    int64_t x, end;
    outputs_with(c, k, &x, &end);
    for (T* to = line + k - c.padding; x < end; ++x) to[x * c.stride] += share[x];
  }
}

template <class T>
bool spread_maxima(const T* grad, const int64_t* index, const int64_t* places, int64_t count, int64_t channels,
                   int64_t step, T* image) {
  bool all = true;
  int64_t j = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<T> d;
  const Places<decltype(d)> di;
  using I = hn::TFromD<decltype(di)>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (; j + lanes <= channels; j += lanes) {
    const auto best = load_places(d, index + j);
    const auto g = hn::LoadU(d, grad + j);
    auto left = hn::Not(hn::Zero(di));
    for (int64_t i = 0; i < count; ++i) {
      const auto here = hn::Eq(best, hn::Set(di, static_cast<I>(places[i])));
      T* to = image + places[i] * step + j;
      hn::StoreU(hn::Add(hn::LoadU(d, to), hn::IfThenElseZero(hn::RebindMask(d, here), g)), d, to);
      left = hn::IfThenZeroElse(here, left);
    }
    all = all && hn::AllTrue(di, hn::Eq(left, hn::Zero(di)));
  }
#endif
  for (; j < channels; ++j) {
    bool found = false;
    for (int64_t i = 0; i < count && !found; ++i) found = index[j] == places[i];
    if (found) image[index[j] * step + j] += grad[j];
    all = all && found;
  }
  return all;
}

template <class T>
constexpr PoolTable<T> pool_entries() {
  return {max_row<T>,   max_windows<T>, max_pixel<T>,    sum_rows<T>,       sum_columns<T>,
          avg_pixel<T>, add_lines<T>,   divide_lines<T>, spread_columns<T>, spread_maxima<T>};
}

const PoolTables* pool_tables() {
  static constexpr PoolTables tables{pool_entries<float>(), pool_entries<double>()};
  return &tables;
}

}  // namespace HWY_NAMESPACE
}  // namespace at::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace at::cpu {

namespace {
template <class T>
const PoolTable<T>& pool_table() {
  return AT_ISA_FUNCTION(pool_tables)()->template get<T>();
}
}  // namespace

template <class T>
void max_pool_row(const T* plane, const int64_t* row_starts, int64_t rows, const PoolColumns& c, T* out,
                  int64_t* index) {
  pool_table<T>().max_row(plane, row_starts, rows, c, out, index);
}
template <class T>
void max_pool_windows(const T* plane, const int64_t* corners, int64_t outputs, const int64_t* offsets, int64_t count,
                      T* out, int64_t* index) {
  pool_table<T>().max_windows(plane, corners, outputs, offsets, count, out, index);
}
template <class T>
void max_pool_pixel(const T* image, const int64_t* places, int64_t count, int64_t channels, T* out, int64_t* index) {
  pool_table<T>().max_pixel(image, places, count, channels, out, index);
}
template <class T>
void pool_sum_rows(const T* plane, const int64_t* row_starts, int64_t rows, int64_t n, T* sums) {
  pool_table<T>().sum_rows(plane, row_starts, rows, n, sums);
}
template <class T>
void pool_sum_columns(const T* sums, const PoolColumns& c, const T* divisors, T* out) {
  pool_table<T>().sum_columns(sums, c, divisors, out);
}
template <class T>
void avg_pool_pixel(const T* image, const int64_t* places, int64_t count, int64_t channels, T divisor, T* out) {
  pool_table<T>().avg_pixel(image, places, count, channels, divisor, out);
}
template <class T>
void pool_add(const T* from, T* to, int64_t n) {
  pool_table<T>().add(from, to, n);
}
template <class T>
void pool_divide(const T* from, const T* divisors, T* to, int64_t n) {
  pool_table<T>().divide(from, divisors, to, n);
}
template <class T>
void pool_spread_columns(const T* share, const PoolColumns& c, T* line) {
  pool_table<T>().spread_columns(share, c, line);
}
template <class T>
bool pool_spread_maxima(const T* grad, const int64_t* index, const int64_t* places, int64_t count, int64_t channels,
                        int64_t step, T* image) {
  return pool_table<T>().spread_maxima(grad, index, places, count, channels, step, image);
}

#define ATEN_CPU_ROWS_POOL(T)                                                                               \
  template void max_pool_row(const T*, const int64_t*, int64_t, const PoolColumns&, T*, int64_t*);          \
  template void max_pool_windows(const T*, const int64_t*, int64_t, const int64_t*, int64_t, T*, int64_t*); \
  template void max_pool_pixel(const T*, const int64_t*, int64_t, int64_t, T*, int64_t*);                   \
  template void pool_sum_rows(const T*, const int64_t*, int64_t, int64_t, T*);                              \
  template void pool_sum_columns(const T*, const PoolColumns&, const T*, T*);                               \
  template void avg_pool_pixel(const T*, const int64_t*, int64_t, int64_t, T, T*);                          \
  template void pool_add(const T*, T*, int64_t);                                                            \
  template void pool_divide(const T*, const T*, T*, int64_t);                                               \
  template void pool_spread_columns(const T*, const PoolColumns&, T*);                                      \
  template bool pool_spread_maxima(const T*, const int64_t*, const int64_t*, int64_t, int64_t, int64_t, T*);
ATEN_CPU_ROWS_POOL(float)
ATEN_CPU_ROWS_POOL(double)
#undef ATEN_CPU_ROWS_POOL

}  // namespace at::cpu
#endif  // HWY_ONCE
