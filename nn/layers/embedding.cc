#include "nn/layers/embedding.h"

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "nn/functional/embedding.h"
#include "nn/init/init.h"

namespace torch::nn {

namespace F = torch::nn::functional;

namespace {

// Within the table, counted from its start.
std::optional<int64_t> padding_row(const std::optional<int64_t>& row, int64_t rows) {
  if (!row.has_value()) return row;
  TORCH_CHECK(*row < rows && *row >= -rows, "Padding_idx must be within num_embeddings");
  return *row < 0 ? rows + *row : *row;
}

void fill_table(at::Tensor& weight, const std::optional<int64_t>& padding_idx) {
  init::normal_(weight);
  if (!padding_idx.has_value()) return;
  c10::NoGradGuard no_grad;
  at::Tensor row = at::select(weight, 0, *padding_idx);
  at::zero_(row);
}

}  // namespace

EmbeddingImpl::EmbeddingImpl(EmbeddingOptions options_) : options(std::move(options_)) {
  reset();
}

void EmbeddingImpl::reset() {
  options.padding_idx(padding_row(options.padding_idx(), options.num_embeddings()));
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
  fill_table(weight, options.padding_idx());
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

EmbeddingBagImpl::EmbeddingBagImpl(EmbeddingBagOptions options_) : options(std::move(options_)) {
  reset();
}

void EmbeddingBagImpl::reset() {
  options.padding_idx(padding_row(options.padding_idx(), options.num_embeddings()));
  if (options._weight().defined()) {
    TORCH_CHECK(options._weight().sizes() == c10::IntArrayRef({options.num_embeddings(), options.embedding_dim()}),
                "Shape of weight does not match num_embeddings and embedding_dim");
    weight = register_parameter("weight", options._weight());
    return;
  }
  weight = register_parameter("weight", at::empty({options.num_embeddings(), options.embedding_dim()}));
  reset_parameters();
}

void EmbeddingBagImpl::reset_parameters() {
  fill_table(weight, options.padding_idx());
}

at::Tensor EmbeddingBagImpl::forward(const at::Tensor& input, const at::Tensor& offsets,
                                     const at::Tensor& per_sample_weights) {
  return F::embedding_bag(input, weight,
                          F::EmbeddingBagFuncOptions()
                              .offsets(offsets)
                              .max_norm(options.max_norm())
                              .norm_type(options.norm_type())
                              .scale_grad_by_freq(options.scale_grad_by_freq())
                              .mode(options.mode())
                              .sparse(options.sparse())
                              .per_sample_weights(per_sample_weights)
                              .include_last_offset(options.include_last_offset())
                              .padding_idx(options.padding_idx()));
}

void EmbeddingBagImpl::pretty_print(std::ostream& stream) const {
  std::string text = c10::str("torch::nn::EmbeddingBag(num_embeddings=", options.num_embeddings(),
                              ", embedding_dim=", options.embedding_dim());
  if (options.max_norm().has_value()) text += c10::str(", max_norm=", *options.max_norm());
  if (options.norm_type() != 2) text += c10::str(", norm_type=", options.norm_type());
  if (options.scale_grad_by_freq()) text += ", scale_grad_by_freq=true";
  if (options.sparse()) text += ", sparse=true";
  if (!std::holds_alternative<enumtype::kMean>(options.mode()))
    text += ", mode=" + enumtype::get_enum_name(options.mode());
  if (options.include_last_offset()) text += ", include_last_offset=true";
  if (options.padding_idx().has_value()) text += c10::str(", padding_idx=", *options.padding_idx());
  detail::put_text(stream, text + ")");
}

EmbeddingBag EmbeddingBag::from_pretrained(const at::Tensor& embeddings,
                                           const EmbeddingBagFromPretrainedOptions& options) {
  TORCH_CHECK(embeddings.dim() == 2, "Embeddings parameter is expected to be 2-dimensional");
  EmbeddingBag bag(EmbeddingBagOptions(embeddings.size(0), embeddings.size(1))
                       ._weight(embeddings)
                       .max_norm(options.max_norm())
                       .norm_type(options.norm_type())
                       .scale_grad_by_freq(options.scale_grad_by_freq())
                       .mode(options.mode())
                       .sparse(options.sparse())
                       .include_last_offset(options.include_last_offset())
                       .padding_idx(options.padding_idx()));
  bag->weight.set_requires_grad(!options.freeze());
  return bag;
}

template class Cloneable<EmbeddingImpl>;
template class Cloneable<EmbeddingBagImpl>;

}  // namespace torch::nn
