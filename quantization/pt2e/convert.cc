#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "aten/ops/copy/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "graph/ir/text.h"
#include "graph/passes/dead_code.h"
#include "graph/passes/effects.h"
#include "quantization/pt2e/conv_batch_norm.h"
#include "quantization/pt2e/observe.h"
#include "quantization/pt2e/program_parts.h"
#include "quantization/pt2e/pt2e.h"

namespace torch::quantization {

using at::Tensor;
using c10::IValue;
using c10::ScalarType;
using graph::Node;
using graph::Operand;
using graph::Value;

namespace {

// The dtype of what a node's operand is, where it is known.
ScalarType dtype_of(const ExportedProgram& program, const Operand& operand) {
  const std::optional<Tensor> known = known_tensor(program, operand);
  if (known.has_value() && known->defined()) return known->scalar_type();
  if (operand.is_value() && operand.value()->info() != nullptr) return operand.value()->info()->dtype;
  return ScalarType::Float;
}

void know(Value* value, const Operand& like, ScalarType dtype) {
  if (!like.is_value() || like.value()->info() == nullptr) return;
  graph::TensorInfo info = *like.value()->info();
  info.dtype = dtype;
  info.requires_grad = false;
  value->set_info(info);
}

// What stands for a tensor that an observer has seen.
Operand quantized(const ExportedProgram& program, Node* node, ObserverBase& observer) {
  const Operand x = node->operand(0);
  const ScalarType dtype = integer_dtype(observer.dtype()), before = dtype_of(program, x);
  if (dtype == ScalarType::Half || dtype == ScalarType::BFloat16) {
    if (dtype == before) return x;
    Node* const narrow = insert_call(node, "quantized_decomposed::convert_element_type.no_fuse", {x, IValue(dtype)});
    know(narrow->result(), x, dtype);
    Node* const wide =
        insert_call(node, "quantized_decomposed::convert_element_type.no_fuse", {narrow->result(), IValue(before)});
    know(wide->result(), x, before);
    return wide->result();
  }
  if (!c10::isIntegralType(dtype, /*includeBool=*/false)) return x;
  if (!observer.is_dynamic() && !observer.chooses_qparams()) return x;
  // A weight that no run has shown to its observer.
  const std::optional<Tensor> known = known_tensor(program, x);
  if (!observer.is_dynamic() && known.has_value() && known->defined() && !observer.has_seen()) {
    observer.forward(at::detach(*known));
  }
  const IValue least(observer.quant_min()), most(observer.quant_max());
  std::vector<std::pair<std::string_view, Operand>> back;
  if (before != ScalarType::Float) back.emplace_back("out_dtype", IValue(before));
  const auto pair = [&](std::string_view q_name, std::string_view dq_name, const Operand& scale, const Operand& zero,
                        std::optional<int64_t> axis) {
    std::vector<Operand> rest{scale, zero};
    if (axis.has_value()) rest.emplace_back(IValue(*axis));
    rest.emplace_back(least);
    rest.emplace_back(most);
    rest.emplace_back(IValue(dtype));
    std::vector<Operand> operands{x};
    operands.insert(operands.end(), rest.begin(), rest.end());
    Node* const q = insert_call(node, q_name, operands);
    know(q->result(), x, dtype);
    operands[0] = q->result();
    Node* const dq = insert_call(node, dq_name, operands, back);
    know(dq->result(), x, before);
    return Operand(dq->result());
  };
  if (observer.is_dynamic()) {
    Node* const chosen =
        insert_call(node,
                    is_symmetric(observer.qscheme()) ? "quantized_decomposed::choose_qparams_symmetric.tensor"
                                                     : "quantized_decomposed::choose_qparams.tensor",
                    {x, least, most, IValue(observer.eps_value()), IValue(dtype)});
    // One number each.
    for (const auto& [i, of] : {std::pair(0, ScalarType::Double), std::pair(1, ScalarType::Long)}) {
      graph::TensorInfo info;
      info.dtype = of;
      info.sizes = info.strides = {1};
      chosen->result(static_cast<size_t>(i))->set_info(info);
    }
    return pair("quantized_decomposed::quantize_per_tensor.tensor",
                "quantized_decomposed::dequantize_per_tensor.tensor", chosen->result(0), chosen->result(1),
                std::nullopt);
  }
  const auto [scale, zero_point] = observer.calculate_qparams();
  if (is_per_channel(observer.qscheme())) {
    const bool floats = zero_point.is_floating_point();
    return pair("quantized_decomposed::quantize_per_channel", "quantized_decomposed::dequantize_per_channel",
                IValue(at::clone(at::detach(scale))),
                IValue(floats ? at::clone(at::detach(zero_point)) : at::to(zero_point, ScalarType::Long)),
                observer.ch_axis());
  }
  return pair("quantized_decomposed::quantize_per_tensor", "quantized_decomposed::dequantize_per_tensor",
              IValue(at::item(scale).toDouble()), IValue(at::item(zero_point).toLong()), std::nullopt);
}

bool is_quantize(const Node& node) {
  return node.calls("quantized_decomposed::quantize_per_tensor") ||
         node.calls("quantized_decomposed::quantize_per_channel") ||
         node.calls("quantized_decomposed::quantize_per_channel_group") ||
         node.calls("quantized_decomposed::convert_element_type");
}
bool is_dequantize(const Node& node) {
  return node.calls("quantized_decomposed::dequantize_per_tensor") ||
         node.calls("quantized_decomposed::dequantize_per_channel");
}

// Computes what depends on weights alone.
class Folding {
 public:
  explicit Folding(const ExportedProgram& program) : program_(program) {}

