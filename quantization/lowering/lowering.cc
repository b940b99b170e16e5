#include "quantization/lowering/lowering.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/quantized/prepacked_integers.h"
#include "c10/core/grad_mode.h"
#include "graph/ir/text.h"
#include "graph/passes/common_subexpressions.h"
#include "graph/passes/dead_code.h"
#include "graph/passes/operands.h"
#include "quantization/pt2e/annotation.h"
#include "quantization/pt2e/program_parts.h"

namespace torch::quantization {

using at::Tensor;
using c10::IValue;
using c10::ScalarType;
using graph::Node;
using graph::Operand;
using graph::Value;

double saved_nanoseconds(const LayerCost& cost) {
  // Products a nanosecond, bytes of weights a nanosecond from the cache, and what a call and a quantized number cost.
  constexpr double kFloatRate = 100, kWeightRate = 12, kCall = 900, kNumber = 0.25;
  const double byte_rate = at::quantized::multiplies_bytes() ? 330 : 90;
  const auto n = [](int64_t i) { return static_cast<double>(i); };
  const double products = n(cost.rows) * n(cost.depth) * n(cost.channels), weights = n(cost.depth) * n(cost.channels);
  // Few rows read each weight for few products.
  const double floats = std::max(products / kFloatRate, 4 * weights / kWeightRate),
               bytes = std::max(products / byte_rate, weights / kWeightRate);
  return floats - bytes - kCall - kNumber * n(cost.quantized);
}

namespace {

constexpr const char* kQuantize = "quantized_decomposed::quantize_per_tensor";
constexpr const char* kDequantize = "quantized_decomposed::dequantize_per_tensor";

// One scale for a tensor of bytes, as nodes that quantize have it.
struct Step {
  double scale;
  int64_t zero_point, least, most;
  ScalarType dtype;
  bool operator==(const Step&) const = default;
  bool whole() const { return dtype == ScalarType::Byte ? least == 0 && most == 255 : least == -128 && most == 127; }
};

std::optional<Step> step_of(const Node& node, const char* name) {
  if (!node.calls(name) || !node.callable().schema().overload_name().empty()) return std::nullopt;
  for (size_t i = 1; i < 6; ++i) {
    if (!node.operand(i).is_constant()) return std::nullopt;
  }
  const Step step{node.operand(1).constant().toDouble(), node.operand(2).constant().toInt(),
                  node.operand(3).constant().toInt(), node.operand(4).constant().toInt(),
                  node.operand(5).constant().toScalarType()};
  if (step.dtype != ScalarType::Byte && step.dtype != ScalarType::Char) return std::nullopt;
  return step;
}

Node* maker(const Operand& operand) {
  return operand.is_value() ? operand.value()->node() : nullptr;
}

// A node that gives numbers for bytes of one scale.
struct Dequantized {
  Node* node = nullptr;
  Operand bytes;
  Step step;
};
std::optional<Dequantized> dequantized(const Operand& operand) {
  Node* const node = maker(operand);
  if (node == nullptr) return std::nullopt;
  const std::optional<Step> step = step_of(*node, kDequantize);
  if (!step.has_value()) return std::nullopt;
  if (node->operands().size() > 6 && !node->operand(6).constant().isNone()) return std::nullopt;
  return Dequantized{node, node->operand(0), *step};
}

// A weight of signed bytes with zero points of 0, and its scales: one, or one a channel along dimension 0.
struct Weight {
  Tensor integers, scales;
};
std::optional<Weight> weight_of(const ExportedProgram& program, const Operand& operand) {
  const Node* const node = maker(operand);
  if (node == nullptr || node->kind() != Node::Kind::kCall || node->operands().empty()) return std::nullopt;
  // Constants, or what the program's state has.
  const auto tensor = [&](size_t i) { return known_tensor(program, node->operand(i)); };
  const auto integers = tensor(0);
  if (!integers.has_value() || !integers->defined() || integers->scalar_type() != ScalarType::Char) {
    return std::nullopt;
  }
  Weight weight;
  weight.integers = at::detach(*integers);
  if (const auto step = step_of(*node, kDequantize)) {
    if (step->zero_point != 0) return std::nullopt;
    weight.scales = at::full({1}, step->scale, at::TensorOptions().dtype(ScalarType::Float));
    return weight;
  }
  if (!node->calls("quantized_decomposed::dequantize_per_channel")) return std::nullopt;
  const auto scales = tensor(1), zeros = tensor(2);
  const Operand& axis = node->operand(3);
  if (!scales.has_value() || !scales->defined() || !axis.is_constant() || axis.constant().toInt() != 0) {
    return std::nullopt;
  }
  if (!zeros.has_value() || (zeros->defined() && at::item(at::any(at::ne(*zeros, 0))).toBool())) return std::nullopt;
  weight.scales = at::to(at::detach(*scales), ScalarType::Float);
  return weight;
}

struct Geometry {
  std::vector<int64_t> stride, padding, dilation;
  int64_t groups = 1;
};
std::optional<Geometry> geometry_of(const Node& conv, int64_t dims) {
  Geometry g;
  const auto list = [&](const char* name, std::vector<int64_t>& to) {
    const auto ints = graph::constant_ints(conv.argument(name));
    if (!ints.has_value() || ints->empty()) return false;
    to = *ints;
    if (to.size() == 1) to.resize(static_cast<size_t>(dims), to[0]);
    return to.size() == static_cast<size_t>(dims);
  };
  const Operand& groups = conv.argument("groups");
  if (!list("stride", g.stride) || !list("padding", g.padding) || !list("dilation", g.dilation) ||
      !groups.is_constant()) {
    return std::nullopt;
  }
  g.groups = groups.constant().toInt();
  return g;
}

int64_t numel(const Value* value) {
  if (value->info() == nullptr) return -1;
  int64_t n = 1;
  for (const graph::IntExpr& size : value->info()->sizes) {
    if (!size.is_constant()) return -1;
    n *= size.value();
  }
  return n;
}

// The only node that uses a value, also where it is used twice in one.
bool used_by_one(const Value* value) {
  return only_user(value) != nullptr;
}

bool is_clamp(const Node& node, std::string& name, std::vector<Operand>& scalars) {
  if (node.calls("aten::relu")) {
    name = "relu";
    return true;
  }
  if (node.calls("aten::relu6")) {
    name = "hardtanh";
    scalars = {Operand(IValue(0.0)), Operand(IValue(6.0))};
    return true;
  }
  if (!node.calls("aten::hardtanh") || !node.operand(1).is_constant() || !node.operand(2).is_constant()) return false;
  name = "hardtanh";
  scalars = {node.operand(1), node.operand(2)};
  return true;
}

class Lowering {
 public:
  Lowering(ExportedProgram& program, const LoweringOptions& options) : program_(program), options_(options) {}

