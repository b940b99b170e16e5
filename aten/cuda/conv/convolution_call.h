#pragma once

#include "aten/cuda/elementwise_call.h"

namespace at::cuda {

/// What is computed of a convolution y = w * x.
enum class ConvolutionPart : uint8_t { kForward, kGradInput, kGradWeight };

/// A convolution in three spatial directions on memory of any strides, as kernels get it; of the three tensors one is
/// the result.
struct ConvolutionCall {
  struct Operand {
    char* data;
    int64_t strides[5];  // in elements: [batch, channel] or [output channel, input channel], then depth, height, width
  };

  const char* name;
  ScalarType dtype;
  uint32_t batch, groups;
  uint32_t inputs, outputs;  // channels of a group
  uint32_t in[3], out[3], kernel[3], dilation[3];
  int64_t padding[3];
  FastDivisor stride[3];
  FastDivisor channels;   // of a group, on the side of the result
  FastDivisor places[5];  // the sizes of the result, the last first
  FastDivisor terms[3];   // the sizes of `out`, the last first
  uint32_t term_count;    // of a gradient of the weight
  Operand x, w, y;
  // What becomes of the sums of kForward and kGradInput, in this order.
  const char* bias;  // one number a channel, or null
  int64_t bias_stride;
  Operand add;  // null, or like the result: sum + alpha * add
  double alpha;
  bool relu;
};

/// Writes the result's elements, each the sum of its terms in a fixed order; of 2^31 - 1 elements at most.
void launch_convolution(ConvolutionPart part, const ConvolutionCall& call, uint32_t elements);

}  // namespace at::cuda
