// The forward passes of multi-head attention and of an encoder layer as one operator each, by composition; softmax of
// what a mask leaves.
#include <cmath>
#include <limits>
#include <tuple>

#include "aten/core/tensor.h"
#include "aten/ops/activation/ops.h"
#include "aten/ops/attention/kernels.h"
#include "aten/ops/attention/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/norm/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/softmax/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

Scalar minus_infinity() {
  return Scalar(-std::numeric_limits<double>::infinity());
}

bool given(const std::optional<Tensor>& t) {
  return t.has_value() && t->defined();
}

// What a mask of that kind says of scores [batch, heads, queries, keys].
Tensor mask_of_scores(const Tensor& mask, const Tensor& scores, int64_t mask_type) {
  enum : int64_t { kOfScores = 0, kOfKeys = 1 };
  if (mask_type == kOfScores && mask.dim() == 2 && scores.dim() == 4) {
    TORCH_CHECK(mask.size(0) == scores.size(2) && mask.size(1) == scores.size(3),
                "For mask_type == 0 mask shape should match the last two dimensions of the input, but got ",
                mask.sizes(), " and ", scores.sizes());
    return mask;
  }
  if (mask_type == kOfKeys && mask.dim() == 2 && scores.dim() == 4) {
    TORCH_CHECK(mask.size(0) == scores.size(0) && mask.size(1) == scores.size(3),
                "For mask_type == 1 mask shape should be (batch, keys) of the input, but got ", mask.sizes(), " and ",
                scores.sizes());
    return at::unsqueeze(at::unsqueeze(mask, 1), 1);
  }
  TORCH_CHECK(mask.sizes() == scores.sizes(), "Mask shape should match input. mask: ", mask.sizes(),
              " input: ", scores.sizes());
  return mask;
}

// [batch, length, heads * width] by heads: [batch, heads, length, width].
Tensor by_heads(const Tensor& t, int64_t heads) {
  return at::transpose(at::view(at::contiguous(t), {t.size(0), t.size(1), heads, t.size(2) / heads}), 1, 2);
}

void check_projection(const char* op, const Tensor& weight, const Tensor& bias, int64_t rows, int64_t columns) {
  TORCH_CHECK(weight.dim() == 2 && weight.size(0) == rows && weight.size(1) == columns, op,
              ": expected a weight of size [", rows, ", ", columns, "], but got ", weight.sizes());
  TORCH_CHECK(bias.dim() == 1 && bias.size(0) == rows, op, ": expected a bias of size [", rows, "], but got ",
              bias.sizes());
}

}  // namespace

// True masks an element out.
Tensor masked_softmax(const Tensor& self, const Tensor& mask, std::optional<int64_t> dim,
                      std::optional<int64_t> mask_type) {
  TORCH_CHECK(mask.scalar_type() == kBool, "Mask should be a boolean tensor");
  TORCH_CHECK(mask_type.has_value(), "Mask Type should be defined");
  TORCH_CHECK(*mask_type >= 0 && *mask_type <= 2,
              "Mask Type should be 0 (src_mask), 1 (src_key_padding_mask), or 2 (default_mask), but got ", *mask_type);
  return at::softmax(at::masked_fill(self, mask_of_scores(mask, self, *mask_type), minus_infinity()), dim.value_or(-1));
}

// Zeros where all elements along the dimension are -inf.
Tensor safe_softmax(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  if (self.numel() == 0) return at::softmax(self, dim, dtype);
  // Such rows are taken out first: no NaN shall meet a gradient.
  const Tensor blind = at::all(at::eq(self, minus_infinity()), dim, true);
  return at::masked_fill(at::softmax(at::masked_fill(self, blind, Scalar(0)), dim, dtype), blind, Scalar(0));
}

std::tuple<Tensor, Tensor, Tensor> transform_bias_rescale_qkv(const Tensor& qkv, const Tensor& qkv_bias,
                                                              int64_t num_heads) {
  TORCH_CHECK(qkv.dim() == 3, "_transform_bias_rescale_qkv: expected qkv of 3 dimensions, but got ", qkv.sizes());
  TORCH_CHECK(qkv.size(2) % 3 == 0 && num_heads > 0 && qkv.size(2) / 3 % num_heads == 0,
              "_transform_bias_rescale_qkv: expected a last dimension that 3 * num_heads divides, but got ",
              qkv.sizes(), " and ", num_heads, " heads");
  TORCH_CHECK(qkv_bias.dim() == 1 && qkv_bias.size(0) == qkv.size(2),
              "_transform_bias_rescale_qkv: expected qkv_bias of size [", qkv.size(2), "], but got ", qkv_bias.sizes());
  const std::vector<Tensor> parts = at::chunk(at::add(qkv, qkv_bias), 3, 2);
  const double width = static_cast<double>(qkv.size(2) / 3 / num_heads);
  const auto heads = [&](const Tensor& t) { return at::contiguous(by_heads(t, num_heads)); };
  return {heads(at::mul(parts[0], Scalar(1 / std::sqrt(width)))), heads(parts[1]), heads(parts[2])};
}

