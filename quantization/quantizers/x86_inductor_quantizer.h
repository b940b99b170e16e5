// The quantizer for oneDNN's kernels on x86: inputs and weights of convolutions and linear layers, in 8 bits.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "quantization/pt2e/quantizer.h"
#include "quantization/quantizers/quantization_config.h"

namespace torch::quantization {

/// Activations quint8 (0 to 255, affine, by histograms), weights int8 by output channel (symmetric); `is_qat`: fused
/// moving averages that quantize; `is_dynamic`: activations at run time. `reduce_range`: 7 bits, for processors without
/// VNNI.
QuantizationConfig get_default_x86_inductor_quantization_config(bool is_qat = false, bool is_dynamic = false,
                                                                bool reduce_range = false);

/// Annotates convolutions, with an add and an activation behind them, and linear layers with an activation; then
/// max_pool2d, avg_pool2d, adaptive_avg_pool2d, flatten and cat between them, which pass 8 bits on as they are. The
/// inputs of these are quantized; outputs are where the next layer wants them so.
class X86InductorQuantizer : public Quantizer {
 public:
  X86InductorQuantizer& set_global(const QuantizationConfig& config);
  /// Of an operator ("aten::linear"); none: it stays float.
  X86InductorQuantizer& set_function_type_qconfig(const std::string& op, std::optional<QuantizationConfig> config);
  /// Of the layers of a module, by its path ("layer1.0"), and those below.
  X86InductorQuantizer& set_module_name_qconfig(const std::string& module, std::optional<QuantizationConfig> config);
  void annotate(const ExportedProgram& program, Annotations& annotations) override;

 private:
  std::optional<QuantizationConfig> config_of(const ExportedProgram& program, const graph::Node& node) const;
  std::optional<QuantizationConfig> global_;
  std::map<std::string, std::optional<QuantizationConfig>> operators_, modules_;
};

/// The path of the module whose weight a layer has: "layer1.0.conv1". Empty where it is not known.
std::string module_of(const ExportedProgram& program, const graph::Node& layer);
/// What was set for the path, or for one above it; null where nothing was.
const std::optional<QuantizationConfig>* config_at(
    const std::map<std::string, std::optional<QuantizationConfig>>& modules, const std::string& path);

}  // namespace torch::quantization
