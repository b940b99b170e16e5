// Transformers: layers of attention and feed-forward networks, stacks of them, and both with each other.
//
//   torch::nn::Transformer model(torch::nn::TransformerOptions(64, 4).num_encoder_layers(2).num_decoder_layers(2));
//   auto y = model(src, tgt, {}, torch::nn::Transformer::Impl::generate_square_subsequent_mask(tgt.size(0)));
#pragma once

#include "nn/layers/attention.h"
#include "nn/layers/dropout.h"
#include "nn/layers/linear.h"
#include "nn/layers/normalization.h"
#include "nn/module/any_module.h"
#include "nn/module/module_list.h"
#include "nn/options/transformer_layer.h"

namespace torch::nn {

// x + attention(x), normalized; x + linear2(activation(linear1(x))), normalized. With norm_first the normalizations
// stand before. src: [L, N, E] or [L, E]. Masks as in MultiheadAttention, and
// `is_causal`, the hint that the mask, which it needs, hides what comes later.
class TransformerEncoderLayerImpl : public Cloneable<TransformerEncoderLayerImpl> {
 public:
  TransformerEncoderLayerImpl(int64_t d_model, int64_t nhead)
      : TransformerEncoderLayerImpl(TransformerEncoderLayerOptions(d_model, nhead)) {}
  explicit TransformerEncoderLayerImpl(TransformerEncoderLayerOptions options_);
  at::Tensor forward(const at::Tensor& src, const at::Tensor& src_mask = {},
                     const at::Tensor& src_key_padding_mask = {}, bool is_causal = false);
  void reset() override;
  void reset_parameters();

  TransformerEncoderLayerOptions options;
  MultiheadAttention self_attn = nullptr;
  Linear linear1 = nullptr;
  Dropout dropout = nullptr;
  Linear linear2 = nullptr;
  LayerNorm norm1 = nullptr;
  LayerNorm norm2 = nullptr;
  Dropout dropout1 = nullptr;
  Dropout dropout2 = nullptr;

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(at::Tensor())}, {2, AnyValue(at::Tensor())}, {3, AnyValue(false)})
};
TORCH_COMPILED_MODULE(TransformerEncoderLayer);

// The same with attention of `tgt` to `memory`, the encoder's output, in between.
class TransformerDecoderLayerImpl : public Cloneable<TransformerDecoderLayerImpl> {
 public:
  TransformerDecoderLayerImpl(int64_t d_model, int64_t nhead)
      : TransformerDecoderLayerImpl(TransformerDecoderLayerOptions(d_model, nhead)) {}
  explicit TransformerDecoderLayerImpl(TransformerDecoderLayerOptions options_);
  at::Tensor forward(at::Tensor tgt, const at::Tensor& memory, const at::Tensor& tgt_mask = {},
                     const at::Tensor& memory_mask = {}, const at::Tensor& tgt_key_padding_mask = {},
                     const at::Tensor& memory_key_padding_mask = {}, bool tgt_is_causal = false,
                     bool memory_is_causal = false);
  void reset() override;
  void reset_parameters();

  TransformerDecoderLayerOptions options;
  MultiheadAttention self_attn = nullptr;
  MultiheadAttention multihead_attn = nullptr;
  Linear linear1 = nullptr;
  Dropout dropout = nullptr;
  Linear linear2 = nullptr;
  LayerNorm norm1 = nullptr;
  LayerNorm norm2 = nullptr;
  LayerNorm norm3 = nullptr;
  Dropout dropout1 = nullptr;
  Dropout dropout2 = nullptr;
  Dropout dropout3 = nullptr;

 protected:
  FORWARD_HAS_DEFAULT_ARGS({2, AnyValue(at::Tensor())}, {3, AnyValue(at::Tensor())}, {4, AnyValue(at::Tensor())},
                           {5, AnyValue(at::Tensor())}, {6, AnyValue(false)}, {7, AnyValue(false)})
};
TORCH_COMPILED_MODULE(TransformerDecoderLayer);

// `num_layers` copies of a layer; `norm`, a module of one tensor, comes last where there is one.
struct TransformerEncoderOptions {
  TransformerEncoderOptions(TransformerEncoderLayer encoder_layer, int64_t num_layers)
      : encoder_layer_(std::move(encoder_layer)), num_layers_(num_layers) {}
  TransformerEncoderOptions(const TransformerEncoderLayerOptions& encoder_layer_options, int64_t num_layers);
  TORCH_ARG(TransformerEncoderLayer, encoder_layer) = nullptr;
  TORCH_ARG(int64_t, num_layers);
  TORCH_ARG(AnyModule, norm);
  // Hints about the speed of batches whose padding is left out. Padded places are computed as all others, so that they
  // change nothing.
  TORCH_ARG(bool, enable_nested_tensor) = true;
  TORCH_ARG(bool, mask_check) = true;
};

struct TransformerDecoderOptions {
  TransformerDecoderOptions(TransformerDecoderLayer decoder_layer, int64_t num_layers)
      : decoder_layer_(std::move(decoder_layer)), num_layers_(num_layers) {}
  TransformerDecoderOptions(const TransformerDecoderLayerOptions& decoder_layer_options, int64_t num_layers);
  TORCH_ARG(TransformerDecoderLayer, decoder_layer) = nullptr;
  TORCH_ARG(int64_t, num_layers);
  TORCH_ARG(AnyModule, norm);
};

