// add, sub, mul, div, powers and their kin: shape rules and CPU kernels.
#include "aten/core/empty.h"
#include "aten/core/structured.h"
#include "aten/core/tensor.h"
#include "aten/core/tensor_spec.h"
#include "aten/cpu/copy.h"
#include "aten/cpu/loops/integer.h"
#include "aten/cpu/loops/loops.h"
#include "aten/cpu/pointwise.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/binary/as_element.h"
#include "aten/ops/binary/kernels.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/shared/arguments.h"
#include "aten/ops/unary/ops.h"
#include "c10/core/grad_mode.h"

namespace at::native {

using pointwise::Input;
using pointwise::Params;
using pointwise::promoted_type;
using pointwise::result_spec;
using pointwise::to_floating;

namespace {

// One value expanded: its layout is nobody's.
inline bool has_no_layout(const TensorImpl& t) {
  if (t.dim() < 2) return true;
  for (int64_t d = 0; d < t.dim(); ++d) {
    if (t.stride(d) != 0 && t.size(d) != 1) return false;
  }
  return true;
}

// The common call: equal dtypes, equal shapes, contiguous (or one value expanded, as the gradient of a sum).
inline bool is_plain(const Tensor& self, const Tensor& other) {
  const TensorImpl *a = self.unsafeGetTensorImpl(), *b = other.unsafeGetTensorImpl();
  if (a == nullptr || b == nullptr || a->dtype() != b->dtype() || a->numel() != b->numel() || a->dim() != b->dim() ||
      a->device() != b->device()) {
    return false;
  }
  if (C10_UNLIKELY(!a->is_contiguous() && !has_no_layout(*a))) return false;
  if (C10_UNLIKELY(!b->is_contiguous() && !has_no_layout(*b))) return false;
  const int64_t *x = a->sizes().data(), *y = b->sizes().data();
  for (int64_t d = 0; d < a->dim(); ++d) {
    if (x[d] != y[d]) return false;
  }
  return true;
}

TensorSpec arithmetic_spec(const Tensor& self, const Tensor& other) {
  if (C10_LIKELY(is_plain(self, other))) {
    const TensorImpl& impl = *self.unsafeGetTensorImpl();
    return {DimVector(impl.sizes()), DimVector(), impl.dtype(), impl.device()};
  }
  return result_spec({self, other}, promoted_type({self, other}));
}
TensorSpec arithmetic_spec(const Tensor& self, const Scalar& other) {
  return result_spec({self}, promoted_type({self, other}));
}
TensorSpec floating_spec(const Input& self, const Input& other) {
  return result_spec({self, other}, to_floating(promoted_type({self, other})));
}

// No device has it for complex numbers.
template <class Self, class Other>
TensorSpec xlogy_spec(const Self& self, const Other& other) {
  TensorSpec spec = floating_spec(self, other);
  TORCH_CHECK_NOT_IMPLEMENTED(!isComplexType(spec.dtype), "\"xlogy_cpu\" not implemented for '", toString(spec.dtype), "'");
  return spec;
}

void check_alpha(ScalarType result, const Scalar& alpha) {
  TORCH_CHECK(!alpha.isBoolean() || result == ScalarType::Bool, "Boolean alpha only supported for Boolean results.");
  TORCH_CHECK(isFloatingType(result) || isComplexType(result) || alpha.isIntegral(true),
              "For integral input tensors, argument alpha must not be a floating point number.");
  TORCH_CHECK(isComplexType(result) || !alpha.isComplex(),
              "For non-complex input tensors, argument alpha must not be a complex number.");
}
void check_not_bool(bool self_is_bool, bool other_is_bool) {
  TORCH_CHECK_NOT_IMPLEMENTED(!self_is_bool || !other_is_bool,
              "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator "
              "instead.");
  TORCH_CHECK_NOT_IMPLEMENTED(!self_is_bool && !other_is_bool,
              "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the "
              "`~` or `logical_not()` operator instead.");
}

// out = a + alpha * b.
void add_scaled(const Input& a, const Input& b, const Scalar& alpha, Tensor& out) {
  const ScalarType dtype = out.scalar_type();
  if (C10_LIKELY(is_one(alpha))) {
    pointwise::run("add", cpu::loops::add, dtype, nullptr, out, {a, b});
    return;
  }
  const Params params(cpu::compute_type(dtype), {alpha});
  pointwise::run("add", cpu::loops::add_scaled, dtype, params.get(), out, {a, b});
}
// out = a - alpha * b.
void subtract_scaled(const Input& a, const Input& b, const Scalar& alpha, Tensor& out) {
  if (C10_LIKELY(is_one(alpha))) {
    pointwise::run("sub", cpu::loops::sub, out.scalar_type(), nullptr, out, {a, b});
  } else {
    add_scaled(a, b, -alpha, out);
  }
}

// Whether a divisor is zero, once it has the result's type.
bool has_zero(const Tensor& divisor, ScalarType type) {
  if (!divisor.is_cpu()) return false;  // a device gives what it gives
  const Tensor divisors = dense(divisor.scalar_type() == type ? divisor : at::to(divisor, type));
  return cpu::visit_real(type, "division", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* values = divisors.data_ptr<T>();
    bool zero = false;
    for (int64_t i = 0; i < divisors.numel(); ++i) zero |= values[i] == T(0);
    return zero;
  });
}

// Integers by an integer loop, the others by a floating one. A zero divisor is looked for before anything is written.
void divide_integers(const char* name, const cpu::ElementOp& op, const Input& a, const Input& b, Tensor& out) {
  const ScalarType type = out.scalar_type();
  const Scalar x = a.tensor() != nullptr ? Scalar() : as_element(a.number(), type);
  const Scalar y = b.tensor() != nullptr ? Scalar() : as_element(b.number(), type);
  const bool zero = b.tensor() != nullptr ? has_zero(Tensor(b.tensor()->getIntrusivePtr()), type) : y.equal(0);
  TORCH_CHECK(out.numel() == 0 || !zero, "ZeroDivisionError");
  const cpu::DivisionContext context;
  pointwise::run(name, op, type, &context, out, {a.tensor() != nullptr ? a : Input(x), b.tensor() != nullptr ? b : Input(y)});
}
void divide(const char* name, const cpu::ElementOp& of_integers, const cpu::ElementOp& of_floats, const Input& a,
            const Input& b, Tensor& out) {
  if (isIntegralType(out.scalar_type(), true)) {
    divide_integers(name, of_integers, a, b, out);
  } else {
    pointwise::run(name, of_floats, out.scalar_type(), nullptr, out, {a, b});
  }
}

enum class Rounding { kNone, kTrunc, kFloor };
Rounding rounding_of(std::optional<std::string_view> mode) {
  if (!mode.has_value()) return Rounding::kNone;
  if (*mode == "trunc") return Rounding::kTrunc;
  if (*mode == "floor") return Rounding::kFloor;
  TORCH_CHECK(false, "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '", *mode, "'");
}
TensorSpec div_mode_spec(const Tensor& self, const Input& other, std::optional<std::string_view> mode) {
  const ScalarType type = promoted_type({self, other});
  const Rounding rounding = rounding_of(mode);
  TORCH_CHECK(rounding == Rounding::kNone || !isComplexType(type), "div with a rounding mode is not supported for complex tensors");
  return result_spec({self, other}, rounding == Rounding::kNone ? to_floating(type) : type);
}
void div_mode(const Tensor& self, const Input& other, std::optional<std::string_view> mode, Tensor& out) {
  switch (rounding_of(mode)) {
    case Rounding::kNone: return pointwise::run("div", cpu::loops::div, out.scalar_type(), nullptr, out, {self, other});
    case Rounding::kTrunc:
      // The quotient of two tensors is rounded to the dtype before it is truncated, also to one that is computed in float.
      if (isReducedFloatingType(out.scalar_type()) && other.tensor() != nullptr && other.tensor()->numel() != 1) {
        pointwise::run("div", cpu::loops::div, out.scalar_type(), nullptr, out, {self, other});
        return pointwise::run("trunc", cpu::loops::trunc, out.scalar_type(), nullptr, out, {out});
      }
      return divide("div_trunc", cpu::loops::int_trunc_divide, cpu::loops::trunc_divide, self, other, out);
    case Rounding::kFloor: return divide("div_floor", cpu::loops::int_floor_divide, cpu::loops::floor_divide, self, other, out);
  }
}

}  // namespace

