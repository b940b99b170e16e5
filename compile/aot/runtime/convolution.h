// Convolutions and products whose weights are laid out once, float32.
#pragma once

#include <cstdint>

#include "aten/cpu/matrix/packed_convolution.h"

namespace torch::aot {

struct ConvolutionShape {
  int64_t in_channels, out_channels, groups;
  int64_t kernel[2], stride[2], padding[2], dilation[2];
};

class Convolution {
 public:
  Convolution(const ConvolutionShape& shape, const char* weight, const char* bias)
      : call_(described(shape)), packed_(call_, weight, bias) {}

  /// float32, channels last.
  struct Size {
    int64_t height, width;
  };
  void run(int64_t batch, Size in, Size out, const char* input, const float* add, float low, float high,
           char* output) const {
    at::matrix::Convolution c = call_;
    c.batch = batch;
    c.input[1] = in.height, c.input[2] = in.width;
    c.output[1] = out.height, c.output[2] = out.width;
    packed_.run(c, reinterpret_cast<const float*>(input), add, low, high, reinterpret_cast<float*>(output));
  }

 private:
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
  at::matrix::PackedConvolution packed_;
};

/// Products with a constant matrix: windows of one place.
class Product {
 public:
  /// y = x w^T + bias, w[n, k]; bias[n] or null.
  Product(int64_t n, int64_t k, const char* w, const char* bias)
      : convolution_({k, n, 1, {1, 1}, {1, 1}, {0, 0}, {1, 1}}, w, bias) {}

  /// y[m, n] of x[m, k], limited to [low, high]; both dense.
  void run(int64_t m, const char* x, const float* add, float low, float high, char* y) const {
    convolution_.run(1, {1, m}, {1, m}, x, add, low, high, y);
  }

 private:
  Convolution convolution_;
};

}  // namespace torch::aot
