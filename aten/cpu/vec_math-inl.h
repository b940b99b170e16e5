// Elementary functions on vectors of float, exp of double too, for sources compiled once a target. Include after
// hwy/highway.h.
//
// Errors against the exact value over the whole range, in units of the last place (held by loops_test and, for the
// operators, by //tests/accuracy): exp 1, expm1 2, log 1, log1p 1.5, tanh 2.5, sigmoid 2.5, erf 1.5, sin and cos 2, asin
// and atan2 2.5, acos, atan and erfinv 2. Special values as in C's library: exp(-inf) = 0, log(0) = -inf, log of a negative
// NaN, NaN stays NaN, the sign of zero is kept by odd functions.

#if defined(ATEN_CPU_VEC_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATEN_CPU_VEC_MATH_INL_H_
#undef ATEN_CPU_VEC_MATH_INL_H_
#else
#define ATEN_CPU_VEC_MATH_INL_H_
#endif

#include <cmath>
#include <cstdint>
#include <limits>

#include "hwy/contrib/math/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace at::cpu {
namespace HWY_NAMESPACE {
namespace vm {

namespace hn = hwy::HWY_NAMESPACE;

/// c[0] + c[1] x + ... by Horner's rule.
template <class D, class V>
HWY_INLINE V polynomial(D d, V, float last) {
  return hn::Set(d, last);
}
template <class D, class V, class... C>
HWY_INLINE V polynomial(D d, V x, float first, C... rest) {
  return hn::MulAdd(polynomial(d, x, rest...), x, hn::Set(d, first));
}

/// 2^n for n in [-126, 127].
template <class D, class VI>
HWY_INLINE hn::Vec<D> power_of_two(D d, VI n) {
  const hn::RebindToSigned<D> di;
  return hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(n, hn::Set(di, 127))));
}

/// exp(r) = 1 + r + r^2 P(r) for |r| <= ln(2)/2: the r^2 P(r) part.
template <class D, class V>
HWY_INLINE V exp_tail(D d, V r) {
  const V p = polynomial(d, r, 0.5f, 0.166665181517601f, 0.04166620224714279f, 0.008369025774300098f,
                         0.0013950717402622104f);
  return hn::Mul(hn::Mul(r, r), p);
}

/// x - n ln 2.
template <class D, class V>
HWY_INLINE V subtract_ln2(D d, V x, V n) {
  return hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), hn::NegMulAdd(n, hn::Set(d, 0.693359375f), x));
}

/// x = n ln 2 + r.
template <class D, class V, class VI>
HWY_INLINE V reduce_ln2(D d, V x, VI& n) {
  n = hn::NearestInt(hn::Mul(x, hn::Set(d, 1.4426950408889634f)));
  return subtract_ln2(d, x, hn::ConvertTo(d, n));
}

/// x c + kWhole: the nearest whole number to x c, below 2^22, in the low bits of a number that has no fraction.
constexpr float kWhole = 0x1.8p23f;
template <class D, class V>
HWY_INLINE V add_to_whole(D d, V x, float c) {
  return hn::MulAdd(x, hn::Set(d, c), hn::Set(d, kWhole));
}

#if HWY_TARGET == HWY_AVX3
// y 2^n for whole numbers n, rounded once.
HWY_INLINE hn::Vec512<float> times_power_of_two(hn::Vec512<float> y, hn::Vec512<float> n) {
  return hn::Vec512<float>{_mm512_scalef_ps(y.raw, n.raw)};
}
HWY_INLINE hn::Vec256<float> times_power_of_two(hn::Vec256<float> y, hn::Vec256<float> n) {
  return hn::Vec256<float>{_mm256_scalef_ps(y.raw, n.raw)};
}
template <size_t N>
HWY_INLINE hn::Vec128<float, N> times_power_of_two(hn::Vec128<float, N> y, hn::Vec128<float, N> n) {
  return hn::Vec128<float, N>{_mm_scalef_ps(y.raw, n.raw)};
}

