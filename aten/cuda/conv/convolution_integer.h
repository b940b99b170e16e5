#pragma once

#include "aten/cuda/conv/convolution_call.h"

namespace at::cuda {

/// launch_convolution of integers, whose sums wrap.
void launch_integer_convolution(ConvolutionPart part, const ConvolutionCall& call, uint32_t elements);

}  // namespace at::cuda
