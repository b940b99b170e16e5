// Unary pointwise operators: shape rules and CPU kernels. The loops are in aten/cpu/loops*.cc.
#include <cmath>
#include <limits>

#include "aten/core/tensor.h"
#include "aten/core/tensor_spec.h"
#include "aten/core/view.h"
#include "aten/cpu/copy.h"
#include "aten/cpu/loops/activation.h"
#include "aten/cpu/loops/complex.h"
#include "aten/cpu/loops/loops.h"
#include "aten/cpu/pointwise.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/unary/kernels.h"
#include "aten/ops/unary/ops.h"

namespace at::native {

using pointwise::Params;
using pointwise::result_spec;

TensorSpec unary_same_meta(const Tensor& self) { return result_spec({self}, self.scalar_type()); }
TensorSpec unary_float_meta(const Tensor& self) { return result_spec({self}, pointwise::to_floating(self.scalar_type())); }
TensorSpec predicate_meta(const Tensor& self) { return result_spec({self}, ScalarType::Bool); }
// Results that are real for complex inputs.
TensorSpec abs_meta(const Tensor& self) { return result_spec({self}, toRealValueType(self.scalar_type())); }
TensorSpec angle_meta(const Tensor& self) {
  return result_spec({self}, toRealValueType(pointwise::to_floating(self.scalar_type())));
}
TensorSpec neg_meta(const Tensor& self) {
  TORCH_CHECK_NOT_IMPLEMENTED(self.scalar_type() != ScalarType::Bool,
              "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` "
              "or `logical_not()` operator instead.");
  return unary_same_meta(self);
}
TensorSpec sign_meta(const Tensor& self) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      !self.is_complex(),
      "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead.");
  return unary_same_meta(self);
}
TensorSpec signbit_meta(const Tensor& self) {
  TORCH_CHECK_NOT_IMPLEMENTED(!self.is_complex(), "signbit is not implemented for complex tensors.");
  return predicate_meta(self);
}
TensorSpec ceil_meta(const Tensor& self) {
  TORCH_CHECK_NOT_IMPLEMENTED(!self.is_complex(), "ceil is not supported for complex inputs");
  return unary_same_meta(self);
}
TensorSpec floor_meta(const Tensor& self) {
  TORCH_CHECK_NOT_IMPLEMENTED(!self.is_complex(), "floor is not supported for complex inputs");
  return unary_same_meta(self);
}
TensorSpec trunc_meta(const Tensor& self) {
  TORCH_CHECK_NOT_IMPLEMENTED(!self.is_complex(), "trunc is not supported for complex inputs");
  return unary_same_meta(self);
}
TensorSpec frac_meta(const Tensor& self) {
  TORCH_CHECK_NOT_IMPLEMENTED(self.is_floating_point(), "\"frac_cpu\" not implemented for '", self.scalar_type(), "'");
  return unary_same_meta(self);
}
TensorSpec round_meta(const Tensor& self) {
  TORCH_CHECK_NOT_IMPLEMENTED(!self.is_complex(), "\"round_vml_cpu\" not implemented for '", self.scalar_type(), "'");
  return unary_same_meta(self);
}
TensorSpec isposinf_meta(const Tensor& self) {
  TORCH_CHECK_TYPE(!self.is_complex(), "isposinf does not support complex inputs.");
  return predicate_meta(self);
}
TensorSpec isneginf_meta(const Tensor& self) {
  TORCH_CHECK_TYPE(!self.is_complex(), "isneginf does not support complex inputs.");
  return predicate_meta(self);
}
TensorSpec square_meta(const Tensor& self) {
  return result_spec({self}, self.scalar_type() == ScalarType::Bool ? ScalarType::Long : self.scalar_type());
}
namespace {

// A complex tensor's memory as real numbers, with a last dimension of 2.
Tensor parts_of(const Tensor& t) {
  DimVector sizes(t.sizes().begin(), t.sizes().end()), strides;
  for (const int64_t stride : t.strides()) strides.push_back(2 * stride);
  sizes.push_back(2);
  strides.push_back(1);
  return make_view(t, sizes, strides, 2 * t.storage_offset(), toRealValueType(t.scalar_type()));
}

}  // namespace

TensorSpec nan_to_num_meta(const Tensor& self, std::optional<double>, std::optional<double>, std::optional<double>) {
  return unary_same_meta(self);
}
TensorSpec round_decimals_meta(const Tensor& self, int64_t) {
  TORCH_CHECK_NOT_IMPLEMENTED(self.is_floating_point(), "\"round_decimals\" not implemented for '", self.scalar_type(),
                              "'");
  return unary_same_meta(self);
}
TensorSpec logit_meta(const Tensor& self, std::optional<double>) { return unary_float_meta(self); }

