// Fold and Unfold.
#pragma once

#include <iosfwd>

#include "nn/layers/options_layer.h"
#include "nn/options/fold.h"

namespace torch::nn {

// Columns as windows of an image, added up: [N, C * kernel elements, L] -> [N, C, *output_size].
class FoldImpl : public detail::OptionsLayer<FoldImpl, FoldOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  FoldImpl(ExpandingArray<2> output_size, ExpandingArray<2> kernel_size) : OptionsLayer(output_size, kernel_size) {}
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(Fold);

// The windows of an image as columns: [N, C, H, W] -> [N, C * kernel elements, L].
class UnfoldImpl : public detail::OptionsLayer<UnfoldImpl, UnfoldOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  UnfoldImpl(ExpandingArray<2> kernel_size) : OptionsLayer(kernel_size) {}
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(Unfold);

}  // namespace torch::nn
