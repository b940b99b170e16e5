// Nested tensors: products and layers. All stand above autograd. What works along the last dimension, which all parts
// have, takes the rows of all parts at once; of jagged tensors what does not go along the ragged dimension the values.
#include <functional>

#include "aten/nested/nested_parts.h"
#include "aten/ops/attention/kernels.h"
#include "aten/ops/attention/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/kernels.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/matmul/kernels.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/nested/kernels.h"
#include "aten/ops/norm/kernels.h"
#include "aten/ops/norm/ops.h"
#include "aten/ops/softmax/kernels.h"
#include "aten/ops/softmax/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

using Function = std::function<Tensor(const Tensor&)>;

// The size of the last dimension of all parts; -1 where they differ or have none.
int64_t last_size(const NestedShape& shape) {
  return shape.dims == 0 ? -1 : shape.common_size(shape.dims - 1);
}

// f of a matrix of all rows of the parts, which keeps the number of rows.
Tensor each_row(const char* op, const Tensor& self, const Function& f) {
  const Tensor dense = nested::packed(self);
  const NestedShape& shape = *nested::impl_of(op, dense).shape();
  int64_t rows = 0;
  for (int64_t i = 0; i < shape.parts; ++i) {
    rows += c10::checked_numel(shape.sizes_of(i).slice(0, static_cast<size_t>(shape.dims - 1)));
  }
  const Tensor result = f(at::reshape(at::_nested_values(dense), {rows, last_size(shape)}));
  std::vector<int64_t> sizes = shape.sizes;
  for (int64_t i = 1; i <= shape.parts; ++i) sizes[static_cast<size_t>(i * shape.dims - 1)] = result.size(1);
  return nested::in_shape(at::reshape(result, IntArrayRef(result.numel())),
                          *nested::packed_shape(shape.parts, shape.dims, sizes));
}

// f(part, dim in the part), or of all rows where dim is the last and a size of all parts.
Tensor along(const char* op, const Tensor& self, int64_t dim, const std::function<Tensor(const Tensor&, int64_t)>& f) {
  const NestedShape& shape = *nested::impl_of(op, self).shape();
  if (dim == shape.dims - 1 && last_size(shape) >= 0) {
    return each_row(op, self, [&](const Tensor& rows) { return f(rows, 1); });
  }
  return nested::each_part(self, [&](const Tensor& part) { return f(part, dim); });
}

std::vector<Tensor> parts_with(const char* op, const Tensor& t, int64_t count) {
  if (t.is_nested()) {
    TORCH_CHECK(nested::impl_of(op, t).shape()->parts == count, op,
                ": expected nested tensors of equally many parts, but got ", nested::impl_of(op, t).shape()->parts,
                " and ", count);
    return at::_nested_unbind(t);
  }
  TORCH_CHECK(t.dim() >= 3 && t.size(0) == count, op, ": a dense tensor of size ", t.sizes(), " does not go with ",
              count, " parts of a nested one");
  return at::unbind(t);
}

int64_t parts_of_either(const char* op, const Tensor& a, const Tensor& b) {
  return nested::impl_of(op, a.is_nested() ? a : b).shape()->parts;
}

bool either_jagged(const Tensor& a, const Tensor& b) {
  return nested::is_jagged(a) || nested::is_jagged(b);
}

// Whether the last dimension is the ragged one.
bool ends_ragged(const Tensor& t) {
  return nested::jagged_of(t).dim == t.dim() - 1;
}

// The matrices of each part, or of each element of a dense tensor's first dimension; of nothing an empty one.
std::vector<Tensor> matrices(const Tensor& t) {
  if (t.is_nested()) return nested::parts_or_empty_one(t);
  if (t.size(0) > 0) return at::unbind(t);
  const IntArrayRef inner = t.sizes().slice(1);
  return {at::zeros(inner, t.options())};
}

// Where the product of two tensors of parts is ragged: 0 where it is not, -1 where there is no such product.
int64_t ragged_of_product(const Tensor& a, const Tensor& b) {
  const int64_t dims = a.dim(), at_a = a.is_nested() ? nested::jagged_of(a).dim : 0,
                at_b = b.is_nested() ? nested::jagged_of(b).dim : 0;
  if (b.dim() != dims || dims < 3) return -1;
  if (at_a != 0 && at_b != 0) {
    const bool alike = nested::jagged_of(a).ragged == nested::jagged_of(b).ragged;
    if (!alike) return -1;
    if (at_a == dims - 1 && at_b == dims - 2) return 0;
    return at_a == at_b && at_a < dims - 2 ? at_a : -1;
  }
  if ((at_a != 0 ? b : a).size(0) != (at_a != 0 ? a : b).size(0)) return -1;
  if (at_a != 0) return at_a < dims - 1 && (at_a == dims - 2 || b.size(at_a) == 1) ? at_a : -1;
  return at_b != dims - 2 && (at_b == dims - 1 || a.size(at_b) == 1) ? at_b : -1;
}

