#include "nn/functional/pixelshuffle.h"

#include "aten/ops/upsample/ops.h"

namespace torch::nn::functional {

Tensor pixel_shuffle(const Tensor& input, const PixelShuffleFuncOptions& options) {
  return at::pixel_shuffle(input, options.upscale_factor());
}
Tensor pixel_unshuffle(const Tensor& input, const PixelUnshuffleFuncOptions& options) {
  return at::pixel_unshuffle(input, options.downscale_factor());
}
Tensor channel_shuffle(const Tensor& input, const ChannelShuffleFuncOptions& options) {
  return at::channel_shuffle(input, options.groups());
}

}  // namespace torch::nn::functional
