#include "autograd/derivatives/pointwise_functions.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/sparse/ops.h"
#include "aten/ops/special/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/derivatives/sparse_functions.h"
#include "c10/core/grad_mode.h"
#include "c10/util/complex_math.h"

namespace torch::autograd::generated {
namespace {

Tensor square_of(const Tensor& t) {
  return at::mul(t, t);
}
Tensor plus(const Tensor& t, double number) {
  return at::add(t, Scalar(number));
}
Tensor times(const Tensor& t, double number) {
  return at::mul(t, Scalar(number));
}
// number - t
Tensor minus_from(double number, const Tensor& t) {
  return at::rsub(t, Scalar(number));
}
// Differences of bool are refused.
Tensor as_number(const Tensor& t) {
  return t.scalar_type() == at::kBool ? at::to(t, at::kLong) : t;
}
bool is_zero(const Scalar& s) {
  return s.equal(0);
}
// A number as a 0-dim tensor of the other's dtype and device.
Tensor as_tensor(const Scalar& number, const Tensor& like) {
  return at::full({}, number, like.options());
}

}  // namespace

Tensor conj_of(const Tensor& t) {
  return t.is_complex() ? at::conj(t) : t;
}

Scalar conj_of(const Scalar& s) {
  return s.isComplex() ? s.conj() : s;
}

Tensor zero_grad(const Tensor& grad) {
  return at::zeros_like(grad);
}

Tensor keep_where(const Tensor& mask, const Tensor& grad) {
  return at::masked_fill(grad, at::logical_not(mask), Scalar(0));
}

Tensor drop_where(const Tensor& mask, const Tensor& grad) {
  return at::masked_fill(grad, mask, Scalar(0));
}

Tensor mul_grad(const Tensor& grad, const Tensor& factor) {
  if (C10_UNLIKELY(factor.is_complex())) return at::mul(grad, at::conj(factor));
  return at::mul(grad, factor);
}

Tensor mul_grad(const Tensor& grad, const Scalar& factor) {
  return at::mul(grad, conj_of(factor));
}

Tensor scale_grad(const Tensor& grad, const Scalar& factor) {
  return factor.equal(1) ? grad : at::mul(grad, conj_of(factor));
}

Tensor neg_scale_grad(const Tensor& grad, const Scalar& factor) {
  return at::neg(scale_grad(grad, factor));
}

Tensor div_grad_self(const Tensor& grad, const Tensor& other) {
  return at::div(grad, conj_of(other));
}

Tensor div_grad_self(const Tensor& grad, const Scalar& other) {
  return at::div(grad, conj_of(other));
}

Tensor div_grad_other(const Tensor& grad, const Tensor& self, const Tensor& other) {
  return at::neg(mul_grad(grad, at::div(at::div(self, other), other)));
}

Tensor div_mode_grad_self(const Tensor& grad, const Tensor& other, std::optional<std::string_view> rounding_mode) {
  return rounding_mode.has_value() ? zero_grad(grad) : div_grad_self(grad, other);
}

Tensor div_mode_grad_self(const Tensor& grad, const Scalar& other, std::optional<std::string_view> rounding_mode) {
  return rounding_mode.has_value() ? zero_grad(grad) : div_grad_self(grad, other);
}

Tensor div_mode_grad_other(
    const Tensor& grad, const Tensor& self, const Tensor& other, std::optional<std::string_view> rounding_mode) {
  return rounding_mode.has_value() ? zero_grad(grad) : div_grad_other(grad, self, other);
}

Tensor remainder_grad_other(const Tensor& grad, const Tensor& self, const Tensor& other, std::string_view rounding_mode) {
  return at::neg(at::mul(grad, at::div(self, other, rounding_mode)));
}

Tensor remainder_grad_other(const Tensor& grad, const Scalar& self, const Tensor& other, std::string_view rounding_mode) {
  return remainder_grad_other(grad, as_tensor(self, other), other, rounding_mode);
}

Tensor pow_grad(const Tensor& grad, const Tensor& self, const Scalar& exponent) {
  if (is_zero(exponent)) return zero_grad(grad);
  if (exponent.equal(1)) return grad;
  if (exponent.equal(2)) return mul_grad(grad, times(self, 2.0));
  if (exponent.isComplex()) {
    const c10::complex<double> e = exponent.toComplexDouble();
    return mul_grad(grad, at::mul(at::pow(self, Scalar(e - c10::complex<double>(1.0))), exponent));
  }
  return mul_grad(grad, at::mul(at::pow(self, Scalar(exponent.toDouble() - 1.0)), exponent));
}

Tensor pow_grad_self(const Tensor& grad, const Tensor& self, const Tensor& exponent) {
  // 0^0 = 1 for every base: its derivative is 0, where the rule would give 0 * 0^-1.
  const Tensor rule = mul_grad(grad, at::mul(exponent, at::pow(self, at::sub(as_number(exponent), Scalar(1)))));
  return drop_where(at::eq(exponent, Scalar(0)), rule);
}

namespace {

// Where 0^exponent is constant.
Tensor is_not_negative(const Tensor& exponent) {
  if (!exponent.is_complex()) return at::ge(exponent, Scalar(0));
  return at::logical_and(at::ge(at::real(exponent), Scalar(0)), at::eq(at::imag(exponent), Scalar(0)));
}

}  // namespace

Tensor pow_grad_exponent(const Tensor& grad, const Tensor& self, const Tensor& exponent, const Tensor& result) {
  const Tensor flat = at::logical_and(at::eq(self, Scalar(0)), is_not_negative(exponent));
  return drop_where(flat, mul_grad(grad, at::mul(result, at::log(at::masked_fill(self, flat, Scalar(1))))));
}

Tensor pow_grad_exponent(const Tensor& grad, const Scalar& self, const Tensor& exponent, const Tensor& result) {
  if (is_zero(self)) {
    return drop_where(is_not_negative(exponent), mul_grad(grad, at::mul(result, Scalar(-std::numeric_limits<double>::infinity()))));
  }
  if (self.isComplex() || exponent.is_complex() || self.toDouble() < 0) {
    const c10::complex<double> base = self.toComplexDouble();
    const c10::complex<double> log_base(
        std::log(std::hypot(base.real(), base.imag())), std::atan2(base.imag(), base.real()));
    if (exponent.is_complex() || self.isComplex()) return mul_grad(grad, at::mul(result, Scalar(log_base)));
    return mul_grad(grad, at::mul(result, Scalar(std::numeric_limits<double>::quiet_NaN())));
  }
  return mul_grad(grad, times(result, std::log(self.toDouble())));
}

namespace {

// Equal elements have half of the gradient each.
Tensor shared_by_equals(const Tensor& grad, const Tensor& self, const Tensor& other) {
  return at::where(at::eq(self, other), times(grad, 0.5), grad);
}

}  // namespace

Tensor maximum_grad(const Tensor& grad, const Tensor& self, const Tensor& other) {
  return drop_where(at::lt(self, other), shared_by_equals(grad, self, other));
}

Tensor minimum_grad(const Tensor& grad, const Tensor& self, const Tensor& other) {
  return drop_where(at::gt(self, other), shared_by_equals(grad, self, other));
}

// Where other is NaN the result is self, NaN or not.
Tensor fmax_grad(const Tensor& grad, const Tensor& self, const Tensor& other) {
  return keep_where(at::logical_or(at::ge(self, other), at::isnan(other)), shared_by_equals(grad, self, other));
}

Tensor fmax_grad_other(const Tensor& grad, const Tensor& self, const Tensor& other) {
  return drop_where(at::logical_or(at::gt(self, other), at::isnan(other)), shared_by_equals(grad, self, other));
}

Tensor fmin_grad(const Tensor& grad, const Tensor& self, const Tensor& other) {
  return keep_where(at::logical_or(at::le(self, other), at::isnan(other)), shared_by_equals(grad, self, other));
}

Tensor fmin_grad_other(const Tensor& grad, const Tensor& self, const Tensor& other) {
  return drop_where(at::logical_or(at::lt(self, other), at::isnan(other)), shared_by_equals(grad, self, other));
}

namespace {

// 1 / (self^2 + other^2), 0 at the origin.
Tensor inverse_square_radius(const Tensor& self, const Tensor& other) {
  const Tensor square = at::add(square_of(self), square_of(other));
  const Tensor origin = at::eq(square, Scalar(0));
  return at::masked_fill(at::reciprocal(at::masked_fill(square, origin, Scalar(1))), origin, Scalar(0));
}

}  // namespace

// grad times factor / (self^2 + other^2), 0 at the origin.
static Tensor over_square_radius(const Tensor& grad, const Tensor& factor, const Tensor& self, const Tensor& other) {
  Tensor result = at::mul(grad, factor);
  if (GradMode::is_enabled() || self.sizes() != other.sizes() || self.scalar_type() != other.scalar_type() ||
      result.sizes() != self.sizes() || result.scalar_type() != self.scalar_type()) {
    return at::mul(result, inverse_square_radius(self, other));
  }
  const Tensor square = at::addcmul(at::mul(self, self), other, other);
  at::div_(result, square);
  return at::masked_fill_(result, at::eq(square, Scalar(0)), Scalar(0));
}

Tensor atan2_grad_self(const Tensor& grad, const Tensor& self, const Tensor& other) {
  return over_square_radius(grad, other, self, other);
}

Tensor atan2_grad_other(const Tensor& grad, const Tensor& self, const Tensor& other) {
  return over_square_radius(at::neg(grad), self, self, other);
}

Tensor hypot_grad(const Tensor& grad, const Tensor& side, const Tensor& result) {
  return at::mul(grad, at::div(side, result));
}

Tensor copysign_grad(const Tensor& grad, const Tensor& self, const Tensor& result) {
  const Tensor ratio = at::div(result, self);
  return at::mul(grad, at::masked_fill(ratio, at::eq(self, Scalar(0)), Scalar(0)));
}

Tensor xlogy_grad_self(const Tensor& grad, const Tensor& self, const Tensor& other) {
  const Tensor flat = at::logical_and(at::eq(self, Scalar(0)), at::le(other, Scalar(0)));
  return drop_where(flat, at::mul(grad, at::log(other)));
}

Tensor xlogy_grad_self(const Tensor& grad, const Tensor& self, const Scalar& other) {
  return other.toDouble() > 0 ? times(grad, std::log(other.toDouble()))
                              : drop_where(at::eq(self, Scalar(0)), times(grad, std::log(other.toDouble())));
}

Tensor nan_to_num_grad(const Tensor& grad, const Tensor& self) {
  if (!self.is_complex()) return keep_where(at::isfinite(self), grad);
  return at::complex(
      keep_where(at::isfinite(at::real(self)), at::real(grad)), keep_where(at::isfinite(at::imag(self)), at::imag(grad)));
}

Tensor polygamma_grad(const Tensor& grad, int64_t n, const Tensor& self) {
  TORCH_CHECK(n < std::numeric_limits<int64_t>::max(), "polygamma: the order of the derivative overflows");
  return at::mul(grad, at::polygamma(n + 1, self));
}

Tensor logaddexp_grad(const Tensor& grad, const Tensor& self, const Tensor& other) {
  return at::div(grad, conj_of(plus(at::exp(at::sub(as_number(other), as_number(self))), 1.0)));
}

Tensor logaddexp2_grad(const Tensor& grad, const Tensor& self, const Tensor& other) {
  return at::div(grad, plus(at::exp2(at::sub(as_number(other), as_number(self))), 1.0));
}

Tensor abs_grad(const Tensor& grad, const Tensor& self) {
  return at::mul(grad, at::sgn(self));
}

Tensor angle_grad(const Tensor& grad, const Tensor& self) {
  if (!self.is_complex()) return zero_grad(grad);
  // d arg(z) / dz = 1 / (2 i z): the gradient is grad * i z / |z|^2.
  const Tensor factor = at::mul(grad, inverse_square_radius(at::real(self), at::imag(self)));
  return at::mul(at::mul(self, factor), Scalar(c10::complex<double>(0.0, 1.0)));
}

Tensor sgn_grad(const Tensor& grad, const Tensor& self, const Tensor& result) {
  if (!self.is_complex()) return zero_grad(grad);
  const Tensor abs = at::abs(self);
  const Tensor origin = at::eq(abs, Scalar(0));
  const Tensor along = at::mul(at::real(at::mul(grad, at::conj(result))), result);
  return drop_where(origin, at::div(at::sub(grad, along), at::masked_fill(abs, origin, Scalar(1))));
}

Tensor acos_grad(const Tensor& grad, const Tensor& self) {
  return at::neg(asin_grad(grad, self));
}

Tensor acosh_grad(const Tensor& grad, const Tensor& self) {
  return mul_grad(grad, at::mul(at::rsqrt(plus(self, -1.0)), at::rsqrt(plus(self, 1.0))));
}

Tensor asin_grad(const Tensor& grad, const Tensor& self) {
  return mul_grad(grad, at::rsqrt(minus_from(1.0, square_of(self))));
}

Tensor asinh_grad(const Tensor& grad, const Tensor& self) {
  return mul_grad(grad, at::rsqrt(plus(square_of(self), 1.0)));
}

Tensor atan_grad(const Tensor& grad, const Tensor& self) {
  return div_grad_self(grad, plus(square_of(self), 1.0));
}

Tensor atanh_grad(const Tensor& grad, const Tensor& self) {
  return div_grad_self(grad, minus_from(1.0, square_of(self)));
}

Tensor cos_grad(const Tensor& grad, const Tensor& self) {
  return at::neg(mul_grad(grad, at::sin(self)));
}

Tensor tan_grad(const Tensor& grad, const Tensor& result) {
  return mul_grad(grad, plus(square_of(result), 1.0));
}

Tensor sinc_grad(const Tensor& grad, const Tensor& self) {
  const Tensor origin = at::eq(self, Scalar(0));
  const Tensor x = times(at::masked_fill(self, origin, Scalar(1)), std::numbers::pi);
  // d/dx sin(pi x) / (pi x) = pi (pi x cos(pi x) - sin(pi x)) / (pi x)^2
  const Tensor slope = at::div(at::sub(at::mul(x, at::cos(x)), at::sin(x)), square_of(x));
  return drop_where(origin, mul_grad(grad, times(slope, std::numbers::pi)));
}

Tensor erf_grad(const Tensor& grad, const Tensor& self) {
  return at::mul(grad, times(at::exp(at::neg(square_of(self))), 2.0 * std::numbers::inv_sqrtpi));
}

Tensor erfinv_grad(const Tensor& grad, const Tensor& result) {
  return at::mul(grad, times(at::exp(square_of(result)), 0.5 / std::numbers::inv_sqrtpi));
}

Tensor log_grad(const Tensor& grad, const Tensor& self, double log_of_base) {
  return div_grad_self(grad, log_of_base == 1.0 ? self : times(self, log_of_base));
}

Tensor log1p_grad(const Tensor& grad, const Tensor& self) {
  if (C10_UNLIKELY(self.layout() != kStrided)) {
    // The local gradient of what self does not store is 1: of a sparse gradient only its own places count.
    if (grad.layout() != self.layout()) return mul_grad(grad, at::reciprocal(plus(at::to_dense(self), 1.0)));
    const Tensor elements = grad.layout() == kSparse ? at::coalesce(grad) : grad;
    const Tensor own = at::values(at::sparse_mask(self, elements.detach()));
    return sparse_values_grad(div_grad_self(at::values(elements), plus(own, 1.0)), elements.detach());
  }
  return div_grad_self(grad, plus(self, 1.0));
}

Tensor expm1_grad(const Tensor& grad, const Tensor& result) {
  return mul_grad(grad, plus(result, 1.0));
}

Tensor exp2_grad(const Tensor& grad, const Tensor& result) {
  return mul_grad(grad, times(result, std::numbers::ln2));
}

Tensor reciprocal_grad(const Tensor& grad, const Tensor& result) {
  return at::neg(mul_grad(grad, square_of(result)));
}

Tensor rsqrt_grad(const Tensor& grad, const Tensor& result) {
  return times(mul_grad(grad, at::mul(square_of(result), result)), -0.5);
}

Tensor sqrt_grad(const Tensor& grad, const Tensor& result) {
  return div_grad_self(grad, times(result, 2.0));
}

Tensor sigmoid_backward_grad_output(const Tensor& grad, const Tensor& grad_output, const Tensor& output) {
  return at::mul(at::mul(conj_of(grad), grad_output), plus(times(conj_of(output), -2.0), 1.0));
}

Tensor tanh_backward_grad_output(const Tensor& grad, const Tensor& grad_output, const Tensor& output) {
  return at::mul(at::mul(conj_of(grad), grad_output), times(conj_of(output), -2.0));
}

Tensor i0_grad(const Tensor& grad, const Tensor& self) {
  return at::mul(grad, at::special_i1(self));
}
Tensor special_log_ndtr_grad(const Tensor& grad, const Tensor& self, const Tensor& result) {
  // density / distribution = exp(-x^2 / 2 - log distribution) / sqrt(2 pi).
  return at::mul(grad, at::mul(at::exp(at::sub(at::mul(at::square(self), -0.5), result)), 0.39894228040143270));
}
Tensor special_i1_grad(const Tensor& grad, const Tensor& self, const Tensor& result) {
  // I0(x) - I1(x) / x, at zero 1/2.
  const Tensor small = at::lt(at::abs(self), std::numeric_limits<float>::min());
  const Tensor divisor = at::masked_fill(self, small, Scalar(1));
  const Tensor derivative = at::sub(at::i0(divisor), at::div(result, divisor));
  return at::mul(grad, at::masked_fill(derivative, small, Scalar(0.5)));
}
Tensor special_bessel_j1_grad(const Tensor& grad, const Tensor& self, const Tensor& result) {
  // J0(x) - J1(x) / x, at zero 1/2.
  const Tensor small = at::lt(at::abs(self), std::numeric_limits<float>::min());
  const Tensor divisor = at::masked_fill(self, small, Scalar(1));
  const Tensor derivative = at::sub(at::special_bessel_j0(divisor), at::div(result, divisor));
  return at::mul(grad, at::masked_fill(derivative, small, Scalar(0.5)));
}
Tensor special_spherical_bessel_j0_grad(const Tensor& grad, const Tensor& x, const Tensor& result) {
  // (cos(x) - sin(x) / x) / x, which cancels near zero: there its series.
  const Tensor small = at::lt(at::abs(x), Scalar(0.5));
  const Tensor divisor = at::masked_fill(x, small, Scalar(1));
  const Tensor quotient = at::div(at::sub(at::cos(divisor), result), divisor);
  const Tensor square = at::square(x);
  Tensor series = at::full_like(x, 1.0 / 518918400);
  for (const double factor : {-1.0 / 3991680, 1.0 / 45360, -1.0 / 840, 1.0 / 30, -1.0 / 3}) {
    series = at::add(at::mul(series, square), Scalar(factor));
  }
  return at::mul(grad, at::where(small, at::mul(series, x), quotient));
}
Tensor special_i1e_grad(const Tensor& grad, const Tensor& self, const Tensor& result) {
  const Tensor small = at::lt(at::abs(self), std::numeric_limits<float>::min());
  const Tensor divisor = at::masked_fill(self, small, Scalar(1));
  const Tensor derivative =
      at::sub(at::special_i0e(divisor), at::mul(result, at::add(at::sgn(divisor), at::reciprocal(divisor))));
  return at::mul(grad, at::masked_fill(derivative, small, Scalar(0.5)));
}
Tensor xlog1py_grad_self(const Tensor& grad, const Tensor& self, const Tensor& other) {
  const Tensor drop = at::logical_and(at::eq(self, Scalar(0)), at::le(other, Scalar(-1)));
  return drop_where(drop, at::mul(grad, at::log1p(other)));
}
Tensor xlog1py_grad_self(const Tensor& grad, const Tensor& self, const Scalar& other) {
  const double log = std::log1p(other.toDouble());
  return other.toDouble() > -1 ? at::mul(grad, log) : drop_where(at::eq(self, Scalar(0)), at::mul(grad, log));
}
Tensor zeta_grad_other(const Tensor& grad, const Scalar& self, const Tensor& other) {
  const double s = self.toDouble();
  return at::mul(grad, at::mul(at::special_zeta(Scalar(s + 1), other), -s));
}
Tensor mvlgamma_grad(const Tensor& grad, const Tensor& self, int64_t p) {
  Tensor sum = at::digamma(self);
  for (int64_t j = 1; j < p; ++j) sum = at::add(sum, at::digamma(at::sub(self, 0.5 * static_cast<double>(j))));
  return at::mul(grad, sum);
}
Tensor no_formula(const char* input) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, "the derivative for '", input, "' is not implemented.");
}
Tensor igamma_grad(const Tensor& grad, const Tensor& self, const Tensor& other) {
  const Tensor power = at::mul(at::sub(as_number(self), 1), at::log(other));
  return at::mul(grad, at::exp(at::sub(at::sub(power, other), at::lgamma(self))));
}
Tensor frexp_grad(const Tensor& grad, const Tensor& exponent) {
  return at::div(grad, at::exp2(at::mul(exponent, at::ones({}, grad.options()))));
}

