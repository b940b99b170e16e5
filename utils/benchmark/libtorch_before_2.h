// Included before a benchmark that is compiled with libtorch: what libtorch before 2.0 (Debian has 1.13) calls otherwise.
#pragma once

#include <torch/torch.h>
#include <torch/version.h>

#if TORCH_VERSION_MAJOR < 2
#include <tuple>

namespace at {
inline Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                           const c10::optional<Tensor>& attn_mask = {}, double dropout_p = 0.0,
                                           bool is_causal = false) {
  return std::get<0>(at::_scaled_dot_product_attention(query, key, value, attn_mask, dropout_p,
                                                       /*need_attn_weights=*/false, is_causal));
}
}  // namespace at
#endif
