// clamp, where, addcmul, addcdiv, lerp.
#include <cmath>
#include <limits>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/core/tensor_spec.h"
#include "aten/cpu/loops/loops.h"
#include "aten/cpu/loops/select.h"
#include "aten/cpu/pointwise.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/pointwise/kernels.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/shared/arguments.h"

namespace at::native {

using pointwise::Params;
using pointwise::promoted_type;
using pointwise::result_spec;

namespace {
TensorSpec real_spec(const char* name, pointwise::Inputs inputs, ScalarType dtype) {
  TORCH_CHECK_NOT_IMPLEMENTED(!isComplexType(dtype), name, " is not supported for complex types");
  return result_spec(inputs, dtype);
}
}  // namespace

// --- clamp ---

TensorSpec clamp_meta(const Tensor& self, const std::optional<Scalar>& min, const std::optional<Scalar>& max) {
  TORCH_CHECK(min.has_value() || max.has_value(), "torch.clamp: At least one of 'min' or 'max' must not be None");
  const Scalar& low = min.has_value() ? *min : *max;
  const Scalar& high = max.has_value() ? *max : *min;
  TORCH_CHECK(self.is_complex() || !(low.isComplex() || high.isComplex()),
              "value cannot be converted to type double without overflow");
  return real_spec("clamp", {self}, promoted_type({self, low, high}));
}
namespace {
// A bound as an integer tensor's elements can have it: one beyond all of them is their own limit, if it leaves any.
Scalar within_limits(const Scalar& bound, ScalarType dtype, const char* name, bool is_min) {
  if (!isIntegralType(dtype, false) || !bound.isIntegral(true)) return bound;
  const int bits = 8 * static_cast<int>(elementSize(dtype)) - (isSignedType(dtype) ? 1 : 0);
  const uint64_t most = std::numeric_limits<uint64_t>::max() >> (64 - bits);
  const int64_t least = isSignedType(dtype) ? -static_cast<int64_t>(most) - 1 : 0;
  const bool below = !bound.isUnsigned() && bound.toLong() < least;
  const bool above = bound.isUnsigned() && bound.toUInt64() > most;
  TORCH_CHECK(!(is_min ? above : below), "Clamp ", name, " value ", bound.toDouble(),
              " is outside the representable range of ", dtype);
  return above ? Scalar(most) : below ? Scalar(least) : bound;
}
}  // namespace

void clamp_kernel(const Tensor& self, const std::optional<Scalar>& min, const std::optional<Scalar>& max, Tensor& out) {
  const ScalarType dtype = out.scalar_type();
  for (const std::optional<Scalar>* bound : {&min, &max}) {
    if (bound->has_value() && (*bound)->isFloatingPoint() && std::isnan((*bound)->toDouble())) {
      at::fill_(out, std::numeric_limits<double>::quiet_NaN());
      return;
    }
  }
  const Scalar low = min.has_value() ? within_limits(*min, dtype, "min", true) : Scalar();
  const Scalar high = max.has_value() ? within_limits(*max, dtype, "max", false) : Scalar();
  const ScalarType compute = cpu::compute_type(dtype);
  if (min.has_value() && max.has_value()) {
    const Params params(compute, {low, high});
    pointwise::run("clamp", cpu::loops::clamp, dtype, params.get(), out, {self});
  } else {
    const Params params(compute, {min.has_value() ? low : high});
    pointwise::run("clamp", min.has_value() ? cpu::loops::clamp_min : cpu::loops::clamp_max, dtype, params.get(), out, {self});
  }
}
TensorSpec clamp_min_meta(const Tensor& self, const Scalar& min) { return clamp_meta(self, min, std::nullopt); }
void clamp_min_kernel(const Tensor& self, const Scalar& min, Tensor& out) {
  clamp_kernel(self, min, std::nullopt, out);
}
TensorSpec clamp_max_meta(const Tensor& self, const Scalar& max) { return clamp_meta(self, std::nullopt, max); }
void clamp_max_kernel(const Tensor& self, const Scalar& max, Tensor& out) {
  clamp_kernel(self, std::nullopt, max, out);
}

namespace {
}  // namespace

TensorSpec clamp_tensor_meta(const Tensor& self, const std::optional<Tensor>& min, const std::optional<Tensor>& max) {
  TORCH_CHECK(given(min) || given(max), "torch.clamp: At least one of 'min' or 'max' must not be None");
  const Tensor& low = given(min) ? *min : *max;
  const Tensor& high = given(max) ? *max : *min;
  return real_spec("clamp", {self, low, high}, promoted_type({self, low, high}));
}
void clamp_tensor_kernel(const Tensor& self, const std::optional<Tensor>& min, const std::optional<Tensor>& max,
                         Tensor& out) {
  const ScalarType dtype = out.scalar_type();
  if (given(min) && given(max)) {
    pointwise::run("clamp", cpu::loops::clamp_tensor, dtype, nullptr, out, {self, *min, *max});
  } else if (given(min)) {
    pointwise::run("clamp", cpu::loops::maximum, dtype, nullptr, out, {self, *min});
  } else {
    pointwise::run("clamp", cpu::loops::minimum, dtype, nullptr, out, {self, *max});
  }
}
TensorSpec clamp_bound_tensor_meta(const Tensor& self, const Tensor& bound) {
  return real_spec("clamp", {self, bound}, promoted_type({self, bound}));
}
void clamp_min_tensor_kernel(const Tensor& self, const Tensor& min, Tensor& out) {
  pointwise::run("clamp_min", cpu::loops::maximum, out.scalar_type(), nullptr, out, {self, min});
}
void clamp_max_tensor_kernel(const Tensor& self, const Tensor& max, Tensor& out) {
  pointwise::run("clamp_max", cpu::loops::minimum, out.scalar_type(), nullptr, out, {self, max});
}

// --- where ---

TensorSpec where_meta(const Tensor& condition, const Tensor& self, const Tensor& other) {
  TORCH_CHECK(condition.scalar_type() == ScalarType::Bool || condition.scalar_type() == ScalarType::Byte,
              "where expected condition to be a boolean tensor, but got a tensor with dtype ", condition.scalar_type());
  if (condition.scalar_type() == ScalarType::Byte) {
    KD_WARN_DEPRECATION_ONCE("where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future "
                             "version. Use a boolean condition instead.");
  }
  TensorSpec spec = result_spec({condition, self, other}, promoted_type({self, other}));
  if (condition.is_contiguous() && self.is_contiguous() && other.is_contiguous()) spec.strides = {};
  return spec;
}
void where_cpu(const Tensor& condition, const Tensor& self, const Tensor& other, Tensor& out) {
  const ScalarType dtype = out.scalar_type();
  const ScalarType computes[] = {dtype, condition.scalar_type(), dtype, dtype};
  const cpu::ElementLoop loop = cpu::select_loop(static_cast<int64_t>(out.itemsize()));
  pointwise::run_loop(loop, nullptr, computes, out, {condition, self, other});
}
Tensor where_scalar_self(const Tensor& condition, const Scalar& self, const Tensor& other) {
  return at::where(condition, wrapped_scalar_tensor(self), other);
}
Tensor where_scalar_other(const Tensor& condition, const Tensor& self, const Scalar& other) {
  return at::where(condition, self, wrapped_scalar_tensor(other));
}
Tensor where_scalars(const Tensor& condition, const Scalar& self, const Scalar& other) {
  return at::where(condition, wrapped_scalar_tensor(self), wrapped_scalar_tensor(other));
}

// --- three operands ---

TensorSpec addcmul_meta(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value) {
  return result_spec({self, tensor1, tensor2}, promoted_type({self, tensor1, tensor2}));
}
void addcmul_kernel(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value,
                    Tensor& out) {
  const Params params(cpu::compute_type(out.scalar_type()), {value});
  pointwise::run("addcmul", cpu::loops::addcmul, out.scalar_type(), params.get(), out, {self, tensor1, tensor2});
}
TensorSpec addcdiv_meta(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value) {
  TORCH_CHECK(!isIntegralType(tensor1.scalar_type(), true) || !isIntegralType(tensor2.scalar_type(), true),
              "Integer division with addcdiv is no longer supported, and in a future release addcdiv will perform a true "
              "division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * "
              "torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / tensor2) "
              "for float inputs. The future addcdiv behavior is just the latter implementation: (input + value * tensor1 / "
              "tensor2), for all dtypes.");
  return result_spec({self, tensor1, tensor2}, promoted_type({self, tensor1, tensor2}));
}
void addcdiv_kernel(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value,
                    Tensor& out) {
  const Params params(cpu::compute_type(out.scalar_type()), {value});
  pointwise::run("addcdiv", cpu::loops::addcdiv, out.scalar_type(), params.get(), out, {self, tensor1, tensor2});
}

namespace {
void check_same_dtype(const Tensor& self, const Tensor& other, const char* name) {
  TORCH_CHECK(self.scalar_type() == other.scalar_type(), "expected dtype ", self.dtype(), " for `", name,
              "` but got dtype ", other.dtype());
}
}  // namespace

TensorSpec lerp_scalar_meta(const Tensor& self, const Tensor& end, const Scalar&) {
  check_same_dtype(self, end, "end");
  return result_spec({self, end}, self.scalar_type());
}
void lerp_scalar_kernel(const Tensor& self, const Tensor& end, const Scalar& weight, Tensor& out) {
  const Params params(cpu::compute_type(out.scalar_type()), {weight});
  pointwise::run("lerp", cpu::loops::lerp_scalar, out.scalar_type(), params.get(), out, {self, end});
}
TensorSpec lerp_tensor_meta(const Tensor& self, const Tensor& end, const Tensor& weight) {
  check_same_dtype(self, end, "end");
  if (weight.dim() == 0) return result_spec({self, end, weight}, promoted_type({self, end, weight}));
  check_same_dtype(self, weight, "weight");
  return result_spec({self, end, weight}, self.scalar_type());
}
void lerp_tensor_kernel(const Tensor& self, const Tensor& end, const Tensor& weight, Tensor& out) {
  pointwise::run("lerp", cpu::loops::lerp, out.scalar_type(), nullptr, out, {self, end, weight});
}

}  // namespace at::native
