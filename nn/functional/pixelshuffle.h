// Channels as pixels, and back.
#pragma once

#include "aten/core/tensor.h"
#include "nn/options/pixelshuffle.h"

namespace torch::nn::functional {

using at::Tensor;

// [*, C r^2, H, W] -> [*, C, H r, W r] with r = upscale_factor.
Tensor pixel_shuffle(const Tensor& input, const PixelShuffleFuncOptions& options);
// [*, C, H r, W r] -> [*, C r^2, H, W] with r = downscale_factor.
Tensor pixel_unshuffle(const Tensor& input, const PixelUnshuffleFuncOptions& options);
// [N, C, *]: the groups of channels interleaved.
Tensor channel_shuffle(const Tensor& input, const ChannelShuffleFuncOptions& options);

}  // namespace torch::nn::functional