namespace {

void run(const char* name, const cpu::ElementOp& op, const Tensor& self, Tensor& out) {
  pointwise::run(name, op, out.scalar_type(), nullptr, out, {self});
}
void fill_bool(Tensor& out, bool value) {
  if (C10_LIKELY(out.is_cpu())) return cpu::fill(pointwise::operand_of(out), &value);
  at::fill_(out, value);
}

bool is_integral(const Tensor& t) {
  return isIntegralType(t.scalar_type(), /*includeBool=*/true);
}
// Rounding does nothing to integers.
void run_rounding(const char* name, const cpu::ElementOp& op, const Tensor& self, Tensor& out) {
  if (is_integral(self)) {
    pointwise::copy(out, self);
  } else {
    run(name, op, self, out);
  }
}
void run_floating_predicate(const char* name, const cpu::ElementOp& op, bool of_integers, const Tensor& self, Tensor& out) {
  if (is_integral(self)) {
    fill_bool(out, of_integers);
  } else {
    pointwise::run_predicate(name, op, self.scalar_type(), out, {self});
  }
}
// Complex in, real out.
void run_to_real(const char* name, const cpu::ElementOp& op, const Tensor& self, Tensor& out) {
  pointwise::run_to(toRealValueType(self.scalar_type()), name, op, self.scalar_type(), out, {self});
}

}  // namespace

