// Softmax and log-softmax, forward and backward, and row_exp_sum.
#include "aten/cpu/rows/rows.h"
#include "aten/cpu/rows/tables.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/rows/softmax.cc"
#include "hwy/foreach_target.h"
// clang-format off
#include "aten/cpu/isa_table.h"
#include "hwy/highway.h"
#include "aten/cpu/rows/rows-inl.h"
#include "aten/cpu/vec_math-inl.h"
// clang-format on

#ifndef ATEN_CPU_ROWS_SOFTMAX_ONCE_
#define ATEN_CPU_ROWS_SOFTMAX_ONCE_
namespace at::cpu {
template <class T>
struct SoftmaxTable {
  double (*exp_sum)(const T*, int64_t, typename ComputeType<T>::type);
  void (*exp_sum_columns)(const T*, int64_t, int64_t, int64_t, const typename ComputeType<T>::type*, double*);
  void (*softmax_rows)(const T*, T*, int64_t, int64_t);
  void (*log_softmax_rows)(const T*, T*, int64_t, int64_t);
  void (*softmax_backward)(const T*, const T*, T*, int64_t);
  void (*log_softmax_backward)(const T*, const T*, T*, int64_t);
  void (*columns)(const T*, T*, int64_t, int64_t, int64_t, bool);
  void (*backward_columns)(const T*, const T*, T*, int64_t, int64_t, int64_t, bool);
};
using SoftmaxTables = RealTables<SoftmaxTable>;
}  // namespace at::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace at::cpu {
namespace HWY_NAMESPACE {

// out[i] = f(load) over the row; `load(p)` reads p at the place being computed, the tail padded with zeros.
template <class T, class F>
HWY_INLINE void map_row(T* out, int64_t n, const F& f) {
  const Tag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < n; i += lanes) {
    const bool whole = i + lanes <= n;
    const auto v = f([&](const T* p) HWY_ATTR { return whole ? load(d, p + i) : load_part(d, p + i, n - i, T{0}); });
    if (HWY_LIKELY(whole)) {
      store(d, v, out + i);
    } else {
      store_part(d, v, out + i, n - i);
    }
  }
}

// The row's maximum; NaN when there is a NaN, so that it reaches the result.
template <class T>
HWY_INLINE Compute<T> largest(const T* x, int64_t n) {
  const Tag<T> d;
  using C = Compute<T>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  constexpr C kLow = -std::numeric_limits<C>::infinity();
  auto a0 = hn::Set(d, kLow), a1 = a0;
  auto sum0 = hn::Zero(d);  // becomes NaN with any NaN: 0 * x would too for infinities, hence x != x
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const auto v0 = load(d, x + i), v1 = load(d, x + i + lanes);
    sum0 = hn::Or(sum0, hn::Or(hn::VecFromMask(d, hn::IsNaN(v0)), hn::VecFromMask(d, hn::IsNaN(v1))));
    a0 = hn::Max(a0, v0);
    a1 = hn::Max(a1, v1);
  }
  for (; i < n; i += lanes) {
    const auto v = i + lanes <= n ? load(d, x + i) : load_part(d, x + i, n - i, kLow);
    sum0 = hn::Or(sum0, hn::VecFromMask(d, hn::IsNaN(v)));
    a0 = hn::Max(a0, v);
  }
  if (!hn::AllFalse(d, hn::MaskFromVec(sum0))) return std::numeric_limits<C>::quiet_NaN();
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(a0, a1)));
}

template <class T>
HWY_INLINE void fill_nan(T* y, int64_t n) {
  const T nan = static_cast<T>(std::numeric_limits<Compute<T>>::quiet_NaN());
  for (int64_t i = 0; i < n; ++i) y[i] = nan;
}

// Rows are mostly taken one after the other, and memory has nothing to do while exponentials are computed.
template <class T>
HWY_INLINE void prefetch_next_row(const T* x, int64_t n, int64_t i) {
  __builtin_prefetch(x + n + i);
}

