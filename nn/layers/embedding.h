// Embedding: a table of vectors, looked up by index.
#pragma once

#include <iosfwd>

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
};

class Embedding : public ModuleHolder<EmbeddingImpl> {
 public:
  using ModuleHolder<EmbeddingImpl>::ModuleHolder;
  using Impl = EmbeddingImpl;

  // With a given table of two dimensions, by default not trained.
  static Embedding from_pretrained(const at::Tensor& embeddings, const EmbeddingFromPretrainedOptions& options = {});
};

}  // namespace torch::nn
