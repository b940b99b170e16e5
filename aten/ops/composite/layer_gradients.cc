// Gradients of layers, by composition: differentiable through what they call.
#include <array>
#include <tuple>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/composite/kernels.h"
#include "aten/ops/composite/ops.h"
#include "aten/ops/conv/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/norm/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/shared/arguments.h"
#include "aten/ops/shared/bags.h"
#include "aten/ops/sort/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

void check_bags(const char* op, const Tensor& grad, const Tensor& indices) {
  TORCH_CHECK(grad.dim() == 2, op, ": expected a gradient of 2 dimensions, but got size ", grad.sizes());
  TORCH_CHECK(indices.dim() == 1, op, ": expected indices of one dimension, but got size ", indices.sizes());
}

enum Mode : int64_t { kSum = 0, kMean = 1, kMax = 2 };

}  // namespace

Tensor embedding_bag_dense_backward(const Tensor& grad, const Tensor& indices, const Tensor& offset2bag,
                                    const Tensor& bag_size, const Tensor& maximum_indices, int64_t num_weights,
                                    bool scale_grad_by_freq, int64_t mode,
                                    const std::optional<Tensor>& per_sample_weights, int64_t padding_idx) {
  constexpr const char* kName = "_embedding_bag_dense_backward";
  check_bags(kName, grad, indices);
  TORCH_CHECK(mode == kSum || mode == kMean || mode == kMax, kName,
              ": mode must be 0 (sum), 1 (mean) or 2 (max), but got ", mode);
  TORCH_CHECK(num_weights >= 0, kName, ": expected num_weights that is not negative, but got ", num_weights);
  const Tensor zeros = at::zeros({num_weights, grad.size(1)}, grad.options());
  if (mode == kMax) {
    const Tensor filled = at::to(at::unsqueeze(at::gt(bag_size, Scalar(0)), 1), grad.scalar_type());
    return at::scatter_add(zeros, 0, at::to(maximum_indices, kLong), at::mul(grad, filled));
  }
  TORCH_CHECK(offset2bag.numel() == indices.numel(), kName, ": expected offset2bag of ", indices.numel(),
              " elements, but got ", offset2bag.numel());
  Tensor rows = at::index_select(grad, 0, offset2bag);
  const auto column = [&](const Tensor& t) { return at::unsqueeze(at::to(t, grad.scalar_type()), 1); };
  if (mode == kMean) {
    rows = at::div(rows, column(at::clamp_min(at::index_select(bag_size, 0, offset2bag), Scalar(1))));
  }
  if (given(per_sample_weights)) {
    TORCH_CHECK(mode == kSum, kName, ": per_sample_weights only supported with mode='sum'");
    rows = at::mul(rows, at::unsqueeze(*per_sample_weights, 1));
  }
  if (scale_grad_by_freq) {
    const Tensor counts =
        at::index_add(at::zeros({num_weights}, indices.options()), 0, indices, at::ones_like(indices));
    rows = at::div(rows, column(at::index_select(counts, 0, indices)));
  }
  if (padding_idx >= 0) rows = at::masked_fill(rows, at::unsqueeze(at::eq(indices, Scalar(padding_idx)), 1), Scalar(0));
  return at::index_add(zeros, 0, indices, rows);
}

Tensor embedding_bag_per_sample_weights_backward(const Tensor& grad, const Tensor& weight, const Tensor& indices,
                                                 const Tensor& offsets, const Tensor& offset2bag, int64_t mode,
                                                 int64_t padding_idx) {
  constexpr const char* kName = "_embedding_bag_per_sample_weights_backward";
  check_bags(kName, grad, indices);
  TORCH_CHECK(mode == kSum, "embedding_bag_backward: per_sample_weights only supported for mode='sum'");
  TORCH_CHECK(weight.dim() == 2 && weight.size(1) == grad.size(1), kName, ": expected a weight of ", grad.size(1),
              " columns, but got size ", weight.sizes());
  const Tensor bags = bags_of(kName, offset2bag, indices, offsets);
  const Tensor products = at::mul(at::index_select(grad, 0, bags), at::index_select(weight, 0, indices));
  const Tensor sums = at::sum(products, IntArrayRef{1});
  return padding_idx >= 0 ? at::masked_fill(sums, at::eq(indices, Scalar(padding_idx)), Scalar(0)) : sums;
}

std::tuple<Tensor, Tensor, Tensor> batch_norm_backward(const Tensor& grad_out, const Tensor& input,
                                                       const Tensor& weight, const std::optional<Tensor>& running_mean,
                                                       const std::optional<Tensor>& running_var,
                                                       const std::optional<Tensor>& save_mean,
                                                       const std::optional<Tensor>& save_var, bool update, double eps,
                                                       std::array<bool, 3> output_mask, const Tensor&) {
  return at::native_batch_norm_backward(grad_out, input, weight, running_mean, running_var, save_mean, save_var, update,
                                        eps, output_mask);
}