template <class T>
HWY_NOINLINE double exp_sum_impl(const T* x, int64_t n, Compute<T> shift) {
  const Tag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto s = hn::Set(d, shift);
  double total = 0;
  for (int64_t i = 0; i < n;) {
    const int64_t end = n - i < kSumBlock ? n : i + kSumBlock;
    auto sum = hn::Zero(d);
    for (; i < end; i += lanes) {
      prefetch_next_row(x, n, i);
      const auto v = i + lanes <= end ? load(d, x + i) : load_part(d, x + i, end - i, -std::numeric_limits<Compute<T>>::infinity());
      sum = hn::Add(sum, vm::exp(d, hn::Sub(v, s)));
    }
    i = end;
    total += static_cast<double>(lane_sum(d, sum));
  }
  return total;
}

template <class T>
void softmax_impl(const T* x, T* y, int64_t n) {
  using C = Compute<T>;
  const Tag<T> d;
  const C m = largest(x, n);
  if (!std::isfinite(m)) return fill_nan(y, n);
  const auto shift = hn::Set(d, m);
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  double total = 0;
  for (int64_t i = 0; i < n;) {
    const int64_t end = n - i < 16 * kSumBlock ? n : i + 16 * kSumBlock;
    auto s0 = hn::Zero(d), s1 = s0;
    for (; i + 2 * lanes <= end; i += 2 * lanes) {
      prefetch_next_row(x, n, i);
      prefetch_next_row(x, n, i + lanes);
      const auto e0 = vm::exp(d, hn::Sub(load(d, x + i), shift));
      const auto e1 = vm::exp(d, hn::Sub(load(d, x + i + lanes), shift));
      s0 = hn::Add(s0, e0);
      s1 = hn::Add(s1, e1);
      store(d, e0, y + i);
      store(d, e1, y + i + lanes);
    }
    for (; i < end; i += lanes) {
      const bool whole = i + lanes <= end;
      const auto v = whole ? load(d, x + i) : load_part(d, x + i, end - i, -std::numeric_limits<C>::infinity());
      const auto e = vm::exp(d, hn::Sub(v, shift));
      s0 = hn::Add(s0, e);
      if (whole) {
        store(d, e, y + i);
      } else {
        store_part(d, e, y + i, end - i);
        i = end - lanes;
      }
    }
    total += static_cast<double>(lane_sum(d, hn::Add(s0, s1)));
  }
  const auto scale = hn::Set(d, static_cast<C>(1 / total));
  map_row(y, n, [&](const auto& at) HWY_ATTR { return hn::Mul(at(y), scale); });
}

// e^(v - max v) of a row that fits into one vector, and one over its sum; NaN where the row's maximum is not finite.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V short_row_softmax(D d, V v, hn::Mask<D> part) {
  using C = hn::TFromD<D>;
  const V low = hn::Set(d, -std::numeric_limits<C>::infinity());
  const V filled = hn::IfThenElse(part, v, low);
  const V m = hn::MaxOfLanes(d, filled);
  const V e = vm::exp(d, hn::Sub(filled, m));
  const C total = lane_sum(d, e);
  const bool finite = hn::AllFalse(d, hn::IsNaN(filled)) && std::isfinite(hn::GetLane(m));
  const C scale = finite ? static_cast<C>(1 / static_cast<double>(total)) : std::numeric_limits<C>::quiet_NaN();
  return hn::Mul(finite ? e : low, hn::Set(d, scale));
}

// `rows` rows of n elements, one after the other. Short ones are computed four at a time, since each waits for itself.
template <class T>
void softmax_rows_impl(const T* x, T* y, int64_t rows, int64_t n) {
  const Tag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t r = 0;
  if (n <= lanes) {
    const auto part = hn::FirstN(d, static_cast<size_t>(n));
    const auto at = [&](int64_t row) HWY_ATTR { return n == lanes ? load(d, x + row * n) : load_part(d, x + row * n, n, T{0}); };
    const auto put = [&](int64_t row, auto v) HWY_ATTR { n == lanes ? store(d, v, y + row * n) : store_part(d, v, y + row * n, n); };
    // Four rows together: one row is a chain of steps that wait for each other.
    for (; r + 4 <= rows; r += 4) {
      const auto v0 = at(r), v1 = at(r + 1), v2 = at(r + 2), v3 = at(r + 3);
      put(r, short_row_softmax(d, v0, part));
      put(r + 1, short_row_softmax(d, v1, part));
      put(r + 2, short_row_softmax(d, v2, part));
      put(r + 3, short_row_softmax(d, v3, part));
    }
    for (; r < rows; ++r) put(r, short_row_softmax(d, at(r), part));
  }
  for (; r < rows; ++r) softmax_impl(x + r * n, y + r * n, n);
}

