// a ^ b. In float32 as 2^(b log2 a) in double precision, where rounding to float does what overflow, underflow and
// subnormal results need: within 0.6 units of the last place.
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "aten/cpu/loops/loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/loops/power.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "aten/cpu/loops/loops-inl.h"
#include "aten/cpu/vec_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace at::cpu {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
using PowDouble = hn::ScalableTag<double>;
using PowFloat = hn::Rebind<float, PowDouble>;

template <class D, class V>
HWY_INLINE V series(D d, V x, double last) {
  return hn::Set(d, last);
}
template <class D, class V, class... C>
HWY_INLINE V series(D d, V x, double first, C... rest) {
  return hn::MulAdd(series(d, x, rest...), x, hn::Set(d, first));
}

// log2(m 2^e) for m = 1 + f in [sqrt(1/2), sqrt(2)): 2 / ln 2 times the series of artanh(f / (2 + f)), cut below 2e-12.
HWY_INLINE hn::Vec<PowDouble> log2_of_parts(PowDouble d, hn::Vec<PowDouble> f, hn::Vec<PowDouble> e) {
  const auto s = hn::Div(f, hn::Add(f, hn::Set(d, 2.0)));
  const auto p = series(d, hn::Mul(s, s), 2.8853900817779268, 0.96179669392597560, 0.57707801635558536,
                        0.41219858311113240, 0.32059889797532520, 0.26230818925253880, 0.22195308321368668);
  return hn::MulAdd(s, p, e);
}

// 2^t for |t| <= 200, whose relative error is below 3e-10.
HWY_INLINE hn::Vec<PowDouble> exp2_of(PowDouble d, hn::Vec<PowDouble> t) {
  const hn::RebindToUnsigned<PowDouble> du;
  const auto magic =
      hn::Set(d, 6755399441055744.0);  // 1.5 * 2^52: adding it leaves the nearest integer in the last bits
  const auto shifted = hn::Add(t, magic);
  const auto f = hn::Sub(t, hn::Sub(shifted, magic));
  const auto p =
      series(d, f, 1.0, 0.69314718055994531, 0.24022650695910072, 0.055504108664821580, 0.0096181291076284772,
             0.0013333558146428443, 0.00015403530393381610, 1.5252733804059841e-05, 1.3215486790144309e-06);
  return hn::BitCast(d, hn::Add(hn::BitCast(du, p), hn::ShiftLeft<52>(hn::BitCast(du, shifted))));
}

HWY_INLINE hn::Vec<PowFloat> power(PowFloat d, hn::Vec<PowFloat> x, hn::Vec<PowFloat> y) {
  const PowDouble dd;
  const auto zero = hn::Zero(d), one = hn::Set(d, 1.0f), infinity = hn::Set(d, __builtin_inff());
  const auto ax = hn::Abs(x), ay = hn::Abs(y);
  hn::Vec<PowFloat> e;
  const auto f = vm::split_any(d, ax, e);
  auto t = hn::Mul(hn::PromoteTo(dd, y), log2_of_parts(dd, hn::PromoteTo(dd, f), hn::PromoteTo(dd, e)));
  t = hn::Min(hn::Max(t, hn::Set(dd, -200.0)), hn::Set(dd, 200.0));
  auto r = hn::DemoteTo(d, exp2_of(dd, t));
  const auto usual = hn::And(hn::And(hn::Gt(x, zero), hn::Lt(x, infinity)), hn::Lt(ay, infinity));
  if (HWY_LIKELY(hn::AllTrue(d, usual))) return r;

  const auto falls = hn::Lt(y, zero);
  const auto no_base = hn::Eq(ax, zero), endless = hn::Eq(ax, infinity);
  r = hn::IfThenElse(no_base, hn::IfThenElse(falls, infinity, zero), r);
  r = hn::IfThenElse(endless, hn::IfThenElse(falls, zero, infinity), r);
  const auto half = hn::Mul(y, hn::Set(d, 0.5f));
  const auto whole = hn::Eq(hn::Floor(y), y);
  const auto odd = hn::And(whole, hn::Ne(hn::Floor(half), half));
  const auto negative = hn::Ne(hn::CopySign(one, x), one);
  r = hn::IfThenElse(hn::And(negative, odd), hn::Neg(r), r);
  const auto undefined = hn::And(hn::And(hn::Lt(x, zero), hn::Lt(ax, infinity)), hn::Not(whole));
  r = hn::IfThenElse(undefined, hn::Set(d, __builtin_nanf("")), r);
  r = hn::IfThenElse(hn::IsNaN(y), y, hn::IfThenElse(hn::IsNaN(x), x, r));
  const auto one_of = hn::Or(hn::Or(hn::Eq(x, one), hn::Eq(y, zero)), hn::And(hn::Eq(ax, one), hn::Eq(ay, infinity)));
  return hn::IfThenElse(one_of, one, r);
}

