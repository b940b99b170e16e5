// row_max, row_min, column_max, column_min, row_find and the extremes of integers.
#include "aten/cpu/rows/rows.h"
#include "aten/cpu/rows/tables.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/rows/extreme.cc"
#include "hwy/foreach_target.h"
// clang-format off
#include "aten/cpu/isa_table.h"
#include "hwy/highway.h"
#include "aten/cpu/rows/rows-inl.h"
// clang-format on

#ifndef ATEN_CPU_ROWS_EXTREME_ONCE_
#define ATEN_CPU_ROWS_EXTREME_ONCE_
namespace at::cpu {
template <class T>
struct ExtremeTable {
  using C = typename ComputeType<T>::type;
  C (*max)(const T*, int64_t);
  C (*min)(const T*, int64_t);
  void (*column_max)(const T*, int64_t, int64_t, int64_t, C*);
  void (*column_min)(const T*, int64_t, int64_t, int64_t, C*);
  int64_t (*find)(const T*, int64_t, C);
};
template <class T>
struct IntegerTable {
  T (*row)(const T*, int64_t, bool);
  void (*columns)(const T*, int64_t, int64_t, int64_t, bool, T*);
};
struct IntegerTables {
  IntegerTable<uint8_t> u8;
  IntegerTable<int8_t> i8;
  IntegerTable<int16_t> i16;
  IntegerTable<int32_t> i32;
  IntegerTable<int64_t> i64;
};
using ExtremeTables = FloatingTables<ExtremeTable>;
}  // namespace at::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace at::cpu {
namespace HWY_NAMESPACE {

template <bool kMax, class V>
HWY_INLINE V pick(V a, V b) {
  return kMax ? hn::Max(a, b) : hn::Min(a, b);
}

// Comparisons ignore NaN, so NaNs are counted beside them in a mask kept as a vector of bits.
template <bool kMax, class T>
Compute<T> extreme_impl(const T* x, int64_t n) {
  using C = Compute<T>;
  const Tag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  constexpr C kInf = std::numeric_limits<C>::infinity();
  constexpr C kIdentity = kMax ? -kInf : kInf;
  auto a0 = hn::Set(d, kIdentity), a1 = a0, a2 = a0, a3 = a0;
  auto nan0 = hn::Zero(d), nan1 = nan0;
  const auto quiet = [d](auto v) HWY_ATTR { return hn::VecFromMask(d, hn::IsNaN(v)); };
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    const auto v0 = load(d, x + i), v1 = load(d, x + i + lanes), v2 = load(d, x + i + 2 * lanes), v3 = load(d, x + i + 3 * lanes);
    nan1 = hn::Or(nan1, hn::Or(quiet(v2), quiet(v3)));
    nan0 = hn::Or(nan0, hn::Or(quiet(v0), quiet(v1)));
    a0 = pick<kMax>(a0, v0);
    a1 = pick<kMax>(a1, v1);
    a2 = pick<kMax>(a2, v2);
    a3 = pick<kMax>(a3, v3);
  }
  for (; i < n; i += lanes) {
    const auto v = i + lanes <= n ? load(d, x + i) : load_part(d, x + i, n - i, kIdentity);
    nan0 = hn::Or(nan0, quiet(v));
    a0 = pick<kMax>(a0, v);
  }
  nan0 = hn::Or(nan0, nan1);
  if (!hn::AllFalse(d, hn::MaskFromVec(nan0))) return std::numeric_limits<C>::quiet_NaN();
  const auto all = pick<kMax>(pick<kMax>(a0, a1), pick<kMax>(a2, a3));
  return hn::GetLane(kMax ? hn::MaxOfLanes(d, all) : hn::MinOfLanes(d, all));
}

