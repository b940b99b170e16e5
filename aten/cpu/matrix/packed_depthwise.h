#pragma once

#include <cstdint>

#include "aten/cpu/matrix/convolution.h"
#include "aten/cpu/matrix/packed_strips.h"

// float32 convolutions of each channel by itself, with weights that are laid out once, of images whose channels lie
// side by side. Used as PackedConvolution (packed_convolution.h) is.

namespace at::matrix {

class PackedDepthwise {
 public:
  /// Null where it takes such a convolution, else why not: float32, one or two dimensions, channels last; as many
  /// groups as there are input and output channels.
  static const char* refusal(const Convolution& c);

  /// `weight` [channels, 1, kernel...], `bias` [channels] or null. Of `c` the channels and the kernel count. Copies
  /// both.
  PackedDepthwise(const Convolution& c, const float* weight, const float* bias);

  /// As PackedConvolution::run.
  void run(const Convolution& c, const float* input, const float* add, float low, float high, float* output) const;

 private:
  internal::Floats packed_;
};

}  // namespace at::matrix
