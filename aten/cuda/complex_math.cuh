// Elementary functions of complex numbers, computed in double, as the CPU's are.
#pragma once

#include <cmath>

#include "c10/cuda/launch.h"
#include "c10/util/complex.h"

namespace at::cuda {

using Complex = c10::complex<double>;

KD_DEVICE double abs_of(Complex z) { return ::hypot(z.real(), z.imag()); }
KD_DEVICE double angle_of(Complex z) { return ::atan2(z.imag(), z.real()); }

KD_DEVICE Complex exp_of(Complex z) {
  const double x = z.real(), y = z.imag();
  if (y == 0) return Complex(::exp(x), y);
  if (::isinf(x) && !::isfinite(y)) return x < 0 ? Complex(0, ::copysign(0.0, y)) : Complex(x, y - y);
  const double length = ::exp(x);
  if (x == -INFINITY) return Complex(::copysign(0.0, ::cos(y)), ::copysign(0.0, ::sin(y)));
  return Complex(length * ::cos(y), length * ::sin(y));
}
KD_DEVICE Complex log_of(Complex z) { return Complex(::log(abs_of(z)), angle_of(z)); }

// The root in the right half-plane, by the part that does not cancel; infinities as in C's library.
KD_DEVICE Complex sqrt_of(Complex z) {
  const double x = z.real(), y = z.imag();
  if (::isinf(y)) return Complex(INFINITY, y);
  if (x != x) return Complex(x, x);
  if (::isinf(x)) return x > 0 ? Complex(x, y == y ? ::copysign(0.0, y) : y) : Complex(y == y ? 0.0 : y, ::copysign(INFINITY, y));
  if (x == 0 && y == 0) return Complex(0, y);
  const double scale = ::fmax(::fabs(x), ::fabs(y)), a = ::fabs(x) / scale, b = y / scale;
  const double larger = ::sqrt(scale) * ::sqrt(0.5 * (a + ::hypot(a, b)));
  const double smaller = ::fabs(y) / (2 * larger);
  return x >= 0 ? Complex(larger, ::copysign(smaller, y)) : Complex(smaller, ::copysign(larger, y));
}

KD_DEVICE Complex sinh_of(Complex z) {
  const double x = z.real(), y = z.imag();
  if (y == 0) return Complex(::sinh(x), y);
  return Complex(::sinh(x) * ::cos(y), ::cosh(x) * ::sin(y));
}
KD_DEVICE Complex cosh_of(Complex z) {
  const double x = z.real(), y = z.imag();
  if (y == 0) return Complex(::cosh(x), x * y);
  return Complex(::cosh(x) * ::cos(y), ::sinh(x) * ::sin(y));
}
// sin z = -i sinh(i z), cos z = cosh(i z).
KD_DEVICE Complex sin_of(Complex z) {
  const Complex turned = sinh_of(Complex(-z.imag(), z.real()));
  return Complex(turned.imag(), -turned.real());
}
KD_DEVICE Complex cos_of(Complex z) { return cosh_of(Complex(-z.imag(), z.real())); }
// sinh 2x and sin 2y over cosh 2x + cos 2y; far from the imaginary axis the first is 1 and the second vanishes.
KD_DEVICE Complex tanh_of(Complex z) {
  const double x = z.real(), y = z.imag();
  if (::fabs(x) > 22) return Complex(::copysign(1.0, x), ::copysign(4 * ::exp(-2 * ::fabs(x)), ::sin(2 * y)));
  const double t = ::tan(y), s = ::sinh(x), rho = ::sqrt(1 + s * s), beta = 1 + t * t, denominator = 1 + beta * s * s;
  return Complex(beta * rho * s / denominator, t / denominator);
}
KD_DEVICE Complex tan_of(Complex z) {
  const Complex turned = tanh_of(Complex(-z.imag(), z.real()));
  return Complex(turned.imag(), -turned.real());
}

}  // namespace at::cuda
