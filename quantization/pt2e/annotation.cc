#include "quantization/pt2e/annotation.h"

#include <string_view>

#include "quantization/pt2e/quantizer.h"

namespace torch::quantization {

using graph::Node;
using graph::Value;

LayerKind layer_kind(const Node& node) {
  if (node.kind() != Node::Kind::kCall) return LayerKind::kNone;
  for (const char* name : {"aten::conv1d", "aten::conv2d", "aten::conv3d"}) {
    if (node.calls(name)) return LayerKind::kConvolution;
  }
  if (node.calls("aten::convolution")) {
    const graph::Operand& transposed = node.argument("transposed");
    const bool plain = transposed.is_constant() && transposed.constant().isBool() && !transposed.constant().toBool();
    return plain ? LayerKind::kConvolution : LayerKind::kNone;
  }
  return node.calls("aten::linear") ? LayerKind::kLinear : LayerKind::kNone;
}

bool is_batch_norm(const Node& node) {
  if (node.kind() != Node::Kind::kCall) return false;
  for (const char* name : {"aten::batch_norm", "aten::_native_batch_norm_legit_functional",
                           "aten::_native_batch_norm_legit_no_training"}) {
    if (node.calls(name)) return true;
  }
  return false;
}

Node* only_user(const Value* value) {
  if (value->uses().size() != 1) return nullptr;
  Node* const node = value->uses()[0].node;
  return node->kind() == Node::Kind::kReturn || node->block() != value->block() ? nullptr : node;
}

namespace {

bool is_activation(const Node& node) {
  if (node.kind() != Node::Kind::kCall) return false;
  for (const char* name : {"aten::relu", "aten::hardtanh", "aten::relu6", "aten::hardswish", "aten::silu",
                           "aten::leaky_relu", "aten::gelu", "aten::tanh"}) {
    if (node.calls(name)) return true;
  }
  return false;
}

bool is_plain_add(const Node& node) {
  if (node.kind() != Node::Kind::kCall || !node.calls("aten::add.Tensor")) return false;
  const graph::Operand& alpha = node.argument("alpha");
  if (!node.operand(0).is_value() || !node.operand(1).is_value()) return false;
  return alpha.is_constant() && alpha.constant().isScalar() && alpha.constant().toScalar().toDouble() == 1;
}

bool same_sizes(const Value* a, const Value* b) {
  return a->info() != nullptr && b->info() != nullptr && a->info()->sizes == b->info()->sizes &&
         a->info()->dtype == b->info()->dtype;
}

}  // namespace

LayerPattern layer_pattern(Node* layer) {
  LayerPattern found;
  found.layer = layer;
  Value* result = layer->result();
  Node* next = only_user(result);
  if (next != nullptr && is_batch_norm(*next) && next->operand(0).is_value() && next->operand(0).value() == result) {
    found.batch_norm = next;
    result = next->result();
    next = only_user(result);
  }
  if (next != nullptr && is_plain_add(*next)) {
    Value *const a = next->operand(0).value(), *const b = next->operand(1).value();
    Value* const other = a == result ? b : a;
    if (a != b && same_sizes(result, other)) {
      found.add = next;
      found.other = other;
      result = next->result();
      next = only_user(result);
    }
  }
  if (next != nullptr && is_activation(*next) && next->operand(0).is_value() && next->operand(0).value() == result) {
    found.activation = next;
  }
  return found;
}

void ComposableQuantizer::transform_for_annotation(ExportedProgram& program) {
  for (const auto& one : quantizers_) one->transform_for_annotation(program);
}
void ComposableQuantizer::annotate(const ExportedProgram& program, Annotations& annotations) {
  for (const auto& one : quantizers_) {
    Annotations own;
    one->annotate(program, own);
    for (const auto& [node, annotation] : own.all()) {
      if (!annotations.has(node)) annotations.of(node) = annotation;
    }
  }
}
void ComposableQuantizer::validate(const ExportedProgram& program, const Annotations& annotations) {
  for (const auto& one : quantizers_) one->validate(program, annotations);
}

}  // namespace torch::quantization