Tensor matmul_jagged(const Tensor& a, const Tensor& b) {
  if (!b.is_nested() && b.dim() == 2 && !ends_ragged(a)) {
    return nested::on_values(a, 0, [&](const Tensor& t) { return at::matmul(t, b); });
  }
  if (!a.is_nested() && a.dim() == 2 && nested::jagged_of(b).dim != b.dim() - 2 && b.dim() > 3) {
    return nested::on_values(b, 0, [&](const Tensor& t) { return at::matmul(a, t); });
  }
  const bool same_layout = (!a.is_nested() || nested::is_jagged(a)) && (!b.is_nested() || nested::is_jagged(b));
  const int64_t ragged = same_layout ? ragged_of_product(a, b) : -1;
  TORCH_CHECK(ragged >= 0, "matmul(): not supported between inputs of shapes ", nested::size_text(a), " and ",
              nested::size_text(b));
  const std::vector<Tensor> left = matrices(a), right = matrices(b);
  std::vector<Tensor> results;
  for (size_t i = 0; i < left.size(); ++i) results.push_back(at::matmul(left[i], right[i]));
  const Tensor& like = a.is_nested() ? a : b;
  if (ragged > 0) return nested::joined(results, like, ragged);
  const Tensor dense = at::stack(results);
  return like.size(0) == 0 ? at::slice(dense, 0, 0, 0) : dense;
}

// Each sequence by itself. The ragged dimension of the query is that of the result.
Tensor attention_jagged(const Tensor& query, const Tensor& key, const Tensor& value, double dropout_p, bool is_causal,
                        std::optional<double> scale, bool enable_gqa) {
  for (const Tensor* t : {&key, &value}) {
    TORCH_CHECK_VALUE(
        nested::is_jagged(*t) && t->dim() == query.dim() && t->size(0) == query.size(0),
        "scaled_dot_product_attention: expected query, key and value to be jagged tensors of equally many "
        "dimensions and parts, but got ",
        nested::size_text(query), ", ", nested::size_text(key), " and ", nested::size_text(value));
  }
  const std::vector<Tensor> q = matrices(query), k = matrices(key), v = matrices(value);
  std::vector<Tensor> results;
  for (size_t i = 0; i < q.size(); ++i) {
    results.push_back(at::scaled_dot_product_attention(q[i], k[i], v[i], {}, dropout_p, is_causal, scale, enable_gqa));
  }
  return nested::joined(results, query);
}

// Softmax along a dimension of the parts, `dim` counted in the nested tensor.
Tensor along_jagged(const char* op, const Tensor& self, int64_t dim,
                    const std::function<Tensor(const Tensor&, int64_t)>& f) {
  const int64_t wrapped = maybe_wrap_dim(dim, self.dim());
  TORCH_CHECK(wrapped != 0, op, "(): not supported when reducing across the batch dimension for NestedTensor");
  if (wrapped == nested::jagged_of(self).dim) {
    return nested::each_part(self, [&](const Tensor& part) { return f(part, wrapped - 1); });
  }
  return nested::on_values(self, 0, [&](const Tensor& t) { return f(t, wrapped - 1); });
}

}  // namespace

// --- products ---
Tensor linear_nested(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias) {
  TORCH_CHECK(input.is_nested() && !weight.is_nested() && !(bias.has_value() && bias->is_nested()),
              "linear: expected a nested input and dense weights");
  if (nested::is_jagged(input)) {
    TORCH_CHECK_VALUE(!ends_ragged(input), "linear(): not supported for NestedTensor on ragged dim");
    return nested::on_values(input, 0, [&](const Tensor& t) { return at::linear(t, weight, bias); });
  }
  const NestedShape& shape = *nested::impl_of("linear", input).shape();
  if (shape.parts == 0) return at::clone(input);
  const int64_t last = last_size(shape);
  TORCH_CHECK(last >= 0, "linear: expected parts of at least one dimension whose last size is that of all");
  TORCH_CHECK(weight.dim() == 2, "linear: expected a weight of two dimensions for a nested input, but got size ",
              weight.sizes());
  TORCH_CHECK(
      weight.size(1) == last,
      "Shape mismatch for NestedTensor Linear: Expected input's (a nested tensor) 'last_dim' to equal 'weight.size(1), "
      "but got: last_dim = ",
      last, ", and weight.size(1) = ", weight.size(1));
  return each_row("linear", input, [&](const Tensor& rows) { return at::linear(rows, weight, bias); });
}

