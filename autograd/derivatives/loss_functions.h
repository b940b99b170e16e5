#pragma once
// Formulas of the losses.

#include "aten/core/tensor.h"

namespace torch::autograd::generated {
using namespace at;

Tensor binary_cross_entropy_target_backward(
    const Tensor& grad, const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction);

Tensor binary_cross_entropy_with_logits_backward(
    const Tensor& grad, const Tensor& self, const Tensor& target, const Tensor& weight, const Tensor& pos_weight,
    int64_t reduction);
Tensor binary_cross_entropy_with_logits_weight_tangent(
    const Tensor& self, const Tensor& target, const Tensor& tangent, const std::optional<Tensor>& pos_weight,
    int64_t reduction);
Tensor binary_cross_entropy_with_logits_pos_weight_tangent(
    const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight, const Tensor& tangent,
    int64_t reduction);
Tensor binary_cross_entropy_with_logits_target_backward(
    const Tensor& grad, const Tensor& self, const Tensor& target, const Tensor& weight, const Tensor& pos_weight,
    int64_t reduction);

Tensor fused_cross_entropy_grad(
    const Tensor& grad, const Tensor& self, const Tensor& target, int64_t reduction, int64_t ignore_index, ScalarType dtype,
    const Tensor& logsumexp, const Tensor& total_weight);

}  // namespace torch::autograd::generated
