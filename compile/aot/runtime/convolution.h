// Convolutions whose weights are laid out once, float32, channels last.
#pragma once

#include <cstdint>

#include "aten/cpu/matrix/convolution.h"
#include "compile/aot/runtime/stored.h"

namespace torch::aot {

struct ConvolutionShape {
  int64_t in_channels, out_channels, groups;
  int64_t kernel[2], stride[2], padding[2], dilation[2];
};

/// By at::matrix::PackedConvolution, PackedDepthwise or PackedWinograd.
template <class Packed>
class Convolution {
 public:
  template <class T>
  Convolution(const ConvolutionShape& shape, Stored<T> weight, const char* bias)
      : Convolution(
            described(shape),
            expanded(weight, shape.out_channels, shape.in_channels / shape.groups * shape.kernel[0] * shape.kernel[1]),
            bias) {}
  Convolution(const ConvolutionShape& shape, Stored<float> weight, const char* bias)
      : call_(described(shape)), packed_(call_, weight.numbers(), reinterpret_cast<const float*>(bias)) {}

  struct Size {
    int64_t height, width;
  };
  /// `scratch`: of Packed::scratch_floats().
  template <class... Scratch>
  void run(int64_t batch, Size in, Size out, const char* input, const float* add, float low, float high, char* output,
           Scratch*... scratch) const {
    at::matrix::Convolution c = call_;
    c.batch = batch;
    c.input[1] = in.height, c.input[2] = in.width;
    c.output[1] = out.height, c.output[2] = out.width;
    packed_.run(c, reinterpret_cast<const float*>(input), add, low, high, reinterpret_cast<float*>(output),
                reinterpret_cast<float*>(scratch)...);
  }

 private:
  Convolution(const at::matrix::Convolution& call, const at::matrix::internal::Floats& weight, const char* bias)
      : call_(call), packed_(call, weight.data(), reinterpret_cast<const float*>(bias)) {}

  static at::matrix::Convolution described(const ConvolutionShape& shape) {
    at::matrix::Convolution c;
    c.channels_last = true;
    c.in_channels = shape.in_channels, c.out_channels = shape.out_channels, c.groups = shape.groups;
    for (int d = 0; d < 2; ++d) {
      c.kernel[d + 1] = shape.kernel[d], c.stride[d + 1] = shape.stride[d];
      c.padding[d + 1] = shape.padding[d], c.dilation[d + 1] = shape.dilation[d];
    }
    return c;
  }

  at::matrix::Convolution call_;
  Packed packed_;
};

}  // namespace torch::aot