Tensor matmul_nested(const Tensor& self, const Tensor& other) {
  if (either_jagged(self, other)) return matmul_jagged(self, other);
  if (self.is_nested() && !other.is_nested() && other.dim() == 2) {
    const NestedShape& shape = *nested::impl_of("matmul", self).shape();
    TORCH_CHECK(shape.parts == 0 || shape.dims >= 2, "matmul: expected parts of at least two dimensions, but got ",
                shape.dims);
    if (last_size(shape) == other.size(0)) {
      return each_row("matmul", self, [&](const Tensor& rows) { return at::mm(rows, other); });
    }
    return nested::each_part(self, [&](const Tensor& part) { return at::matmul(part, other); });
  }
  const int64_t count = parts_of_either("matmul", self, other);
  const std::vector<Tensor> a = parts_with("matmul", self, count), b = parts_with("matmul", other, count);
  std::vector<Tensor> results;
  for (size_t i = 0; i < a.size(); ++i) {
    TORCH_CHECK(a[i].dim() >= 2 && b[i].dim() >= 2, "matmul: expected parts of at least two dimensions, but got ",
                a[i].dim(), " and ", b[i].dim());
    results.push_back(at::matmul(a[i], b[i]));
  }
  return nested::joined(results, self);
}

Tensor bmm_nested(const Tensor& self, const Tensor& mat2) {
  if (either_jagged(self, mat2)) {
    TORCH_CHECK(self.dim() == 3, "batch1 must be a 3D tensor");
    TORCH_CHECK(mat2.dim() == 3, "batch2 must be a 3D tensor");
    return matmul_jagged(self, mat2);
  }
  const int64_t count = parts_of_either("bmm", self, mat2);
  TORCH_CHECK(count == 0 || self.dim() == 3, "batch1 must be a 3D tensor");
  TORCH_CHECK(count == 0 || mat2.dim() == 3, "batch2 must be a 3D tensor");
  const std::vector<Tensor> a = parts_with("bmm", self, count), b = parts_with("bmm", mat2, count);
  std::vector<Tensor> results;
  for (size_t i = 0; i < a.size(); ++i) results.push_back(at::mm(a[i], b[i]));
  return nested::joined(results, self);
}

Tensor scaled_dot_product_attention_nested(const Tensor& query, const Tensor& key, const Tensor& value,
                                           const std::optional<Tensor>& attn_mask, double dropout_p, bool is_causal,
                                           std::optional<double> scale, bool enable_gqa) {
  const char* const op = "scaled_dot_product_attention";
  TORCH_CHECK(query.is_nested() && key.is_nested() && value.is_nested(), op,
              ": expected query, key and value to be nested, or none of them");
  TORCH_CHECK(!attn_mask.has_value() || !attn_mask->defined(), op, ": no mask may be given with nested tensors");
  if (nested::is_jagged(query)) return attention_jagged(query, key, value, dropout_p, is_causal, scale, enable_gqa);
  const int64_t count = nested::impl_of(op, query).shape()->parts;
  const std::vector<Tensor> q = parts_with(op, query, count), k = parts_with(op, key, count),
                            v = parts_with(op, value, count);
  std::vector<Tensor> results;
  for (size_t i = 0; i < q.size(); ++i) {
    results.push_back(at::scaled_dot_product_attention(q[i], k[i], v[i], {}, dropout_p, is_causal, scale, enable_gqa));
  }
  return nested::joined(results, query);
}

