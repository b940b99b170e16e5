#include "nn/layers/transformer.h"

#include <limits>

#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "nn/functional/activation.h"
#include "nn/init/init.h"

namespace torch::nn {

namespace F = torch::nn::functional;

namespace {

at::Tensor activated(const at::Tensor& x, const activation_t& activation) {
  if (std::holds_alternative<enumtype::kReLU>(activation)) return F::relu(x);
  if (std::holds_alternative<enumtype::kGELU>(activation)) return F::gelu(x);
  const auto& function = std::get<std::function<at::Tensor(const at::Tensor&)>>(activation);
  TORCH_CHECK(function != nullptr, "activation is an empty function");
  return function(x);
}

template <typename Options>
MultiheadAttention attention_of(const Options& o) {
  return MultiheadAttention(MultiheadAttentionOptions(o.d_model(), o.nhead())
                                .dropout(o.dropout())
                                .bias(o.bias())
                                .batch_first(o.batch_first()));
}

template <typename Options>
LayerNorm norm_of(const Options& o) {
  return LayerNorm(LayerNormOptions({o.d_model()}).eps(o.layer_norm_eps()).bias(o.bias()));
}

template <typename Options>
Linear linear_of(const Options& o, int64_t in, int64_t out) {
  return Linear(LinearOptions(in, out).bias(o.bias()));
}

// x + part(norm(x)) or norm(x + part(x))
template <typename Part>
at::Tensor residual(const at::Tensor& x, LayerNorm& norm, bool norm_first, const Part& part) {
  return norm_first ? at::add(x, part(norm(x))) : norm(at::add(x, part(x)));
}

template <typename Layer>
at::Tensor feed_forward(Layer& layer, const at::Tensor& x) {
  return layer.linear2(layer.dropout(activated(layer.linear1(x), layer.options.activation())));
}

at::Tensor attended(MultiheadAttention& attention, const at::Tensor& query, const at::Tensor& memory,
                    const at::Tensor& padding, const at::Tensor& mask, bool is_causal) {
  return std::get<0>(attention->forward(query, memory, memory, padding, /*need_weights=*/false, mask,
                                        /*average_attn_weights=*/true, is_causal));
}

}  // namespace

TransformerEncoderLayerImpl::TransformerEncoderLayerImpl(TransformerEncoderLayerOptions options_)
    : options(std::move(options_)) {
  reset();
}

void TransformerEncoderLayerImpl::reset() {
  self_attn = register_module("self_attn", attention_of(options));
  linear1 = register_module("linear1", linear_of(options, options.d_model(), options.dim_feedforward()));
  dropout = register_module("dropout", Dropout(options.dropout()));
  linear2 = register_module("linear2", linear_of(options, options.dim_feedforward(), options.d_model()));
  norm1 = register_module("norm1", norm_of(options));
  norm2 = register_module("norm2", norm_of(options));
  dropout1 = register_module("dropout1", Dropout(options.dropout()));
  dropout2 = register_module("dropout2", Dropout(options.dropout()));
}

void TransformerEncoderLayerImpl::reset_parameters() {
  self_attn->_reset_parameters();
  linear1->reset_parameters();
  linear2->reset_parameters();
  norm1->reset_parameters();
  norm2->reset_parameters();
}

at::Tensor TransformerEncoderLayerImpl::forward(const at::Tensor& src, const at::Tensor& src_mask,
                                                const at::Tensor& src_key_padding_mask, bool is_causal) {
  const bool first = options.norm_first();
  const at::Tensor x = residual(src, norm1, first, [&](const at::Tensor& y) {
    return dropout1(attended(self_attn, y, y, src_key_padding_mask, src_mask, is_causal));
  });
  return residual(x, norm2, first, [&](const at::Tensor& y) { return dropout2(feed_forward(*this, y)); });
}

TransformerDecoderLayerImpl::TransformerDecoderLayerImpl(TransformerDecoderLayerOptions options_)
    : options(std::move(options_)) {
  reset();
}

void TransformerDecoderLayerImpl::reset() {
  self_attn = register_module("self_attn", attention_of(options));
  multihead_attn = register_module("multihead_attn", attention_of(options));
  linear1 = register_module("linear1", linear_of(options, options.d_model(), options.dim_feedforward()));
  dropout = register_module("dropout", Dropout(options.dropout()));
  linear2 = register_module("linear2", linear_of(options, options.dim_feedforward(), options.d_model()));
  norm1 = register_module("norm1", norm_of(options));
  norm2 = register_module("norm2", norm_of(options));
  norm3 = register_module("norm3", norm_of(options));
  dropout1 = register_module("dropout1", Dropout(options.dropout()));
  dropout2 = register_module("dropout2", Dropout(options.dropout()));
  dropout3 = register_module("dropout3", Dropout(options.dropout()));
}

void TransformerDecoderLayerImpl::reset_parameters() {
  self_attn->_reset_parameters();
  multihead_attn->_reset_parameters();
  linear1->reset_parameters();
  linear2->reset_parameters();
  norm1->reset_parameters();
  norm2->reset_parameters();
  norm3->reset_parameters();
}

at::Tensor TransformerDecoderLayerImpl::forward(at::Tensor tgt, const at::Tensor& memory, const at::Tensor& tgt_mask,
                                                const at::Tensor& memory_mask, const at::Tensor& tgt_key_padding_mask,
                                                const at::Tensor& memory_key_padding_mask, bool tgt_is_causal,
                                                bool memory_is_causal) {
  const bool first = options.norm_first();
  at::Tensor x = residual(tgt, norm1, first, [&](const at::Tensor& y) {
    return dropout1(attended(self_attn, y, y, tgt_key_padding_mask, tgt_mask, tgt_is_causal));
  });
  x = residual(x, norm2, first, [&](const at::Tensor& y) {
    return dropout2(attended(multihead_attn, y, memory, memory_key_padding_mask, memory_mask, memory_is_causal));
  });
  return residual(x, norm3, first, [&](const at::Tensor& y) { return dropout3(feed_forward(*this, y)); });
}

TransformerEncoderOptions::TransformerEncoderOptions(const TransformerEncoderLayerOptions& encoder_layer_options,
                                                     int64_t num_layers)
    : TransformerEncoderOptions(TransformerEncoderLayer(encoder_layer_options), num_layers) {}
TransformerDecoderOptions::TransformerDecoderOptions(const TransformerDecoderLayerOptions& decoder_layer_options,
                                                     int64_t num_layers)
    : TransformerDecoderOptions(TransformerDecoderLayer(decoder_layer_options), num_layers) {}

TransformerEncoderImpl::TransformerEncoderImpl(TransformerEncoderOptions options_) : options(std::move(options_)) {
  reset();
}

void TransformerEncoderImpl::reset() {
  TORCH_CHECK(!options.encoder_layer().is_empty(), "TransformerEncoder: encoder_layer is empty");
  layers = register_module("layers", ModuleList());
  for (int64_t i = 0; i < options.num_layers(); ++i) layers->push_back(options.encoder_layer()->clone());
  if (options.norm().is_empty()) return;
  norm = options.norm().clone();
  register_module("norm", norm.ptr());
}

void TransformerEncoderImpl::reset_parameters() {
  for (size_t i = 0; i < layers->size(); ++i) layers->at<TransformerEncoderLayerImpl>(i).reset_parameters();
}

at::Tensor TransformerEncoderImpl::forward(const at::Tensor& src, const at::Tensor& src_mask,
                                           const at::Tensor& src_key_padding_mask, bool is_causal) {
  at::Tensor x = src;
  for (size_t i = 0; i < layers->size(); ++i)
    x = layers->at<TransformerEncoderLayerImpl>(i).forward(x, src_mask, src_key_padding_mask, is_causal);
  return norm.is_empty() ? x : norm.forward<at::Tensor>(x);
}

TransformerDecoderImpl::TransformerDecoderImpl(TransformerDecoderOptions options_) : options(std::move(options_)) {
  reset();
}

void TransformerDecoderImpl::reset() {
  TORCH_CHECK(!options.decoder_layer().is_empty(), "TransformerDecoder: decoder_layer is empty");
  layers = register_module("layers", ModuleList());
  for (int64_t i = 0; i < options.num_layers(); ++i) layers->push_back(options.decoder_layer()->clone());
  if (options.norm().is_empty()) return;
  norm = options.norm().clone();
  register_module("norm", norm.ptr());
}

void TransformerDecoderImpl::reset_parameters() {
  for (size_t i = 0; i < layers->size(); ++i) layers->at<TransformerDecoderLayerImpl>(i).reset_parameters();
}

at::Tensor TransformerDecoderImpl::forward(const at::Tensor& tgt, const at::Tensor& memory, const at::Tensor& tgt_mask,
                                           const at::Tensor& memory_mask, const at::Tensor& tgt_key_padding_mask,
                                           const at::Tensor& memory_key_padding_mask, bool tgt_is_causal,
                                           bool memory_is_causal) {
  at::Tensor x = tgt;
  for (size_t i = 0; i < layers->size(); ++i) {
    x = layers->at<TransformerDecoderLayerImpl>(i).forward(x, memory, tgt_mask, memory_mask, tgt_key_padding_mask,
                                                           memory_key_padding_mask, tgt_is_causal, memory_is_causal);
  }
  return norm.is_empty() ? x : norm.forward<at::Tensor>(x);
}

namespace {

template <typename LayerOptions>
LayerOptions layer_options(const TransformerOptions& o) {
  return LayerOptions(o.d_model(), o.nhead())
      .dim_feedforward(o.dim_feedforward())
      .dropout(o.dropout())
      .activation(o.activation())
      .layer_norm_eps(o.layer_norm_eps())
      .batch_first(o.batch_first())
      .norm_first(o.norm_first())
      .bias(o.bias());
}

}  // namespace

TransformerImpl::TransformerImpl(TransformerOptions options_) : options(std::move(options_)) {
  reset();
}

void TransformerImpl::reset() {
  if (!options.custom_encoder().is_empty()) {
    encoder = options.custom_encoder().clone();
  } else {
    encoder = AnyModule(TransformerEncoder(
        TransformerEncoderOptions(layer_options<TransformerEncoderLayerOptions>(options), options.num_encoder_layers())
            .norm(AnyModule(norm_of(options)))));
  }
  register_module("encoder", encoder.ptr());
  if (!options.custom_decoder().is_empty()) {
    decoder = options.custom_decoder().clone();
  } else {
    decoder = AnyModule(TransformerDecoder(
        TransformerDecoderOptions(layer_options<TransformerDecoderLayerOptions>(options), options.num_decoder_layers())
            .norm(AnyModule(norm_of(options)))));
  }
  register_module("decoder", decoder.ptr());
  reset_parameters();
}

void TransformerImpl::reset_parameters() {
  for (const at::Tensor& parameter : parameters()) {
    if (parameter.dim() > 1) init::xavier_uniform_(parameter);
  }
}

at::Tensor TransformerImpl::forward(const at::Tensor& src, const at::Tensor& tgt, const at::Tensor& src_mask,
                                    const at::Tensor& tgt_mask, const at::Tensor& memory_mask,
                                    const at::Tensor& src_key_padding_mask, const at::Tensor& tgt_key_padding_mask,
                                    const at::Tensor& memory_key_padding_mask, bool src_is_causal,
                                    bool tgt_is_causal, bool memory_is_causal) {
  TORCH_CHECK((src.dim() == 3 && tgt.dim() == 3) || (src.dim() == 2 && tgt.dim() == 2),
              "src and tgt should have 3 dimensions (or 2 without a batch), but got ", src.dim(), " and ", tgt.dim());
  if (src.dim() == 3) {
    const int64_t batch = options.batch_first() ? 0 : 1;
    TORCH_CHECK(src.size(batch) == tgt.size(batch), "src and tgt should have equal batch size (at dim ", batch,
                "), but got ", src.size(batch), " and ", tgt.size(batch));
  }
  TORCH_CHECK(src.size(-1) == options.d_model() && tgt.size(-1) == options.d_model(),
              "src and tgt should have same feature size as d_model (at last dim), got ", src.size(-1), " and ",
              tgt.size(-1), " with d_model ", options.d_model());
  // A module in the encoder's or decoder's place need not know the hints.
  const at::Tensor memory =
      src_is_causal ? encoder.forward<at::Tensor>(src, src_mask, src_key_padding_mask, src_is_causal)
                    : encoder.forward<at::Tensor>(src, src_mask, src_key_padding_mask);
  if (!tgt_is_causal && !memory_is_causal) {
    return decoder.forward<at::Tensor>(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask,
                                       memory_key_padding_mask);
  }
  return decoder.forward<at::Tensor>(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask,
                                     tgt_is_causal, memory_is_causal);
}

at::Tensor TransformerImpl::generate_square_subsequent_mask(int64_t sz) {
  TORCH_CHECK(sz >= 0, "Input size must be non-negative to generate a valid square subsequent mask, but got ", sz);
  return at::triu(at::full({sz, sz}, -std::numeric_limits<double>::infinity()), 1);
}

template class Cloneable<TransformerEncoderLayerImpl>;
template class Cloneable<TransformerDecoderLayerImpl>;
template class Cloneable<TransformerEncoderImpl>;
template class Cloneable<TransformerDecoderImpl>;
template class Cloneable<TransformerImpl>;

}  // namespace torch::nn
