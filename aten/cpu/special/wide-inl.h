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

/// c[0] + c[1] x + ..., long ones as the sum of even and odd powers, which do not wait for each other.
template <size_t n>
HWY_INLINE Wide polynomial(const double (&c)[n], Wide x) {
  if constexpr (n < 8) {
    Wide y(c[n - 1]);
    for (size_t k = n - 1; k > 0; --k) y = multiply_add(y, x, c[k - 1]);
    return y;
  } else {
    const Wide z = x * x;
    Wide y(c[n - 1]), w(c[n - 2]);
    for (size_t k = n - 1; k >= 2; --k) {
      Wide& sum = (n - 1 - k) % 2 == 0 ? y : w;
      sum = multiply_add(sum, z, c[k - 2]);
    }
    return n % 2 == 0 ? multiply_add(y, x, w) : multiply_add(w, x, y);
  }
}
template <size_t m, size_t n>
HWY_INLINE Wide quotient(const double (&p)[m], const double (&q)[n], Wide x) {
  return polynomial(p, x) / polynomial(q, x);
}
/// (2 t - a - b) / (b - a): the variable of fits for t in [a, b].
HWY_INLINE Wide centered(Wide t, double a, double b) {
  return multiply_add(t, Wide(2 / (b - a)), Wide(-(a + b) / (b - a)));
}
/// x less the number that is the sum of two.
HWY_INLINE Wide less(Wide x, const double (&c)[2]) { return x - Wide(c[0]) - Wide(c[1]); }

constexpr double kShift = 6755399441055744.0;  // 1.5 * 2^52: adding it leaves the nearest integer in the last bits

HWY_INLINE WideVec times_power_of_two(WideVec y, WideVec shifted) {
  const WideTag d;
  const WideBits du;
  return hn::BitCast(d, hn::Add(hn::BitCast(du, y), hn::ShiftLeft<52>(hn::BitCast(du, shifted))));
}
/// exp of x within [-708, 709] to four units of the last place; of what lies beyond, the bound's.
HWY_INLINE Wide exp(Wide x) {
  x = min(max(x, -708.0), 709.0);
  const Wide shifted = multiply_add(x, 1.4426950408889634074, kShift), n = shifted - kShift;
  // ln 2 in two parts.
  const Wide r = subtract_product(n, 1.90821492927058770002e-10, subtract_product(n, 6.93147180369123816490e-01, x));
  const Wide p = polynomial(fit::kExp, r);
  return {times_power_of_two(p.v, shifted.v), times_power_of_two(p.w, shifted.w)};
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
/// The logarithm of positive normal numbers, relatively precise near 1; of others, a finite number or NaN.
HWY_INLINE Wide log(Wide x) {
  Wide m, e;
  split(x, m, e);
  const Wide f = m - 1.0, s = f / (f + 2.0), z = s * s;
  const Wide rest = s * z * polynomial(fit::kLog, z);
  return multiply_add(e, 6.93147180369123816490e-01, multiply_add(e, 1.90821492927058770002e-10, rest) + (s + s));
}
/// log(1 + y) for y > -1.
HWY_INLINE Wide log1p(Wide y) {
  const Wide u = y + 1.0;
  return pick(y == 0.0, y, log(u) + (y - (u - 1.0)) / u);
}

constexpr double kMostReduced = 8e5;
/// a = r + (n + offset) pi / 2, r in [-pi/4, pi/4], for an offset of 0 or 1/2 and |a| up to kMostReduced; n in the last
/// bits.
HWY_INLINE Wide reduce_quarters(Wide a, double offset, Wide& n) {
  n = multiply_add(a, 0.63661977236758134308, -offset) + kShift;
  const Wide m = n - kShift + offset;
  // pi / 2 in three parts, of 33 bits but the last: products with m are exact.
  Wide r = subtract_product(m, 1.57079632673412561417e+00, a);
  r = subtract_product(m, 6.07710050630396597660e-11, r);
  return subtract_product(m, 2.02226624879595063154e-21, r);
}
HWY_INLINE WideVec cosine_of(WideVec sine, WideVec cosine, WideVec n, uint64_t shift) {
  const WideTag d;
  const WideBits du;
  const auto quarter = hn::Add(hn::BitCast(du, n), hn::Set(du, shift));
  const auto odd = hn::RebindMask(d, hn::TestBit(quarter, hn::Set(du, uint64_t{1})));
  const auto sign = hn::ShiftLeft<62>(hn::And(hn::Add(quarter, hn::Set(du, uint64_t{1})), hn::Set(du, uint64_t{2})));
  return hn::Xor(hn::IfThenElse(odd, sine, cosine), hn::BitCast(d, sign));
}
/// cos(r + (n + shift) pi / 2) for |r| up to 0.83.
HWY_INLINE Wide cosine(Wide r, Wide n, uint64_t shift) {
  const Wide z = r * r, s = r * polynomial(fit::kSin, z), c = polynomial(fit::kCos, z);
  return {cosine_of(s.v, c.v, n.v, shift), cosine_of(s.w, c.w, n.w, shift)};
}
/// exp(a^2) erfc(a) for a >= 0.
HWY_INLINE Wide erfcx_of(Wide a) {
  const Wide t = 4.0 / (a + 4.0);
  return t * polynomial(fit::kScaledErfc, centered(t, 0, 1));
}
/// sin(pi r) for |r| <= 1/2.
HWY_INLINE Wide sin_pi(Wide r) { return r * polynomial(fit::kSinPi, r * r); }

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

/// What functions of as many arguments derive from that need no context.
template <int inputs>
struct Plain {
  static constexpr int kInputs = inputs;
};
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