// Layers one after another; all get the same masks and hints.
class TransformerEncoderImpl : public Cloneable<TransformerEncoderImpl> {
 public:
  TransformerEncoderImpl(TransformerEncoderLayer encoder_layer, int64_t num_layers)
      : TransformerEncoderImpl(TransformerEncoderOptions(std::move(encoder_layer), num_layers)) {}
  explicit TransformerEncoderImpl(TransformerEncoderOptions options_);
  at::Tensor forward(const at::Tensor& src, const at::Tensor& src_mask = {},
                     const at::Tensor& src_key_padding_mask = {}, bool is_causal = false);
  void reset() override;
  void reset_parameters();

  TransformerEncoderOptions options;
  ModuleList layers = nullptr;
  AnyModule norm;

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(at::Tensor())}, {2, AnyValue(at::Tensor())}, {3, AnyValue(false)})
};
TORCH_COMPILED_MODULE(TransformerEncoder);

class TransformerDecoderImpl : public Cloneable<TransformerDecoderImpl> {
 public:
  TransformerDecoderImpl(TransformerDecoderLayer decoder_layer, int64_t num_layers)
      : TransformerDecoderImpl(TransformerDecoderOptions(std::move(decoder_layer), num_layers)) {}
  explicit TransformerDecoderImpl(TransformerDecoderOptions options_);
  at::Tensor forward(const at::Tensor& tgt, const at::Tensor& memory, const at::Tensor& tgt_mask = {},
                     const at::Tensor& memory_mask = {}, const at::Tensor& tgt_key_padding_mask = {},
                     const at::Tensor& memory_key_padding_mask = {}, bool tgt_is_causal = false,
                     bool memory_is_causal = false);
  void reset() override;
  void reset_parameters();

  TransformerDecoderOptions options;
  ModuleList layers = nullptr;
  AnyModule norm;

 protected:
  FORWARD_HAS_DEFAULT_ARGS({2, AnyValue(at::Tensor())}, {3, AnyValue(at::Tensor())}, {4, AnyValue(at::Tensor())},
                           {5, AnyValue(at::Tensor())}, {6, AnyValue(false)}, {7, AnyValue(false)})
};
TORCH_COMPILED_MODULE(TransformerDecoder);

// `custom_encoder` and `custom_decoder`, modules with the forwards of TransformerEncoder and TransformerDecoder, stand
// in their place.
struct TransformerOptions {
  TransformerOptions() = default;
  TransformerOptions(int64_t d_model, int64_t nhead) : d_model_(d_model), nhead_(nhead) {}
  TransformerOptions(int64_t d_model, int64_t nhead, int64_t num_encoder_layers, int64_t num_decoder_layers)
      : d_model_(d_model),
        nhead_(nhead),
        num_encoder_layers_(num_encoder_layers),
        num_decoder_layers_(num_decoder_layers) {}
  TORCH_ARG(int64_t, d_model) = 512;
  TORCH_ARG(int64_t, nhead) = 8;
  TORCH_ARG(int64_t, num_encoder_layers) = 6;
  TORCH_ARG(int64_t, num_decoder_layers) = 6;
  TORCH_ARG(int64_t, dim_feedforward) = 2048;
  TORCH_ARG(double, dropout) = 0.1;
  TORCH_ARG(activation_t, activation) = torch::kReLU;
  TORCH_ARG(AnyModule, custom_encoder);
  TORCH_ARG(AnyModule, custom_decoder);
  TORCH_ARG(double, layer_norm_eps) = 1e-5;
  TORCH_ARG(bool, batch_first) = false;
  TORCH_ARG(bool, norm_first) = false;
  TORCH_ARG(bool, bias) = true;
};

// decoder(tgt, encoder(src)): src [S, N, E], tgt [T, N, E] -> [T, N, E]; with batch_first N stands first. All weights
// of two dimensions and more start Xavier-uniform.
class TransformerImpl : public Cloneable<TransformerImpl> {
 public:
  explicit TransformerImpl(TransformerOptions options_ = {});
  at::Tensor forward(const at::Tensor& src, const at::Tensor& tgt, const at::Tensor& src_mask = {},
                     const at::Tensor& tgt_mask = {}, const at::Tensor& memory_mask = {},
                     const at::Tensor& src_key_padding_mask = {}, const at::Tensor& tgt_key_padding_mask = {},
                     const at::Tensor& memory_key_padding_mask = {}, bool src_is_causal = false,
                     bool tgt_is_causal = false, bool memory_is_causal = false);
  void reset() override;
  void reset_parameters();
  // [sz, sz]: -inf above the diagonal, zeros elsewhere: nothing sees what comes after it.
  static at::Tensor generate_square_subsequent_mask(int64_t sz);

  TransformerOptions options;
  AnyModule encoder;
  AnyModule decoder;

 protected:
  FORWARD_HAS_DEFAULT_ARGS({2, AnyValue(at::Tensor())}, {3, AnyValue(at::Tensor())}, {4, AnyValue(at::Tensor())},
                           {5, AnyValue(at::Tensor())}, {6, AnyValue(at::Tensor())}, {7, AnyValue(at::Tensor())},
                           {8, AnyValue(false)}, {9, AnyValue(false)}, {10, AnyValue(false)})
};
TORCH_COMPILED_MODULE(Transformer);

}  // namespace torch::nn
