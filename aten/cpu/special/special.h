#pragma once

#include <cstdint>

// Special functions of real numbers, one value at a time. Computed in extended precision and rounded: the error is
// below one unit of the last place of double unless said otherwise. NaN gives NaN, and so does infinity where a function
// oscillates or is made of factors that overflow: Airy's, Bessel's J, Y and unscaled I, zeta in q.

namespace at::cpu::special {

/// Psi^(n), n >= 0: the (n+1)-th derivative of log gamma. Infinite at 0, -1, -2... Few units for negative x near a
/// zero.
double polygamma(int64_t n, double x);
/// sum over k of (k + q)^-s (Hurwitz). NaN for s < 1 and, unless s is whole, for negative q; inf for s = 1 and q = 0,
/// -1...
double zeta(double s, double q);
/// Regularized incomplete gamma functions, lower and upper: their sum is 1. NaN for negative arguments.
double lower_gamma(double a, double x);
double upper_gamma(double a, double x);

/// Modified Bessel functions of the first kind; `scaled` by exp(-|x|), else infinite where exp(|x|) overflows.
double bessel_i(int order, double x, bool scaled);
/// Of the second kind, orders 0 and 1; `scaled` by exp(x). inf at 0, NaN below.
double bessel_k(int order, double x, bool scaled);
/// Bessel functions of the first and second kind, orders 0 and 1: the C library's.
double bessel_j(int order, double x);
double bessel_y(int order, double x);
/// sin(x) / x.
double spherical_bessel_j0(double x);
/// The Airy function that vanishes at +inf.
double airy_ai(double x);

/// exp(x^2) erfc(x).
double scaled_erfc(double x);
/// The normal distribution: its function, the logarithm and the inverse of it (NaN outside [0, 1]).
double normal_cdf(double x);
double log_normal_cdf(double x);
double normal_quantile(double p);

/// -x log x, 0 at 0 and -inf below; x log(1 + y), 0 where x is 0 and y a number.
double entropy(double x);
double x_log1p_y(double x, double y);
/// log of the multivariate gamma function of dimension p: p (p - 1) / 4 log(pi) + sum of log gamma(x - j / 2).
double multivariate_log_gamma(int64_t p, double x);

/// Orthogonal polynomials of degree n by their recurrences; 0 for negative n, NaN beyond 2^20.
double chebyshev_t(double x, int64_t n);
double chebyshev_u(double x, int64_t n);
double chebyshev_v(double x, int64_t n);
double chebyshev_w(double x, int64_t n);
double hermite_h(double x, int64_t n);
double hermite_he(double x, int64_t n);
double laguerre_l(double x, int64_t n);
double legendre_p(double x, int64_t n);

}  // namespace at::cpu::special
