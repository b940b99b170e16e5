#include "quantization/fx/quantize_fx.h"

#include <utility>

#include "quantization/lowering/lowering.h"
#include "quantization/pt2e/pt2e.h"

namespace torch::quantization {

using graph::Node;

std::optional<QuantizationConfig> QConfigMappingQuantizer::config_of(const ExportedProgram& program,
                                                                     const Node& node) const {
  const std::string module = module_of(program, node), type = node.callable().schema().name();
  // Those of the same module and operator before it.
  int64_t index = 0;
  for (const Node* other : program.graph->block()) {
    if (other == &node) break;
    index += other->calls(type) && module_of(program, *other) == module;
  }
  const std::optional<QConfig> qconfig = mapping_.get(module, type, index);
  if (!qconfig.has_value()) return std::nullopt;
  QuantizationConfig config;
  if (qconfig->activation != nullptr) {
    config.input_activation = QuantizationSpec{qconfig->activation};
    if (!qconfig->activation()->is_dynamic()) config.output_activation = config.input_activation;
  }
  if (qconfig->weight != nullptr) config.weight = QuantizationSpec{qconfig->weight};
  return config;
}

void QConfigMappingQuantizer::annotate(const ExportedProgram& program, Annotations& annotations) {
  XNNPACKQuantizer::annotate(program, annotations);
  for (Node* node : program.graph->block()) {
    if (node->kind() != Node::Kind::kCall || annotations.has(node)) continue;
    bool known = false;
    for (const char* name : {"aten::sigmoid", "aten::hardsigmoid", "aten::tanh", "aten::softmax", "aten::hardswish",
                             "aten::elu", "aten::leaky_relu", "aten::layer_norm", "aten::matmul"}) {
      known = known || node->calls(name);
    }
    const std::optional<QuantizationConfig> config = known ? config_of(program, *node) : std::nullopt;
    if (config.has_value() && config->output_activation.has_value()) {
      annotations.of(node).output_qspec = *config->output_activation;
    }
  }
}

ExportedProgram prepare_fx(ExportedProgram program, const QConfigMapping& mapping) {
  QConfigMappingQuantizer quantizer(mapping);
  return prepare_pt2e(std::move(program), quantizer);
}
ExportedProgram prepare_qat_fx(ExportedProgram program, const QConfigMapping& mapping) {
  QConfigMappingQuantizer quantizer(mapping);
  return prepare_qat_pt2e(std::move(program), quantizer);
}
ExportedProgram convert_to_reference_fx(ExportedProgram prepared) {
  return convert_pt2e(std::move(prepared));
}
ExportedProgram convert_fx(ExportedProgram prepared) {
  ExportedProgram program = convert_pt2e(std::move(prepared));
  lower_to_integers(program);
  return program;
}

namespace {
struct NoQuantizer : Quantizer {
  void annotate(const ExportedProgram&, Annotations&) override {}
};
}  // namespace

ExportedProgram fuse_fx(ExportedProgram program) {
  NoQuantizer quantizer;
  return prepare_pt2e(std::move(program), quantizer);
}

}  // namespace torch::quantization