// The logarithms of the sums of rows of n elements: of a vector of them where rows are short, for which one alone would
// take longer than the row.
template <class C>
HWY_INLINE void logarithms(C* sums, int64_t count, int64_t n) {
  if constexpr (sizeof(C) == 4) {
    const Tag<C> d;
    if (n <= 512) return hn::Store(vm::log(d, hn::Load(d, sums)), d, sums);
  }
  for (int64_t k = 0; k < count; ++k) sums[k] = static_cast<C>(std::log(static_cast<double>(sums[k])));
}

// `rows` rows of n elements, one after the other: a vector of them at a time, whose logarithms are taken together.
template <class T>
void log_softmax_rows_impl(const T* x, T* y, int64_t rows, int64_t n) {
  using C = Compute<T>;
  const Tag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  HWY_ALIGN C shifts[HWY_MAX_BYTES / sizeof(C)], sums[HWY_MAX_BYTES / sizeof(C)];
  hn::Store(hn::Set(d, C{1}), d, sums);
  for (int64_t r = 0; r < rows; r += lanes, x += lanes * n, y += lanes * n) {
    const int64_t count = rows - r < lanes ? rows - r : lanes;
    for (int64_t k = 0; k < count; ++k) {
      const C m = largest(x + k * n, n);
      shifts[k] = std::isfinite(m) ? m : std::numeric_limits<C>::quiet_NaN();
      sums[k] = std::isfinite(m) ? static_cast<C>(exp_sum_impl(x + k * n, n, m)) : C{1};
    }
    logarithms(sums, count, n);
    for (int64_t k = 0; k < count; ++k) {
      const auto shift = hn::Set(d, shifts[k]), log_sum = hn::Set(d, sums[k]);
      map_row(y + k * n, n, [&](const auto& at) HWY_ATTR { return hn::Sub(hn::Sub(at(x + k * n), shift), log_sum); });
    }
  }
}

template <class T>
void softmax_backward_impl(const T* g, const T* y, T* gx, int64_t n) {
  using C = Compute<T>;
  const Tag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  double total = 0;
  for (int64_t block = 0; block < n; block += kSumBlock) {
    const int64_t end = n - block < kSumBlock ? n : block + kSumBlock;
    auto s0 = hn::Zero(d), s1 = s0;
    int64_t i = block;
    for (; i + 2 * lanes <= end; i += 2 * lanes) {
      s0 = hn::MulAdd(load(d, g + i), load(d, y + i), s0);
      s1 = hn::MulAdd(load(d, g + i + lanes), load(d, y + i + lanes), s1);
    }
    for (; i < end; i += lanes) {
      const bool whole = i + lanes <= end;
      const auto a = whole ? load(d, g + i) : load_part(d, g + i, end - i, C{0});
      const auto b = whole ? load(d, y + i) : load_part(d, y + i, end - i, C{0});
      s0 = hn::MulAdd(a, b, s0);
    }
    total += static_cast<double>(lane_sum(d, hn::Add(s0, s1)));
  }
  const auto sum = hn::Set(d, static_cast<C>(total));
  map_row(gx, n, [&](const auto& at) HWY_ATTR { return hn::Mul(hn::Sub(at(g), sum), at(y)); });
}

template <class T>
void log_softmax_backward_impl(const T* g, const T* y, T* gx, int64_t n) {
  const Tag<T> d;
  const double total = block_sum(g, n, Compute<T>{0}, [](auto, auto v) HWY_ATTR { return v; });
  const auto sum = hn::Set(d, static_cast<Compute<T>>(total));
  map_row(gx, n, [&](const auto& at) HWY_ATTR { return hn::NegMulAdd(vm::exp(d, at(y)), sum, at(g)); });
}