  graph::PassResult run() {
    graph::Graph& g = *program_.graph;
    const std::set<std::string> state = used_state(program_);
    if (options_.use_cost_model) {
      for (Node* node : g.block()) leave_if_small(node);
      graph::eliminate_dead_code(g);
    }
    for (Node* node : g.block()) bytes_unsigned(node);
    graph::eliminate_common_subexpressions(g);
    std::vector<Node*> layers;
    for (Node* node : g.block()) {
      if (layer_kind(*node) != LayerKind::kNone) layers.push_back(node);
    }
    for (Node* layer : layers) lower(layer);
    graph::eliminate_dead_code(g);
    for (Node* node : g.block()) pass_bytes_on(node);
    graph::eliminate_dead_code(g);
    graph::verify(g);
    drop_unused_state(program_, state);
    program_ = renewed(std::move(program_));
    return std::move(result_);
  }

 private:
  // --- which layers ---
  std::optional<LayerCost> cost_of(const Node& layer, const Weight& weight) const {
    const int64_t result = numel(layer.result());
    if (result < 0 || !layer.operand(0).is_value()) return std::nullopt;
    LayerCost cost;
    cost.channels = weight.integers.size(0);
    cost.rows = cost.channels == 0 ? 0 : result / cost.channels;
    cost.depth = cost.channels == 0 ? 0 : weight.integers.numel() / cost.channels;
    const int64_t input = numel(layer.operand(0).value());
    const auto x = dequantized(layer.operand(0));
    // Bytes that another layer gives, or needs, too, cost nothing more.
    const Node* const q = x.has_value() ? maker(x->bytes) : nullptr;
    const bool shared = q != nullptr && (q->result()->uses().size() > 1 || comes_from_layer(q->operand(0)));
    cost.quantized = (shared ? 0 : std::max<int64_t>(input, 0));
    return cost;
  }
  // Whether what is quantized here is the result of a layer with at most an add and an activation between.
  static bool comes_from_layer(const Operand& operand) {
    const Node* node = maker(operand);
    for (int steps = 0; node != nullptr && steps < 4; ++steps) {
      if (layer_kind(*node) != LayerKind::kNone) return true;
      const bool passes = node->calls("aten::relu") || node->calls("aten::hardtanh") ||
                          node->calls("aten::add.Tensor") || node->calls("aten::max_pool2d");
      if (!passes) return false;
      node = maker(node->operand(0));
    }
    return false;
  }

