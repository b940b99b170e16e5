// Scaled dot-product attention: its forms, and the fused kernels behind them.
#include <array>
#include <cmath>
#include <limits>
#include <mutex>
#include <tuple>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/core/view.h"
#include "aten/cpu/matrix/attention.h"
#include "aten/ops/attention/kernels.h"
#include "aten/ops/attention/ops.h"
#include "aten/ops/attention/sdp_backend.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/shared/matrix_support.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/softmax/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/cpu_generator.h"

namespace at::native {
namespace {

void check_inputs(const Tensor& query, const Tensor& key, const Tensor& value, const std::optional<Tensor>& attn_mask, double dropout_p, bool is_causal) {
  TORCH_CHECK(query.scalar_type() == key.scalar_type() && query.scalar_type() == value.scalar_type(),
              "Expected query, key, and value to have the same dtype, but got query.dtype: ", toString(query.scalar_type()),
              " key.dtype: ", toString(key.scalar_type()), " and value.dtype: ", toString(value.scalar_type()), " instead.");
  TORCH_CHECK(query.device() == key.device() && query.device() == value.device(),
              "Expected query, key, and value to have the same device type, but got query.device: ", query.device(),
              " key.device: ", key.device(), " and value.device: ", value.device(), " instead.");
  TORCH_CHECK(query.dim() >= 2 && key.dim() >= 2 && value.dim() >= 2,
              "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim(): ", query.dim(),
              " key.dim(): ", key.dim(), " and value.dim(): ", value.dim(), " instead.");
  TORCH_CHECK(query.size(-1) == key.size(-1), "Expected query and key to have the same last dimension, but got ", query.sizes(), " and ", key.sizes());
  TORCH_CHECK(key.size(-2) == value.size(-2), "Expected key and value to have the same length, but got ", key.sizes(), " and ", value.sizes());
  TORCH_CHECK_NOT_IMPLEMENTED(isFloatingType(query.scalar_type()), "\"scaled_dot_product_attention\" not implemented for '",
                              toString(query.scalar_type()), "'");
  check_matrix_dtype("scaled_dot_product_attention", query.scalar_type());
  TORCH_CHECK(dropout_p >= 0 && dropout_p <= 1, "dropout probability has to be between 0 and 1, but got ", dropout_p);
  if (attn_mask.has_value() && attn_mask->defined()) {
    TORCH_CHECK(!is_causal, "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True");
    const ScalarType type = attn_mask->scalar_type();
    TORCH_CHECK(type == kBool || type == kFloat || type == query.scalar_type(),
                "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: ", toString(type),
                " and  query.dtype: ", toString(query.scalar_type()), " instead.");
    TORCH_CHECK(attn_mask->device() == query.device(), "Expected attn_mask and query to be on the same device, but got ",
                attn_mask->device(), " and ", query.device());
  }
}

double scale_of(const Tensor& query, std::optional<double> scale) {
  if (scale.has_value()) return *scale;
  return query.size(-1) > 0 ? 1 / std::sqrt(static_cast<double>(query.size(-1))) : 1.0;
}

DimVector joined(IntArrayRef a, std::initializer_list<int64_t> b) {
  DimVector r(a.begin(), a.end());
  for (int64_t x : b) r.push_back(x);
  return r;
}

// A view [batch, heads, rows, columns] of a tensor with any number of dimensions before the last two.
Tensor four_dimensional(const Tensor& t) {
  if (t.dim() == 4) return t;
  if (t.dim() == 2) return at::unsqueeze(at::unsqueeze(t, 0), 0);
  if (t.dim() == 3) return at::unsqueeze(t, 0);
  int64_t batch = 1;
  for (int64_t d = 0; d < t.dim() - 3; ++d) batch *= t.size(d);
  return at::reshape(t, {batch, t.size(-3), t.size(-2), t.size(-1)});
}

matrix::HeadTensor head_tensor(const Tensor& t) { return {t.data_ptr(), t.stride(0), t.stride(1), t.stride(2), t.stride(3)}; }

std::optional<Tensor> aligned_mask(const std::optional<Tensor>& mask) {
  return mask.has_value() && mask->defined() ? std::optional<Tensor>(aligned(*mask)) : mask;
}
void copy_back(Tensor& out, const Tensor& work) {
  if (!work.is_same(out)) at::copy_(out, work);
}

// The mask with the strides that broadcast it to [batch, heads, queries, keys].
matrix::HeadTensor mask_tensor(const Tensor& mask, const Tensor& query, const Tensor& key) {
  const int64_t sizes[4] = {query.size(0), query.size(1), query.size(2), key.size(2)};
  int64_t strides[4] = {0, 0, 0, 0};
  for (int64_t d = 0; d < mask.dim(); ++d)
    if (mask.size(d) != 1 || sizes[4 - mask.dim() + d] == 1) strides[4 - mask.dim() + d] = mask.stride(d);
  return {mask.data_ptr(), strides[0], strides[1], strides[2], strides[3]};
}

matrix::Attention describe(const Tensor& query, const Tensor& key, const Tensor& value, const std::optional<Tensor>& attn_mask,
                           double dropout_p, bool is_causal, double scale, int64_t seed) {
  matrix::Attention a;
  a.type = matrix_type(query.scalar_type());
  a.batch = query.size(0), a.heads = query.size(1), a.key_heads = key.size(1);
  a.queries = query.size(2), a.keys = key.size(2), a.width = query.size(3), a.value_width = value.size(3);
  a.query = head_tensor(query), a.key = head_tensor(key), a.value = head_tensor(value);
  if (attn_mask.has_value() && attn_mask->defined()) {
    a.mask_kind = attn_mask->scalar_type() == kBool ? matrix::MaskKind::kBoolean : matrix::MaskKind::kAdditive;
    a.mask = mask_tensor(*attn_mask, query, key);
  }
  a.causal = is_causal;
  a.scale = scale;
  a.dropout = dropout_p;
  a.seed = static_cast<uint64_t>(seed);
  return a;
}

void check_fused(const Tensor& query, const Tensor& key, const Tensor& value, const std::optional<Tensor>& attn_mask, double dropout_p, bool is_causal) {
  TORCH_CHECK(query.dim() == 4 && key.dim() == 4 && value.dim() == 4, "_fused_attention: expected query, key and value of four dimensions, but got ",
              query.sizes(), ", ", key.sizes(), " and ", value.sizes());
  check_inputs(query, key, value, attn_mask, dropout_p, is_causal);
  TORCH_CHECK(query.size(0) == key.size(0) && key.size(0) == value.size(0), "_fused_attention: expected equal batch sizes, but got ",
              query.sizes(), ", ", key.sizes(), " and ", value.sizes());
  TORCH_CHECK(key.size(1) == value.size(1), "_fused_attention: expected as many key heads as value heads, but got ", key.sizes(), " and ", value.sizes());
  TORCH_CHECK(key.size(1) == query.size(1) || (key.size(1) > 0 && query.size(1) % key.size(1) == 0),
              "Number of heads in key and value must divide the number of heads in query, but got ", key.size(1), " and ", query.size(1));
  if (attn_mask.has_value() && attn_mask->defined()) {
    check_expands(*attn_mask, {query.size(0), query.size(1), query.size(2), key.size(2)});
    TORCH_CHECK(attn_mask->scalar_type() == kBool || attn_mask->scalar_type() == query.scalar_type(),
                "_fused_attention: expected a mask of type Bool or ", toString(query.scalar_type()), ", but got ", toString(attn_mask->scalar_type()));
  }
}

ScalarType sum_type(ScalarType type) { return type == kDouble ? kDouble : kFloat; }

// Rows of all heads side by side.
TensorSpec interleaved(const Tensor& like, int64_t batch, int64_t heads, int64_t rows, int64_t cols) {
  const int64_t h = std::max<int64_t>(heads, 1), r = std::max<int64_t>(rows, 1), c = std::max<int64_t>(cols, 1);
  return {{batch, heads, rows, cols}, {r * h * c, c, h * c, 1}, like.scalar_type(), like.device()};
}

// The result lies as empty_like(query) would: of heads that were side by side the usual transpose(1, 2) and reshape to
// [batch, rows, heads * columns] is a view.
TensorSpec attended(const Tensor& query, const Tensor& value) {
  TensorSpec spec{{query.size(0), query.size(1), query.size(2), value.size(3)}, {}, query.scalar_type(), query.device()};
  if (value.size(3) == query.size(3) && query.stride(3) == 1) spec.strides = strides_like(query);
  return spec;
}

}  // namespace

std::array<TensorSpec, 2> fused_attention_meta(const Tensor& query, const Tensor& key, const Tensor& value, const std::optional<Tensor>& attn_mask,
                                               double dropout_p, bool is_causal, double, int64_t) {
  check_fused(query, key, value, attn_mask, dropout_p, is_causal);
  return {attended(query, value),
          TensorSpec{{query.size(0), query.size(1), query.size(2)}, {}, sum_type(query.scalar_type()), query.device()}};
}

void fused_attention_cpu(const Tensor& query, const Tensor& key, const Tensor& value, const std::optional<Tensor>& attn_mask, double dropout_p,
                         bool is_causal, double scale, int64_t seed, Tensor& output, Tensor& logsumexp) {
  const Tensor q = aligned(query), k = aligned(key), v = aligned(value), to = aligned(output);
  DenseOut sums(logsumexp);
  matrix::attention_forward(describe(q, k, v, aligned_mask(attn_mask), dropout_p, is_causal, scale, seed), head_tensor(to),
                            sums.tensor().data_ptr());
  sums.commit();
  copy_back(output, to);
}

std::array<TensorSpec, 3> fused_attention_backward_meta(const Tensor& grad_out, const Tensor& query, const Tensor& key, const Tensor& value,
                                                        const Tensor& out, const Tensor& logsumexp, const std::optional<Tensor>& attn_mask,
                                                        double dropout_p, bool is_causal, double, int64_t) {
  check_fused(query, key, value, attn_mask, dropout_p, is_causal);
  const int64_t sizes[] = {query.size(0), query.size(1), query.size(2), value.size(3)};
  for (const Tensor* t : {&grad_out, &out}) {
    TORCH_CHECK(t->sizes() == IntArrayRef(sizes) && t->scalar_type() == query.scalar_type(), "_fused_attention_backward: expected results and gradients of size ",
                IntArrayRef(sizes), " and type ", toString(query.scalar_type()), ", but got ", t->sizes(), " and ", toString(t->scalar_type()));
  }
  TORCH_CHECK(logsumexp.sizes() == IntArrayRef(sizes).slice(0, 3) && logsumexp.scalar_type() == sum_type(query.scalar_type()),
              "_fused_attention_backward: expected logsumexp of size ", IntArrayRef(sizes).slice(0, 3), " and type ",
              toString(sum_type(query.scalar_type())), ", but got ", logsumexp.sizes(), " and ", toString(logsumexp.scalar_type()));
  check_same_device({&query, &grad_out, &out, &logsumexp});
  return {interleaved(query, query.size(0), query.size(1), query.size(2), query.size(3)),
          interleaved(key, key.size(0), key.size(1), key.size(2), key.size(3)),
          interleaved(value, value.size(0), value.size(1), value.size(2), value.size(3))};
}

void fused_attention_backward_cpu(const Tensor& grad_out, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& out,
                                  const Tensor& logsumexp, const std::optional<Tensor>& attn_mask, double dropout_p, bool is_causal,
                                  double scale, int64_t seed, Tensor& grad_query, Tensor& grad_key, Tensor& grad_value) {
  const Tensor q = aligned(query), k = aligned(key), v = aligned(value), g = aligned(grad_out), result = aligned(out);
  const Tensor sums = dense(logsumexp), gq = aligned(grad_query), gk = aligned(grad_key), gv = aligned(grad_value);
  matrix::attention_backward(describe(q, k, v, aligned_mask(attn_mask), dropout_p, is_causal, scale, seed), head_tensor(g),
                             head_tensor(result), sums.data_ptr(), head_tensor(gq), head_tensor(gk), head_tensor(gv));
  copy_back(grad_query, gq);
  copy_back(grad_key, gk);
  copy_back(grad_value, gv);
}

// The factors that the dropout multiplies the weights with: 0, or 1 / (1 - p).
TensorSpec fused_attention_dropout_meta(const Tensor& query, const Tensor& key, double dropout_p, int64_t) {
  TORCH_CHECK(query.dim() == 4 && key.dim() == 4, "_fused_attention_dropout: expected query and key of four dimensions, but got ", query.sizes(), " and ", key.sizes());
  TORCH_CHECK(dropout_p >= 0 && dropout_p <= 1, "dropout probability has to be between 0 and 1, but got ", dropout_p);
  return {{query.size(0), query.size(1), query.size(2), key.size(2)}, {}, query.scalar_type(), query.device()};
}

void fused_attention_dropout_cpu(const Tensor& query, const Tensor& key, double dropout_p, int64_t seed, Tensor& out) {
  DenseOut to(out, kDouble);
  double* p = to.data<double>();
  const int64_t heads = query.size(0) * query.size(1), queries = query.size(2), keys = key.size(2);
  const double kept = dropout_p < 1 ? 1 / (1 - dropout_p) : 0;
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t i = 0; i < queries; ++i)
      for (int64_t j = 0; j < keys; ++j) *p++ = matrix::attention_keeps(static_cast<uint64_t>(seed), dropout_p, h, i, j) ? kept : 0;
  to.commit();
}

