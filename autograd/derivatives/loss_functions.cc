#include "autograd/derivatives/loss_functions.h"

#include "aten/core/reduction.h"
#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/loss/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/softmax/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/engine/forward_grad.h"
#include "c10/core/grad_mode.h"

namespace torch::autograd::generated {
namespace {

// What one element's loss contributes to the result.
Tensor per_element(const Tensor& grad, const Tensor& weight, int64_t reduction, int64_t count) {
  Tensor g = reduction == at::Reduction::Mean ? at::div(grad, Scalar(count)) : grad;
  return weight.defined() ? at::mul(g, weight) : g;
}

Tensor reduced(const Tensor& each, int64_t reduction) {
  if (reduction == at::Reduction::Mean) return at::mean(each);
  return reduction == at::Reduction::Sum ? at::sum(each) : each;
}

Tensor in_shape_of(const Tensor& like, const Tensor& t) {
  return t.sizes() == like.sizes() ? t : at::reshape(t, like.sizes());
}

}  // namespace

Tensor binary_cross_entropy_target_backward(
    const Tensor& grad, const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction) {
  const Tensor difference = at::sub(
      at::clamp_min(at::log1p(at::neg(self)), Scalar(-100)), at::clamp_min(at::log(self), Scalar(-100)));
  return in_shape_of(target, at::mul(per_element(grad, weight, reduction, target.numel()), difference));
}

// (1 - t) + (1 + (p - 1) t) (s(x) - 1) with the logistic function s; s(x) - t for p = 1
Tensor binary_cross_entropy_with_logits_backward(
    const Tensor& grad, const Tensor& self, const Tensor& target, const Tensor& weight, const Tensor& pos_weight,
    int64_t reduction) {
  const Tensor g = per_element(grad, weight, reduction, self.numel());
  if (pos_weight.defined()) {
    const Tensor factor = at::add(at::mul(at::sub(pos_weight, Scalar(1)), target), Scalar(1));
    const Tensor below = at::mul(factor, at::sigmoid(at::neg(self)));
    return at::mul(at::sub(at::rsub(target, Scalar(1)), below), g);
  }
  Tensor slope = at::sigmoid(self);
  if (GradMode::is_enabled() || g.dim() != 0) return at::mul(at::sub(slope, target), g);
  at::sub_(slope, target);
  return at::mul_(slope, g);
}

// The loss is linear in the weight, and p t log(1 + exp(-x)) in p.
Tensor binary_cross_entropy_with_logits_weight_tangent(
    const Tensor& self, const Tensor& target, const Tensor& tangent, const std::optional<Tensor>& pos_weight,
    int64_t reduction) {
  const Tensor each =
      at::binary_cross_entropy_with_logits(self, target, std::nullopt, pos_weight, at::Reduction::None);
  return reduced(at::mul(each, tangent), reduction);
}

Tensor binary_cross_entropy_with_logits_pos_weight_tangent(
    const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight, const Tensor& tangent,
    int64_t reduction) {
  Tensor each = at::mul(at::mul(tangent, target), at::neg(at::log_sigmoid(self)));
  if (weight.has_value() && weight->defined()) each = at::mul(each, *weight);
  return reduced(each, reduction);
}

// -x + (p - 1) log(1 + exp(-x))
Tensor binary_cross_entropy_with_logits_target_backward(
    const Tensor& grad, const Tensor& self, const Tensor& target, const Tensor& weight, const Tensor& pos_weight,
    int64_t reduction) {
  Tensor slope = at::neg(self);
  if (pos_weight.defined()) {
    slope = at::sub(slope, at::mul(at::sub(pos_weight, Scalar(1)), at::log_sigmoid(self)));
  }
  return at::mul(slope, per_element(grad, weight, reduction, target.numel()));
}

Tensor fused_cross_entropy_grad(
    const Tensor& grad, const Tensor& self, const Tensor& target, int64_t reduction, int64_t ignore_index, ScalarType dtype,
    const Tensor& logsumexp, const Tensor& total_weight) {
  if (!is_differentiated())
    return at::_fused_cross_entropy_backward(grad, self, target, reduction, ignore_index, logsumexp, total_weight);
  const Tensor logp = at::log_softmax(self, 1, dtype);
  const Tensor total = at::to(total_weight, dtype);
  const Tensor part = at::nll_loss_backward(grad, logp, target, std::nullopt, reduction, ignore_index, total);
  return at::to(at::_log_softmax_backward_data(part, logp, 1, dtype), self.scalar_type());
}

}  // namespace torch::autograd::generated
