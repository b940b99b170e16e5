// Loss layers: the losses of torch::nn::functional with options kept. Class weights are buffers.
//
//   torch::nn::CrossEntropyLoss loss;
//   auto l = loss(logits, classes);   l.backward();
#pragma once

#include <iosfwd>

#include "nn/module/cloneable.h"
#include "nn/options/loss.h"

namespace torch::nn {

class L1LossImpl : public Cloneable<L1LossImpl> {
 public:
  explicit L1LossImpl(L1LossOptions options_ = {});
  at::Tensor forward(const at::Tensor& input, const at::Tensor& target);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  L1LossOptions options;
};
TORCH_MODULE(L1Loss);

class MSELossImpl : public Cloneable<MSELossImpl> {
 public:
  explicit MSELossImpl(MSELossOptions options_ = {});
  at::Tensor forward(const at::Tensor& input, const at::Tensor& target);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  MSELossOptions options;
};
TORCH_MODULE(MSELoss);

class SmoothL1LossImpl : public Cloneable<SmoothL1LossImpl> {
 public:
  explicit SmoothL1LossImpl(SmoothL1LossOptions options_ = {});
  at::Tensor forward(const at::Tensor& input, const at::Tensor& target);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  SmoothL1LossOptions options;
};
TORCH_MODULE(SmoothL1Loss);

class HuberLossImpl : public Cloneable<HuberLossImpl> {
 public:
  explicit HuberLossImpl(HuberLossOptions options_ = {});
  at::Tensor forward(const at::Tensor& input, const at::Tensor& target);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  HuberLossOptions options;
};
TORCH_MODULE(HuberLoss);

class KLDivLossImpl : public Cloneable<KLDivLossImpl> {
 public:
  explicit KLDivLossImpl(KLDivLossOptions options_ = {});
  at::Tensor forward(const at::Tensor& input, const at::Tensor& target);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  KLDivLossOptions options;
};
TORCH_MODULE(KLDivLoss);

class HingeEmbeddingLossImpl : public Cloneable<HingeEmbeddingLossImpl> {
 public:
  explicit HingeEmbeddingLossImpl(HingeEmbeddingLossOptions options_ = {});
  at::Tensor forward(const at::Tensor& input, const at::Tensor& target);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  HingeEmbeddingLossOptions options;
};
TORCH_MODULE(HingeEmbeddingLoss);

class MultiLabelMarginLossImpl : public Cloneable<MultiLabelMarginLossImpl> {
 public:
  explicit MultiLabelMarginLossImpl(MultiLabelMarginLossOptions options_ = {});
  at::Tensor forward(const at::Tensor& input, const at::Tensor& target);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  MultiLabelMarginLossOptions options;
};
TORCH_MODULE(MultiLabelMarginLoss);

class SoftMarginLossImpl : public Cloneable<SoftMarginLossImpl> {
 public:
  explicit SoftMarginLossImpl(SoftMarginLossOptions options_ = {});
  at::Tensor forward(const at::Tensor& input, const at::Tensor& target);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  SoftMarginLossOptions options;
};
TORCH_MODULE(SoftMarginLoss);

class PoissonNLLLossImpl : public Cloneable<PoissonNLLLossImpl> {
 public:
  explicit PoissonNLLLossImpl(PoissonNLLLossOptions options_ = {});
  at::Tensor forward(const at::Tensor& input, const at::Tensor& target);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  PoissonNLLLossOptions options;
};
TORCH_MODULE(PoissonNLLLoss);

class BCELossImpl : public Cloneable<BCELossImpl> {
 public:
  explicit BCELossImpl(BCELossOptions options_ = {});
  at::Tensor forward(const at::Tensor& input, const at::Tensor& target);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  BCELossOptions options;
  at::Tensor weight;
};
TORCH_MODULE(BCELoss);

class NLLLossImpl : public Cloneable<NLLLossImpl> {
 public:
  explicit NLLLossImpl(NLLLossOptions options_ = {});
  at::Tensor forward(const at::Tensor& input, const at::Tensor& target);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  NLLLossOptions options;
  at::Tensor weight;
};
TORCH_MODULE(NLLLoss);

class CrossEntropyLossImpl : public Cloneable<CrossEntropyLossImpl> {
 public:
  explicit CrossEntropyLossImpl(CrossEntropyLossOptions options_ = {});
  at::Tensor forward(const at::Tensor& input, const at::Tensor& target);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  CrossEntropyLossOptions options;
  at::Tensor weight;
};
TORCH_MODULE(CrossEntropyLoss);

class BCEWithLogitsLossImpl : public Cloneable<BCEWithLogitsLossImpl> {
 public:
  explicit BCEWithLogitsLossImpl(BCEWithLogitsLossOptions options_ = {});
  at::Tensor forward(const at::Tensor& input, const at::Tensor& target);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  BCEWithLogitsLossOptions options;
  at::Tensor weight;
  at::Tensor pos_weight;
};
TORCH_MODULE(BCEWithLogitsLoss);

class MultiLabelSoftMarginLossImpl : public Cloneable<MultiLabelSoftMarginLossImpl> {
 public:
  explicit MultiLabelSoftMarginLossImpl(MultiLabelSoftMarginLossOptions options_ = {});
  at::Tensor forward(const at::Tensor& input, const at::Tensor& target);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  MultiLabelSoftMarginLossOptions options;
  at::Tensor weight;
};
TORCH_MODULE(MultiLabelSoftMarginLoss);

class MultiMarginLossImpl : public Cloneable<MultiMarginLossImpl> {
 public:
  explicit MultiMarginLossImpl(MultiMarginLossOptions options_ = {});
  at::Tensor forward(const at::Tensor& input, const at::Tensor& target);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  MultiMarginLossOptions options;
  at::Tensor weight;
};
TORCH_MODULE(MultiMarginLoss);

class CosineEmbeddingLossImpl : public Cloneable<CosineEmbeddingLossImpl> {
 public:
  explicit CosineEmbeddingLossImpl(CosineEmbeddingLossOptions options_ = {});
  at::Tensor forward(const at::Tensor& input1, const at::Tensor& input2, const at::Tensor& target);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  CosineEmbeddingLossOptions options;
};
TORCH_MODULE(CosineEmbeddingLoss);

class MarginRankingLossImpl : public Cloneable<MarginRankingLossImpl> {
 public:
  explicit MarginRankingLossImpl(MarginRankingLossOptions options_ = {});
  at::Tensor forward(const at::Tensor& input1, const at::Tensor& input2, const at::Tensor& target);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  MarginRankingLossOptions options;
};
TORCH_MODULE(MarginRankingLoss);

class TripletMarginLossImpl : public Cloneable<TripletMarginLossImpl> {
 public:
  explicit TripletMarginLossImpl(TripletMarginLossOptions options_ = {});
  at::Tensor forward(const at::Tensor& anchor, const at::Tensor& positive, const at::Tensor& negative);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  TripletMarginLossOptions options;
};
TORCH_MODULE(TripletMarginLoss);

class CTCLossImpl : public Cloneable<CTCLossImpl> {
 public:
  explicit CTCLossImpl(CTCLossOptions options_ = {});
  at::Tensor forward(const at::Tensor& log_probs, const at::Tensor& targets, const at::Tensor& input_lengths,
                     const at::Tensor& target_lengths);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  CTCLossOptions options;
};
TORCH_MODULE(CTCLoss);

}  // namespace torch::nn
