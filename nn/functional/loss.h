// Losses. `reduction`: kMean (default), kSum or kNone (a value an element or a row).
#pragma once

#include "aten/core/tensor.h"
#include "nn/options/loss.h"

namespace torch::nn::functional {

using at::Tensor;

// |x - y|, times `weight`, of the input's sizes; its mean is the weighted one.
Tensor l1_loss(const Tensor& input, const Tensor& target, const L1LossFuncOptions& options = {});
// (x - y)^2
Tensor mse_loss(const Tensor& input, const Tensor& target, const MSELossFuncOptions& options = {});
// 0.5 (x - y)^2 / beta where |x - y| < beta, else |x - y| - 0.5 beta
Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, const SmoothL1LossFuncOptions& options = {});
// Throws where the options have a beta, too.
Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, const SmoothL1LossFuncOptions& options, double beta);
// 0.5 (x - y)^2 where |x - y| < delta, else delta (|x - y| - 0.5 delta); times `weight`, of the input's sizes.
Tensor huber_loss(const Tensor& input, const Tensor& target, const HuberLossFuncOptions& options = {});
// target * (log target - input): input holds log-probabilities, target probabilities (or their logarithms).
Tensor kl_div(const Tensor& input, const Tensor& target, const KLDivFuncOptions& options = {});
// Of probabilities in [0, 1].
Tensor binary_cross_entropy(const Tensor& input, const Tensor& target,
                            const BinaryCrossEntropyFuncOptions& options = {});
// Of logits, without overflow.
Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target,
                                        const BinaryCrossEntropyWithLogitsFuncOptions& options = {});
// Of log-probabilities [N, C, *] and classes [N, *] (int64); classes equal to ignore_index do not count.
Tensor nll_loss(const Tensor& input, const Tensor& target, const NLLLossFuncOptions& options = {});
// nll_loss(log_softmax(input)); target as there, or probabilities of the input's shape.
Tensor cross_entropy(const Tensor& input, const Tensor& target, const CrossEntropyFuncOptions& options = {});
// cross_entropy(linear(input, linear_weight, linear_bias), target). For several classes an input: weight
// [C, d1, ..., dK, in_features], bias [C, d1, ..., dK], input [N, in_features], target [N, d1, ..., dK].
Tensor linear_cross_entropy(const Tensor& input, const Tensor& linear_weight, const Tensor& target,
                            const LinearCrossEntropyFuncOptions& options = {});
Tensor hinge_embedding_loss(const Tensor& input, const Tensor& target,
                            const HingeEmbeddingLossFuncOptions& options = {});
Tensor multi_margin_loss(const Tensor& input, const Tensor& target, const MultiMarginLossFuncOptions& options = {});
Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                             const CosineEmbeddingLossFuncOptions& options = {});
Tensor multilabel_margin_loss(const Tensor& input, const Tensor& target,
                              const MultilabelMarginLossFuncOptions& options = {});
Tensor soft_margin_loss(const Tensor& input, const Tensor& target, const SoftMarginLossFuncOptions& options = {});
Tensor multilabel_soft_margin_loss(const Tensor& input, const Tensor& target,
                                   const MultilabelSoftMarginLossFuncOptions& options = {});
// max(|a - p| - |a - n| + margin, 0). ValueError for a margin that is not above 0.
Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           const TripletMarginLossFuncOptions& options = {});
// max(distance(a, p) - distance(a, n) + margin, 0) with any distance; with `swap` of a and p whichever is nearer to n.
Tensor triplet_margin_with_distance_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                                         const TripletMarginWithDistanceLossFuncOptions& options = {});
// 0.5 (log v + (x - y)^2 / v), v = max(var, eps); `full` adds 0.5 log(2 pi). var: a number, or of the input's sizes,
// without its last dimension, or with 1 in place of one of them; else, and where it is negative, ValueError.
Tensor gaussian_nll_loss(const Tensor& input, const Tensor& target, const Tensor& var,
                         const GaussianNLLLossFuncOptions& options = {});
Tensor gaussian_nll_loss(const Tensor& input, const Tensor& target, double var,
                         const GaussianNLLLossFuncOptions& options = {});
Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, const PoissonNLLLossFuncOptions& options = {});
Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                           const MarginRankingLossFuncOptions& options = {});
Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, const CTCLossFuncOptions& options = {});

}  // namespace torch::nn::functional
