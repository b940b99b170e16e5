// Recurrent networks of several layers and directions, as calls of _cudnn_rnn or _rnn_layer, and single cells.
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "aten/autocast/autocast_mode.h"
#include "aten/core/context.h"
#include "aten/core/tensor.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/rnn/kernels.h"
#include "aten/ops/rnn/ops.h"
#include "aten/ops/rnn/rnn_layer.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"

namespace at::native {
namespace {

struct Settings {
  const char* op;
  CellKind kind;
  bool has_biases;
  int64_t num_layers;
  double dropout;
  bool train;
  bool bidirectional;

  int64_t directions() const { return bidirectional ? 2 : 1; }
};

// The states of all layers and directions, [layers * directions, batch, size] each; `c` is an LSTM's.
struct States {
  Tensor h, c;
};

struct Results {
  Tensor output;
  States states;
};

std::optional<Tensor> optional_of(const Tensor& t) {
  return t.defined() ? std::optional<Tensor>(t) : std::nullopt;
}

// Whether backward may come: then what it needs is kept.
bool is_recorded(const Tensor& input, const States& hx, TensorList params) {
  if (!c10::GradMode::is_enabled()) return false;
  const auto needs = [](const Tensor& t) { return t.defined() && t.requires_grad(); };
  if (needs(input) || needs(hx.h) || needs(hx.c)) return true;
  for (const Tensor& p : params) {
    if (needs(p)) return true;
  }
  return false;
}

void check_settings(const Settings& s, const States& hx, TensorList params, bool projected) {
  TORCH_CHECK(s.num_layers > 0, s.op, ": num_layers must be positive, got ", s.num_layers);
  TORCH_CHECK(s.dropout >= 0 && s.dropout <= 1, s.op, ": dropout probability has to be between 0 and 1, but got ",
              s.dropout);
  TORCH_CHECK(s.num_layers <= static_cast<int64_t>(params.size()), s.op,
              ": got an incorrect number of RNN parameters: ", params.size(), " for ", s.num_layers, " layers");
  const int64_t parts = s.num_layers * s.directions(), each = 2 + (s.has_biases ? 2 : 0) + (projected ? 1 : 0);
  TORCH_CHECK(static_cast<int64_t>(params.size()) == parts * each, s.op,
              ": got an incorrect number of RNN parameters: expected ", parts * each, ", got ", params.size());
  for (const Tensor* t : {&hx.h, &hx.c}) {
    if (!t->defined()) continue;
    TORCH_CHECK(t->dim() == 3 && t->size(0) == parts, s.op, ": Expected hidden states of size [", parts,
                ", batch, size], got ", t->sizes());
  }
}

bool drops(const Settings& s) {
  return s.train && s.dropout > 0 && s.num_layers > 1;
}

// --- by cuDNN ---

// Operators above the library's see tangents and dimensions of calls over batches.
bool is_plain(const Tensor& t) {
  const c10::DispatchKeySet keys = t.key_set();
  return !keys.has(c10::DispatchKey::ForwardAD) && !keys.has(c10::DispatchKey::Batched);
}

bool is_taken_by_cudnn(ScalarType dtype) {
  return dtype == kFloat || dtype == kDouble || dtype == kHalf || dtype == kBFloat16;
}

bool is_small(int64_t numel) {
  return numel > 0 && numel <= INT32_MAX;
}

// Whether the library is to be used, and takes the network. Where arguments do not fit together, others say so.
bool is_for_cudnn(const Settings& s, const Tensor& data, IntArrayRef batch_sizes, const States& hx, TensorList params,
                  bool projected) {
  const Context& context = globalContext();
  if (!data.is_cuda() || !Context::hasCuDNN() || !context.userEnabledCuDNN() || context.deterministicCuDNN() ||
      context.deterministicAlgorithms())
    return false;
  const bool casts = autocast::is_autocast_enabled(kCUDA);
  const auto fits = [&](const Tensor& t, IntArrayRef sizes) {
    return t.defined() && t.sizes() == sizes && is_small(t.numel()) && t.device() == data.device() && is_plain(t) &&
           (casts ? is_taken_by_cudnn(t.scalar_type()) : t.scalar_type() == data.scalar_type());
  };
  int64_t rows = 0;
  for (size_t t = 0; t < batch_sizes.size(); ++t) {
    if (batch_sizes[t] < 1 || (t > 0 && batch_sizes[t] > batch_sizes[t - 1])) return false;
    rows += batch_sizes[t];
  }
  const bool lstm = s.kind == CellKind::kLstm;
  const int64_t features = data.size(1), state = hx.h.size(2), hidden = lstm ? hx.c.size(2) : state,
                parts = s.num_layers * s.directions(),
                gates = lstm                       ? 4
                        : s.kind == CellKind::kGru ? 3
                                                   : 1;
  if (!is_taken_by_cudnn(data.scalar_type()) || !fits(data, {rows, features}) || state > hidden ||
      !is_small(rows * s.directions() * state))
    return false;
  if (!fits(hx.h, {parts, batch_sizes[0], state}) || (lstm && !fits(hx.c, {parts, batch_sizes[0], hidden})))
    return false;
  const Tensor* next = params.begin();
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t width = part < s.directions() ? features : state * s.directions();
    if (!fits(*next++, {gates * hidden, width}) || !fits(*next++, {gates * hidden, state})) return false;
    if (s.has_biases && (!fits(*next++, {gates * hidden}) || !fits(*next++, {gates * hidden}))) return false;
    if (projected && !fits(*next++, {state, hidden})) return false;
  }
  return true;
}

void warn_of_scattered(TensorList params) {
  for (const Tensor& p : params) {
    if (p.storage().is_alias_of(params[0].storage())) continue;
    TORCH_WARN_ONCE(
        "RNN module weights are not part of single contiguous chunk of memory. This means they need to be compacted at "
        "every call, possibly greatly increasing memory usage. To compact weights again call flatten_parameters().");
    return;
  }
}

// In one call; layer by layer where elements are dropped between them, so that the numbers are those of at::dropout:
// of the generator, whatever state it is set to, and new ones at each replay of a graph.
Results run_by_cudnn(const Settings& s, const Tensor& data, IntArrayRef batch_sizes, const States& hx,
                     TensorList params, bool projected) {
  const bool lstm = s.kind == CellKind::kLstm, keep = is_recorded(data, hx, params);
  const int64_t state = hx.h.size(2), hidden = lstm ? hx.c.size(2) : state, directions = s.directions();
  const size_t of_layer = params.size() / static_cast<size_t>(s.num_layers);
  const auto run = [&](const Tensor& input, const States& first, TensorList weights, int64_t layers) -> Results {
    auto [output, hy, cy, reserve, buffer] =
        at::_cudnn_rnn(input, weights, static_cast<int64_t>(of_layer) / directions, std::nullopt, first.h,
                       optional_of(first.c), static_cast<int64_t>(s.kind), hidden, projected ? state : 0, layers,
                       /*batch_first=*/false, /*dropout=*/0, keep, s.bidirectional, batch_sizes, std::nullopt);
    return {output, {hy, lstm ? cy : Tensor()}};
  };
  if (!drops(s)) {
    warn_of_scattered(params);
    return run(data, hx, params, s.num_layers);
  }
  std::vector<Tensor> last_h, last_c;
  Results r;
  for (int64_t layer = 0; layer < s.num_layers; ++layer) {
    const auto part = [&](const Tensor& t) {
      return t.defined() ? at::narrow(t, 0, layer * directions, directions) : Tensor();
    };
    const Tensor input = layer == 0 ? data : at::dropout(r.output, s.dropout, true);
    r = run(input, {part(hx.h), part(hx.c)}, params.slice(static_cast<size_t>(layer) * of_layer, of_layer), 1);
    last_h.push_back(r.states.h);
    if (lstm) last_c.push_back(r.states.c);
  }
  r.states = {at::cat(last_h), lstm ? at::cat(last_c) : Tensor()};
  return r;
}

// `data`: the rows of all steps, one step after the other, as batch_sizes says.
Results run_layers(const Settings& s, const Tensor& data, IntArrayRef batch_sizes, const States& hx,
                   TensorList params) {
  const bool lstm = s.kind == CellKind::kLstm, projected = lstm && hx.h.size(-1) != hx.c.size(-1);
  check_settings(s, hx, params, projected);
  if (is_for_cudnn(s, data, batch_sizes, hx, params, projected)) {
    try {
      return run_by_cudnn(s, data, batch_sizes, hx, params, projected);
    } catch (const c10::NotImplementedError&) {  // known to the library alone
    }
  }
  const bool keep = is_recorded(data, hx, params);
  std::vector<Tensor> last_h, last_c;
  const Tensor* next = params.begin();
  Tensor layer_input = data;
  for (int64_t layer = 0; layer < s.num_layers; ++layer) {
    std::vector<Tensor> outputs;
    for (int64_t direction = 0; direction < s.directions(); ++direction) {
      const int64_t part = layer * s.directions() + direction;
      const Tensor &w_ih = next[0], &w_hh = next[1];
      next += 2;
      std::optional<Tensor> b_ih, b_hh, w_hr, cx;
      if (s.has_biases) {
        b_ih = optional_of(*next++);
        b_hh = optional_of(*next++);
      }
      if (projected) w_hr = optional_of(*next++);
      if (lstm) cx = at::select(hx.c, 0, part);
      auto [output, hy, cy, gates, cells] =
          at::_rnn_layer(layer_input, at::select(hx.h, 0, part), cx, w_ih, w_hh, b_ih, b_hh, w_hr, batch_sizes,
                         static_cast<int64_t>(s.kind), direction == 1, keep);
      outputs.push_back(std::move(output));
      last_h.push_back(std::move(hy));
      if (lstm) last_c.push_back(std::move(cy));
    }
    layer_input = outputs.size() == 1 ? outputs[0] : at::cat(outputs, 1);
    if (drops(s) && layer + 1 < s.num_layers) layer_input = at::dropout(layer_input, s.dropout, true);
  }
  return {layer_input, {at::stack(last_h), lstm ? at::stack(last_c) : Tensor()}};
}

Results run_dense(const Settings& s, const Tensor& input, const States& hx, TensorList params, bool batch_first) {
  TORCH_CHECK(input.dim() == 3, s.op, ": Expected input to be 3-D, but got ", input.dim(), "-D tensor");
  const Tensor in = batch_first ? at::transpose(input, 0, 1) : input;
  TORCH_CHECK(in.size(0) > 0, "Expected sequence length to be larger than 0 in RNN");
  const DimVector batch_sizes(static_cast<size_t>(in.size(0)), in.size(1));
  Results r = run_layers(s, at::reshape(in, {in.size(0) * in.size(1), in.size(2)}), batch_sizes, hx, params);
  r.output = at::view(r.output, {in.size(0), in.size(1), r.output.size(1)});
  if (batch_first) r.output = at::transpose(r.output, 0, 1);
  return r;
}

DimVector batch_sizes_of(const char* op, const Tensor& t) {
  TORCH_CHECK(t.dim() == 1 && t.scalar_type() == kLong && t.device().is_cpu(), op,
              ": batch_sizes should be a 1D CPU int64 tensor, but got a ", t.dim(), "D ", t.device(), " ",
              t.scalar_type(), " tensor");
  TORCH_CHECK(t.numel() > 0, op, ": batch_sizes must not be empty");
  const Tensor own = at::contiguous(t);
  const int64_t* values = own.data_ptr<int64_t>();
  return DimVector(values, values + own.numel());
}

Results run_packed(const Settings& s, const Tensor& data, const Tensor& batch_sizes, const States& hx,
                   TensorList params) {
  TORCH_CHECK(data.dim() == 2, s.op, ": Expected packed data to be 2-D, but got ", data.dim(), "-D tensor");
  return run_layers(s, data, batch_sizes_of(s.op, batch_sizes), hx, params);
}

States two_states(const char* op, TensorList hx) {
  TORCH_CHECK(hx.size() == 2, op, " expects two hidden states");
  TORCH_CHECK(hx[0].defined() && hx[1].defined() && hx[0].dim() == 3 && hx[1].dim() == 3, op,
              ": Expected both hidden states to be 3-D");
  return {hx[0], hx[1]};
}

std::tuple<Tensor, Tensor> one_state(Results r) {
  return {std::move(r.output), std::move(r.states.h)};
}
std::tuple<Tensor, Tensor, Tensor> both_states(Results r) {
  return {std::move(r.output), std::move(r.states.h), std::move(r.states.c)};
}

// A cell is a layer of one step.
std::tuple<Tensor, Tensor> run_cell(const char* op, CellKind kind, const Tensor& input, const States& hx,
                                    const Tensor& w_ih, const Tensor& w_hh, const std::optional<Tensor>& b_ih,
                                    const std::optional<Tensor>& b_hh) {
  TORCH_CHECK(input.dim() == 2, op, ": Expected input to be 2-D, but got ", input.dim(), "-D tensor");
  TORCH_CHECK(hx.h.dim() == 2, op, ": Expected hidden state to be 2-D, but got ", hx.h.dim(), "-D tensor");
  const Tensor params[] = {w_ih, w_hh, is_given(b_ih) ? *b_ih : Tensor(), is_given(b_hh) ? *b_hh : Tensor()};
  auto [output, hy, cy, gates, cells] =
      at::_rnn_layer(input, hx.h, optional_of(hx.c), w_ih, w_hh, optional_of(params[2]), optional_of(params[3]),
                     std::nullopt, {input.size(0)}, static_cast<int64_t>(kind), false, is_recorded(input, hx, params));
  return {output, cy};
}

}  // namespace

