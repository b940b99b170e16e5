#pragma once

#include <cstdint>

#include "aten/cpu/matrix/convolution.h"
#include "aten/cpu/support/scratch.h"

// float32 convolutions with weights that are laid out once, of images whose channels lie side by side. A product with a
// constant matrix is one of windows of one place: rows are places.
//
//   Convolution c;                                   // sizes; dims 1 or 2, channels_last
//   const PackedConvolution layer(c, weight, bias);
//   layer.run(c, input, nullptr, 0, INFINITY, output);   // output = relu(convolution(input) + bias)

namespace at::matrix {

class PackedConvolution {
 public:
  /// Null where it takes such a convolution, else why not: float32, one or two dimensions, channels last; one group, or
  /// as many as there are input and output channels.
  static const char* refusal(const Convolution& c);

  /// `weight` [out_channels, in_channels / groups, kernel...], `bias` [out_channels] or null. Of `c` the channels,
  /// groups, kernel, stride, padding and dilation count. Copies both.
  PackedConvolution(const Convolution& c, const void* weight, const void* bias);

  /// output = min(max(convolution + bias + add, low), high), [batch, places..., channels]; NaN stays. `add` lies like
  /// the output, which it may be, or is null. batch, input and output of `c` may differ from the constructor's. On
  /// several threads where the work is worth it. An element does not depend on the others of its batch.
  void run(const Convolution& c, const float* input, const float* add, float low, float high, float* output) const;

 private:
  cpu::Scratch packed_;
};

}  // namespace at::matrix
