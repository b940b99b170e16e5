#include "nn/attention/bias.h"

#include <ostream>

#include "aten/core/printing.h"
#include "aten/ops/attention/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"

namespace torch::nn::attention {

at::Tensor CausalBias::materialize(at::Device device) const {
  const int64_t diagonal = variant == CausalVariant::LOWER_RIGHT ? seq_len_kv - seq_len_q : 0;
  return at::tril(at::ones({seq_len_q, seq_len_kv}, at::TensorOptions(at::kBool).device(device)), diagonal);
}

std::ostream& operator<<(std::ostream& out, const CausalBias& bias) {
  return out << bias.materialize();
}

CausalBias causal_upper_left(int64_t seq_len_q, int64_t seq_len_kv) {
  return {CausalVariant::UPPER_LEFT, seq_len_q, seq_len_kv};
}

CausalBias causal_lower_right(int64_t seq_len_q, int64_t seq_len_kv) {
  return {CausalVariant::LOWER_RIGHT, seq_len_q, seq_len_kv};
}

}  // namespace torch::nn::attention

namespace torch::nn::functional {

at::Tensor scaled_dot_product_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                        const nn::attention::CausalBias& attn_mask, double dropout_p, bool is_causal,
                                        std::optional<double> scale, bool enable_gqa) {
  TORCH_CHECK_VALUE(!is_causal, "CausalBias should not be used with causal=True");
  const bool upper_left = attn_mask.variant == nn::attention::CausalVariant::UPPER_LEFT;
  if (upper_left || attn_mask.seq_len_q == attn_mask.seq_len_kv) {
    return at::scaled_dot_product_attention(query, key, value, std::nullopt, dropout_p, /*is_causal=*/true, scale,
                                            enable_gqa);
  }
  return at::scaled_dot_product_attention(query, key, value, attn_mask.materialize(query.device()), dropout_p,
                                          /*is_causal=*/false, scale, enable_gqa);
}

}  // namespace torch::nn::functional