std::tuple<Tensor, Tensor> scaled_dot_product_flash_attention_for_cpu(const Tensor& query, const Tensor& key, const Tensor& value, double dropout_p,
                                                                      bool is_causal, const std::optional<Tensor>& attn_mask, std::optional<double> scale) {
  int64_t seed = 0;
  if (dropout_p > 0) {
    auto* generator = at::get_generator_or_default<CPUGeneratorImpl>(std::nullopt, at::detail::getDefaultCPUGenerator());
    std::lock_guard<std::mutex> lock(generator->mutex());
    seed = static_cast<int64_t>(generator->random64());
  }
  return at::_fused_attention(query, key, value, attn_mask, dropout_p, is_causal, scale_of(query, scale), seed);
}

std::tuple<Tensor, Tensor, Tensor> scaled_dot_product_flash_attention_for_cpu_backward(
    const Tensor& grad_out, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& out,
    const Tensor& logsumexp, double dropout_p, bool is_causal, const std::optional<Tensor>& attn_mask,
    std::optional<double> scale) {
  // Which elements a forward call dropped, nothing here says.
  TORCH_CHECK(dropout_p == 0, "_scaled_dot_product_flash_attention_for_cpu_backward: expected dropout_p of 0, but got ",
              dropout_p);
  return at::_fused_attention_backward(grad_out, query, key, value, out, logsumexp, attn_mask, dropout_p, is_causal,
                                       scale_of(query, scale), /*seed=*/0);
}

