// Loss layers: the losses of torch::nn::functional with options kept. Class weights are buffers.
//
//   torch::nn::CrossEntropyLoss loss;
//   auto l = loss(logits, classes);   l.backward();
#pragma once

#include <iosfwd>

#include "nn/layers/linear.h"
#include "nn/layers/options_layer.h"
#include "nn/module/cloneable.h"
#include "nn/options/loss.h"

namespace torch::nn {

class L1LossImpl : public detail::OptionsLayer<L1LossImpl, L1LossOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  at::Tensor forward(const at::Tensor& input, const at::Tensor& target);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(L1Loss);

class MSELossImpl : public detail::OptionsLayer<MSELossImpl, MSELossOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  at::Tensor forward(const at::Tensor& input, const at::Tensor& target);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(MSELoss);

class SmoothL1LossImpl : public detail::OptionsLayer<SmoothL1LossImpl, SmoothL1LossOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  at::Tensor forward(const at::Tensor& input, const at::Tensor& target);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(SmoothL1Loss);

class HuberLossImpl : public detail::OptionsLayer<HuberLossImpl, HuberLossOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  at::Tensor forward(const at::Tensor& input, const at::Tensor& target);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(HuberLoss);

class KLDivLossImpl : public detail::OptionsLayer<KLDivLossImpl, KLDivLossOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  at::Tensor forward(const at::Tensor& input, const at::Tensor& target);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(KLDivLoss);

class HingeEmbeddingLossImpl : public detail::OptionsLayer<HingeEmbeddingLossImpl, HingeEmbeddingLossOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  at::Tensor forward(const at::Tensor& input, const at::Tensor& target);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(HingeEmbeddingLoss);

class MultiLabelMarginLossImpl : public detail::OptionsLayer<MultiLabelMarginLossImpl, MultiLabelMarginLossOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  at::Tensor forward(const at::Tensor& input, const at::Tensor& target);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(MultiLabelMarginLoss);

class SoftMarginLossImpl : public detail::OptionsLayer<SoftMarginLossImpl, SoftMarginLossOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  at::Tensor forward(const at::Tensor& input, const at::Tensor& target);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(SoftMarginLoss);

class PoissonNLLLossImpl : public detail::OptionsLayer<PoissonNLLLossImpl, PoissonNLLLossOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  at::Tensor forward(const at::Tensor& input, const at::Tensor& target);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(PoissonNLLLoss);

class BCELossImpl : public detail::WeightedLoss<BCELossImpl, BCELossOptions> {
 public:
  using WeightedLoss::WeightedLoss;
  at::Tensor forward(const at::Tensor& input, const at::Tensor& target);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(BCELoss);

class NLLLossImpl : public detail::WeightedLoss<NLLLossImpl, NLLLossOptions> {
 public:
  using WeightedLoss::WeightedLoss;
  at::Tensor forward(const at::Tensor& input, const at::Tensor& target);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(NLLLoss);

class CrossEntropyLossImpl : public detail::WeightedLoss<CrossEntropyLossImpl, CrossEntropyLossOptions> {
 public:
  using WeightedLoss::WeightedLoss;
  at::Tensor forward(const at::Tensor& input, const at::Tensor& target);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(CrossEntropyLoss);

// The last layer of a classifier and its loss: `linear` maps [N, in_features] to logits [N, num_classes,
// *out_features], which are compared with classes [N, *out_features] or probabilities of the sizes of the logits.
class LinearCrossEntropyLossImpl : public Cloneable<LinearCrossEntropyLossImpl> {
 public:
  LinearCrossEntropyLossImpl(int64_t in_features, int64_t num_classes)
      : LinearCrossEntropyLossImpl(LinearCrossEntropyLossOptions(in_features, num_classes)) {}
  explicit LinearCrossEntropyLossImpl(LinearCrossEntropyLossOptions options_);
  at::Tensor forward(const at::Tensor& input, const at::Tensor& target);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  LinearCrossEntropyLossOptions options;
  Linear linear = nullptr;
  at::Tensor weight;  // of the classes; a buffer
};
TORCH_COMPILED_MODULE(LinearCrossEntropyLoss);

class BCEWithLogitsLossImpl : public Cloneable<BCEWithLogitsLossImpl> {
 public:
  explicit BCEWithLogitsLossImpl(BCEWithLogitsLossOptions options_ = {});
  at::Tensor forward(const at::Tensor& input, const at::Tensor& target);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  BCEWithLogitsLossOptions options;
  at::Tensor weight;
  at::Tensor pos_weight;

