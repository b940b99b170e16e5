// Scaled dot-product attention of CUDA tensors. Heads of up to 256 columns have kernels, whose memory does not grow
// with the product of queries and keys; wider ones are put together from products and pointwise operators.
#include <algorithm>
#include <cmath>
#include <limits>

#include "aten/core/tensor.h"
#include "aten/cuda/attention/flash_call.h"
#include "aten/ops/attention/decompositions.h"
#include "aten/ops/attention/kernels.h"
#include "aten/ops/attention/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/shared/decomposing.h"

namespace at::native {
namespace {

using cuda::FlashCall;
using cuda::FlashGradientCall;
using cuda::HeadRows;
using decompositions::cast;
using decompositions::kept_where;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool has_kernels(const Tensor& query, const Tensor& key, const Tensor& value) {
  constexpr int64_t kMost = int64_t{1} << 30;
  return std::max(query.size(3), value.size(3)) <= cuda::kWidestHead &&
         std::max({query.size(0), query.size(1), query.size(2), key.size(2)}) < kMost;
}

// `t` itself where neighbours in a row are neighbours in memory.
Tensor by_rows(const Tensor& t) {
  return t.size(3) <= 1 || t.stride(3) == 1 ? t : dense(t);
}
HeadRows rows_of(const Tensor& t) {
  constexpr int64_t kAligned = 16;
  const auto item = static_cast<int64_t>(t.element_size());
  HeadRows rows{static_cast<char*>(t.data_ptr()), t.stride(0), t.stride(1), t.stride(2), t.size(3) % 8 == 0};
  if (reinterpret_cast<uintptr_t>(rows.data) % kAligned != 0) rows.wide = false;
  for (int d = 0; d < 3; ++d) {
    if (t.size(d) > 1 && t.stride(d) * item % kAligned != 0) rows.wide = false;
  }
  return rows;
}

// Where a kernel writes rows: `out` itself, or what commit() copies there.
class RowsOut {
 public:
  explicit RowsOut(Tensor& out) : out_(out) {
    const bool fits = out.size(3) <= 1 || out.stride(3) == 1;
    rows_ = fits ? out : empty_dense(out.sizes(), out.scalar_type(), out.device(), MemoryFormat::Contiguous);
  }
  HeadRows rows() const { return rows_of(rows_); }
  void commit() {
    if (!rows_.is_same(out_)) at::copy_(out_, rows_, false);
  }