// --- add and sub ---

TensorSpec add_meta(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  TensorSpec spec = arithmetic_spec(self, other);
  if (C10_UNLIKELY(!alpha.isIntegral(false))) check_alpha(spec.dtype, alpha);
  return spec;
}
void add_kernel(const Tensor& self, const Tensor& other, const Scalar& alpha, Tensor& out) {
  if (C10_LIKELY(is_one(alpha)) && pointwise::run_direct(cpu::loops::add, out, self, other)) return;
  add_scaled(self, other, alpha, out);
}

TensorSpec add_scalar_meta(const Tensor& self, const Scalar& other, const Scalar& alpha) {
  TensorSpec spec = arithmetic_spec(self, other);
  check_alpha(spec.dtype, alpha);
  return spec;
}
void add_scalar_kernel(const Tensor& self, const Scalar& other, const Scalar& alpha, Tensor& out) {
  add_scaled(self, other, alpha, out);
}

TensorSpec sub_meta(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  check_not_bool(self.scalar_type() == ScalarType::Bool, other.scalar_type() == ScalarType::Bool);
  return add_meta(self, other, alpha);
}
void sub_kernel(const Tensor& self, const Tensor& other, const Scalar& alpha, Tensor& out) {
  if (C10_LIKELY(is_one(alpha)) && pointwise::run_direct(cpu::loops::sub, out, self, other)) return;
  subtract_scaled(self, other, alpha, out);
}
TensorSpec sub_scalar_meta(const Tensor& self, const Scalar& other, const Scalar& alpha) {
  check_not_bool(self.scalar_type() == ScalarType::Bool, other.isBoolean());
  return add_scalar_meta(self, other, alpha);
}
void sub_scalar_kernel(const Tensor& self, const Scalar& other, const Scalar& alpha, Tensor& out) {
  subtract_scaled(self, other, alpha, out);
}
void rsub_kernel(const Tensor& self, const Tensor& other, const Scalar& alpha, Tensor& out) {
  subtract_scaled(other, self, alpha, out);
}
void rsub_scalar_kernel(const Tensor& self, const Scalar& other, const Scalar& alpha, Tensor& out) {
  subtract_scaled(other, self, alpha, out);
}

// --- mul and div ---

TensorSpec mul_meta(const Tensor& self, const Tensor& other) { return arithmetic_spec(self, other); }
void mul_kernel(const Tensor& self, const Tensor& other, Tensor& out) {
  if (pointwise::run_direct(cpu::loops::mul, out, self, other)) return;
  pointwise::run("mul", cpu::loops::mul, out.scalar_type(), nullptr, out, {self, other});
}
TensorSpec mul_scalar_meta(const Tensor& self, const Scalar& other) {
  TORCH_CHECK_NOT_IMPLEMENTED(!isFloat8Type(self.scalar_type()), "\"mul\" of a number not implemented for '",
                              self.scalar_type(), "'");
  return arithmetic_spec(self, other);
}
void mul_scalar_kernel(const Tensor& self, const Scalar& other, Tensor& out) {
  pointwise::run("mul", cpu::loops::mul, out.scalar_type(), nullptr, out, {self, other});
}

TensorSpec div_meta(const Tensor& self, const Tensor& other) {
  if (self.is_floating_point() && is_plain(self, other)) return arithmetic_spec(self, other);
  return floating_spec(self, other);
}
void div_kernel(const Tensor& self, const Tensor& other, Tensor& out) {
  if (pointwise::run_direct(cpu::loops::div, out, self, other)) return;
  pointwise::run("div", cpu::loops::div, out.scalar_type(), nullptr, out, {self, other});
}
TensorSpec div_scalar_meta(const Tensor& self, const Scalar& other) { return floating_spec(self, other); }
void div_scalar_kernel(const Tensor& self, const Scalar& other, Tensor& out) {
  pointwise::run("div", cpu::loops::div, out.scalar_type(), nullptr, out, {self, other});
}
TensorSpec div_mode_meta(const Tensor& self, const Tensor& other, std::optional<std::string_view> rounding_mode) {
  return div_mode_spec(self, other, rounding_mode);
}
void div_mode_kernel(const Tensor& self, const Tensor& other, std::optional<std::string_view> rounding_mode,
                     Tensor& out) {
  div_mode(self, other, rounding_mode, out);
}
TensorSpec div_scalar_mode_meta(const Tensor& self, const Scalar& other, std::optional<std::string_view> rounding_mode) {
  return div_mode_spec(self, other, rounding_mode);
}
void div_scalar_mode_kernel(const Tensor& self, const Scalar& other, std::optional<std::string_view> rounding_mode,
                            Tensor& out) {
  div_mode(self, other, rounding_mode, out);
}
namespace {

// `name`: as PyTorch's error names the loop.
template <class TensorOrScalar>
TensorSpec real_spec(const char* name, const Tensor& self, const TensorOrScalar& other) {
  TensorSpec spec = arithmetic_spec(self, other);
  TORCH_CHECK_NOT_IMPLEMENTED(!isComplexType(spec.dtype), "\"", name, "\" not implemented for '", spec.dtype, "'");
  return spec;
}
TensorSpec extremum_spec(const char* name, const Tensor& self, const Tensor& other) {
  TensorSpec spec = arithmetic_spec(self, other);
  TORCH_CHECK_TYPE(!isComplexType(spec.dtype), name, " not implemented for complex tensors.");
  return spec;
}

}  // namespace

TensorSpec floor_divide_meta(const Tensor& self, const Tensor& other) {
  return real_spec("div_floor_cpu", self, other);
}
TensorSpec floor_divide_scalar_meta(const Tensor& self, const Scalar& other) {
  return real_spec("div_floor_cpu", self, other);
}
TensorSpec fmax_meta(const Tensor& self, const Tensor& other) {
  return extremum_spec("fmax", self, other);
}
TensorSpec fmin_meta(const Tensor& self, const Tensor& other) {
  return extremum_spec("fmin", self, other);
}
TensorSpec fmod_meta(const Tensor& self, const Tensor& other) {
  return real_spec("fmod_cpu", self, other);
}
TensorSpec fmod_scalar_meta(const Tensor& self, const Scalar& other) {
  return real_spec("fmod_cpu", self, other);
}
TensorSpec maximum_meta(const Tensor& self, const Tensor& other) {
  return extremum_spec("maximum", self, other);
}
TensorSpec minimum_meta(const Tensor& self, const Tensor& other) {
  return extremum_spec("minimum", self, other);
}
TensorSpec remainder_from_scalar_meta(const Scalar& self, const Tensor& other) {
  return real_spec("remainder_cpu", other, self);
}
TensorSpec remainder_meta(const Tensor& self, const Tensor& other) {
  return real_spec("remainder_cpu", self, other);
}
TensorSpec remainder_scalar_meta(const Tensor& self, const Scalar& other) {
  return real_spec("remainder_cpu", self, other);
}
void floor_divide_kernel(const Tensor& self, const Tensor& other, Tensor& out) {
  divide("floor_divide", cpu::loops::int_floor_divide, cpu::loops::floor_divide, self, other, out);
}
void floor_divide_scalar_kernel(const Tensor& self, const Scalar& other, Tensor& out) {
  divide("floor_divide", cpu::loops::int_floor_divide, cpu::loops::floor_divide, self, other, out);
}
void fmod_kernel(const Tensor& self, const Tensor& other, Tensor& out) {
  divide("fmod", cpu::loops::int_fmod, cpu::loops::fmod, self, other, out);
}
void fmod_scalar_kernel(const Tensor& self, const Scalar& other, Tensor& out) {
  divide("fmod", cpu::loops::int_fmod, cpu::loops::fmod, self, other, out);
}
void remainder_kernel(const Tensor& self, const Tensor& other, Tensor& out) {
  divide("remainder", cpu::loops::int_remainder, cpu::loops::remainder, self, other, out);
}
void remainder_scalar_kernel(const Tensor& self, const Scalar& other, Tensor& out) {
  divide("remainder", cpu::loops::int_remainder, cpu::loops::remainder, self, other, out);
}
void remainder_from_scalar_kernel(const Scalar& self, const Tensor& other, Tensor& out) {
  divide("remainder", cpu::loops::int_remainder, cpu::loops::remainder, self, other, out);
}

