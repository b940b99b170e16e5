#pragma once
// Formulas of recurrent layers.

#include <array>
#include <optional>
#include <tuple>
#include <vector>

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

// What describes a network of _cudnn_rnn, and its tensors.
struct CudnnRnnCall {
  int64_t stride, mode, hidden_size, proj_size, layers;
  bool batch_first;
  double dropout;
  bool train, bidirectional;
  IntArrayRef batch_sizes;
};
struct CudnnRnnInputs {
  const Tensor& input;
  const std::vector<Tensor>& weight;
  const Tensor &hx, &cx;
};
// Gradients of input, hx, cx and weights from those of the three results. Where a second derivative may be asked for,
// the network runs again by differentiable operators; with dropout, whose mask is the library's, that is an error.
std::tuple<Tensor, Tensor, Tensor, std::vector<Tensor>> cudnn_rnn_grad(
    const std::array<Tensor, 3>& grads, const CudnnRnnInputs& in, const CudnnRnnCall& call, const Tensor& output,
    const Tensor& reserve, const Tensor& weight_buffer, const Tensor& dropout_state, std::array<bool, 4> mask);

// The tangent of output, hy or cy (`result` 0, 1, 2) from those of the tensors, which are undefined where these are.
Tensor rnn_layer_tangent(int64_t result, const std::array<Tensor, 8>& tangents, const Tensor& input, const Tensor& hx,
                         const std::optional<Tensor>& cx, const Tensor& w_ih, const Tensor& w_hh,
                         const std::optional<Tensor>& b_ih, const std::optional<Tensor>& b_hh,
                         const std::optional<Tensor>& w_hr, IntArrayRef batch_sizes, int64_t mode, bool reverse);

}  // namespace torch::autograd::generated
