#pragma once
// Airy's function far below 0, on the host and in kernels.

#include <cmath>

#include "c10/macros/macros.h"

namespace at::cpu::special {

/// Ai(x) for x <= -1e4, by Abramowitz and Stegun 10.4.60. The angle is a sum of two doubles, of some 104 bits: the
/// error is 1e-31 of the angle 2/3 |x|^1.5, beside that of a few operations on doubles; from some -1e20 on all of it. 0
/// below -1e200.
C10_HOST_DEVICE inline double airy_far_below(double x) {
  if (x < -1e200) return 0;
  constexpr double kTwoThirds = 2.0 / 3, kTwoThirdsRest = 1.0 / 27021597764222976.0;  // 2/3 less its double: 2^-53 / 3
  const double a = -x, root = ::sqrt(a), root_rest = ::fma(-root, root, a) / (2 * root);
  const double cube = a * root, cube_rest = ::fma(a, root, -cube) + a * root_rest;
  const double product = cube * kTwoThirds,
               product_rest = ::fma(cube, kTwoThirds, -product) + (cube * kTwoThirdsRest + cube_rest * kTwoThirds);
  const double zeta = product + product_rest, rest = product_rest - (zeta - product);
  // Of the sum, and pi / 4.
  const double s = ::sin(zeta), c = ::cos(zeta), s_rest = ::sin(rest), c_rest = ::cos(rest);
  const double turned_s = s * c_rest + c * s_rest, turned_c = c * c_rest - s * s_rest;
  constexpr double kHalfRoot = 0.70710678118654752440, kPi = 3.14159265358979323846;
  const double sine = (turned_s + turned_c) * kHalfRoot, cosine = (turned_c - turned_s) * kHalfRoot;
  return (sine * (1 - 385 / (10368 * zeta * zeta)) - cosine * (5 / (72 * zeta))) / ::sqrt(kPi * root);
}

}  // namespace at::cpu::special
