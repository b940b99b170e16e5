// Elementary functions on two vectors of double, for sources compiled once a target. Include after hwy/highway.h.
//
// Right only where special::HWY_NAMESPACE::kHasTwins. Errors in units of the last place, which loops_test holds: 0.75,
// of expm1 0.8. Special values as in C's library.

#if defined(ATEN_CPU_LOOPS_DOUBLE_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATEN_CPU_LOOPS_DOUBLE_MATH_INL_H_
#undef ATEN_CPU_LOOPS_DOUBLE_MATH_INL_H_
#else
#define ATEN_CPU_LOOPS_DOUBLE_MATH_INL_H_
#endif

#include <cmath>

#include "aten/cpu/special/twin-inl.h"

HWY_BEFORE_NAMESPACE();
namespace at::cpu {
namespace HWY_NAMESPACE {

namespace wide = ::at::cpu::special::HWY_NAMESPACE;
namespace fit = ::at::cpu::special::fit;

using VecDouble = TwoVectors<double>;
using wide::Twin;

/// y 2^n for whole n in [-1080, 1030], rounded once.
HWY_INLINE VecDouble times_power_of_two(VecDouble y, VecDouble n) {
#if HWY_TARGET == HWY_AVX3
  const auto scaled = [](auto x, auto m) HWY_ATTR { return hn::Vec512<double>{_mm512_scalef_pd(x.raw, m.raw)}; };
  return {scaled(y.v, n.v), scaled(y.w, n.w)};
#else
  const VecDouble::Tag d;
  const hn::RebindToUnsigned<VecDouble::Tag> du;
  const VecDouble shift(wide::kShift + 1023), first = (n * 0.5 + wide::kShift) - wide::kShift;
  const auto times = [&](auto x, auto m) HWY_ATTR {
    return hn::Mul(x, hn::BitCast(d, hn::ShiftLeft<52>(hn::BitCast(du, m))));
  };
  const VecDouble a = first + shift, b = (n - first) + shift;
  return {times(times(y.v, a.v), b.v), times(times(y.w, a.w), b.w)};
#endif
}

/// x / ln 2, to a whole number.
HWY_INLINE VecDouble whole_powers(VecDouble x) {
  return wide::multiply_add(x, 1.4426950408889634074, wide::kShift) - wide::kShift;
}
/// exp(r + more) - 1 - r for |r| <= 0.42.
HWY_INLINE VecDouble exp_tail(VecDouble r, VecDouble more) {
  // r^2 / 2 goes in without an error.
  const VecDouble half = r * 0.5, square = half * r, rest = wide::product_less(half, r, square) + more;
  return square + wide::multiply_add(square * r, wide::polynomial(fit::kExpRest, r), rest);
}
/// exp(x + more) = 2^n (1 + r + the result) for |x| <= 1500, `more` small beside it and |x - n ln 2| <= 0.42.
HWY_INLINE VecDouble reduced_exp(VecDouble x, VecDouble more, VecDouble n, VecDouble& r) {
  // The first difference is exact.
  const VecDouble high = wide::subtract_product(n, 0x1.62e42fefa39efp-1, x), low = more - n * 0x1.abc9e3b39803fp-56;
  r = high + low;
  return exp_tail(r, low - (r - high));
}
/// exp(x + more) = twin 2^n.
HWY_INLINE Twin exp_parts(VecDouble x, VecDouble more, VecDouble& n) {
  n = whole_powers(x);
  VecDouble r;
  const VecDouble tail = reduced_exp(x, more, n, r), sum = r + 1.0;
  return {sum, (r - (sum - 1.0)) + tail};
}
/// y 2^n, rounded once below the normal numbers too.
HWY_INLINE VecDouble scaled_sum(Twin y, VecDouble n) {
  const VecDouble result = times_power_of_two(y.h + y.l, n);
  const auto tiny = result < 0x1p-1022;
  if (HWY_LIKELY(!any(tiny))) return result;
  // Of this size sums have the result's last place.
  const VecDouble size = times_power_of_two(1.0, -1022.0 - n);
  const Twin sum = wide::ordered_sum(size, y.h);
  return pick(tiny, times_power_of_two((sum.h + (sum.l + y.l)) - size, n), result);
}
HWY_INLINE VecDouble bounded(VecDouble x, double low, double high) { return wide::min(wide::max(x, low), high); }
HWY_INLINE VecDouble keep_nan(VecDouble x, VecDouble y) { return pick(x == x, y, x); }

HWY_INLINE VecDouble m_abs(VecDouble x) { return wide::abs(x); }
HWY_INLINE VecDouble m_sqrt(VecDouble x) { return wide::sqrt(x); }
HWY_INLINE VecDouble m_exp(VecDouble x) {
  VecDouble n;
  const Twin y = exp_parts(bounded(x, -746, 710), 0.0, n);
  return keep_nan(x, scaled_sum(y, n));
}

HWY_INLINE VecDouble m_exp2(VecDouble x) {
  const VecDouble b = bounded(x, -1080, 1030), n = wide::round(b), f = b - n;
  const Twin r = wide::exact_product(f, 0x1.62e42fefa39efp-1);
  const VecDouble tail = exp_tail(r.h, wide::multiply_add(f, 0x1.abc9e3b39803fp-56, r.l)), sum = r.h + 1.0;
  return keep_nan(x, scaled_sum({sum, (r.h - (sum - 1.0)) + tail}, n));
}

/// exp(x) - 1 for x in [-40, 710], halved.
HWY_INLINE Twin half_expm1(VecDouble x) {
  // Where r is most of the result nothing is to cancel.
  const VecDouble n = pick(wide::abs(x) < 0.42, 0.0, whole_powers(x)), power = times_power_of_two(0.5, n);
  VecDouble r;
  const VecDouble tail = reduced_exp(x, 0.0, n, r);
  const VecDouble whole = power - 0.5, part = power * r;
  const Twin sum = wide::ordered_sum(whole, part);
  return {sum.h, wide::multiply_add(power, tail, sum.l + ((power - whole) - 0.5))};
}
HWY_INLINE VecDouble m_expm1(VecDouble x) {
  const Twin half = half_expm1(bounded(x, -40, 710));
  const VecDouble y = half.h + half.l;
  return pick(wide::abs(x) > 0x1p-54, y + y, x);
}
HWY_INLINE VecDouble m_tanh(VecDouble x) {
  // (exp(2 x) - 1) / (exp(2 x) + 1), both halved.
  const VecDouble a = wide::abs(x);
  const Twin parts = half_expm1(wide::min(a + a, 44.0)), half = wide::ordered_sum(parts.h, parts.l);
  const Twin next = wide::exact_sum(1.0, half.h);
  return keep_nan(x, wide::copy_sign((half / Twin(next.h, next.l + half.l)).h, x));
}
HWY_INLINE VecDouble m_sigmoid(VecDouble x) {
  VecDouble n;
  // Through exp(-|x|), so that neither tail overflows.
  const Twin p = exp_parts(bounded(-wide::abs(x), -746, 0), 0.0, n);
  const Twin e{scaled_sum(p, n), times_power_of_two(p.l - ((p.h + p.l) - p.h), n)};
  const Twin next = wide::ordered_sum(1.0, e.h);
  return keep_nan(x, (pick(x < 0.0, e, Twin(1.0)) / Twin(next.h, next.l + e.l)).h);
}

/// log(1 + f + more) for 1 + f in [sqrt(1/2), sqrt(2)), `more` below a unit of the last place of f's and already
/// divided by 1 + f.
HWY_INLINE Twin log_near_one(VecDouble f, VecDouble more) {
  // f - f^2 / 2 in two parts, and s (f^2 / 2 + R(s^2)) for s = f / (2 + f).
  const VecDouble half = f * 0.5, h = half * f, a = f - h;
  const VecDouble a_low = ((f - a) - h) - wide::product_less(half, f, h);
  const VecDouble s = f / (f + 2.0), z = s * s;
  const VecDouble rest = wide::multiply_add(z, wide::polynomial(fit::kLogFine, z), h);
  return {a, wide::multiply_add(s, rest, a_low + more)};
}
/// e log 2 + x.
HWY_INLINE VecDouble with_exponent(VecDouble e, Twin x) {
  const Twin sum = wide::ordered_sum(e * 6.93147180369123816490e-01, x.h);
  return sum.h + (sum.l + wide::multiply_add(e, 1.90821492927058770002e-10, x.l));
}
/// log's results at zero, below, at infinity and NaN.
HWY_INLINE VecDouble log_special(VecDouble x, VecDouble y) {
  const VecDouble infinity(__builtin_inf());
  if (HWY_LIKELY(all((x > 0.0) & (x < infinity)))) return y;
  y = pick(x == infinity, x, pick(x == 0.0, -infinity, y));
  return keep_nan(x, pick(x < 0.0, __builtin_nan(""), y));
}
/// x = 2^e (1 + f), 1 + f in [sqrt(1/2), sqrt(2)), for x > 0.
HWY_INLINE VecDouble split_any(VecDouble x, VecDouble& e) {
  const auto subnormal = x < 0x1p-1022;
  const VecDouble scaled = pick(subnormal, x * 0x1p54, x);
  VecDouble m;
  wide::split(scaled, m, e);
  e = pick(subnormal, e - 54.0, e);
  return m - 1.0;
}
HWY_INLINE VecDouble m_log(VecDouble x) {
  VecDouble e;
  const VecDouble f = split_any(x, e);
  return log_special(x, with_exponent(e, log_near_one(f, 0.0)));
}
/// log(x) `scale` for `unit` = log(2) `scale`, whose high part times an exponent is exact.
HWY_INLINE VecDouble scaled_log(VecDouble x, const double (&scale)[2], const double (&unit)[2]) {
  VecDouble e;
  const VecDouble f = split_any(x, e);
  const Twin parts = log_near_one(f, 0.0), l = wide::ordered_sum(parts.h, parts.l);
  const Twin p = wide::exact_product(l.h, scale[0]), sum = wide::ordered_sum(e * unit[0], p.h);
  const VecDouble low = wide::multiply_add(l.h, scale[1], wide::multiply_add(l.l, scale[0], p.l));
  return log_special(x, sum.h + (sum.l + wide::multiply_add(e, unit[1], low)));
}
HWY_INLINE VecDouble m_log2(VecDouble x) {
  return scaled_log(x, {0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56}, {1, 0});
}
HWY_INLINE VecDouble m_log10(VecDouble x) {
  const double scale[] = {0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57};
  return scaled_log(x, scale, {0x1.34413509f7p-2, 0x1.3fde623e2566bp-43});
}
HWY_INLINE VecDouble m_log1p(VecDouble x) {
  const VecDouble u = x + 1.0;
  const VecDouble lost = pick(wide::abs(x) < 1.0, x - (u - 1.0), 1.0 - (u - x));
  VecDouble m, e;
  wide::split(u, m, e);
  // Where nothing was scaled, x itself. 1 / m to some 2%, which is enough for what the sum lost.
  const auto plain = e == 0.0;
  const VecDouble inverse = wide::multiply_add(wide::multiply_add(m, 0.94, -3.0), m, 3.06);
  const VecDouble more = times_power_of_two(lost * inverse, -e);
  const VecDouble y = with_exponent(e, log_near_one(pick(plain, x, m - 1.0), pick(plain, 0.0, more)));
  return pick(x == 0.0, x, log_special(u, y));
}

constexpr double kDensity = 0.39894228040143267794;  // the normal distribution's at 0
/// The part of the normal distribution beyond t >= 0, within 12 units of the last place and 3 2^-54; 0 beyond 39.
HWY_INLINE VecDouble m_normal_tail(VecDouble t) {
  const VecDouble b = wide::min(t, 39.0), w = 4.0 / (b + 4.0);
  const Twin square = wide::exact_product(b, b);
  VecDouble n;
  const Twin p = exp_parts(square.h * -0.5, square.l * -0.5, n);
  const VecDouble g = w * wide::polynomial(fit::kNormalTail, wide::centered(w, 4.0 / 43, 1));
  const VecDouble slope = wide::multiply_add(square.h, wide::polynomial(fit::kNormalRest, square.h), kDensity);
  const VecDouble near = wide::subtract_product(t, slope, 0.5);
  return keep_nan(t, pick(t < 1.5, near, pick(t > 39.0, 0.0, times_power_of_two((p.h + p.l) * g, n))));
}

/// Beyond it the reduction has too few digits of a difference next to a multiple of pi / 2.
constexpr double kMostOfSine = 2e5;
/// sin(x + quarter * pi / 2) for |x| < kMostOfSine.
HWY_INLINE VecDouble sin_quarter(VecDouble x, uint64_t quarter) {
  VecDouble n;
  const Twin r = wide::reduce_quarters(Twin(x), 0, n);
  const Twin square = wide::exact_product(r.h, r.h);
  const VecDouble z = square.h, half = z * 0.5;
  const VecDouble low = wide::subtract_product(half, r.l, r.l);
  const VecDouble sine = r.h + wide::multiply_add(r.h * z, wide::polynomial(fit::kSinRest, z), low);
  const VecDouble top = 1.0 - half, rest = ((1.0 - top) - half) - wide::multiply_add(r.h, r.l, square.l * 0.5);
  const VecDouble cosine = top + wide::multiply_add(z * z, wide::polynomial(fit::kCosRest, z), rest);
  const uint64_t shift = quarter - 1;
  return {wide::cosine_of(sine.v, cosine.v, n.v, shift), wide::cosine_of(sine.w, cosine.w, n.w, shift)};
}
struct SinOf {
  double one(double x) const { return std::sin(x); }
  HWY_INLINE VecDouble::Mask usual(VecDouble x) const { return wide::abs(x) < kMostOfSine; }
  HWY_INLINE VecDouble run(VecDouble x) const { return pick(x == 0.0, x, sin_quarter(x, 0)); }
};
struct CosOf : SinOf {
  double one(double x) const { return std::cos(x); }
  HWY_INLINE VecDouble run(VecDouble x) const { return sin_quarter(x, 1); }
};
HWY_INLINE VecDouble m_sin(VecDouble x) { return wide::value(SinOf(), x); }
HWY_INLINE VecDouble m_cos(VecDouble x) { return wide::value(CosOf(), x); }

}  // namespace HWY_NAMESPACE
}  // namespace at::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard
