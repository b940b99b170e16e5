// Sparse tensors: sums, products and norms.
#include <algorithm>
#include <numeric>
#include <vector>

#include "aten/core/empty.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/reduce/kernels.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/sparse/kernels.h"
#include "aten/ops/sparse/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/sparse/compressed_parts.h"
#include "aten/sparse/device_parts.h"
#include "aten/sparse/csr_rows.h"
#include "aten/sparse/sparse_parts.h"
#include "c10/parallel/parallel.h"

namespace at::native {
namespace {

// Which dimensions a list names; all for none.
std::vector<bool> named_dims(const Tensor& self, OptionalIntArrayRef dim) {
  std::vector<bool> named(static_cast<size_t>(self.dim()), !dim.has_value() || dim->empty());
  for (const int64_t d : dim.value_or(IntArrayRef())) {
    const int64_t wrapped = maybe_wrap_dim(d, self.dim());
    TORCH_CHECK(self.dim() == 0 || !named[wrapped], "dim ", wrapped, " appears multiple times in the list of dims");
    if (self.dim() > 0) named[wrapped] = true;
  }
  return named;
}

ScalarType sum_type(const Tensor& self, std::optional<ScalarType> dtype) {
  return dtype.value_or(isIntegralType(self.scalar_type(), true) ? ScalarType::Long : self.scalar_type());
}

Tensor values_once(const Tensor& self) {
  return sparse::values_of(self.layout() == Layout::Sparse ? sparse::coalesced(self) : self);
}

void check_full(const Tensor& self, OptionalIntArrayRef dim) {
  const std::vector<bool> named = named_dims(self, dim);
  TORCH_CHECK(std::all_of(named.begin(), named.end(), [](bool b) { return b; }),
              "norm_sparse currently only supports full reductions, so 'dim' must either be empty or contain all "
              "dimensions of the input");
}

Tensor kept(const Tensor& self, const Tensor& number, bool keepdim) {
  return keepdim ? at::reshape(number, DimVector(static_cast<size_t>(self.dim()), 1)) : number;
}

}  // namespace

Tensor sum_sparse(const Tensor& self, std::optional<ScalarType> dtype) {
  return at::sum(sparse::values_of(self), dtype);
}

Tensor sum_dim_sparse(const Tensor& self, OptionalIntArrayRef dim, bool keepdim, std::optional<ScalarType> dtype) {
  if (sparse::is_compressed(self)) {
    TORCH_CHECK(dim.has_value(), "dim has no value, cannot be used in sum.dim_IntList");
    TORCH_CHECK(self.layout() == Layout::SparseCsr,
                "Currently the only compressed sparse format supported for sum.dim_IntList is CSR, but got layout ",
                self.layout());
    return at::_sparse_csr_sum(self, *dim, keepdim, dtype);
  }
  const SparseTensorImpl& impl = sparse::impl_of("sum", self);
  const std::vector<bool> summed = named_dims(self, dim);
  DimVector sizes;
  std::vector<int64_t> kept_rows, dense;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (!summed[d]) sizes.push_back(self.size(d));
    if (summed[d] && keepdim) sizes.push_back(1);
    if (d < impl.sparse_dim() && !summed[d]) kept_rows.push_back(d);
    if (d >= impl.sparse_dim() && summed[d]) dense.push_back(d - impl.sparse_dim() + 1);
  }
  const ScalarType type = sum_type(self, dtype);
  Tensor values = impl.values();
  if (kept_rows.empty()) {
    dense.insert(dense.begin(), 0);
    return at::reshape(at::sum(values, dense, false, type), sizes);
  }
  // One element alone is not copied by what adds up elements at one place.
  values = dense.empty() ? at::to(values, type, false, impl.nnz() < 2) : at::sum(values, dense, keepdim, type);
  Tensor indices = impl.indices();
  std::vector<Tensor> rows;
  for (int64_t d = 0; d < impl.sparse_dim(); ++d) {
    if (!summed[d]) rows.push_back(at::select(indices, 0, d));
    if (summed[d] && keepdim) rows.push_back(at::zeros({impl.nnz()}, indices.options()));
  }
  indices = at::stack(rows);
  const bool all_rows = kept_rows.size() == static_cast<size_t>(impl.sparse_dim());
  return sparse::coalesced(sparse::make_sparse(sizes, indices, values, all_rows && impl.coalesced()));
}

Tensor _sparse_sum_dim_sparse(const Tensor& self, IntArrayRef dim) {
  TORCH_CHECK(!dim.empty() || self.dim() == 0, "_sparse_sum: expected a dimension to sum over");
  // The dtype stays where a sparse tensor is left.
  const std::vector<bool> summed = named_dims(self, dim);
  const int64_t sparse_dim = sparse::impl_of("_sparse_sum", self).sparse_dim();
  const bool all = std::all_of(summed.begin(), summed.begin() + sparse_dim, [](bool b) { return b; });
  return sum_dim_sparse(self, dim, false, all ? std::nullopt : std::optional<ScalarType>(self.scalar_type()));
}

// The gradient of a sum at the places of self.
Tensor _sparse_sum_backward_sparse(const Tensor& grad, const Tensor& self, IntArrayRef dim) {
  const Tensor elements = sparse::coalesced(self);
  const SparseTensorImpl& impl = sparse::impl_of("_sparse_sum_backward", elements);
  const std::vector<bool> summed = named_dims(self, dim);
  std::vector<Tensor> rows;
  DimVector row_sizes, value_sizes{impl.nnz()}, one_sizes{-1}, sum_sizes;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (!summed[d]) sum_sizes.push_back(self.size(d));
    if (d < impl.sparse_dim()) {
      if (!summed[d]) rows.push_back(at::select(impl.indices(), 0, d)), row_sizes.push_back(self.size(d));
    } else {
      value_sizes.push_back(self.size(d));
      one_sizes.push_back(summed[d] ? 1 : self.size(d));
    }
  }
  TORCH_CHECK(grad.sizes() == IntArrayRef(sum_sizes), "_sparse_sum_backward: expected 'grad' of the size of the sum, ",
              IntArrayRef(sum_sizes), ", but got ", grad.sizes());
  TORCH_CHECK(rows.empty() || grad.layout() != Layout::Sparse ||
                  sparse::impl_of("_sparse_sum_backward", grad).sparse_dim() == static_cast<int64_t>(rows.size()),
              "_sparse_sum_backward: expected 'grad' of ", rows.size(), " sparse dimensions");
  Tensor values;
  if (rows.empty()) {
    one_sizes[0] = 1;
    values = grad.layout() == Layout::Sparse ? at::to_dense(grad) : grad;
  } else {
    one_sizes[0] = impl.nnz();
    const Tensor places = at::stack(rows);
    if (grad.layout() == Layout::Sparse) {
      const Tensor once = sparse::coalesced(grad);
      values = sparse::values_at(once, sparse::flat_places(places, row_sizes));
    } else {
      values = sparse::gather_places(grad, places, static_cast<int64_t>(rows.size()));
    }
  }
  values = at::clone(at::expand(at::reshape(values, one_sizes), value_sizes), MemoryFormat::Contiguous);
  return sparse::with_values(elements, values);
}