  void leave_if_small(Node* layer) {
    if (layer_kind(*layer) == LayerKind::kNone) return;
    const std::optional<Weight> weight = weight_of(program_, layer->operand(1));
    if (!weight.has_value()) return;
    const std::optional<LayerCost> cost = cost_of(*layer, *weight);
    if (!cost.has_value() || saved_nanoseconds(*cost) > 0) return;
    result_.notes.push_back(graph::print_node(*layer) + ": stays float, which is faster for its size");
    layer->set_operand(1, Operand(IValue(numbers_of(*maker(layer->operand(1))))));
    if (const auto x = dequantized(layer->operand(0))) {
      const Node* const q = maker(x->bytes);
      if (q != nullptr && q->calls(kQuantize)) layer->set_operand(0, q->operand(0));
    }
  }

  Tensor numbers_of(const Node& dequantize) const {
    c10::Stack stack;
    for (const Operand& operand : dequantize.operands()) {
      stack.push_back(operand.is_constant() ? operand.constant() : IValue(known_tensor(program_, operand).value()));
    }
    dequantize.callable().call(stack);
    return stack.at(0).toTensor();
  }

  // --- signed bytes ---
  // Kernels take unsigned ones: what is quantized and only dequantized again may as well be 128 more.
  static void bytes_unsigned(Node* q) {
    const auto step = step_of(*q, kQuantize);
    if (!step.has_value() || step->dtype != ScalarType::Char) return;
    std::vector<Node*> readers;
    for (const graph::Use& use : q->result()->uses()) {
      const auto back = step_of(*use.node, kDequantize);
      if (!back.has_value() || use.operand != 0 || !(*back == *step)) return;
      readers.push_back(use.node);
    }
    readers.push_back(q);
    for (Node* node : readers) {
      node->set_operand(2, IValue(step->zero_point + 128));
      node->set_operand(3, IValue(step->least + 128));
      node->set_operand(4, IValue(step->most + 128));
      node->set_operand(5, IValue(ScalarType::Byte));
    }
    if (q->result()->info() != nullptr) {
      graph::TensorInfo info = *q->result()->info();
      info.dtype = ScalarType::Byte;
      q->result()->set_info(info);
    }
  }

  // --- layers ---
  void lower(Node* layer) {
    const auto weight = weight_of(program_, layer->operand(1));
    if (!weight.has_value()) return;
    const bool conv = layer_kind(*layer) == LayerKind::kConvolution;
    const auto x = dequantized(layer->operand(0));
    if (!x.has_value()) {
      if (!conv) lower_dynamic(layer, *weight);
      return;
    }
    const int64_t dims = weight->integers.dim() - 2;
    std::optional<Geometry> geometry;
    if (conv) {
      geometry = geometry_of(*layer, dims);
      const Value* const input = layer->operand(0).value();
      const bool batched = input->info() == nullptr || static_cast<int64_t>(input->info()->sizes.size()) == dims + 2;
      if (!geometry.has_value() || !batched) {
        result_.notes.push_back(graph::print_node(*layer) + ": stays float: padding by name, or no batch");
        return;
      }
    }
    const Operand bias = layer->operand(2);

    // What follows, as far as nothing else reads it.
    Value* last = layer->result();
    std::optional<Dequantized> other;
    if (used_by_one(last)) {
      Node* const add = only_user(last);
      const LayerPattern pattern = layer_pattern(layer);
      if (conv && pattern.add == add && add != nullptr) {
        other = dequantized(Operand(pattern.other));
        if (other.has_value() && other->node->block() == layer->block()) {
          last = add->result();
        } else {
          other.reset();
        }
      }
    }
    std::string unary = "none";
    std::vector<Operand> scalars;
    if (used_by_one(last) && is_clamp(*only_user(last), unary, scalars)) last = only_user(last)->result();
    Node* place = last->node();
    std::optional<Step> to;
    if (used_by_one(last)) {
      Node* const q = only_user(last);
      to = step_of(*q, kQuantize);
      if (to.has_value()) place = q;
    }
    if (to.has_value() && !to->whole()) within(*to, unary, scalars);
    const IValue packed(
        at::quantized::prepack_integers("lower_to_integers", weight->integers, conv ? geometry->groups : 1));
    const IValue zeros(at::zeros({1}, at::TensorOptions().dtype(ScalarType::Long)));
    const IValue dtype(to.has_value() ? to->dtype : ScalarType::Float);
    std::vector<Operand> operands{x->bytes,       IValue(x->step.scale),  IValue(x->step.zero_point),
                                  IValue(packed), IValue(weight->scales), zeros};
    const IValue scale(to.has_value() ? to->scale : 1.0), zero(to.has_value() ? to->zero_point : int64_t{0});
    if (conv && other.has_value()) operands.push_back(other->bytes);
    operands.push_back(bias);
    if (conv) {
      for (const auto* list : {&geometry->stride, &geometry->padding, &geometry->dilation}) {
        operands.emplace_back(IValue(*list));
      }
      operands.emplace_back(IValue(geometry->groups));
    }
    operands.insert(operands.end(), {scale, zero, dtype});
    if (conv && other.has_value()) {
      operands.insert(operands.end(), {IValue(other->step.scale), IValue(other->step.zero_point),
                                       IValue(std::string("sum")), IValue(1.0)});
    }
    operands.emplace_back(IValue(unary));
    operands.emplace_back(scalars);
    operands.emplace_back(IValue(std::string()));
    const char* const name = !conv               ? "onednn::qlinear_pointwise"
                             : other.has_value() ? "onednn::qconv_pointwise.binary"
                                                 : "onednn::qconv_pointwise";
    Node* const made = insert_call(place, name, std::move(operands));
    replace(place, made);
    ++result_.changes;
  }

