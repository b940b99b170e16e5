// How numbers of distributions come from uniform and normal ones, and how they change with the parameters: for the CPU
// and for kernels of devices.
#pragma once

#include <cmath>
#include <limits>

#include "c10/macros/macros.h"

namespace at::native::random {

C10_HOST_DEVICE inline double log_gamma(double x) {
#ifdef __CUDACC__
  return ::lgamma(x);
#else
  int sign;
  return ::lgamma_r(x, &sign);  // lgamma writes a global
#endif
}

template <class Uniforms>
C10_HOST_DEVICE double draw_poisson(Uniforms& uniform, double mean) {
  if (mean == 0) return 0;
  if (std::isinf(mean)) return mean;
  if (mean < 10) {
    const double limit = std::exp(-mean);
    double product = 1, count = 0;
    for (;;) {
      product *= uniform.next();
      if (product <= limit) return count;
      count += 1;
    }
  }
  const double root = std::sqrt(mean), log_mean = std::log(mean);
  const double b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b;
  const double v = 0.9277 - 3.6224 / (b - 2), g = 1.1239 + 1.1328 / (b - 3.4);
  for (;;) {
    const double u = uniform.next() - 0.5, height = uniform.next();
    const double s = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / s + b) * u + mean + 0.43);
    if (s >= 0.07 && height <= v) return k;
    if (k < 0 || (s < 0.013 && height > s)) continue;
    if (std::log(height) + std::log(g) - std::log(a / (s * s) + b) <= -mean + k * log_mean - log_gamma(k + 1)) return k;
  }
}

// What Stirling's formula leaves of log(k!).
C10_HOST_DEVICE inline double stirling_tail(double k) {
  static constexpr double kTails[] = {0.0810614667953272,  0.0413406959554092,  0.0276779256849983, 0.020790672103765,
                                      0.0166446911898211,  0.0138761288230707,  0.0118967099458917, 0.010411265261972,
                                      0.00925546218271273, 0.00833056343336287};
  if (k <= 9) return kTails[static_cast<int>(k)];
  const double q = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / q) / q) / (k + 1);
}

// std::ceil, which for processors without SSE4 is a call.
C10_HOST_DEVICE inline double rounded_up(double x) {
  if (!(std::fabs(x) < 0x1p52)) return x;
  const double whole = static_cast<double>(static_cast<int64_t>(x));
  return whole < x ? whole + 1 : whole;
}

// Of 0 < n < inf and 0 < p <= 0.5.
template <class Uniforms>
C10_HOST_DEVICE double draw_seldom(Uniforms& uniform, double n, double p, bool in_float) {
  if (n * p < 10) {
    double sum = 0, count = 0;
    const double scale = std::log1p(-p);
    for (;;) {
      sum += rounded_up(std::log(uniform.next()) / scale);
      if (sum > n) return count;
      count += 1;
    }
  }
  const double np = in_float ? static_cast<double>(static_cast<float>(n * p)) : n * p;
  const double sigma = std::sqrt(n * p * (1 - p));
  const double b = 1.15 + 2.53 * sigma, a = -0.0873 + 0.0248 * b + 0.01 * p, c = np + 0.5, v = 0.92 - 4.2 / b;
  const double r = p / (1 - p), h = (2.83 + 5.1 / b) * sigma, m = std::floor((n + 1) * p);
  for (;;) {
    const double u = uniform.next() - 0.5;
    double height = uniform.next();
    const double s = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / s + b) * u + c);
    if (s >= 0.07 && height <= v) return k;
    if (k < 0 || k > n) continue;
    height = std::log(height * h / (a / (s * s) + b));
    const double bound = (m + 0.5) * std::log((m + 1) / (r * (n - m + 1))) +
                         (n + 1) * std::log((n - m + 1) / (n - k + 1)) +
                         (k + 0.5) * std::log(r * (n - k + 1) / (k + 1)) + stirling_tail(m) + stirling_tail(n - m) -
                         stirling_tail(k) - stirling_tail(n - k);
    if (height <= bound) return k;
  }
}