Tensor polar_grad_abs(const Tensor& grad, const Tensor& angle) {
  return at::add(at::mul(at::real(grad), at::cos(angle)), at::mul(at::imag(grad), at::sin(angle)));
}

Tensor polar_grad_angle(const Tensor& grad, const Tensor& result) {
  return at::sub(at::mul(at::imag(grad), at::real(result)), at::mul(at::real(grad), at::imag(result)));
}

Tensor clamp_grad(
    const Tensor& grad, const Tensor& self, const std::optional<Scalar>& min, const std::optional<Scalar>& max) {
  if (min.has_value() && max.has_value()) {
    return keep_where(at::logical_and(at::gt(self, *min), at::lt(self, *max)), grad);
  }
  if (min.has_value()) return keep_where(at::gt(self, *min), grad);
  if (max.has_value()) return keep_where(at::lt(self, *max), grad);
  return grad;
}

std::tuple<Tensor, Tensor, Tensor> clamp_tensor_grad(
    const Tensor& grad, const Tensor& self, const Tensor& min, const Tensor& max, std::array<bool, 3> mask) {
  // minimum(maximum(self, min), max).
  Tensor grad_self = grad, grad_min, grad_max;
  if (max.defined()) {
    const Tensor raised = min.defined() ? at::maximum(self, min) : self;
    if (mask[2]) grad_max = minimum_grad(grad, max, raised);
    grad_self = minimum_grad(grad, raised, max);
  }
  if (min.defined()) {
    if (mask[1]) grad_min = maximum_grad(grad_self, min, self);
    grad_self = maximum_grad(grad_self, self, min);
  }
  return {std::move(grad_self), std::move(grad_min), std::move(grad_max)};
}

