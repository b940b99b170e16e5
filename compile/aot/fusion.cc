#include "compile/aot/fusion.h"

#include <cmath>

#include "aten/core/tensor.h"
#include "graph/passes/operands.h"
#include "graph/passes/tensor_info.h"

namespace torch::aot {

using c10::IValue;
using graph::Graph;
using graph::is_constant_tensor;
using graph::Node;
using graph::Operand;
using graph::TensorInfo;
using graph::Value;

namespace {

// The node that alone reads its only result; null where there is none in this block.
Node* only_reader(const Node& node) {
  const auto uses = node.result()->uses();
  for (size_t i = 1; i < node.result_count(); ++i) {
    if (!node.result(i)->uses().empty()) return nullptr;
  }
  if (uses.size() != 1 || uses[0].node->block() != node.block()) return nullptr;
  return uses[0].node->kind() == Node::Kind::kCall ? uses[0].node : nullptr;
}

bool same_layout(const Value* a, const Value* b) {
  const TensorInfo *x = a->info(), *y = b->info();
  return x != nullptr && y != nullptr && x->dtype == y->dtype && x->sizes == y->sizes && x->strides == y->strides;
}

// Whether it adds a tensor of the same layout to `value`.
bool adds_same_layout(const Node& node, const Value* value) {
  if (!node.calls("aten::add.Tensor") || !same_layout(node.result(), value)) return false;
  if (!is_one(node.argument("alpha"))) return false;
  for (size_t i = 0; i < 2; ++i) {
    if (!node.operand(i).is_value() || !same_layout(node.operand(i).value(), value)) return false;
  }
  return !(node.operand(0).value() == value && node.operand(1).value() == value);
}

bool is_finite_number(const Operand& operand) {
  if (!operand.is_constant()) return false;
  const IValue& v = operand.constant();
  return v.isInt() || (v.isDouble() && std::isfinite(v.toDouble()));
}
bool limits(const Node& node) {
  return node.calls("aten::relu") || node.calls("aten::relu6") ||
         (node.calls("aten::hardtanh") && is_finite_number(node.operand(1)) && is_finite_number(node.operand(2)));
}

}  // namespace

bool is_packable_convolution(const Node& node) {
  if (!node.calls("aten::convolution") || !node.operand(0).is_value() || !is_constant_tensor(node.argument("weight")))
    return false;
  const Operand &bias = node.argument("bias"), &groups = node.argument("groups");
  const bool biased = !(bias.is_constant() && bias.constant().isNone());
  const at::Tensor weight = node.argument("weight").constant().toTensor();
  const TensorInfo* in = node.operand(0).value()->info();
  if (in == nullptr || in->sizes.size() != 4 || weight.dim() != 4 || in->dtype != c10::ScalarType::Float ||
      weight.scalar_type() != c10::ScalarType::Float || !is_false(node.argument("transposed")) ||
      (biased && !is_constant_tensor(bias)) || !groups.is_constant() || !in->sizes[1].is_constant()) {
    return false;
  }
  for (const char* name : {"stride", "padding", "dilation"}) {
    const Operand& list = node.argument(name);
    if (!list.is_constant() || !list.constant().isIntList()) return false;
  }
  const int64_t count = groups.constant().toInt(), channels = in->sizes[1].value();
  return count == 1 || (count == channels && weight.size(0) == channels);
}

Fusions find_fusions(Graph& graph) {
  Fusions fusions;
  std::vector<Node*> nodes;
  for (Node* node : graph.block()) nodes.push_back(node);
  for (Node* node : nodes) {
    if (!is_packable_convolution(*node) || node->result()->info() == nullptr ||
        !graph::is_channels_last(*node->result()->info())) {
      continue;
    }
    const auto is_free = [&](const Node* one) {
      return one != nullptr && fusions.runs_with.count(one) == 0 && fusions.groups.count(one) == 0;
    };
    std::vector<Node*> group{node};
    Node* next = only_reader(*node);
    if (is_free(next) && adds_same_layout(*next, node->result())) {
      group.push_back(next);
      next = only_reader(*next);
    }
    if (is_free(next) && limits(*next) && same_layout(next->result(), node->result())) group.push_back(next);
    if (group.size() == 1) continue;
    // Each is read by the next alone: it may run as late as that.
    for (size_t i = group.size() - 1; i-- > 0;) group[i]->move_before(group[i + 1]);
    for (size_t i = 0; i + 1 < group.size(); ++i) fusions.runs_with[group[i]] = group.back();
    fusions.groups[group.back()].assign(group.begin(), group.end());
  }
  return fusions;
}

}  // namespace torch::aot
