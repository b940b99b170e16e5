// Embedding and EmbeddingBag: tables of vectors, looked up by index.
#pragma once

#include <iosfwd>

#include "nn/module/any_module.h"
#include "nn/module/cloneable.h"
#include "nn/options/embedding.h"

namespace torch::nn {

// Indices of any shape [*] -> [*, embedding_dim]. Member: weight [num_embeddings, embedding_dim], at first normal(0, 1)
// with zeros in the row padding_idx.
class EmbeddingImpl : public Cloneable<EmbeddingImpl> {
 public:
  EmbeddingImpl(int64_t num_embeddings, int64_t embedding_dim)
      : EmbeddingImpl(EmbeddingOptions(num_embeddings, embedding_dim)) {}
  explicit EmbeddingImpl(EmbeddingOptions options_);
  at::Tensor forward(const at::Tensor& indices);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;

  EmbeddingOptions options;
  at::Tensor weight;

 protected:
  TORCH_MODULE_TENSORS(weight)
};

extern template class Cloneable<EmbeddingImpl>;
class Embedding : public ModuleHolder<EmbeddingImpl> {
 public:
  using ModuleHolder<EmbeddingImpl>::ModuleHolder;
  using Impl = EmbeddingImpl;

  // With a given table of two dimensions, by default not trained.
  static Embedding from_pretrained(const at::Tensor& embeddings, const EmbeddingFromPretrainedOptions& options = {});
};

// The sums, means or maxima of bags of rows, without the rows: indices [B, n], or [N] with the bags' `offsets` [B],
// give [B, embedding_dim]. Member: weight as in Embedding.
class EmbeddingBagImpl : public Cloneable<EmbeddingBagImpl> {
 public:
  EmbeddingBagImpl(int64_t num_embeddings, int64_t embedding_dim)
      : EmbeddingBagImpl(EmbeddingBagOptions(num_embeddings, embedding_dim)) {}
  explicit EmbeddingBagImpl(EmbeddingBagOptions options_);
  // `per_sample_weights`, of the indices' sizes, multiply the rows; with kSum only.
  at::Tensor forward(const at::Tensor& input, const at::Tensor& offsets = {},
                     const at::Tensor& per_sample_weights = {});
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;

  EmbeddingBagOptions options;
  at::Tensor weight;

 protected:
  TORCH_MODULE_TENSORS(weight)
  FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(at::Tensor())}, {2, AnyValue(at::Tensor())})
};

extern template class Cloneable<EmbeddingBagImpl>;
class EmbeddingBag : public ModuleHolder<EmbeddingBagImpl> {
 public:
  using ModuleHolder<EmbeddingBagImpl>::ModuleHolder;
  using Impl = EmbeddingBagImpl;

  // With a given table of two dimensions, by default not trained.
  static EmbeddingBag from_pretrained(const at::Tensor& embeddings,
                                      const EmbeddingBagFromPretrainedOptions& options = {});
};

}  // namespace torch::nn
