#include "quantization/quantizers/xnnpack_quantizer.h"

#include <utility>
#include <vector>

#include "quantization/qconfig.h"

namespace torch::quantization {

using c10::ScalarType;
using graph::Node;
using graph::Value;

QuantizationConfig get_symmetric_quantization_config(bool is_per_channel, bool is_qat, bool is_dynamic,
                                                     int64_t act_qmin, int64_t act_qmax, int64_t weight_qmin,
                                                     int64_t weight_qmax) {
  constexpr double kEps = 0x1p-12;
  const auto activation = ObserverOptions()
                              .dtype(ScalarType::Char)
                              .quant_min(act_qmin)
                              .quant_max(act_qmax)
                              .eps(kEps)
                              .is_dynamic(is_dynamic);
  const auto weight = ObserverOptions()
                          .dtype(ScalarType::Char)
                          .quant_min(weight_qmin)
                          .quant_max(weight_qmax)
                          .qscheme(is_per_channel ? c10::kPerChannelSymmetric : c10::kPerTensorSymmetric)
                          .eps(kEps);
  QuantizationConfig config;
  config.is_qat = is_qat;
  config.input_activation = activation_spec(activation, is_qat, is_dynamic);
  if (!is_dynamic) config.output_activation = config.input_activation;
  config.weight = weight_spec(weight, is_qat);
  return config;
}

XNNPACKQuantizer& XNNPACKQuantizer::set_global(const QuantizationConfig& config) {
  global_ = config;
  return *this;
}
XNNPACKQuantizer& XNNPACKQuantizer::set_operator_type(const std::string& op, std::optional<QuantizationConfig> config) {
  operators_[op] = std::move(config);
  return *this;
}
XNNPACKQuantizer& XNNPACKQuantizer::set_module_name(const std::string& module,
                                                    std::optional<QuantizationConfig> config) {
  modules_[module] = std::move(config);
  return *this;
}

namespace {

bool calls_one(const Node& node, std::initializer_list<const char*> names) {
  if (node.kind() != Node::Kind::kCall) return false;
  for (const char* name : names) {
    if (node.calls(name)) return true;
  }
  return false;
}

bool is_float(const Value* value) {
  return value->info() == nullptr || c10::isFloatingType(value->info()->dtype);
}

// relu and its like behind a value.
Node* clamp_behind(const Value* value) {
  Node* const next = only_user(value);
  return next != nullptr && calls_one(*next, {"aten::relu", "aten::hardtanh", "aten::relu6"}) ? next : nullptr;
}

// Elements are moved, or some of them picked: their scale stays.
bool keeps_scale(const Node& node) {
  return calls_one(node, {"aten::max_pool1d", "aten::max_pool2d", "aten::mean.dim", "aten::permute", "aten::transpose",
                          "aten::view", "aten::reshape", "aten::flatten", "aten::slice", "aten::squeeze",
                          "aten::unsqueeze", "aten::select", "aten::contiguous", "aten::clone", "aten::expand",
                          "aten::pad", "aten::repeat", "aten::t", "aten::dropout"});
}

}  // namespace

void XNNPACKQuantizer::annotate_layer(Node* node, const QuantizationConfig& config, Annotations& annotations) const {
  const LayerPattern pattern = layer_pattern(node);
  QuantizationAnnotation& layer = annotations.of(node);
  if (config.input_activation.has_value()) {
    layer.input_qspec_map.emplace(node->operand(0).value(), *config.input_activation);
  }
  if (config.weight.has_value()) layer.input_qspec_map.emplace(node->operand(1).value(), *config.weight);
  if (!config.output_activation.has_value()) return;
  Node* last = pattern.batch_norm != nullptr ? pattern.batch_norm : node;
  if (Node* const clamp = clamp_behind(last->result())) last = clamp;
  if (last != node && annotations.has(last)) return;
  annotations.of(last).output_qspec = *config.output_activation;
}

void XNNPACKQuantizer::annotate_elementwise(Node* node, const QuantizationConfig& config,
                                            Annotations& annotations) const {
  if (!config.input_activation.has_value() || !config.output_activation.has_value()) return;
  std::vector<Value*> inputs;
  for (size_t i = 0; i < std::min<size_t>(node->operands().size(), 2); ++i) {
    node->operand(i).for_values([&](Value* value) { inputs.push_back(value); });
  }
  if (inputs.empty()) return;
  for (const Value* value : inputs) {
    if (!is_float(value)) return;
  }
  const bool shares = calls_one(*node, {"aten::cat", "aten::adaptive_avg_pool2d"});
  QuantizationAnnotation& annotation = annotations.of(node);
  for (Value* value : inputs) {
    if (shares && value != inputs[0]) {
      annotation.input_qspec_map.emplace(value, SharedQuantizationSpec{Edge{inputs[0], node}});
    } else {
      annotation.input_qspec_map.emplace(value, *config.input_activation);
    }
  }
  Node* const clamp = shares ? nullptr : clamp_behind(node->result());
  if (clamp != nullptr && !annotations.has(clamp)) {
    annotations.of(clamp).output_qspec = *config.output_activation;
  } else if (shares) {
    annotation.output_qspec = SharedQuantizationSpec{Edge{inputs[0], node}};
  } else {
    annotation.output_qspec = *config.output_activation;
  }
}

void XNNPACKQuantizer::annotate(const ExportedProgram& program, Annotations& annotations) {
  for (Node* node : program.graph->block()) {
    if (node->kind() != Node::Kind::kCall || annotations.has(node)) continue;
    const std::optional<QuantizationConfig> config = config_of(program, *node);
    if (!config.has_value()) continue;
    const LayerKind kind = layer_kind(*node);
    const bool dynamic = config->input_activation.has_value() && !config->output_activation.has_value();
    if (kind != LayerKind::kNone) {
      if (dynamic && kind != LayerKind::kLinear) continue;
      if (node->operand(0).is_value() && node->operand(1).is_value()) annotate_layer(node, *config, annotations);
    } else if (calls_one(*node, {"aten::add.Tensor", "aten::mul.Tensor", "aten::cat", "aten::adaptive_avg_pool2d"})) {
      annotate_elementwise(node, *config, annotations);
    }
  }
  for (Node* node : program.graph->block()) {
    if (!keeps_scale(*node) || annotations.has(node) || !node->operand(0).is_value()) continue;
    Value* const input = node->operand(0).value();
    Node* const maker = input->node();
    const QuantizationAnnotation* const before = maker != nullptr ? annotations.find(maker) : nullptr;
    if (before == nullptr || !before->output_qspec.has_value() || input->index() != 0) continue;
    QuantizationAnnotation& annotation = annotations.of(node);
    annotation.input_qspec_map.emplace(input, SharedQuantizationSpec{EdgeOrNode(maker)});
    annotation.output_qspec = SharedQuantizationSpec{EdgeOrNode(maker)};
  }
}

EmbeddingQuantizer::EmbeddingQuantizer(ObserverFactory weight)
    : weight_(weight != nullptr
                  ? std::move(weight)
                  : with_args<PerChannelMinMaxObserver>(
                        ObserverOptions().dtype(ScalarType::Byte).qscheme(c10::kPerChannelAffineFloatQParams))) {}

void EmbeddingQuantizer::annotate(const ExportedProgram& program, Annotations& annotations) {
  for (Node* node : program.graph->block()) {
    if (!calls_one(*node, {"aten::embedding"}) || !node->operand(0).is_value()) continue;
    annotations.of(node).input_qspec_map.emplace(node->operand(0).value(), QuantizationSpec{weight_});
  }
}

}  // namespace torch::quantization
