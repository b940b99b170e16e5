// row_max, row_min, column_max, column_min.
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

template <bool kMax, class T>
void column_extreme_impl(const T* x, int64_t row_stride, int64_t rows, int64_t cols, Compute<T>* acc) {
  const Tag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const char* base = reinterpret_cast<const char*>(x);
  int64_t j = 0;
  for (; j + lanes <= cols; j += lanes) {
    auto a = hn::LoadU(d, acc + j);
    const char* row = base + j * static_cast<int64_t>(sizeof(T));
    for (int64_t r = 0; r < rows; ++r, row += row_stride) {
      const auto v = load(d, reinterpret_cast<const T*>(row));
      // A NaN already there stays, a new one enters.
      a = hn::IfThenElse(hn::IsNaN(a), a, hn::IfThenElse(hn::IsNaN(v), v, pick<kMax>(a, v)));
    }
    hn::StoreU(a, d, acc + j);
  }
  for (; j < cols; ++j) {
    Compute<T> a = acc[j];
    const char* row = base + j * static_cast<int64_t>(sizeof(T));
    for (int64_t r = 0; r < rows; ++r, row += row_stride) {
      const Compute<T> v = static_cast<Compute<T>>(*reinterpret_cast<const T*>(row));
      if (a == a && !(kMax ? v <= a : v >= a)) a = v;
    }
    acc[j] = a;
  }
}

template <class T>
constexpr ExtremeTable<T> make_extreme_table() {
  return {extreme_impl<true, T>, extreme_impl<false, T>, column_extreme_impl<true, T>, column_extreme_impl<false, T>};
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

#define ATEN_CPU_ROWS_EXTREME(T)                                                                   \
  template ComputeType<T>::type row_max(const T*, int64_t);                                        \
  template ComputeType<T>::type row_min(const T*, int64_t);                                        \
  template void column_max(const T*, int64_t, int64_t, int64_t, typename ComputeType<T>::type*);   \
  template void column_min(const T*, int64_t, int64_t, int64_t, typename ComputeType<T>::type*);
ATEN_CPU_ROWS_EXTREME(float)
ATEN_CPU_ROWS_EXTREME(double)
ATEN_CPU_ROWS_EXTREME(c10::Half)
ATEN_CPU_ROWS_EXTREME(c10::BFloat16)
#undef ATEN_CPU_ROWS_EXTREME

}  // namespace at::cpu
#endif  // HWY_ONCE
