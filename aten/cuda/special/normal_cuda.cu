// The normal distribution's functions, their logarithms and inverses.
#include "aten/cuda/special/wide.cuh"

namespace at::cuda::special {
namespace {

AT_ON_WIDE_LONG double scaled_erfc(double x);
AT_ON_WIDE_LONG double normal_cdf(double x);
AT_ON_WIDE_LONG double log_normal_cdf(double x);
AT_ON_WIDE_LONG double normal_quantile(double p);
AT_ON_WIDE double entropy(double x) {
  return x > 0 ? -x * ::log(x) : x == 0 ? 0.0 : is_nan(x) ? x : -infinity();
}
AT_ON_WIDE double x_log1p_y(double x, double y) {
  return is_nan(y) ? y : x == 0 ? 0.0 : x * ::log1p(y);
}

#include "aten/cpu/special/normal.inc"

AT_ON_WIDE_LONG double scaled_erfc(double x) {
  if (x > 0) return 0.56418958354775628695 / x;
  return x < 0 ? times_exp(Twin(2.0), exact_product(::fmax(x, -1e100), ::fmax(x, -1e100))) : x;
}
AT_ON_WIDE_LONG double normal_cdf(double x) {
  if (is_nan(x)) return x;
  if (x > 0) return 1;
  return x < -40 ? 0 : times_exp(half_scaled_tail(x), half_square(x));
}
AT_ON_WIDE_LONG double log_normal_cdf(double x) {
  if (is_nan(x)) return x;
  return x > 0 ? -normal_cdf(-x) : -0.5 * x * x;
}
AT_ON_WIDE_LONG double normal_quantile(double p) {
  if (!(p >= 0 && p <= 1)) return not_a_number();
  if (p == 0) return -infinity();
  if (p == 1) return infinity();
  return -quantile_tail(log(Twin(p * 0x1p200)) - log_of_two() * Twin(200.0), {false}).sum().v;
}

// The inverse of erf, by the quantile of (1 + y) / 2.
struct Erfinv : Plain<1> {
  AT_ON_WIDE double one(double y) const { return y == 1 || y == -1 ? y * infinity() : y == 0 ? y : not_a_number(); }
  AT_ON_WIDE WideMask usual(Wide y) const { return (abs(y) < 1.0) & (y != 0.0); }
  AT_ON_WIDE Wide run(Wide y) const { return quantile(y * 0.5, 0.5 - abs(y) * 0.5) * kRootHalf; }
};
struct ErfinvTwin : Erfinv {
  AT_ON_WIDE double one(double y) const { return ::fabs(y) < 1 ? y * 0.88622692545275801365 : Erfinv::one(y); }
  AT_ON_WIDE WideMask usual(Wide y) const { return (abs(y) < 1.0) & (abs(y) > 1e-290); }
  AT_ON_WIDE Wide run(Wide y) const {
    return (quantile(Twin(y * 0.5), 0.5 - abs(y) * 0.5) * Twin(fit::kRootHalfTwin)).sum();
  }
};

}  // namespace
}  // namespace at::cuda::special

using namespace at::cuda::special;  // NOLINT: names of formulas

AT_CUDA_SPECIAL_OP(erfcx, Function<Erfcx, ErfcxTwin>)
AT_CUDA_SPECIAL_OP(ndtr, Function<Ndtr, NdtrTwin>)
AT_CUDA_SPECIAL_OP(log_ndtr, Function<LogNdtr, LogNdtrTwin>)
AT_CUDA_SPECIAL_OP(ndtri, Function<Ndtri, NdtriTwin>)
AT_CUDA_SPECIAL_OP(entr, Function<Entr, EntrTwin>)
AT_CUDA_SPECIAL_OP(xlog1py, Function<Xlog1py, Xlog1pyTwin>)
AT_CUDA_ELEMENT_OP(erfinv, at::cuda::floating_kernels<Function<Erfinv, ErfinvTwin>>())