// Several rows at a time, so that `acc` is read and written once for all of them and memory is read in long runs.
template <bool kMax, class T>
void column_extreme_impl(const T* x, int64_t row_stride, int64_t rows, int64_t cols, Compute<T>* acc) {
  using C = Compute<T>;
  const Tag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto element = [&](int64_t r, int64_t j) {
    return reinterpret_cast<const T*>(reinterpret_cast<const char*>(x) + r * row_stride) + j;
  };
  const auto nan = hn::Set(d, std::numeric_limits<C>::quiet_NaN());
  constexpr int64_t kRows = 8;
  for (int64_t r = 0; r < rows; r += kRows) {
    const int64_t last = r + kRows < rows ? r + kRows : rows;
    int64_t j = 0;
    for (; j + lanes <= cols; j += lanes) {
      // Of numbers; where one is NaN, the result is.
      auto best = hn::LoadU(d, acc + j);
      auto found = hn::IsNaN(best);
      for (int64_t i = r; i < last; ++i) {
        const auto v = load(d, element(i, j));
        found = hn::Or(found, hn::IsNaN(v));
        best = pick<kMax>(best, v);
      }
      hn::StoreU(hn::IfThenElse(found, nan, best), d, acc + j);
    }
    for (; j < cols; ++j) {
      C a = acc[j];
      for (int64_t i = r; i < last; ++i) {
        const C v = static_cast<C>(*element(i, j));
        if (a == a && !(kMax ? v <= a : v >= a)) a = v;
      }
      acc[j] = a;
    }
  }
}

template <class T>
int64_t find_impl(const T* x, int64_t n, Compute<T> v) {
  const Tag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto wanted = hn::Set(d, v);
  const bool nan = v != v;
  const auto found = [&](auto u) HWY_ATTR { return nan ? hn::IsNaN(u) : hn::Eq(u, wanted); };
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto hits = found(load(d, x + i));
    if (!hn::AllFalse(d, hits)) return i + hn::FindFirstTrue(d, hits);
  }
  for (; i < n; ++i) {
    const Compute<T> u = static_cast<Compute<T>>(x[i]);
    if (nan ? u != u : u == v) return i;
  }
  return n;
}

template <class T>
constexpr ExtremeTable<T> make_extreme_table() {
  return {extreme_impl<true, T>, extreme_impl<false, T>, column_extreme_impl<true, T>, column_extreme_impl<false, T>,
          find_impl<T>};
}

template <bool kMax, class T>
T integer_row(const T* x, int64_t n) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  T best = kMax ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
  int64_t i = 0;
  if (n >= 4 * lanes) {
    auto a0 = hn::Set(d, best), a1 = a0, a2 = a0, a3 = a0;
    for (; i + 4 * lanes <= n; i += 4 * lanes) {
      a0 = pick<kMax>(a0, hn::LoadU(d, x + i));
      a1 = pick<kMax>(a1, hn::LoadU(d, x + i + lanes));
      a2 = pick<kMax>(a2, hn::LoadU(d, x + i + 2 * lanes));
      a3 = pick<kMax>(a3, hn::LoadU(d, x + i + 3 * lanes));
    }
    HWY_ALIGN T part[HWY_MAX_BYTES / sizeof(T)];
    hn::Store(pick<kMax>(pick<kMax>(a0, a1), pick<kMax>(a2, a3)), d, part);
    for (int64_t k = 0; k < lanes; ++k) best = (kMax ? part[k] > best : part[k] < best) ? part[k] : best;
  }
  for (; i < n; ++i) best = (kMax ? x[i] > best : x[i] < best) ? x[i] : best;
  return best;
}
template <bool kMax, class T>
void integer_columns(const T* x, int64_t row_stride, int64_t rows, int64_t cols, T* acc) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t r = 0; r < rows; ++r) {
    const T* row = reinterpret_cast<const T*>(reinterpret_cast<const char*>(x) + r * row_stride);
    int64_t j = 0;
    for (; j + lanes <= cols; j += lanes)
      hn::StoreU(pick<kMax>(hn::LoadU(d, acc + j), hn::LoadU(d, row + j)), d, acc + j);
    for (; j < cols; ++j) acc[j] = (kMax ? row[j] > acc[j] : row[j] < acc[j]) ? row[j] : acc[j];
  }
}
template <class T>
T integer_row_impl(const T* x, int64_t n, bool greatest) {
  return greatest ? integer_row<true>(x, n) : integer_row<false>(x, n);
}
template <class T>
void integer_columns_impl(const T* x, int64_t row_stride, int64_t rows, int64_t cols, bool greatest, T* acc) {
  greatest ? integer_columns<true>(x, row_stride, rows, cols, acc)
           : integer_columns<false>(x, row_stride, rows, cols, acc);
}
template <class T>
constexpr IntegerTable<T> make_integer_table() {
  return {integer_row_impl<T>, integer_columns_impl<T>};
}
const IntegerTables* integer_tables() {
  static constexpr IntegerTables tables{make_integer_table<uint8_t>(), make_integer_table<int8_t>(),
                                        make_integer_table<int16_t>(), make_integer_table<int32_t>(),
                                        make_integer_table<int64_t>()};
  return &tables;
}

