// The quantizer for oneDNN's kernels on x86: inputs and weights of convolutions and linear layers, in 8 bits.
#pragma once

#include <optional>
#include <string>

#include "quantization/quantizers/configured_quantizer.h"

namespace torch::quantization {

/// Activations quint8 (0 to 255, affine, by histograms), weights int8 by output channel (symmetric); `is_qat`: fused
/// moving averages that quantize; `is_dynamic`: activations at run time. `reduce_range`: 7 bits, for processors without
/// VNNI.
QuantizationConfig get_default_x86_inductor_quantization_config(bool is_qat = false, bool is_dynamic = false,
                                                                bool reduce_range = false);

/// Annotates convolutions, with an add and an activation behind them, and linear layers with an activation; then
/// max_pool2d, avg_pool2d, adaptive_avg_pool2d, flatten and cat between them, which pass 8 bits on as they are. The
/// inputs of these are quantized; outputs are where the next layer wants them so.
class X86InductorQuantizer : public ConfiguredQuantizer {
 public:
  X86InductorQuantizer& set_global(const QuantizationConfig& config);
  /// Of an operator ("aten::linear"); none: it stays float.
  X86InductorQuantizer& set_function_type_qconfig(const std::string& op, std::optional<QuantizationConfig> config);
  /// Of the layers of a module, by its path ("layer1.0"), and those below.
  X86InductorQuantizer& set_module_name_qconfig(const std::string& module, std::optional<QuantizationConfig> config);
  void annotate(const ExportedProgram& program, Annotations& annotations) override;
};

}  // namespace torch::quantization