// --- csr ---
namespace {

// Elements of one column, of one row, or all of them become one; such a place is stored where there is an element.
template <class Reduce>
Tensor reduce_csr(const char* op, const Tensor& self, IntArrayRef dim, bool keepdim, ScalarType type, bool multiplies,
                  const Reduce& reduce) {
  TORCH_CHECK(self.layout() == Layout::SparseCsr && self.dim() == 2, op,
              ": expected a CSR matrix, but got a tensor of layout ", self.layout(), " with ", self.dim(),
              " dimensions");
  TORCH_CHECK(keepdim, "reduction operations on CSR tensors with keepdim=False is unsupported");
  const std::vector<bool> summed = named_dims(self, dim);
  if (!self.is_cpu()) {
    const bool half = type == ScalarType::Half || type == ScalarType::BFloat16;
    const Tensor source = at::to(sparse::values_of(self), half ? ScalarType::Float : type);
    const Tensor result = sparse::device::reduce_csr(self, summed[0], summed[1], source, multiplies);
    return sparse::with_index_type(sparse::with_values(result, at::to(sparse::values_of(result), type)),
                                   sparse::compressed_impl_of(op, self).plain().scalar_type());
  }
  const sparse::Lines lines = sparse::lines_of(self);
  const int64_t rows = summed[0] ? 1 : self.size(0), columns = summed[1] ? 1 : self.size(1);
  // Of each element the number of its result, in order.
  std::vector<int64_t> group(static_cast<size_t>(lines.nnz)), places;
  Tensor pointers = at::zeros({rows + 1}, lines.compressed.options());
  int64_t* next = pointers.mutable_data_ptr<int64_t>();
  const int64_t *begin = lines.pointers(0), *column = lines.places(0);
  if (summed[0] && !summed[1]) {
    places.assign(column, column + lines.nnz);
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    for (int64_t k = 0; k < lines.nnz; ++k) {
      group[k] = std::lower_bound(places.begin(), places.end(), column[k]) - places.begin();
    }
    next[1] = static_cast<int64_t>(places.size());
  } else {
    for (int64_t i = 0; i < lines.count; ++i) {
      if (begin[i + 1] > begin[i] && (!summed[0] || places.empty())) places.push_back(0);
      for (int64_t k = begin[i]; k < begin[i + 1]; ++k) group[k] = static_cast<int64_t>(places.size()) - 1;
      if (!summed[0]) next[i + 1] = static_cast<int64_t>(places.size());
    }
    if (summed[0]) next[1] = static_cast<int64_t>(places.size());
  }
  // 16-bit numbers are added up in float.
  const Tensor& values = sparse::values_of(self);
  const bool narrow = type == ScalarType::Half || type == ScalarType::BFloat16;
  const Tensor source = dense(values, narrow ? ScalarType::Float : type);
  const Tensor result = reduce(source, sparse::long_tensor(group), static_cast<int64_t>(places.size()));
  const ScalarType index = sparse::compressed_impl_of(op, self).plain().scalar_type();
  return sparse::make_compressed(Layout::SparseCsr, {rows, columns}, at::to(pointers, index),
                                 at::to(sparse::long_tensor(places), index), at::to(result, type));
}

}  // namespace

namespace {

// The sums of each row: a place where there is an element.
template <class T>
Tensor row_sums(const Tensor& self, const Tensor& source) {
  const sparse::Lines lines = sparse::lines_of(self);
  const int64_t* begin = lines.pointers(0);
  Tensor pointers = empty_contiguous({lines.count + 1}, ScalarType::Long);
  int64_t* next = pointers.mutable_data_ptr<int64_t>();
  next[0] = 0;
  for (int64_t i = 0; i < lines.count; ++i) next[i + 1] = next[i] + (begin[i + 1] > begin[i]);
  Tensor sums = empty_contiguous({next[lines.count]}, source.scalar_type());
  const T* x = static_cast<const T*>(source.const_data_ptr());
  T* out = static_cast<T*>(sums.mutable_data_ptr());
  at::parallel_for(0, lines.count, 1 + internal::GRAIN_SIZE / (1 + lines.nnz / (lines.count + 1)),
                   [&](int64_t first, int64_t end) {
                     for (int64_t i = first; i < end; ++i) {
                       if (begin[i + 1] == begin[i]) continue;
                       T sum = x[begin[i]];
                       for (int64_t k = begin[i] + 1; k < begin[i + 1]; ++k) sum = sparse::plus(sum, x[k]);
                       out[next[i]] = sum;
                     }
                   });
  const ScalarType index = sparse::compressed_impl_of("_sparse_csr_sum", self).plain().scalar_type();
  return sparse::make_compressed(Layout::SparseCsr, {self.size(0), 1}, at::to(pointers, index),
                                 at::zeros(sums.sizes(), TensorOptions().dtype(index)), sums);
}

// The sums of each column that has an element; columns are few enough to have a sum each.
template <class T>
Tensor column_sums(const Tensor& self, const Tensor& source) {
  const sparse::Lines lines = sparse::lines_of(self);
  const int64_t* column = lines.places(0);
  std::vector<T> sums(static_cast<size_t>(lines.width));
  std::vector<uint8_t> named(sums.size());
  const T* x = static_cast<const T*>(source.const_data_ptr());
  for (int64_t k = 0; k < lines.nnz; ++k) {
    sums[column[k]] = sparse::plus(sums[column[k]], x[k]);
    named[column[k]] = 1;
  }
  std::vector<int64_t> places;
  for (int64_t j = 0; j < lines.width; ++j) {
    if (named[j] != 0) places.push_back(j);
  }
  const int64_t count = static_cast<int64_t>(places.size());
  Tensor result = empty_contiguous({count}, source.scalar_type());
  T* out = static_cast<T*>(result.mutable_data_ptr());
  for (int64_t j = 0; j < count; ++j) out[j] = sums[places[j]];
  const ScalarType index = sparse::compressed_impl_of("_sparse_csr_sum", self).plain().scalar_type();
  return sparse::make_compressed(Layout::SparseCsr, {1, self.size(1)}, at::to(sparse::long_tensor({0, count}), index),
                                 at::to(sparse::long_tensor(places), index), result);
}

}  // namespace

