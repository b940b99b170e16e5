// Convolutions of CUDA tensors: what the operators of //aten/ops/conv call.
#pragma once

#include "aten/core/tensor.h"
#include "aten/cpu/matrix/convolution.h"
#include "aten/cuda/conv/convolution_call.h"

namespace at::cuda {

/// A convolution y = w * x, or a gradient of it: one of x, w and y is written, at any strides. `sizes` are the
/// engine's: with `transposed` forms y is the gradient. The bias (or null) is added where x or y is written; `add`, of
/// the strides that it has, as sizes.alpha says, and sizes.relu where y is.
struct ConvolutionTensors {
  const char* name;
  const matrix::Convolution& sizes;
  Tensor x, w, y;
  const Tensor* bias = nullptr;
  const Tensor* add = nullptr;
};

/// By kernels of ours, for every dtype that the CPU takes.
void convolve_plainly(ConvolutionPart part, const ConvolutionTensors& t);

}  // namespace at::cuda
