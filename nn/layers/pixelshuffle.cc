#include "nn/layers/pixelshuffle.h"

#include "nn/functional/pixelshuffle.h"

namespace torch::nn {

at::Tensor PixelShuffleImpl::forward(const at::Tensor& input) {
  return functional::pixel_shuffle(input, options);
}
void PixelShuffleImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, c10::str("torch::nn::PixelShuffle(upscale_factor=", options.upscale_factor(), ")"));
}

at::Tensor PixelUnshuffleImpl::forward(const at::Tensor& input) {
  return functional::pixel_unshuffle(input, options);
}
void PixelUnshuffleImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, c10::str("torch::nn::PixelUnshuffle(downscale_factor=", options.downscale_factor(), ")"));
}

at::Tensor ChannelShuffleImpl::forward(const at::Tensor& input) {
  return functional::channel_shuffle(input, options);
}
void ChannelShuffleImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, c10::str("torch::nn::ChannelShuffle(groups=", options.groups(), ")"));
}

template class Cloneable<PixelShuffleImpl>;
template class Cloneable<PixelUnshuffleImpl>;
template class Cloneable<ChannelShuffleImpl>;

}  // namespace torch::nn
