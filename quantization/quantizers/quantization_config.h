// What quantizers of backends are configured with.
#pragma once

#include <optional>

#include "quantization/pt2e/annotation.h"

namespace torch::quantization {

/// Of the inputs, outputs, weights and biases of layers; none: they stay float.
struct QuantizationConfig {
  std::optional<QuantizationSpec> input_activation;
  std::optional<QuantizationSpec> output_activation;
  std::optional<QuantizationSpec> weight;
  std::optional<QuantizationSpec> bias;
  bool is_qat = false;
};

}  // namespace torch::quantization