void exp_kernel(const Tensor& self, Tensor& out) { run("exp", cpu::loops::exp, self, out); }
void exp2_kernel(const Tensor& self, Tensor& out) { run("exp2", cpu::loops::exp2, self, out); }
void expm1_kernel(const Tensor& self, Tensor& out) { run("expm1", cpu::loops::expm1, self, out); }
void log_kernel(const Tensor& self, Tensor& out) { run("log", cpu::loops::log, self, out); }
void log2_kernel(const Tensor& self, Tensor& out) { run("log2", cpu::loops::log2, self, out); }
void log10_kernel(const Tensor& self, Tensor& out) { run("log10", cpu::loops::log10, self, out); }
void log1p_kernel(const Tensor& self, Tensor& out) { run("log1p", cpu::loops::log1p, self, out); }
void sin_kernel(const Tensor& self, Tensor& out) { run("sin", cpu::loops::sin, self, out); }
void cos_kernel(const Tensor& self, Tensor& out) { run("cos", cpu::loops::cos, self, out); }
void tan_kernel(const Tensor& self, Tensor& out) { run("tan", cpu::loops::tan, self, out); }
void asin_kernel(const Tensor& self, Tensor& out) { run("asin", cpu::loops::asin, self, out); }
void acos_kernel(const Tensor& self, Tensor& out) { run("acos", cpu::loops::acos, self, out); }
void atan_kernel(const Tensor& self, Tensor& out) { run("atan", cpu::loops::atan, self, out); }
void sinh_kernel(const Tensor& self, Tensor& out) { run("sinh", cpu::loops::sinh, self, out); }
void cosh_kernel(const Tensor& self, Tensor& out) { run("cosh", cpu::loops::cosh, self, out); }
void tanh_kernel(const Tensor& self, Tensor& out) { run("tanh", cpu::loops::tanh, self, out); }
void asinh_kernel(const Tensor& self, Tensor& out) { run("asinh", cpu::loops::asinh, self, out); }
void acosh_kernel(const Tensor& self, Tensor& out) { run("acosh", cpu::loops::acosh, self, out); }
void atanh_kernel(const Tensor& self, Tensor& out) { run("atanh", cpu::loops::atanh, self, out); }
void sqrt_kernel(const Tensor& self, Tensor& out) { run("sqrt", cpu::loops::sqrt, self, out); }
void rsqrt_kernel(const Tensor& self, Tensor& out) { run("rsqrt", cpu::loops::rsqrt, self, out); }
void sigmoid_kernel(const Tensor& self, Tensor& out) { run("sigmoid", cpu::loops::sigmoid, self, out); }
void erf_kernel(const Tensor& self, Tensor& out) { run("erf", cpu::loops::erf, self, out); }
void erfc_kernel(const Tensor& self, Tensor& out) { run("erfc", cpu::loops::erfc, self, out); }
void erfinv_kernel(const Tensor& self, Tensor& out) { run("erfinv", cpu::loops::erfinv, self, out); }
void sinc_kernel(const Tensor& self, Tensor& out) { run("sinc", cpu::loops::sinc, self, out); }
void reciprocal_kernel(const Tensor& self, Tensor& out) { run("reciprocal", cpu::loops::reciprocal, self, out); }
void lgamma_kernel(const Tensor& self, Tensor& out) { run("lgamma", cpu::loops::lgamma, self, out); }
void digamma_kernel(const Tensor& self, Tensor& out) { run("digamma", cpu::loops::digamma, self, out); }
void ceil_kernel(const Tensor& self, Tensor& out) { run_rounding("ceil", cpu::loops::ceil, self, out); }
void floor_kernel(const Tensor& self, Tensor& out) { run_rounding("floor", cpu::loops::floor, self, out); }
void round_kernel(const Tensor& self, Tensor& out) { run_rounding("round", cpu::loops::round, self, out); }
void trunc_kernel(const Tensor& self, Tensor& out) { run_rounding("trunc", cpu::loops::trunc, self, out); }
void frac_kernel(const Tensor& self, Tensor& out) { run("frac", cpu::loops::frac, self, out); }
void neg_kernel(const Tensor& self, Tensor& out) { run("neg", cpu::loops::neg, self, out); }
void sign_kernel(const Tensor& self, Tensor& out) { run("sign", cpu::loops::sign, self, out); }
void sgn_kernel(const Tensor& self, Tensor& out) { run("sgn", cpu::loops::sgn, self, out); }
void square_kernel(const Tensor& self, Tensor& out) { run("square", cpu::loops::square, self, out); }
void abs_kernel(const Tensor& self, Tensor& out) {
  TORCH_CHECK_NOT_IMPLEMENTED(self.scalar_type() != ScalarType::Float8_e8m0fnu,
                              "\"abs\" not implemented for 'Float8_e8m0fnu'");
  if (self.is_complex()) {
    run_to_real("abs", cpu::loops::complex_abs, self, out);
  } else {
    run("abs", cpu::loops::abs, self, out);
  }
}
// Of a real number: 0, pi for a negative one, NaN for NaN.
void angle_kernel(const Tensor& self, Tensor& out) {
  if (self.is_complex()) {
    run_to_real("angle", cpu::loops::complex_angle, self, out);
  } else {
    run("angle", cpu::loops::real_angle, self, out);
  }
}
void conj_physical_kernel(const Tensor& self, Tensor& out) {
  if (self.is_complex()) {
    run("conj_physical", cpu::loops::conj, self, out);
  } else {
    pointwise::copy(out, self);
  }
}
static void not_of_bools(const Tensor& self, Tensor& out) {
  pointwise::run_of_bools("logical_not", cpu::loops::bool_not, cpu::loops::logical_not, out, {self});
}
void bitwise_not_kernel(const Tensor& self, Tensor& out) {
  if (self.scalar_type() == ScalarType::Bool) return not_of_bools(self, out);
  run("bitwise_not_cpu", cpu::loops::bitwise_not, self, out);
}
void logical_not_kernel(const Tensor& self, Tensor& out) {
  if (self.scalar_type() == ScalarType::Bool) return not_of_bools(self, out);
  pointwise::run_predicate("logical_not", cpu::loops::logical_not, self.scalar_type(), out, {self});
}
void signbit_kernel(const Tensor& self, Tensor& out) {
  if (is_integral(self) && !isSignedType(self.scalar_type())) return fill_bool(out, false);
  pointwise::run_predicate("signbit", cpu::loops::signbit, self.scalar_type(), out, {self});
}
void isnan_kernel(const Tensor& self, Tensor& out) { run_floating_predicate("isnan", cpu::loops::isnan, false, self, out); }
void isinf_kernel(const Tensor& self, Tensor& out) { run_floating_predicate("isinf", cpu::loops::isinf, false, self, out); }
void isfinite_kernel(const Tensor& self, Tensor& out) { run_floating_predicate("isfinite", cpu::loops::isfinite, true, self, out); }
void isposinf_kernel(const Tensor& self, Tensor& out) { run_floating_predicate("isposinf", cpu::loops::isposinf, false, self, out); }
void isneginf_kernel(const Tensor& self, Tensor& out) { run_floating_predicate("isneginf", cpu::loops::isneginf, false, self, out); }
void isreal_kernel(const Tensor& self, Tensor& out) {
  if (!self.is_complex()) return fill_bool(out, true);
  pointwise::run_predicate("isreal", cpu::loops::complex_is_real, self.scalar_type(), out, {self});
}
namespace {
void check_no_float8(const char* name, const Tensor& self) {
  TORCH_CHECK_NOT_IMPLEMENTED(!isFloat8Type(self.scalar_type()), "\"", name, "\" not implemented for '",
                              self.scalar_type(), "'");
}
}  // namespace