const ExtremeTables* extreme_tables() {
  static constexpr ExtremeTables tables{{make_extreme_table<float>(), make_extreme_table<double>()},
                                        make_extreme_table<c10::Half>(), make_extreme_table<c10::BFloat16>()};
  return &tables;
}

}  // namespace HWY_NAMESPACE
}  // namespace at::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace at::cpu {

namespace {
template <class T>
const ExtremeTable<T>& extreme_table() {
  return AT_ISA_FUNCTION(extreme_tables)()->template get<T>();
}
}  // namespace

template <class T>
typename ComputeType<T>::type row_max(const T* x, int64_t n) {
  return extreme_table<T>().max(x, n);
}
template <class T>
typename ComputeType<T>::type row_min(const T* x, int64_t n) {
  return extreme_table<T>().min(x, n);
}
template <class T>
void column_max(const T* x, int64_t row_stride, int64_t rows, int64_t cols, typename ComputeType<T>::type* acc) {
  extreme_table<T>().column_max(x, row_stride, rows, cols, acc);
}
template <class T>
void column_min(const T* x, int64_t row_stride, int64_t rows, int64_t cols, typename ComputeType<T>::type* acc) {
  extreme_table<T>().column_min(x, row_stride, rows, cols, acc);
}

template <class T>
int64_t row_find(const T* x, int64_t n, typename ComputeType<T>::type v) {
  return extreme_table<T>().find(x, n, v);
}

#define ATEN_CPU_ROWS_INTEGER(T, field)                                                                                \
  template <>                                                                                                          \
  T integer_row_extreme(const T* x, int64_t n, bool greatest) {                                                        \
    return AT_ISA_FUNCTION(integer_tables)()->field.row(x, n, greatest);                                               \
  }                                                                                                                    \
  template <>                                                                                                          \
  void integer_column_extreme(const T* x, int64_t row_stride, int64_t rows, int64_t cols, bool greatest, T* acc) {     \
    AT_ISA_FUNCTION(integer_tables)()->field.columns(x, row_stride, rows, cols, greatest, acc);                        \
  }
ATEN_CPU_ROWS_INTEGER(uint8_t, u8)
ATEN_CPU_ROWS_INTEGER(int8_t, i8)
ATEN_CPU_ROWS_INTEGER(int16_t, i16)
ATEN_CPU_ROWS_INTEGER(int32_t, i32)
ATEN_CPU_ROWS_INTEGER(int64_t, i64)
#undef ATEN_CPU_ROWS_INTEGER

#define ATEN_CPU_ROWS_EXTREME(T)                                                                   \
  template ComputeType<T>::type row_max(const T*, int64_t);                                        \
  template ComputeType<T>::type row_min(const T*, int64_t);                                        \
  template int64_t row_find(const T*, int64_t, typename ComputeType<T>::type);                     \
  template void column_max(const T*, int64_t, int64_t, int64_t, typename ComputeType<T>::type*);   \
  template void column_min(const T*, int64_t, int64_t, int64_t, typename ComputeType<T>::type*);
ATEN_CPU_ROWS_EXTREME(float)
ATEN_CPU_ROWS_EXTREME(double)
ATEN_CPU_ROWS_EXTREME(c10::Half)
ATEN_CPU_ROWS_EXTREME(c10::BFloat16)
#undef ATEN_CPU_ROWS_EXTREME

}  // namespace at::cpu
#endif  // HWY_ONCE
