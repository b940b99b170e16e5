#include "autograd/forward_ad.h"

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/engine/forward_grad.h"
#include "c10/util/exception.h"

namespace torch::autograd::forward_ad {
namespace {

bool is_differentiable_type(c10::ScalarType dtype) {
  return c10::isFloatingType(dtype) || c10::isComplexType(dtype);
}

}  // namespace

uint64_t enter_dual_level() {
  return enter_forward_level();
}

void exit_dual_level(uint64_t level) {
  exit_forward_level(level);
}

at::Tensor make_dual(const at::Tensor& primal, const at::Tensor& tangent) {
  TORCH_CHECK(
      forward_level_active(),
      "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first.");
  TORCH_CHECK(primal.defined() && tangent.defined(), "make_dual: primal and tangent must be defined");
  TORCH_CHECK_VALUE(
      is_differentiable_type(primal.scalar_type()), "Expected primal to be floating point or complex, but got: ",
      c10::toString(primal.scalar_type()));
  TORCH_CHECK_VALUE(
      is_differentiable_type(tangent.scalar_type()), "Expected tangent to be floating point or complex, but got: ",
      c10::toString(tangent.scalar_type()));
  TORCH_CHECK(
      !tangent_of(primal).defined(),
      "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not supported.");
  TORCH_CHECK(
      primal.sizes() == tangent.sizes(),
      "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported. "
      "Tensor is of size ",
      primal.sizes(), " while the given forward gradient is of size ", tangent.sizes(), ".");
  TORCH_CHECK_TYPE(
      primal.scalar_type() == tangent.scalar_type(), "Expected tangent to have the dtype of primal, ",
      c10::toString(primal.scalar_type()), ", but got: ", c10::toString(tangent.scalar_type()));
  const ForwardScope scope;
  at::Tensor dual = at::alias(primal);
  if (tangent.strides() == primal.strides()) {
    put_tangent(dual, tangent);
  } else {
    at::Tensor copy = at::empty_strided(primal.sizes(), primal.strides(), tangent.options());
    at::copy_(copy, tangent);
    put_tangent(dual, std::move(copy));
  }
  return dual;
}

UnpackedDualTensor unpack_dual(const at::Tensor& dual) {
  TORCH_CHECK(dual.defined(), "unpack_dual: the tensor must be defined");
  at::Tensor tangent = tangent_of(dual);
  if (!tangent.defined()) return {dual, {}};
  const ForwardScope scope;
  at::Tensor primal = at::alias(dual);
  put_tangent(primal, {});
  return {std::move(primal), std::move(tangent)};
}

}  // namespace torch::autograd::forward_ad

namespace at {

Tensor _make_dual(const Tensor& primal, const Tensor& tangent, int64_t level) {
  TORCH_CHECK(level == 0, "Invalid level given to _make_dual");
  return torch::autograd::forward_ad::make_dual(primal, tangent);
}

std::tuple<Tensor, Tensor> _unpack_dual(const Tensor& dual, int64_t level) {
  TORCH_CHECK(level == 0, "Invalid level given to _unpack_dual");
  auto [primal, tangent] = torch::autograd::forward_ad::unpack_dual(dual);
  return {std::move(primal), std::move(tangent)};
}

}  // namespace at
