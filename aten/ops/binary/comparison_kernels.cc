// Comparisons, logic and bits: shape rules and CPU kernels.
#include "aten/core/tensor.h"
#include "aten/core/tensor_spec.h"
#include "aten/cpu/loops/integer.h"
#include "aten/cpu/loops/loops.h"
#include "aten/cpu/pointwise.h"
#include "aten/ops/binary/as_element.h"
#include "aten/ops/binary/kernels.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/unary/ops.h"

namespace at::native {

using pointwise::Input;
using pointwise::promoted_type;
using pointwise::result_spec;

namespace {

void compare(const char* name, const cpu::ElementOp& op, const Input& a, const Input& b, Tensor& out) {
  const ScalarType dtype = promoted_type({a, b});
  if (b.tensor() != nullptr) {
    pointwise::run_predicate(name, op, dtype, out, {a, b});
    return;
  }
  const Scalar number = as_element(b.number(), dtype);
  pointwise::run_predicate(name, op, dtype, out, {a, number});
}
void logic(const char* name, const cpu::ElementOp& op, const cpu::ElementTable& of_bools, const Tensor& a, const Tensor& b,
           Tensor& out) {
  if (promoted_type({a, b}) == ScalarType::Bool) return pointwise::run_of_bools(name, of_bools, op, out, {a, b});
  compare(name, op, a, b, out);
}
// `name`: as PyTorch's error names the loop.
TensorSpec order_spec(const char* name, const Input& a, const Input& b) {
  const ScalarType type = promoted_type({a, b});
  TORCH_CHECK_NOT_IMPLEMENTED(!isComplexType(type), "\"", name, "\" not implemented for '", type, "'");
  return b.tensor() != nullptr ? result_spec({a, b}, ScalarType::Bool) : result_spec({a}, ScalarType::Bool);
}
// The loops of bits take the dtype's width, so that shifts of narrow types computed in 32 bits end where theirs end.
void bits(const char* name, const cpu::ElementOp& op, const Input& a, const Input& b, Tensor& out) {
  const pointwise::Params width(ScalarType::Int, {static_cast<int64_t>(out.itemsize() * 8)});
  pointwise::run(name, op, out.scalar_type(), width.get(), out, {a, b});
}
void bits(const char* name, const cpu::ElementOp& op, const cpu::ElementTable& of_bytes, const cpu::ElementOp& of_bools,
          const Input& a, const Input& b, Tensor& out) {
  if (out.scalar_type() == ScalarType::Bool) return pointwise::run_of_bools(name, of_bytes, of_bools, out, {a, b});
  bits(name, op, a, b, out);
}
TensorSpec integral_spec(const char* name, const Input& a, const Input& b, bool bool_allowed) {
  const ScalarType type = promoted_type({a, b});
  TORCH_CHECK_NOT_IMPLEMENTED(isIntegralType(type, bool_allowed), "\"", name, "\" not implemented for '", type, "'");
  return result_spec({a, b}, type);
}

}  // namespace

TensorSpec equality_meta(const Tensor& self, const Tensor& other) { return result_spec({self, other}, ScalarType::Bool); }
TensorSpec equality_scalar_meta(const Tensor& self, const Scalar&) { return result_spec({self}, ScalarType::Bool); }
TensorSpec ge_meta(const Tensor& self, const Tensor& other) { return order_spec("ge_cpu", self, other); }
TensorSpec ge_scalar_meta(const Tensor& self, const Scalar& other) { return order_spec("ge_cpu", self, other); }
TensorSpec gt_meta(const Tensor& self, const Tensor& other) { return order_spec("gt_cpu", self, other); }
TensorSpec gt_scalar_meta(const Tensor& self, const Scalar& other) { return order_spec("gt_cpu", self, other); }
TensorSpec le_meta(const Tensor& self, const Tensor& other) { return order_spec("le_cpu", self, other); }
TensorSpec le_scalar_meta(const Tensor& self, const Scalar& other) { return order_spec("le_cpu", self, other); }
TensorSpec lt_meta(const Tensor& self, const Tensor& other) { return order_spec("lt_cpu", self, other); }
TensorSpec lt_scalar_meta(const Tensor& self, const Scalar& other) { return order_spec("lt_cpu", self, other); }

void eq_kernel(const Tensor& self, const Tensor& other, Tensor& out) {
  compare("eq", cpu::loops::eq, self, other, out);
}
void eq_scalar_kernel(const Tensor& self, const Scalar& other, Tensor& out) {
  compare("eq", cpu::loops::eq, self, other, out);
}
void ne_kernel(const Tensor& self, const Tensor& other, Tensor& out) {
  compare("ne", cpu::loops::ne, self, other, out);
}
void ne_scalar_kernel(const Tensor& self, const Scalar& other, Tensor& out) {
  compare("ne", cpu::loops::ne, self, other, out);
}
void lt_kernel(const Tensor& self, const Tensor& other, Tensor& out) {
  compare("lt", cpu::loops::lt, self, other, out);
}
void lt_scalar_kernel(const Tensor& self, const Scalar& other, Tensor& out) {
  compare("lt", cpu::loops::lt, self, other, out);
}
void le_kernel(const Tensor& self, const Tensor& other, Tensor& out) {
  compare("le", cpu::loops::le, self, other, out);
}
void le_scalar_kernel(const Tensor& self, const Scalar& other, Tensor& out) {
  compare("le", cpu::loops::le, self, other, out);
}
void gt_kernel(const Tensor& self, const Tensor& other, Tensor& out) {
  compare("gt", cpu::loops::gt, self, other, out);
}
void gt_scalar_kernel(const Tensor& self, const Scalar& other, Tensor& out) {
  compare("gt", cpu::loops::gt, self, other, out);
}
void ge_kernel(const Tensor& self, const Tensor& other, Tensor& out) {
  compare("ge", cpu::loops::ge, self, other, out);
}
void ge_scalar_kernel(const Tensor& self, const Scalar& other, Tensor& out) {
  compare("ge", cpu::loops::ge, self, other, out);
}

void logical_and_kernel(const Tensor& self, const Tensor& other, Tensor& out) {
  logic("logical_and", cpu::loops::logical_and, cpu::loops::bool_and, self, other, out);
}
void logical_or_kernel(const Tensor& self, const Tensor& other, Tensor& out) {
  logic("logical_or", cpu::loops::logical_or, cpu::loops::bool_or, self, other, out);
}
void logical_xor_kernel(const Tensor& self, const Tensor& other, Tensor& out) {
  logic("logical_xor", cpu::loops::logical_xor, cpu::loops::bool_xor, self, other, out);
}

TensorSpec bitwise_and_from_scalar_meta(const Scalar& self, const Tensor& other) {
  return integral_spec("bitwise_and_cpu", self, other, true);
}
TensorSpec bitwise_and_meta(const Tensor& self, const Tensor& other) {
  return integral_spec("bitwise_and_cpu", self, other, true);
}
TensorSpec bitwise_and_scalar_meta(const Tensor& self, const Scalar& other) {
  return integral_spec("bitwise_and_cpu", self, other, true);
}
TensorSpec bitwise_left_shift_from_scalar_meta(const Scalar& self, const Tensor& other) {
  return integral_spec("lshift_cpu", self, other, false);
}
TensorSpec bitwise_left_shift_meta(const Tensor& self, const Tensor& other) {
  return integral_spec("lshift_cpu", self, other, false);
}
TensorSpec bitwise_left_shift_scalar_meta(const Tensor& self, const Scalar& other) {
  return integral_spec("lshift_cpu", self, other, false);
}
TensorSpec bitwise_or_from_scalar_meta(const Scalar& self, const Tensor& other) {
  return integral_spec("bitwise_or_cpu", self, other, true);
}
TensorSpec bitwise_or_meta(const Tensor& self, const Tensor& other) {
  return integral_spec("bitwise_or_cpu", self, other, true);
}
TensorSpec bitwise_or_scalar_meta(const Tensor& self, const Scalar& other) {
  return integral_spec("bitwise_or_cpu", self, other, true);
}
TensorSpec bitwise_right_shift_from_scalar_meta(const Scalar& self, const Tensor& other) {
  return integral_spec("rshift_cpu", self, other, false);
}
TensorSpec bitwise_right_shift_meta(const Tensor& self, const Tensor& other) {
  return integral_spec("rshift_cpu", self, other, false);
}
TensorSpec bitwise_right_shift_scalar_meta(const Tensor& self, const Scalar& other) {
  return integral_spec("rshift_cpu", self, other, false);
}
TensorSpec bitwise_xor_from_scalar_meta(const Scalar& self, const Tensor& other) {
  return integral_spec("bitwise_xor_cpu", self, other, true);
}
TensorSpec bitwise_xor_meta(const Tensor& self, const Tensor& other) {
  return integral_spec("bitwise_xor_cpu", self, other, true);
}
TensorSpec bitwise_xor_scalar_meta(const Tensor& self, const Scalar& other) {
  return integral_spec("bitwise_xor_cpu", self, other, true);
}
TensorSpec gcd_meta(const Tensor& self, const Tensor& other) {
  return integral_spec("gcd_cpu", self, other, false);
}
TensorSpec lcm_meta(const Tensor& self, const Tensor& other) {
  return integral_spec("lcm_cpu", self, other, false);
}

void bitwise_and_kernel(const Tensor& self, const Tensor& other, Tensor& out) {
  bits("bitwise_and", cpu::loops::bitwise_and, cpu::loops::bool_and, cpu::loops::logical_and, self, other, out);
}
void bitwise_and_scalar_kernel(const Tensor& self, const Scalar& other, Tensor& out) {
  bits("bitwise_and", cpu::loops::bitwise_and, cpu::loops::bool_and, cpu::loops::logical_and, self, other, out);
}
void bitwise_and_from_scalar_kernel(const Scalar& self, const Tensor& other, Tensor& out) {
  bits("bitwise_and", cpu::loops::bitwise_and, cpu::loops::bool_and, cpu::loops::logical_and, self, other, out);
}
void bitwise_or_kernel(const Tensor& self, const Tensor& other, Tensor& out) {
  bits("bitwise_or", cpu::loops::bitwise_or, cpu::loops::bool_or, cpu::loops::logical_or, self, other, out);
}
void bitwise_or_scalar_kernel(const Tensor& self, const Scalar& other, Tensor& out) {
  bits("bitwise_or", cpu::loops::bitwise_or, cpu::loops::bool_or, cpu::loops::logical_or, self, other, out);
}
void bitwise_or_from_scalar_kernel(const Scalar& self, const Tensor& other, Tensor& out) {
  bits("bitwise_or", cpu::loops::bitwise_or, cpu::loops::bool_or, cpu::loops::logical_or, self, other, out);
}
void bitwise_xor_kernel(const Tensor& self, const Tensor& other, Tensor& out) {
  bits("bitwise_xor", cpu::loops::bitwise_xor, cpu::loops::bool_xor, cpu::loops::logical_xor, self, other, out);
}
void bitwise_xor_scalar_kernel(const Tensor& self, const Scalar& other, Tensor& out) {
  bits("bitwise_xor", cpu::loops::bitwise_xor, cpu::loops::bool_xor, cpu::loops::logical_xor, self, other, out);
}
void bitwise_xor_from_scalar_kernel(const Scalar& self, const Tensor& other, Tensor& out) {
  bits("bitwise_xor", cpu::loops::bitwise_xor, cpu::loops::bool_xor, cpu::loops::logical_xor, self, other, out);
}
void bitwise_left_shift_kernel(const Tensor& self, const Tensor& other, Tensor& out) {
  bits("bitwise_left_shift", cpu::loops::shift_left, self, other, out);
}
void bitwise_left_shift_scalar_kernel(const Tensor& self, const Scalar& other, Tensor& out) {
  bits("bitwise_left_shift", cpu::loops::shift_left, self, other, out);
}
void bitwise_left_shift_from_scalar_kernel(const Scalar& self, const Tensor& other, Tensor& out) {
  bits("bitwise_left_shift", cpu::loops::shift_left, self, other, out);
}
void bitwise_right_shift_kernel(const Tensor& self, const Tensor& other, Tensor& out) {
  bits("bitwise_right_shift", cpu::loops::shift_right, self, other, out);
}
void bitwise_right_shift_scalar_kernel(const Tensor& self, const Scalar& other, Tensor& out) {
  bits("bitwise_right_shift", cpu::loops::shift_right, self, other, out);
}
void bitwise_right_shift_from_scalar_kernel(const Scalar& self, const Tensor& other, Tensor& out) {
  bits("bitwise_right_shift", cpu::loops::shift_right, self, other, out);
}
void gcd_kernel(const Tensor& self, const Tensor& other, Tensor& out) {
  bits("gcd", cpu::loops::gcd, self, other, out);
}
void lcm_kernel(const Tensor& self, const Tensor& other, Tensor& out) {
  bits("lcm", cpu::loops::lcm, self, other, out);
}

// Equal, or both finite and |self - other| <= atol + rtol * |other|.
Tensor isclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  TORCH_CHECK(self.scalar_type() == other.scalar_type(), self.scalar_type(), " did not match ", other.scalar_type());
  TORCH_CHECK(rtol >= 0, "rtol must be greater than or equal to zero, but got ", rtol);
  TORCH_CHECK(atol >= 0, "atol must be greater than or equal to zero, but got ", atol);
  Tensor close = at::eq(self, other);
  if (equal_nan && (self.is_floating_point() || self.is_complex())) {
    close = at::logical_or(close, at::logical_and(at::isnan(self), at::isnan(other)));
  }
  if (rtol == 0 && atol == 0) return close;
  const auto floating = [](const Tensor& t) {
    return t.is_floating_point() || t.is_complex() ? t : at::to(t, get_default_dtype_as_scalartype());
  };
  const Tensor a = floating(self), b = floating(other);
  const Tensor allowed = at::add(at::abs(at::mul(b, rtol)), atol);
  const Tensor near = at::le(at::abs(at::sub(a, b)), allowed);
  return at::logical_or(close, at::logical_and(near, at::logical_and(at::isfinite(a), at::isfinite(b))));
}

}  // namespace at::native