// v g / n with the norms n of v: g (grad - v (grad . v) / n^2) / n and (grad . v) / n
std::tuple<Tensor, Tensor> weight_norm_backward(const Tensor& grad_w, const Tensor& saved_v, const Tensor& saved_g,
                                                const Tensor& saved_norms, int64_t dim) {
  TORCH_CHECK(saved_v.dim() > 0 && grad_w.sizes() == saved_v.sizes() && saved_norms.sizes() == saved_g.sizes(),
              "_weight_norm_interface_backward: expected grad_w of size ", saved_v.sizes(), " and saved_norms of size ",
              saved_g.sizes(), ", but got ", grad_w.sizes(), " and ", saved_norms.sizes());
  dim = maybe_wrap_dim(dim, saved_v.dim());
  TORCH_CHECK(dim == 0 || dim == saved_v.dim() - 1, "fused kernels can only be applied for first or last dim");
  DimVector others;
  for (int64_t d = 0; d < saved_v.dim(); ++d) {
    if (d != dim) others.push_back(d);
  }
  const Tensor products = at::mul(grad_w, saved_v);
  const Tensor sums = others.empty() ? products : at::sum(products, IntArrayRef(others), true);
  const Tensor g = at::reshape(saved_g, sums.sizes()), norms = at::reshape(saved_norms, sums.sizes());
  const Tensor along = at::mul(saved_v, at::div(sums, at::square(norms)));
  return {at::mul(at::div(g, norms), at::sub(grad_w, along)), at::reshape(at::div(sums, norms), saved_g.sizes())};
}

// --- convolutions ---
std::tuple<Tensor, Tensor, Tensor> conv_tbc_backward(const Tensor& grad, const Tensor& input, const Tensor& weight,
                                                     const Tensor& bias, int64_t pad) {
  TORCH_CHECK(grad.dim() == 3 && input.dim() == 3 && weight.dim() == 3,
              "conv_tbc_backward: expected tensors of 3 dimensions, but got ", grad.sizes(), ", ", input.sizes(),
              " and ", weight.sizes());
  // [time, batch, channels] as [batch, channels, time], [kernel, channels, results] as [results, channels, kernel].
  const auto times_last = [](const Tensor& t) { return at::permute(t, {1, 2, 0}); };
  const DimVector bias_sizes(bias.sizes().begin(), bias.sizes().end());
  auto [of_input, of_weight, of_bias] =
      at::convolution_backward(times_last(grad), times_last(input), at::permute(weight, {2, 1, 0}),
                               IntArrayRef(bias_sizes), {1}, {pad}, {1}, false, {0}, 1, {true, true, true});
  return {at::permute(of_input, {2, 0, 1}), at::permute(of_weight, {2, 1, 0}), of_bias};
}

std::tuple<Tensor, Tensor, Tensor> slow_conv2d_backward(const Tensor& grad_output, const Tensor& self,
                                                        const Tensor& weight, IntArrayRef kernel_size,
                                                        IntArrayRef stride, IntArrayRef padding,
                                                        std::array<bool, 3> output_mask) {
  TORCH_CHECK(weight.dim() == 4 && kernel_size.size() == 2 && weight.sizes().slice(2) == kernel_size,
              "_slow_conv2d_backward: expected a weight of 4 dimensions and kernel_size ", kernel_size,
              ", but got size ", weight.sizes());
  const bool batched = self.dim() == 4;
  const auto batch = [&](const Tensor& t) { return batched ? t : at::unsqueeze(t, 0); };
  auto [of_input, of_weight, of_bias] =
      at::convolution_backward(batch(grad_output), batch(self), weight, IntArrayRef{weight.size(0)}, stride, padding,
                               {1, 1}, false, {0, 0}, 1, output_mask);
  return {of_input.defined() && !batched ? at::squeeze(of_input, 0) : of_input, of_weight, of_bias};
}

std::tuple<Tensor&, Tensor&, Tensor&> slow_conv2d_backward_out(const Tensor& grad_output, const Tensor& self,
                                                               const Tensor& weight, IntArrayRef kernel_size,
                                                               IntArrayRef stride, IntArrayRef padding,
                                                               Tensor& grad_input, Tensor& grad_weight,
                                                               Tensor& grad_bias) {
  return at::_slow_conv2d_backward_outf(grad_output, self, weight, kernel_size, stride, padding, {true, true, true},
                                        grad_input, grad_weight, grad_bias);
}

