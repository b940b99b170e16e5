// Causal masks that are no tensors.
//
//   auto bias = torch::nn::attention::causal_lower_right(4, 12);   // the last 4 of 12 tokens
//   auto y = torch::nn::functional::scaled_dot_product_attention(q, k, v, bias);
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>

#include "aten/core/tensor.h"

namespace torch::nn::attention {

/// Where the diagonal of a causal mask ends: query i of L sees keys 0 to i, or, of S keys, 0 to i + S - L.
enum class CausalVariant { UPPER_LEFT = 1, LOWER_RIGHT = 2 };

/// A causal mask of these lengths.
struct CausalBias {
  CausalVariant variant;
  int64_t seq_len_q;
  int64_t seq_len_kv;

  /// The mask as a tensor [seq_len_q, seq_len_kv] of bool: true where a query sees a key.
  at::Tensor materialize(at::Device device = at::kCPU) const;
};

/// Prints the tensor.
std::ostream& operator<<(std::ostream& out, const CausalBias& bias);

CausalBias causal_upper_left(int64_t seq_len_q, int64_t seq_len_kv);
CausalBias causal_lower_right(int64_t seq_len_q, int64_t seq_len_kv);

}  // namespace torch::nn::attention

namespace torch::nn::functional {

/// scaled_dot_product_attention with that mask. UPPER_LEFT, and LOWER_RIGHT of equal lengths, are is_causal and never
/// become a tensor; else the mask does, of one byte an element, but the scores do not. A query that sees no key gives
/// zeros. Throws ValueError where is_causal is set, too.
at::Tensor scaled_dot_product_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                        const nn::attention::CausalBias& attn_mask, double dropout_p = 0.0,
                                        bool is_causal = false, std::optional<double> scale = std::nullopt,
                                        bool enable_gqa = false);

}  // namespace torch::nn::functional
