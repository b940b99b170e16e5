// Windows of images as columns, and back.
#pragma once

#include "aten/core/tensor.h"
#include "nn/options/fold.h"

namespace torch::nn::functional {

using at::Tensor;

// [N, C * kernel elements, L] or without N: the sums of the windows at their places in [N, C, *output_size].
Tensor fold(const Tensor& input, const FoldFuncOptions& options);
// [N, C, H, W] -> [N, C * kernel elements, L], L the number of windows. Throws for an image without N; at::im2col takes it.
Tensor unfold(const Tensor& input, const UnfoldFuncOptions& options);

}  // namespace torch::nn::functional
