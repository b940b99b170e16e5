// Normalizations: (x - mean) / sqrt(var + eps) over some dimensions, then * weight + bias where these are defined.
#pragma once

#include "aten/core/tensor.h"
#include "nn/options/normalization.h"

namespace torch::nn::functional {

using at::Tensor;

// Over the last dimensions, which have the sizes normalized_shape.
Tensor layer_norm(const Tensor& input, const LayerNormFuncOptions& options);
// Over groups of channels of [N, C, *].
Tensor group_norm(const Tensor& input, const GroupNormFuncOptions& options);
// Over everything but the channels of [N, C, *]: with the batch's statistics in training (then the running ones are
// updated), with the running ones otherwise.
Tensor batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
                  const BatchNormFuncOptions& options = {});
// Over everything but the channels of each sample of [N, C, *].
Tensor instance_norm(const Tensor& input, const InstanceNormFuncOptions& options = {});
// x / sqrt(mean(x^2) + eps) * weight over the last dimensions, which have the sizes normalized_shape.
Tensor rms_norm(const Tensor& input, const RMSNormFuncOptions& options);
// x / (k + alpha / size * (sum of x^2 over `size` neighbouring channels))^beta of [N, C, *].
Tensor local_response_norm(const Tensor& input, const LocalResponseNormFuncOptions& options);
// x / max(norm_p(x), eps) along `dim`.
Tensor normalize(const Tensor& input, NormalizeFuncOptions options = {});

}  // namespace torch::nn::functional