Tensor addcdiv_grad_tensor1(const Tensor& grad, const Tensor& tensor2, const Scalar& value) {
  return scale_grad(div_grad_self(grad, tensor2), value);
}

Tensor addcdiv_grad_tensor2(const Tensor& grad, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value) {
  return scale_grad(div_grad_other(grad, tensor1, tensor2), value);
}

Tensor addcmul_grad(const Tensor& grad, const Tensor& factor, const Scalar& value) {
  return scale_grad(mul_grad(grad, factor), value);
}

Tensor lerp_grad_self(const Tensor& grad, const Scalar& weight) {
  if (weight.isComplex()) {
    return mul_grad(grad, Scalar(c10::complex<double>(1.0) - weight.toComplexDouble()));
  }
  return times(grad, 1.0 - weight.toDouble());
}

Tensor lerp_grad_self(const Tensor& grad, const Tensor& weight) {
  return mul_grad(grad, minus_from(1.0, weight));
}

Tensor inside_grad(const Tensor& grad, const Tensor& self, const Scalar& min, const Scalar& max) {
  return drop_where(at::logical_or(at::le(self, min), at::ge(self, max)), grad);
}

Tensor shrink_grad(const Tensor& grad, const Tensor& self, const Scalar& lambd) {
  return drop_where(at::le(at::abs(self), lambd), grad);
}

