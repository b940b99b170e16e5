// The gradients of activations as operators of their own, by composition.
#include <initializer_list>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/cpu/loops/loss.h"
#include "aten/ops/activation/kernels.h"
#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/shared/one_pass.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

Tensor both(const Tensor& a, const Tensor& b) {
  return at::logical_and(a, b);
}
Tensor or_zero(const Tensor& where, const Tensor& grad) {
  return at::where(where, grad, Scalar(0));
}
Tensor times(const Tensor& a, double factor) {
  return at::mul(a, Scalar(factor));
}

Tensor in_one_pass(bool as_kernel, const char* name, const cpu::ElementOp& op, const Tensor& grad, const Tensor& self,
                   std::initializer_list<Scalar> numbers) {
  return as_kernel ? one_pass(name, op, self, {grad, self}, numbers) : Tensor();
}

}  // namespace

Tensor elu_backward(const Tensor& grad_output, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale,
                    bool is_result, const Tensor& self_or_result, bool as_kernel) {
  const double slope = alpha.toDouble() * scale.toDouble(), inner = input_scale.toDouble();
  TORCH_CHECK(!is_result || alpha.toDouble() >= 0,
              "In-place elu backward calculation is triggered with a negative slope which is not supported.");
  const Tensor fused =
      in_one_pass(as_kernel, "elu_backward", is_result ? cpu::loops::elu_result_backward : cpu::loops::elu_backward,
                  grad_output, self_or_result, {scale, is_result ? inner : inner * slope, is_result ? slope : inner});
  if (fused.defined()) return fused;
  const auto below = [&] {
    if (is_result) return at::mul(times(grad_output, inner), at::add(self_or_result, Scalar(slope)));
    // Exponentials that no element takes must not overflow: their derivative would be 0 times infinity.
    const Tensor x = at::masked_fill(self_or_result, at::gt(self_or_result, Scalar(0)), Scalar(0));
    return at::mul(times(grad_output, inner * slope), at::exp(times(x, inner)));
  };
  return at::where(at::le(self_or_result, Scalar(0)), below(), at::mul(grad_output, scale));
}

Tensor hardshrink_backward(const Tensor& grad_out, const Tensor& self, const Scalar& lambd) {
  return or_zero(at::logical_not(both(at::ge(self, Scalar(-lambd.toDouble())), at::le(self, lambd))), grad_out);
}
Tensor softshrink_backward(const Tensor& grad_output, const Tensor& self, const Scalar& lambd) {
  return native::hardshrink_backward(grad_output, self, lambd);
}

Tensor hardsigmoid_backward(const Tensor& grad_output, const Tensor& self) {
  return or_zero(both(at::gt(self, Scalar(-3)), at::lt(self, Scalar(3))), times(grad_output, 1.0 / 6));
}
Tensor hardtanh_backward(const Tensor& grad_output, const Tensor& self, const Scalar& min_val, const Scalar& max_val) {
  return or_zero(both(at::gt(self, min_val), at::lt(self, max_val)), grad_output);
}
Tensor hardswish_backward(const Tensor& grad_output, const Tensor& self, bool as_kernel) {
  const Tensor fused = in_one_pass(as_kernel, "hardswish_backward", cpu::loops::hardswish_backward, grad_output, self, {});
  if (fused.defined()) return fused;
  const Tensor inside = at::mul(grad_output, at::add(times(self, 1.0 / 3), Scalar(0.5)));
  return at::where(at::le(self, Scalar(-3)), Scalar(0), at::where(at::lt(self, Scalar(3)), inside, grad_output));
}

Tensor leaky_relu_backward(const Tensor& grad_output, const Tensor& self, const Scalar& negative_slope,
                           bool self_is_result, bool as_kernel) {
  TORCH_CHECK(!self_is_result || negative_slope.toDouble() >= 0,
              "In-place leakyReLu backward calculation is triggered with a negative slope which is not supported.");
  const Tensor fused =
      in_one_pass(as_kernel, "leaky_relu_backward", cpu::loops::leaky_relu_backward, grad_output, self, {negative_slope});
  if (fused.defined()) return fused;
  return at::where(at::gt(self, Scalar(0)), grad_output, at::mul(grad_output, negative_slope));
}
Tensor rrelu_with_noise_backward(const Tensor& grad_output, const Tensor& self, const Tensor& noise,
                                 const Scalar& lower, const Scalar& upper, bool training, bool self_is_result) {
  const double low = lower.toDouble(), high = upper.toDouble();
  if (training && high - low > 1e-6) return at::mul(grad_output, noise);
  return at::leaky_relu_backward(grad_output, self, Scalar((low + high) / 2), self_is_result);
}

