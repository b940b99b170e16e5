// Gamma's logarithm and its derivative on Wide. Include after hwy/highway.h.

#if defined(ATEN_CPU_SPECIAL_GAMMA_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATEN_CPU_SPECIAL_GAMMA_INL_H_
#undef ATEN_CPU_SPECIAL_GAMMA_INL_H_
#else
#define ATEN_CPU_SPECIAL_GAMMA_INL_H_
#endif

#include "aten/cpu/special/wide-inl.h"

HWY_BEFORE_NAMESPACE();
namespace at::cpu::special {
namespace HWY_NAMESPACE {

/// log gamma(x) for finite x > 0.
HWY_INLINE Wide log_gamma_positive(Wide x) {
  // Below 3 gamma(x) is gamma(1 + y), y in [0, 1], times or divided by one factor at most; beyond, Stirling's series.
  const WideMask low = x < 1.0, middle = x < 2.0, small = x < 3.0;
  const Wide factor = pick(small, pick(low, x, pick(middle, 1.0, x - 1.0)), x), l = log(factor);
  Wide result;
  if (any(small)) {
    const Wide y = pick(low, x, pick(middle, x - 1.0, x - 2.0));
    const Wide near = quotient(fit::kLogGammaNear, fit::kLogGammaNearUnder, centered(y, 0, 1));
    result = y * (y - 1.0) * near + pick(low, -l, l);
  }
  if (!all(small)) {
    const Wide inverse = 1.0 / x, u = centered(inverse * inverse, 0, 1.0 / 9);
    const Wide series = multiply_add(inverse, polynomial(fit::kLogGammaFar, u), 0.91893853320467274178);
    result = pick(small, result, multiply_add(x - 0.5, l, series - x));
  }
  return result;
}

/// The distance to the nearest whole number, signed.
HWY_INLINE Wide fraction(Wide x) { return x - round(x); }

/// log |gamma(x)| for finite x that are no poles.
HWY_INLINE Wide log_gamma(Wide x) {
  const Wide a = abs(x), positive = log_gamma_positive(a);
  const WideMask negative = x < 0.0;
  if (HWY_LIKELY(!any(negative))) return positive;
  // gamma(x) gamma(-x) = -pi / (x sin(pi x)).
  const Wide reflected = log(3.14159265358979323846 / (a * abs(sin_pi(fraction(a))))) - positive;
  return pick(negative, reflected, positive);
}

/// The derivative of log gamma, for finite x that are no poles.
HWY_INLINE Wide digamma(Wide x) {
  const WideMask negative = x < 0.0;
  const Wide t = pick(negative, 1.0 - x, x);
  const WideMask low = t < 1.0, middle = t < 2.0, small = t < 3.0;
  Wide result;
  if (any(small)) {
    const Wide y = pick(low, t, pick(middle, t - 1.0, t - 2.0));
    const Wide recurrence = pick(low, -1.0, pick(middle, 0.0, 1.0)) / pick(low, t, t - pick(middle, 0.0, 1.0));
    const Wide near = quotient(fit::kDigammaNear, fit::kDigammaNearUnder, centered(y, 0, 1));
    result = less(y, fit::kDigammaZero) * near + recurrence;
  }
  if (!all(small)) {
    const Wide inverse = 1.0 / t, w = inverse * inverse;
    const Wide series = w * polynomial(fit::kDigammaFar, centered(w, 0, 1.0 / 9));
    result = pick(small, result, log(t) - multiply_add(inverse, 0.5, series));
  }
  if (HWY_UNLIKELY(any(negative))) {
    // Psi(x) = psi(1 - x) - pi / tan(pi x).
    const Wide r = fraction(x), cotangent = sin_pi(0.5 - abs(r)) / sin_pi(r);
    result = pick(negative, result - 3.14159265358979323846 * cotangent, result);
  }
  return result;
}

/// Where the two hold: finite and no pole.
HWY_INLINE WideMask gamma_is_usual(Wide x) {
  const WideMask finite = abs(x) < __builtin_inf();
  return finite & ((x > 0.0) | (round(x) != x));
}

}  // namespace HWY_NAMESPACE
}  // namespace at::cpu::special
HWY_AFTER_NAMESPACE();

#endif  // include guard
