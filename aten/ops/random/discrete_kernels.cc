// poisson and binomial: inversion for small means, transformed rejection with squeeze for large ones (Hormann 1993).
#include <cmath>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/random/kernels.h"
#include "aten/ops/shared/draws.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {

using random::Draws;
using random::UniformStream;
using random::fill_each_in_memory_order;

namespace {

// lgamma writes a global.
double log_gamma(double x) {
  int sign;
  return ::lgamma_r(x, &sign);
}

double draw_poisson(UniformStream& uniform, double mean) {
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
double stirling_tail(double k) {
  static constexpr double kTails[] = {0.0810614667953272,  0.0413406959554092,  0.0276779256849983, 0.020790672103765,
                                      0.0166446911898211,  0.0138761288230707,  0.0118967099458917, 0.010411265261972,
                                      0.00925546218271273, 0.00833056343336287};
  if (k <= 9) return kTails[static_cast<int>(k)];
  const double q = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / q) / q) / (k + 1);
}

// std::ceil, which for processors without SSE4 is a call.
double rounded_up(double x) {
  if (!(std::fabs(x) < 0x1p52)) return x;
  const double whole = static_cast<double>(static_cast<int64_t>(x));
  return whole < x ? whole + 1 : whole;
}

double draw_binomial(UniformStream& uniform, double n, double p, bool in_float) {
  if (std::isnan(n) || std::isnan(p)) return NAN;
  if (n <= 0 || p <= 0) return 0;
  if (p >= 1) return n;
  if (std::isinf(n)) return n;
  if (p > 0.5) return n - draw_binomial(uniform, n, 1 - p, in_float);
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
    const double bound = (m + 0.5) * std::log((m + 1) / (r * (n - m + 1))) + (n + 1) * std::log((n - m + 1) / (n - k + 1)) +
        (k + 0.5) * std::log(r * (n - k + 1) / (k + 1)) + stirling_tail(m) + stirling_tail(n - m) - stirling_tail(k) -
        stirling_tail(n - k);
    if (height <= bound) return k;
  }
}

Tensor as_doubles(const Tensor& t, IntArrayRef sizes) {
  return dense(at::to(at::expand(t, sizes), ScalarType::Double));
}

}  // namespace

TensorSpec poisson_meta(const Tensor& self, std::optional<Generator> generator) {
  TORCH_CHECK_NOT_IMPLEMENTED(self.is_floating_point(), "\"poisson_cpu\" not implemented for '", self.scalar_type(), "'");
  return {DimVector(self.sizes()), {}, self.scalar_type(), self.device()};
}

void poisson_cpu(const Tensor& self, std::optional<Generator> generator, Tensor& out) {
  if (self.numel() == 0) return;
  const Tensor means = as_doubles(self, self.sizes());
  const double* mean = means.data_ptr<double>();
  for (int64_t i = 0; i < means.numel(); ++i) TORCH_CHECK(mean[i] >= 0, "invalid Poisson rate, expected rate to be non-negative");
  Draws draws(generator);
  UniformStream uniform(draws);
  fill_each_in_memory_order<double>(out, [&] { return draw_poisson(uniform, *mean++); });
}

TensorSpec binomial_meta(const Tensor& count, const Tensor& prob, std::optional<Generator> generator) {
  TORCH_CHECK_NOT_IMPLEMENTED(count.is_floating_point() && prob.is_floating_point(),
                              "binomial only supports floating-point dtypes, got count: ", count.scalar_type(),
                              " and prob: ", prob.scalar_type());
  TORCH_CHECK(count.scalar_type() == prob.scalar_type(), "binomial: count and prob must have one dtype, got ",
              count.scalar_type(), " and ", prob.scalar_type());
  TensorSpec spec = pointwise::result_spec({count, prob}, count.scalar_type());
  spec.strides.clear();
  return spec;
}

void binomial_cpu(const Tensor& count, const Tensor& prob, std::optional<Generator> generator, Tensor& out) {
  if (out.numel() == 0) return;
  const Tensor counts = as_doubles(count, out.sizes()), probabilities = as_doubles(prob, out.sizes());
  const double *n = counts.data_ptr<double>(), *p = probabilities.data_ptr<double>();
  Draws draws(generator);
  UniformStream uniform(draws);
  const bool in_float = out.scalar_type() != ScalarType::Double;
  fill_each_in_memory_order<double>(out, [&] { return draw_binomial(uniform, *n++, *p++, in_float); });
}

}  // namespace at::native