 protected:
  TORCH_MODULE_TENSORS(weight, pos_weight)
};
TORCH_COMPILED_MODULE(BCEWithLogitsLoss);

class MultiLabelSoftMarginLossImpl : public detail::WeightedLoss<MultiLabelSoftMarginLossImpl, MultiLabelSoftMarginLossOptions> {
 public:
  using WeightedLoss::WeightedLoss;
  at::Tensor forward(const at::Tensor& input, const at::Tensor& target);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(MultiLabelSoftMarginLoss);

class MultiMarginLossImpl : public detail::WeightedLoss<MultiMarginLossImpl, MultiMarginLossOptions> {
 public:
  using WeightedLoss::WeightedLoss;
  at::Tensor forward(const at::Tensor& input, const at::Tensor& target);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(MultiMarginLoss);

class CosineEmbeddingLossImpl : public detail::OptionsLayer<CosineEmbeddingLossImpl, CosineEmbeddingLossOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  at::Tensor forward(const at::Tensor& input1, const at::Tensor& input2, const at::Tensor& target);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(CosineEmbeddingLoss);

class MarginRankingLossImpl : public detail::OptionsLayer<MarginRankingLossImpl, MarginRankingLossOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  at::Tensor forward(const at::Tensor& input1, const at::Tensor& input2, const at::Tensor& target);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(MarginRankingLoss);

class TripletMarginLossImpl : public detail::OptionsLayer<TripletMarginLossImpl, TripletMarginLossOptions> {
 public:
  // ValueError for a margin that is not above 0.
  explicit TripletMarginLossImpl(TripletMarginLossOptions options_ = {});
  at::Tensor forward(const at::Tensor& anchor, const at::Tensor& positive, const at::Tensor& negative);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(TripletMarginLoss);

class TripletMarginWithDistanceLossImpl
    : public detail::OptionsLayer<TripletMarginWithDistanceLossImpl, TripletMarginWithDistanceLossOptions> {
 public:
  // ValueError for a margin that is not above 0.
  explicit TripletMarginWithDistanceLossImpl(TripletMarginWithDistanceLossOptions options_ = {});
  at::Tensor forward(const at::Tensor& anchor, const at::Tensor& positive, const at::Tensor& negative);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(TripletMarginWithDistanceLoss);

class GaussianNLLLossImpl : public detail::OptionsLayer<GaussianNLLLossImpl, GaussianNLLLossOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  at::Tensor forward(const at::Tensor& input, const at::Tensor& target, const at::Tensor& var);
  void pretty_print(std::ostream& stream) const override;
};
extern template class Cloneable<GaussianNLLLossImpl>;
class GaussianNLLLoss : public ModuleHolder<GaussianNLLLossImpl> {
 public:
  using ModuleHolder<GaussianNLLLossImpl>::ModuleHolder;
  using ModuleHolder<GaussianNLLLossImpl>::operator();
  using Impl = GaussianNLLLossImpl;

  // With one variance for all elements: `loss(input, target, 2.0)`.
  at::Tensor operator()(const at::Tensor& input, const at::Tensor& target, double var);
};

class CTCLossImpl : public detail::OptionsLayer<CTCLossImpl, CTCLossOptions> {
 public:
  using OptionsLayer::OptionsLayer;
  at::Tensor forward(const at::Tensor& log_probs, const at::Tensor& targets, const at::Tensor& input_lengths,
                     const at::Tensor& target_lengths);
  void pretty_print(std::ostream& stream) const override;
};
TORCH_COMPILED_MODULE(CTCLoss);

}  // namespace torch::nn