std::tuple<Tensor, Tensor> scaled_dot_product_attention_math(const Tensor& query, const Tensor& key_in,
                                                             const Tensor& value_in,
                                                             const std::optional<Tensor>& attn_mask, double dropout_p,
                                                             bool is_causal, const std::optional<Tensor>& dropout_mask,
                                                             std::optional<double> scale, bool enable_gqa) {
  check_inputs(query, key_in, value_in, attn_mask, dropout_p, is_causal);
  Tensor key = key_in, value = value_in;
  if (enable_gqa) {
    TORCH_CHECK(query.dim() >= 3 && key.dim() >= 3 && key.size(-3) > 0 && query.size(-3) % key.size(-3) == 0 && value.dim() >= 3 && key.size(-3) == value.size(-3),
                "Number of heads in key and value must divide the number of heads in query, but got ", key.sizes(), ", ", value.sizes(), " and ", query.sizes());
    key = at::repeat_interleave(key, query.size(-3) / key.size(-3), -3);
    value = at::repeat_interleave(value, query.size(-3) / value.size(-3), -3);
  }
  Tensor scores = at::mul(at::matmul(query, at::transpose(key, -2, -1)), Scalar(scale_of(query, scale)));
  const Scalar minus_infinity(-std::numeric_limits<double>::infinity());
  Tensor allowed;
  if (is_causal) {
    const int64_t sizes[] = {query.size(-2), key.size(-2)};
    allowed = at::tril(at::new_ones(query, sizes, TensorOptions().dtype(kBool)));
  }
  if (attn_mask.has_value() && attn_mask->defined()) {
    if (attn_mask->scalar_type() == kBool) allowed = *attn_mask;
    else scores = at::add(scores, attn_mask->scalar_type() == query.scalar_type() ? *attn_mask : at::_to_copy(*attn_mask, TensorOptions().dtype(query.scalar_type())));
  }
  if (allowed.defined()) scores = at::masked_fill(scores, at::logical_not(allowed), minus_infinity);
  Tensor weights;
  if (key.size(-2) == 0) {
    weights = scores;
  } else if (attn_mask.has_value() && attn_mask->defined()) {
    const Tensor blind = at::eq(at::amax(scores, IntArrayRef{-1}, true), minus_infinity);
    weights = at::masked_fill(at::softmax(at::masked_fill(scores, blind, Scalar(0)), -1), blind, Scalar(0));
  } else {
    weights = at::softmax(scores, -1);
  }
  if (dropout_p > 0 && dropout_mask.has_value() && dropout_mask->defined()) {
    weights = at::masked_fill(weights, at::logical_not(*dropout_mask), Scalar(0));
    value = at::mul(value, Scalar(1 / (1 - dropout_p)));
  } else if (dropout_p > 0) {
    weights = at::dropout(weights, dropout_p, true);
  }
  return {at::matmul(weights, value), weights};
}

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value, const std::optional<Tensor>& attn_mask,
                                    double dropout_p, bool is_causal, std::optional<double> scale, bool enable_gqa) {
  check_inputs(query, key, value, attn_mask, dropout_p, is_causal);
  const bool masked = attn_mask.has_value() && attn_mask->defined();
  if (at::sdp::choose(query, attn_mask, dropout_p) == SDPBackend::math)
    return std::get<0>(at::_scaled_dot_product_attention_math(query, key, value, attn_mask, dropout_p, is_causal,
                                                              std::nullopt, scale, enable_gqa));

  // Everything before the last two dimensions broadcasts, but for the heads of grouped attention.
  const size_t kept = enable_gqa ? 3 : 2;
  TORCH_CHECK(!enable_gqa || (query.dim() >= 3 && key.dim() >= 3 && value.dim() >= 3), "enable_gqa needs query, key and value of at least three dimensions, but got ",
              query.sizes(), ", ", key.sizes(), " and ", value.sizes());
  auto outer = [&](const Tensor& t) { return t.sizes().slice(0, static_cast<size_t>(t.dim()) - kept); };
  const DimVector batch = broadcast_shapes(broadcast_shapes(outer(query), outer(key)), outer(value));
  auto spread = [&](const Tensor& t) {
    DimVector sizes = batch;
    for (size_t i = kept; i > 0; --i) sizes.push_back(t.size(-static_cast<int64_t>(i)));
    return four_dimensional(t.sizes() == IntArrayRef(sizes) ? t : at::expand(t, sizes, false));
  };
  const Tensor q = spread(query), k = spread(key), v = spread(value);
  DimVector result = joined(IntArrayRef(batch), {});
  if (enable_gqa) result.push_back(query.size(-3));
  std::optional<Tensor> mask;
  if (masked) {
    Tensor m = *attn_mask;
    if (m.scalar_type() != kBool && m.scalar_type() != query.scalar_type()) m = at::_to_copy(m, TensorOptions().dtype(query.scalar_type()));
    const DimVector sizes = joined(IntArrayRef(result), {query.size(-2), key.size(-2)});
    check_expands(m, sizes);
    mask = sizes.size() <= 4 ? m : four_dimensional(at::expand(m, sizes, false));
  }
  const Tensor out = std::get<0>(at::_scaled_dot_product_flash_attention_for_cpu(q, k, v, dropout_p, is_causal, mask, scale_of(query, scale)));
  if (query.dim() == 4 && result.size() == 2) return out;
  return at::reshape(out, joined(IntArrayRef(result), {query.size(-2), value.size(-1)}));
}

}  // namespace at::native