template <class Uniforms>
C10_HOST_DEVICE double draw_binomial(Uniforms& uniform, double n, double p, bool in_float) {
  if (std::isnan(n) || std::isnan(p)) return NAN;
  if (n <= 0 || p <= 0) return 0;
  if (p >= 1) return n;
  if (std::isinf(n)) return n;
  const bool often = p > 0.5;
  const double count = draw_seldom(uniform, n, often ? 1 - p : p, in_float);
  return often ? n - count : count;
}

// --- gamma, beta ---

// Marsaglia & Tsang 2000; NaN for a parameter below 0. C: the type in which the parameters are changed, which decides
// the numbers.
template <class C, class Draws>
C10_HOST_DEVICE double draw_gamma(Draws& draws, C alpha) {
  if (!(alpha >= 0)) return NAN;
  double scale = 1;
  if (alpha < 1) {
    if (alpha == 0) return 0;
    scale = std::pow(1 - draws.uniform(), static_cast<double>(1 / alpha));
    alpha += 1;
  }
  const double d = static_cast<double>(static_cast<C>(alpha - static_cast<C>(1.0f / 3.0f)));
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    double x, y;
    do {
      x = draws.normal();
      y = 1 + c * x;
    } while (y <= 0);
    const double v = y * y * y, u = 1 - draws.uniform(), xx = x * x;
    if (u < 1 - 0.0331 * xx * xx || std::log(u) < 0.5 * xx + d * (1 - v + std::log(v))) return scale * d * v;
  }
}

inline constexpr double kHalfPi = 1.57079632679489662;
inline constexpr double kStep = 1.0 / 16;
inline constexpr int kNodes = 72;  // on each side: the last ones weigh less than a rounding error

// The integral of f(ln v, ln(1 - v)) over v in (0, 1), whatever f does at the ends (Takahasi & Mori 1974).
template <class F>
C10_HOST_DEVICE double integral_over_unit(const F& f) {
  double sum = 0;
  for (int k = -kNodes; k <= kNodes; ++k) {
    const double u = k * kStep, y = kHalfPi * std::sinh(u);
    const double log_v = -std::log1p(std::exp(-2 * y)), log_rest = -std::log1p(std::exp(2 * y));
    const double weight = 2 * kHalfPi * std::cosh(u) * std::exp(log_v + log_rest);
    if (weight > 0) sum += weight * f(log_v, log_rest);
  }
  return sum * kStep;
}

// By the expansion of the quantile in powers of 1 / sqrt(alpha) (Cornish & Fisher 1938).
C10_HOST_DEVICE inline double gamma_gradient_of_large(double alpha, double x) {
  const double root = std::sqrt(alpha);
  double z = (x - alpha) / root;
  for (int i = 0; i < 16; ++i) z = (x - alpha - (z * z - 1) / 3 - (z * z * z - 7 * z) / (36 * root)) / root;
  return 1 + z / (2 * root) - (z * z * z - 7 * z) / (72 * alpha * root);
}

// A number and its derivative by a parameter.
struct Dual {
  double value, slope;
  C10_HOST_DEVICE friend Dual operator+(Dual x, Dual y) { return {x.value + y.value, x.slope + y.slope}; }
  C10_HOST_DEVICE friend Dual operator*(Dual x, Dual y) { return {x.value * y.value, x.slope * y.value + x.value * y.slope}; }
  C10_HOST_DEVICE friend Dual operator/(Dual x, Dual y) {
    const double ratio = x.value / y.value;
    return {ratio, (x.slope - ratio * y.slope) / y.value};
  }
};

// Gamma(a, x) exp(x) / x^a and its derivative by a, by Legendre's continued fraction, for x > a + 1.
C10_HOST_DEVICE inline Dual upper_gamma_fraction(double a, double x, double precision) {
  Dual b{x + 1 - a, -1}, c{1e300, 0}, d = Dual{1, 0} / b, fraction = d;
  for (int n = 1; n < 100000; ++n) {
    const Dual numerator{-n * (n - a), static_cast<double>(n)};
    b.value += 2;
    d = Dual{1, 0} / (numerator * d + b);
    c = b + numerator / c;
    const Dual factor = c * d;
    fraction = fraction * factor;
    if (std::abs(factor.value - 1) + std::abs(factor.slope) < precision) break;
  }
  return fraction;
}

