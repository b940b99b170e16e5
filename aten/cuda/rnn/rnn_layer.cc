// One layer of a recurrent network of CUDA tensors in one direction: the sums of the input are one product for all
// steps; each step is a product with the hidden state and a launch of its cells.
#include <tuple>

#include "aten/core/structured.h"
#include "aten/core/tensor.h"
#include "aten/cuda/matmul/product.h"
#include "aten/cuda/rnn/cell_call.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/rnn/kernels.h"
#include "aten/ops/rnn/rnn_layer.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

// `count` rows of a dense matrix, and where they lie.
Tensor rows_of(const Tensor& t, int64_t first, int64_t count) {
  return at::narrow(t, 0, first, count);
}
void copy_to(Tensor to, const Tensor& from) {
  at::copy_(to, from);
}
char* place_of(const Tensor& t, int64_t first_row) {
  if (!t.defined()) return nullptr;
  return static_cast<char*>(const_cast<void*>(t.const_data_ptr())) +
         first_row * t.size(1) * static_cast<int64_t>(t.itemsize());
}

void check_units(const RnnLayer& l) {
  TORCH_CHECK(l.hidden == 0 || l.batch <= INT32_MAX / l.hidden, name_of(l.kind),
              ": states of 2^31 elements and more are not supported on CUDA tensors");
}

template <class Call>
Call call_for(const RnnLayer& l, ScalarType dtype, int64_t rows) {
  Call call{};
  call.name = name_of(l.kind);
  call.dtype = dtype;
  call.rows = static_cast<uint32_t>(rows);
  call.size = cuda::FastDivisor(static_cast<uint32_t>(l.hidden));
  call.relu = l.kind == CellKind::kRelu;
  return call;
}

// The hidden state that each row started from.
Tensor states_before(const RnnLayer& l, const Steps& steps, const Tensor& output, const Tensor& hx) {
  Tensor all = scratch({l.rows, l.state}, hx);
  const bool same = l.rows == l.steps * l.batch;
  // Between the ends of steps of one size all rows move together.
  if (same && l.steps > 0) {
    const int64_t rest = l.rows - l.batch;
    copy_to(rows_of(all, steps.reverse ? rest : 0, l.batch), hx);
    copy_to(rows_of(all, steps.reverse ? 0 : l.batch, rest), rows_of(output, steps.reverse ? l.batch : 0, rest));
    return all;
  }
  for (int64_t order = 0; order < l.steps; ++order) {
    const Steps::Step s = steps[order];
    const int64_t fresh = s.count - s.before_count;
    if (s.before_count > 0) copy_to(rows_of(all, s.first, s.before_count), rows_of(output, s.before, s.before_count));
    if (fresh > 0) copy_to(rows_of(all, s.first + s.before_count, fresh), rows_of(hx, s.before_count, fresh));
  }
  return all;
}

}  // namespace

void rnn_layer_cuda(const Tensor& input, const Tensor& hx, const std::optional<Tensor>& cx, const Tensor& w_ih,
                    const Tensor& w_hh, const std::optional<Tensor>& b_ih, const std::optional<Tensor>& b_hh,
                    const std::optional<Tensor>& w_hr, IntArrayRef batch_sizes, int64_t mode, bool reverse, bool keep,
                    Tensor& output, Tensor& hy, Tensor& cy, Tensor& gates, Tensor& cells) {
  const RnnLayer l = check_rnn_layer(input, hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr, batch_sizes, mode);
  check_units(l);
  const bool kept = keep && l.keeps_gates(), gru = l.kind == CellKind::kGru, lstm = l.kind == CellKind::kLstm;
  const bool projected = is_given(w_hr);
  const char* const name = name_of(l.kind);
  DenseOut out(output), h(hy), c(cy), g(gates), of_cells(cells);
  at::copy_(h.tensor(), hx);
  if (lstm) at::copy_(c.tensor(), *cx);
  const ScalarType dtype = input.scalar_type();
  // 16-bit numbers add up in float from product to product.
  const ScalarType sum_type = dtype == kDouble ? kDouble : kFloat;
  const auto wide = [&](int64_t rows, int64_t columns) {
    return empty_contiguous({rows, columns}, sum_type, input.device());
  };
  const auto widened = [&](const std::optional<Tensor>& t) {
    return is_given(t) ? std::optional<Tensor>(dense(*t, sum_type)) : std::nullopt;
  };
  const std::optional<Tensor> of_input = widened(b_ih), of_state = widened(b_hh);
  Tensor sums = kept && dtype == sum_type ? g.tensor() : wide(l.rows, l.gates);
  const Tensor bias = input_bias(l, of_input, of_state);
  cuda::product(name, input, at::t(w_ih), bias.defined() ? &bias : nullptr, 1, 1, sums);
  const Tensor recurrent = at::t(w_hh), of_hidden = gru ? wide(l.batch, l.gates) : Tensor();
  const Tensor unprojected = projected ? scratch({l.batch, l.hidden}, input) : Tensor();
  const Steps steps(batch_sizes, reverse);
  for (int64_t order = 0; order < l.steps; ++order) {
    const Steps::Step s = steps[order];
    if (s.count == 0 || l.hidden == 0) continue;
    const Tensor state = rows_of(h.tensor(), 0, s.count);
    Tensor to = rows_of(gru ? of_hidden : sums, gru ? 0 : s.first, s.count);
    const Tensor* add = !gru ? &to : of_state ? &*of_state : nullptr;
    cuda::product(name, state, recurrent, add, 1, 1, to);
    auto call = call_for<cuda::CellCall>(l, dtype, s.count);
    call.sums = place_of(sums, s.first);
    call.gates = kept ? place_of(g.tensor(), s.first) : nullptr;
    call.recurrent = place_of(of_hidden, 0);
    call.state = projected ? nullptr : place_of(h.tensor(), 0);
    call.out = projected ? place_of(unprojected, 0) : place_of(out.tensor(), s.first);
    call.kept = kept ? place_of(of_cells.tensor(), s.first) : nullptr;
    if (lstm) {
      call.cell = place_of(c.tensor(), 0);
      cuda::launch_lstm_cell(call);
    } else if (gru) {
      cuda::launch_gru_cell(call);
    } else {
      cuda::launch_rnn_cell(call);
    }
    if (!projected || l.state == 0) continue;
    Tensor result = rows_of(out.tensor(), s.first, s.count);
    at::mm_out(result, rows_of(unprojected, 0, s.count), at::t(*w_hr));
    copy_to(state, result);
  }
  for (DenseOut* result : {&out, &h, &c, &g, &of_cells}) result->commit();
}

RnnLayerGradients rnn_layer_backward_cuda(const std::optional<Tensor>& grad_output,
                                          const std::optional<Tensor>& grad_hy, const std::optional<Tensor>& grad_cy,
                                          const Tensor& input, const Tensor& hx, const std::optional<Tensor>& cx,
                                          const Tensor& w_ih, const Tensor& w_hh, const std::optional<Tensor>& b_ih,
                                          const std::optional<Tensor>& b_hh, const std::optional<Tensor>& w_hr,
                                          IntArrayRef batch_sizes, int64_t mode, bool reverse, const Tensor& output,
                                          const Tensor& gates, const Tensor& cells, std::array<bool, 8> output_mask) {
  const RnnLayer l = check_rnn_layer_backward(grad_output, grad_hy, grad_cy, input, hx, cx, w_ih, w_hh, b_ih, b_hh,
                                              w_hr, batch_sizes, mode, output, gates, cells);
  check_units(l);
  const bool gru = l.kind == CellKind::kGru, lstm = l.kind == CellKind::kLstm, projected = is_given(w_hr);
  const ScalarType dtype = input.scalar_type();
  const Steps steps(batch_sizes, reverse);
  RnnStepGradients r;
  r.h = or_zeros(grad_hy, hx.sizes(), input);
  if (lstm) r.c = or_zeros(grad_cy, cx->sizes(), input);
  r.gates = scratch({l.rows, l.gates}, input);
  r.recurrent = gru ? scratch({l.rows, l.gates}, input) : r.gates;
  if (projected) r.projected = scratch({l.rows, l.state}, input);
  const Tensor out = dense(output), g = dense(gates), c = dense(cells), h0 = dense(hx), c0 = dense_or_none(cx);
  const Tensor go = dense_or_none(grad_output);
  const Tensor of_step = projected ? scratch({l.batch, l.hidden}, input) : Tensor();
  for (int64_t order = l.steps; order-- > 0;) {
    const Steps::Step s = steps[order];
    if (s.count == 0) continue;
    Tensor of_state = rows_of(r.h, 0, s.count);
    Tensor of_projected, unprojected;
    if (projected) {
      of_projected = rows_of(r.projected, s.first, s.count);
      copy_to(of_projected, of_state);
      if (go.defined()) at::add_(of_projected, rows_of(go, s.first, s.count));
      unprojected = rows_of(of_step, 0, s.count);
      at::mm_out(unprojected, of_projected, *w_hr);
    }
    if (l.hidden > 0) {
      auto call = call_for<cuda::CellGradientCall>(l, dtype, s.count);
      if (l.keeps_gates()) call.gates = place_of(g, s.first), call.kept = place_of(c, s.first);
      call.out = place_of(out, s.first);
      call.before = place_of(lstm ? c : out, s.before);
      call.first = place_of(lstm ? c0 : h0, 0);
      call.continued = static_cast<uint32_t>(s.before_count);
      call.grad_state = projected ? place_of(of_step, 0) : place_of(r.h, 0);
      call.grad_out = projected ? nullptr : place_of(go, s.first);
      call.grad_cell = place_of(r.c, 0);
      call.grad_gates = place_of(r.gates, s.first);
      call.grad_recurrent = place_of(r.recurrent, s.first);
      if (lstm) {
        cuda::launch_lstm_cell_backward(call);
      } else if (gru) {
        cuda::launch_gru_cell_backward(call);
      } else {
        cuda::launch_rnn_cell_backward(call);
      }
    }
    if (order == 0 && !output_mask[1]) continue;
    const Tensor of_sums = rows_of(r.recurrent, s.first, s.count);
    if (gru) {
      at::addmm_out(of_state, of_state, of_sums, w_hh);
    } else {
      at::mm_out(of_state, of_sums, w_hh);
    }
  }
  if (output_mask[4]) r.before = states_before(l, steps, out, h0);
  if (projected && output_mask[7]) {
    r.unprojected = scratch({l.rows, l.hidden}, input);
    if (l.hidden > 0) {
      for (int64_t order = 0; order < l.steps; ++order) {
        const Steps::Step s = steps[order];
        if (s.count == 0) continue;
        auto call = call_for<cuda::CellCall>(l, dtype, s.count);
        call.gates = place_of(g, s.first);
        call.kept = place_of(c, s.first);
        call.out = place_of(r.unprojected, s.first);
        cuda::launch_lstm_hidden(call);
      }
    }
  }
  return finish_rnn_gradients(l, r, input, w_ih, is_given(b_ih), output_mask);
}

}  // namespace at::native