bool _use_cudnn_rnn_flatten_weight() {
  return Context::hasCuDNN();
}

std::tuple<Tensor, Tensor, Tensor> lstm_input(const Tensor& input, TensorList hx, TensorList params, bool has_biases,
                                              int64_t num_layers, double dropout, bool train, bool bidirectional,
                                              bool batch_first) {
  const Settings s{"lstm", CellKind::kLstm, has_biases, num_layers, dropout, train, bidirectional};
  return both_states(run_dense(s, input, two_states("lstm", hx), params, batch_first));
}
std::tuple<Tensor, Tensor, Tensor> lstm_data(const Tensor& data, const Tensor& batch_sizes, TensorList hx,
                                             TensorList params, bool has_biases, int64_t num_layers, double dropout,
                                             bool train, bool bidirectional) {
  const Settings s{"lstm", CellKind::kLstm, has_biases, num_layers, dropout, train, bidirectional};
  return both_states(run_packed(s, data, batch_sizes, two_states("lstm", hx), params));
}
std::tuple<Tensor, Tensor> gru_input(const Tensor& input, const Tensor& hx, TensorList params, bool has_biases,
                                     int64_t num_layers, double dropout, bool train, bool bidirectional,
                                     bool batch_first) {
  const Settings s{"gru", CellKind::kGru, has_biases, num_layers, dropout, train, bidirectional};
  return one_state(run_dense(s, input, {hx, {}}, params, batch_first));
}
std::tuple<Tensor, Tensor> gru_data(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx, TensorList params,
                                    bool has_biases, int64_t num_layers, double dropout, bool train,
                                    bool bidirectional) {
  const Settings s{"gru", CellKind::kGru, has_biases, num_layers, dropout, train, bidirectional};
  return one_state(run_packed(s, data, batch_sizes, {hx, {}}, params));
}
std::tuple<Tensor, Tensor> rnn_tanh_input(const Tensor& input, const Tensor& hx, TensorList params, bool has_biases,
                                          int64_t num_layers, double dropout, bool train, bool bidirectional,
                                          bool batch_first) {
  const Settings s{"rnn_tanh", CellKind::kTanh, has_biases, num_layers, dropout, train, bidirectional};
  return one_state(run_dense(s, input, {hx, {}}, params, batch_first));
}
std::tuple<Tensor, Tensor> rnn_tanh_data(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx,
                                         TensorList params, bool has_biases, int64_t num_layers, double dropout,
                                         bool train, bool bidirectional) {
  const Settings s{"rnn_tanh", CellKind::kTanh, has_biases, num_layers, dropout, train, bidirectional};
  return one_state(run_packed(s, data, batch_sizes, {hx, {}}, params));
}
std::tuple<Tensor, Tensor> rnn_relu_input(const Tensor& input, const Tensor& hx, TensorList params, bool has_biases,
                                          int64_t num_layers, double dropout, bool train, bool bidirectional,
                                          bool batch_first) {
  const Settings s{"rnn_relu", CellKind::kRelu, has_biases, num_layers, dropout, train, bidirectional};
  return one_state(run_dense(s, input, {hx, {}}, params, batch_first));
}
std::tuple<Tensor, Tensor> rnn_relu_data(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx,
                                         TensorList params, bool has_biases, int64_t num_layers, double dropout,
                                         bool train, bool bidirectional) {
  const Settings s{"rnn_relu", CellKind::kRelu, has_biases, num_layers, dropout, train, bidirectional};
  return one_state(run_packed(s, data, batch_sizes, {hx, {}}, params));
}