std::tuple<Tensor, Tensor> native_multi_head_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                                       int64_t embed_dim, int64_t num_head, const Tensor& qkv_weight,
                                                       const Tensor& qkv_bias, const Tensor& proj_weight,
                                                       const Tensor& proj_bias, const std::optional<Tensor>& mask,
                                                       bool need_weights, bool average_attn_weights,
                                                       std::optional<int64_t> mask_type) {
  constexpr const char* kOp = "_native_multi_head_attention";
  TORCH_CHECK(query.dim() == 3, "expected 3-D `query`, got ", query.dim(), "-D tensor");
  TORCH_CHECK(query.size(2) == embed_dim, "passed-in embed_dim ", embed_dim, " didn't match last dim of query ",
              query.size(2));
  TORCH_CHECK(key.dim() == 3, "expected 3-D `key`, got ", key.dim(), "-D tensor");
  TORCH_CHECK(value.dim() == 3, "expected 3-D `value`, got ", value.dim(), "-D tensor");
  TORCH_CHECK(key.sizes() == value.sizes() && key.size(0) == query.size(0) && key.size(2) == embed_dim,
              "expected `key`/`value` of one size that fits `query`, got ", key.sizes(), ", ", value.sizes(), " and ",
              query.sizes());
  TORCH_CHECK(num_head > 0 && embed_dim % num_head == 0, "`embed_dim` must divide evenly by `num_heads`");
  check_projection(kOp, qkv_weight, qkv_bias, 3 * embed_dim, embed_dim);
  check_projection(kOp, proj_weight, proj_bias, embed_dim, embed_dim);
  const std::vector<Tensor> weights = at::chunk(qkv_weight, 3, 0), biases = at::chunk(qkv_bias, 3, 0);
  const auto projected = [&](const Tensor& t, size_t i) {
    return by_heads(at::linear(t, weights[i], biases[i]), num_head);
  };
  const double width = static_cast<double>(embed_dim / num_head);
  const Tensor q = at::mul(projected(query, 0), Scalar(1 / std::sqrt(width)));
  const Tensor scores = at::matmul(q, at::transpose(projected(key, 1), -2, -1));
  // A mask of numbers, such as one of 0 and -inf, masks where it is not 0.
  const Tensor attention =
      given(mask) ? at::_masked_softmax(scores, mask->scalar_type() == kBool ? *mask : at::to(*mask, kBool),
                                        scores.dim() - 1, mask_type)
                  : at::softmax(scores, -1);
  const Tensor heads = at::transpose(at::matmul(attention, projected(value, 2)), 1, 2);
  const Tensor result = at::linear(at::reshape(heads, query.sizes()), proj_weight, proj_bias);
  if (!need_weights) return {result, Tensor()};
  return {result, average_attn_weights ? at::mean(attention, IntArrayRef{1}) : attention};
}

Tensor transformer_encoder_layer_fwd(const Tensor& src, int64_t embed_dim, int64_t num_heads, const Tensor& qkv_weight,
                                     const Tensor& qkv_bias, const Tensor& proj_weight, const Tensor& proj_bias,
                                     bool use_gelu, bool norm_first, double eps, const Tensor& norm_weight_1,
                                     const Tensor& norm_bias_1, const Tensor& norm_weight_2, const Tensor& norm_bias_2,
                                     const Tensor& ffn_weight_1, const Tensor& ffn_bias_1, const Tensor& ffn_weight_2,
                                     const Tensor& ffn_bias_2, const std::optional<Tensor>& mask,
                                     std::optional<int64_t> mask_type) {
  const auto attended = [&](const Tensor& x) {
    return std::get<0>(at::_native_multi_head_attention(x, x, x, embed_dim, num_heads, qkv_weight, qkv_bias,
                                                        proj_weight, proj_bias, mask, false, true, mask_type));
  };
  const auto fed_forward = [&](const Tensor& x) {
    const Tensor inner = at::linear(x, ffn_weight_1, ffn_bias_1);
    return at::linear(use_gelu ? at::gelu(inner) : at::relu(inner), ffn_weight_2, ffn_bias_2);
  };
  const auto first = [&](const Tensor& x) { return at::layer_norm(x, {embed_dim}, norm_weight_1, norm_bias_1, eps); };
  const auto second = [&](const Tensor& x) { return at::layer_norm(x, {embed_dim}, norm_weight_2, norm_bias_2, eps); };
  if (norm_first) {
    const Tensor x = at::add(src, attended(first(src)));
    return at::add(x, fed_forward(second(x)));
  }
  const Tensor x = first(at::add(src, attended(src)));
  return second(at::add(x, fed_forward(x)));
}

}  // namespace at::native
