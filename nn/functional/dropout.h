// Dropout: in training each element (or channel) is zeroed with probability p and the others are scaled by 1 / (1 - p).
#pragma once

#include "aten/core/tensor.h"
#include "nn/options/dropout.h"

namespace torch::nn::functional {

using at::Tensor;

// All throw where p is outside [0, 1].
Tensor dropout(Tensor input, const DropoutFuncOptions& options = {});
// Whole channels of [N, C, ...].
Tensor dropout1d(Tensor input, const DropoutFuncOptions& options = {});
Tensor dropout2d(Tensor input, const Dropout2dFuncOptions& options = {});
Tensor dropout3d(Tensor input, const Dropout3dFuncOptions& options = {});
// Keeps mean and variance of inputs that selu made.
Tensor alpha_dropout(Tensor input, const AlphaDropoutFuncOptions& options = {});
Tensor feature_alpha_dropout(Tensor input, const FeatureAlphaDropoutFuncOptions& options = {});

// The same with the options' fields as arguments.
namespace detail {
Tensor dropout(Tensor input, double p, bool training, bool inplace);
Tensor dropout2d(Tensor input, double p, bool training, bool inplace);
Tensor dropout3d(Tensor input, double p, bool training, bool inplace);
Tensor alpha_dropout(Tensor input, double p, bool training, bool inplace);
Tensor feature_alpha_dropout(Tensor input, double p, bool training, bool inplace);
}  // namespace detail

}  // namespace torch::nn::functional