 private:
  Tensor& out_;
  Tensor rows_;
};

void set_dropout(FlashCall& call, double dropout_p, int64_t seed) {
  call.dropout.bound = static_cast<uint64_t>(std::ceil(dropout_p * 0x1p53));
  call.dropout.factor = dropout_p < 1 ? 1 / (1 - dropout_p) : 0;
  call.dropout.seed = static_cast<uint64_t>(seed);
}

// The sizes and what decides about the scores; `query`, `key` and `value` by rows.
FlashCall describe(const Tensor& query, const Tensor& key, const Tensor& value, const std::optional<Tensor>& attn_mask,
                   double dropout_p, bool is_causal, double scale, int64_t seed) {
  const auto size = [](const Tensor& t, int64_t d) { return static_cast<int>(t.size(d)); };
  FlashCall call{};
  call.dtype = query.scalar_type();
  call.batches = size(query, 0), call.heads = size(query, 1), call.key_heads = size(key, 1);
  call.queries = size(query, 2), call.keys = size(key, 2);
  call.width = size(query, 3), call.value_width = size(value, 3);
  call.query = rows_of(query), call.key = rows_of(key), call.value = rows_of(value);
  call.causal = is_causal;
  call.scale = scale;
  set_dropout(call, dropout_p, seed);
  if (attn_mask.has_value() && attn_mask->defined()) {
    const int64_t sizes[] = {query.size(0), query.size(1), query.size(2), key.size(2)};
    int64_t strides[4] = {};
    for (int64_t d = 0, from = 4 - attn_mask->dim(); d < attn_mask->dim(); ++d) {
      if (attn_mask->size(d) != 1 || sizes[from + d] == 1) strides[from + d] = attn_mask->stride(d);
    }
    call.mask = {static_cast<const char*>(attn_mask->data_ptr()),
                 attn_mask->scalar_type() == kBool,
                 strides[0],
                 strides[1],
                 strides[2],
                 strides[3]};
  }
  return call;
}

// [batch, heads, rows, columns] as a batch of matrices, one for each head of the keys: the rows of all heads of the
// query that share it lie one after the other.
Tensor by_key_heads(const Tensor& t, int64_t key_heads) {
  return at::reshape(t, {t.size(0) * key_heads, t.size(1) / key_heads * t.size(2), t.size(3)});
}
Tensor turned(const Tensor& t) {
  return at::transpose(t, 1, 2);
}

void composed_backward(const Tensor& grad_out, const Tensor& query, const Tensor& key, const Tensor& value,
                       const Tensor& out, const Tensor& logsumexp, const std::optional<Tensor>& attn_mask,
                       double dropout_p, bool is_causal, double scale, int64_t seed, Tensor& grad_query,
                       Tensor& grad_key, Tensor& grad_value) {
  const ScalarType compute = logsumexp.scalar_type();
  if (query.numel() == 0 || key.numel() == 0 || value.numel() == 0) {
    for (Tensor* gradient : {&grad_query, &grad_key, &grad_value}) at::zero_(*gradient);
    return;
  }
  const int64_t heads = key.size(1);
  const int64_t sizes[] = {query.size(0), query.size(1), query.size(2), key.size(2)};
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
    const Tensor factors = cast(at::_fused_attention_dropout(query, key, dropout_p, seed), compute);
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

}  // namespace

void fused_attention_cuda(const Tensor& query, const Tensor& key, const Tensor& value,
                          const std::optional<Tensor>& attn_mask, double dropout_p, bool is_causal, double scale,
                          int64_t seed, Tensor& output, Tensor& logsumexp) {
  if (!has_kernels(query, key, value)) {
    const auto [result, sums] =
        decompositions::fused_attention(query, key, value, attn_mask, dropout_p, is_causal, scale, seed);
    at::copy_(output, result, false);
    at::copy_(logsumexp, kept_where(at::ne(sums, -kInfinity), sums, kInfinity), false);
    return;
  }
  const Tensor q = by_rows(query), k = by_rows(key), v = by_rows(value);
  RowsOut out(output);
  DenseOut sums(logsumexp);
  FlashCall call = describe(q, k, v, attn_mask, dropout_p, is_causal, scale, seed);
  call.out = out.rows();
  call.sums = sums.tensor().data_ptr();
  cuda::launch_flash(call);
  out.commit();
  sums.commit();
}

void fused_attention_backward_cuda(const Tensor& grad_out, const Tensor& query, const Tensor& key, const Tensor& value,
                                   const Tensor& out, const Tensor& logsumexp, const std::optional<Tensor>& attn_mask,
                                   double dropout_p, bool is_causal, double scale, int64_t seed, Tensor& grad_query,
                                   Tensor& grad_key, Tensor& grad_value) {
  if (!has_kernels(query, key, value)) {
    return composed_backward(grad_out, query, key, value, out, logsumexp, attn_mask, dropout_p, is_causal, scale, seed,
                             grad_query, grad_key, grad_value);
  }
  const Tensor q = by_rows(query), k = by_rows(key), v = by_rows(value), g = by_rows(grad_out), result = by_rows(out);
  const Tensor sums = dense(logsumexp);
  const Tensor changes = empty_dense(sums.sizes(), sums.scalar_type(), sums.device(), MemoryFormat::Contiguous);
  RowsOut to_query(grad_query), to_key(grad_key), to_value(grad_value);
  FlashGradientCall call{describe(q, k, v, attn_mask, dropout_p, is_causal, scale, seed)};
  call.forward.out = rows_of(result);
  call.forward.sums = sums.data_ptr();
  call.grad_out = rows_of(g);
  call.grad_query = to_query.rows(), call.grad_key = to_key.rows(), call.grad_value = to_value.rows();
  call.changes = changes.data_ptr();
  cuda::launch_flash_backward(call);
  for (RowsOut* gradient : {&to_query, &to_key, &to_value}) gradient->commit();
}

void fused_attention_dropout_cuda(const Tensor& query, const Tensor& key, double dropout_p, int64_t seed, Tensor& out) {
  DenseOut to(out);
  FlashCall call{};
  call.dtype = query.scalar_type();
  call.batches = static_cast<int>(query.size(0)), call.heads = static_cast<int>(query.size(1));
  call.queries = static_cast<int>(query.size(2)), call.keys = static_cast<int>(key.size(2));
  set_dropout(call, dropout_p, seed);
  cuda::launch_flash_dropout(call, to.tensor().data_ptr());
  to.commit();
}

}  // namespace at::native
