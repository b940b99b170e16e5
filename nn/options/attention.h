// Options of attention with several heads.
#pragma once

#include <cstdint>
#include <utility>

#include "aten/core/tensor.h"
#include "c10/util/arg.h"

namespace torch::nn {

struct MultiheadAttentionOptions {
  MultiheadAttentionOptions(int64_t embed_dim, int64_t num_heads)
      : embed_dim_(embed_dim), num_heads_(num_heads), kdim_(embed_dim), vdim_(embed_dim) {}
  TORCH_ARG(int64_t, embed_dim);
  TORCH_ARG(int64_t, num_heads);
  // Of the attention's weights.
  TORCH_ARG(double, dropout) = 0.0;
  TORCH_ARG(bool, bias) = true;
  // A learned key and value more.
  TORCH_ARG(bool, add_bias_kv) = false;
  // A key and value of zeros more.
  TORCH_ARG(bool, add_zero_attn) = false;
  TORCH_ARG(int64_t, kdim);
  TORCH_ARG(int64_t, vdim);
  // Inputs are [N, L, E], not [L, N, E].
  TORCH_ARG(bool, batch_first) = false;
};

namespace functional {

struct MultiheadAttentionForwardFuncOptions {
  MultiheadAttentionForwardFuncOptions(int64_t embed_dim_to_check, int64_t num_heads, at::Tensor in_proj_weight,
                                       at::Tensor in_proj_bias, at::Tensor bias_k, at::Tensor bias_v,
                                       bool add_zero_attn, double dropout_p, at::Tensor out_proj_weight,
                                       at::Tensor out_proj_bias)
      : embed_dim_to_check_(embed_dim_to_check),
        num_heads_(num_heads),
        in_proj_weight_(std::move(in_proj_weight)),
        in_proj_bias_(std::move(in_proj_bias)),
        bias_k_(std::move(bias_k)),
        bias_v_(std::move(bias_v)),
        add_zero_attn_(add_zero_attn),
        dropout_p_(dropout_p),
        out_proj_weight_(std::move(out_proj_weight)),
        out_proj_bias_(std::move(out_proj_bias)) {}
  TORCH_ARG(int64_t, embed_dim_to_check);
  TORCH_ARG(int64_t, num_heads);
  TORCH_ARG(at::Tensor, in_proj_weight);
  TORCH_ARG(at::Tensor, in_proj_bias);
  TORCH_ARG(at::Tensor, bias_k);
  TORCH_ARG(at::Tensor, bias_v);
  TORCH_ARG(bool, add_zero_attn);
  TORCH_ARG(double, dropout_p);
  TORCH_ARG(at::Tensor, out_proj_weight);
  TORCH_ARG(at::Tensor, out_proj_bias);
  TORCH_ARG(bool, training) = true;
  // Keys that no query may see: [N, S], true or -inf.
  TORCH_ARG(at::Tensor, key_padding_mask) = {};
  TORCH_ARG(bool, need_weights) = true;
  // [L, S] or [N * heads, L, S]: true where a query may not see a key, or numbers that are added.
  TORCH_ARG(at::Tensor, attn_mask) = {};
  TORCH_ARG(bool, use_separate_proj_weight) = false;
  TORCH_ARG(at::Tensor, q_proj_weight) = {};
  TORCH_ARG(at::Tensor, k_proj_weight) = {};
  TORCH_ARG(at::Tensor, v_proj_weight) = {};
  TORCH_ARG(at::Tensor, static_k) = {};
  TORCH_ARG(at::Tensor, static_v) = {};
  TORCH_ARG(bool, average_attn_weights) = true;
  // A hint that attn_mask, which must be there, lets no query see a later key.
  TORCH_ARG(bool, is_causal) = false;
};

}  // namespace functional
}  // namespace torch::nn
