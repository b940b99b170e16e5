// AdaptiveLogSoftmaxWithLoss: a softmax over very many classes of uneven frequency.
#pragma once

#include <vector>

#include "nn/layers/linear.h"
#include "nn/module/cloneable.h"
#include "nn/module/module_list.h"
#include "nn/options/adaptive.h"

namespace torch::nn {

// The log-probability of each sample's target and the mean of their negatives.
struct ASMoutput {
  ASMoutput(at::Tensor output_, double loss_);
  at::Tensor output;
  double loss;
};

// The classes below cutoffs[0] are in the head, with an entry for each further cluster of classes; a cluster has a
// projection to fewer features of its own. Classes are to be sorted by frequency. input: [N, in_features] or
// [in_features], target: [N] or [].
class AdaptiveLogSoftmaxWithLossImpl : public Cloneable<AdaptiveLogSoftmaxWithLossImpl> {
 public:
  AdaptiveLogSoftmaxWithLossImpl(int64_t in_features, int64_t n_classes, std::vector<int64_t> cutoffs)
      : AdaptiveLogSoftmaxWithLossImpl(AdaptiveLogSoftmaxWithLossOptions(in_features, n_classes, std::move(cutoffs))) {}
  explicit AdaptiveLogSoftmaxWithLossImpl(AdaptiveLogSoftmaxWithLossOptions options_);

  // The loss has no gradient: it is -mean(output), which has one.
  ASMoutput forward(const at::Tensor& input, const at::Tensor& target);
  // The log-probabilities of all classes: [N, n_classes].
  at::Tensor log_prob(const at::Tensor& input);
  // The same, with the head's output given.
  at::Tensor _get_full_log_prob(const at::Tensor& input, const at::Tensor& head_output);
  // The most probable class of each sample.
  at::Tensor predict(const at::Tensor& input);
  void reset() override;
  void reset_parameters();

  AdaptiveLogSoftmaxWithLossOptions options;
  // With n_classes as the last.
  std::vector<int64_t> cutoffs;
  int64_t shortlist_size = 0;
  int64_t n_clusters = 0;
  int64_t head_size = 0;
  Linear head = nullptr;
  ModuleList tail = nullptr;

 private:
  at::Tensor cluster(int64_t i, const at::Tensor& input);
};
TORCH_COMPILED_MODULE(AdaptiveLogSoftmaxWithLoss);

}  // namespace torch::nn