/// exp of numbers up to 89.
template <class D, class V>
HWY_INLINE V exp_up_to_89(D d, V x) {
  // Of a NaN and a number x86 takes the second argument.
  const V bounded = hn::Max(hn::Set(d, -104.0f), x);
  const V n = hn::Sub(add_to_whole(d, bounded, 1.4426950408889634f), hn::Set(d, kWhole));
  const V r = subtract_ln2(d, bounded, n);
  return times_power_of_two(hn::Add(hn::Set(d, 1.0f), hn::Add(r, exp_tail(d, r))), n);
}
template <class D, class V>
HWY_INLINE V exp(D d, V x) {
  return exp_up_to_89(d, hn::Min(hn::Set(d, 89.0f), x));
}
#else
template <class D, class V>
HWY_INLINE V exp(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V bounded = hn::Min(hn::Max(x, hn::Set(d, -104.0f)), hn::Set(d, 89.0f));
  hn::Vec<decltype(di)> n;
  const V r = reduce_ln2(d, bounded, n);
  const V y = hn::Add(hn::Set(d, 1.0f), hn::Add(r, exp_tail(d, r)));
  // In two steps, so that results beyond 2^127 and below 2^-126 come out right.
  const auto half = hn::ShiftRight<1>(n);
  const V result = hn::Mul(hn::Mul(y, power_of_two(d, half)), power_of_two(d, hn::Sub(n, half)));
  return hn::IfThenElse(hn::IsNaN(x), x, result);
}
template <class D, class V>
HWY_INLINE V exp_up_to_89(D d, V x) {
  return exp(d, x);
}
#endif

template <class D, class V>
  requires(sizeof(hn::TFromD<D>) == 8)
HWY_INLINE V exp(D d, V x) {
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(d, x));
}
template <class D, class V>
  requires(sizeof(hn::TFromD<D>) == 8)
HWY_INLINE V exp_up_to_89(D d, V x) {
  return exp(d, x);
}

/// expm1 of numbers in [-20, 89].
template <class D, class V>
HWY_INLINE V bounded_expm1(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V n = add_to_whole(d, x, 1.4426950408889634f);
  const V r = subtract_ln2(d, x, hn::Sub(n, hn::Set(d, kWhole)));
  const V q = hn::Add(r, exp_tail(d, r));
  // 2^n q + (2^n - 1), scaled by a half so that n = 128 fits.
  const V s = hn::BitCast(d, hn::Add(hn::ShiftLeft<23>(hn::BitCast(di, n)), hn::Set(di, 126 << 23)));
  const V y = hn::MulAdd(s, q, hn::Sub(s, hn::Set(d, 0.5f)));
  return hn::Add(y, y);
}

template <class D, class V>
HWY_INLINE V expm1(D d, V x) {
  const V result = bounded_expm1(d, hn::Min(hn::Max(x, hn::Set(d, -20.0f)), hn::Set(d, 89.0f)));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, result));
}

template <class D, class V>
HWY_INLINE V exp2(D d, V x) {
  const V bounded = hn::Min(hn::Max(x, hn::Set(d, -151.0f)), hn::Set(d, 129.0f));
  const auto n = hn::NearestInt(bounded);
  const V fraction = hn::Sub(bounded, hn::ConvertTo(d, n));
  // r = fraction * ln 2, the product's rounding error kept.
  const V ln2 = hn::Set(d, 0.6931471824645996f);
  const V r = hn::Mul(fraction, ln2);
  const V rest = hn::Mul(fraction, hn::Set(d, -1.904654323148236e-09f));
  const V y = hn::Add(hn::Set(d, 1.0f), hn::Add(r, hn::Add(rest, exp_tail(d, r))));
  const auto half = hn::ShiftRight<1>(n);
  const V result = hn::Mul(hn::Mul(y, power_of_two(d, half)), power_of_two(d, hn::Sub(n, half)));
  return hn::IfThenElse(hn::IsNaN(x), x, result);
}