// --- extremes ---

void maximum_kernel(const Tensor& self, const Tensor& other, Tensor& out) {
  pointwise::run("maximum", cpu::loops::maximum, out.scalar_type(), nullptr, out, {self, other});
}
void minimum_kernel(const Tensor& self, const Tensor& other, Tensor& out) {
  pointwise::run("minimum", cpu::loops::minimum, out.scalar_type(), nullptr, out, {self, other});
}
void fmax_kernel(const Tensor& self, const Tensor& other, Tensor& out) {
  pointwise::run("fmax", cpu::loops::fmax, out.scalar_type(), nullptr, out, {self, other});
}
void fmin_kernel(const Tensor& self, const Tensor& other, Tensor& out) {
  pointwise::run("fmin", cpu::loops::fmin, out.scalar_type(), nullptr, out, {self, other});
}

// --- powers ---

TensorSpec pow_meta(const Tensor& self, const Tensor& exponent) { return arithmetic_spec(self, exponent); }
void pow_kernel(const Tensor& self, const Tensor& exponent, Tensor& out) {
  pointwise::run("pow", cpu::loops::pow, out.scalar_type(), nullptr, out, {self, exponent});
}
TensorSpec pow_scalar_meta(const Tensor& self, const Scalar& exponent) {
  TensorSpec spec = arithmetic_spec(self, exponent);
  TORCH_CHECK(!isIntegralType(spec.dtype, true) || !exponent.isIntegral(true) || exponent.toLong() >= 0,
              "Integers to negative integer powers are not allowed.");
  return spec;
}
void pow_scalar_kernel(const Tensor& self, const Scalar& exponent, Tensor& out) {
  const ScalarType dtype = out.scalar_type();
  const auto unary = [&](const cpu::ElementOp& op) { pointwise::run("pow", op, dtype, nullptr, out, {self}); };
  if (exponent.equal(int64_t{0})) {
    at::fill_(out, 1);
  } else if (exponent.equal(int64_t{1})) {
    pointwise::copy(out, self);
  } else if (exponent.equal(int64_t{2})) {
    unary(cpu::loops::square);
  } else if (isFloatingType(dtype) && exponent.equal(int64_t{3})) {
    unary(cpu::loops::cube);
  } else if (isFloatingType(dtype) && exponent.equal(0.5)) {
    unary(cpu::loops::sqrt);
  } else if (isFloatingType(dtype) && exponent.equal(-0.5)) {
    unary(cpu::loops::rsqrt);
  } else if (isFloatingType(dtype) && exponent.equal(int64_t{-1})) {
    unary(cpu::loops::reciprocal);
  } else if (isFloatingType(dtype) && exponent.equal(int64_t{-2})) {
    unary(cpu::loops::inverse_square);
  } else {
    pointwise::run("pow", cpu::loops::pow, dtype, nullptr, out, {self, exponent});
  }
}
TensorSpec pow_from_scalar_meta(const Scalar& self, const Tensor& exponent) { return arithmetic_spec(exponent, self); }
void pow_from_scalar_kernel(const Scalar& self, const Tensor& exponent, Tensor& out) {
  pointwise::run("pow", cpu::loops::pow, out.scalar_type(), nullptr, out, {self, exponent});
}

