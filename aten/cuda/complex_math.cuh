// Elementary functions of complex numbers, computed in double, as the CPU's are.
#pragma once

#include <cmath>

#include "c10/cuda/launch.h"
#include "c10/util/complex.h"

namespace at::cuda {

using Complex = c10::complex<double>;

KD_DEVICE double abs_of(Complex z) {
  return ::hypot(z.real(), z.imag());
}
KD_DEVICE double angle_of(Complex z) {
  return ::atan2(z.imag(), z.real());
}

KD_DEVICE Complex exp_of(Complex z) {
  const double x = z.real(), y = z.imag();
  if (y == 0) return Complex(::exp(x), y);
  if (::isinf(x) && !::isfinite(y)) return x < 0 ? Complex(0, ::copysign(0.0, y)) : Complex(x, y - y);
  const double length = ::exp(x);
  if (x == -INFINITY) return Complex(::copysign(0.0, ::cos(y)), ::copysign(0.0, ::sin(y)));
  return Complex(length * ::cos(y), length * ::sin(y));
}
KD_DEVICE Complex log_of(Complex z) {
  return Complex(::log(abs_of(z)), angle_of(z));
}

// The root in the right half-plane, by the part that does not cancel; infinities as in C's library.
KD_DEVICE Complex sqrt_of(Complex z) {
  const double x = z.real(), y = z.imag();
  if (::isinf(y)) return Complex(INFINITY, y);
  if (x != x) return Complex(x, x);
  if (::isinf(x))
    return x > 0 ? Complex(x, y == y ? ::copysign(0.0, y) : y) : Complex(y == y ? 0.0 : y, ::copysign(INFINITY, y));
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
KD_DEVICE Complex cos_of(Complex z) {
  return cosh_of(Complex(-z.imag(), z.real()));
}
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

// The inverse functions, infinities and NaN as in C's library (Annex G), others by the roots of 1 - z and 1 + z (Kahan
// 1987).
// By its value: a device has no address of it.
constexpr double kHalfPi = 1.57079632679489661923;
KD_DEVICE Complex acos_of(Complex z) {
  const double x = z.real(), y = z.imag();
  if (::isinf(x)) {
    if (y != y) return Complex(y, -INFINITY);
    const double angle = ::isinf(y) ? (x > 0 ? kHalfPi / 2 : 3 * kHalfPi / 2) : x > 0 ? 0 : 2 * kHalfPi;
    return Complex(angle, ::copysign(INFINITY, -y));
  }
  if (::isinf(y)) return Complex(x == x ? +kHalfPi : x, -y);
  if (y != y) return Complex(x == 0 ? +kHalfPi : y, y);
  const Complex a = sqrt_of(Complex(1 - x, -y)), b = sqrt_of(Complex(1 + x, y));
  return Complex(2 * ::atan2(a.real(), b.real()), ::asinh(b.real() * a.imag() - b.imag() * a.real()));
}
// The real part is not below 0, the imaginary one has the sign of z's.
KD_DEVICE Complex acosh_of(Complex z) {
  const Complex w = acos_of(z);
  return Complex(::fabs(w.imag()), ::copysign(w.real(), z.imag()));
}
KD_DEVICE Complex asin_of(Complex z) {
  const double x = z.real(), y = z.imag();
  if (::isinf(y)) return Complex(::isinf(x) ? ::copysign(kHalfPi / 2, x) : x == x ? ::copysign(0.0, x) : x, y);
  if (::isinf(x)) return Complex(y == y ? ::copysign(kHalfPi, x) : y, y == y ? ::copysign(INFINITY, y) : INFINITY);
  if (y != y) return Complex(x == 0 ? x : y, y);
  if (x != x) return Complex(x, x);
  const Complex a = sqrt_of(Complex(1 - x, -y)), b = sqrt_of(Complex(1 + x, y));
  return Complex(::atan2(x, a.real() * b.real() - a.imag() * b.imag()),
                 ::asinh(a.real() * b.imag() - a.imag() * b.real()));
}
KD_DEVICE Complex asinh_of(Complex z) {
  const Complex turned = asin_of(Complex(-z.imag(), z.real()));
  return Complex(turned.imag(), -turned.real());
}
KD_DEVICE Complex atanh_of(Complex z) {
  const double x = ::fabs(z.real()), y = z.imag();
  double re, im;
  if (::isinf(x) || ::isinf(y)) {
    re = 0;
    im = y == y ? ::copysign(kHalfPi, y) : y;
  } else if (x != x || y != y) {
    re = x == 0 ? x : x + y;
    im = x + y;
  } else if (x > 1e150 || ::fabs(y) > 1e150) {
    const double length = ::hypot(x, y);
    re = x / length / length;
    im = ::copysign(kHalfPi, y);
  } else {
    const double rest = 1 - x, square = rest * rest + y * y;
    re = square > 1e-290 ? 0.25 * ::log1p(4 * x / square) : 0.34657359027997265471 - 0.5 * ::log(::hypot(rest, y));
    im = 0.5 * ::atan2(2 * y, rest * (1 + x) - y * y);
  }
  return Complex(::copysign(re, z.real()), im);
}
KD_DEVICE Complex atan_of(Complex z) {
  const Complex turned = atanh_of(Complex(-z.imag(), z.real()));
  return Complex(turned.imag(), -turned.real());
}

// sin(pi z) / (pi z), the real part reduced before it is multiplied.
KD_DEVICE Complex sinc_of(Complex z) {
  constexpr double kPi = 3.14159265358979323846;
  if (z.real() == 0 && z.imag() == 0) return Complex(1);
  const double r = ::remainder(z.real(), 2.0);
  // sin(pi (1 - w)) = sin(pi w).
  const Complex w = ::fabs(r) <= 0.5 ? Complex(r, z.imag()) : Complex(::copysign(1.0, r) - r, -z.imag());
  return sin_of(w * kPi) / (z * kPi);
}
// From the larger real part.
KD_DEVICE Complex logaddexp_of(Complex a, Complex b) {
  const bool first = a.real() >= b.real();
  const Complex high = first ? a : b, low = first ? b : a;
  if (::isinf(high.real()) && high.real() == low.real()) {
    return high.real() < 0 ? high : log_of(exp_of(high) + exp_of(low));
  }
  return high + log_of(Complex(1) + exp_of(low - high));
}

}  // namespace at::cuda