  // The tensor that the operand is in every run; undefined for others.
  Tensor constant(const Operand& operand) {
    const std::optional<Tensor> known = known_tensor(program_, operand);
    if (known.has_value()) return known->defined() ? at::detach(*known) : Tensor();
    if (!operand.is_value() || operand.value()->node() == nullptr) return {};
    // Nodes before others first, without recursion: chains may be long.
    std::vector<const Node*> open{operand.value()->node()};
    while (!open.empty()) {
      const Node* const node = open.back();
      bool ready = true;
      if (folded_.count(node) == 0) {
        for (const Operand& one : node->operands()) {
          one.for_values([&](const Value* value) {
            if (value->node() == nullptr || folded_.count(value->node()) > 0) return;
            open.push_back(value->node());
            ready = false;
          });
        }
      }
      if (!ready) continue;
      open.pop_back();
      if (folded_.count(node) == 0) folded_[node] = compute(*node);
    }
    return result(operand.value());
  }

 private:
  Tensor result(const Value* value) const {
    const auto& results = folded_.at(value->node());
    if (!results.has_value() || !results->at(value->index()).isTensor()) return {};
    return results->at(value->index()).toTensor();
  }

  std::optional<c10::Stack> compute(const Node& node) const {
    if (node.kind() != Node::Kind::kCall || graph::has_effects(node) || !graph::written_operands(node).empty() ||
        node.calls("quantization::observe")) {
      return std::nullopt;
    }
    c10::Stack stack;
    for (const Operand& operand : node.operands()) {
      if (operand.is_constant()) {
        stack.push_back(operand.constant());
        continue;
      }
      if (!operand.is_value()) return std::nullopt;
      const std::optional<Tensor> known = known_tensor(program_, operand);
      const Tensor value = known.has_value()                    ? at::detach(*known)
                           : operand.value()->node() != nullptr ? result(operand.value())
                                                                : Tensor();
      if (!value.defined()) return std::nullopt;
      stack.emplace_back(value);
    }
    node.callable().call(stack);
    return stack;
  }

  const ExportedProgram& program_;
  std::map<const Node*, std::optional<c10::Stack>> folded_;
};

void fold_weights(ExportedProgram& program) {
  Folding folding(program);
  for (Node* node : program.graph->block()) {
    if (!is_quantize(*node)) continue;
    if (!folding.constant(node->operand(0)).defined()) continue;
    const Tensor q = folding.constant(node->result());
    if (q.defined()) node->result()->replace_all_uses_with(Operand(IValue(q)));
  }
}

// What reads a dequantized tensor has one of its own, so that each can be matched with it.
void dequantize_for_each_use(graph::Graph& graph) {
  for (Node* node : graph.block()) {
    if (!is_dequantize(*node)) continue;
    Value* const value = node->result();
    const std::vector<graph::Use> uses(value->uses().begin(), value->uses().end());
    std::set<Node*> seen;
    for (const graph::Use& use : uses) {
      if (!seen.insert(use.node).second || seen.size() == 1) continue;
      auto copy = graph.call(node->callable(), {node->operands().begin(), node->operands().end()});
      Node* const own = copy.release();
      own->move_before(node);
      if (value->info() != nullptr) own->result()->set_info(*value->info());
      replace_use(use.node, value, own->result());
    }
  }
}

}  // namespace

ExportedProgram convert_pt2e(ExportedProgram prepared, const ConvertOptions& options) {
  const c10::NoGradGuard no_grad;
  ExportedProgram program = renewed(std::move(prepared));
  const std::set<std::string> used = used_state(program);
  fold_scaled_batch_norms(program);
  std::vector<Node*> observed;
  program.graph->for_nodes([&](Node* node) {
    if (node->calls("quantization::observe")) observed.push_back(node);
  });
  for (Node* node : observed) {
    const std::shared_ptr<ObserverBase> observer = observer_of(*node);
    TORCH_CHECK_VALUE(observer != nullptr, "convert_pt2e: the observer of a node is no constant:\n  ",
                      graph::print_node(*node));
    const Operand left = quantized(program, node, *observer);
    node->result()->replace_all_uses_with(left);
    node->erase();
  }
  if (options.fold_quantize) fold_weights(program);
  graph::eliminate_dead_code(*program.graph);
  dequantize_for_each_use(*program.graph);
  drop_unused_state(program, used);
  graph::verify(*program.graph);
  return program;
}

}  // namespace torch::quantization
