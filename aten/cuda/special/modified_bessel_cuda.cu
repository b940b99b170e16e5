// Modified Bessel functions.
#include "aten/cuda/special/wide.cuh"

namespace at::cuda::special {
namespace {

AT_ON_WIDE_LONG double bessel_i(int order, double x, bool scaled);
AT_ON_WIDE_LONG double bessel_k(int order, double x, bool scaled);

#include "aten/cpu/special/modified_bessel.inc"

// By the first term of their expansions where that is all, else by the formulas for large arguments with a factor that
// overflows or is subnormal.
AT_ON_WIDE_LONG double bessel_i(int order, double x, bool scaled) {
  if (is_nan(x)) return x;
  const double a = ::fabs(x);
  if (is_infinite(x)) return scaled ? 0 : not_a_number();
  if (!scaled && a > 709.782712893383973096) return order == 1 && x < 0 ? -infinity() : infinity();
  double y;
  if (scaled) {
    y = (Twin(0x1.9884533d43651p-2, -0x1.cbc0d30ebfd15p-56) / sqrt(Twin(a * 0x1p-200))).sum().v * 0x1p-100;
  } else {
    const Twin u = centered(Twin(1.0) / Twin(a), 0, 0.125);
    const Twin series = order == 0 ? polynomial(fit::kI0FarTwin, fit::kI0FarTwinRest, u)
                                   : polynomial(fit::kI1FarTwin, fit::kI1FarTwinRest, u);
    y = times_exp(series / sqrt(Twin(a)), Twin(a));
  }
  return order == 1 && x < 0 ? -y : y;
}
AT_ON_WIDE_LONG double bessel_k(int order, double x, bool scaled) {
  if (is_nan(x) || x < 0) return not_a_number();
  if (x == 0) return infinity();
  if (is_infinite(x) || (!scaled && x > 750)) return 0;
  if (x < 1) return order == 0 ? 0.11593151565841244881 - ::log(x) : 1 / x;
  if (scaled) return (Twin(0x1.40d931ff62706p+0, -0x1.a6a0d6f814637p-54) / sqrt(Twin(x * 0x1p-200))).sum().v * 0x1p-100;
  const Twin u = centered(Twin(1.0) / Twin(x), 0, 0.5);
  const Twin series = order == 0 ? polynomial(fit::kK0FarTwin, fit::kK0FarTwinRest, u)
                                 : polynomial(fit::kK1FarTwin, fit::kK1FarTwinRest, u);
  return times_exp(series / sqrt(Twin(x)), Twin(-x));
}

}  // namespace
}  // namespace at::cuda::special

using namespace at::cuda::special;  // NOLINT: names of formulas

AT_CUDA_SPECIAL_OP(i0, Function<BesselI<0, false>, BesselITwin<0, false>>)
AT_CUDA_SPECIAL_OP(i0e, Function<BesselI<0, true>, BesselITwin<0, true>>)
AT_CUDA_SPECIAL_OP(i1, Function<BesselI<1, false>, BesselITwin<1, false>>)
AT_CUDA_SPECIAL_OP(i1e, Function<BesselI<1, true>, BesselITwin<1, true>>)
AT_CUDA_SPECIAL_OP(k0, Function<BesselK<0, false>, BesselKTwin<0, false>>)
AT_CUDA_SPECIAL_OP(k0e, Function<BesselK<0, true>, BesselKTwin<0, true>>)
AT_CUDA_SPECIAL_OP(k1, Function<BesselK<1, false>, BesselKTwin<1, false>>)
AT_CUDA_SPECIAL_OP(k1e, Function<BesselK<1, true>, BesselKTwin<1, true>>)