Tensor elu_grad(
    const Tensor& grad, const Tensor& self, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale) {
  return at::elu_backward(grad, alpha, scale, input_scale, false, self);
}

Tensor selu_grad(const Tensor& grad, const Tensor& self) {
  return elu_grad(grad, self, Scalar(1.6732632423543772848170429916717), Scalar(1.0507009873554804934193349852946), Scalar(1.0));
}

Tensor celu_grad(const Tensor& grad, const Tensor& self, const Scalar& alpha) {
  return elu_grad(grad, self, alpha, Scalar(1.0), Scalar(1.0 / alpha.toDouble()));
}

Tensor leaky_relu_grad(const Tensor& grad, const Tensor& self, const Scalar& negative_slope) {
  return at::leaky_relu_backward(grad, self, negative_slope, false);
}

Tensor hardswish_grad(const Tensor& grad, const Tensor& self) {
  return at::hardswish_backward(grad, self);
}

Tensor hardsigmoid_grad(const Tensor& grad, const Tensor& self) {
  return times(inside_grad(grad, self, Scalar(-3), Scalar(3)), 1.0 / 6.0);
}

Tensor softplus_grad(const Tensor& grad, const Tensor& self, const Scalar& beta, const Scalar& threshold) {
  return at::softplus_backward(grad, self, beta, threshold);
}

