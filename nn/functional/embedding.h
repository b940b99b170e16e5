// Look-up of rows.
#pragma once

#include "aten/core/tensor.h"
#include "nn/options/embedding.h"

namespace torch::nn::functional {

using at::Tensor;

// 1 at the index and 0 elsewhere, along a new last dimension of `num_classes` (-1: the largest index + 1).
Tensor one_hot(const Tensor& tensor, int64_t num_classes = -1);
// Rows of weight [n, d] at indices of any shape: [*, d]. Throws where padding_idx is not a row.
Tensor embedding(const Tensor& input, const Tensor& weight, const EmbeddingFuncOptions& options = {});

// Sums, means or maxima of rows: of each row of indices [B, n], or of the bags of [N] that start at `offsets` [B].
Tensor embedding_bag(const Tensor& input, const Tensor& weight, const EmbeddingBagFuncOptions& options = {});

}  // namespace torch::nn::functional
