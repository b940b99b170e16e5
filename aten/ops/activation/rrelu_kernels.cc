// The randomized leaky rectifier (Xu et al. 2015).
#include "aten/core/empty.h"
#include "aten/core/overlap.h"
#include "aten/core/tensor.h"
#include "aten/ops/activation/kernels.h"
#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/shared/draws.h"
#include "aten/ops/view/ops.h"

namespace at::native {

using random::Draws;
using random::fill_each_in_memory_order;

namespace {

void check_bounds(const Scalar& lower, const Scalar& upper) {
  TORCH_CHECK(lower.toDouble() <= upper.toDouble(), "Lower bound should be less than or equal to the upper bound, got ",
              lower.toDouble(), " and ", upper.toDouble());
}

}  // namespace

Tensor rrelu_with_noise_meta(const Tensor& self, Tensor& noise, const Scalar& lower, const Scalar& upper, bool training,
                             std::optional<Generator> generator) {
  TORCH_CHECK_NOT_IMPLEMENTED(self.is_floating_point(), "\"rrelu_with_noise_out_cpu\" not implemented for '", self.scalar_type(), "'");
  check_bounds(lower, upper);
  TORCH_CHECK(self.sizes() == noise.sizes() && self.scalar_type() == noise.scalar_type(),
              "rrelu_with_noise: expected noise like self, got size ", noise.sizes(), " and dtype ", noise.scalar_type());
  TORCH_CHECK(noise.device() == self.device(), "rrelu_with_noise: expected noise on device ", self.device(), ", got ", noise.device());
  structured::check_no_internal_overlap(noise);
  return empty_contiguous(self.sizes(), self.scalar_type(), self.device());
}

// The factor of a randomized leaky rectifier: 1 where self > 0, else a slope between lower and upper.
Tensor rrelu_with_noise_cpu(const Tensor& self, Tensor& noise, const Scalar& lower, const Scalar& upper, bool training,
                            std::optional<Generator> generator) {
  Tensor factor = rrelu_with_noise_meta(self, noise, lower, upper, training, std::nullopt);
  if (training) {
    // As single numbers for all narrower dtypes too.
    const bool wide = self.scalar_type() == ScalarType::Double;
    const double low = wide ? lower.toDouble() : lower.toFloat(), high = wide ? upper.toDouble() : upper.toFloat();
    const Tensor inputs = dense(at::to(self, ScalarType::Double));
    const double* x = inputs.data_ptr<double>();
    Draws draws(generator);
    fill_each_in_memory_order<double>(factor, [&] { return *x++ <= 0 ? draws.uniform() * (high - low) + low : 1.0; });
    at::copy_(noise, factor);
  } else {
    const double slope = (lower.toDouble() + upper.toDouble()) / 2;
    const Tensor inputs = dense(at::to(self, ScalarType::Double));
    const double* x = inputs.data_ptr<double>();
    fill_each_in_memory_order<double>(factor, [&] { return *x++ <= 0 ? slope : 1.0; });
  }
  return at::mul_(factor, self);
}

Tensor rrelu_with_noise_cuda(const Tensor& self, Tensor& noise, const Scalar& lower, const Scalar& upper, bool training,
                             std::optional<Generator> generator) {
  Tensor slopes = rrelu_with_noise_meta(self, noise, lower, upper, training, std::nullopt);
  const double low = lower.toDouble(), high = upper.toDouble();
  if (training) at::uniform_(slopes, low, high, std::move(generator));
  else at::fill_(slopes, Scalar((low + high) / 2));
  const Tensor factor = at::where(at::le(self, Scalar(0)), slopes, Scalar(1));
  if (training) at::copy_(noise, factor);
  return at::mul(factor, self);
}

Tensor& rrelu_with_noise_(Tensor& self, Tensor& noise, const Scalar& lower, const Scalar& upper, bool training,
                          std::optional<Generator> generator) {
  structured::check_no_internal_overlap(self);
  const Tensor result = at::rrelu_with_noise(self, noise, lower, upper, training, std::move(generator));
  return at::copy_(self, result);
}

namespace {
// What a training pass multiplies with.
Tensor draw_factor(const Tensor& self, const Scalar& lower, const Scalar& upper, std::optional<Generator> generator) {
  Tensor noise = empty_contiguous(self.sizes(), self.scalar_type(), self.device());
  at::rrelu_with_noise(self, noise, lower, upper, true, std::move(generator));
  return noise;
}
}  // namespace

Tensor rrelu(const Tensor& self, const Scalar& lower, const Scalar& upper, bool training, std::optional<Generator> generator) {
  check_bounds(lower, upper);
  if (!training) return at::leaky_relu(self, (lower.toDouble() + upper.toDouble()) / 2);
  return at::mul(self, draw_factor(at::detach(self), lower, upper, std::move(generator)));
}
Tensor& rrelu_(Tensor& self, const Scalar& lower, const Scalar& upper, bool training, std::optional<Generator> generator) {
  check_bounds(lower, upper);
  if (!training) return at::leaky_relu_(self, (lower.toDouble() + upper.toDouble()) / 2);
  return at::mul_(self, draw_factor(at::detach(self), lower, upper, std::move(generator)));
}

}  // namespace at::native
