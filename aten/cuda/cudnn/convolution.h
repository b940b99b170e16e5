// Convolutions of CUDA tensors by cuDNN.
#pragma once

#include "aten/core/tensor.h"
#include "aten/cuda/conv/convolution.h"

namespace at::cuda::cudnn {

/// Queues the convolution or gradient on the current stream, all tensors in the memory format `format`, others as
/// copies: as at::globalContext() allows (TF32, deterministic engines, a benchmark of engines; not at all unless
/// userEnabledCuDNN). False, with nothing done, for other dtypes than float, double, half and bfloat16, for tensors
/// without elements or of 2^31 and more, and where the library has no engine for it.
bool try_convolve(ConvolutionPart part, const ConvolutionTensors& tensors, MemoryFormat format);

}  // namespace at::cuda::cudnn
