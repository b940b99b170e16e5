// The quantizer for small devices: signed 8 bits, with quantized outputs.
#pragma once

#include <optional>
#include <string>

#include "quantization/quantizers/configured_quantizer.h"

namespace torch::quantization {

/// Activations int8 in [act_qmin, act_qmax] (affine, by histograms), weights int8 in [weight_qmin, weight_qmax],
/// symmetric, per tensor or by output channel. `is_qat`: fused moving averages that quantize; `is_dynamic`: activations
/// at run time, of linear layers.
QuantizationConfig get_symmetric_quantization_config(bool is_per_channel = false, bool is_qat = false,
                                                     bool is_dynamic = false, int64_t act_qmin = -128,
                                                     int64_t act_qmax = 127, int64_t weight_qmin = -127,
                                                     int64_t weight_qmax = 127);

/// Annotates inputs, weights and outputs of linear layers and convolutions (with a batch norm in training, and with
/// relu or hardtanh behind them), adaptive_avg_pool2d, add, mul and cat (with relu); and what only moves elements or
/// picks some (max_pool2d, view, permute, slice ...) with the observer of its input.
class XNNPACKQuantizer : public ConfiguredQuantizer {
 public:
  XNNPACKQuantizer& set_global(const QuantizationConfig& config);
  /// Of an operator ("aten::linear"); none: it stays float.
  XNNPACKQuantizer& set_operator_type(const std::string& op, std::optional<QuantizationConfig> config);
  /// Of the layers of a module, by its path, and those below.
  XNNPACKQuantizer& set_module_name(const std::string& module, std::optional<QuantizationConfig> config);
  void annotate(const ExportedProgram& program, Annotations& annotations) override;

 private:
  void annotate_layer(graph::Node* node, const QuantizationConfig& config, Annotations& annotations) const;
  void annotate_elementwise(graph::Node* node, const QuantizationConfig& config, Annotations& annotations) const;
};

/// Weights of embeddings: uint8 by row with float zero points, or 4 bits.
class EmbeddingQuantizer : public Quantizer {
 public:
  explicit EmbeddingQuantizer(ObserverFactory weight = nullptr);
  void annotate(const ExportedProgram& program, Annotations& annotations) override;

 private:
  ObserverFactory weight_;
};

}  // namespace torch::quantization
