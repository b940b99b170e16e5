#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>

#include "aten/core/tensor.h"

// Gradients of elementwise operators. Each gives the gradient of one argument from that of the result, in the convention for
// complex numbers that the gradient of a real loss is its conjugate Wirtinger derivative: for a holomorphic f it is
// grad * conj(f'). Shapes may be those of the broadcast result; the engine sums.
namespace torch::autograd::generated {

using namespace at;

// conj(t), without a call for real tensors.
Tensor conj_of(const Tensor& t);
Scalar conj_of(const Scalar& s);
// Zeros like the gradient: of an argument that the result is locally independent of.
Tensor zero_grad(const Tensor& grad);
// grad where `mask`, else 0; and the opposite.
Tensor keep_where(const Tensor& mask, const Tensor& grad);
Tensor drop_where(const Tensor& mask, const Tensor& grad);

// grad * conj(factor).
Tensor mul_grad(const Tensor& grad, const Tensor& factor);
Tensor mul_grad(const Tensor& grad, const Scalar& factor);
// As above; no call where the factor is 1.
Tensor scale_grad(const Tensor& grad, const Scalar& factor);
Tensor neg_scale_grad(const Tensor& grad, const Scalar& factor);

Tensor div_grad_self(const Tensor& grad, const Tensor& other);
Tensor div_grad_self(const Tensor& grad, const Scalar& other);
Tensor div_grad_other(const Tensor& grad, const Tensor& self, const Tensor& other);
// With rounding_mode the result is piecewise constant.
Tensor div_mode_grad_self(const Tensor& grad, const Tensor& other, std::optional<std::string_view> rounding_mode);
Tensor div_mode_grad_self(const Tensor& grad, const Scalar& other, std::optional<std::string_view> rounding_mode);
Tensor div_mode_grad_other(
    const Tensor& grad, const Tensor& self, const Tensor& other, std::optional<std::string_view> rounding_mode);
// d(self - other * round(self / other)) / d other.
Tensor remainder_grad_other(const Tensor& grad, const Tensor& self, const Tensor& other, std::string_view rounding_mode);
Tensor remainder_grad_other(const Tensor& grad, const Scalar& self, const Tensor& other, std::string_view rounding_mode);

Tensor pow_grad(const Tensor& grad, const Tensor& self, const Scalar& exponent);
Tensor pow_grad_self(const Tensor& grad, const Tensor& self, const Tensor& exponent);
Tensor pow_grad_exponent(const Tensor& grad, const Tensor& self, const Tensor& exponent, const Tensor& result);
Tensor pow_grad_exponent(const Tensor& grad, const Scalar& self, const Tensor& exponent, const Tensor& result);

// The larger (smaller) of two gets the gradient; equal ones half each.
Tensor maximum_grad(const Tensor& grad, const Tensor& self, const Tensor& other);
Tensor minimum_grad(const Tensor& grad, const Tensor& self, const Tensor& other);
// As above where a NaN loses against a number.
Tensor fmax_grad(const Tensor& grad, const Tensor& self, const Tensor& other);
Tensor fmax_grad_other(const Tensor& grad, const Tensor& self, const Tensor& other);
Tensor fmin_grad(const Tensor& grad, const Tensor& self, const Tensor& other);
Tensor fmin_grad_other(const Tensor& grad, const Tensor& self, const Tensor& other);
Tensor atan2_grad_self(const Tensor& grad, const Tensor& self, const Tensor& other);
Tensor atan2_grad_other(const Tensor& grad, const Tensor& self, const Tensor& other);
Tensor hypot_grad(const Tensor& grad, const Tensor& side, const Tensor& result);
Tensor copysign_grad(const Tensor& grad, const Tensor& self, const Tensor& result);
Tensor xlogy_grad_self(const Tensor& grad, const Tensor& self, const Tensor& other);
Tensor xlogy_grad_self(const Tensor& grad, const Tensor& self, const Scalar& other);
Tensor nan_to_num_grad(const Tensor& grad, const Tensor& self);
Tensor polygamma_grad(const Tensor& grad, int64_t n, const Tensor& self);
Tensor logaddexp_grad(const Tensor& grad, const Tensor& self, const Tensor& other);
Tensor logaddexp2_grad(const Tensor& grad, const Tensor& self, const Tensor& other);

Tensor abs_grad(const Tensor& grad, const Tensor& self);
Tensor angle_grad(const Tensor& grad, const Tensor& self);
Tensor sgn_grad(const Tensor& grad, const Tensor& self, const Tensor& result);
Tensor acos_grad(const Tensor& grad, const Tensor& self);
Tensor acosh_grad(const Tensor& grad, const Tensor& self);
Tensor asin_grad(const Tensor& grad, const Tensor& self);
Tensor asinh_grad(const Tensor& grad, const Tensor& self);
Tensor atan_grad(const Tensor& grad, const Tensor& self);
Tensor atanh_grad(const Tensor& grad, const Tensor& self);
Tensor cos_grad(const Tensor& grad, const Tensor& self);
Tensor tan_grad(const Tensor& grad, const Tensor& result);
Tensor sinc_grad(const Tensor& grad, const Tensor& self);
Tensor erf_grad(const Tensor& grad, const Tensor& self);
Tensor erfinv_grad(const Tensor& grad, const Tensor& result);
Tensor log_grad(const Tensor& grad, const Tensor& self, double log_of_base = 1.0);
Tensor log1p_grad(const Tensor& grad, const Tensor& self);
Tensor expm1_grad(const Tensor& grad, const Tensor& result);
Tensor exp2_grad(const Tensor& grad, const Tensor& result);
Tensor reciprocal_grad(const Tensor& grad, const Tensor& result);
Tensor rsqrt_grad(const Tensor& grad, const Tensor& result);
Tensor sqrt_grad(const Tensor& grad, const Tensor& result);
Tensor sigmoid_backward_grad_output(const Tensor& grad, const Tensor& grad_output, const Tensor& output);
Tensor tanh_backward_grad_output(const Tensor& grad, const Tensor& grad_output, const Tensor& output);
// Of the normal distribution's logarithm and of the Bessel functions.
Tensor i0_grad(const Tensor& grad, const Tensor& self);
Tensor special_log_ndtr_grad(const Tensor& grad, const Tensor& self, const Tensor& result);
Tensor special_i1_grad(const Tensor& grad, const Tensor& self, const Tensor& result);
Tensor special_bessel_j1_grad(const Tensor& grad, const Tensor& self, const Tensor& result);
Tensor special_spherical_bessel_j0_grad(const Tensor& grad, const Tensor& x, const Tensor& result);
Tensor special_i1e_grad(const Tensor& grad, const Tensor& self, const Tensor& result);
Tensor xlog1py_grad_self(const Tensor& grad, const Tensor& self, const Tensor& other);
Tensor xlog1py_grad_self(const Tensor& grad, const Tensor& self, const Scalar& other);
Tensor zeta_grad_other(const Tensor& grad, const Scalar& self, const Tensor& other);
Tensor mvlgamma_grad(const Tensor& grad, const Tensor& self, int64_t p);
// For an input that a function is differentiable by without a formula here: throws NotImplementedError in the backward pass
// that asks for its gradient.
Tensor no_formula(const char* input);
// Of igamma(self, other) by other: the density of the gamma distribution.
Tensor igamma_grad(const Tensor& grad, const Tensor& self, const Tensor& other);
Tensor frexp_grad(const Tensor& grad, const Tensor& exponent);
Tensor polar_grad_abs(const Tensor& grad, const Tensor& angle);
Tensor polar_grad_angle(const Tensor& grad, const Tensor& result);

Tensor clamp_grad(
    const Tensor& grad, const Tensor& self, const std::optional<Scalar>& min, const std::optional<Scalar>& max);
std::tuple<Tensor, Tensor, Tensor> clamp_tensor_grad(
    const Tensor& grad, const Tensor& self, const Tensor& min, const Tensor& max, std::array<bool, 3> mask);
Tensor addcdiv_grad_tensor1(const Tensor& grad, const Tensor& tensor2, const Scalar& value);
Tensor addcdiv_grad_tensor2(const Tensor& grad, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value);
Tensor addcmul_grad(const Tensor& grad, const Tensor& factor, const Scalar& value);
Tensor lerp_grad_self(const Tensor& grad, const Scalar& weight);
Tensor lerp_grad_self(const Tensor& grad, const Tensor& weight);

// grad where min < self < max, else 0.
Tensor inside_grad(const Tensor& grad, const Tensor& self, const Scalar& min, const Scalar& max);
// grad where |self| > lambd, else 0.
Tensor shrink_grad(const Tensor& grad, const Tensor& self, const Scalar& lambd);
Tensor elu_grad(
    const Tensor& grad, const Tensor& self, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale);
Tensor selu_grad(const Tensor& grad, const Tensor& self);
Tensor celu_grad(const Tensor& grad, const Tensor& self, const Scalar& alpha);
Tensor leaky_relu_grad(const Tensor& grad, const Tensor& self, const Scalar& negative_slope);
Tensor hardswish_grad(const Tensor& grad, const Tensor& self);
Tensor hardsigmoid_grad(const Tensor& grad, const Tensor& self);
Tensor softplus_grad(const Tensor& grad, const Tensor& self, const Scalar& beta, const Scalar& threshold);
Tensor mish_grad(const Tensor& grad, const Tensor& self);
Tensor glu_grad(const Tensor& grad, const Tensor& self, int64_t dim);
Tensor prelu_grad_self(const Tensor& grad, const Tensor& self, const Tensor& weight);
Tensor prelu_grad_weight(const Tensor& grad, const Tensor& self, const Tensor& weight);
// The fused kernels where nothing is recorded; made of differentiable operators where the pass is.
Tensor gelu_grad(const Tensor& grad, const Tensor& self, std::string_view approximate);
Tensor silu_grad(const Tensor& grad, const Tensor& self);
Tensor gelu_backward_grad_self(
    const Tensor& grad, const Tensor& grad_output, const Tensor& self, std::string_view approximate);
Tensor silu_backward_grad_self(const Tensor& grad, const Tensor& grad_output, const Tensor& self);

}  // namespace torch::autograd::generated
