#include "nn/layers/attention.h"

#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "nn/functional/attention.h"
#include "nn/init/init.h"

namespace torch::nn {

namespace F = torch::nn::functional;

MultiheadAttentionImpl::MultiheadAttentionImpl(const MultiheadAttentionOptions& options_)
    : Module("torch::nn::MultiheadAttention"), options(options_) {
  reset();
}

void MultiheadAttentionImpl::reset() {
  const int64_t embed = options.embed_dim();
  TORCH_CHECK(embed > 0 && options.num_heads() > 0,
              "embed_dim and num_heads must be greater than 0, got embed_dim=", embed,
              " and num_heads=", options.num_heads(), " instead");
  head_dim = embed / options.num_heads();
  TORCH_CHECK(head_dim * options.num_heads() == embed, "embed_dim must be divisible by num_heads");
  _qkv_same_embed_dim = options.kdim() == embed && options.vdim() == embed;
  const auto parameter = [&](const char* name, bool there, std::vector<int64_t> sizes) {
    return there ? register_parameter(name, at::empty(sizes)) : register_parameter(name, at::Tensor(), false);
  };
  in_proj_weight = parameter("in_proj_weight", _qkv_same_embed_dim, {3 * embed, embed});
  q_proj_weight = parameter("q_proj_weight", !_qkv_same_embed_dim, {embed, embed});
  k_proj_weight = parameter("k_proj_weight", !_qkv_same_embed_dim, {embed, options.kdim()});
  v_proj_weight = parameter("v_proj_weight", !_qkv_same_embed_dim, {embed, options.vdim()});
  in_proj_bias = parameter("in_proj_bias", options.bias(), {3 * embed});
  out_proj = register_module("out_proj", Linear(LinearOptions(embed, embed).bias(options.bias())));
  bias_k = parameter("bias_k", options.add_bias_kv(), {1, 1, embed});
  bias_v = parameter("bias_v", options.add_bias_kv(), {1, 1, embed});
  _reset_parameters();
}

void MultiheadAttentionImpl::_reset_parameters() {
  for (const at::Tensor& weight : {in_proj_weight, q_proj_weight, k_proj_weight, v_proj_weight}) {
    if (weight.defined()) init::xavier_uniform_(weight);
  }
  if (in_proj_bias.defined()) {
    init::zeros_(in_proj_bias);
    init::zeros_(out_proj->bias);
  }
  if (bias_k.defined()) init::xavier_normal_(bias_k);
  if (bias_v.defined()) init::xavier_normal_(bias_v);
}

std::tuple<at::Tensor, at::Tensor> MultiheadAttentionImpl::forward(const at::Tensor& query, const at::Tensor& key,
                                                                   const at::Tensor& value,
                                                                   const at::Tensor& key_padding_mask,
                                                                   bool need_weights, const at::Tensor& attn_mask,
                                                                   bool average_attn_weights, bool is_causal) {
  auto call = F::MultiheadAttentionForwardFuncOptions(options.embed_dim(), options.num_heads(), in_proj_weight,
                                                      in_proj_bias, bias_k, bias_v, options.add_zero_attn(),
                                                      options.dropout(), out_proj->weight, out_proj->bias)
                  .training(is_training())
                  .key_padding_mask(key_padding_mask)
                  .need_weights(need_weights)
                  .attn_mask(attn_mask)
                  .average_attn_weights(average_attn_weights)
                  .is_causal(is_causal);
  if (!_qkv_same_embed_dim) {
    call.use_separate_proj_weight(true)
        .q_proj_weight(q_proj_weight)
        .k_proj_weight(k_proj_weight)
        .v_proj_weight(v_proj_weight);
  }
  if (!options.batch_first() || query.dim() != 3) return F::multi_head_attention_forward(query, key, value, call);
  TORCH_CHECK(key.dim() == 3 && value.dim() == 3,
              "For batched (3-D) `query`, expected `key` and `value` to be 3-D but "
              "found ",
              key.dim(), "-D and ", value.dim(), "-D tensors respectively");
  auto [output, weights] = F::multi_head_attention_forward(at::transpose(query, 0, 1), at::transpose(key, 0, 1),
                                                           at::transpose(value, 0, 1), call);
  return {at::transpose(output, 0, 1), weights};
}

template class Cloneable<MultiheadAttentionImpl>;

}  // namespace torch::nn
