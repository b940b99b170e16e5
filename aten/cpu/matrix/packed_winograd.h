#pragma once

#include <cstdint>

#include "aten/cpu/matrix/convolution.h"
#include "aten/cpu/matrix/packed_strips.h"

// float32 convolutions of windows of 3 x 3 side by side by Winograd's algorithm F(4 x 4, 3 x 3): a fourth of the
// multiplications, with weights that are transformed once, of images whose channels lie side by side. Used as
// PackedConvolution (packed_convolution.h) is. Sums round a little more than those of the definition.

namespace at::matrix {

class PackedWinograd {
 public:
  /// Null where it takes such a convolution, else why not: as PackedConvolution, windows of 3 x 3 at stride and
  /// dilation 1, multiples of 16 channels.
  static const char* refusal(const Convolution& c);
  /// Whether it is expected to be faster than PackedConvolution for images of these sizes.
  static bool is_worth(const Convolution& c);

  /// `weight` [out_channels, in_channels, 3, 3], `bias` [out_channels] or null. Of `c` the channels count. Copies both.
  PackedWinograd(const Convolution& c, const float* weight, const float* bias);

  /// Floats of `scratch`: a transformed block of the image.
  static int64_t scratch_floats(const Convolution& c);

  /// As PackedConvolution::run.
  void run(const Convolution& c, const float* input, const float* add, float low, float high, float* output,
           float* scratch) const;

 private:
  internal::Floats packed_;
};

}  // namespace at::matrix
