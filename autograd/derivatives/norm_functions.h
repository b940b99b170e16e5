#pragma once
// Formulas of the normalisations.

#include <array>
#include <tuple>

#include "aten/core/tensor.h"

namespace torch::autograd::generated {
using namespace at;

// Gradients of input, weight and bias of layer normalisation; those that `mask` leaves out are undefined. Where a second
// derivative may be asked for (grad mode is on), the formula runs as differentiable operators, else as one kernel.
std::tuple<Tensor, Tensor, Tensor> layer_norm_backward(
    const Tensor& grad, const Tensor& input, IntArrayRef normalized_shape, const Tensor& mean, const Tensor& rstd,
    const Tensor& weight, const Tensor& bias, double eps, std::array<bool, 3> mask);

}  // namespace torch::autograd::generated