// --- recurrent cells ---
namespace {

Tensor biased(const char* op, const Tensor& gates, const std::optional<Tensor>& bias) {
  if (!given(bias)) return gates;
  const Tensor sums = at::add(gates, *bias);
  TORCH_CHECK(sums.sizes() == gates.sizes(), op, ": expected biases of size [", gates.size(1), "], but got ",
              bias->sizes());
  return sums;
}
Tensor sum_of_rows(const Tensor& t, const std::optional<Tensor>& bias) {
  return given(bias) ? at::sum(t, IntArrayRef{0}) : Tensor();
}
// t (1 - t), the slope of the logistic function where it is t; and of tanh 1 - t^2
Tensor logistic_slope(const Tensor& t) {
  return at::mul(t, at::rsub(t, Scalar(1)));
}
Tensor tanh_slope(const Tensor& t) {
  return at::rsub(at::square(t), Scalar(1));
}

}  // namespace

// Of the gates before the biases, hx and the biases: c' = f c + i g, h = o tanh(c').
std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> thnn_differentiable_lstm_cell_backward(
    const std::optional<Tensor>& grad_hy, const std::optional<Tensor>& grad_cy, const Tensor& input_gates,
    const Tensor& hidden_gates, const std::optional<Tensor>& input_bias, const std::optional<Tensor>& hidden_bias,
    const Tensor& cx, const Tensor& cy) {
  if (!given(grad_hy) && !given(grad_cy)) return {};
  constexpr const char* kName = "_thnn_differentiable_lstm_cell_backward";
  TORCH_CHECK(input_gates.dim() == 2 && input_gates.size(1) % 4 == 0 && hidden_gates.sizes() == input_gates.sizes(),
              kName, ": expected matrices of four gates, but got ", input_gates.sizes(), " and ", hidden_gates.sizes());
  const Tensor sums = at::add(biased(kName, input_gates, input_bias), biased(kName, hidden_gates, hidden_bias));
  const std::vector<Tensor> gates = at::chunk(sums, 4, 1);
  const Tensor i = at::sigmoid(gates[0]), f = at::sigmoid(gates[1]), g = at::tanh(gates[2]), o = at::sigmoid(gates[3]);
  const Tensor squashed = at::tanh(cy);
  Tensor of_cell = given(grad_cy) ? *grad_cy : Tensor();
  Tensor of_o = at::zeros_like(o);
  if (given(grad_hy)) {
    const Tensor through = at::mul(at::mul(*grad_hy, o), tanh_slope(squashed));
    of_cell = of_cell.defined() ? at::add(of_cell, through) : through;
    of_o = at::mul(at::mul(*grad_hy, squashed), logistic_slope(o));
  }
  const Tensor grad_gates =
      at::cat({at::mul(at::mul(of_cell, g), logistic_slope(i)), at::mul(at::mul(of_cell, cx), logistic_slope(f)),
               at::mul(at::mul(of_cell, i), tanh_slope(g)), of_o},
              1);
  const Tensor of_bias = sum_of_rows(grad_gates, input_bias);
  return {grad_gates, grad_gates, at::mul(of_cell, f), of_bias, of_bias};
}

// h = (1 - z) n + z hx with n = tanh(i_n + r h_n)
std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> thnn_differentiable_gru_cell_backward(
    const Tensor& grad_hy, const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& hx,
    const std::optional<Tensor>& input_bias, const std::optional<Tensor>& hidden_bias) {
  constexpr const char* kName = "_thnn_differentiable_gru_cell_backward";
  TORCH_CHECK(input_gates.dim() == 2 && input_gates.size(1) % 3 == 0 && hidden_gates.sizes() == input_gates.sizes(),
              kName, ": expected matrices of three gates, but got ", input_gates.sizes(), " and ",
              hidden_gates.sizes());
  const std::vector<Tensor> of_input = at::chunk(biased(kName, input_gates, input_bias), 3, 1),
                            of_hidden = at::chunk(biased(kName, hidden_gates, hidden_bias), 3, 1);
  const Tensor r = at::sigmoid(at::add(of_input[0], of_hidden[0])), z = at::sigmoid(at::add(of_input[1], of_hidden[1]));
  const Tensor n = at::tanh(at::add(of_input[2], at::mul(r, of_hidden[2])));
  const Tensor to_n = at::mul(at::mul(grad_hy, at::rsub(z, Scalar(1))), tanh_slope(n));
  const Tensor to_z = at::mul(at::mul(grad_hy, at::sub(hx, n)), logistic_slope(z));
  const Tensor to_r = at::mul(at::mul(to_n, of_hidden[2]), logistic_slope(r));
  const Tensor grad_input = at::cat({to_r, to_z, to_n}, 1), grad_hidden = at::cat({to_r, to_z, at::mul(to_n, r)}, 1);
  return {grad_input, grad_hidden, at::mul(grad_hy, z), sum_of_rows(grad_input, input_bias),
          sum_of_rows(grad_hidden, hidden_bias)};
}

}  // namespace at::native
