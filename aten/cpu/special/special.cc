#include "aten/cpu/special/special.h"

#include <math.h>

#include <cmath>
#include <limits>

#include "aten/cpu/special/airy_far.h"

namespace at::cpu::special {
namespace {

using Real = long double;

constexpr Real kPi = 3.14159265358979323846264338327950288L;
constexpr Real kEuler = 0.57721566490153286060651209008240243L;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr Real kTiny = 1e-21L;  // beyond extended precision

Real log_gamma(Real x) {
  int sign;
  return ::lgammal_r(x, &sign);  // std::lgamma writes a global
}

// B(2j) / (2j)! for j = 1..12.
constexpr Real kBernoulli[] = {
    1.0L / 12,
    -1.0L / 720,
    1.0L / 30240,
    -1.0L / 1209600,
    1.0L / 47900160,
    -691.0L / 1307674368000.0L,
    1.0L / 74724249600.0L,
    -3617.0L / 10670622842880000.0L,
    43867.0L / 5109094217170944000.0L,
    -174611.0L / 802857662698291200000.0L,
    77683.0L / 14101100039391805440000.0L,
    -236364091.0L / 1693824136731743669452800000.0L,
};

// Euler and Maclaurin's summation from the first term beyond 15 + s on.
Real hurwitz(Real s, Real q) {
  if (q < -15) {
    // s is whole. The terms below zero are (-1)^s times those of zeta(s, start) up to |q|.
    const Real start = std::ceil(q) - q;
    if (start == 0) return std::numeric_limits<Real>::infinity();
    const Real sign = std::fmod(s, 2.0L) == 0 ? 1 : -1;
    return sign * (hurwitz(s, start) - hurwitz(s, 1 - q)) + hurwitz(s, 1 - start);
  }
  Real sum = 0;
  for (; q < 15 + s; q += 1) {
    if (q == 0) return std::numeric_limits<Real>::infinity();
    const Real term = std::pow(q, -s);
    sum += term;
    if (q > 1 && !(term * q > kTiny * std::fabs(sum))) return sum;  // NaN too
  }
  const Real power = std::pow(q, -s);
  sum += power * q / (s - 1) + power / 2;
  Real factor = s * power / q;
  for (int j = 0; j < 12; ++j) {
    const Real term = kBernoulli[j] * factor;
    sum += term;
    if (std::fabs(term) < kTiny * std::fabs(sum)) break;
    factor *= (s + 2 * j + 1) * (s + 2 * j + 2) / (q * q);
  }
  return sum;
}

// The power series: every term has one sign.
Real bessel_i_series(int order, Real x) {
  if (x == 0) return order == 0 ? 1 : 0;
  const Real z = x * x / 4;
  Real term = order == 0 ? 1 : x / 2, sum = term;
  for (int k = 1; k < 1000; ++k) {
    term *= z / (static_cast<Real>(k) * (k + order));
    sum += term;
    if (std::fabs(term) < kTiny * std::fabs(sum)) break;
  }
  return sum;
}
// exp(-x) I(x) for x > 30 (Abramowitz and Stegun 9.7.1).
Real bessel_i_asymptotic(int order, Real x) {
  const Real mu = 4 * order * order;
  Real term = 1, sum = 1;
  for (int k = 1; k < 60; ++k) {
    const Real odd = 2 * k - 1, next = term * -(mu - odd * odd) / (8 * k * x);
    if (std::fabs(next) > std::fabs(term)) break;
    term = next;
    sum += term;
    if (std::fabs(term) < kTiny) break;
  }
  return sum / std::sqrt(2 * kPi * x);
}

// exp(x) K of any order: the integral of exp(-x (cosh t - 1)) cosh(order t) by the trapezoidal rule, which converges
// exponentially.
Real bessel_k_integral(Real order, Real x) {
  // The integrand narrows as 1 / sqrt(x).
  const Real step = std::fmin(0.125L, 0.5L / std::sqrt(x));
  Real sum = 0.5L;
  for (int i = 1;; ++i) {
    const Real t = i * step, s = std::sinh(t / 2);
    const Real term = std::exp(-2 * x * s * s) * std::cosh(order * t);
    sum += term;
    if (term < kTiny * sum) break;
  }
  return sum * step;
}
// Abramowitz and Stegun 9.6.13 and 9.6.11, for small x.
Real bessel_k_series(int order, Real x) {
  const Real z = x * x / 4, log_half = std::log(x / 2);
  Real sum = 0, harmonic = 0, term = 1;
  if (order == 0) {
    for (int k = 1; k < 100; ++k) {
      term *= z / (static_cast<Real>(k) * k);
      harmonic += 1.0L / k;
      sum += term * harmonic;
      if (term < kTiny) break;
    }
    return -(log_half + kEuler) * bessel_i_series(0, x) + sum;
  }
  for (int k = 0; k < 100; ++k) {
    sum += term * (2 * harmonic + 1.0L / (k + 1) - 2 * kEuler);
    harmonic += 1.0L / (k + 1);
    term *= z / ((k + 1.0L) * (k + 2));
    if (term < kTiny) break;
  }
  return 1 / x + log_half * bessel_i_series(1, x) - x / 4 * sum;
}

}  // namespace

double polygamma(int64_t n, double x) {
  if (std::isnan(x)) return x;
  if (x == kInf) return n == 0 ? kInf : 0;
  const bool pole = x <= 0 && x == std::floor(x);
  if (n == 0) {
    if (x == 0) return std::copysign(kInf, -x);
    if (pole) return kNan;
    // Psi(x) = Psi(1 - x) - pi cot(pi x); a difference of sums else.
    if (x < 0) {
      const Real r = std::remainder(static_cast<Real>(x), 1.0L);
      return static_cast<double>(static_cast<Real>(polygamma(0, 1 - x)) - kPi / std::tan(kPi * r));
    }
    Real q = x, sum = 0;
    for (; q < 20; q += 1) sum -= 1 / q;
    const Real z = 1 / (q * q);
    Real series = 0, factor = z, factorial = 1;  // (2j)! / (2j) B(2j) / (2j)!
    for (int j = 0; j < 12; ++j) {
      series += kBernoulli[j] * factorial * factor;
      factor *= z;
      factorial *= (2 * j + 2.0L) * (2 * j + 3.0L);
    }
    return static_cast<double>(sum + std::log(q) - 0.5L / q - series);
  }
  const double sign = n % 2 == 1 ? 1 : -1;
  if (pole) return sign * kInf;
  return static_cast<double>(sign * std::exp(log_gamma(n + 1.0L)) * hurwitz(n + 1.0L, x));
}

double zeta(double s, double q) {
  if (std::isnan(s) || std::isnan(q)) return kNan;
  if (s == 1) return kInf;
  if (s < 1) return kNan;
  if (q <= 0) {
    if (q == std::floor(q)) return kInf;
    if (s != std::floor(s)) return kNan;
  }
  if (q == kInf) return kNan;
  return static_cast<double>(hurwitz(s, q));
}

namespace {

// x^a exp(-x) / Gamma(a + 1).
Real gamma_factor(Real a, Real x) {
  return std::exp(a * std::log(x) - x - log_gamma(a + 1));
}

Real lower_series(Real a, Real x) {
  Real term = 1, sum = 1;
  for (Real k = 1; k < 100000; k += 1) {
    term *= x / (a + k);
    sum += term;
    if (term < kTiny * sum) break;
  }
  return gamma_factor(a, x) * sum;
}
// Lentz's evaluation of Abramowitz and Stegun 6.5.31.
Real upper_fraction(Real a, Real x) {
  Real b = x + 1 - a, c = 1e300L, d = 1 / b, h = d;
  for (Real k = 1; k < 100000; k += 1) {
    const Real an = k * (a - k);
    b += 2;
    d = 1 / (an * d + b);
    c = b + an / c;
    const Real factor = c * d;
    h *= factor;
    if (std::fabs(factor - 1) < kTiny * 10) break;
  }
  return gamma_factor(a, x) * a * h;
}

}  // namespace

double lower_gamma(double a, double x) {
  if (std::isnan(a) || std::isnan(x) || a < 0 || x < 0) return kNan;
  if (a == 0) return x > 0 ? 1 : kNan;
  if (x == 0) return 0;
  if (std::isinf(a)) return std::isinf(x) ? kNan : 0;
  if (std::isinf(x)) return 1;
  return static_cast<double>(x < a + 1 ? lower_series(a, x) : 1 - upper_fraction(a, x));
}
double upper_gamma(double a, double x) {
  if (std::isnan(a) || std::isnan(x) || a < 0 || x < 0) return kNan;
  if (a == 0) return x > 0 ? 0 : kNan;
  if (x == 0) return 1;
  if (std::isinf(a)) return std::isinf(x) ? kNan : 1;
  if (std::isinf(x)) return 0;
  return static_cast<double>(x < a + 1 ? 1 - lower_series(a, x) : upper_fraction(a, x));
}

// Beyond it exp overflows in double.
constexpr Real kLargestExponent = 709.782712893383973096L;

double bessel_i(int order, double x, bool scaled) {
  if (std::isnan(x)) return x;
  const Real a = std::fabs(static_cast<Real>(x));
  Real value;
  if (a <= 30) {
    value = bessel_i_series(order, a);
    if (scaled) value *= std::exp(-a);
  } else if (std::isinf(x)) {
    value = scaled ? 0 : kNan;
  } else if (!scaled && a > kLargestExponent) {
    value = kInf;
  } else {
    value = bessel_i_asymptotic(order, a);
    if (!scaled) value *= std::exp(a);
  }
  return static_cast<double>(order == 1 && x < 0 ? -value : value);
}

double bessel_k(int order, double x, bool scaled) {
  if (std::isnan(x) || x < 0) return kNan;
  if (x == 0) return kInf;
  if (x == kInf || (!scaled && x > 750)) return 0;
  if (x < 1) return static_cast<double>(bessel_k_series(order, x) * (scaled ? std::exp(static_cast<Real>(x)) : 1));
  return static_cast<double>(bessel_k_integral(order, x) * (scaled ? 1 : std::exp(-static_cast<Real>(x))));
}

double bessel_j(int order, double x) {
  if (std::isinf(x)) return kNan;
  return order == 0 ? ::j0(x) : ::j1(x);
}
double bessel_y(int order, double x) {
  if (x < 0 || x == kInf) return kNan;
  return order == 0 ? ::y0(x) : ::y1(x);
}

double spherical_bessel_j0(double x) {
  if (std::isinf(x)) return 0;
  return x == 0 ? 1 : static_cast<double>(std::sin(static_cast<Real>(x)) / x);
}

namespace {

// Maclaurin's series, terms up to exp(2/3 |x|^1.5) cancel: in quadruple precision for |x| <= 11.
double airy_series(double x) {
  using Quad = __float128;
  // Ai(0) and -Ai'(0).
  const Quad c1 = static_cast<Quad>(0.355028053887817239260063186004183177L);
  const Quad c2 = static_cast<Quad>(0.258819403792806798405183560189203963L);
  const Quad z = static_cast<Quad>(x) * x * x;
  Quad f = 1, g = x, f_term = 1, g_term = x;
  for (int k = 1; k < 400; ++k) {
    f_term *= z / ((3 * k - 1) * (3 * k));
    g_term *= z / ((3 * k) * (3 * k + 1));
    f += f_term;
    g += g_term;
    const double size = std::fabs(static_cast<double>(f_term)) + std::fabs(static_cast<double>(g_term));
    if (size < 1e-34 && k > 20) break;
  }
  return static_cast<double>(c1 * f - c2 * g);
}
// Abramowitz and Stegun 10.4.60, whose terms fall below double's precision beyond 11.
double airy_oscillating(double x) {
  const Real a = -static_cast<Real>(x), zeta = 2 * a * std::sqrt(a) / 3;
  Real c = 1, even = 0, odd = 0;
  for (int k = 0; k < 40; ++k) {
    const Real signed_term = (k / 2) % 2 == 0 ? c : -c;
    (k % 2 == 0 ? even : odd) += signed_term;
    const Real next = c * (6 * k + 5.0L) * (6 * k + 3.0L) * (6 * k + 1.0L) / (216 * (k + 1.0L) * (2 * k + 1.0L) * zeta);
    if (next > c || next < kTiny) break;
    c = next;
  }
  const Real phase = zeta + kPi / 4;
  return static_cast<double>((std::sin(phase) * even - std::cos(phase) * odd) / std::sqrt(kPi * std::sqrt(a)));
}

}  // namespace

double airy_ai(double x) {
  if (std::isnan(x) || std::isinf(x)) return kNan;
  if (x > 108) return 0;
  if (x <= -1e4) return airy_far_below(x);
  if (x > 1) {
    const Real a = x, zeta = 2 * a * std::sqrt(a) / 3;
    return static_cast<double>(std::sqrt(a / 3) / kPi * bessel_k_integral(1.0L / 3, zeta) * std::exp(-zeta));
  }
  return x >= -11 ? airy_series(x) : airy_oscillating(x);
}

double scaled_erfc(double x) {
  const Real a = x;
  if (x < 20) return static_cast<double>(std::exp(a * a) * std::erfc(a));
  if (x == kInf) return 0;
  Real term = 1, sum = 1;
  const Real z = -1 / (2 * a * a);
  for (int k = 1; k < 40; ++k) {
    const Real next = term * z * (2 * k - 1);
    if (std::fabs(next) < kTiny || std::fabs(next) > std::fabs(term)) break;
    term = next;
    sum += term;
  }
  return static_cast<double>(sum / (a * std::sqrt(kPi)));
}

double normal_cdf(double x) {
  return static_cast<double>(std::erfc(-static_cast<Real>(x) / std::sqrt(2.0L)) / 2);
}

double log_normal_cdf(double x) {
  const Real a = x, z = a / std::sqrt(2.0L);
  if (x == -kInf) return -kInf;
  if (x >= -1) return static_cast<double>(std::log1p(-std::erfc(z) / 2));
  if (x > -14) return static_cast<double>(std::log(std::erfc(-z) / 2));
  return static_cast<double>(std::log(static_cast<Real>(scaled_erfc(static_cast<double>(-z))) / 2) - z * z);
}

double normal_quantile(double p) {
  if (!(p >= 0 && p <= 1)) return kNan;
  if (p == 0) return -kInf;
  if (p == 1) return kInf;
  if (p == 0.5) return 0;
  // Newton's method with Halley's correction, on the logarithm in the tail. Above 1/2 by symmetry: 1 - p is exact
  // there.
  const bool upper = p > 0.5;
  const Real q = upper ? 1 - static_cast<Real>(p) : p;
  Real x = q < 0.1L ? -std::sqrt(-2 * std::log(q)) : -(0.5L - q) * 2.5L;
  for (int i = 0; i < 60; ++i) {
    const Real cdf = std::erfc(-x / std::sqrt(2.0L)) / 2, density = std::exp(-x * x / 2) / std::sqrt(2 * kPi);
    const Real newton = q < 0.1L ? (std::log(cdf) - std::log(q)) * cdf / density : (cdf - q) / density;
    const Real step = newton / (1 + (q < 0.1L ? 0 : x * newton / 2));
    x -= step;
    if (std::fabs(step) <= 1e-18L * std::fabs(x)) break;
  }
  return static_cast<double>(upper ? -x : x);
}

double entropy(double x) {
  return x > 0 ? -x * std::log(x) : x == 0 ? 0.0 : std::isnan(x) ? x : -kInf;
}
double x_log1p_y(double x, double y) {
  return std::isnan(y) ? y : x == 0 ? 0.0 : x * std::log1p(y);
}

double multivariate_log_gamma(int64_t p, double x) {
  double sum = 0.25 * static_cast<double>(p) * static_cast<double>(p - 1) * 1.14472988584940017414;
  for (int64_t j = 0; j < p; ++j) {
    int sign;
    sum += ::lgamma_r(x - 0.5 * static_cast<double>(j), &sign);
  }
  return sum;
}

namespace {

// Degrees beyond which the recurrences are not run.
constexpr int64_t kMaxDegree = int64_t{1} << 20;

// P(0) = 1, P(1) = first, P(k + 1) = 2x P(k) - P(k - 1).
double chebyshev(double x, int64_t n, double first) {
  if (n < 0) return 0;
  if (n == 0) return 1;
  if (n > kMaxDegree) return kNan;
  double before = 1, p = first;
  for (int64_t k = 1; k < n; ++k) {
    const double next = (x + x) * p - before;
    before = p;
    p = next;
  }
  return p;
}
// P(0) = 1, P(-1) = 0, P(k + 1) = step(k, P(k), P(k - 1)).
template <class Step>
double by_recurrence(int64_t n, const Step& step) {
  if (n < 0) return 0;
  if (n > kMaxDegree) return kNan;
  double before = 0, p = 1;
  for (int64_t k = 0; k < n; ++k) {
    const double next = step(static_cast<double>(k), p, before);
    before = p;
    p = next;
  }
  return p;
}

}  // namespace

double chebyshev_t(double x, int64_t n) {
  if (n >= 0 && std::fabs(x) == 1) return x > 0 || n % 2 == 0 ? 1 : -1;
  if (n > 6 && std::fabs(x) < 1) return std::cos(static_cast<double>(n) * std::acos(x));
  return chebyshev(x, n, x);
}
double chebyshev_u(double x, int64_t n) { return chebyshev(x, n, x + x); }
double chebyshev_v(double x, int64_t n) { return chebyshev(x, n, x + x - 1); }
double chebyshev_w(double x, int64_t n) { return chebyshev(x, n, x + x + 1); }

double hermite_h(double x, int64_t n) {
  return by_recurrence(n, [x](double k, double p, double before) { return 2 * (x * p - k * before); });
}
double hermite_he(double x, int64_t n) {
  return by_recurrence(n, [x](double k, double p, double before) { return x * p - k * before; });
}
double laguerre_l(double x, int64_t n) {
  return by_recurrence(n, [x](double k, double p, double before) { return ((2 * k + 1 - x) * p - k * before) / (k + 1); });
}
double legendre_p(double x, int64_t n) {
  return by_recurrence(n, [x](double k, double p, double before) { return ((2 * k + 1) * x * p - k * before) / (k + 1); });
}

}  // namespace at::cpu::special