// One vector of columns at a time; `at(row)` loads it, `put(row, v)` stores the result.
template <class T, class At, class Put>
HWY_INLINE void softmax_column_vector(int64_t rows, bool log, const At& at, const Put& put) {
  const Tag<T> d;
  using C = Compute<T>;
  auto m = hn::Set(d, -std::numeric_limits<C>::infinity());
  auto nan = hn::Zero(d);
  for (int64_t r = 0; r < rows; ++r) {
    const auto v = at(r);
    nan = hn::Or(nan, hn::VecFromMask(d, hn::IsNaN(v)));
    m = hn::Max(m, v);
  }
  const auto inf = hn::Set(d, std::numeric_limits<C>::infinity());
  const auto bad = hn::Or(hn::MaskFromVec(nan), hn::Eq(hn::Abs(m), inf));
  m = hn::IfThenElse(bad, hn::Set(d, std::numeric_limits<C>::quiet_NaN()), m);
  auto sum = hn::Zero(d), part = sum;
  for (int64_t r = 0; r < rows; ++r) {
    part = hn::Add(part, vm::exp(d, hn::Sub(at(r), m)));
    if ((r & 63) == 63) {
      sum = hn::Add(sum, part);
      part = hn::Zero(d);
    }
  }
  sum = hn::Add(sum, part);
  if (log) {
    const auto log_sum = hn::IfThenElse(bad, m, hn::Log(d, sum));
    for (int64_t r = 0; r < rows; ++r) put(r, hn::Sub(hn::Sub(at(r), m), log_sum));
  } else {
    const auto scale = hn::Div(hn::Set(d, C{1}), sum);
    for (int64_t r = 0; r < rows; ++r) put(r, hn::Mul(vm::exp(d, hn::Sub(at(r), m)), scale));
  }
}

template <class T>
void softmax_columns_impl(const T* x, T* y, int64_t stride, int64_t rows, int64_t cols, bool log) {
  const Tag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t j = 0; j < cols; j += lanes) {
    const int64_t left = cols - j;
    softmax_column_vector<T>(
        rows, log,
        [&](int64_t r) HWY_ATTR {
          const T* p = x + j + r * stride;
          return left >= lanes ? load(d, p) : load_part(d, p, left, T{0});
        },
        [&](int64_t r, auto v) HWY_ATTR {
          T* p = y + j + r * stride;
          left >= lanes ? store(d, v, p) : store_part(d, v, p, left);
        });
  }
}

template <class T, class At, class Put>
HWY_INLINE void softmax_backward_column_vector(int64_t rows, bool log, const At& at, const Put& put) {
  const Tag<T> d;
  auto sum = hn::Zero(d), part = sum;
  for (int64_t r = 0; r < rows; ++r) {
    part = log ? hn::Add(part, at(r, true)) : hn::MulAdd(at(r, true), at(r, false), part);
    if ((r & 63) == 63) {
      sum = hn::Add(sum, part);
      part = hn::Zero(d);
    }
  }
  sum = hn::Add(sum, part);
  for (int64_t r = 0; r < rows; ++r) {
    const auto g = at(r, true), y = at(r, false);
    put(r, log ? hn::NegMulAdd(vm::exp(d, y), sum, g) : hn::Mul(hn::Sub(g, sum), y));
  }
}

template <class T>
void softmax_backward_columns_impl(const T* g, const T* y, T* gx, int64_t stride, int64_t rows, int64_t cols, bool log) {
  const Tag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t j = 0; j < cols; j += lanes) {
    const int64_t left = cols - j;
    softmax_backward_column_vector<T>(
        rows, log,
        [&](int64_t r, bool grad) HWY_ATTR {
          const T* p = (grad ? g : y) + j + r * stride;
          return left >= lanes ? load(d, p) : load_part(d, p, left, T{0});
        },
        [&](int64_t r, auto v) HWY_ATTR {
          T* p = gx + j + r * stride;
          left >= lanes ? store(d, v, p) : store_part(d, v, p, left);
        });
  }
}