/// log(m 2^e) for m = 1 + f in [sqrt(1/2), sqrt(2)).
template <class D, class V>
HWY_INLINE V log_of_parts(D d, V f, V e) {
  const V f2 = hn::Mul(f, f);
  const V p = polynomial(d, f, 0.33333316445350647f, -0.2500080168247223f, 0.20002298057079315f, -0.16624762117862701f,
                         0.14180946350097656f, -0.13127043843269348f, 0.12883301079273224f, -0.07865496724843979f);
  V y = hn::Mul(hn::Mul(f2, f), p);
  y = hn::MulAdd(e, hn::Set(d, -2.12194440e-4f), y);
  y = hn::NegMulAdd(hn::Set(d, 0.5f), f2, y);
  return hn::MulAdd(e, hn::Set(d, 0.693359375f), hn::Add(f, y));
}

/// Splits a positive normal x = m 2^e, m in [sqrt(1/2), sqrt(2)).
template <class D, class V, class VI>
HWY_INLINE V split_exponent(D d, V x, VI& e) {
  const hn::RebindToSigned<D> di;
  const auto bits = hn::BitCast(di, x);
  e = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(di, 0x3f3504f3)));
  return hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(e)));
}

/// log's results at zero, below, at infinity and NaN.
template <class D, class V>
HWY_INLINE V log_special(D d, V x, V result) {
  const V infinity = hn::Set(d, __builtin_inff());
  result = hn::IfThenElse(hn::Eq(x, infinity), x, result);
  result = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(infinity), result);
  result = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Set(d, __builtin_nanf("")), result);
  return hn::IfThenElse(hn::IsNaN(x), x, result);
}

/// Splits any positive x as above; returns m - 1.
template <class D, class V>
HWY_INLINE V split_any(D d, V x, V& e) {
  const hn::RebindToSigned<D> di;
  const auto subnormal = hn::Lt(x, hn::Set(d, 1.17549435e-38f));
  const V scaled = hn::IfThenElse(subnormal, hn::Mul(x, hn::Set(d, 8388608.0f)), x);
  hn::Vec<decltype(di)> ei;
  const V m = split_exponent(d, scaled, ei);
  e = hn::Sub(hn::ConvertTo(d, ei), hn::IfThenElseZero(subnormal, hn::Set(d, 23.0f)));
  return hn::Sub(m, hn::Set(d, 1.0f));
}

/// Whether all are positive, normal and finite.
template <class D, class V>
HWY_INLINE bool all_normal(D d, V x) {
  return hn::AllTrue(d, hn::And(hn::Ge(x, hn::Set(d, 1.17549435e-38f)), hn::Lt(x, hn::Set(d, __builtin_inff()))));
}

template <class D, class V>
HWY_INLINE V log(D d, V x) {
  if (HWY_LIKELY(all_normal(d, x))) {
    const hn::RebindToSigned<D> di;
    hn::Vec<decltype(di)> e;
    const V m = split_exponent(d, x, e);
    return log_of_parts(d, hn::Sub(m, hn::Set(d, 1.0f)), hn::ConvertTo(d, e));
  }
  V e;
  const V f = split_any(d, x, e);
  return log_special(d, x, log_of_parts(d, f, e));
}

/// log(1 + f) c for a constant c = high + low: the sum f + y is cut so that its leading part times `high` is exact.
template <class D, class V>
HWY_INLINE V scaled_log(D d, V f, float high, float low, V base) {
  const hn::RebindToUnsigned<D> du;
  const V y = hn::Sub(log_of_parts(d, f, hn::Zero(d)), f);
  const V sum = hn::Add(f, y);
  const V lead = hn::BitCast(d, hn::And(hn::BitCast(du, sum), hn::Set(du, 0xfffff000u)));
  const V rest = hn::Add(hn::Sub(f, lead), y);
  V result = hn::Mul(sum, hn::Set(d, low));
  result = hn::MulAdd(rest, hn::Set(d, high), result);
  return hn::Add(hn::MulAdd(lead, hn::Set(d, high), result), base);
}

