#pragma once
// Formulas of the normalisations.

#include <array>
#include <optional>
#include <tuple>

#include "aten/core/tensor.h"

namespace torch::autograd::generated {
using namespace at;

// Gradients of input, weight and bias of layer normalisation; those that `mask` leaves out are undefined. Where a second
// derivative may be asked for (grad mode is on), the formula runs as differentiable operators, else as one kernel.
std::tuple<Tensor, Tensor, Tensor> layer_norm_backward(
    const Tensor& grad, const Tensor& input, IntArrayRef normalized_shape, const Tensor& mean, const Tensor& rstd,
    const Tensor& weight, const Tensor& bias, double eps, std::array<bool, 3> mask);

// The same of batch normalisation with the statistics that it used, which depend on the input in training.
std::tuple<Tensor, Tensor, Tensor> batch_norm_grad(
    const Tensor& grad, const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& mean, const Tensor& invstd,
    bool training, double eps, std::array<bool, 3> mask);

// The same of group normalisation.
std::tuple<Tensor, Tensor, Tensor> group_norm_grad(const Tensor& grad, const Tensor& input, const Tensor& weight,
                                                   const Tensor& bias, const Tensor& mean, const Tensor& rstd,
                                                   int64_t num_groups, double eps, std::array<bool, 3> mask);

// What the tangents of batch normalisation's input and weight give its result.
Tensor batch_norm_input_tangent(
    const Tensor& t, const Tensor& input, const std::optional<Tensor>& weight, const Tensor& mean, const Tensor& invstd, bool training,
    double eps);
Tensor batch_norm_weight_tangent(
    const Tensor& t, const Tensor& input, const Tensor& mean, const Tensor& invstd, bool training, double eps);

// The same of group normalisation.
Tensor group_norm_input_tangent(
    const Tensor& t, const Tensor& input, const std::optional<Tensor>& weight, int64_t num_groups, double eps);
Tensor group_norm_weight_tangent(const Tensor& t, const Tensor& input, int64_t num_groups, double eps);

}  // namespace torch::autograd::generated