// Each sequence by itself, which is what its mask would have left of it.
std::tuple<Tensor, Tensor> native_multi_head_attention_nested(
    const Tensor& query, const Tensor& key, const Tensor& value, int64_t embed_dim, int64_t num_head,
    const Tensor& qkv_weight, const Tensor& qkv_bias, const Tensor& proj_weight, const Tensor& proj_bias,
    const std::optional<Tensor>& mask, bool need_weights, bool average_attn_weights, std::optional<int64_t> mask_type) {
  const char* const op = "_native_multi_head_attention";
  TORCH_CHECK(query.is_nested() && key.is_nested() && value.is_nested(), op,
              ": expected query, key and value to be nested, or none of them");
  TORCH_CHECK(!mask.has_value() || !mask->defined(), op, ": no mask may be given with nested tensors");
  TORCH_CHECK(!need_weights, op, ": need_weights is not supported with nested tensors");
  const int64_t count = nested::impl_of(op, query).shape()->parts;
  const std::vector<Tensor> q = parts_with(op, query, count), k = parts_with(op, key, count),
                            v = parts_with(op, value, count);
  std::vector<Tensor> results;
  for (size_t i = 0; i < q.size(); ++i) {
    TORCH_CHECK(q[i].dim() == 2, op, ": expected parts of size (length, embed_dim), but got ", q[i].sizes());
    const auto batch = [&](const std::vector<Tensor>& parts) { return at::unsqueeze(parts[i], 0); };
    const Tensor result = std::get<0>(
        at::_native_multi_head_attention(batch(q), batch(k), batch(v), embed_dim, num_head, qkv_weight, qkv_bias,
                                         proj_weight, proj_bias, {}, false, average_attn_weights, mask_type));
    results.push_back(at::squeeze(result, 0));
  }
  return {nested::joined(results, query), Tensor()};
}

// --- layers ---
Tensor softmax_nested(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  const auto softmax = [&](const Tensor& t, int64_t along) { return at::softmax(t, along, dtype); };
  if (nested::is_jagged(self)) return along_jagged("softmax", self, dim, softmax);
  const int64_t d = nested::dim_in_part(self, dim, "Cannot apply softmax across nested dimension 0");
  return along("softmax", self, d, softmax);
}
Tensor _softmax_nested(const Tensor& self, int64_t dim, bool half_to_float) {
  const auto softmax = [&](const Tensor& t, int64_t along) { return at::_softmax(t, along, half_to_float); };
  if (nested::is_jagged(self)) return along_jagged("softmax", self, dim, softmax);
  const int64_t d = nested::dim_in_part(self, dim, "Cannot apply softmax across nested dimension 0");
  return along("_softmax", self, d, softmax);
}
Tensor log_softmax_nested(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  const auto softmax = [&](const Tensor& t, int64_t along) { return at::log_softmax(t, along, dtype); };
  if (nested::is_jagged(self)) return along_jagged("log_softmax", self, dim, softmax);
  const int64_t d = nested::dim_in_part(self, dim, "Cannot apply log_softmax across nested dimension 0");
  return along("log_softmax", self, d, softmax);
}
Tensor _log_softmax_nested(const Tensor& self, int64_t dim, bool half_to_float) {
  const auto softmax = [&](const Tensor& t, int64_t along) { return at::_log_softmax(t, along, half_to_float); };
  if (nested::is_jagged(self)) return along_jagged("log_softmax", self, dim, softmax);
  const int64_t d = nested::dim_in_part(self, dim, "Cannot apply log_softmax across nested dimension 0");
  return along("_log_softmax", self, d, softmax);
}

// Of each row of the scores of a batch (parts x heads x rows x columns), as many columns and rows as the part of
// `query` is long.
Tensor _nested_tensor_softmax_with_shape_nested(const Tensor& self, const Tensor& query) {
  const char* const op = "_nested_tensor_softmax_with_shape";
  const NestedShape& shape = *nested::impl_of(op, query).shape();
  TORCH_CHECK(!self.is_nested() && self.dim() == 4 && self.size(0) == shape.parts && shape.dims >= 1, op,
              ": expected dense scores of four dimensions, the first as large as the number of the query's parts");
  std::vector<Tensor> results;
  for (int64_t i = 0; i < shape.parts; ++i) {
    const int64_t length = shape.sizes_of(i)[0];
    const Tensor scores = at::select(self, 0, i);
    TORCH_CHECK(length <= scores.size(1) && length <= scores.size(2), op, ": part ", i, " of the query has length ",
                length, ", more than its scores of size ", scores.sizes());
    const Tensor kept = at::slice(at::slice(scores, 1, 0, length), 2, 0, length);
    const Tensor result = at::zeros_like(scores);
    Tensor place = at::slice(at::slice(result, 1, 0, length), 2, 0, length);
    at::copy_(place, at::softmax(kept, -1));
    results.push_back(result);
  }
  return at::stack(results);
}