template <class D, class V>
HWY_INLINE V log2(D d, V x) {
  V e;
  const V f = split_any(d, x, e);
  return log_special(d, x, scaled_log(d, f, 1.4423828125f, 3.1222839606925845e-4f, e));
}

template <class D, class V>
HWY_INLINE V log10(D d, V x) {
  V e;
  const V f = split_any(d, x, e);
  // log10(2) in two parts.
  const V tail = hn::Mul(e, hn::Set(d, 4.605039066518657e-06f));
  const V lower = scaled_log(d, f, 0.4342041015625f, 9.038033749675378e-05f, tail);
  return log_special(d, x, hn::MulAdd(e, hn::Set(d, 0.301025390625f), lower));
}

template <class D, class V>
HWY_INLINE V log1p(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V one = hn::Set(d, 1.0f);
  const V u = hn::Add(one, x);
  // What the sum lost, to be added to the reduced argument.
  const V lost = hn::IfThenElse(hn::Lt(hn::Abs(x), one), hn::Sub(x, hn::Sub(u, one)), hn::Sub(one, hn::Sub(u, x)));
  hn::Vec<decltype(di)> e;
  const V m = split_exponent(d, u, e);
  const V scale = power_of_two(d, hn::Neg(hn::Min(hn::Max(e, hn::Set(di, -126)), hn::Set(di, 126))));
  const V f = hn::MulAdd(lost, scale, hn::Sub(m, one));
  const V result = log_special(d, u, log_of_parts(d, f, hn::ConvertTo(d, e)));
  return hn::IfThenElse(hn::Lt(hn::Abs(x), hn::Set(d, 1e-8f)), x, result);
}

template <class D, class V>
HWY_INLINE V tanh(D d, V x) {
  const V a = hn::Abs(x);
  const V t = bounded_expm1(d, hn::Min(hn::Add(a, a), hn::Set(d, 40.0f)));
  const V y = hn::Div(t, hn::Add(t, hn::Set(d, 2.0f)));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::CopySign(y, x));
}

template <class D, class V>
HWY_INLINE V sigmoid(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  return hn::Div(one, hn::Add(one, exp(d, hn::Neg(x))));
}

template <class D, class V>
HWY_INLINE V erf(D d, V x) {
  const V a = hn::Abs(x);
  const V z = hn::Mul(x, x);
  const V near = polynomial(d, z, 0.12837916612625122f, -0.3761262595653534f, 0.11283600330352783f,
                            -0.026854444295167923f, 0.005189535208046436f, -0.0008020838140510023f,
                            7.889109110692516e-05f);
  const V small = hn::MulAdd(x, near, x);
  // Beyond 1: 1 - exp(q(|x|)), q fitted to log(erfc).
  const V bounded = hn::Min(a, hn::Set(d, 4.0f));
  const V q = polynomial(d, bounded, 0.0001880479685496539f, -1.1295784711837769f, -0.633219838142395f,
                         -0.10841864347457886f, 0.02520829811692238f, -0.004204576835036278f, 0.0004413392744027078f,
                         -2.1687084881705232e-05f);
  const V large = hn::CopySign(hn::Sub(hn::Set(d, 1.0f), exp(d, q)), x);
  return hn::IfThenElse(hn::IsNaN(x), x, hn::IfThenElse(hn::Lt(a, hn::Set(d, 1.0f)), small, large));
}

/// The part of the normal distribution beyond t >= 0: exp(t p(t)) / 2, p fitted to the logarithm of erfc(t / sqrt(2)) so that
/// the tail errs by less than 2^-24 and by less than 2^-12 of itself up to t = 8; 0 at infinity, where p is -infinity.
template <class D, class V>
HWY_INLINE V normal_tail(D d, V t) {
  const V p = polynomial(d, t, -0.79788554f, -0.31829754f, -0.03638818f, 0.0048854826f, -6.941496e-05f, -0.00015425622f,
                         3.9753708e-05f, -5.0657204e-06f, 3.393045e-07f, -9.458597e-09f);
  return exp_up_to_89(d, hn::MulAdd(t, p, hn::Set(d, -0.6931471805599453f)));
}

