// Padding.
#pragma once

#include "aten/core/tensor.h"
#include "nn/options/padding.h"

namespace torch::nn::functional {

using at::Tensor;

// Adds elements around the last dimensions; pad = {left, right, top, bottom ...}. Negative counts cut.
Tensor pad(const Tensor& input, const PadFuncOptions& options);

}  // namespace torch::nn::functional
