// Distances of pairs of vectors.
#pragma once

#include <iosfwd>

#include "nn/layers/options_layer.h"
#include "nn/options/distance.h"

namespace torch::nn {

class CosineSimilarityImpl : public detail::OptionsLayer<CosineSimilarityImpl, CosineSimilarityOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  at::Tensor forward(const at::Tensor& x1, const at::Tensor& x2);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(CosineSimilarity);

class PairwiseDistanceImpl : public detail::OptionsLayer<PairwiseDistanceImpl, PairwiseDistanceOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  at::Tensor forward(const at::Tensor& x1, const at::Tensor& x2);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(PairwiseDistance);

}  // namespace torch::nn
