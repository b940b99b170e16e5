#include "aten/ops/attention/decompositions.h"

#include <limits>

#include "aten/ops/attention/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/shared/decomposing.h"
#include "aten/ops/unary/ops.h"

namespace at::decompositions {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// [batch, heads, rows, columns] with each head as often as the query has heads for it.
Tensor with_heads(const Tensor& t, int64_t heads) {
  if (t.size(1) == heads) return t;
  const int64_t each = heads / t.size(1), batch = t.size(0), rows = t.size(2), columns = t.size(3);
  return at::reshape(at::expand(at::unsqueeze(t, 2), {batch, t.size(1), each, rows, columns}),
                     {batch, heads, rows, columns});
}

}  // namespace

std::tuple<Tensor, Tensor> fused_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                           const std::optional<Tensor>& attn_mask, double dropout_p, bool is_causal,
                                           double scale, int64_t seed) {
  const ScalarType type = query.scalar_type(), compute = toOpMathType(type);
  const int64_t heads = query.size(1), keys = key.size(2);
  const Tensor q = cast(query, compute), k = with_heads(cast(key, compute), heads);
  if (keys == 0) {
    const IntArrayRef rows = query.sizes().slice(0, 3);
    return {filled({query.size(0), heads, query.size(2), value.size(3)}, 0, query), filled(rows, -kInfinity, q)};
  }
  Tensor scores = at::mul(at::matmul(q, at::transpose(k, -2, -1)), scale);
  if (is_causal) {
    const Tensor all = at::full({query.size(2), keys}, true, q.options().dtype(kBool));
    scores = kept_where(at::tril(all), scores, -kInfinity);
  }
  if (attn_mask.has_value() && attn_mask->defined()) {
    const bool allows = attn_mask->scalar_type() == kBool;
    scores = allows ? kept_where(*attn_mask, scores, -kInfinity) : at::add(scores, cast(*attn_mask, compute));
  }
  // A row that may look at nothing is one of zeros.
  const Tensor largest = at::amax(scores, IntArrayRef(-1), true);
  const Tensor finite = kept_where(at::ne(largest, -kInfinity), largest, 0);
  const Tensor each = at::exp(at::sub(scores, finite)), sum = at::sum(each, IntArrayRef(-1), true);
  Tensor weights = at::div(each, kept_where(at::ne(sum, 0), sum, 1));
  if (dropout_p > 0) {
    weights = at::mul(weights, cast(at::_fused_attention_dropout(query, key, dropout_p, seed), compute));
  }
  return {cast(at::matmul(weights, with_heads(cast(value, compute), heads)), type),
          at::squeeze(at::add(at::log(sum), finite), -1)};
}

}  // namespace at::decompositions