/// x times the normal distribution's share below x.
template <class D, class V>
HWY_INLINE V gelu(D d, V x) {
  const V t = hn::Abs(x);
  const V result = hn::NegMulAdd(t, normal_tail(d, t), hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x));
  return hn::IfThenElse(hn::Gt(x, hn::Set(d, 100.0f)), x, result);
}

/// The derivative of x times the normal distribution's share below x, within 2^-22: with t = |x| the tail beyond t less
/// t times the density is exp(-t^2 / 2) (m - t / sqrt(2 pi)), m a polynomial of 1 / (1 + t / 2), fitted so that the
/// whole errs by less than 2^-26 and m by less than 2^-14.
template <class D, class V>
HWY_INLINE V gelu_slope(D d, V x) {
  const V t = hn::Abs(x), one = hn::Set(d, 1.0f), minus_half = hn::Set(d, -0.5f);
  const V u = hn::Div(one, hn::NegMulAdd(minus_half, t, one));
  const V m = polynomial(d, u, -0.000494901324f, 0.20584242f, 0.169931814f, 0.202162504f, 0.0741045102f, -0.297136724f,
                         0.184179038f, -0.0385886841f);
  const V power = exp_up_to_89(d, hn::Mul(hn::Mul(t, minus_half), t));
  const V tail = hn::Mul(hn::NegMulAdd(t, hn::Set(d, 0.39894228f), m), power);
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, hn::Sub(one, tail));
}

/// sin(x + quarter * pi / 2) for |x| < 12800; anything beyond.
template <class D, class V>
HWY_INLINE V sin_quarter(D d, V x, int quarter) {
  const hn::RebindToSigned<D> di;
  const V n = add_to_whole(d, x, 0.6366197723675814f), nf = hn::Sub(n, hn::Set(d, kWhole));
  V r = hn::NegMulAdd(nf, hn::Set(d, 1.5703125f), x);
  r = hn::NegMulAdd(nf, hn::Set(d, 4.837512969970703e-4f), r);
  r = hn::NegMulAdd(nf, hn::Set(d, 7.549789948768648e-8f), r);
  const V z = hn::Mul(r, r);
  const V s = polynomial(d, z, -0.16666655242443085f, 0.008332176133990288f, -0.00019516973407007754f);
  const V c = polynomial(d, z, 0.041666653007268906f, -0.001388759003020823f, 2.446057078486774e-05f);
  const V sine = hn::MulAdd(hn::Mul(z, r), s, r);
  const V cosine = hn::MulAdd(hn::Mul(z, z), c, hn::NegMulAdd(hn::Set(d, 0.5f), z, hn::Set(d, 1.0f)));
  const auto q = hn::Add(hn::BitCast(di, n), hn::Set(di, quarter));
  const auto odd = hn::RebindMask(d, hn::TestBit(q, hn::Set(di, 1)));
  const V y = hn::IfThenElse(odd, cosine, sine);
  const V sign = hn::BitCast(d, hn::ShiftLeft<30>(hn::And(q, hn::Set(di, 2))));
  return hn::Xor(y, sign);
}

template <class D, class V, class F>
HWY_INLINE V with_library_beyond(D d, V x, V y, float limit, F library) {
  const auto inside = hn::Lt(hn::Abs(x), hn::Set(d, limit));
  if (HWY_LIKELY(hn::AllTrue(d, inside))) return y;
  alignas(64) float in[hn::MaxLanes(D())], out[hn::MaxLanes(D())];
  hn::Store(x, d, in);
  hn::Store(y, d, out);
  for (size_t i = 0; i < hn::Lanes(d); ++i) {
    if (!(std::fabs(in[i]) < limit)) out[i] = library(in[i]);
  }
  return hn::Load(d, out);
}