Tensor _sparse_csr_sum_sparse(const Tensor& self, IntArrayRef dim, bool keepdim, std::optional<ScalarType> dtype) {
  const ScalarType type = sum_type(self, dtype);
  if (self.is_cpu() && self.layout() == Layout::SparseCsr && self.dim() == 2 && keepdim && dim.size() == 1 &&
      (type == ScalarType::Float || type == ScalarType::Double || type == ScalarType::Long)) {
    const bool rows = maybe_wrap_dim(dim[0], 2) == 1;
    const Tensor source = dense(sparse::values_of(self), type);
    if (rows || self.size(1) <= 4 * source.numel() + 1024) {
      const auto sums = [&](auto tag) {
        using T = decltype(tag);
        return rows ? row_sums<T>(self, source) : column_sums<T>(self, source);
      };
      return type == ScalarType::Float ? sums(float{}) : type == ScalarType::Double ? sums(double{}) : sums(int64_t{});
    }
  }
  return reduce_csr("_sparse_csr_sum", self, dim, keepdim, sum_type(self, dtype), /*multiplies=*/false,
                    [](const Tensor& source, const Tensor& group, int64_t count) {
                      Tensor sums = at::zeros({count}, source.options());
                      return at::index_add_(sums, 0, group, source);
                    });
}

Tensor _sparse_csr_prod_sparse(const Tensor& self, IntArrayRef dim, bool keepdim, std::optional<ScalarType> dtype) {
  return reduce_csr("_sparse_csr_prod", self, dim, keepdim, sum_type(self, dtype), /*multiplies=*/true,
                    [](const Tensor& source, const Tensor& group, int64_t count) {
                      Tensor products = at::ones({count}, source.options());
                      cpu::visit_all(source.scalar_type(), "_sparse_csr_prod", [&](auto tag) {
                        using T = typename decltype(tag)::type;
                        const T* from = static_cast<const T*>(source.const_data_ptr());
                        T* to = static_cast<T*>(products.mutable_data_ptr());
                        const int64_t* number = group.const_data_ptr<int64_t>();
                        for (int64_t i = 0; i < source.numel(); ++i)
                          to[number[i]] = sparse::times(to[number[i]], from[i]);
                      });
                      return products;
                    });
}

// --- any, norms ---
Tensor any_sparse(const Tensor& self) {
  return at::any(sparse::values_of(self));
}
Tensor any_dims_sparse(const Tensor& self, OptionalIntArrayRef dim, bool keepdim) {
  check_full(self, dim);
  return kept(self, any_sparse(self), keepdim);
}
Tensor& any_dims_out_sparse(const Tensor& self, OptionalIntArrayRef dim, bool keepdim, Tensor& out) {
  return sparse::write_out("any", out, any_dims_sparse(self, dim, keepdim));
}

Tensor norm_sparse(const Tensor& self, const Scalar& p) {
  return at::norm(values_once(self), p);
}
Tensor norm_dtype_sparse(const Tensor& self, const std::optional<Scalar>& p, ScalarType dtype) {
  return at::norm(values_once(self), p, dtype);
}
Tensor norm_dim_sparse(const Tensor& self, const std::optional<Scalar>& p, IntArrayRef dim, bool keepdim) {
  check_full(self, dim);
  return kept(self, at::norm(values_once(self), p.value_or(2)), keepdim);
}
Tensor norm_dim_dtype_sparse(const Tensor& self, const std::optional<Scalar>& p, IntArrayRef dim, bool keepdim,
                             ScalarType dtype) {
  check_full(self, dim);
  return kept(self, at::norm(values_once(self), p, dtype), keepdim);
}
Tensor native_norm_sparse(const Tensor& self, const Scalar& p) {
  return norm_sparse(self, p);
}
Tensor native_norm_dim_sparse(const Tensor& self, const std::optional<Scalar>& p, IntArrayRef dim, bool keepdim,
                              std::optional<ScalarType> dtype) {
  return dtype.has_value() ? norm_dim_dtype_sparse(self, p, dim, keepdim, *dtype)
                           : norm_dim_sparse(self, p, dim, keepdim);
}

}  // namespace at::native
