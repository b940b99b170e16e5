#pragma once
// What becomes of the sums of products of quantized tensors, on the host and in kernels.

#include <cstdint>

#include "c10/macros/macros.h"

namespace at::quantized {

struct ProductResult {
  /// PyTorch has two ways to integers, which differ where a number lies between two of them.
  enum class To : uint8_t {
    kNumbers,            // float: sum * (input_scale * scale) + bias, rounded once
    kIntegersBySums,     // a bias in units of the sums, one factor, and the zero point after rounding: its products
                         // with FBGEMM
    kIntegersByNumbers,  // numbers, to which the zero point is added before rounding: its convolutions with oneDNN
  };
  To to = To::kNumbers;
  bool uniform = false;  // whether the channels of the weight have one scale
  float input_scale = 1, output_scale = 1;
  int32_t zero_point = 0, least = 0, most = 255;  // of integers
};

/// What a channel's sums become kIntegersBySums with: round((sum + before * unit) * factor) + zero_point.
struct SumFactors {
  float before = 0, unit = 1, factor = 1;
};
C10_HOST_DEVICE inline SumFactors sum_factors(const ProductResult& result, float scale, float bias) {
  const float step = result.input_scale * scale;
  SumFactors f;
  f.before = result.uniform ? bias : bias / step;
  f.unit = result.uniform ? 1 / step : 1;
  f.factor = step / result.output_scale;
  return f;
}

}  // namespace at::quantized