std::tuple<Tensor, Tensor> lstm_cell(const Tensor& input, TensorList hx, const Tensor& w_ih, const Tensor& w_hh,
                                     const std::optional<Tensor>& b_ih, const std::optional<Tensor>& b_hh) {
  TORCH_CHECK(hx.size() == 2, "lstm_cell expects two hidden states");
  return run_cell("lstm_cell", CellKind::kLstm, input, {hx[0], hx[1]}, w_ih, w_hh, b_ih, b_hh);
}
Tensor gru_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                const std::optional<Tensor>& b_ih, const std::optional<Tensor>& b_hh) {
  return std::get<0>(run_cell("gru_cell", CellKind::kGru, input, {hx, {}}, w_ih, w_hh, b_ih, b_hh));
}
Tensor rnn_tanh_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                     const std::optional<Tensor>& b_ih, const std::optional<Tensor>& b_hh) {
  return std::get<0>(run_cell("rnn_tanh_cell", CellKind::kTanh, input, {hx, {}}, w_ih, w_hh, b_ih, b_hh));
}
Tensor rnn_relu_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                     const std::optional<Tensor>& b_ih, const std::optional<Tensor>& b_hh) {
  return std::get<0>(run_cell("rnn_relu_cell", CellKind::kRelu, input, {hx, {}}, w_ih, w_hh, b_ih, b_hh));
}

}  // namespace at::native