void rad2deg_kernel(const Tensor& self, Tensor& out) {
  check_no_float8("rad2deg", self);
  pointwise::run("rad2deg", cpu::loops::mul, out.scalar_type(), nullptr, out, {self, Scalar(57.29577951308232)});
}
void deg2rad_kernel(const Tensor& self, Tensor& out) {
  check_no_float8("deg2rad", self);
  pointwise::run("deg2rad", cpu::loops::mul, out.scalar_type(), nullptr, out, {self, Scalar(0.017453292519943295)});
}
void logit_kernel(const Tensor& self, std::optional<double> eps, Tensor& out) {
  if (!eps.has_value() || *eps < 0) return run("logit", cpu::loops::logit, self, out);
  const Params params(cpu::compute_type(out.scalar_type()), {Scalar(*eps)});
  pointwise::run("logit", cpu::loops::logit_eps, out.scalar_type(), params.get(), out, {self});
}
void nan_to_num_kernel(const Tensor& self, std::optional<double> nan, std::optional<double> posinf, std::optional<double> neginf,
                    Tensor& out) {
  if (self.is_complex()) {
    Tensor parts = parts_of(out);
    return nan_to_num_kernel(parts_of(self), nan, posinf, neginf, parts);
  }
  if (is_integral(self)) return pointwise::copy(out, self);
  double most = std::numeric_limits<double>::max();
  if (self.scalar_type() == ScalarType::Float) most = std::numeric_limits<float>::max();
  if (self.scalar_type() == ScalarType::Half) most = 65504.0;
  if (self.scalar_type() == ScalarType::BFloat16) most = 3.3895313892515355e38;
  const Params params(cpu::compute_type(out.scalar_type()),
                      {Scalar(nan.value_or(0.0)), Scalar(posinf.value_or(most)), Scalar(neginf.value_or(-most))});
  pointwise::run("nan_to_num", cpu::loops::nan_to_num, out.scalar_type(), params.get(), out, {self});
}
void round_decimals_kernel(const Tensor& self, int64_t decimals, Tensor& out) {
  if (decimals == 0) return round_kernel(self, out);
  const Params params(cpu::compute_type(out.scalar_type()),
                      {Scalar(std::pow(10.0, std::fabs(static_cast<double>(decimals)))), Scalar(decimals < 0 ? 1.0 : 0.0)});
  pointwise::run("round_decimals", cpu::loops::round_decimals, out.scalar_type(), params.get(), out, {self});
}

Tensor conj_of_complex(const Tensor& self) {
  TORCH_CHECK(self.is_complex(), "_conj: expected a complex tensor, but got one of dtype ", self.scalar_type());
  return at::_conj_physical(self);
}
Tensor neg_view(const Tensor& self) { return at::neg(self); }
Tensor conj(const Tensor& self) { return self.is_complex() ? at::_conj_physical(self) : self; }
Tensor positive(const Tensor& self) {
  TORCH_CHECK_NOT_IMPLEMENTED(self.scalar_type() != ScalarType::Bool, "The `+` operator, on a bool tensor is not supported.");
  return self;
}

// self = mantissa * 2^exponent, |mantissa| in [0.5, 1).
std::array<TensorSpec, 2> frexp_meta(const Tensor& self) {
  TORCH_CHECK(self.is_floating_point(), "torch.frexp() only supports floating-point dtypes");
  return {result_spec({self}, self.scalar_type()), result_spec({self}, ScalarType::Int)};
}
void frexp_cpu(const Tensor& self, Tensor& mantissa, Tensor& exponent) {
  check_no_float8("frexp", self);
  const ScalarType compute = cpu::compute_type(self.scalar_type());
  TORCH_CHECK_NOT_IMPLEMENTED(compute == ScalarType::Float || compute == ScalarType::Double,
                              "\"frexp\" not implemented for '", self.scalar_type(), "'");
  const cpu::ElementArg args[] = {{pointwise::operand_of(mantissa), mantissa.scalar_type(), compute},
                                  {pointwise::operand_of(exponent), exponent.scalar_type(), ScalarType::Int},
                                  {pointwise::operand_of(self), self.scalar_type(), compute}};
  cpu::elementwise(compute == ScalarType::Double ? cpu::frexp_double : cpu::frexp_float, nullptr, args, 2, 3);
}

TensorSpec backward_of_result_meta(const Tensor& grad_output, const Tensor& output) {
  return result_spec({grad_output, output}, pointwise::promoted_type({grad_output, output}));
}
// Complex results y take conj(y).
void sigmoid_backward_kernel(const Tensor& grad_output, const Tensor& output, Tensor& out) {
  pointwise::run("sigmoid_backward", cpu::loops::sigmoid_backward, out.scalar_type(), nullptr, out, {grad_output, output});
}
void tanh_backward_kernel(const Tensor& grad_output, const Tensor& output, Tensor& out) {
  pointwise::run("tanh_backward", cpu::loops::tanh_backward, out.scalar_type(), nullptr, out, {grad_output, output});
}

}  // namespace at::native