template <class T>
void exp_sum_columns_impl(const T* x, int64_t row_stride, int64_t rows, int64_t cols, const Compute<T>* shift,
                          double* acc) {
  const Tag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  HWY_ALIGN Compute<T> part[HWY_MAX_BYTES / sizeof(Compute<T>)];
  for (int64_t j = 0; j < cols; j += lanes) {
    const int64_t n = cols - j < lanes ? cols - j : lanes;
    const auto about = n == lanes ? load(d, shift + j) : load_part(d, shift + j, n, T{0});
    const char* row = reinterpret_cast<const char*>(x + j);
    for (int64_t left = rows; left > 0; left -= 64) {
      auto sum = hn::Zero(d), other = sum;
      for (int64_t r = left < 64 ? left : 64; r > 0; --r, row += row_stride) {
        const T* p = reinterpret_cast<const T*>(row);
        const auto v = vm::exp(d, hn::Sub(n == lanes ? load(d, p) : load_part(d, p, n, T{0}), about));
        if (r % 2 == 0) {
          sum = hn::Add(sum, v);
        } else {
          other = hn::Add(other, v);
        }
      }
      hn::Store(hn::Add(sum, other), d, part);
      for (int64_t k = 0; k < n; ++k) acc[j + k] += static_cast<double>(part[k]);
    }
  }
}

template <class T>
constexpr SoftmaxTable<T> make_softmax_table() {
  return {exp_sum_impl<T>,
          exp_sum_columns_impl<T>,
          softmax_rows_impl<T>,
          log_softmax_rows_impl<T>,
          softmax_backward_impl<T>,
          log_softmax_backward_impl<T>,
          softmax_columns_impl<T>,
          softmax_backward_columns_impl<T>};
}

const SoftmaxTables* softmax_tables() {
  static constexpr SoftmaxTables tables{make_softmax_table<float>(), make_softmax_table<double>()};
  return &tables;
}

}  // namespace HWY_NAMESPACE
}  // namespace at::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace at::cpu {

namespace {
template <class T>
const SoftmaxTable<T>& softmax_table() {
  return AT_ISA_FUNCTION(softmax_tables)()->template get<T>();
}
}  // namespace

template <class T>
double row_exp_sum(const T* x, int64_t n, typename ComputeType<T>::type shift) {
  return softmax_table<T>().exp_sum(x, n, shift);
}
template <class T>
void column_exp_sum(const T* x, int64_t row_stride, int64_t rows, int64_t cols,
                    const typename ComputeType<T>::type* shift, double* acc) {
  softmax_table<T>().exp_sum_columns(x, row_stride, rows, cols, shift, acc);
}
template <class T>
void softmax_rows(const T* x, T* y, int64_t rows, int64_t n) {
  softmax_table<T>().softmax_rows(x, y, rows, n);
}
template <class T>
void log_softmax_rows(const T* x, T* y, int64_t rows, int64_t n) {
  softmax_table<T>().log_softmax_rows(x, y, rows, n);
}
template <class T>
void softmax_backward_row(const T* g, const T* y, T* gx, int64_t n) {
  softmax_table<T>().softmax_backward(g, y, gx, n);
}
template <class T>
void log_softmax_backward_row(const T* g, const T* y, T* gx, int64_t n) {
  softmax_table<T>().log_softmax_backward(g, y, gx, n);
}
template <class T>
void softmax_columns(const T* x, T* y, int64_t stride, int64_t rows, int64_t cols, bool log) {
  softmax_table<T>().columns(x, y, stride, rows, cols, log);
}
template <class T>
void softmax_backward_columns(const T* g, const T* y, T* gx, int64_t stride, int64_t rows, int64_t cols, bool log) {
  softmax_table<T>().backward_columns(g, y, gx, stride, rows, cols, log);
}

#define ATEN_CPU_ROWS_SOFTMAX(T)                                             \
  template double row_exp_sum(const T*, int64_t, ComputeType<T>::type);      \
  template void column_exp_sum(const T*, int64_t, int64_t, int64_t, const ComputeType<T>::type*, double*); \
  template void softmax_rows(const T*, T*, int64_t, int64_t);                \
  template void log_softmax_rows(const T*, T*, int64_t, int64_t);            \
  template void softmax_backward_row(const T*, const T*, T*, int64_t);       \
  template void log_softmax_backward_row(const T*, const T*, T*, int64_t);   \
  template void softmax_columns(const T*, T*, int64_t, int64_t, int64_t, bool); \
  template void softmax_backward_columns(const T*, const T*, T*, int64_t, int64_t, int64_t, bool);
ATEN_CPU_ROWS_SOFTMAX(float)
ATEN_CPU_ROWS_SOFTMAX(double)
#undef ATEN_CPU_ROWS_SOFTMAX

}  // namespace at::cpu
#endif  // HWY_ONCE
