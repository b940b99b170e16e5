// Scaled dot-product attention of CUDA tensors, put together from products and pointwise operators: the matrix of all
// weights is in memory.
#include <limits>

#include "aten/core/tensor.h"
#include "aten/ops/attention/decompositions.h"
#include "aten/ops/attention/kernels.h"
#include "aten/ops/attention/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/shared/decomposing.h"

namespace at::native {
namespace {

using decompositions::cast;
using decompositions::kept_where;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// [batch, heads, rows, columns] as a batch of matrices, one for each head of the keys: the rows of all heads of the
// query that share it lie one after the other.
Tensor by_key_heads(const Tensor& t, int64_t key_heads) {
  return at::reshape(t, {t.size(0) * key_heads, t.size(1) / key_heads * t.size(2), t.size(3)});
}
Tensor turned(const Tensor& t) {
  return at::transpose(t, 1, 2);
}

// Which elements are dropped is decided on the host, as for CPU tensors.
Tensor dropout_factors(const Tensor& query, const Tensor& key, double dropout_p, int64_t seed) {
  const Tensor one = at::zeros({1, 1, 1, 1}, TensorOptions().dtype(query.scalar_type()));
  return at::_fused_attention_dropout(at::expand(one, query.sizes(), false), at::expand(one, key.sizes(), false),
                                      dropout_p, seed);
}

}  // namespace

void fused_attention_cuda(const Tensor& query, const Tensor& key, const Tensor& value,
                          const std::optional<Tensor>& attn_mask, double dropout_p, bool is_causal, double scale,
                          int64_t seed, Tensor& output, Tensor& logsumexp) {
  const auto [result, sums] =
      decompositions::fused_attention(query, key, value, attn_mask, dropout_p, is_causal, scale, seed);
  at::copy_(output, result, false);
  at::copy_(logsumexp, sums, false);
}

void fused_attention_backward_cuda(const Tensor& grad_out, const Tensor& query, const Tensor& key, const Tensor& value,
                                   const Tensor& out, const Tensor& logsumexp, const std::optional<Tensor>& attn_mask,
                                   double dropout_p, bool is_causal, double scale, int64_t seed, Tensor& grad_query,
                                   Tensor& grad_key, Tensor& grad_value) {
  const ScalarType compute = logsumexp.scalar_type();
  const int64_t heads = key.size(1);
  const int64_t sizes[] = {query.size(0), query.size(1), query.size(2), key.size(2)};
  if (query.numel() == 0 || key.numel() == 0 || value.numel() == 0) {
    for (Tensor* gradient : {&grad_query, &grad_key, &grad_value}) at::zero_(*gradient);
    return;
  }
  const auto matrices = [&](const Tensor& t) { return by_key_heads(cast(t, compute), heads); };
  const auto weights_of = [&](const Tensor& t) { return at::reshape(t, sizes); };
  const Tensor q = matrices(query), k = matrices(key), v = matrices(value), g = matrices(grad_out);
  // The weights once more: the sums of their exponentials are known.
  Tensor scores = at::mul(weights_of(at::bmm(q, turned(k))), scale);
  if (is_causal) {
    const Tensor all = at::full({sizes[2], sizes[3]}, true, query.options().dtype(kBool));
    scores = kept_where(at::tril(all), scores, -kInfinity);
  }
  if (attn_mask.has_value() && attn_mask->defined()) {
    const bool allows = attn_mask->scalar_type() == kBool;
    scores = allows ? kept_where(*attn_mask, scores, -kInfinity) : at::add(scores, cast(*attn_mask, compute));
  }
  const Tensor sums = at::unsqueeze(logsumexp, -1);
  const Tensor weights = at::exp(at::sub(scores, kept_where(at::ne(sums, -kInfinity), sums, 0)));
  Tensor grad_weights = weights_of(at::bmm(g, turned(v)));
  Tensor used = weights;
  if (dropout_p > 0) {
    const Tensor factors = at::to(dropout_factors(query, key, dropout_p, seed), query.device(), compute);
    used = at::mul(weights, factors);
    grad_weights = at::mul(grad_weights, factors);
  }
  const Tensor change = at::sum(at::mul(cast(grad_out, compute), cast(out, compute)), IntArrayRef(-1), true);
  const Tensor grad_scores = matrices(at::mul(at::mul(weights, at::sub(grad_weights, change)), scale));
  const auto write = [](Tensor& to, const Tensor& from) { at::copy_(to, at::reshape(from, to.sizes()), false); };
  write(grad_query, at::bmm(grad_scores, k));
  write(grad_key, at::bmm(turned(grad_scores), q));
  write(grad_value, at::bmm(turned(matrices(used)), g));
}

void fused_attention_dropout_cuda(const Tensor& query, const Tensor& key, double dropout_p, int64_t seed, Tensor& out) {
  at::copy_(out, dropout_factors(query, key, dropout_p, seed), false);
}

}  // namespace at::native
