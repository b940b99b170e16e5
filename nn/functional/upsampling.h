// Other sizes of signals, images and volumes.
#pragma once

#include "aten/core/tensor.h"
#include "nn/options/upsampling.h"

namespace torch::nn::functional {

using at::Tensor;

// An input [N, C, L], [N, C, H, W] or [N, C, D, H, W] in another size. Modes: kNearest, kNearestExact and kArea (means)
// for all of them, kLinear for three dimensions, kBilinear, kBicubic and kLanczos for four, kTrilinear for five.
//   F::interpolate(image, F::InterpolateFuncOptions().scale_factor(std::vector<double>{2, 2}).mode(torch::kBilinear))
// Throws c10::ValueError for options that contradict each other, c10::NotImplementedError for a mode that does not go
// with the dimensions.
Tensor interpolate(const Tensor& input, const InterpolateFuncOptions& options = {});

// interpolate; the last with aligned corners.
Tensor upsample(const Tensor& input, const UpsampleOptions& options);
Tensor upsample_nearest(const Tensor& input, const Upsampling2dOptions& options);
Tensor upsample_bilinear(const Tensor& input, const Upsampling2dOptions& options);

}  // namespace torch::nn::functional