// d x / d alpha, psi = digamma(alpha). With density f, the distribution function is P = f x / alpha * sum t_n,
// t_n = t_(n-1) x / (alpha + n), and 1 - P = f x * the fraction above; the logarithm of f x has the derivative
// ln x - psi.
C10_HOST_DEVICE inline double gamma_gradient(double alpha, double x, double psi, double precision) {
  if (!(alpha > 0) || !(x > 0) || std::isinf(x)) return std::isnan(alpha) || std::isnan(x) ? NAN : 0;
  if (alpha > 5e4) return gamma_gradient_of_large(alpha, x);
  const double slope = std::log(x) - psi;
  if (x > alpha + 2 + 2 * std::sqrt(alpha)) {
    const Dual fraction = upper_gamma_fraction(alpha, x, precision);
    return x * (fraction.value * slope + fraction.slope);
  }
  double term = 1, sum = 1, slopes = 0, sum_of_slopes = 0;
  for (double n = 1; term > precision * sum || x > alpha + n; ++n) {
    const double part = 1 / (alpha + n);
    term *= x * part, slopes += part;
    sum += term, sum_of_slopes += term * slopes;
  }
  return -x / alpha * (sum * (slope - 1 / alpha) - sum_of_slopes);
}

// The sum of t_n, t_0 = 1, t_n = t_(n-1) z (total + n - 1) / (a + n), and its derivative where `total` changes, and `a`
// by as much if `both` do.
C10_HOST_DEVICE inline Dual beta_series(double a, double total, double z, bool both, double precision) {
  double term = 1, sum = 1, slopes = 0, sum_of_slopes = 0;
  for (double n = 1; term > precision * sum || z * (total + n - 1) > a + n; ++n) {
    const double below = 1 / (a + n), above = 1 / (total + n - 1);
    term *= z * (total + n - 1) * below;
    slopes += both ? above - below : above;
    sum += term, sum_of_slopes += term * slopes;
  }
  return {sum, sum_of_slopes};
}

// The integral of v^(a - 1) g(ln v, v) over (0, 1).
template <class G>
C10_HOST_DEVICE double power_integral(double a, const G& g) {
  if (a >= 1) {
    return integral_over_unit(
        [&](double log_v, double) { return std::exp((a - 1) * log_v) * g(log_v, std::exp(log_v)); });
  }
  return integral_over_unit([&](double log_w, double) { return g(log_w / a, std::exp(log_w / a)); }) / a;
}

// d x / d alpha of a number x with the distribution Beta(alpha, beta), over 1 - x; shift = digamma(alpha) -
// digamma(alpha + beta). By that side of x where the derivative of the density's logarithm has one sign.
C10_HOST_DEVICE inline double beta_gradient(double x, double alpha, double beta, double shift, double precision) {
  if (!(alpha > 0 && beta > 0 && x > 0 && x < 1)) return std::isnan(alpha + beta + x) ? NAN : 0;
  const double total = alpha + beta, log_x = std::log(x);
  const bool below = log_x <= shift;
  const double z = below ? x : 1 - x, first = below ? alpha : beta;
  // Terms grow up to number (z total - first) / (1 - z) and then shrink by nearly z.
  constexpr double kMostTerms = 1000;
  if (z < 0.97 && (z * total - first) < kMostTerms * (1 - z)) {
    const Dual series = beta_series(first, total, z, below, precision);
    if (below) return -x / alpha * (series.value * (log_x - shift - 1 / alpha) + series.slope);
    return x / beta * (series.value * (log_x - shift) + series.slope);
  }
  if (below) {
    const double log_rest = std::log1p(-x);
    return -x / (1 - x) * power_integral(alpha, [&](double log_v, double v) {
      return std::exp((beta - 1) * (std::log1p(-x * v) - log_rest)) * (log_x + log_v - shift);
    });
  }
  return power_integral(beta, [&](double, double v) {
    const double log_t = std::log1p(-(1 - x) * v);
    return std::exp((alpha - 1) * (log_t - log_x)) * (log_t - shift);
  });
}

}  // namespace at::native::random
