// Functions of float computed in double, two vectors at a time, for sources compiled once a target. Include after
// hwy/highway.h.
//
// A function is a type with run(Wide...), good to some 1e-11 of the value wherever usual(Wide...) holds, and
// one(double...), the scalar function, for the other elements. It is constructed from the call's context or from
// nothing.

#if defined(ATEN_CPU_SPECIAL_WIDE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATEN_CPU_SPECIAL_WIDE_INL_H_
#undef ATEN_CPU_SPECIAL_WIDE_INL_H_
#else
#define ATEN_CPU_SPECIAL_WIDE_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "aten/cpu/loops/loops-inl.h"
#include "aten/cpu/loops/two_vectors-inl.h"
#include "aten/cpu/special/coefficients.h"

// What the formulas' functions are here (wide_functions.inc).
#ifndef AT_ON_WIDE
#define AT_ON_WIDE HWY_INLINE
#define AT_ON_WIDE_LONG HWY_NOINLINE inline
#define AT_ON_WIDE_LAMBDA HWY_ATTR
#define AT_COEFFICIENTS constexpr double
#ifdef __clang__
#define AT_ON_WIDE_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define AT_ON_WIDE_ROLLED
#endif
#endif

HWY_BEFORE_NAMESPACE();
namespace at::cpu::special {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
namespace loops = ::at::cpu::HWY_NAMESPACE;

using Wide = loops::TwoVectors<double>;
using WideMask = Wide::Mask;
using WideTag = Wide::Tag;
using WideVec = Wide::Vec;
using WideBits = hn::RebindToUnsigned<WideTag>;

HWY_INLINE Wide multiply_add(Wide a, Wide b, Wide c) { return {hn::MulAdd(a.v, b.v, c.v), hn::MulAdd(a.w, b.w, c.w)}; }
/// c - a b.
HWY_INLINE Wide subtract_product(Wide a, Wide b, Wide c) {
  return {hn::NegMulAdd(a.v, b.v, c.v), hn::NegMulAdd(a.w, b.w, c.w)};
}
HWY_INLINE Wide abs(Wide x) { return {hn::Abs(x.v), hn::Abs(x.w)}; }
HWY_INLINE Wide sqrt(Wide x) { return {hn::Sqrt(x.v), hn::Sqrt(x.w)}; }
HWY_INLINE Wide min(Wide a, Wide b) { return {hn::Min(a.v, b.v), hn::Min(a.w, b.w)}; }
HWY_INLINE Wide max(Wide a, Wide b) { return {hn::Max(a.v, b.v), hn::Max(a.w, b.w)}; }
HWY_INLINE Wide round(Wide x) { return {hn::Round(x.v), hn::Round(x.w)}; }
HWY_INLINE Wide trunc(Wide x) { return {hn::Trunc(x.v), hn::Trunc(x.w)}; }
HWY_INLINE Wide floor(Wide x) { return {hn::Floor(x.v), hn::Floor(x.w)}; }
HWY_INLINE Wide copy_sign(Wide x, Wide sign) { return {hn::CopySign(x.v, sign.v), hn::CopySign(x.w, sign.w)}; }

HWY_INLINE double first_of(Wide x) { return hn::GetLane(x.v); }

/// y times 2 to the number in the last bits of `shifted`.
HWY_INLINE WideVec times_power_of_two(WideVec y, WideVec shifted) {
  const WideTag d;
  const WideBits du;
  return hn::BitCast(d, hn::Add(hn::BitCast(du, y), hn::ShiftLeft<52>(hn::BitCast(du, shifted))));
}
HWY_INLINE Wide times_power_of_two(Wide y, Wide shifted) {
  return {times_power_of_two(y.v, shifted.v), times_power_of_two(y.w, shifted.w)};
}
/// x = m 2^e, m in [sqrt(1/2), sqrt(2)).
HWY_INLINE void split(WideVec x, WideVec& m, WideVec& e) {
  const WideTag d;
  const WideBits du;
  const auto bits = hn::BitCast(du, x);
  // The exponent's bits less those of sqrt(1/2), as the last bits of 2^52.
  const auto biased = hn::ShiftRight<52>(hn::Add(bits, hn::Set(du, 0x3ff0000000000000u - 0x3fe6a09e667f3bcdu)));
  const auto added = hn::BitCast(d, hn::Or(biased, hn::Set(du, 0x4330000000000000u)));
  e = hn::Sub(added, hn::Set(d, 4503599627370496.0 + 1023.0));
  m = hn::BitCast(d, hn::Add(hn::Sub(bits, hn::ShiftLeft<52>(biased)), hn::Set(du, uint64_t{1023} << 52)));
}
HWY_INLINE void split(Wide x, Wide& m, Wide& e) {
  split(x.v, m.v, e.v);
  split(x.w, m.w, e.w);
}
/// Of sine and cosine the one of quarter n + shift, with its sign.
HWY_INLINE WideVec cosine_of(WideVec sine, WideVec cosine, WideVec n, uint64_t shift) {
  const WideTag d;
  const WideBits du;
  const auto quarter = hn::Add(hn::BitCast(du, n), hn::Set(du, shift));
  const auto odd = hn::RebindMask(d, hn::TestBit(quarter, hn::Set(du, uint64_t{1})));
  const auto sign = hn::ShiftLeft<62>(hn::And(hn::Add(quarter, hn::Set(du, uint64_t{1})), hn::Set(du, uint64_t{2})));
  return hn::Xor(hn::IfThenElse(odd, sine, cosine), hn::BitCast(d, sign));
}
HWY_INLINE Wide cosine_of(Wide sine, Wide cosine, Wide n, uint64_t shift) {
  return {cosine_of(sine.v, cosine.v, n.v, shift), cosine_of(sine.w, cosine.w, n.w, shift)};
}

#include "aten/cpu/special/wide_functions.inc"

using NarrowTag = hn::ScalableTag<float>;

#if HWY_TARGET == HWY_SCALAR
// Not called: one lane is slower than the scalar functions.
HWY_INLINE Wide widen(hn::Vec<NarrowTag> x) {
  const WideVec v = hn::PromoteTo(WideTag(), x);
  return {v, v};
}
HWY_INLINE hn::Vec<NarrowTag> narrow(Wide x) { return hn::DemoteTo(NarrowTag(), x.v); }
#else
using NarrowHalf = hn::Half<NarrowTag>;

HWY_INLINE Wide widen(hn::Vec<NarrowTag> x) {
  const WideTag d;
  return {hn::PromoteTo(d, hn::LowerHalf(NarrowHalf(), x)), hn::PromoteTo(d, hn::UpperHalf(NarrowHalf(), x))};
}
HWY_INLINE hn::Vec<NarrowTag> narrow(Wide x) {
  const NarrowHalf half;
  return hn::Combine(NarrowTag(), hn::DemoteTo(half, x.w), hn::DemoteTo(half, x.v));
}
#endif

/// How the loop reads and writes elements of T, 2 Lanes(WideTag) at once.
template <class T>
struct Elements;
template <>
struct Elements<float> {
  static HWY_INLINE Wide load(const float* p) { return widen(hn::LoadU(NarrowTag(), p)); }
  static HWY_INLINE Wide load_first(const float* p, int64_t n) { return widen(loops::load_first(NarrowTag(), p, n)); }
  static HWY_INLINE void store(Wide x, float* p) { hn::StoreU(narrow(x), NarrowTag(), p); }
  static HWY_INLINE void store_first(Wide x, float* p, int64_t n) { loops::store_first(narrow(x), NarrowTag(), p, n); }
};
template <>
struct Elements<double> {
  static constexpr int64_t kMost = 2 * static_cast<int64_t>(hn::MaxLanes(WideTag()));
  static HWY_INLINE Wide load(const double* p) {
    const WideTag d;
    return {hn::LoadU(d, p), hn::LoadU(d, p + hn::Lanes(d))};
  }
  static HWY_INLINE Wide load_first(const double* p, int64_t n) {
    double all[kMost];
    for (int64_t i = 0; i < kMost; ++i) all[i] = i < n ? p[i] : 1;
    return load(all);
  }
  static HWY_INLINE void store(Wide x, double* p) {
    const WideTag d;
    hn::StoreU(x.v, d, p);
    hn::StoreU(x.w, d, p + hn::Lanes(d));
  }
  static HWY_INLINE void store_first(Wide x, double* p, int64_t n) {
    double all[kMost];
    store(x, all);
    for (int64_t i = 0; i < n; ++i) p[i] = all[i];
  }
};

/// y with f.one in the places where `usual` does not hold.
template <class F, class... X>
HWY_NOINLINE Wide mend(const F& f, Wide y, WideMask usual, X... x) {
  using E = Elements<double>;
  double kept[E::kMost], result[E::kMost], arguments[sizeof...(X)][E::kMost];
  E::store(pick(usual, 1.0, 0.0), kept);
  E::store(y, result);
  int count = 0;
  (E::store(x, arguments[count++]), ...);
  for (int64_t i = 0; i < E::kMost; ++i) {
    if (kept[i] != 0) continue;
    if constexpr (sizeof...(X) == 1) {
      result[i] = f.one(arguments[0][i]);
    } else {
      result[i] = f.one(arguments[0][i], arguments[1][i]);
    }
  }
  return E::load(result);
}
template <class F, class... X>
HWY_INLINE Wide value(const F& f, X... x) {
  const Wide y = f.run(x...);
  const WideMask usual = f.usual(x...);
  return HWY_LIKELY(all(usual)) ? y : mend(f, y, usual, x...);
}

template <class F>
F made_of(const void* context) {
  if constexpr (std::is_constructible_v<F, const void*>) {
    return F(context);
  } else {
    return F();
  }
}

template <class F, class T, class... Pointer>
HWY_INLINE void vector_loop(const F& f, int64_t n, T* out, Pointer... a) {
  using E = Elements<T>;
  const int64_t lanes = 2 * static_cast<int64_t>(hn::Lanes(WideTag()));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) E::store(value(f, E::load(a + i)...), out + i);
  if (i < n) E::store_first(value(f, E::load_first(a + i, n - i)...), out + i, n - i);
}
template <class F, class T, class... Pointer>
void scalar_loop(const F& f, int64_t n, T* out, Pointer... a) {
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(f.one(static_cast<double>(a[i])...));
}

