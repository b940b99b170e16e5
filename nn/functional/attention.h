// Attention.
#pragma once

#include <optional>
#include <tuple>

#include "aten/core/tensor.h"
#include "nn/options/attention.h"

namespace torch::nn::functional {

using at::Tensor;

// Attention with several heads: the projections of query [L, N, E], key [S, N, kdim] and value [S, N, vdim] (or without
// N), softmax(q k^T / sqrt(head size) + masks) v a head, and the output's projection [L, N, E]; with need_weights also
// the softmax, [N, L, S] averaged over the heads or [N, heads, L, S], else an undefined tensor. A query that may see no
// key gives NaN. `is_causal` says that attn_mask hides the keys after each query: without weights and key_padding_mask
// that is what is computed, whatever the mask holds. Throws c10::Error for the hint without a mask.
std::tuple<Tensor, Tensor> multi_head_attention_forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                                        const MultiheadAttentionForwardFuncOptions& options);

// softmax(q k^T * scale + mask) v of q [*, L, E], k [*, S, E], v [*, S, Ev]; scale: 1 / sqrt(E). attn_mask: true where
// a key takes part, or numbers that are added. `enable_gqa` repeats the heads of k and v as often as q has more of
// them.
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const Tensor& attn_mask = {}, double dropout_p = 0.0, bool is_causal = false,
                                    std::optional<double> scale = std::nullopt, bool enable_gqa = false);

}  // namespace torch::nn::functional
