// LSTM, GRU and RNN layers.
#include "aten/core/tensor.h"
#include "export/onnx/exporter.h"

namespace torch::onnx {
namespace {

using Ints = std::vector<int64_t>;

// What a kind of layer is in ONNX: its gates there, as places among PyTorch's.
struct Layer {
  const char* op;
  Ints gates;
  Attributes attributes;
};

// The gates' rows in another order, with a dimension for the direction.
Name reordered(const Call& c, const Name& weight, const Ints& gates) {
  Name made = weight;
  if (gates.size() > 1) {
    const Names parts = c.x.nodes(
        "Split", {weight}, {{"axis", int64_t{0}}, {"num_outputs", static_cast<int64_t>(gates.size())}}, gates.size());
    Names ordered;
    for (const int64_t gate : gates) ordered.push_back(parts[static_cast<size_t>(gate)]);
    made = c.op("Concat", ordered, {{"axis", int64_t{0}}});
  }
  return c.op("Unsqueeze", {made, c.x.ints({0})});
}
Name joined(const Call& c, const Names& parts) {
  return parts.size() == 1 ? parts[0] : c.op("Concat", parts, {{"axis", int64_t{0}}});
}

// (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first); the cells too are in
// `states`.
void recurrent(const Call& c, const Layer& layer, const Names& states, int64_t hidden) {
  const Names params = c.x.tensors(c.node.operand(2));
  const bool biases = c.b(3), both = c.b(7), batch_first = c.b(8);
  const int64_t layers = c.i(4), directions = both ? 2 : 1;
  const size_t each = biases ? 4 : 2;
  supported(c.f(5) == 0 || !c.b(6), "it drops out");
  supported(params.size() == static_cast<size_t>(layers * directions) * each, "it projects its hidden state");
  supported(c.dims(0) == 3, "its input has no batch");
  const Ints turned{1, 0, 2};
  Name x = c.in(0);
  if (batch_first) x = c.op("Transpose", {x}, {{"perm", turned}});
  std::vector<Names> last(states.size());
  for (int64_t l = 0; l < layers; ++l) {
    Names w, r, b;
    for (int64_t d = 0; d < directions; ++d) {
      const size_t at = static_cast<size_t>(l * directions + d) * each;
      w.push_back(reordered(c, params[at], layer.gates));
      r.push_back(reordered(c, params[at + 1], layer.gates));
      if (!biases) continue;
      const Name of_input = reordered(c, params[at + 2], layer.gates),
                 of_state = reordered(c, params[at + 3], layer.gates);
      b.push_back(c.op("Concat", {of_input, of_state}, {{"axis", int64_t{1}}}));
    }
    Names inputs{x, joined(c, w), joined(c, r), biases ? joined(c, b) : Name(), ""};
    for (const Name& state : states) {
      inputs.push_back(
          c.op("Slice", {state, c.x.ints({l * directions}), c.x.ints({(l + 1) * directions}), c.x.ints({0})}));
    }
    Attributes attributes = layer.attributes;
    attributes.push_back({"hidden_size", hidden});
    attributes.push_back({"direction", std::string(both ? "bidirectional" : "forward")});
    const Names made = c.x.nodes(layer.op, inputs, attributes, 1 + states.size());
    // [T, D, B, H] as [T, B, D*H].
    x = c.op("Transpose", {made[0]}, {{"perm", Ints{0, 2, 1, 3}}});
    x = c.op("Reshape", {x, c.x.ints({0, 0, -1})});
    for (size_t s = 0; s < states.size(); ++s) last[s].push_back(made[1 + s]);
  }
  if (batch_first) x = c.op("Transpose", {x}, {{"perm", turned}});
  c.give(x);
  for (size_t s = 0; s < states.size(); ++s) c.give(joined(c, last[s]), 1 + s);
}

// By the first weight of the hidden state, [gates*H, H].
int64_t hidden_size(const Call& c) {
  const graph::Operand& params = c.node.operand(2);
  supported(params.is_list() && params.list().size() > 1 && params.list()[1].is_value() &&
                params.list()[1].value()->info() != nullptr,
            "nothing is known of its weights");
  const graph::IntExpr& size = params.list()[1].value()->info()->sizes.at(1);
  supported(size.is_constant(), "its hidden size may differ");
  return size.value();
}
void lstm(const Call& c) {
  const Names states = c.x.tensors(c.node.operand(1));
  supported(states.size() == 2, "it has ", states.size(), " states");
  recurrent(c, {"LSTM", {0, 3, 1, 2}, {}}, states, hidden_size(c));
}
void gru(const Call& c) {
  recurrent(c, {"GRU", {1, 0, 2}, {{"linear_before_reset", int64_t{1}}}}, {c.in(1)}, hidden_size(c));
}
void rnn(const Call& c) {
  // Activations are one a direction; Tanh is what there is without them.
  const bool relu = std::string_view(c.target) == "relu";
  supported(!relu, "its activation is relu");
  recurrent(c, {"RNN", {0}, {}}, {c.in(1)}, hidden_size(c));
}

constexpr Form kForms[] = {
    {"aten::lstm.input", lstm},
    {"aten::gru.input", gru},
    {"aten::rnn_tanh.input", rnn, "tanh"},
    {"aten::rnn_relu.input", rnn, "relu"},
};

}  // namespace

c10::ArrayRef<Form> recurrent_forms() {
  return kForms;
}

}  // namespace torch::onnx