namespace {
ScalarType widest(const Input& a, const Input& b) {
  return isComplexType(promoted_type({a, b})) ? ScalarType::ComplexDouble : ScalarType::Double;
}
Tensor widen(const Tensor& t, ScalarType type) { return at::to(t, type); }
Scalar widen(const Scalar& s, ScalarType type) {
  return isComplexType(type) ? Scalar(s.toComplexDouble()) : Scalar(s.toDouble());
}
}  // namespace

Tensor float_power(const Tensor& self, const Tensor& exponent) {
  const ScalarType type = widest(self, exponent);
  return at::pow(widen(self, type), widen(exponent, type));
}
Tensor float_power_scalar(const Tensor& self, const Scalar& exponent) {
  const ScalarType type = widest(self, exponent);
  return at::pow(widen(self, type), widen(exponent, type));
}
Tensor float_power_from_scalar(const Scalar& self, const Tensor& exponent) {
  const ScalarType type = widest(self, exponent);
  return at::pow(widen(self, type), widen(exponent, type));
}
Tensor ldexp(const Tensor& self, const Tensor& other) {
  const ScalarType type = to_floating(promoted_type({self, other}));
  if (isComplexType(type)) return at::mul(self, at::pow(Scalar(2.0), other));
  // In two steps: 2^other alone may overflow where the product does not. An infinite exponent stays in the second.
  const Tensor exponent = widen(other, type);
  const Tensor half = at::floor(at::nan_to_num(at::mul(exponent, Scalar(0.5)), 0.0, 4096.0, -4096.0));
  return at::mul(at::mul(widen(self, type), at::pow(Scalar(2.0), half)), at::pow(Scalar(2.0), at::sub(exponent, half)));
}

namespace {
// What a composed operator reads where it then writes into `self`: backward may need the old values.
Tensor old_values(const Tensor& self, bool other_requires_grad) {
  return GradMode::is_enabled() && (self.requires_grad() || other_requires_grad) ? at::clone(self) : self;
}
}  // namespace

Tensor& float_power_(Tensor& self, const Tensor& exponent) {
  return structured::assign_inplace("float_power_", self, native::float_power(old_values(self, exponent.requires_grad()), exponent));
}
Tensor& float_power_scalar_(Tensor& self, const Scalar& exponent) {
  return structured::assign_inplace("float_power_", self, native::float_power_scalar(old_values(self, false), exponent));
}
Tensor& ldexp_(Tensor& self, const Tensor& other) {
  return structured::assign_inplace("ldexp_", self, native::ldexp(old_values(self, other.requires_grad()), other));
}

// --- floating functions of two arguments ---