void pow_float(char* const* data, int64_t n, const void*) {
  const PowFloat d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  float* out = reinterpret_cast<float*>(data[0]);
  const float* a = reinterpret_cast<const float*>(data[1]);
  const float* b = reinterpret_cast<const float*>(data[2]);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(power(d, hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, out + i);
  if (i == n) return;
  HWY_ALIGN float x[hn::MaxLanes(PowFloat())], y[hn::MaxLanes(PowFloat())];
  hn::Store(hn::Set(d, 1.0f), d, x);
  hn::Store(hn::Set(d, 1.0f), d, y);
  for (int64_t k = 0; k < n - i; ++k) x[k] = a[i + k], y[k] = b[i + k];
  hn::Store(power(d, hn::Load(d, x), hn::Load(d, y)), d, x);
  for (int64_t k = 0; k < n - i; ++k) out[i + k] = x[k];
}
#else
void pow_float(char* const* data, int64_t n, const void*) {
  float* out = reinterpret_cast<float*>(data[0]);
  const float* a = reinterpret_cast<const float*>(data[1]);
  const float* b = reinterpret_cast<const float*>(data[2]);
  for (int64_t i = 0; i < n; ++i)
    out[i] = static_cast<float>(std::pow(static_cast<double>(a[i]), static_cast<double>(b[i])));
}
#endif

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace at::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "aten/cpu/isa_table.h"
#include "aten/cpu/loops/complex.h"

namespace at::cpu {
namespace {

void pow_double(char* const* data, int64_t n, const void*) {
  double* out = reinterpret_cast<double*>(data[0]);
  const double* a = reinterpret_cast<const double*>(data[1]);
  const double* b = reinterpret_cast<const double*>(data[2]);
  for (int64_t i = 0; i < n; ++i) out[i] = std::pow(a[i], b[i]);
}

/// Integer powers wrap; of a negative exponent only bases 1 and -1 give anything but 0.
template <class T>
void int_pow(char* const* data, int64_t n, const void*) {
  T* out = reinterpret_cast<T*>(data[0]);
  const T* a = reinterpret_cast<const T*>(data[1]);
  const T* b = reinterpret_cast<const T*>(data[2]);
  for (int64_t i = 0; i < n; ++i) {
    T e = b[i];
    if (e < 0) {
      out[i] = a[i] == 1 ? 1 : a[i] == -1 ? ((e & 1) ? -1 : 1) : 0;
      continue;
    }
    std::make_unsigned_t<T> base = static_cast<std::make_unsigned_t<T>>(a[i]), r = 1;
    for (; e != 0; e >>= 1, base *= base) {
      if (e & 1) r *= base;
    }
    out[i] = static_cast<T>(r);
  }
}

}  // namespace

namespace loops {

AT_ELEMENT_OP(pow, {AT_ISA_TABLE(pow_float), baseline_table<ElementLoop>(pow_double),
              baseline_table<ElementLoop>(int_pow<int32_t>), baseline_table<ElementLoop>(int_pow<int64_t>),
              complex_table<op::Pow, float>(), complex_table<op::Pow, double>()});

}  // namespace loops
}  // namespace at::cpu

#endif  // HWY_ONCE
