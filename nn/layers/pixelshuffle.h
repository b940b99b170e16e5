// Channels as pixels, and back.
#pragma once

#include <iosfwd>

#include "nn/layers/options_layer.h"
#include "nn/options/pixelshuffle.h"

namespace torch::nn {

class PixelShuffleImpl : public detail::OptionsLayer<PixelShuffleImpl, PixelShuffleOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(PixelShuffle);

class PixelUnshuffleImpl : public detail::OptionsLayer<PixelUnshuffleImpl, PixelUnshuffleOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(PixelUnshuffle);

class ChannelShuffleImpl : public detail::OptionsLayer<ChannelShuffleImpl, ChannelShuffleOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(ChannelShuffle);

}  // namespace torch::nn
