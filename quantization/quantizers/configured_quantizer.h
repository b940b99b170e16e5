// What the quantizers of backends share: configurations for all, by operator and by module.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "quantization/observers/observer.h"
#include "quantization/pt2e/quantizer.h"
#include "quantization/quantizers/quantization_config.h"

namespace torch::quantization {

/// A quantizer that is told how to quantize what. What the nearest module was given counts, then the operator, then
/// all.
class ConfiguredQuantizer : public Quantizer {
 protected:
  using Config = std::optional<QuantizationConfig>;
  /// How a node is quantized; none: it stays float.
  virtual Config config_of(const ExportedProgram& program, const graph::Node& node) const;

  Config global_;
  std::map<std::string, Config> operators_, modules_;
};

/// The path of the module whose weight a layer has: "layer1.0.conv1". Empty where it is not known.
std::string module_of(const ExportedProgram& program, const graph::Node& layer);

/// Activations by histograms; in training by fused moving averages that quantize; `is_dynamic`: at run time.
QuantizationSpec activation_spec(const ObserverOptions& options, bool is_qat, bool is_dynamic);
/// Weights by their extremes, of all or by channel as the options' scheme is; in training by moving averages.
QuantizationSpec weight_spec(const ObserverOptions& options, bool is_qat);

}  // namespace torch::quantization
