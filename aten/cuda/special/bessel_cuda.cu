// Bessel's and Airy's functions.
#include "aten/cpu/special/airy_far.h"
#include "aten/cuda/special/wide.cuh"

namespace at::cuda::special {
namespace {

AT_ON_WIDE double bessel_j(int order, double x) {
  if (is_infinite(x)) return not_a_number();
  return order == 0 ? ::j0(x) : ::j1(x);
}
AT_ON_WIDE double bessel_y(int order, double x) {
  if (x < 0 || is_infinite(x)) return not_a_number();
  return order == 0 ? ::y0(x) : ::y1(x);
}
AT_ON_WIDE double spherical_bessel_j0(double x) {
  return is_infinite(x) ? 0 : x == 0 ? 1 : ::sin(x) / x;
}
AT_ON_WIDE_LONG double airy_ai(double x);

#include "aten/cpu/special/bessel.inc"

#include "aten/cpu/special/airy.inc"

// Beyond the formulas: far below 0, and Abramowitz and Stegun 10.4.59.
AT_ON_WIDE_LONG double airy_ai(double x) {
  if (is_nan(x) || is_infinite(x)) return not_a_number();
  if (x > 108) return 0;
  if (x < 0) return cpu::special::airy_far_below(x);
  const Twin root = sqrt(Twin(x)), zeta = Twin(x) * root * Twin(fit::kTwoThirdsTwin),
             scale = sqrt(root * Twin(fit::kPiTwin));
  const double z = zeta.h.v;
  return times_exp(Twin(0.5 * (1 - 5 / (72 * z) + 385 / (10368 * z * z) - 85085 / (2239488 * z * z * z))) / scale,
                   -zeta);
}

}  // namespace
}  // namespace at::cuda::special

using namespace at::cuda::special;  // NOLINT: names of formulas

AT_CUDA_SPECIAL_OP(j0, Function<BesselJ<0>, BesselJTwin<0>>)
AT_CUDA_SPECIAL_OP(j1, Function<BesselJ<1>, BesselJTwin<1>>)
AT_CUDA_SPECIAL_OP(y0, Function<BesselY<0>, BesselYTwin<0>>)
AT_CUDA_SPECIAL_OP(y1, Function<BesselY<1>, BesselYTwin<1>>)
AT_CUDA_SPECIAL_OP(spherical_j0, Function<SphericalJ0, SphericalJ0Twin>)
AT_CUDA_SPECIAL_OP(airy_ai, Function<AiryAi, AiryAiTwin>)
