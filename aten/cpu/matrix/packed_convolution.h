#pragma once

#include <cstdint>

#include "aten/cpu/matrix/convolution.h"
#include "aten/cpu/matrix/packed_strips.h"

// float32 convolutions with weights that are laid out once, of images whose channels lie side by side.
//
//   Convolution c;                                   // sizes; dims 1 or 2, channels_last
//   const PackedConvolution layer(c, weight, bias);
//   layer.run(c, input, nullptr, 0, INFINITY, output, scratch);   // output = relu(convolution(input) + bias)

namespace at::matrix {

/// Convolutions of one group by their definition.
class PackedConvolution {
 public:
  /// Null where it takes such a convolution, else why not: float32, one or two dimensions, channels last, one group.
  static const char* refusal(const Convolution& c);

  /// `weight` [out_channels, in_channels, kernel...], `bias` [out_channels] or null. Of `c` the channels, kernel,
  /// stride, padding and dilation count. Copies both.
  PackedConvolution(const Convolution& c, const float* weight, const float* bias);

  /// Floats of `scratch`, 0 for most.
  static int64_t scratch_floats(const Convolution& c);

  /// output = min(max(convolution + bias + add, low), high), [batch, places..., channels]; NaN stays. `add` lies like
  /// the output, which it may be, or is null. batch, input and output of `c` may differ from the constructor's. On
  /// several threads where the work is worth it. An element does not depend on the others of its batch.
  void run(const Convolution& c, const float* input, const float* add, float low, float high, float* output,
           float* scratch) const;

 private:
  internal::Floats packed_;
};

}  // namespace at::matrix
