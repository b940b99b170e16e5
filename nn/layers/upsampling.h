// Layers that give signals, images and volumes another size.
#pragma once

#include <iosfwd>

#include "nn/layers/options_layer.h"
#include "nn/options/upsampling.h"

namespace torch::nn {

// functional::interpolate of [N, C, ...].
//   nn::Upsample up(nn::UpsampleOptions().scale_factor(std::vector<double>{2,
//   2}).mode(torch::kBilinear).align_corners(false));
class UpsampleImpl : public detail::OptionsLayer<UpsampleImpl, UpsampleOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(Upsample);

// Upsample of images [N, C, H, W], nearest neighbour.
class UpsamplingNearest2dImpl : public detail::OptionsLayer<UpsamplingNearest2dImpl, UpsamplingNearest2dOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(UpsamplingNearest2d);

// Upsample of images [N, C, H, W], bilinear with aligned corners.
class UpsamplingBilinear2dImpl : public detail::OptionsLayer<UpsamplingBilinear2dImpl, UpsamplingBilinear2dOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(UpsamplingBilinear2d);

}  // namespace torch::nn