template <class F, class T, bool vectors>
void run_loop(char* const* data, int64_t n, const void* context) {
  const F f = made_of<F>(context);
  T* out = reinterpret_cast<T*>(data[0]);
  const T* a = reinterpret_cast<const T*>(data[1]);
  if constexpr (F::kInputs == 1) {
    if constexpr (vectors) {
      vector_loop(f, n, out, a);
    } else {
      scalar_loop(f, n, out, a);
    }
  } else {
    const T* b = reinterpret_cast<const T*>(data[2]);
    if constexpr (vectors) {
      vector_loop(f, n, out, a, b);
    } else {
      scalar_loop(f, n, out, a, b);
    }
  }
}

// Emulated vectors are slower than the scalar functions.
constexpr bool kHasVectors = HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR;

template <class F>
struct Loops {
  static void floats(char* const* data, int64_t n, const void* context) {
    run_loop<F, float, kHasVectors>(data, n, context);
  }
  /// For functions that compute in double as they do on elements.
  static void wide_doubles(char* const* data, int64_t n, const void* context) {
    run_loop<F, double, kHasVectors>(data, n, context);
  }
  static void doubles(char* const* data, int64_t n, const void* context) {
    run_loop<F, double, false>(data, n, context);
  }
};

#ifndef AT_WIDE_OP
// An operator by the name that each target gives to its Loops, for the part of a source that is compiled once.
#define AT_WIDE_OP(Name) {AT_ISA_TABLE(Name::floats), AT_BASELINE_TABLE(Name::doubles), {}, {}, {}, {}}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace at::cpu::special
HWY_AFTER_NAMESPACE();

#endif  // include guard
