#include "autograd/derivatives/forward_support.h"

#include <string>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/autograd.h"
#include "c10/util/exception.h"
#include "c10/value/list.h"

namespace torch::autograd::generated {

bool is_differentiable(const Tensor& t) {
  return t.defined() && (c10::isFloatingType(t.scalar_type()) || c10::isComplexType(t.scalar_type()));
}

std::vector<Tensor> tangents_of(TensorList tensors) {
  std::vector<Tensor> tangents;
  for (size_t i = 0; i < tensors.size(); ++i) {
    Tensor tangent = tangent_of(tensors[i]);
    if (!tangent.defined()) continue;
    tangents.resize(tensors.size());
    tangents[i] = std::move(tangent);
  }
  return tangents;
}

bool has_one_tangent(const c10::List<std::optional<Tensor>>& tensors) {
  for (const std::optional<Tensor>& t : tensors) {
    if (has_one_tangent(t)) return true;
  }
  return false;
}

Tensor or_zeros(const Tensor& tangent, const Tensor& input) {
  if (tangent.defined() || !is_differentiable(input)) return tangent;
  return at::zeros(input.sizes(), input.options());
}

std::vector<Tensor> or_zeros(const std::vector<Tensor>& tangents, TensorList inputs) {
  std::vector<Tensor> all(tangents);
  all.resize(inputs.size());
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i].defined() && inputs[i].defined()) all[i] = at::zeros(inputs[i].sizes(), inputs[i].options());
  }
  return all;
}

void refuse_tangents(const char* op, bool is_out, bool any) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      !any, "Trying to use forward AD with ", op, " that does not support it because it ",
      is_out ? "is an out= function" : "has not been implemented yet.");
}

void Tangent::add(Tensor term) {
  if (!term.defined()) return;
  sum_ = sum_.defined() ? at::add(sum_, term) : std::move(term);
}

void set_tangents(const std::vector<Tensor>& results, std::vector<Tensor> tangents) {
  tangents.resize(results.size());
  for (size_t i = 0; i < results.size(); ++i) set_tangent(results[i], std::move(tangents[i]));
}

Tensor elementwise_argument(const Tensor& tangent, const Tensor& result) {
  Tensor argument = tangent;
  if (argument.scalar_type() != result.scalar_type()) argument = at::_to_copy(argument, result.scalar_type());
  return argument.sizes() == result.sizes() ? argument : at::expand(argument, result.sizes());
}

Tensor elementwise_of_complex(const Tensor& tangent, const Tensor& gradient) {
  return at::real(at::mul(conjugate(gradient), tangent));
}

Tensor ones_of(const Tensor& result) { return at::ones(result.sizes(), result.options()); }

Tensor unknown_gradient(const Tensor& result) {
  Tensor unknown = at::ones(result.sizes(), result.options());
  unknown.set_requires_grad(true);
  return unknown;
}

Tensor adjoint_of(const Tensor& gradient, const Tensor& unknown, const Tensor& tangent, bool record) {
  if (!gradient.defined() || !requires_grad(gradient)) return {};
  Tensor direction = tangent.sizes() == gradient.sizes() ? tangent : at::expand(tangent, gradient.sizes());
  if (direction.scalar_type() != gradient.scalar_type()) direction = at::_to_copy(direction, gradient.scalar_type());
  return grad({gradient}, {unknown}, {direction}, record, record, true)[0];
}

Tensor conjugate(const Tensor& t) { return t.is_complex() ? at::conj(t) : t; }

}  // namespace torch::autograd::generated
