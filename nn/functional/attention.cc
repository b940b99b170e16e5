#include "nn/functional/attention.h"

#include <cmath>
#include <limits>

#include "aten/ops/attention/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/padding/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/softmax/ops.h"
#include "aten/ops/view/ops.h"
#include "nn/functional/optional_tensor.h"

namespace torch::nn::functional {
namespace {

using Options = MultiheadAttentionForwardFuncOptions;
using nn::detail::if_defined;

void check_sizes(const Tensor& query, const Tensor& key, const Tensor& value, const Options& o) {
  TORCH_CHECK(o.num_heads() > 0, "num_heads must be greater than 0");
  const int64_t dim = query.dim();
  TORCH_CHECK(dim == 2 || dim == 3, "query should be unbatched 2D or batched 3D tensor but received ", dim,
              "-D query tensor");
  TORCH_CHECK(key.dim() == dim && value.dim() == dim, "For ", dim == 3 ? "batched (3-D)" : "unbatched (2-D)",
              " `query`, expected `key` and `value` to be ", dim, "-D but found ", key.dim(), "-D and ", value.dim(),
              "-D tensors respectively");
  const int64_t embed = query.size(-1);
  TORCH_CHECK(embed == o.embed_dim_to_check(), "was expecting embedding dimension of ", o.embed_dim_to_check(),
              ", but got ", embed);
  TORCH_CHECK(embed % o.num_heads() == 0, "embed_dim must be divisible by num_heads");
  if (o.use_separate_proj_weight()) {
    for (int64_t d = 0; d + 1 < dim; ++d) {
      TORCH_CHECK(key.size(d) == value.size(d), "key's sequence and batch dims ", key.sizes(), " do not match value's ",
                  value.sizes());
    }
    TORCH_CHECK(o.q_proj_weight().defined() && o.k_proj_weight().defined() && o.v_proj_weight().defined(),
                "use_separate_proj_weight is true but q_proj_weight, k_proj_weight or v_proj_weight is undefined");
  } else {
    TORCH_CHECK(key.sizes() == value.sizes(), "key shape ", key.sizes(), " does not match value shape ", value.sizes());
    TORCH_CHECK(o.in_proj_weight().defined(), "use_separate_proj_weight is false but in_proj_weight is undefined");
  }
}

// Numbers to add for a mask of numbers or of true for what may not be seen.
Tensor added(const Tensor& mask, c10::ScalarType dtype, const char* name) {
  if (!mask.defined()) return mask;
  if (mask.is_floating_point()) return mask;
  TORCH_CHECK(mask.scalar_type() == at::kBool || mask.scalar_type() == at::kByte,
              "Only float, byte, and bool types are "
              "supported for ",
              name, ", not ", mask.scalar_type());
  const Tensor forbidden = mask.scalar_type() == at::kBool ? mask : at::ne(mask, 0);
  return at::masked_fill(at::zeros(mask.sizes(), at::TensorOptions(dtype).device(mask.device())), forbidden,
                         -std::numeric_limits<double>::infinity());
}

// [length, N, E] -> [N * heads, length, E / heads]
Tensor by_head(const Tensor& x, int64_t batch, const Options& o) {
  const int64_t head = x.size(2) / o.num_heads();
  return at::transpose(at::reshape(at::contiguous(x), {x.size(0), batch * o.num_heads(), head}), 0, 1);
}

std::tuple<Tensor, Tensor, Tensor> projected(const Tensor& query, const Tensor& key, const Tensor& value,
                                             const Options& o) {
  const int64_t embed = o.embed_dim_to_check();
  const Tensor& all = o.in_proj_bias();
  const auto bias = [&](int64_t i) {
    return all.defined() ? std::optional<Tensor>(at::slice(all, 0, i * embed, (i + 1) * embed)) : std::nullopt;
  };
  const auto weight = [&](const Tensor& own, int64_t i) {
    return o.use_separate_proj_weight() ? own : at::slice(o.in_proj_weight(), 0, i * embed, (i + 1) * embed);
  };
  return {at::linear(query, weight(o.q_proj_weight(), 0), bias(0)),
          at::linear(key, weight(o.k_proj_weight(), 1), bias(1)),
          at::linear(value, weight(o.v_proj_weight(), 2), bias(2))};
}

// One column more that hides nothing.
Tensor with_column(const Tensor& mask) {
  return mask.defined() ? at::constant_pad_nd(mask, {0, 1}, 0) : mask;
}

// Keys or values given from outside: [N * heads, S, E / heads].
Tensor given(const Tensor& t, int64_t rows, int64_t head, const char* name) {
  TORCH_CHECK(t.dim() == 3 && t.size(0) == rows && t.size(2) == head, "expecting ", name, " of sizes [", rows, ", *, ",
              head, "], but got ", t.sizes());
  return t;
}

// [L, S], or [N * heads, L, S].
Tensor checked_mask(const Tensor& mask, int64_t rows, int64_t length, int64_t source) {
  if (!mask.defined()) return mask;
  if (mask.dim() == 2) {
    TORCH_CHECK(mask.size(0) == length && mask.size(1) == source, "The shape of the 2D attn_mask is ", mask.sizes(),
                ", but should be [", length, ", ", source, "].");
    return at::unsqueeze(mask, 0);
  }
  TORCH_CHECK(mask.dim() == 3, "attn_mask's dimension ", mask.dim(), " is not supported");
  TORCH_CHECK(mask.size(0) == rows && mask.size(1) == length && mask.size(2) == source,
              "The shape of the 3D attn_mask is ", mask.sizes(), ", but should be [", rows, ", ", length, ", ", source,
              "].");
  return mask;
}

std::tuple<Tensor, Tensor> batched(const Tensor& query, const Tensor& key, const Tensor& value, Tensor key_padding,
                                   const Options& o) {
  const int64_t length = query.size(0), batch = query.size(1), embed = query.size(2);
  const int64_t head = embed / o.num_heads(), rows = batch * o.num_heads();
  TORCH_CHECK(key.size(1) == batch, "expected key and value to have the batch size of query, ", batch, ", but got ",
              key.size(1));
  TORCH_CHECK(!o.is_causal() || o.attn_mask().defined(),
              "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
              "`generate_square_subsequent_mask` to create this mask.");
  const bool causal = o.is_causal() && !o.need_weights() && !key_padding.defined();
  Tensor mask;
  if (!causal) {
    mask = checked_mask(added(o.attn_mask(), query.scalar_type(), "attn_mask"), rows, length,
                        o.static_k().defined() ? o.static_k().size(1) : key.size(0));
  }
  key_padding = added(key_padding, query.scalar_type(), "key_padding_mask");

  auto [q, k, v] = projected(query, key, value, o);
  TORCH_CHECK(o.bias_k().defined() == o.bias_v().defined(), "bias_k and bias_v must be given together");
  if (o.bias_k().defined()) {
    TORCH_CHECK(!o.static_k().defined(), "bias cannot be added to static key.");
    TORCH_CHECK(!o.static_v().defined(), "bias cannot be added to static value.");
    k = at::cat({k, at::expand(o.bias_k(), {1, batch, embed})}, 0);
    v = at::cat({v, at::expand(o.bias_v(), {1, batch, embed})}, 0);
    mask = with_column(mask);
    key_padding = with_column(key_padding);
  }
  q = by_head(q, batch, o);
  k = o.static_k().defined() ? given(o.static_k(), rows, head, "static_k") : by_head(k, batch, o);
  v = o.static_v().defined() ? given(o.static_v(), rows, head, "static_v") : by_head(v, batch, o);
  if (o.add_zero_attn()) {
    const Tensor zero = at::zeros({rows, 1, head}, k.options());
    k = at::cat({k, zero}, 1);
    v = at::cat({v, zero}, 1);
    mask = with_column(mask);
    key_padding = with_column(key_padding);
  }
  const int64_t source = k.size(1);
  if (causal) mask = at::triu(at::full({length, source}, -std::numeric_limits<double>::infinity(), q.options()), 1);
  if (key_padding.defined()) {
    TORCH_CHECK(key_padding.dim() == 2, "expecting key_padding_mask shape of [", batch, ", ", source, "], but got ",
                key_padding.sizes());
    TORCH_CHECK(key_padding.size(0) == batch, "Expected key_padding_mask.size(0) to be ", batch, ", but got ",
                key_padding.size(0));
    TORCH_CHECK(key_padding.size(1) == source, "Expected key_padding_mask.size(1) to be ", source, ", but got ",
                key_padding.size(1));
    const Tensor by_row = at::reshape(
        at::expand(at::view(key_padding, {batch, 1, 1, source}), {batch, o.num_heads(), 1, source}), {rows, 1, source});
    mask = mask.defined() ? at::add(mask, by_row) : by_row;
  }

  Tensor scores = at::bmm(at::mul(q, std::sqrt(1.0 / static_cast<double>(head))), at::transpose(k, 1, 2));
  if (mask.defined()) scores = at::add(scores, mask);
  Tensor weights = at::softmax(scores, -1);
  if (o.training() && o.dropout_p() > 0) weights = at::dropout(weights, o.dropout_p(), true);
  const Tensor heads = at::reshape(at::transpose(at::bmm(weights, v), 0, 1), {length * batch, embed});
  const Tensor output = at::view(at::linear(heads, o.out_proj_weight(), if_defined(o.out_proj_bias())),
                                 {length, batch, o.out_proj_weight().size(0)});
  if (!o.need_weights()) return {output, Tensor()};
  weights = at::view(weights, {batch, o.num_heads(), length, source});
  if (o.average_attn_weights()) weights = at::mean(weights, {1});
  return {output, weights};
}

}  // namespace

std::tuple<Tensor, Tensor> multi_head_attention_forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                                        const MultiheadAttentionForwardFuncOptions& options) {
  check_sizes(query, key, value, options);
  const Tensor& padding = options.key_padding_mask();
  if (query.dim() == 3) return batched(query, key, value, padding, options);
  TORCH_CHECK(!padding.defined() || padding.dim() == 1,
              "For unbatched (2-D) `query`, expected `key_padding_mask` to be 1-D, but got ", padding.dim(), "-D");
  auto [output, weights] = batched(at::unsqueeze(query, 1), at::unsqueeze(key, 1), at::unsqueeze(value, 1),
                                   padding.defined() ? at::unsqueeze(padding, 0) : padding, options);
  return {at::squeeze(output, 1), weights.defined() ? at::squeeze(weights, 0) : weights};
}

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const Tensor& attn_mask, double dropout_p, bool is_causal,
                                    std::optional<double> scale, bool enable_gqa) {
  return at::scaled_dot_product_attention(query, key, value, if_defined(attn_mask), dropout_p, is_causal, scale,
                                          enable_gqa);
}

}  // namespace torch::nn::functional
