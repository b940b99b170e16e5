#include "autograd/derivatives/loss_functions.h"

#include "aten/core/reduction.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"

namespace torch::autograd::generated {
namespace {

// What one element's loss contributes to the result.
Tensor per_element(const Tensor& grad, const Tensor& weight, int64_t reduction, int64_t count) {
  Tensor g = reduction == at::Reduction::Mean ? at::div(grad, Scalar(count)) : grad;
  return weight.defined() ? at::mul(g, weight) : g;
}

Tensor in_shape_of(const Tensor& like, const Tensor& t) {
  return t.sizes() == like.sizes() ? t : at::reshape(t, like.sizes());
}

}  // namespace

Tensor binary_cross_entropy_backward(
    const Tensor& grad, const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction) {
  const Tensor slope = at::clamp_min(at::mul(self, at::rsub(self, Scalar(1))), Scalar(1e-12));
  return at::mul(per_element(grad, weight, reduction, self.numel()), at::div(at::sub(self, in_shape_of(self, target)), slope));
}

Tensor binary_cross_entropy_target_backward(
    const Tensor& grad, const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction) {
  const Tensor difference = at::sub(
      at::clamp_min(at::log1p(at::neg(self)), Scalar(-100)), at::clamp_min(at::log(self), Scalar(-100)));
  return in_shape_of(target, at::mul(per_element(grad, weight, reduction, target.numel()), difference));
}

}  // namespace torch::autograd::generated
