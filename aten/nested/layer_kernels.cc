// Nested tensors: products, layers and reductions. All stand above autograd. What works along the last dimension, which
// all parts have, takes the rows of all parts at once.
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
#include "aten/ops/reduce/kernels.h"
#include "aten/ops/reduce/ops.h"
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

}  // namespace

// --- products ---
Tensor linear_nested(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias) {
  TORCH_CHECK(input.is_nested() && !weight.is_nested() && !(bias.has_value() && bias->is_nested()),
              "linear: expected a nested input and dense weights");
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
  const int64_t count = nested::impl_of(op, query).shape()->parts;
  const std::vector<Tensor> q = parts_with(op, query, count), k = parts_with(op, key, count),
                            v = parts_with(op, value, count);
  std::vector<Tensor> results;
  for (size_t i = 0; i < q.size(); ++i) {
    results.push_back(at::scaled_dot_product_attention(q[i], k[i], v[i], {}, dropout_p, is_causal, scale, enable_gqa));
  }
  return nested::joined(results, query);
}

// --- layers ---
Tensor softmax_nested(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  const int64_t d = nested::dim_in_part(self, dim, "Cannot apply softmax across nested dimension 0");
  return along("softmax", self, d, [&](const Tensor& t, int64_t along) { return at::softmax(t, along, dtype); });
}
Tensor _softmax_nested(const Tensor& self, int64_t dim, bool half_to_float) {
  const int64_t d = nested::dim_in_part(self, dim, "Cannot apply softmax across nested dimension 0");
  return along("_softmax", self, d,
               [&](const Tensor& t, int64_t along) { return at::_softmax(t, along, half_to_float); });
}
Tensor log_softmax_nested(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  const int64_t d = nested::dim_in_part(self, dim, "Cannot apply log_softmax across nested dimension 0");
  return along("log_softmax", self, d,
               [&](const Tensor& t, int64_t along) { return at::log_softmax(t, along, dtype); });
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
void check_normalized(const NestedShape& shape, IntArrayRef normalized_shape) {
  const int64_t count = static_cast<int64_t>(normalized_shape.size());
  bool fits = count > 0 && count <= shape.dims;
  for (int64_t d = 0; fits && d < count; ++d) {
    fits = shape.common_size(shape.dims - count + d) == normalized_shape[static_cast<size_t>(d)];
  }
  TORCH_CHECK(fits, "layer_norm: expected all parts of the nested tensor to end in normalized_shape ",
              normalized_shape);
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> native_layer_norm_nested(const Tensor& input, IntArrayRef normalized_shape,
                                                            const std::optional<Tensor>& weight,
                                                            const std::optional<Tensor>& bias, double eps) {
  const Tensor dense = nested::packed(input);
  const NestedShape& shape = *nested::impl_of("layer_norm", dense).shape();
  check_normalized(shape, normalized_shape);
  const int64_t row = c10::checked_numel(normalized_shape), rows = row == 0 ? 0 : dense.numel() / row;
  DimVector sizes{rows};
  sizes.insert(sizes.end(), normalized_shape.begin(), normalized_shape.end());
  const auto [result, mean, rstd] =
      at::native_layer_norm(at::reshape(at::_nested_values(dense), sizes), normalized_shape, weight, bias, eps);
  return {nested::in_shape(at::reshape(result, IntArrayRef(result.numel())), shape),
          at::reshape(mean, IntArrayRef(rows)), at::reshape(rstd, IntArrayRef(rows))};
}

Tensor layer_norm_nested(const Tensor& input, IntArrayRef normalized_shape, const std::optional<Tensor>& weight,
                         const std::optional<Tensor>& bias, double eps, bool) {
  return std::get<0>(native_layer_norm_nested(input, normalized_shape, weight, bias, eps));
}

Tensor embedding_nested(const Tensor& weight, const Tensor& indices, int64_t padding_idx, bool scale_grad_by_freq,
                        bool sparse) {
  TORCH_CHECK(!weight.is_nested(), "embedding: expected a dense weight");
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

// --- reductions ---
namespace {

// f(part, dims in the part) for dims of which none is the first.
Tensor reduced(const char* what, const Tensor& self, OptionalIntArrayRef dim,
               const std::function<Tensor(const Tensor&, IntArrayRef)>& f) {
  TORCH_CHECK(dim.has_value() && !dim->empty(), what);
  DimVector dims;
  for (const int64_t d : *dim) dims.push_back(nested::dim_in_part(self, d, what));
  return nested::each_part(self, [&](const Tensor& part) { return f(part, dims); });
}

}  // namespace

Tensor sum_nested(const Tensor& self, std::optional<ScalarType> dtype) {
  return at::sum(at::_nested_values(nested::packed(self)), dtype);
}
Tensor sum_dim_nested(const Tensor& self, OptionalIntArrayRef dim, bool keepdim, std::optional<ScalarType> dtype) {
  const char* const what = "sum: a nested tensor is reduced along dimensions of its parts, not along dimension 0";
  return reduced(what, self, dim, [&](const Tensor& t, IntArrayRef dims) { return at::sum(t, dims, keepdim, dtype); });
}
Tensor mean_nested(const Tensor& self, std::optional<ScalarType> dtype) {
  return at::mean(at::_nested_values(nested::packed(self)), dtype);
}
Tensor mean_dim_nested(const Tensor& self, OptionalIntArrayRef dim, bool keepdim, std::optional<ScalarType> dtype) {
  const char* const what = "mean: a nested tensor is reduced along dimensions of its parts, not along dimension 0";
  return reduced(what, self, dim, [&](const Tensor& t, IntArrayRef dims) { return at::mean(t, dims, keepdim, dtype); });
}

}  // namespace at::native
