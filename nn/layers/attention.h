// MultiheadAttention.
#pragma once

#include <tuple>

#include "nn/layers/linear.h"
#include "nn/module/any_module.h"
#include "nn/module/cloneable.h"
#include "nn/options/attention.h"

namespace torch::nn {

// functional::multi_head_attention_forward with its weights: query [L, N, E] (or without N; with batch_first [N, L,
// E]), key [S, N, kdim] and value [S, N, vdim] give the output, of query's sizes, and, with need_weights, the
// attention's weights. `is_causal` is a hint that attn_mask, which it needs (c10::Error), hides what comes after each
// query. Members: in_proj_weight [3 E, E], or q_proj_weight [E, E], k_proj_weight [E, kdim] and
// v_proj_weight [E, vdim] where kdim or vdim is not E (all Xavier-uniform); in_proj_bias [3 E] (zeros); bias_k and
// bias_v [1, 1, E] with add_bias_kv (Xavier-normal); out_proj, a Linear with a bias of zeros.
class MultiheadAttentionImpl : public Cloneable<MultiheadAttentionImpl> {
 public:
  MultiheadAttentionImpl(int64_t embed_dim, int64_t num_heads)
      : MultiheadAttentionImpl(MultiheadAttentionOptions(embed_dim, num_heads)) {}
  // Throws unless num_heads divides embed_dim.
  explicit MultiheadAttentionImpl(const MultiheadAttentionOptions& options_);

  std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                             const at::Tensor& key_padding_mask = {}, bool need_weights = true,
                                             const at::Tensor& attn_mask = {}, bool average_attn_weights = true,
                                             bool is_causal = false);
  void reset() override;
  void _reset_parameters();

  MultiheadAttentionOptions options;
  bool _qkv_same_embed_dim = false;
  at::Tensor in_proj_weight;
  at::Tensor in_proj_bias;
  Linear out_proj = nullptr;
  at::Tensor bias_k;
  at::Tensor bias_v;
  int64_t head_dim = 0;
  at::Tensor q_proj_weight;
  at::Tensor k_proj_weight;
  at::Tensor v_proj_weight;

 protected:
  TORCH_MODULE_TENSORS(in_proj_weight, in_proj_bias, bias_k, bias_v, q_proj_weight, k_proj_weight, v_proj_weight)
  FORWARD_HAS_DEFAULT_ARGS({3, AnyValue(at::Tensor())}, {4, AnyValue(true)}, {5, AnyValue(at::Tensor())},
                           {6, AnyValue(true)}, {7, AnyValue(false)})
};
TORCH_COMPILED_MODULE(MultiheadAttention);

}  // namespace torch::nn