namespace {

// Throws where the parts do not all end in normalized_shape.
void check_normalized(const char* op, const NestedShape& shape, IntArrayRef normalized_shape) {
  const int64_t count = static_cast<int64_t>(normalized_shape.size());
  bool fits = count > 0 && count <= shape.dims;
  for (int64_t d = 0; fits && d < count; ++d) {
    fits = shape.common_size(shape.dims - count + d) == normalized_shape[static_cast<size_t>(d)];
  }
  TORCH_CHECK(fits, op, ": expected all parts of the nested tensor to end in normalized_shape ", normalized_shape);
}

void check_normalized(const char* op, const Tensor& jagged, IntArrayRef normalized_shape) {
  const int64_t count = static_cast<int64_t>(normalized_shape.size());
  const bool fits = count > 0 && count < jagged.dim() - nested::jagged_of(jagged).dim &&
                    jagged.sizes().slice(static_cast<size_t>(jagged.dim() - count)) == normalized_shape;
  TORCH_CHECK(fits, op, "(): Given normalized_shape=", normalized_shape,
              ", expected input to end in it behind the ragged "
              "dimension, but got input of size ",
              nested::size_text(jagged));
}

// A tensor of the rows of a packed nested tensor that end in normalized_shape.
Tensor rows_of(const char* op, const Tensor& dense, IntArrayRef normalized_shape) {
  check_normalized(op, *nested::impl_of(op, dense).shape(), normalized_shape);
  const int64_t row = c10::checked_numel(normalized_shape);
  DimVector sizes{row == 0 ? 0 : dense.numel() / row};
  sizes.insert(sizes.end(), normalized_shape.begin(), normalized_shape.end());
  return at::reshape(at::_nested_values(dense), sizes);
}

}  // namespace

Tensor rms_norm_nested(const Tensor& input, IntArrayRef normalized_shape, const std::optional<Tensor>& weight,
                       std::optional<double> eps) {
  if (nested::is_jagged(input)) {
    check_normalized("rms_norm", input, normalized_shape);
    return nested::on_values(input, 0, [&](const Tensor& t) { return at::rms_norm(t, normalized_shape, weight, eps); });
  }
  const Tensor dense = nested::packed(input);
  const Tensor result = at::rms_norm(rows_of("rms_norm", dense, normalized_shape), normalized_shape, weight, eps);
  return nested::in_shape(at::reshape(result, IntArrayRef(result.numel())),
                          *nested::impl_of("rms_norm", dense).shape());
}

std::tuple<Tensor, Tensor, Tensor> native_layer_norm_nested(const Tensor& input, IntArrayRef normalized_shape,
                                                            const std::optional<Tensor>& weight,
                                                            const std::optional<Tensor>& bias, double eps) {
  if (nested::is_jagged(input)) {
    check_normalized("layer_norm", input, normalized_shape);
    const auto [result, mean, rstd] =
        at::native_layer_norm(at::_nested_get_values(input), normalized_shape, weight, bias, eps);
    return {nested::with_values(result, input), mean, rstd};
  }
  const Tensor dense = nested::packed(input), rows = rows_of("layer_norm", dense, normalized_shape);
  const auto [result, mean, rstd] = at::native_layer_norm(rows, normalized_shape, weight, bias, eps);
  return {
      nested::in_shape(at::reshape(result, IntArrayRef(result.numel())), *nested::impl_of("layer_norm", dense).shape()),
      at::reshape(mean, IntArrayRef(rows.size(0))), at::reshape(rstd, IntArrayRef(rows.size(0)))};
}

Tensor layer_norm_nested(const Tensor& input, IntArrayRef normalized_shape, const std::optional<Tensor>& weight,
                         const std::optional<Tensor>& bias, double eps, bool) {
  return std::get<0>(native_layer_norm_nested(input, normalized_shape, weight, bias, eps));
}

Tensor embedding_nested(const Tensor& weight, const Tensor& indices, int64_t padding_idx, bool scale_grad_by_freq,
                        bool sparse) {
  TORCH_CHECK(!weight.is_nested(), "embedding: expected a dense weight");
  if (nested::is_jagged(indices)) {
    return nested::on_values(
        indices, 0, [&](const Tensor& t) { return at::embedding(weight, t, padding_idx, scale_grad_by_freq, sparse); });
  }
  const Tensor dense = nested::packed(indices);
  const NestedShape& shape = *nested::impl_of("embedding", dense).shape();
  const Tensor rows = at::embedding(weight, at::_nested_values(dense), padding_idx, scale_grad_by_freq, sparse);
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < shape.parts; ++i) {
    const IntArrayRef own = shape.sizes_of(i);
    sizes.insert(sizes.end(), own.begin(), own.end());
    sizes.push_back(weight.size(1));
  }
  return nested::in_shape(at::reshape(rows, IntArrayRef(rows.numel())),
                          *nested::packed_shape(shape.parts, shape.dims + 1, sizes));
}

}  // namespace at::native
