#include "autograd/derivatives/rnn_functions.h"

#include <vector>

#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/rnn/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/autograd.h"
#include "autograd/engine/forward_grad.h"
#include "c10/core/grad_mode.h"

namespace torch::autograd::generated {
namespace {

std::optional<Tensor> optional_of(const Tensor& t) {
  return t.defined() ? std::optional<Tensor>(t) : std::nullopt;
}

// The tensors of a layer: input, hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr.
using Inputs = std::array<Tensor, 8>;

Tensor product(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  return bias.defined() ? at::addmm(bias, x, at::t(weight)) : at::mm(x, at::t(weight));
}

// One step: h and c of the rows that have one.
void run_cell(int64_t mode, const Inputs& in, const Tensor& x_sums, Tensor* h, Tensor* c) {
  const Tensor h_sums = product(*h, in[4], in[6]);
  if (mode == 3) {
    const std::vector<Tensor> x = at::chunk(x_sums, 3, 1), from_h = at::chunk(h_sums, 3, 1);
    const Tensor r = at::sigmoid(at::add(x[0], from_h[0])), z = at::sigmoid(at::add(x[1], from_h[1]));
    const Tensor n = at::tanh(at::add(x[2], at::mul(r, from_h[2])));
    *h = at::add(n, at::mul(z, at::sub(*h, n)));
    return;
  }
  const Tensor sums = at::add(x_sums, h_sums);
  if (mode != 2) {
    *h = mode == 1 ? at::tanh(sums) : at::relu(sums);
    return;
  }
  const std::vector<Tensor> g = at::chunk(sums, 4, 1);
  *c = at::add(at::mul(at::sigmoid(g[1]), *c), at::mul(at::sigmoid(g[0]), at::tanh(g[2])));
  *h = at::mul(at::sigmoid(g[3]), at::tanh(*c));
  if (in[7].defined()) *h = at::mm(*h, at::t(in[7]));
}

// `rows` in place of the first rows of `all`.
Tensor replaced(const Tensor& rows, const Tensor& all) {
  const int64_t count = rows.size(0);
  return count == all.size(0) ? rows : at::cat({rows, at::narrow(all, 0, count, all.size(0) - count)});
}

// Output, hy and cy (undefined but for an LSTM), as differentiable operators.
std::array<Tensor, 3> run_layer(const Inputs& in, IntArrayRef batch_sizes, int64_t mode, bool reverse) {
  const Tensor x_sums = product(in[0], in[3], in[5]);
  const size_t steps = batch_sizes.size();
  std::vector<int64_t> offsets(steps, 0);
  for (size_t t = 1; t < steps; ++t) offsets[t] = offsets[t - 1] + batch_sizes[t - 1];
  std::vector<Tensor> outputs(steps);
  Tensor h = in[1], c = in[2];
  for (size_t i = 0; i < steps; ++i) {
    const size_t t = reverse ? steps - 1 - i : i;
    Tensor h_rows = at::narrow(h, 0, 0, batch_sizes[t]), c_rows = c.defined() ? at::narrow(c, 0, 0, batch_sizes[t]) : c;
    run_cell(mode, in, at::narrow(x_sums, 0, offsets[t], batch_sizes[t]), &h_rows, &c_rows);
    outputs[t] = h_rows;
    h = replaced(h_rows, h);
    if (c.defined()) c = replaced(c_rows, c);
  }
  return {at::cat(outputs), h, c};
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor> rnn_layer_grad(
    const Tensor& grad_output, const Tensor& grad_hy, const Tensor& grad_cy, const Tensor& input, const Tensor& hx,
    const Tensor& cx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih, const Tensor& b_hh,
    const Tensor& w_hr, IntArrayRef batch_sizes, int64_t mode, bool reverse, bool keep, const Tensor& output,
    const Tensor& gates, const Tensor& cells, std::array<bool, 8> mask) {
  const Tensor* given[] = {&input, &hx, &cx, &w_ih, &w_hh, &b_ih, &b_hh, &w_hr};
  const Tensor* grads[] = {&grad_output, &grad_hy, &grad_cy};
  if (!grads[0]->defined() && !grads[1]->defined() && (cx.defined() ? !grads[2]->defined() : true)) return {};
  if (!is_differentiated()) {
    TORCH_CHECK(keep, "_rnn_layer: backward needs the call to have been made with keep");
    return at::_rnn_layer_backward(optional_of(grad_output), optional_of(grad_hy),
                                   cx.defined() ? optional_of(grad_cy) : std::nullopt, input, hx, optional_of(cx), w_ih,
                                   w_hh, optional_of(b_ih), optional_of(b_hh), optional_of(w_hr), batch_sizes, mode,
                                   reverse, output, gates, cells, mask);
  }
  // Views of the inputs, so that an input given twice has two gradients.
  Inputs in;
  std::vector<Tensor> wanted, results, cotangents;
  for (size_t i = 0; i < in.size(); ++i) {
    if (!given[i]->defined()) continue;
    in[i] = at::view(*given[i], given[i]->sizes());
    if (mask[i]) wanted.push_back(in[i]);
  }
  const std::array<Tensor, 3> outputs = run_layer(in, batch_sizes, mode, reverse);
  for (size_t k = 0; k < outputs.size(); ++k) {
    if (!outputs[k].defined() || !grads[k]->defined()) continue;
    results.push_back(outputs[k]);
    cotangents.push_back(*grads[k]);
  }
  const std::vector<Tensor> found = grad(results, wanted, cotangents, true, true, true);
  std::array<Tensor, 8> r;
  for (size_t i = 0, next = 0; i < r.size(); ++i) {
    if (mask[i] && given[i]->defined()) r[i] = found[next++];
  }
  return {r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7]};
}

namespace {

// Output, hy and cy of a network of _cudnn_rnn by operators that can be differentiated twice.
std::array<Tensor, 3> run_network(const Tensor& input, const std::vector<Tensor>& weight, const Tensor& hx,
                                  const Tensor& cx, const CudnnRnnCall& call) {
  const bool packed = !call.batch_sizes.empty(), projected = call.proj_size > 0;
  const int64_t directions = call.bidirectional ? 2 : 1;
  const bool has_biases = call.stride >= 4;
  Tensor rows = input;
  DimVector sizes(call.batch_sizes.begin(), call.batch_sizes.end());
  if (!packed) {
    if (call.batch_first) rows = at::transpose(rows, 0, 1);
    sizes.assign(static_cast<size_t>(rows.size(0)), rows.size(1));
    rows = at::reshape(rows, {rows.size(0) * rows.size(1), rows.size(2)});
  }
  std::vector<Tensor> last_h, last_c;
  for (int64_t layer = 0; layer < call.layers; ++layer) {
    std::vector<Tensor> outputs;
    for (int64_t direction = 0; direction < directions; ++direction) {
      const int64_t part = layer * directions + direction;
      const Tensor* const w = &weight[static_cast<size_t>(part * call.stride)];
      const auto state = [&](const Tensor& t) { return t.defined() ? at::select(t, 0, part) : Tensor(); };
      auto [output, hy, cy, gates, cells] = at::_rnn_layer(
          rows, state(hx), optional_of(state(cx)), w[0], w[1], has_biases ? optional_of(w[2]) : std::nullopt,
          has_biases ? optional_of(w[3]) : std::nullopt, projected ? optional_of(w[call.stride - 1]) : std::nullopt,
          sizes, call.mode, direction == 1, true);
      outputs.push_back(output);
      last_h.push_back(hy);
      if (cx.defined()) last_c.push_back(cy);
    }
    rows = outputs.size() == 1 ? outputs[0] : at::cat(outputs, 1);
  }
  if (!packed) {
    rows = at::view(rows, {static_cast<int64_t>(sizes.size()), sizes[0], rows.size(1)});
    if (call.batch_first) rows = at::transpose(rows, 0, 1);
  }
  return {rows, at::stack(last_h), cx.defined() ? at::stack(last_c) : Tensor()};
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor, std::vector<Tensor>> cudnn_rnn_grad(
    const std::array<Tensor, 3>& grads, const CudnnRnnInputs& in, const CudnnRnnCall& call, const Tensor& output,
    const Tensor& reserve, const Tensor& weight_buffer, const Tensor& dropout_state, std::array<bool, 4> mask) {
  if (!is_differentiated()) {
    return at::_cudnn_rnn_backward(in.input, in.weight, call.stride, weight_buffer, in.hx, optional_of(in.cx), output,
                                   optional_of(grads[0]), optional_of(grads[1]),
                                   in.cx.defined() ? optional_of(grads[2]) : std::nullopt, call.mode, call.hidden_size,
                                   call.proj_size, call.layers, call.batch_first, call.dropout, call.train,
                                   call.bidirectional, call.batch_sizes, optional_of(dropout_state), reserve, mask);
  }
  TORCH_CHECK(!call.train || call.dropout == 0 || call.layers == 1,
              "_cudnn_rnn: the second derivative with dropout is not supported. Disable cuDNN for the forward pass "
              "(at::globalContext().setUserEnabledCuDNN(false))");
  // Views of the inputs, so that an input given twice has two gradients.
  std::vector<Tensor> wanted, results, cotangents;
  const auto view_of = [&](const Tensor& t, bool is_wanted) {
    if (!t.defined()) return Tensor();
    Tensor view = at::view(t, t.sizes());
    if (is_wanted && view.requires_grad()) wanted.push_back(view);
    return view;
  };
  const Tensor input = view_of(in.input, mask[0]), hx = view_of(in.hx, mask[1]), cx = view_of(in.cx, mask[2]);
  std::vector<Tensor> weight;
  for (const Tensor& w : in.weight) weight.push_back(view_of(w, mask[3]));
  const std::array<Tensor, 3> outputs = run_network(input, weight, hx, cx, call);
  for (size_t k = 0; k < outputs.size(); ++k) {
    if (!outputs[k].defined() || !grads[k].defined()) continue;
    results.push_back(outputs[k]);
    cotangents.push_back(grads[k]);
  }
  std::vector<Tensor> found;
  if (!results.empty()) found = grad(results, wanted, cotangents, true, true, true);
  size_t next = 0;
  const auto gradient_of = [&](const Tensor& view, bool is_wanted) {
    const bool is_found = is_wanted && view.defined() && view.requires_grad() && next < found.size();
    return is_found ? found[next++] : Tensor();
  };
  Tensor of_input = gradient_of(input, mask[0]), of_hx = gradient_of(hx, mask[1]), of_cx = gradient_of(cx, mask[2]);
  std::vector<Tensor> of_weight;
  for (const Tensor& w : weight) of_weight.push_back(gradient_of(w, mask[3]));
  return {of_input, of_hx, of_cx, of_weight};
}

// The gradient is linear in the result's, which is unknown: its adjoint, applied to the tangents, is the tangent.
Tensor rnn_layer_tangent(int64_t result, const std::array<Tensor, 8>& tangents, const Tensor& input, const Tensor& hx,
                         const std::optional<Tensor>& cx, const Tensor& w_ih, const Tensor& w_hh,
                         const std::optional<Tensor>& b_ih, const std::optional<Tensor>& b_hh,
                         const std::optional<Tensor>& w_hr, IntArrayRef batch_sizes, int64_t mode, bool reverse) {
  const auto or_none = [](const std::optional<Tensor>& t) { return t.has_value() ? *t : Tensor(); };
  const Inputs given{input, hx, or_none(cx), w_ih, w_hh, or_none(b_ih), or_none(b_hh), or_none(w_hr)};
  const bool record = c10::GradMode::is_enabled();
  const c10::AutoGradMode recording(true);
  Inputs in;
  std::vector<Tensor> wanted, directions;
  for (size_t i = 0; i < in.size(); ++i) {
    if (!given[i].defined()) continue;
    in[i] = at::view(given[i], given[i].sizes());
    if (!tangents[i].defined()) continue;
    if (!in[i].requires_grad()) in[i].set_requires_grad(true);
    wanted.push_back(in[i]);
    directions.push_back(tangents[i]);
  }
  const Tensor of = run_layer(in, batch_sizes, mode, reverse)[static_cast<size_t>(result)];
  if (!of.defined()) return {};
  Tensor unknown = at::ones(of.sizes(), of.options());
  unknown.set_requires_grad(true);
  const std::vector<Tensor> gradients = grad({of}, wanted, {unknown}, true, true, true);
  std::vector<Tensor> reached, along;
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined() || !gradients[i].requires_grad()) continue;
    reached.push_back(gradients[i]);
    along.push_back(directions[i]);
  }
  return reached.empty() ? Tensor() : grad(reached, {unknown}, along, record, record, true)[0];
}

}  // namespace torch::autograd::generated
