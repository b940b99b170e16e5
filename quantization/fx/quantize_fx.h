// torch.ao.quantization.quantize_fx: programs quantized by a QConfigMapping, with the machinery of prepare_pt2e().
//
//   auto prepared = torch::quantization::prepare_fx(std::move(program), get_default_qconfig_mapping("x86"));
//   for (const auto& x : calibration) prepared({x});
//   auto quantized = torch::quantization::convert_fx(std::move(prepared));
#pragma once

#include "export/exported_program.h"
#include "quantization/qconfig.h"
#include "quantization/quantizers/xnnpack_quantizer.h"

namespace torch::quantization {

/// Annotates what XNNPACKQuantizer annotates, and sigmoid, tanh, softmax and their like, each by the QConfig that the
/// mapping has for it: the layer's module, its operator ("aten::linear") and how many of these the module called
/// before.
class QConfigMappingQuantizer : public XNNPACKQuantizer {
 public:
  explicit QConfigMappingQuantizer(QConfigMapping mapping) : mapping_(std::move(mapping)) {}
  void annotate(const ExportedProgram& program, Annotations& annotations) override;

 protected:
  std::optional<QuantizationConfig> config_of(const ExportedProgram& program, const graph::Node& node) const override;

 private:
  QConfigMapping mapping_;
};

/// Batch norms in evaluation folded into the convolutions before them.
ExportedProgram fuse_fx(ExportedProgram program);
ExportedProgram prepare_fx(ExportedProgram program, const QConfigMapping& mapping);
ExportedProgram prepare_qat_fx(ExportedProgram program, const QConfigMapping& mapping);
/// On kernels of 8 bits, where these are faster.
ExportedProgram convert_fx(ExportedProgram prepared);
/// With quantize, dequantize and float between.
ExportedProgram convert_to_reference_fx(ExportedProgram prepared);

}  // namespace torch::quantization