Tensor mish_grad(const Tensor& grad, const Tensor& self) {
  const Tensor t = at::tanh(at::softplus(self, Scalar(1), Scalar(20)));
  const Tensor slope = at::add(t, at::mul(at::mul(self, at::sigmoid(self)), minus_from(1.0, square_of(t))));
  return at::mul(grad, slope);
}

Tensor glu_grad(const Tensor& grad, const Tensor& self, int64_t dim) {
  const int64_t half = self.size(dim) / 2;
  const Tensor value = at::narrow(self, dim, 0, half);
  const Tensor gate = at::sigmoid(at::narrow(self, dim, half, half));
  const Tensor grad_value = at::mul(grad, gate);
  const Tensor grad_gate = at::mul(at::mul(grad_value, minus_from(1.0, gate)), value);
  return at::cat({grad_value, grad_gate}, dim);
}

namespace {

// prelu's weight, one a channel, shaped to broadcast over `self`.
Tensor channel_weight(const Tensor& self, const Tensor& weight) {
  if (weight.numel() == 1 || self.dim() < 2) return at::reshape(weight, weight.numel() == 1 ? DimVector{} : DimVector{weight.numel()});
  DimVector sizes(static_cast<size_t>(self.dim()), 1);
  sizes[1] = weight.numel();
  return at::reshape(weight, sizes);
}

}  // namespace

