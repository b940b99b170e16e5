#pragma once
// Formulas of recurrent layers.

#include <array>
#include <optional>
#include <tuple>

#include "aten/core/tensor.h"

namespace torch::autograd::generated {
using namespace at;

// Gradients of _rnn_layer's tensors; those that `mask` leaves out are undefined. Where a second derivative may be asked
// for, the layer runs again as differentiable operators, else one kernel goes back through the steps.
std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor> rnn_layer_grad(
    const Tensor& grad_output, const Tensor& grad_hy, const Tensor& grad_cy, const Tensor& input, const Tensor& hx,
    const Tensor& cx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih, const Tensor& b_hh,
    const Tensor& w_hr, IntArrayRef batch_sizes, int64_t mode, bool reverse, bool keep, const Tensor& output,
    const Tensor& gates, const Tensor& cells, std::array<bool, 8> mask);

// The tangent of output, hy or cy (`result` 0, 1, 2) from those of the tensors, which are undefined where these are.
Tensor rnn_layer_tangent(int64_t result, const std::array<Tensor, 8>& tangents, const Tensor& input, const Tensor& hx,
                         const std::optional<Tensor>& cx, const Tensor& w_ih, const Tensor& w_hh,
                         const std::optional<Tensor>& b_ih, const std::optional<Tensor>& b_hh,
                         const std::optional<Tensor>& w_hr, IntArrayRef batch_sizes, int64_t mode, bool reverse);

}  // namespace torch::autograd::generated