std::tuple<Tensor, Tensor> rrelu_with_noise_functional(const Tensor& self, const Tensor& noise, const Scalar& lower,
                                                       const Scalar& upper, bool training,
                                                       std::optional<Generator> generator) {
  Tensor written = at::clone(noise);
  Tensor result = at::rrelu_with_noise(self, written, lower, upper, training, std::move(generator));
  return {std::move(result), std::move(written)};
}

std::tuple<Tensor, Tensor> prelu_kernel_backward(const Tensor& grad_output, const Tensor& self, const Tensor& weight) {
  const Tensor positive = at::gt(self, Scalar(0));
  return {at::where(positive, grad_output, at::mul(weight, grad_output)),
          at::where(positive, Scalar(0), at::mul(self, grad_output))};
}

Tensor logit_backward(const Tensor& grad_output, const Tensor& self, std::optional<double> eps) {
  // The bounds as logit sees them: rounded to the tensor's dtype.
  const double low = eps.value_or(0.0);
  const auto bound = [&](double number) { return at::full({}, number, self.options()); };
  const Tensor outside = at::logical_or(at::lt(self, bound(low)), at::gt(self, bound(1 - low)));
  const Tensor slope = at::div(grad_output, at::mul(self, at::rsub(self, Scalar(1))));
  const double beyond = eps.has_value() ? 0 : std::numeric_limits<double>::quiet_NaN();
  return at::masked_fill(slope, outside, Scalar(beyond));
}

Tensor log_sigmoid_backward(const Tensor& grad_output, const Tensor& self, const Tensor&) {
  return at::mul(grad_output, at::sigmoid(at::neg(self)));
}
Tensor softplus_backward(const Tensor& grad_output, const Tensor& self, const Scalar& beta, const Scalar& threshold,
                         bool as_kernel) {
  const Tensor fused =
      in_one_pass(as_kernel, "softplus_backward", cpu::loops::softplus_backward, grad_output, self, {beta, threshold});
  if (fused.defined()) return fused;
  const Tensor scaled = at::mul(self, beta);
  return at::where(at::gt(scaled, threshold), grad_output, at::mul(grad_output, at::sigmoid(scaled)));
}
Tensor mish_backward(const Tensor& grad_output, const Tensor& self) {
  const Tensor t = at::tanh(at::softplus(self));
  const Tensor rest = at::mul(at::mul(self, at::sigmoid(self)), at::rsub(at::mul(t, t), Scalar(1)));
  return at::mul(grad_output, at::add(t, rest));
}
Tensor glu_jvp(const Tensor& glu, const Tensor& x, const Tensor& dx, int64_t dim) {
  const int64_t half = x.size(dim) / 2;
  const Tensor gate = at::sigmoid(at::narrow(x, dim, half, half));
  const Tensor of_gate = at::mul(glu, at::mul(at::rsub(gate, Scalar(1)), at::narrow(dx, dim, half, half)));
  return at::add(at::mul(at::narrow(dx, dim, 0, half), gate), of_gate);
}
Tensor glu_backward(const Tensor& grad_output, const Tensor& self, int64_t dim) {
  const std::vector<Tensor> halves = at::chunk(self, 2, dim);
  TORCH_CHECK(halves.size() == 2 && halves[0].sizes() == halves[1].sizes(),
              "Halving dimension must be even, but got sizes ", self.sizes());
  const Tensor gate = at::sigmoid(halves[1]), first = at::mul(grad_output, gate);
  return at::cat({first, at::mul(at::mul(first, halves[0]), at::rsub(gate, Scalar(1)))}, dim);
}

}  // namespace at::native
