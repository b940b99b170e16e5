// Bessel's and Airy's functions.
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

// Beyond the formulas: Abramowitz and Stegun 10.4.59 and 10.4.60.
AT_ON_WIDE_LONG double airy_ai(double x) {
  if (is_nan(x) || is_infinite(x)) return not_a_number();
  if (x > 108 || x < -1e200) return 0;
  const double a = ::fabs(x);
  const Twin root = sqrt(Twin(a)), zeta = Twin(a) * root * Twin(fit::kTwoThirdsTwin),
             scale = sqrt(root * Twin(fit::kPiTwin));
  const double z = zeta.h.v;
  if (x > 0)
    return times_exp(Twin(0.5 * (1 - 5 / (72 * z) + 385 / (10368 * z * z) - 85085 / (2239488 * z * z * z))) / scale,
                     -zeta);
  // Of zeta, which is a sum, and pi / 4.
  double s, c, more_s, more_c;
  ::sincos(z, &s, &c);
  ::sincos(zeta.l.v, &more_s, &more_c);
  const double turned_s = s * more_c + c * more_s, turned_c = c * more_c - s * more_s;
  const double sine = (turned_s + turned_c) * 0.70710678118654752440,
               cosine = (turned_c - turned_s) * 0.70710678118654752440;
  return (sine * (1 - 385 / (10368 * z * z)) - cosine * (5 / (72 * z))) / scale.sum().v;
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