template <class D, class V>
HWY_INLINE V sin(D d, V x) {
  V y = sin_quarter(d, x, 0);
  y = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, y);
  return with_library_beyond(d, x, y, 12800.0f, [](float v) { return std::sin(v); });
}

template <class D, class V>
HWY_INLINE V cos(D d, V x) {
  return with_library_beyond(d, x, sin_quarter(d, x, 1), 12800.0f, [](float v) { return std::cos(v); });
}

// pi / 2 is kHalfPi less kHalfPiExcess.
constexpr float kHalfPi = 1.57079637f, kHalfPiExcess = 4.37113883e-8f;

/// pi / 2 - x.
template <class D, class V>
HWY_INLINE V to_right_angle(D d, V x) {
  return hn::Sub(hn::Set(d, kHalfPi), hn::Add(x, hn::Set(d, kHalfPiExcess)));
}

/// |asin(x)| for |x| <= 1/2, and asin(sqrt((1 - |x|) / 2)), half of acos(|x|), beyond.
template <class D, class V, class M>
HWY_INLINE V reduced_asin(D d, V a, M beyond) {
  const V half = hn::Set(d, 0.5f);
  const V z = hn::IfThenElse(beyond, hn::Mul(hn::Sub(hn::Set(d, 1.0f), a), half), hn::Mul(a, a));
  const V s = hn::IfThenElse(beyond, hn::Sqrt(z), a);
  const V p = polynomial(d, z, 0.166666597f, 0.0750051662f, 0.0445149951f, 0.0318218209f, 0.0143912556f, 0.0375766829f);
  return hn::MulAdd(hn::Mul(s, z), p, s);
}

template <class D, class V>
HWY_INLINE V asin(D d, V x) {
  const V a = hn::Abs(x);
  const auto beyond = hn::Gt(a, hn::Set(d, 0.5f));
  const V r = reduced_asin(d, a, beyond);
  return hn::CopySign(hn::IfThenElse(beyond, to_right_angle(d, hn::Add(r, r)), r), x);
}

template <class D, class V>
HWY_INLINE V acos(D d, V x) {
  const V a = hn::Abs(x);
  const auto beyond = hn::Gt(a, hn::Set(d, 0.5f));
  const V r = reduced_asin(d, a, beyond);
  const V twice = hn::Add(r, r);
  const V obtuse = hn::Sub(hn::Set(d, 2 * kHalfPi), hn::Add(twice, hn::Set(d, 2 * kHalfPiExcess)));
  const V far = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), obtuse, twice);
  return hn::IfThenElse(beyond, far, to_right_angle(d, hn::CopySign(r, x)));
}

/// atan(t) for 0 <= t <= 1.
template <class D, class V>
HWY_INLINE V reduced_atan(D d, V t) {
  const V z = hn::Mul(t, t);
  const V p = polynomial(d, z, -0.333332986f, 0.199985355f, -0.142641246f, 0.109516382f, -0.0840198547f, 0.057934247f,
                         -0.0311559234f, 0.0109034106f, -0.00179122353f);
  return hn::MulAdd(hn::Mul(t, z), p, t);
}

template <class D, class V>
HWY_INLINE V atan(D d, V x) {
  const V a = hn::Abs(x), one = hn::Set(d, 1.0f);
  const auto steep = hn::Gt(a, one);
  const V r = reduced_atan(d, hn::IfThenElse(steep, hn::Div(one, a), a));
  return hn::CopySign(hn::IfThenElse(steep, to_right_angle(d, r), r), x);
}