TensorSpec floating_meta(const Tensor& self, const Tensor& other) {
  TensorSpec spec = floating_spec(self, other);
  TORCH_CHECK_NOT_IMPLEMENTED(!isComplexType(spec.dtype), "the operation is not supported for complex tensors, got ", spec.dtype);
  return spec;
}
void atan2_kernel(const Tensor& self, const Tensor& other, Tensor& out) {
  pointwise::run("atan2", cpu::loops::atan2, out.scalar_type(), nullptr, out, {self, other});
}
void copysign_kernel(const Tensor& self, const Tensor& other, Tensor& out) {
  pointwise::run("copysign", cpu::loops::copysign, out.scalar_type(), nullptr, out, {self, other});
}
TensorSpec copysign_scalar_meta(const Tensor& self, const Scalar& other) {
  TensorSpec spec = floating_spec(self, other);
  TORCH_CHECK_NOT_IMPLEMENTED(!isComplexType(spec.dtype), "copysign is not supported for complex tensors");
  return spec;
}
void copysign_scalar_kernel(const Tensor& self, const Scalar& other, Tensor& out) {
  pointwise::run("copysign", cpu::loops::copysign, out.scalar_type(), nullptr, out, {self, other});
}
TensorSpec floating_only_meta(const Tensor& self, const Tensor& other) {
  TensorSpec spec = arithmetic_spec(self, other);
  TORCH_CHECK_NOT_IMPLEMENTED(isFloatingType(spec.dtype), "the operation is implemented for floating-point tensors only, got ",
                              spec.dtype);
  return spec;
}
TensorSpec logaddexp_meta(const Tensor& self, const Tensor& other) {
  TensorSpec spec = arithmetic_spec(self, other);
  TORCH_CHECK_NOT_IMPLEMENTED(isFloatingType(spec.dtype) || isComplexType(spec.dtype), "\"logaddexp\" not implemented for '", toString(spec.dtype), "'");
  return spec;
}
void hypot_kernel(const Tensor& self, const Tensor& other, Tensor& out) {
  pointwise::run("hypot", cpu::loops::hypot, out.scalar_type(), nullptr, out, {self, other});
}
void nextafter_cpu(const Tensor& self, const Tensor& other, Tensor& out) {
  const ScalarType type = out.scalar_type();
  if (type == ScalarType::Half || type == ScalarType::BFloat16) {
    const ScalarType computes[] = {type, type, type};
    return pointwise::run_loop(type == ScalarType::Half ? cpu::nextafter_half : cpu::nextafter_bfloat16, nullptr, computes, out, {self, other});
  }
  TORCH_CHECK_NOT_IMPLEMENTED(out.scalar_type() == ScalarType::Float || out.scalar_type() == ScalarType::Double,
                              "\"nextafter\" not implemented for '", out.scalar_type(), "'");
  pointwise::run("nextafter", cpu::loops::nextafter, out.scalar_type(), nullptr, out, {self, other});
}
void logaddexp_kernel(const Tensor& self, const Tensor& other, Tensor& out) {
  pointwise::run("logaddexp", cpu::loops::logaddexp, out.scalar_type(), nullptr, out, {self, other});
}
void logaddexp2_kernel(const Tensor& self, const Tensor& other, Tensor& out) {
  pointwise::run("logaddexp2", cpu::loops::logaddexp2, out.scalar_type(), nullptr, out, {self, other});
}
void xlogy_kernel(const Tensor& self, const Tensor& other, Tensor& out) {
  pointwise::run("xlogy", cpu::loops::xlogy, out.scalar_type(), nullptr, out, {self, other});
}
TensorSpec xlogy_from_scalar_meta(const Scalar& self, const Tensor& other) { return xlogy_spec(self, other); }
TensorSpec xlogy_scalar_meta(const Tensor& self, const Scalar& other) { return xlogy_spec(self, other); }
TensorSpec xlogy_meta(const Tensor& self, const Tensor& other) { return xlogy_spec(self, other); }
void xlogy_from_scalar_kernel(const Scalar& self, const Tensor& other, Tensor& out) {
  pointwise::run("xlogy", cpu::loops::xlogy, out.scalar_type(), nullptr, out, {self, other});
}
void xlogy_scalar_kernel(const Tensor& self, const Scalar& other, Tensor& out) {
  pointwise::run("xlogy", cpu::loops::xlogy, out.scalar_type(), nullptr, out, {self, other});
}
TensorSpec heaviside_meta(const Tensor& self, const Tensor& values) {
  TORCH_CHECK_NOT_IMPLEMENTED(!self.is_complex() && !values.is_complex(),
                              "heaviside is not yet implemented for complex tensors.");
  TORCH_CHECK(self.scalar_type() == values.scalar_type(),
              "heaviside is not yet implemented for tensors with different dtypes.");
  return arithmetic_spec(self, values);
}
void heaviside_kernel(const Tensor& self, const Tensor& values, Tensor& out) {
  pointwise::run("heaviside", cpu::loops::heaviside, out.scalar_type(), nullptr, out, {self, values});
}

}  // namespace at::native
