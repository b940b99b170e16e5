#include "aten/ops/rnn/rnn_layer.h"

#include "aten/core/structured.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/shared/matrix_support.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

int64_t gate_count(CellKind kind) {
  return kind == CellKind::kLstm ? 4 : kind == CellKind::kGru ? 3 : 1;
}

void check_sizes(const char* op, const char* name, const Tensor& t, IntArrayRef sizes) {
  TORCH_CHECK(t.sizes() == sizes, op, ": Expected ", name, " of size ", sizes, ", got ", t.sizes());
}

void check_like_input(const char* op, const char* name, const Tensor& t, const Tensor& input) {
  TORCH_CHECK(t.scalar_type() == input.scalar_type(), op, ": expected ", name, " to have the input's dtype ",
              input.scalar_type(), ", but got ", t.scalar_type());
}

// grads^T of, as (of^T grads)^T where `of` is the narrower: the first matrix of a product is read against its rows.
Tensor weight_gradient(const Tensor& grads, const Tensor& of) {
  if (of.size(1) >= grads.size(1)) return at::mm(at::t(grads), of);
  return at::contiguous(at::t(at::mm(at::t(of), grads)));
}

}  // namespace

const char* name_of(CellKind kind) {
  constexpr const char* kNames[] = {"rnn_relu", "rnn_tanh", "lstm", "gru"};
  return kNames[static_cast<int64_t>(kind)];
}

RnnLayer check_rnn_layer(const Tensor& input, const Tensor& hx, const std::optional<Tensor>& cx, const Tensor& w_ih,
                         const Tensor& w_hh, const std::optional<Tensor>& b_ih, const std::optional<Tensor>& b_hh,
                         const std::optional<Tensor>& w_hr, IntArrayRef batch_sizes, int64_t mode) {
  TORCH_CHECK(mode >= 0 && mode <= 3, "_rnn_layer: mode must be from 0 to 3, got ", mode);
  RnnLayer l;
  l.kind = static_cast<CellKind>(mode);
  const char* op = name_of(l.kind);
  TORCH_CHECK_NOT_IMPLEMENTED(isFloatingType(input.scalar_type()), "\"", op, "\" not implemented for '",
                              toString(input.scalar_type()), "'");
  check_matrix_dtype(op, input.scalar_type());
  TORCH_CHECK(input.dim() == 2 && hx.dim() == 2 && w_ih.dim() == 2 && w_hh.dim() == 2, op,
              ": Expected input, hidden state and weights to be matrices, got sizes ", input.sizes(), ", ", hx.sizes(),
              ", ", w_ih.sizes(), " and ", w_hh.sizes());
  l.steps = static_cast<int64_t>(batch_sizes.size());
  l.batch = l.steps == 0 ? 0 : batch_sizes[0];
  for (size_t t = 0; t < batch_sizes.size(); ++t) {
    TORCH_CHECK(batch_sizes[t] >= 0 && (t == 0 || batch_sizes[t] <= batch_sizes[t - 1]), op,
                ": batch_sizes must not be negative and must not increase, got ", batch_sizes[t], " at step ", t);
    l.rows += batch_sizes[t];
  }
  TORCH_CHECK(l.rows == input.size(0), op, ": Expected an input of ", l.rows, " rows, the sum of batch_sizes, got ",
              input.size(0));
  l.input = input.size(1);
  l.gates = w_hh.size(0);
  const int64_t count = gate_count(l.kind);
  TORCH_CHECK(l.gates % count == 0, op, ": the first size of weight_hh must be a multiple of ", count, ", got ",
              l.gates);
  l.hidden = l.gates / count;
  TORCH_CHECK(!is_given(w_hr) || l.kind == CellKind::kLstm, op, ": only an LSTM has a projection");
  l.state = is_given(w_hr) ? w_hr->size(0) : l.hidden;
  if (is_given(w_hr)) check_sizes(op, "weight_hr", *w_hr, {l.state, l.hidden});
  TORCH_CHECK(w_ih.size(1) == l.input, op, ": Expected an input of size ", w_ih.size(1),
              ", the columns of weight_ih, got ", l.input);
  check_sizes(op, "weight_ih", w_ih, {l.gates, l.input});
  check_sizes(op, "weight_hh", w_hh, {l.gates, l.state});
  check_sizes(op, "hidden state", hx, {l.batch, l.state});
  TORCH_CHECK(is_given(cx) == (l.kind == CellKind::kLstm), op, ": expects ",
              l.kind == CellKind::kLstm ? "two hidden states" : "one hidden state");
  if (is_given(cx)) check_sizes(op, "cell state", *cx, {l.batch, l.hidden});
  TORCH_CHECK(is_given(b_ih) == is_given(b_hh), op, ": expected both biases or none");
  for (const std::optional<Tensor>* b : {&b_ih, &b_hh}) {
    if (is_given(*b)) check_sizes(op, b == &b_ih ? "bias_ih" : "bias_hh", **b, {l.gates});
  }
  const auto like_input = [&](const char* name, const std::optional<Tensor>& t) {
    if (is_given(t)) check_like_input(op, name, *t, input);
  };
  check_like_input(op, "hidden state", hx, input);
  like_input("cell state", cx);
  check_like_input(op, "weight_ih", w_ih, input);
  check_like_input(op, "weight_hh", w_hh, input);
  like_input("bias_ih", b_ih);
  like_input("bias_hh", b_hh);
  like_input("weight_hr", w_hr);
  return l;
}

RnnLayer check_rnn_layer_backward(const std::optional<Tensor>& grad_output, const std::optional<Tensor>& grad_hy,
                                  const std::optional<Tensor>& grad_cy, const Tensor& input, const Tensor& hx,
                                  const std::optional<Tensor>& cx, const Tensor& w_ih, const Tensor& w_hh,
                                  const std::optional<Tensor>& b_ih, const std::optional<Tensor>& b_hh,
                                  const std::optional<Tensor>& w_hr, IntArrayRef batch_sizes, int64_t mode,
                                  const Tensor& output, const Tensor& gates, const Tensor& cells) {
  const RnnLayer l = check_rnn_layer(input, hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr, batch_sizes, mode);
  const char* op = name_of(l.kind);
  check_sizes(op, "output", output, {l.rows, l.state});
  if (l.keeps_gates()) {
    check_sizes(op, "gates", gates, {l.rows, l.gates});
    check_sizes(op, "cells", cells, {l.rows, l.hidden});
  }
  if (is_given(grad_output)) check_sizes(op, "grad_output", *grad_output, output.sizes());
  if (is_given(grad_hy)) check_sizes(op, "grad_hy", *grad_hy, hx.sizes());
  if (is_given(grad_cy)) check_sizes(op, "grad_cy", *grad_cy, is_given(cx) ? cx->sizes() : IntArrayRef{0});
  structured::check_one_device(input, grad_output, grad_hy, grad_cy, output, gates, cells, hx, cx, w_ih, w_hh, w_hr);
  if (is_given(grad_output)) check_like_input(op, "grad_output", *grad_output, input);
  check_like_input(op, "output", output, input);
  check_like_input(op, "gates", gates, input);
  check_like_input(op, "cells", cells, input);
  return l;
}

Tensor input_bias(const RnnLayer& l, const std::optional<Tensor>& b_ih, const std::optional<Tensor>& b_hh) {
  if (!is_given(b_ih)) return {};
  return l.kind == CellKind::kGru ? dense(*b_ih) : dense(at::add(*b_ih, *b_hh));
}

RnnLayerGradients finish_rnn_gradients(const RnnLayer& l, const RnnStepGradients& g, const Tensor& input,
                                       const Tensor& w_ih, bool has_biases, const std::array<bool, 8>& output_mask) {
  RnnLayerGradients r;
  if (output_mask[0]) std::get<0>(r) = at::mm(g.gates, w_ih);
  if (output_mask[1]) std::get<1>(r) = g.h;
  if (output_mask[2] && g.c.defined()) std::get<2>(r) = g.c;
  if (output_mask[3]) std::get<3>(r) = weight_gradient(g.gates, input);
  if (output_mask[4]) std::get<4>(r) = weight_gradient(g.recurrent, g.before);
  if (output_mask[5] && has_biases) std::get<5>(r) = at::sum(g.gates, IntArrayRef{0});
  if (output_mask[6] && has_biases) {
    const Tensor& same = std::get<5>(r);
    const bool is_same = same.defined() && l.kind != CellKind::kGru;
    std::get<6>(r) = is_same ? at::clone(same) : at::sum(g.recurrent, IntArrayRef{0});
  }
  if (g.unprojected.defined()) std::get<7>(r) = weight_gradient(g.projected, g.unprojected);
  return r;
}

}  // namespace at::native
