#include "autograd/derivatives/attention_functions.h"

#include <limits>
#include <optional>

#include "aten/ops/attention/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/softmax/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/engine/forward_grad.h"

namespace torch::autograd::generated {
namespace {

// [batch, key heads * group, rows, columns] summed over the query heads that share a key head.
Tensor summed_over_groups(const Tensor& t, int64_t key_heads) {
  if (t.size(1) == key_heads) return t;
  const Tensor grouped = at::reshape(t, {t.size(0), key_heads, t.size(1) / key_heads, t.size(2), t.size(3)});
  return at::sum(grouped, IntArrayRef{2});
}

// Each key head as often as query heads share it.
Tensor repeated(const Tensor& t, int64_t group) {
  if (group == 1) return t;
  const Tensor spread = at::expand(at::unsqueeze(t, 2), {t.size(0), t.size(1), group, t.size(2), t.size(3)});
  return at::reshape(spread, {t.size(0), t.size(1) * group, t.size(2), t.size(3)});
}

// Query, key and value that are the thirds of the rows of one tensor, [batch, time, 3 * width], where its heads lie
// side by side.
bool are_thirds(const Tensor& query, const Tensor& key, const Tensor& value) {
  if (query.sizes() != key.sizes() || query.sizes() != value.sizes()) return false;
  const int64_t heads = query.size(1), time = query.size(2), width = heads * query.size(3);
  const int64_t strides[] = {3 * width * time, query.size(3), 3 * width, 1};
  for (const Tensor* t : {&query, &key, &value}) {
    for (int64_t d = 0; d < 4; ++d) {
      if (t->size(d) > 1 && t->stride(d) != strides[d]) return false;
    }
  }
  return width > 0 && query.is_alias_of(key) && query.is_alias_of(value) &&
         key.storage_offset() == query.storage_offset() + width &&
         value.storage_offset() == key.storage_offset() + width;
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> fused_attention_grad(
    const Tensor& grad,
    const Tensor& query,
    const Tensor& key,
    const Tensor& value,
    const Tensor& output,
    const Tensor& logsumexp,
    const Tensor& attn_mask,
    double dropout_p,
    bool is_causal,
    double scale,
    int64_t seed,
    std::array<bool, 3> mask) {
  const std::optional<Tensor> added = attn_mask.defined() ? std::optional<Tensor>(attn_mask) : std::nullopt;
  if (!is_differentiated() && are_thirds(query, key, value)) {
    // Their gradients, too: the split's is made of them without a copy.
    const int64_t batch = query.size(0), heads = query.size(1), time = query.size(2), columns = query.size(3);
    const Tensor all = at::empty({batch, time, 3, heads, columns}, query.options());
    const auto third = [&](int64_t i) { return at::transpose(at::select(all, 2, i), 1, 2); };
    Tensor grad_query = third(0), grad_key = third(1), grad_value = third(2);
    at::_fused_attention_backward_out(grad_query, grad_key, grad_value, grad, query, key, value, output, logsumexp, added,
                                      dropout_p, is_causal, scale, seed);
    return {grad_query, grad_key, grad_value};
  }
  if (!is_differentiated())
    return at::_fused_attention_backward(grad, query, key, value, output, logsumexp, added, dropout_p, is_causal, scale, seed);

  const int64_t group = query.size(1) / std::max<int64_t>(key.size(1), 1);
  const Tensor k = repeated(key, group), v = repeated(value, group);
  Tensor scores = at::mul(at::matmul(query, at::transpose(k, -2, -1)), Scalar(scale));
  const double minus_infinity = -std::numeric_limits<double>::infinity();
  if (is_causal) {
    const Tensor seen = at::tril(at::ones({query.size(2), key.size(2)}, query.options().dtype(kBool)));
    scores = at::masked_fill(scores, at::logical_not(seen), Scalar(minus_infinity));
  }
  if (added.has_value())
    scores = attn_mask.scalar_type() == kBool ? at::masked_fill(scores, at::logical_not(attn_mask), Scalar(minus_infinity)) : at::add(scores, attn_mask);
  // A query that sees nothing has no weights; its row of the softmax would be NaN.
  const Tensor blind = at::eq(at::unsqueeze(logsumexp, -1), Scalar(-minus_infinity));
  const Tensor weights = at::masked_fill(at::softmax(at::masked_fill(scores, blind, Scalar(0.0)), -1), blind, Scalar(0.0));
  Tensor kept_weights = weights, grad_weights = at::matmul(grad, at::transpose(v, -2, -1));
  if (dropout_p > 0) {
    const Tensor kept = at::_fused_attention_dropout(query, key, dropout_p, seed);
    kept_weights = at::mul(weights, kept);
    grad_weights = at::mul(grad_weights, kept);
  }
  const Tensor inner = at::sum(at::mul(weights, grad_weights), IntArrayRef{-1}, true);
  const Tensor grad_scores = at::mul(at::mul(weights, at::sub(grad_weights, inner)), Scalar(scale));
  std::tuple<Tensor, Tensor, Tensor> result;
  if (mask[0]) std::get<0>(result) = at::matmul(grad_scores, k);
  if (mask[1]) std::get<1>(result) = summed_over_groups(at::matmul(at::transpose(grad_scores, -2, -1), query), key.size(1));
  if (mask[2]) std::get<2>(result) = summed_over_groups(at::matmul(at::transpose(kept_weights, -2, -1), grad), key.size(1));
  return result;
}

}  // namespace torch::autograd::generated
