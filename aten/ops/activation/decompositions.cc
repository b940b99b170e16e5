#include "aten/ops/activation/decompositions.h"

#include <cmath>

#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/shared/decomposing.h"
#include "aten/ops/unary/ops.h"

namespace at::decompositions {
namespace {

// ln(1 + e^x), for x that does not overflow.
Tensor ln_1p_exp(const Tensor& x) {
  return at::log1p(at::exp(x));
}

// 0 to 6 where x is -3 to 3.
Tensor six_steps(const Tensor& x) {
  return at::clamp(at::add(x, 3), 0, 6);
}

Tensor within(const Tensor& self, const Scalar& lambd) {
  return at::le(at::abs(self), lambd);
}

}  // namespace

Tensor celu(const Tensor& self, const Scalar& alpha) {
  return at::elu(self, alpha, 1, 1 / alpha.toDouble());
}

Tensor glu(const Tensor& self, int64_t dim) {
  const int64_t half = self.size(dim) / 2;
  return in_wide(
      self.scalar_type(), [](const Tensor& a, const Tensor& b) { return at::mul(a, at::sigmoid(b)); },
      at::narrow(self, dim, 0, half), at::narrow(self, dim, half, half));
}

Tensor hardshrink(const Tensor& self, const Scalar& lambd) {
  return at::where(within(self, lambd), at::scalar_tensor(0, self.options()), self);
}

Tensor softshrink(const Tensor& self, const Scalar& lambd) {
  return in_wide(
      self.scalar_type(),
      [&](const Tensor& x) {
        return at::where(at::gt(at::abs(x), lambd), at::sub(x, at::mul(at::sign(x), lambd)), at::mul(x, 0));
      },
      self);
}

Tensor hardsigmoid(const Tensor& self) {
  return in_wide(
      self.scalar_type(), [](const Tensor& x) { return at::div(six_steps(x), 6); }, self);
}

Tensor hardswish(const Tensor& self) {
  return in_wide(
      self.scalar_type(), [](const Tensor& x) { return at::div(at::mul(x, six_steps(x)), 6); }, self);
}

// The buffer is one of backends that keep e^-|self| for the gradient.
std::tuple<Tensor, Tensor> log_sigmoid_forward(const Tensor& self) {
  return {
      in_wide(
          self.scalar_type(),
          [](const Tensor& x) { return at::sub(at::clamp(x, std::nullopt, 0), ln_1p_exp(at::neg(at::abs(x)))); }, self),
      at::empty({0}, self.options())};
}

Tensor mish(const Tensor& self) {
  return in_wide(
      self.scalar_type(), [](const Tensor& x) { return at::mul(x, at::tanh(ln_1p_exp(x))); }, self);
}

Tensor silu(const Tensor& self) {
  return in_wide(
      self.scalar_type(), [](const Tensor& x) { return at::mul(x, at::sigmoid(x)); }, self);
}

Tensor silu_backward(const Tensor& grad_output, const Tensor& self) {
  return in_wide(
      promoted_type({grad_output, self}),
      [](const Tensor& grad, const Tensor& x) {
        const Tensor s = at::sigmoid(x);
        return at::mul(at::mul(grad, s), at::add(at::mul(x, at::sub(at::full_like(s, 1), s)), 1));
      },
      grad_output, self);
}

Tensor softplus(const Tensor& self, const Scalar& beta, const Scalar& threshold) {
  return in_wide(
      self.scalar_type(),
      [&](const Tensor& x) {
        const Tensor scaled = at::mul(x, beta);
        return at::where(at::gt(scaled, threshold), x, at::div(ln_1p_exp(scaled), beta));
      },
      self);
}

Tensor threshold(const Tensor& self, const Scalar& threshold, const Scalar& value) {
  const bool integral = isIntegralType(self.scalar_type(), true);
  const auto number = [&](const Scalar& s) { return integral ? Scalar(s.toLong()) : s; };
  return at::where(at::le(self, number(threshold)), at::scalar_tensor(number(value), self.options()), self);
}

Tensor threshold_backward(const Tensor& grad_output, const Tensor& self, const Scalar& threshold) {
  const Tensor grad = cast(grad_output, promoted_type({grad_output, self}));
  return at::where(at::le(self, threshold), at::scalar_tensor(0, grad.options()), grad);
}

Tensor gelu_backward(const Tensor& grad_output, const Tensor& self, std::string_view approximate) {
  const auto of_tanh = [](const Tensor& grad, const Tensor& x) {
    constexpr double kBeta = M_SQRT2 * M_2_SQRTPI * 0.5, kCubic = 0.044715;
    const Tensor square = at::mul(x, x);
    const Tensor t = at::tanh(at::mul(at::mul(x, at::add(at::mul(square, kCubic), 1)), kBeta));
    const Tensor slope = at::mul(at::add(at::mul(square, 3 * kCubic), 1), kBeta);
    const Tensor inner = at::mul(at::mul(x, at::sub(at::full_like(t, 1), at::mul(t, t))), slope);
    return at::mul(grad, at::mul(at::add(at::add(t, 1), inner), 0.5));
  };
  const auto exact = [](const Tensor& grad, const Tensor& x) {
    const Tensor below = at::mul(at::add(at::erf(at::mul(x, M_SQRT1_2)), 1), 0.5);
    const Tensor density = at::mul(at::exp(at::mul(at::mul(x, x), -0.5)), M_2_SQRTPI * M_SQRT1_2 * 0.5);
    return at::mul(grad, at::add(below, at::mul(x, density)));
  };
  const ScalarType type = promoted_type({grad_output, self});
  return approximate == "tanh" ? in_wide(type, of_tanh, grad_output, self) : in_wide(type, exact, grad_output, self);
}

}  // namespace at::decompositions
