#include "nn/functional/embedding.h"

#include "aten/ops/composite/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"

namespace torch::nn::functional {

Tensor one_hot(const Tensor& tensor, int64_t num_classes) {
  return at::one_hot(tensor, num_classes);
}

Tensor embedding(const Tensor& input, const Tensor& weight, const EmbeddingFuncOptions& options) {
  int64_t padding_idx = -1;
  if (options.padding_idx().has_value()) {
    padding_idx = *options.padding_idx();
    const int64_t rows = weight.size(0);
    TORCH_CHECK(padding_idx < rows && padding_idx >= -rows, "Padding_idx must be within num_embeddings");
    if (padding_idx < 0) padding_idx += rows;
  }
  if (options.max_norm().has_value()) {
    c10::NoGradGuard no_grad;
    Tensor table = weight;
    at::embedding_renorm_(table, at::contiguous(input), *options.max_norm(), options.norm_type());
  }
  return at::embedding(weight, input, padding_idx, options.scale_grad_by_freq(), options.sparse());
}

}  // namespace torch::nn::functional