  // A part of the dtype's range as a clamp of the numbers.
  static void within(const Step& to, std::string& unary, std::vector<Operand>& scalars) {
    double low = to.scale * static_cast<double>(to.least - to.zero_point),
           high = to.scale * static_cast<double>(to.most - to.zero_point);
    if (unary == "relu") low = std::max(low, 0.0);
    if (unary == "hardtanh") {
      low = std::max(low, scalars[0].constant().toScalar().toDouble());
      high = std::min(high, scalars[1].constant().toScalar().toDouble());
    }
    unary = "hardtanh";
    scalars = {Operand(IValue(low)), Operand(IValue(high))};
  }

  void replace(Node* old, Node* made) {
    if (old->result()->info() != nullptr) made->result()->set_info(*old->result()->info());
    made->result()->set_name(old->result()->name());
    old->result()->replace_all_uses_with(made->result());
  }

  // Linear layers whose inputs' scales are chosen when they run.
  void lower_dynamic(Node* layer, const Weight& weight) {
    Node* const dq = maker(layer->operand(0));
    if (dq == nullptr || !dq->calls("quantized_decomposed::dequantize_per_tensor.tensor")) return;
    if (!dq->operand(5).is_constant()) return;
    const ScalarType dtype = dq->operand(5).constant().toScalarType();
    if (dtype != ScalarType::Byte && dtype != ScalarType::Char) return;
    std::string unary = "none";
    std::vector<Operand> scalars;
    Value* last = layer->result();
    if (used_by_one(last) && is_clamp(*only_user(last), unary, scalars)) last = only_user(last)->result();
    const IValue packed(at::quantized::prepack_integers("lower_to_integers", weight.integers, 1));
    const IValue zeros(at::zeros({1}, at::TensorOptions().dtype(ScalarType::Long)));
    Node* const made = insert_call(
        last->node(), "onednn::qlinear_pointwise.tensor",
        {dq->operand(0), dq->operand(1), dq->operand(2), packed, IValue(weight.scales), zeros, layer->operand(2),
         IValue(1.0), IValue(int64_t{0}), IValue(ScalarType::Float), IValue(unary), scalars, IValue(std::string())});
    replace(last->node(), made);
    ++result_.changes;
  }

  // --- what moves bytes as it moves numbers ---
  void pass_bytes_on(Node* q) {
    const auto step = step_of(*q, kQuantize);
    Node* const mover = step.has_value() ? maker(q->operand(0)) : nullptr;
    if (mover == nullptr || mover->kind() != Node::Kind::kCall || mover->result_count() != 1) return;
    std::vector<Operand> operands(mover->operands().begin(), mover->operands().end());
    if (mover->calls("aten::cat") && operands[0].is_list()) {
      std::vector<Operand> parts;
      for (const Operand& part : operands[0].list()) {
        const auto x = dequantized(part);
        if (!x.has_value() || !(x->step == *step)) return;
        parts.push_back(x->bytes);
      }
      operands[0] = Operand(std::move(parts));
    } else {
      bool moves = false;
      for (const char* name :
           {"aten::max_pool2d", "aten::flatten", "aten::view", "aten::reshape", "aten::permute", "aten::transpose",
            "aten::unsqueeze", "aten::squeeze", "aten::slice", "aten::select", "aten::contiguous", "aten::clone"}) {
        moves = moves || mover->calls(name);
      }
      const auto x = moves ? dequantized(operands[0]) : std::nullopt;
      if (!x.has_value() || !(x->step == *step)) return;
      operands[0] = x->bytes;
    }
    auto made = mover->graph().call(mover->callable(), std::move(operands));
    made->set_source(mover->source());
    Node* const node = made.release();
    node->move_before(q);
    replace(q, node);
  }

  ExportedProgram& program_;
  LoweringOptions options_;
  graph::PassResult result_;
};

}  // namespace

graph::PassResult lower_to_integers(ExportedProgram& program, const LoweringOptions& options) {
  const c10::NoGradGuard no_grad;
  return Lowering(program, options).run();
}

}  // namespace torch::quantization
