// Convolutions (cross-correlations): input [N, C, *] or [C, *], weight [out, C / groups, *kernel]: [N, out, *].
#pragma once

#include "aten/core/tensor.h"
#include "nn/options/conv.h"

namespace torch::nn::functional {

using at::Tensor;

Tensor conv1d(const Tensor& input, const Tensor& weight, const Conv1dFuncOptions& options = {});
Tensor conv2d(const Tensor& input, const Tensor& weight, const Conv2dFuncOptions& options = {});
Tensor conv3d(const Tensor& input, const Tensor& weight, const Conv3dFuncOptions& options = {});

// The gradient of such a convolution with respect to its input: weight [C, out / groups, *kernel], and the output has
// (input - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1 elements along each dimension.
Tensor conv_transpose1d(const Tensor& input, const Tensor& weight, const ConvTranspose1dFuncOptions& options = {});
Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const ConvTranspose2dFuncOptions& options = {});
Tensor conv_transpose3d(const Tensor& input, const Tensor& weight, const ConvTranspose3dFuncOptions& options = {});

}  // namespace torch::nn::functional