Tensor prelu_grad_self(const Tensor& grad, const Tensor& self, const Tensor& weight) {
  return at::where(at::gt(self, Scalar(0)), grad, at::mul(grad, channel_weight(self, weight)));
}

Tensor prelu_grad_weight(const Tensor& grad, const Tensor& self, const Tensor& weight) {
  const Tensor all = drop_where(at::gt(self, Scalar(0)), at::mul(grad, self));
  if (weight.numel() == 1) return at::reshape(at::sum(all), weight.sizes());
  if (self.dim() < 2) return all;
  DimVector dims;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (d != 1) dims.push_back(d);
  }
  return at::sum(all, dims);
}

namespace {

// The slope of gelu at `self`, and the slope of that.
Tensor gelu_slope(const Tensor& self, std::string_view approximate) {
  if (approximate == "tanh") {
    constexpr double kBeta = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
    constexpr double kCubic = 0.044715;
    const Tensor square = square_of(self);
    const Tensor t = at::tanh(times(at::add(self, times(at::mul(square, self), kCubic)), kBeta));
    const Tensor inner = times(plus(times(square, 3.0 * kCubic), 1.0), kBeta);
    return at::add(
        times(plus(t, 1.0), 0.5), at::mul(times(at::mul(self, minus_from(1.0, square_of(t))), 0.5), inner));
  }
  const Tensor cumulative = times(plus(at::erf(times(self, 1.0 / std::numbers::sqrt2)), 1.0), 0.5);
  const Tensor density =
      times(at::exp(times(square_of(self), -0.5)), std::numbers::inv_sqrtpi / std::numbers::sqrt2);
  return at::add(cumulative, at::mul(self, density));
}

Tensor gelu_curvature(const Tensor& self, std::string_view approximate) {
  if (approximate == "tanh") {
    constexpr double kBeta = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
    constexpr double kCubic = 0.044715;
    // g = x (1 + t) / 2, t = tanh(u): g'' = t' + x t'' / 2, t' = (1 - t^2) u', t'' = (1 - t^2) (u'' - 2 t u'^2).
    const Tensor square = square_of(self);
    const Tensor t = at::tanh(times(at::add(self, times(at::mul(square, self), kCubic)), kBeta));
    const Tensor sech = minus_from(1.0, square_of(t));
    const Tensor inner = times(plus(times(square, 3.0 * kCubic), 1.0), kBeta);
    const Tensor bend = at::sub(times(self, 6.0 * kCubic * kBeta), times(at::mul(t, square_of(inner)), 2.0));
    return at::mul(sech, at::add(inner, times(at::mul(self, bend), 0.5)));
  }
  // d/dx (Phi + x phi) = 2 phi - x^2 phi
  const Tensor density =
      times(at::exp(times(square_of(self), -0.5)), std::numbers::inv_sqrtpi / std::numbers::sqrt2);
  return at::mul(density, minus_from(2.0, square_of(self)));
}

}  // namespace

