// Converted programs on kernels of 8 bits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "export/exported_program.h"
#include "graph/passes/pass.h"

namespace torch::quantization {

/// What a layer computes, and what it moves to compute it in 8 bits.
struct LayerCost {
  int64_t rows = 0;       ///< of the result: places of all images, or rows of a product
  int64_t depth = 0;      ///< products a sum
  int64_t channels = 0;   ///< of the result
  int64_t groups = 1;     ///< depth is a group's
  int64_t quantized = 0;  ///< numbers that must become bytes for it alone, or bytes numbers
};

/// The time that bytes are estimated to save over floats, in nanoseconds on one thread; negative where floats are
/// faster.
double saved_nanoseconds(const LayerCost& cost);

struct LoweringOptions {
  /// Layers for which saved_nanoseconds() is not positive stay float: their weights become floats again, and their
  /// inputs are not rounded. Layers whose sizes are not known are taken to be worth it.
  bool use_cost_model = true;
};

/// Replaces dequantize -> convolution or linear -> (add) -> (relu, hardtanh) -> quantize by onednn::qconv_pointwise and
/// onednn::qlinear_pointwise with weights laid out once, and lets max_pool2d, flatten, views and cat between equal
/// scales work on bytes. What is left computes in float between quantize and dequantize. `changes`: layers lowered;
/// `notes`: which ones stay float, and why.
///
/// Results differ from the converted program's by what one rounding less or more in a sum does: at most one step where
/// a result is quantized.
graph::PassResult lower_to_integers(ExportedProgram& program, const LoweringOptions& options = {});

}  // namespace torch::quantization
