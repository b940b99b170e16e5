#include "quantization/quantizers/x86_inductor_quantizer.h"

#include <vector>

#include "quantization/pt2e/program_parts.h"

namespace torch::quantization {

using c10::ScalarType;
using graph::Node;
using graph::Value;

QuantizationConfig get_default_x86_inductor_quantization_config(bool is_qat, bool is_dynamic, bool reduce_range) {
  constexpr double kEps = 0x1p-12;
  const auto activation = ObserverOptions()
                              .dtype(ScalarType::Byte)
                              .quant_min(0)
                              .quant_max(reduce_range ? 127 : 255)
                              .eps(kEps)
                              .is_dynamic(is_dynamic);
  const auto weight = ObserverOptions()
                          .dtype(ScalarType::Char)
                          .quant_min(-128)
                          .quant_max(127)
                          .qscheme(c10::kPerChannelSymmetric)
                          .eps(kEps);
  QuantizationConfig config;
  config.is_qat = is_qat;
  config.input_activation = activation_spec(activation, is_qat, is_dynamic);
  config.weight = weight_spec(weight, is_qat);
  config.output_activation = config.input_activation;
  return config;
}

X86InductorQuantizer& X86InductorQuantizer::set_global(const QuantizationConfig& config) {
  global_ = config;
  return *this;
}
X86InductorQuantizer& X86InductorQuantizer::set_function_type_qconfig(const std::string& op,
                                                                      std::optional<QuantizationConfig> config) {
  operators_[op] = std::move(config);
  return *this;
}
X86InductorQuantizer& X86InductorQuantizer::set_module_name_qconfig(const std::string& module,
                                                                    std::optional<QuantizationConfig> config) {
  modules_[module] = std::move(config);
  return *this;
}

namespace {

bool passes_on(const Node& node) {
  for (const char* name : {"aten::max_pool2d", "aten::avg_pool2d", "aten::adaptive_avg_pool2d", "aten::flatten"}) {
    if (node.calls(name)) return node.operand(0).is_value();
  }
  if (!node.calls("aten::cat") || !node.operand(0).is_list() || node.operand(0).list().empty()) return false;
  for (const graph::Operand& part : node.operand(0).list()) {
    if (!part.is_value()) return false;
  }
  return true;
}

}  // namespace

void X86InductorQuantizer::annotate(const ExportedProgram& program, Annotations& annotations) {
  // Results of quantized layers and of what passes them on.
  std::map<const Value*, QuantizationSpec> quantized;
  for (Node* node : program.graph->block()) {
    const LayerKind kind = layer_kind(*node);
    if (kind == LayerKind::kNone || annotations.has(node) || !node->operand(0).is_value() ||
        !node->operand(1).is_value()) {
      continue;
    }
    const std::optional<QuantizationConfig> config = config_of(program, *node);
    if (!config.has_value() || !config->weight.has_value()) continue;
    const bool dynamic =
        config->input_activation.has_value() && config->input_activation->observer_or_fake_quant_ctr()->is_dynamic();
    if (dynamic && kind != LayerKind::kLinear) continue;
    const LayerPattern pattern = layer_pattern(node);
    QuantizationAnnotation& layer = annotations.of(node);
    if (config->input_activation.has_value()) {
      layer.input_qspec_map.emplace(node->operand(0).value(), *config->input_activation);
    }
    layer.input_qspec_map.emplace(node->operand(1).value(), *config->weight);
    if (!config->input_activation.has_value() || dynamic) continue;
    // A convolution adds the other tensor as 8 bits; of two convolutions before an add the first one does.
    Value* last = node->result();
    if (pattern.batch_norm != nullptr) last = pattern.batch_norm->result();
    if (kind == LayerKind::kConvolution && pattern.add != nullptr && !annotations.has(pattern.add)) {
      annotations.of(pattern.add).input_qspec_map.emplace(pattern.other, *config->input_activation);
      last = pattern.add->result();
    }
    Node* const next = only_user(last);
    if (next != nullptr && next == pattern.activation && !annotations.has(next)) {
      annotations.of(next);
      last = next->result();
    }
    quantized.emplace(last, *config->input_activation);
  }
  for (Node* node : program.graph->block()) {
    if (node->kind() != Node::Kind::kCall || !passes_on(*node) || annotations.has(node)) continue;
    std::vector<Value*> inputs;
    node->operand(0).for_values([&](Value* value) { inputs.push_back(value); });
    const auto first = quantized.find(inputs[0]);
    bool all = true;
    for (const Value* value : inputs) all = all && quantized.count(value) > 0;
    if (!all) continue;
    QuantizationAnnotation& annotation = annotations.of(node);
    annotation.input_qspec_map.emplace(inputs[0], first->second);
    for (Value* value : inputs) {
      annotation.input_qspec_map.emplace(value, SharedQuantizationSpec{Edge{inputs[0], node}});
    }
    annotation.output_qspec = SharedQuantizationSpec{Edge{inputs[0], node}};
    quantized.emplace(node->result(), first->second);
  }
}

}  // namespace torch::quantization
