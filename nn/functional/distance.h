// Distances between vectors.
#pragma once

#include "aten/core/tensor.h"
#include "nn/options/distance.h"

namespace torch::nn::functional {

using at::Tensor;

// x1 x2 / (|x1| |x2|) along `dim`; neither norm counts as less than eps.
Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, const CosineSimilarityFuncOptions& options = {});
// The p-norm of x1 - x2 + eps along the last dimension.
Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, const PairwiseDistanceFuncOptions& options = {});
// The p-norms of the differences of all pairs of rows of [N, M]: [N (N - 1) / 2].
Tensor pdist(const Tensor& input, double p = 2.0);

}  // namespace torch::nn::functional