/// The angle of the point (x, y), as in C's library at zeros and infinities.
template <class D, class V>
HWY_INLINE V atan2(D d, V y, V x) {
  const V ay = hn::Abs(y), ax = hn::Abs(x);
  const auto steep = hn::Gt(ay, ax);
  const V large = hn::IfThenElse(steep, ay, ax), small = hn::IfThenElse(steep, ax, ay);
  V t = hn::Div(small, large);
  t = hn::IfThenElse(hn::Eq(small, large), hn::Set(d, 1.0f), t);
  t = hn::IfThenElse(hn::Eq(large, hn::Zero(d)), hn::Zero(d), t);
  V r = reduced_atan(d, t);
  r = hn::IfThenElse(steep, to_right_angle(d, r), r);
  const V obtuse = hn::Sub(hn::Set(d, 2 * kHalfPi), hn::Add(r, hn::Set(d, 2 * kHalfPiExcess)));
  const hn::RebindToSigned<D> di;
  const auto left = hn::RebindMask(d, hn::Lt(hn::BitCast(di, x), hn::Zero(di)));
  r = hn::CopySign(hn::IfThenElse(left, obtuse, r), y);
  return hn::IfThenElse(hn::Or(hn::IsNaN(x), hn::IsNaN(y)), hn::Add(x, y), r);
}

/// The inverse of erf: x P(w) for w = -log(1 - x^2), P in two pieces.
template <class D, class V>
HWY_INLINE V erfinv(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V one = hn::Set(d, 1.0f), a = hn::Abs(x);
  // No product of numbers below 1 is subnormal here.
  hn::Vec<decltype(di)> e;
  const V m = split_exponent(d, hn::Mul(hn::Sub(one, a), hn::Add(one, a)), e);
  const V w = hn::Neg(log_of_parts(d, hn::Sub(m, one), hn::ConvertTo(d, e)));
  const V near = polynomial(d, hn::Sub(w, hn::Set(d, 2.5f)), 1.50140941f, 0.246640295f, -0.00417750003f, -0.00125275867f,
                            0.000218410496f, -4.95413224e-06f, -3.47692821e-06f, 4.64263735e-07f, 2.42512943e-08f,
                            -8.65832916e-09f);
  // w < 5
  const auto central = hn::Lt(a, hn::Set(d, 0.996625f));
  if (HWY_LIKELY(hn::AllTrue(d, central))) return hn::Mul(x, near);
  const V far = polynomial(d, hn::Sub(hn::Sqrt(w), hn::Set(d, 3.1f)), 2.93323159f, 1.0033561f, 0.00746231573f,
                           -0.00569571881f, 0.00410405314f, -0.00272026309f, 0.00137296214f, -0.00028784803f,
                           -0.000207961304f, 0.000130611705f);
  const V beyond = hn::IfThenElse(hn::Eq(a, one), hn::Set(d, __builtin_inff()), hn::Set(d, __builtin_nanf("")));
  return hn::Mul(x, hn::IfThenElse(central, near, hn::IfThenElse(hn::Lt(a, one), far, beyond)));
}

/// The number next to a on the way to b.
template <class D, class V>
HWY_INLINE V nextafter(D d, V a, V b) {
  const hn::RebindToSigned<D> di;
  using VI = hn::Vec<decltype(di)>;
  const VI lowest = hn::Set(di, std::numeric_limits<int32_t>::min()), zero = hn::Zero(di);
  // Numbers in order as integers.
  const auto rank = [&](V x) HWY_ATTR {
    const VI bits = hn::BitCast(di, x);
    return hn::IfThenElse(hn::Lt(bits, zero), hn::Sub(lowest, bits), bits);
  };
  const VI from = rank(a), to = rank(b);
  const VI one = hn::Set(di, 1);
  const VI next = hn::IfThenElse(hn::Lt(from, to), hn::Add(from, one), hn::Sub(from, one));
  const VI magnitude = hn::Abs(next);
  const auto negative = hn::Or(hn::Lt(next, zero), hn::And(hn::Eq(next, zero), hn::Lt(hn::BitCast(di, a), zero)));
  const V y = hn::BitCast(d, hn::IfThenElse(negative, hn::Or(magnitude, lowest), magnitude));
  const V other = hn::IfThenElse(hn::Or(hn::IsNaN(a), hn::IsNaN(b)), hn::Add(a, b), y);
  return hn::IfThenElse(hn::RebindMask(d, hn::Eq(from, to)), b, other);
}

}  // namespace vm
}  // namespace HWY_NAMESPACE
}  // namespace at::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard
