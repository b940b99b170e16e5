// Recurrent layers of packed weights: the cells of torch.ops.quantized, and quantized_lstm and quantized_gru.
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "aten/core/custom_class.h"
#include "aten/core/library.h"
#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/quantized/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/quantized/packed_weights.h"
#include "aten/quantized/quantized_parts.h"
#include "c10/dispatch/registry.h"

namespace at::quantized {
namespace {

using Linear = c10::intrusive_ptr<LinearPackedParams>;

// --- one step, from the sums of products ---
std::vector<Tensor> parts_of(const char* op, const Tensor& gates, int64_t count) {
  TORCH_CHECK(gates.dim() == 2 && gates.size(1) % count == 0, op, ": expected weights of ", count,
              " gates, but they have ", gates.size(-1), " rows");
  return at::chunk(gates, count, 1);
}

std::tuple<Tensor, Tensor> lstm_step(const char* op, const Tensor& of_input, const Tensor& of_hidden,
                                     const Tensor& cell) {
  const std::vector<Tensor> parts = parts_of(op, at::add(of_input, of_hidden), 4);
  const Tensor next = at::add(at::mul(at::sigmoid(parts[1]), cell), at::mul(at::sigmoid(parts[0]), at::tanh(parts[2])));
  return {at::mul(at::sigmoid(parts[3]), at::tanh(next)), next};
}
Tensor gru_step(const char* op, const Tensor& of_input, const Tensor& of_hidden, const Tensor& hidden) {
  const std::vector<Tensor> input = parts_of(op, of_input, 3), own = parts_of(op, of_hidden, 3);
  const Tensor reset = at::sigmoid(at::add(own[0], input[0])), update = at::sigmoid(at::add(own[1], input[1])),
               fresh_part = at::tanh(at::add(input[2], at::mul(own[2], reset)));
  return at::add(at::mul(at::sub(hidden, fresh_part), update), fresh_part);
}

// --- cells: the two products are quantized, with a range of 7 bits, the rest is float ---
Tensor gates(const Tensor& x, const Linear& w) {
  // By name, so that autograd sees the call.
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("quantized::linear_dynamic", "")
                             .typed<Tensor(const Tensor&, const Linear&, bool)>();
  return op.call(x, w, true);
}

std::tuple<Tensor, Tensor> lstm_cell(const Tensor& input, const std::vector<Tensor>& hx, const Linear& w_ih,
                                     const Linear& w_hh, const Tensor&, const Tensor&) {
  const char* const op = "quantized::quantized_lstm_cell_dynamic";
  TORCH_CHECK(hx.size() == 2, op, ": lstm_cell expects two hidden states, but got ", hx.size());
  return lstm_step(op, gates(input, w_ih), gates(hx[0], w_hh), hx[1]);
}
Tensor gru_cell(const Tensor& input, const Tensor& hx, const Linear& w_ih, const Linear& w_hh, const Tensor&,
                const Tensor&) {
  const char* const op = "quantized::quantized_gru_cell_dynamic";
  return gru_step(op, gates(input, w_ih), gates(hx, w_hh), hx);
}
Tensor rnn_relu_cell(const Tensor& input, const Tensor& hx, const Linear& w_ih, const Linear& w_hh, const Tensor&,
                     const Tensor&) {
  return at::relu(at::add(gates(hx, w_hh), gates(input, w_ih)));
}
Tensor rnn_tanh_cell(const Tensor& input, const Tensor& hx, const Linear& w_ih, const Linear& w_hh, const Tensor&,
                     const Tensor&) {
  return at::tanh(at::add(gates(hx, w_hh), gates(input, w_ih)));
}

// --- layers ---
// The weights of a layer in one direction, with their biases.
struct CellParams final : torch::CustomClassHolder {
  // As Python's __getstate__ has it: a kind, tensors, floats, integers and packed weights.
  using State =
      std::tuple<std::string, std::vector<Tensor>, std::vector<double>, std::vector<int64_t>, std::vector<Linear>>;

  CellParams(std::string kind_, Linear of_input_, Linear of_hidden_, std::vector<Tensor> biases_, bool reduce_range_)
      : kind(std::move(kind_)),
        of_input(std::move(of_input_)),
        of_hidden(std::move(of_hidden_)),
        biases(std::move(biases_)),
        reduce_range(reduce_range_) {}

  State state() const {
    if (kind == "quantized_dynamic") return {kind, biases, {}, {reduce_range}, {of_input, of_hidden}};
    return {kind, {}, {}, {}, {of_input, of_hidden}};
  }
  static c10::intrusive_ptr<CellParams> from_state(State state) {
    auto& [kind, tensors, floats, integers, packed] = state;
    TORCH_CHECK(packed.size() == 2, "CellParamsBase: expected two packed weights, but got ", packed.size());
    const bool reduced = !integers.empty() && integers[0] != 0;
    return c10::make_intrusive<CellParams>(kind, packed[0], packed[1], tensors, reduced);
  }

  std::string kind;
  Linear of_input, of_hidden;
  std::vector<Tensor> biases;
  bool reduce_range;
};
using Params = c10::intrusive_ptr<CellParams>;

Params cell_params_dynamic(const Linear& w_ih, const Linear& w_hh, const Tensor& bias_ih, const Tensor& bias_hh,
                           bool reduce_range) {
  return c10::make_intrusive<CellParams>("quantized_dynamic", w_ih, w_hh, std::vector<Tensor>{bias_ih, bias_hh},
                                         reduce_range);
}
Params cell_params_fp16(const Linear& w_ih, const Linear& w_hh) {
  return c10::make_intrusive<CellParams>("quantized_fp16", w_ih, w_hh, std::vector<Tensor>(), false);
}
Params cell_params(const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih, const Tensor& b_hh) {
  const auto packed = [](const Tensor& weight, const Tensor& bias) {
    const auto [q, offsets, scale, zero_point] = at::fbgemm_linear_quantize_weight(weight);
    return c10::make_intrusive<LinearPackedParams>(make_quantized(q, per_tensor(scale, zero_point)), bias);
  };
  return c10::make_intrusive<CellParams>("quantized", packed(w_ih, b_ih), packed(w_hh, b_hh), std::vector<Tensor>(),
                                         false);
}

// What sequences of one or of several lengths share: the rows of all steps, one behind the other, and how many a step
// has, which never grows.
struct Sequence {
  Tensor rows;
  std::vector<int64_t> sizes;
};

// One layer in one direction. States are [batch, hidden], of one or (with a cell) two tensors; they become the last
// ones.
Tensor run(const char* op, const Sequence& x, const CellParams& w, std::vector<Tensor>& states, bool reverse) {
  const Tensor of_inputs = w.of_input->apply_to_numbers(op, x.rows, w.reduce_range);
  const auto steps = static_cast<int64_t>(x.sizes.size());
  std::vector<int64_t> begins(x.sizes.size());
  for (size_t t = 1; t < begins.size(); ++t) begins[t] = begins[t - 1] + x.sizes[t - 1];
  for (Tensor& state : states) state = at::clone(state);
  std::vector<Tensor> results(x.sizes.size());
  for (int64_t i = 0; i < steps; ++i) {
    const auto t = static_cast<size_t>(reverse ? steps - 1 - i : i);
    const auto first_rows = [&](const Tensor& state) { return at::slice(state, 0, 0, x.sizes[t]); };
    const Tensor input = at::slice(of_inputs, 0, begins[t], begins[t] + x.sizes[t]), hidden = first_rows(states[0]),
                 own = w.of_hidden->apply_to_numbers(op, hidden, w.reduce_range);
    if (states.size() == 2) {
      Tensor cell = first_rows(states[1]);
      const auto [next, next_cell] = lstm_step(op, input, own, cell);
      results[t] = next;
      at::copy_(cell, next_cell);
    } else {
      results[t] = gru_step(op, input, own, hidden);
    }
    Tensor kept = hidden;
    at::copy_(kept, results[t]);
  }
  return at::cat(results, 0);
}

// All layers. `states` holds hidden (and cell) states [layers * directions, batch, hidden], which become the last ones.
Tensor run_layers(const char* op, Sequence x, std::vector<Tensor>& states, const std::vector<Params>& params,
                  int64_t layers, double dropout, bool train, bool bidirectional) {
  const int64_t directions = bidirectional ? 2 : 1;
  TORCH_CHECK(layers > 0, op, ": expected num_layers above 0, but got ", layers);
  TORCH_CHECK(static_cast<int64_t>(params.size()) == layers * directions, op, ": expected weights for each of ", layers,
              " layers and ", directions, " directions, but got ", params.size());
  TORCH_CHECK(!x.sizes.empty(), op, ": expected an input of at least one step");
  for (const Tensor& state : states) {
    TORCH_CHECK(state.dim() == 3 && state.size(0) == layers * directions && state.size(1) == x.sizes[0] &&
                    state.scalar_type() == kFloat,
                op, ": expected hidden states [", layers * directions, ", ", x.sizes[0],
                ", hidden] of dtype Float, but got ", state.toString(), " of size ", state.sizes());
  }
  std::vector<std::vector<Tensor>> last(states.size());
  for (int64_t layer = 0; layer < layers; ++layer) {
    std::vector<Tensor> results;
    for (int64_t d = 0; d < directions; ++d) {
      const int64_t i = layer * directions + d;
      std::vector<Tensor> own;
      for (const Tensor& state : states) own.push_back(at::select(state, 0, i));
      results.push_back(run(op, x, *params[static_cast<size_t>(i)], own, d == 1));
      for (size_t s = 0; s < own.size(); ++s) last[s].push_back(own[s]);
    }
    x.rows = directions == 1 ? results[0] : at::cat(results, 1);
    if (train && dropout > 0 && layer + 1 < layers) x.rows = at::dropout(x.rows, dropout, true);
  }
  for (size_t s = 0; s < states.size(); ++s) states[s] = at::stack(last[s]);
  return x.rows;
}

// [steps, batch, features], or the batch first.
Tensor run_dense(const char* op, const Tensor& input, std::vector<Tensor>& states, const std::vector<Params>& params,
                 int64_t layers, double dropout, bool train, bool bidirectional, bool batch_first) {
  TORCH_CHECK(input.dim() == 3, op, ": expected an input of 3 dimensions, but got ", input.dim());
  const Tensor x = batch_first ? at::transpose(input, 0, 1) : input;
  const int64_t steps = x.size(0), batch = x.size(1);
  Sequence rows{at::reshape(x, {steps * batch, x.size(2)}), std::vector<int64_t>(static_cast<size_t>(steps), batch)};
  const Tensor result = run_layers(op, std::move(rows), states, params, layers, dropout, train, bidirectional);
  const Tensor shaped = at::reshape(result, {steps, batch, result.size(1)});
  return batch_first ? at::transpose(shaped, 0, 1) : shaped;
}
Tensor run_packed(const char* op, const Tensor& data, const Tensor& batch_sizes, std::vector<Tensor>& states,
                  const std::vector<Params>& params, int64_t layers, double dropout, bool train, bool bidirectional) {
  TORCH_CHECK(data.dim() == 2, op, ": expected packed data of 2 dimensions, but got ", data.dim());
  TORCH_CHECK(batch_sizes.dim() == 1 && batch_sizes.scalar_type() == kLong, op,
              ": expected batch_sizes of 1 dimension and dtype Long, but got ", batch_sizes.dim(), " and ",
              batch_sizes.scalar_type());
  const Tensor sizes = native::dense(batch_sizes);
  const auto* const first = sizes.const_data_ptr<int64_t>();
  Sequence x{data, std::vector<int64_t>(first, first + sizes.numel())};
  int64_t rows = 0;
  for (size_t t = 0; t < x.sizes.size(); rows += x.sizes[t++]) {
    TORCH_CHECK(x.sizes[t] > 0 && x.sizes[t] <= data.size(0) && (t == 0 || x.sizes[t] <= x.sizes[t - 1]), op,
                ": batch_sizes must be positive and not increase, but got ", x.sizes[t], " at ", t);
  }
  TORCH_CHECK(rows == data.size(0), op, ": batch_sizes name ", rows, " rows, but the data have ", data.size(0));
  return run_layers(op, std::move(x), states, params, layers, dropout, train, bidirectional);
}

using Three = std::tuple<Tensor, Tensor, Tensor>;
using Two = std::tuple<Tensor, Tensor>;

std::vector<Tensor> two_states(const std::vector<Tensor>& hx) {
  TORCH_CHECK(hx.size() == 2, "quantized_lstm: lstm expects two hidden states, but got ", hx.size());
  return hx;
}

Three lstm_input(const Tensor& input, const std::vector<Tensor>& hx, const std::vector<Params>& params, bool,
                 int64_t num_layers, double dropout, bool train, bool bidirectional, bool batch_first,
                 std::optional<ScalarType>, bool) {
  std::vector<Tensor> states = two_states(hx);
  const Tensor result =
      run_dense("quantized_lstm", input, states, params, num_layers, dropout, train, bidirectional, batch_first);
  return {result, states[0], states[1]};
}
Three lstm_data(const Tensor& data, const Tensor& batch_sizes, const std::vector<Tensor>& hx,
                const std::vector<Params>& params, bool, int64_t num_layers, double dropout, bool train,
                bool bidirectional, std::optional<ScalarType>, bool) {
  std::vector<Tensor> states = two_states(hx);
  const Tensor result =
      run_packed("quantized_lstm", data, batch_sizes, states, params, num_layers, dropout, train, bidirectional);
  return {result, states[0], states[1]};
}
// Weights as tensors, which programs of another age hold.
[[noreturn]] void refuse_tensors(const char* op) {
  TORCH_CHECK(false, op, ": weights as a list of tensors are no longer supported, give packed ones (CellParamsBase)");
}
Three lstm_input_legacy(const Tensor&, const std::vector<Tensor>&, const std::vector<Tensor>&, bool, int64_t, double,
                        bool, bool, bool, std::optional<ScalarType>, bool) {
  refuse_tensors("quantized_lstm");
}
Three lstm_data_legacy(const Tensor&, const Tensor&, const std::vector<Tensor>&, const std::vector<Tensor>&, bool,
                       int64_t, double, bool, bool, std::optional<ScalarType>, bool) {
  refuse_tensors("quantized_lstm");
}
Two gru_input_legacy(const Tensor&, const Tensor&, const std::vector<Tensor>&, bool, int64_t, double, bool, bool,
                     bool) {
  refuse_tensors("quantized_gru");
}
Two gru_data_legacy(const Tensor&, const Tensor&, const Tensor&, const std::vector<Tensor>&, bool, int64_t, double,
                    bool, bool) {
  refuse_tensors("quantized_gru");
}

Two gru_input(const Tensor& input, const Tensor& hx, const std::vector<Params>& params, bool, int64_t num_layers,
              double dropout, bool train, bool bidirectional, bool batch_first) {
  std::vector<Tensor> states{hx};
  const Tensor result =
      run_dense("quantized_gru", input, states, params, num_layers, dropout, train, bidirectional, batch_first);
  return {result, states[0]};
}
Two gru_data(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx, const std::vector<Params>& params, bool,
             int64_t num_layers, double dropout, bool train, bool bidirectional) {
  std::vector<Tensor> states{hx};
  const Tensor result =
      run_packed("quantized_gru", data, batch_sizes, states, params, num_layers, dropout, train, bidirectional);
  return {result, states[0]};
}

}  // namespace

TORCH_LIBRARY(rnn, m) {
  m.class_<CellParams>("CellParamsBase")
      .def_pickle([](const Params& params) { return params->state(); },
                  [](CellParams::State state) { return CellParams::from_state(std::move(state)); });
}

TORCH_LIBRARY_FRAGMENT(quantized, m) {
  const std::string linear = "__torch__.torch.classes.quantized.LinearPackedParamsBase",
                    params = "__torch__.torch.classes.rnn.CellParamsBase",
                    weights = linear + " w_ih, " + linear + " w_hh, Tensor b_ih, Tensor b_hh";
  m.def("quantized_lstm_cell_dynamic(Tensor input, Tensor[] hx, " + linear + " w_ih, " + linear +
            " w_hh, Tensor bias_ih, Tensor bias_hh) -> (Tensor, Tensor)",
        &lstm_cell);
  m.def("quantized_gru_cell_dynamic(Tensor input, Tensor hx, " + weights + ") -> Tensor", &gru_cell);
  m.def("quantized_rnn_relu_cell_dynamic(Tensor input, Tensor hx, " + weights + ") -> Tensor", &rnn_relu_cell);
  m.def("quantized_rnn_tanh_cell_dynamic(Tensor input, Tensor hx, " + weights + ") -> Tensor", &rnn_tanh_cell);
  m.def("make_quantized_cell_params(Tensor w_ih, Tensor w_hh, Tensor b_ih, Tensor b_hh) -> " + params, &cell_params);
  m.def("make_quantized_cell_params_dynamic(" + linear + " w_ih, " + linear +
            " w_hh, Tensor bias_ih, Tensor bias_hh, bool reduce_range=False) -> " + params,
        &cell_params_dynamic);
  m.def("make_quantized_cell_params_fp16(" + linear + " w_ih, " + linear + " w_hh) -> " + params, &cell_params_fp16);
}

TORCH_LIBRARY_FRAGMENT(aten, m) {
  const std::string params = "__torch__.torch.classes.rnn.CellParamsBase[] params",
                    layers = "bool has_biases, int num_layers, float dropout, bool train, bool bidirectional",
                    options = ", *, ScalarType? dtype=None, bool use_dynamic=False) -> (Tensor, Tensor, Tensor)";
  m.def("quantized_lstm.input(Tensor input, Tensor[] hx, " + params + ", " + layers + ", bool batch_first" + options,
        &lstm_input);
  m.def("quantized_lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, " + params + ", " + layers + options,
        &lstm_data);
  m.def("quantized_gru.input(Tensor input, Tensor hx, " + params + ", " + layers +
            ", bool batch_first) -> (Tensor, Tensor)",
        &gru_input);
  m.def("quantized_gru.data(Tensor data, Tensor batch_sizes, Tensor hx, " + params + ", " + layers +
            ") -> (Tensor, Tensor)",
        &gru_data);
  m.def("quantized_lstm.input_legacy(Tensor input, Tensor[] hx, Tensor[] params, " + layers + ", bool batch_first" +
            options,
        &lstm_input_legacy);
  m.def("quantized_lstm.data_legacy(Tensor data, Tensor batch_sizes, Tensor[] hx, Tensor[] params, " + layers + options,
        &lstm_data_legacy);
  m.def("quantized_gru.input_legacy(Tensor input, Tensor hx, Tensor[] params, " + layers +
            ", bool batch_first) -> (Tensor, Tensor)",
        &gru_input_legacy);
  m.def("quantized_gru.data_legacy(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, " + layers +
            ") -> (Tensor, Tensor)",
        &gru_data_legacy);
}

}  // namespace at::quantized
