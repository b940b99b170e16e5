// Convolutions (cross-correlations): input [N, C, *] or [C, *], weight [out, C / groups, *kernel]: [N, out, *].
#pragma once

#include "aten/core/tensor.h"
#include "nn/options/conv.h"

namespace torch::nn::functional {

using at::Tensor;

Tensor conv1d(const Tensor& input, const Tensor& weight, const Conv1dFuncOptions& options = {});
Tensor conv2d(const Tensor& input, const Tensor& weight, const Conv2dFuncOptions& options = {});
Tensor conv3d(const Tensor& input, const Tensor& weight, const Conv3dFuncOptions& options = {});

}  // namespace torch::nn::functional
