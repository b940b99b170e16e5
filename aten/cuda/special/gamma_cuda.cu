// Gamma's logarithm, its derivatives and parts.
#include "aten/cuda/special/wide.cuh"

namespace at::cuda::special {
namespace {

AT_ON_WIDE_LONG double polygamma(int64_t n, double x);
AT_ON_WIDE_LONG double zeta(double s, double q);
AT_ON_WIDE_LONG double multivariate_log_gamma(int64_t p, double x);
AT_ON_WIDE_LONG double incomplete_gamma(double a, double x, bool upper);
AT_ON_WIDE double lower_gamma(double a, double x) {
  return incomplete_gamma(a, x, false);
}
AT_ON_WIDE double upper_gamma(double a, double x) {
  return incomplete_gamma(a, x, true);
}

#include "aten/cpu/special/gamma_functions.inc"

#include "aten/cpu/special/gamma.inc"

// sin(pi r) and cos(pi r) for |r| <= 1/2.
AT_ON_WIDE Twin turned(double r, uint64_t quarter) {
  Wide n;
  const Twin reduced = reduce_quarters(Twin(fit::kPiTwin) * Twin(r), 0, n);
  return cosine(reduced, n, quarter);
}
AT_ON_WIDE Twin sine_of_turn(double r) {
  return turned(r, uint64_t{0} - 1);
}
AT_ON_WIDE Twin cosine_of_turn(double r) {
  return turned(r, 0);
}

AT_COEFFICIENTS kStirling[] = {-1.0 / 360,         1.0 / 1260,     -1.0 / 1680,           1.0 / 1188,
                               -691.0 / 360360,    1.0 / 156,      -3617.0 / 122400,      43867.0 / 244188,
                               -174611.0 / 125400, 77683.0 / 5796, -236364091.0 / 1506960};

// What log gamma(x) has beyond (x - 1/2) log(x) - x + log(2 pi) / 2, for x >= 16.
AT_ON_WIDE Twin stirling_rest(Twin x) {
  const Twin inverse = Twin(1.0) / x;
  const Wide z = inverse.h * inverse.h;
  return inverse * (Twin(1.0) / Twin(12.0) + Twin(z * polynomial(kStirling, z)));
}
AT_ON_WIDE Twin half_log_two_pi() {
  return {0x1.d67f1c864beb5p-1, -0x1.65b5a1b7ff5dfp-55};
}
// For x from 1e-290 to 1e290: the factors up to 16, then Stirling's series. Absolutely precise where it is small.
AT_ON_WIDE_LONG Twin log_gamma_twin(Twin x) {
  Twin factors = 1.0;
  AT_ON_WIDE_ROLLED
  while (x.h.v < 16) {
    factors = factors * x;
    x = x + Twin(1.0);
  }
  const Twin large = (x - Twin(0.5)) * log(x) - x + half_log_two_pi() + stirling_rest(x);
  return factors.h.v == 1 ? large : large - log(factors);
}
AT_ON_WIDE_LONG double log_gamma_of(double x) {
  const double a = ::fabs(x);
  if (is_nan(x)) return x;
  if (is_infinite(x) || (x <= 0 && x == ::floor(x))) return infinity();
  if (a < 1e-290) return -::log(a);
  if (a > 1e290) return x * (::log(x) - 1);
  const Twin positive = log_gamma_twin(Twin(a));
  if (x > 0) return positive.sum().v;
  // gamma(x) gamma(-x) = -pi / (x sin(pi x)).
  const Twin sine = sine_of_turn(::fabs(a - ::rint(a)));
  return (log(Twin(fit::kPiTwin) / (Twin(a) * sine)) - positive).sum().v;
}

AT_COEFFICIENTS kDigammaSeries[] = {-1.0 / 120, 1.0 / 252,      -1.0 / 240,      1.0 / 132,       -691.0 / 32760,
                                    1.0 / 12,   -3617.0 / 8160, 43867.0 / 14364, -174611.0 / 6600};
// For x from 1e-290: the terms up to 20, then the asymptotic series.
AT_ON_WIDE_LONG Twin digamma_twin(Twin x) {
  Twin sum = 0.0;
  AT_ON_WIDE_ROLLED
  while (x.h.v < 20) {
    sum = sum - Twin(1.0) / x;
    x = x + Twin(1.0);
  }
  const Twin inverse = Twin(1.0) / x, z = inverse * inverse;
  const Twin series = z * (Twin(1.0) / Twin(12.0) + Twin(z.h * polynomial(kDigammaSeries, z.h)));
  return sum + log(x) - scaled(inverse, 0.5) - series;
}
AT_ON_WIDE_LONG double digamma_of(double x) {
  if (is_nan(x) || x == infinity()) return x;
  if (x == 0) return x != 0 || ::copysign(1.0, x) > 0 ? -infinity() : infinity();
  if (x == ::floor(x) && x < 0) return not_a_number();
  if (::fabs(x) < 1e-18) return -1 / x - 0.57721566490153286061;
  if (x > 1e18) return ::log(x);
  if (x > 0) return digamma_twin(Twin(x)).sum().v;
  // Psi(x) = psi(1 - x) - pi cot(pi x).
  const double r = x - ::rint(x);
  const Twin cotangent = cosine_of_turn(::fabs(r)) / sine_of_turn(::fabs(r)), term = Twin(fit::kPiTwin) * cotangent;
  const Twin up = ::fabs(x) > 1e18 ? Twin(::log(-x)) : digamma_twin(exact_sum(1.0, -x));
  return (r > 0 ? up - term : up + term).sum().v;
}

// q^-s; s is whole where q is negative.
AT_ON_WIDE_LONG double inverse_power_of(double q, double s) {
  const double a = ::fabs(q);
  if (!(a < infinity())) return is_nan(q) ? q : 0;
  const Twin l = a < 1e-290 ? log(Twin(a * 0x1p200)) - log_of_two() * Twin(200.0) : log(Twin(a));
  const double power = times_exp(Twin(1.0), -(Twin(s) * l));
  return q < 0 && ::fmod(s, 2.0) != 0 ? -power : power;
}
// The sum of Euler and Maclaurin in double, where terms may overflow; q > -15.
AT_ON_WIDE_LONG double hurwitz_above(double s, double q) {
  double sum = 0;
  AT_ON_WIDE_ROLLED
  for (; q < 15 + s; q += 1) {
    if (q == 0) return infinity();
    const double term = inverse_power_of(q, s);
    sum += term;
    if (q > 1 && !(term * q > 1e-18 * ::fabs(sum))) return sum;
  }
  const double power = inverse_power_of(q, s);
  double rest = q / (s - 1) + 0.5, factor = s / q;
  AT_ON_WIDE_ROLLED
  for (int j = 0; j < 12; ++j) {
    rest += kBernoulliRatios[j] * factor;
    factor *= (s + 2 * j + 1) * (s + 2 * j + 2) / (q * q);
  }
  return sum + power * rest;
}
AT_ON_WIDE_LONG double hurwitz_plain(double s, double q) {
  if (!(q < -15)) return hurwitz_above(s, q);
  // s is whole. The terms below zero are (-1)^s times those of zeta(s, start) up to |q|.
  const double start = ::ceil(q) - q;
  if (start == 0) return infinity();
  const double sign = ::fmod(s, 2.0) == 0 ? 1 : -1;
  return sign * (hurwitz_above(s, start) - hurwitz_above(s, 1 - q)) + hurwitz_above(s, 1 - start);
}

// Of whole s, terms of one or both signs: in sums of two doubles, which nothing cancels in.
AT_ON_WIDE bool goes_by_powers(double s, double q) {
  return s <= 60 && s == ::floor(s) && q > -2000 && q < 1e4 && ::fabs(q - ::rint(q)) > 1e-4 && ::fabs(q) > 1e-4;
}
AT_ON_WIDE_LONG double hurwitz_by_powers(double s, double q) {
  return hurwitz_twin(s, q,
                      [whole = static_cast<int64_t>(s)](Twin x) AT_ON_WIDE_LAMBDA { return inverse_power(x, whole); })
      .v;
}

AT_ON_WIDE_LONG double zeta(double s, double q) {
  if (is_nan(s) || is_nan(q)) return not_a_number();
  if (s == 1) return infinity();
  if (s < 1) return not_a_number();
  if (q <= 0) {
    if (q == ::floor(q)) return infinity();
    if (s != ::floor(s)) return not_a_number();
  }
  if (is_infinite(q)) return not_a_number();
  if (is_infinite(s)) return q == 1 ? 1 : q > 1 ? 0 : infinity();
  if (goes_by_powers(s, q)) return hurwitz_by_powers(s, q);
  if (q > 0 && s < 1e3 && s * ::fabs(::log(q)) < 650 && q < 1e100) {
    return hurwitz_twin(s, q, [s](Twin x) AT_ON_WIDE_LAMBDA { return exp(-(Twin(s) * log(x))); }).v;
  }
  return hurwitz_plain(s, q);
}

AT_ON_WIDE_LONG double polygamma(int64_t n, double x) {
  if (n == 0) return digamma_of(x);
  if (is_nan(x)) return x;
  if (x == infinity()) return 0;
  const double sign = n % 2 == 1 ? 1 : -1, s = static_cast<double>(n) + 1;
  if (x <= 0 && x == ::floor(x)) return sign * infinity();
  // n! (n <= 170) times the sum, or both by their logarithms.
  const double sum = goes_by_powers(s, x) ? hurwitz_by_powers(s, x) : hurwitz_plain(s, x);
  if (n <= 170 && !is_infinite(sum) && ::fabs(sum) > 1e-290) {
    double factorial = 1;
    for (int64_t k = 2; k <= n; ++k) factorial *= static_cast<double>(k);
    return sign * factorial * sum;
  }
  // x^-s times the sum of (x / (x + k))^s.
  if (x <= 0) return sign * (sum < 0 ? -infinity() : infinity());
  double rest = 0, term = 1;
  for (double k = 1; term > 1e-18 && k < 1e5; k += 1) {
    rest += term;
    term = ::exp(s * ::log1p(-k / (x + k)));
  }
  const bool tiny = x < 1e-290;
  const Twin l = tiny ? log(Twin(x * 0x1p100)) - log_of_two() * Twin(100.0) : log(Twin(x));
  return sign * times_exp(Twin(rest), log_gamma_twin(Twin(s)) - Twin(s) * l);
}

AT_ON_WIDE_LONG double multivariate_log_gamma(int64_t p, double x) {
  const auto dimension = static_cast<double>(p);
  double sum = 0.25 * dimension * (dimension - 1) * 1.14472988584940017414;
  for (int64_t j = 0; j < p; ++j) sum += log_gamma_of(x - 0.5 * static_cast<double>(j));
  return sum;
}

// The series of the lower function up to x = a + 1, the continued fraction of the upper one beyond (Abramowitz and
// Stegun 6.5.31 by Lentz's method).
AT_ON_WIDE_LONG double incomplete_gamma(double a, double x, bool upper) {
  if (is_nan(a) || is_nan(x) || a < 0 || x < 0) return not_a_number();
  const double none = upper ? 1 : 0, all_of_it = upper ? 0 : 1;
  if (a == 0) return x > 0 ? all_of_it : not_a_number();
  if (x == 0) return none;
  if (is_infinite(a)) return is_infinite(x) ? not_a_number() : none;
  if (is_infinite(x)) return all_of_it;
  // log(x^a exp(-x) / gamma(a + 1)); where both are large, by their quotient, whose logarithm is small where the result
  // is not.
  Twin exponent;
  if (a >= 16 && x > 1e-100) {
    exponent = Twin(a) * log(Twin(x) / Twin(a)) + exact_sum(a, -x) - scaled(log(Twin(a)), 0.5) - half_log_two_pi() -
               stirling_rest(Twin(a));
  } else {
    const Twin log_x = x < 1e-290 ? log(Twin(x * 0x1p100)) - log_of_two() * Twin(100.0) : log(Twin(x));
    exponent = Twin(a) * log_x - Twin(x) - log_gamma_twin(exact_sum(a, 1.0));
  }
  constexpr double kSmall = 1e-22;
  if (x < a + 1) {
    Twin term = 1.0, sum = 1.0, place = Twin(a);
    AT_ON_WIDE_ROLLED
    for (int k = 1; k < 100000; ++k) {
      place = place + Twin(1.0);
      term = term * (Twin(x) / place);
      sum = sum + term;
      if (term.h.v < kSmall * sum.h.v) break;
    }
    if (!upper || exponent.h.v < -690) return upper ? 1 - times_exp(sum, exponent) : times_exp(sum, exponent);
    return (Twin(1.0) - exp(exponent) * sum).sum().v;
  }
  Twin b = exact_sum(x, 1.0) - Twin(a), c = 1e290, d = Twin(1.0) / b, h = d;
  AT_ON_WIDE_ROLLED
  for (int k = 1; k < 100000; ++k) {
    const Twin an = Twin(static_cast<double>(k)) * exact_sum(a, -static_cast<double>(k));
    b = b + Twin(2.0);
    d = Twin(1.0) / (an * d + b);
    c = b + an / c;
    const Twin factor = c * d;
    h = h * factor;
    if (::fabs((factor.h.v - 1) + factor.l.v) < 1e-21) break;
  }
  const Twin part = Twin(a) * h;
  if (upper || exponent.h.v < -690) return upper ? times_exp(part, exponent) : 1 - times_exp(part, exponent);
  return (Twin(1.0) - exp(exponent) * part).sum().v;
}

struct Lgamma : Plain<1> {
  AT_ON_WIDE double one(double x) const { return log_gamma_of(x); }
  AT_ON_WIDE WideMask usual(Wide x) const { return gamma_is_usual(x); }
  AT_ON_WIDE Wide run(Wide x) const { return log_gamma(x); }
};
struct Digamma : Plain<1> {
  AT_ON_WIDE double one(double x) const { return digamma_of(x); }
  AT_ON_WIDE WideMask usual(Wide x) const { return gamma_is_usual(x); }
  AT_ON_WIDE Wide run(Wide x) const { return digamma(x); }
};

}  // namespace
}  // namespace at::cuda::special

using namespace at::cuda::special;  // NOLINT: names of formulas

AT_CUDA_SPECIAL_OP(zeta, Function<Zeta, ZetaTwin>)
AT_CUDA_SPECIAL_OP(polygamma, Function<Polygamma, PolygammaTwin>)
AT_CUDA_SPECIAL_OP(mvlgamma, Function<Mvlgamma, One<Mvlgamma>>)
AT_CUDA_SPECIAL_OP(lower_gamma, Function<IncompleteGamma<false>, One<IncompleteGamma<false>>>)
AT_CUDA_SPECIAL_OP(upper_gamma, Function<IncompleteGamma<true>, One<IncompleteGamma<true>>>)
AT_CUDA_ELEMENT_OP(lgamma, at::cuda::floating_kernels<Function<Lgamma, One<Lgamma>>>())
AT_CUDA_ELEMENT_OP(digamma, at::cuda::floating_kernels<Function<Digamma>>())
