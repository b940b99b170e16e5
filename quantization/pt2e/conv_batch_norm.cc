#include "quantization/pt2e/conv_batch_norm.h"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "graph/passes/dead_code.h"
#include "quantization/pt2e/observe.h"
#include "quantization/pt2e/program_parts.h"

namespace torch::quantization {

using at::Tensor;
using graph::Node;
using graph::Operand;
using graph::Value;

namespace {

// A batch norm's tensors, where they are known.
struct Norm {
  Tensor gamma, beta, mean, var;
  double eps = 0;

  // gamma / sqrt(var + eps)
  Tensor scale() const {
    const Tensor root = at::sqrt(at::add(var, eps));
    return gamma.defined() ? at::div(gamma, root) : at::reciprocal(root);
  }
  // What is added to a result of the scaled weights.
  Tensor shift(const Tensor& bias, const Tensor& scale) const {
    const Tensor moved = at::mul(bias.defined() ? at::sub(bias, mean) : at::neg(mean), scale);
    return beta.defined() ? at::add(moved, beta) : moved;
  }
};

std::optional<Norm> norm_of(const ExportedProgram& program, const Node& node) {
  Norm norm;
  Tensor* const parts[] = {&norm.gamma, &norm.beta, &norm.mean, &norm.var};
  for (size_t i = 0; i < 4; ++i) {
    const std::optional<Tensor> known = known_tensor(program, node.operand(1 + i));
    if (!known.has_value()) return std::nullopt;
    if (known->defined()) *parts[i] = at::detach(*known);
  }
  const Operand& eps = node.argument("eps");
  if (!norm.mean.defined() || !norm.var.defined() || !eps.is_constant() || !eps.constant().isDouble()) {
    return std::nullopt;
  }
  norm.eps = eps.constant().toDouble();
  return norm;
}

bool trains(const Node& norm) {
  if (!norm.callable().schema().argument_index("training").has_value()) return false;
  const Operand& training = norm.argument("training");
  return !training.is_constant() || !training.constant().isBool() || training.constant().toBool();
}

Tensor along_first(const Tensor& t, int64_t dims) {
  at::DimVector sizes(static_cast<size_t>(dims), 1);
  sizes[0] = t.numel();
  return at::reshape(t, sizes);
}

// Takes away the outputs that say how a buffer changed, those that `goes` says by value and name.
template <class F>
void drop_changes(ExportedProgram& program, const F& goes) {
  std::vector<Operand> outputs(program.graph->block().outputs().begin(), program.graph->block().outputs().end());
  for (size_t o = outputs.size(); o-- > 0;) {
    const OutputSpec& spec = program.signature.outputs.at(o);
    if (spec.kind != OutputSpec::Kind::kBufferMutation || !outputs[o].is_value()) continue;
    if (!goes(outputs[o].value(), spec.target)) continue;
    outputs.erase(outputs.begin() + static_cast<std::ptrdiff_t>(o));
    program.signature.outputs.erase(program.signature.outputs.begin() + static_cast<std::ptrdiff_t>(o));
  }
  program.graph->block().set_outputs(std::move(outputs));
}

// What a fold leaves of a norm's results: its running statistics stay what they are, and nothing reads the others.
void replace_norm(ExportedProgram& program, Node* norm, Value* result) {
  norm->result()->replace_all_uses_with(result);
  if (!norm->calls("aten::_native_batch_norm_legit_functional")) return;
  // Nor are batches counted.
  std::string count;
  if (norm->operand(3).is_value() && state_of(program, norm->operand(3).value()) != nullptr) {
    const std::string& mean = state_name(program, norm->operand(3).value());
    count = mean.substr(0, mean.rfind('.') + 1) + "num_batches_tracked";
  }
  for (size_t i = 3; i < norm->result_count(); ++i) {
    drop_changes(program, [&](const Value* value, const std::string& name) {
      return value == norm->result(i) || name == count;
    });
    norm->result(i)->replace_all_uses_with(norm->operand(i));
  }
}

// Takes away what the folds have left.
void clean_up(ExportedProgram& program, const std::set<std::string>& used_before) {
  graph::eliminate_dead_code(*program.graph);
  drop_unused_state(program, used_before);
}

}  // namespace

void fold_batch_norms(ExportedProgram& program) {
  const c10::NoGradGuard no_grad;
  const std::set<std::string> used = used_state(program);
  for (Node* node : program.graph->block()) {
    if (layer_kind(*node) != LayerKind::kConvolution || !node->operand(1).is_value()) continue;
    Node* const norm = layer_pattern(node).batch_norm;
    if (norm == nullptr || trains(*norm)) continue;
    const Value* const weight_value = node->operand(1).value();
    const Tensor* const weight = state_of(program, weight_value);
    const std::optional<Tensor> bias = known_tensor(program, node->operand(2));
    const std::optional<Norm> known = norm_of(program, *norm);
    if (weight == nullptr || !bias.has_value() || !known.has_value() || weight_value->uses().size() != 1) continue;
    if (known->mean.numel() != weight->size(0)) continue;
    const Tensor scale = known->scale();
    const Tensor scaled = at::mul(at::detach(*weight), along_first(scale, weight->dim()));
    const Tensor shift = known->shift(bias->defined() ? at::detach(*bias) : Tensor(), scale);
    const std::string& name = state_name(program, weight_value);
    auto& home = program.state_dict.count(name) > 0 ? program.state_dict : program.constants;
    const bool trained = weight->requires_grad();
    Tensor folded = at::to(scaled, weight->scalar_type());
    folded.set_requires_grad(trained);
    home[name] = folded;
    node->set_operand(2, Operand(c10::IValue(at::to(shift, folded.scalar_type()))));
    replace_norm(program, norm, node->result());
  }
  clean_up(program, used);
}

void scale_weights_before_batch_norms(ExportedProgram& program, Annotations& annotations) {
  for (Node* node : program.graph->block()) {
    if (layer_kind(*node) != LayerKind::kConvolution || !node->operand(1).is_value() || !annotations.has(node))
      continue;
    Node* const norm = layer_pattern(node).batch_norm;
    Value* const weight = node->operand(1).value();
    const Tensor* const known = state_of(program, weight);
    QuantizationAnnotation& annotation = annotations.of(node);
    const auto spec = annotation.input_qspec_map.find(weight);
    if (norm == nullptr || known == nullptr || spec == annotation.input_qspec_map.end()) continue;
    if (!norm->operand(4).is_value() || state_of(program, norm->operand(4).value()) == nullptr) continue;
    const int64_t dims = known->dim();
    std::vector<int64_t> first(static_cast<size_t>(dims), 1), second(static_cast<size_t>(dims), 1);
    first[0] = -1;
    second[1] = -1;
    Value* const shifted = insert_call(node, "aten::add.Scalar", {norm->operand(4), norm->argument("eps")})->result();
    Value* const root = insert_call(node, "aten::sqrt", {shifted})->result();
    const bool has_gamma = norm->operand(1).is_value();
    Value* const scale = has_gamma ? insert_call(node, "aten::div.Tensor", {norm->operand(1), root})->result()
                                   : insert_call(node, "aten::reciprocal", {root})->result();
    Value* const column = insert_call(node, "aten::reshape", {scale, c10::IValue(first)})->result();
    Value* const scaled = insert_call(node, "aten::mul.Tensor", {weight, column})->result();
    scaled->set_info(weight->info() != nullptr ? std::optional(*weight->info()) : std::nullopt);
    const Operand bias = node->operand(2);
    node->set_operand(1, scaled);
    node->set_operand(2, c10::IValue());
    annotation.input_qspec_map.emplace(scaled, spec->second);
    annotation.input_qspec_map.erase(weight);
    if (bias.is_value()) annotation.input_qspec_map.erase(bias.value());
    Node* const place = node->next();
    Value* const row = insert_call(place, "aten::reshape", {scale, c10::IValue(second)})->result();
    Value* result = insert_call(place, "aten::div.Tensor", {node->result(), row})->result();
    if (bias.is_value()) {
      Value* const own = insert_call(place, "aten::reshape", {bias, c10::IValue(second)})->result();
      result = insert_call(place, "aten::add.Tensor", {result, own})->result();
    }
    replace_use(norm, node->result(), result);
  }
}

namespace {

// Of a batch norm: the nodes that scale_weights_before_batch_norms() put before it.
struct Scaled {
  Node* conv = nullptr;
  Value* weight = nullptr;                 // before the scale
  Tensor bias;                             // or undefined
  std::shared_ptr<ObserverBase> observer;  // of the weight, or null
};

Node* made_by(const Operand& operand, std::string_view name) {
  Node* const node = operand.is_value() ? operand.value()->node() : nullptr;
  return node != nullptr && node->calls(name) ? node : nullptr;
}

std::optional<Scaled> scaled_before(const ExportedProgram& program, const Node& norm) {
  Scaled found;
  Operand at = norm.operand(0);
  if (Node* const add = made_by(at, "aten::add.Tensor")) {
    Node* const bias = made_by(add->operand(1), "aten::reshape");
    if (bias == nullptr) return std::nullopt;
    const std::optional<Tensor> known = known_tensor(program, bias->operand(0));
    if (!known.has_value()) return std::nullopt;
    found.bias = *known;
    at = add->operand(0);
  }
  Node* const div = made_by(at, "aten::div.Tensor");
  if (div == nullptr || made_by(div->operand(1), "aten::reshape") == nullptr) {
    return std::nullopt;
  }
  found.conv = div->operand(0).is_value() ? div->operand(0).value()->node() : nullptr;
  if (found.conv == nullptr || layer_kind(*found.conv) != LayerKind::kConvolution) return std::nullopt;
  Operand weight = found.conv->operand(1);
  if (Node* const seen = made_by(weight, "quantization::observe")) {
    found.observer = observer_of(*seen);
    weight = seen->operand(0);
  }
  Node* const mul = made_by(weight, "aten::mul.Tensor");
  if (mul == nullptr || !mul->operand(0).is_value()) return std::nullopt;
  found.weight = mul->operand(0).value();
  return found;
}

}  // namespace

void fold_scaled_batch_norms(ExportedProgram& program) {
  const c10::NoGradGuard no_grad;
  const std::set<std::string> used = used_state(program);
  for (Node* norm : program.graph->block()) {
    if (!is_batch_norm(*norm)) continue;
    const std::optional<Scaled> found = scaled_before(program, *norm);
    const std::optional<Norm> known = norm_of(program, *norm);
    if (!found.has_value() || !known.has_value()) continue;
    const Tensor* const weight = state_of(program, found->weight);
    if (weight == nullptr) continue;
    const Tensor scale = known->scale();
    const Tensor scaled = at::mul(at::detach(*weight), along_first(scale, weight->dim()));
    const Tensor shift = known->shift(found->bias.defined() ? at::detach(found->bias) : Tensor(), scale);
    Node* const conv = found->conv;
    Operand operand{c10::IValue(scaled)};
    if (found->observer != nullptr) {
      operand = insert_call(conv, "quantization::observe", {operand, observer_value(found->observer)})->result();
    }
    conv->set_operand(1, operand);
    conv->set_operand(2, c10::IValue(shift));
    replace_norm(program, norm, conv->result());
  }
  clean_up(program, used);
}

}  // namespace torch::quantization