Tensor gelu_grad(const Tensor& grad, const Tensor& self, std::string_view approximate) {
  if (!GradMode::is_enabled()) return at::gelu_backward(grad, self, approximate);
  return at::mul(grad, gelu_slope(self, approximate));
}

Tensor gelu_backward_grad_self(
    const Tensor& grad, const Tensor& grad_output, const Tensor& self, std::string_view approximate) {
  return at::mul(at::mul(grad, grad_output), gelu_curvature(self, approximate));
}

namespace {

Tensor silu_slope(const Tensor& self) {
  const Tensor s = at::sigmoid(self);
  return at::mul(s, plus(at::mul(self, minus_from(1.0, s)), 1.0));
}

}  // namespace

Tensor silu_grad(const Tensor& grad, const Tensor& self) {
  if (!GradMode::is_enabled() && !self.is_complex()) return at::silu_backward(grad, self);
  return mul_grad(grad, silu_slope(self));
}

Tensor silu_backward_grad_self(const Tensor& grad, const Tensor& grad_output, const Tensor& self) {
  const Tensor s = at::sigmoid(self);
  const Tensor bend = at::mul(
      at::mul(s, minus_from(1.0, s)), plus(at::mul(self, plus(times(s, -2.0), 1.0)), 2.0));
  return at::mul(at::mul(grad, grad_output), bend);
}

}  // namespace torch::autograd::generated
