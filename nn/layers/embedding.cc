#include "nn/layers/embedding.h"

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "nn/functional/embedding.h"
#include "nn/init/init.h"

namespace torch::nn {

namespace F = torch::nn::functional;

EmbeddingImpl::EmbeddingImpl(EmbeddingOptions options_) : options(std::move(options_)) {
  reset();
}

void EmbeddingImpl::reset() {
  if (options.padding_idx().has_value()) {
    const int64_t row = *options.padding_idx();
    const int64_t rows = options.num_embeddings();
    TORCH_CHECK(row < rows && row >= -rows, "Padding_idx must be within num_embeddings");
    if (row < 0) options.padding_idx(rows + row);
  }
  if (options._weight().defined()) {
    TORCH_CHECK(options._weight().sizes() == c10::IntArrayRef({options.num_embeddings(), options.embedding_dim()}),
                "Shape of _weight does not match num_embeddings and embedding_dim");
    weight = register_parameter("weight", options._weight());
    return;
  }
  weight = register_parameter("weight", at::empty({options.num_embeddings(), options.embedding_dim()}));
  reset_parameters();
}

void EmbeddingImpl::reset_parameters() {
  init::normal_(weight);
  if (options.padding_idx().has_value()) {
    c10::NoGradGuard no_grad;
    at::Tensor row = at::select(weight, 0, *options.padding_idx());
    at::zero_(row);
  }
}

at::Tensor EmbeddingImpl::forward(const at::Tensor& indices) {
  return F::embedding(indices, weight,
                      F::EmbeddingFuncOptions()
                          .padding_idx(options.padding_idx())
                          .max_norm(options.max_norm())
                          .norm_type(options.norm_type())
                          .scale_grad_by_freq(options.scale_grad_by_freq())
                          .sparse(options.sparse()));
}

void EmbeddingImpl::pretty_print(std::ostream& stream) const {
  std::string text = c10::str("torch::nn::Embedding(num_embeddings=", options.num_embeddings(),
                              ", embedding_dim=", options.embedding_dim());
  if (options.padding_idx().has_value()) text += c10::str(", padding_idx=", *options.padding_idx());
  if (options.max_norm().has_value()) text += c10::str(", max_norm=", *options.max_norm());
  if (options.norm_type() != 2) text += c10::str(", norm_type=", options.norm_type());
  if (options.scale_grad_by_freq()) text += ", scale_grad_by_freq=true";
  if (options.sparse()) text += ", sparse=true";
  detail::put_text(stream, text + ")");
}

Embedding Embedding::from_pretrained(const at::Tensor& embeddings, const EmbeddingFromPretrainedOptions& options) {
  TORCH_CHECK(embeddings.dim() == 2, "Embeddings parameter is expected to be 2-dimensional");
  Embedding embedding(EmbeddingOptions(embeddings.size(0), embeddings.size(1))
                          ._weight(embeddings)
                          .padding_idx(options.padding_idx())
                          .max_norm(options.max_norm())
                          .norm_type(options.norm_type())
                          .scale_grad_by_freq(options.scale_grad_by_freq())
                          .sparse(options.sparse()));
  embedding->weight.set_requires_grad(!options.freeze());
  return embedding;
}

}  // namespace torch::nn
