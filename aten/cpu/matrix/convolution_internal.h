#pragma once

#include "aten/cpu/matrix/convolution.h"

namespace at::matrix::internal {

extern const ConvolutionCandidate kUnfoldingConvolution;
#if KINDLING_HAVE_ONEDNN
extern const ConvolutionCandidate kOneDnnConvolution;
#endif

}  // namespace at::matrix::internal
