// poisson and binomial: inversion for small means, transformed rejection with squeeze for large ones (Hormann 1993).
#include <cmath>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/random/distributions.h"
#include "aten/ops/random/kernels.h"
#include "aten/ops/shared/draws.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {

using random::Draws;
using random::UniformStream;
using random::draw_binomial;
using random::draw_poisson;
using random::fill_each_in_memory_order;

namespace {

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
