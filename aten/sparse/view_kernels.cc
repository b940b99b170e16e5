// Sparse tensors of other shapes, and parts of them. What PyTorch calls views here are tensors of their own.
#include <algorithm>
#include <vector>

#include "aten/core/empty.h"
#include "aten/core/view.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/index/kernels.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/kernels.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/padding/kernels.h"
#include "aten/ops/padding/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/sparse/kernels.h"
#include "aten/ops/view/kernels.h"
#include "aten/ops/view/ops.h"
#include "aten/sparse/compressed_parts.h"
#include "aten/sparse/device_parts.h"
#include "aten/sparse/order.h"
#include "aten/sparse/sparse_parts.h"

namespace at::native {
namespace {

DimVector sizes_of(const Tensor& t) {
  return DimVector(t.sizes().begin(), t.sizes().end());
}

DimVector with_size(const Tensor& t, int64_t dim, int64_t size) {
  DimVector sizes = sizes_of(t);
  sizes[dim] = size;
  return sizes;
}

// A matrix of rows of `indices`, chosen and put in order.
Tensor rows_of(const Tensor& indices, const std::vector<int64_t>& rows) {
  return at::index_select(indices, 0, sparse::long_tensor(rows, indices.device()));
}

// The elements `chosen` of a tensor in coordinates, whose index of sparse dimension `dim` is replaced.
Tensor chosen_elements(const Tensor& self, IntArrayRef sizes, int64_t dim, const Tensor& which, const Tensor& index,
                       bool coalesced) {
  const SparseTensorImpl& impl = sparse::impl_of("index_select", self);
  Tensor indices = at::index_select(impl.indices(), 1, which);
  Tensor row = at::select(indices, 0, dim);
  at::copy_(row, index);
  return sparse::make_sparse(sizes, indices, at::index_select(impl.values(), 0, which), coalesced);
}

Tensor index_row(const SparseTensorImpl& impl, int64_t dim) {
  return dense(at::select(impl.indices(), 0, dim));
}

// --- orders of dimensions ---
Tensor permuted(const Tensor& self, IntArrayRef order) {
  const SparseTensorImpl& impl = sparse::impl_of("permute", self);
  const int64_t sparse_dim = impl.sparse_dim();
  DimVector sizes;
  std::vector<int64_t> rows;
  DimVector value_order{0};
  bool same_rows = true;
  for (size_t d = 0; d < order.size(); ++d) {
    const bool is_sparse = static_cast<int64_t>(d) < sparse_dim;
    TORCH_CHECK((order[d] < sparse_dim) == is_sparse,
                "permute(sparse_coo): transpositions between sparse and dense dimensions are not allowed.Only "
                "transpositions within sparse and dense dimensions are supported.");
    sizes.push_back(self.size(order[d]));
    if (is_sparse) {
      same_rows &= order[d] == static_cast<int64_t>(d);
      rows.push_back(order[d]);
    } else {
      value_order.push_back(order[d] - sparse_dim + 1);
    }
  }
  return sparse::make_sparse(sizes, same_rows ? impl.indices() : rows_of(impl.indices(), rows),
                             at::permute(impl.values(), value_order), impl.coalesced() && same_rows);
}

Layout flipped(Layout layout) {
  switch (layout) {
    case Layout::SparseCsr:
      return Layout::SparseCsc;
    case Layout::SparseCsc:
      return Layout::SparseCsr;
    case Layout::SparseBsr:
      return Layout::SparseBsc;
    default:
      return Layout::SparseBsr;
  }
}

// Rows and columns change places by another name of the layout; dimensions of the batch, or dense ones, among
// themselves.
Tensor transposed_compressed(const Tensor& self, int64_t dim0, int64_t dim1) {
  const SparseCsrTensorImpl& impl = sparse::compressed_impl_of("transpose", self);
  const int64_t batch = impl.batch_dim(), block = impl.block_dim();
  DimVector sizes = sizes_of(self);
  std::swap(sizes[dim0], sizes[dim1]);
  if (dim0 == dim1)
    return sparse::make_compressed(self.layout(), sizes, impl.compressed(), impl.plain(), impl.values());
  const auto kind = [&](int64_t dim) { return dim < batch ? 0 : dim < batch + 2 ? 1 : 2; };
  TORCH_CHECK(kind(dim0) == kind(dim1),
              "transpose(): can only transpose sparse dimensions with sparse dimensions, batch "
              "dimensions with batch dimensions and dense dimensions with dense dimensions; got dimensions ",
              dim0, " and ", dim1);
  if (kind(dim0) == 0) {
    return sparse::make_compressed(self.layout(), sizes, at::transpose(impl.compressed(), dim0, dim1),
                                   at::transpose(impl.plain(), dim0, dim1), at::transpose(impl.values(), dim0, dim1));
  }
  if (kind(dim0) == 2) {
    return sparse::make_compressed(self.layout(), sizes, impl.compressed(), impl.plain(),
                                   at::transpose(impl.values(), dim0 - 1 + block, dim1 - 1 + block));
  }
  const Tensor values = block == 0 ? impl.values() : at::transpose(impl.values(), batch + 1, batch + 2);
  return sparse::make_compressed(flipped(self.layout()), sizes, impl.compressed(), impl.plain(), values);
}

}  // namespace

Tensor permute_sparse(const Tensor& self, IntArrayRef dims) {
  TORCH_CHECK(static_cast<int64_t>(dims.size()) == self.dim(),
              "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
              "ordering of "
              "dimensions i.e. input.dim() = ",
              self.dim(), " is not equal to len(dims) = ", dims.size());
  DimVector order;
  for (const int64_t d : dims) {
    const int64_t wrapped = maybe_wrap_dim(d, self.dim());
    TORCH_CHECK(std::find(order.begin(), order.end(), wrapped) == order.end(),
                "permute(): duplicate dims are not allowed.");
    order.push_back(wrapped);
  }
  return permuted(self, order);
}

Tensor transpose_sparse(const Tensor& self, int64_t dim0, int64_t dim1) {
  dim0 = maybe_wrap_dim(dim0, self.dim());
  dim1 = maybe_wrap_dim(dim1, self.dim());
  if (sparse::is_compressed(self)) return transposed_compressed(self, dim0, dim1);
  DimVector order;
  for (int64_t d = 0; d < self.dim(); ++d) order.push_back(d);
  const int64_t sparse_dim = sparse::impl_of("transpose", self).sparse_dim();
  TORCH_CHECK((dim0 < sparse_dim) == (dim1 < sparse_dim),
              "sparse transpose: transposed dimensions must be sparse Got sparse_dim: ", sparse_dim, ", d0: ", dim0,
              ", d1: ", dim1);
  if (dim0 != dim1) std::swap(order[dim0], order[dim1]);
  // Unlike permute, this does not share the values.
  const Tensor result = permuted(self, order);
  return sparse::with_values(result, at::clone(sparse::values_of(result)));
}
Tensor& transpose_sparse_(Tensor& self, int64_t dim0, int64_t dim1) {
  sparse::impl_of("transpose_", self);
  sparse::assign(self, transpose_sparse(self, dim0, dim1));
  return self;
}

namespace {
void check_t(const Tensor& self) {
  TORCH_CHECK(self.dim() <= 2, "t() expects a tensor with <= 2 dimensions, but self is ", self.dim(), "D");
  TORCH_CHECK(sparse::is_compressed(self) || sparse::impl_of("t", self).dense_dim() == 0 || self.dim() < 2,
              "t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got ",
              self.dim() - sparse::impl_of("t", self).dense_dim(), " sparse and ",
              sparse::impl_of("t", self).dense_dim(), " dense dimensions");
}
}  // namespace

Tensor t_sparse(const Tensor& self) {
  check_t(self);
  return transpose_sparse(self, 0, self.dim() < 2 ? 0 : 1);
}
Tensor& t_sparse_(Tensor& self) {
  check_t(self);
  return transpose_sparse_(self, 0, self.dim() < 2 ? 0 : 1);
}

Tensor unsqueeze_sparse(const Tensor& self, int64_t dim) {
  const SparseTensorImpl& impl = sparse::impl_of("unsqueeze", self);
  dim = maybe_wrap_dim(dim, self.dim() + 1);
  DimVector sizes = sizes_of(self);
  sizes.insert(sizes.begin() + dim, 1);
  if (dim > impl.sparse_dim()) {
    return sparse::make_sparse(sizes, impl.indices(), at::unsqueeze(impl.values(), dim - impl.sparse_dim() + 1),
                               impl.coalesced());
  }
  const Tensor indices = impl.indices();
  const std::vector<Tensor> rows{at::slice(indices, 0, 0, dim), at::zeros({1, impl.nnz()}, indices.options()),
                                 at::slice(indices, 0, dim)};
  return sparse::make_sparse(sizes, at::cat(rows, 0), impl.values(), impl.coalesced());
}
Tensor& unsqueeze_sparse_(Tensor& self, int64_t dim) {
  sparse::assign(self, unsqueeze_sparse(self, dim));
  return self;
}

Tensor squeeze_dim_sparse(const Tensor& self, int64_t dim) {
  const SparseTensorImpl& impl = sparse::impl_of("squeeze", self);
  dim = maybe_wrap_dim(dim, self.dim());
  if (self.dim() == 0 || self.size(dim) != 1) return sparse::plain(self);
  DimVector sizes = sizes_of(self);
  sizes.erase(sizes.begin() + dim);
  if (dim >= impl.sparse_dim()) {
    return sparse::make_sparse(sizes, impl.indices(), at::squeeze(impl.values(), dim - impl.sparse_dim() + 1),
                               impl.coalesced());
  }
  sparse::check_places_of(self);  // all indices of that dimension are 0
  std::vector<int64_t> rows;
  for (int64_t d = 0; d < impl.sparse_dim(); ++d) {
    if (d != dim) rows.push_back(d);
  }
  return sparse::make_sparse(sizes, rows_of(impl.indices(), rows), impl.values(), impl.coalesced());
}

// --- parts ---
Tensor select_sparse(const Tensor& self, int64_t dim, int64_t index) {
  TORCH_CHECK_INDEX(self.dim() > 0, "select() cannot be applied to a 0-dim tensor.");
  dim = maybe_wrap_dim(dim, self.dim());
  const int64_t size = self.size(dim);
  TORCH_CHECK_INDEX(index >= -size && index < size, "select(): index ", index, " out of range for tensor of size ",
                    self.sizes(), " at dimension ", dim);
  if (index < 0) index += size;
  DimVector sizes = sizes_of(self);
  sizes.erase(sizes.begin() + dim);
  if (sparse::is_compressed(self)) {
    const SparseCsrTensorImpl& impl = sparse::compressed_impl_of("select", self);
    if (dim < impl.batch_dim()) {
      return sparse::make_compressed(self.layout(), sizes, at::select(impl.compressed(), dim, index),
                                     at::select(impl.plain(), dim, index), at::select(impl.values(), dim, index));
    }
    if (dim >= impl.batch_dim() + 2) {
      return sparse::make_compressed(self.layout(), sizes, impl.compressed(), impl.plain(),
                                     at::select(impl.values(), dim - 1 + impl.block_dim(), index));
    }
    TORCH_CHECK(impl.batch_dim() == 0,
                "select(): selecting rows or columns is not implemented for batched sparse compressed "
                "tensors. Use `.select(0, ...)` on the batch dimensions first.");
    return select_sparse(sparse::coordinates(self), dim, index);
  }
  const SparseTensorImpl& impl = sparse::impl_of("select", self);
  if (dim >= impl.sparse_dim()) {
    return sparse::make_sparse(sizes, impl.indices(), at::select(impl.values(), dim - impl.sparse_dim() + 1, index),
                               impl.coalesced());
  }
  const Tensor row = index_row(impl, dim);
  std::vector<int64_t> chosen, rows;
  for (int64_t i = 0; row.is_cpu() && i < impl.nnz(); ++i) {
    if (row.const_data_ptr<int64_t>()[i] == index) chosen.push_back(i);
  }
  const Tensor which = row.is_cpu() ? sparse::long_tensor(chosen)
                                    : sparse::device::in_slice(row, index, index + 1, 1).first;
  const Tensor values = at::index_select(impl.values(), 0, which);
  if (impl.sparse_dim() == 1) {
    if (self.scalar_type() == ScalarType::Bool) return at::any(values, 0);
    return at::sum(values, IntArrayRef({0}), false, self.scalar_type());
  }
  for (int64_t d = 0; d < impl.sparse_dim(); ++d) {
    if (d != dim) rows.push_back(d);
  }
  return sparse::make_sparse(sizes, at::index_select(rows_of(impl.indices(), rows), 1, which), values,
                             impl.coalesced() || which.numel() < 2);
}

Tensor slice_sparse(const Tensor& self, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end,
                    int64_t step) {
  const SparseTensorImpl& impl = sparse::impl_of("slice", self);
  TORCH_CHECK(self.dim() > 0, "slice() cannot be applied to a 0-dim tensor.");
  dim = maybe_wrap_dim(dim, self.dim());
  TORCH_CHECK(step > 0, "slice step must be positive");
  const int64_t size = self.size(dim);
  const auto bounded = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + size : i, 0, size); };
  const int64_t from = bounded(start.value_or(0)), to = std::max(bounded(end.value_or(INT64_MAX)), from);
  const int64_t length = to - from == 0 ? 0 : (to - from - 1) / step + 1;
  if (dim >= impl.sparse_dim()) {
    return sparse::make_sparse(with_size(self, dim, length), impl.indices(),
                               at::slice(impl.values(), dim - impl.sparse_dim() + 1, from, to, step), impl.coalesced());
  }
  const Tensor row = index_row(impl, dim);
  if (!self.is_cpu()) {
    const auto [which, index] = sparse::device::in_slice(row, from, to, step);
    return chosen_elements(self, with_size(self, dim, length), dim, which, index, impl.coalesced());
  }
  std::vector<int64_t> chosen, index;
  for (int64_t i = 0; i < impl.nnz(); ++i) {
    const int64_t at = row.const_data_ptr<int64_t>()[i];
    if (at < from || at >= to || (at - from) % step != 0) continue;
    chosen.push_back(i);
    index.push_back((at - from) / step);
  }
  return chosen_elements(self, with_size(self, dim, length), dim, sparse::long_tensor(chosen),
                         sparse::long_tensor(index), impl.coalesced());
}

// Of zeros, which are not stored: the gradients of what takes a part of a tensor in coordinates.
Tensor constant_pad_nd_sparse(const Tensor& self, IntArrayRef pad, const Scalar& value) {
  const char* const op = "constant_pad_nd";
  TORCH_CHECK(pad.size() % 2 == 0 && static_cast<int64_t>(pad.size() / 2) <= self.dim(), op,
              ": expected two numbers for each of at most ", self.dim(), " dimensions, but got ", pad.size());
  TORCH_CHECK_NOT_IMPLEMENTED(value.toComplexDouble() == 0.0, op, ": a sparse tensor is padded with 0 only");
  Tensor result = self;
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const int64_t dim = self.dim() - 1 - static_cast<int64_t>(i), size = self.size(dim);
    const int64_t before = pad[2 * i], after = pad[2 * i + 1];
    TORCH_CHECK(before >= -size && after >= -size - std::min<int64_t>(before, 0), op, ": dimension ", dim, " of size ",
                size, " has not as much as is cut off, ", before, " and ", after);
    if (before < 0 || after < 0) {
      result = slice_sparse(result, dim, std::max<int64_t>(-before, 0), size + std::min<int64_t>(after, 0), 1);
    }
    const int64_t front = std::max<int64_t>(before, 0), back = std::max<int64_t>(after, 0);
    if (front == 0 && back == 0) continue;
    const SparseTensorImpl& impl = sparse::impl_of(op, result);
    DimVector sizes = with_size(result, dim, result.size(dim) + front + back);
    checked_numel(sizes);
    if (dim >= impl.sparse_dim()) {
      DimVector of_values(static_cast<size_t>(2 * (self.dim() - dim)), 0);
      of_values[of_values.size() - 2] = front;
      of_values[of_values.size() - 1] = back;
      const Tensor values = at::constant_pad_nd(impl.values(), of_values, 0);
      result = sparse::make_sparse(sizes, impl.indices(), values, impl.coalesced());
    } else {
      const Tensor indices = at::clone(impl.indices());
      Tensor row = at::select(indices, 0, dim);
      at::add_(row, Scalar(front));
      result = sparse::make_sparse(sizes, indices, impl.values(), impl.coalesced());
    }
  }
  return result.is_same(self) ? sparse::plain(self) : result;
}

Tensor index_select_sparse(const Tensor& self, int64_t dim, const Tensor& index) {
  const SparseTensorImpl& impl = sparse::impl_of("index_select", self);
  TORCH_CHECK_INDEX(self.dim() > 0, "index_select() cannot be applied to a 0-dim tensor.");
  TORCH_CHECK_INDEX(index.dim() <= 1 && index.layout() == Layout::Strided && index.scalar_type() == ScalarType::Long,
                    "index_select() argument index must be 1-D strided (non-sparse) long-tensor.");
  dim = maybe_wrap_dim(dim, self.dim());
  const Tensor wanted = dense(at::reshape(index, {-1}));
  const int64_t size = self.size(dim), count = wanted.numel();
  if (dim >= impl.sparse_dim()) {
    return sparse::make_sparse(with_size(self, dim, count), impl.indices(),
                               at::index_select(impl.values(), dim - impl.sparse_dim() + 1, wanted), impl.coalesced());
  }
  if (!self.is_cpu()) {
    const auto [which, place] = sparse::device::selected(index_row(impl, dim), wanted, size);
    return chosen_elements(self, with_size(self, dim, count), dim, which, place,
                           impl.coalesced() && (dim == 0 || which.numel() < 2));
  }
  const int64_t* want = wanted.const_data_ptr<int64_t>();
  std::vector<int64_t> places;
  for (int64_t j = 0; j < count; ++j) {
    places.push_back(want[j] < 0 ? want[j] + size : want[j]);
    TORCH_CHECK_INDEX(places.back() >= 0 && places.back() < size, "index_select(): index contains ", want[j],
                      " that is out of range for tensor of size ", self.sizes(), " at dimension ", dim);
  }
  // Elements by their index, then those of each wanted one.
  const Tensor row = index_row(impl, dim);
  const int64_t* own = row.const_data_ptr<int64_t>();
  sparse::check_places(at::unsqueeze(row, 0), IntArrayRef(size));
  std::vector<int64_t> chosen, place;
  if (size <= 4 * impl.nnz() + 1024) {
    // Where those of each index begin, and those that are wanted at all.
    std::vector<int64_t> begin(static_cast<size_t>(size) + 1);
    std::vector<uint8_t> wanted_at(static_cast<size_t>(size));
    for (const int64_t at : places) wanted_at[at] = 1;
    for (int64_t i = 0; i < impl.nnz(); ++i) begin[own[i] + 1] += wanted_at[own[i]];
    for (int64_t at = 0; at < size; ++at) begin[at + 1] += begin[at];
    std::vector<int64_t> elements(static_cast<size_t>(begin[size])), next(begin.begin(), begin.end() - 1);
    for (int64_t i = 0; i < impl.nnz(); ++i) {
      if (wanted_at[own[i]] != 0) elements[next[own[i]]++] = i;
    }
    for (int64_t j = 0; j < count; ++j) {
      const int64_t from = begin[places[j]], to = begin[places[j] + 1];
      chosen.insert(chosen.end(), elements.begin() + from, elements.begin() + to);
      place.insert(place.end(), static_cast<size_t>(to - from), j);
    }
  } else {
    const sparse::Order order = sparse::order_of(own, impl.nnz(), size);
    const std::vector<int64_t>& numbers = order.numbers;
    for (int64_t j = 0; j < count; ++j) {
      auto k = std::lower_bound(numbers.begin(), numbers.end(), places[j],
                                [&](int64_t i, int64_t value) { return own[i] < value; });
      for (; k != numbers.end() && own[*k] == places[j]; ++k) {
        chosen.push_back(*k);
        place.push_back(j);
      }
    }
  }
  // Of a first dimension that is gone through in order the elements stay in order.
  const bool coalesced = impl.coalesced() && (dim == 0 || chosen.size() < 2);
  return chosen_elements(self, with_size(self, dim, count), dim, sparse::long_tensor(chosen),
                         sparse::long_tensor(place), coalesced);
}

std::vector<Tensor> unbind_sparse(const Tensor& self, int64_t dim) {
  TORCH_CHECK_INDEX(self.dim() > 0, "Dimension specified as ", dim, " but tensor has no dimensions");
  dim = maybe_wrap_dim(dim, self.dim());
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < self.size(dim); ++i) parts.push_back(select_sparse(self, dim, i));
  return parts;
}

Tensor embedding_sparse(const Tensor& weight, const Tensor& indices, int64_t, bool, bool) {
  TORCH_CHECK(weight.dim() == 2, "'weight' must be 2-D");
  TORCH_CHECK(indices.scalar_type() == ScalarType::Long || indices.scalar_type() == ScalarType::Int,
              "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but "
              "got ", indices.toString(), " instead (while checking arguments for embedding)");
  TORCH_CHECK_NOT_IMPLEMENTED(
      weight.layout() == Layout::Sparse && indices.layout() == Layout::Strided && indices.dim() == 1,
      "embedding: rows of a sparse weight are those of one in coordinates, named by a dense vector, but got a weight "
      "of layout ",
      weight.layout(), " and indices of layout ", indices.layout(), " and ", indices.dim(), " dimensions");
  return index_select_sparse(weight, 0, indices);
}

// The real and the imaginary parts are a last dense dimension.
Tensor view_as_real_sparse(const Tensor& self) {
  TORCH_CHECK_TYPE(self.is_complex(), "view_as_real is only supported for complex tensors");
  sparse::check_has_kernel(self.layout() == Layout::Sparse, "view_as_real", self);
  const SparseTensorImpl& impl = sparse::impl_of("view_as_real", self);
  DimVector sizes = sizes_of(self);
  sizes.push_back(2);
  return sparse::make_sparse(sizes, impl.indices(), at::view_as_real(impl.values()), impl.coalesced());
}
Tensor view_as_complex_sparse(const Tensor& self) {
  sparse::check_has_kernel(self.layout() == Layout::Sparse, "view_as_complex", self);
  const SparseTensorImpl& impl = sparse::impl_of("view_as_complex", self);
  TORCH_CHECK(self.dim() > 0 && self.size(-1) == 2, "Tensor must have a last dimension of size 2");
  if (impl.dense_dim() == 0) {
    TORCH_CHECK(impl.sparse_dim() > 1, "view_as_complex: a sparse tensor of one dimension has no sparse result");
    const ScalarType type = toComplexType(self.scalar_type());
    const Tensor real = at::to(select_sparse(self, -1, 0), type), imag = at::to(select_sparse(self, -1, 1), type);
    return at::add(real, at::mul(imag, Scalar(c10::complex<double>(0, 1))));
  }
  return sparse::make_sparse(self.sizes().slice(0, static_cast<size_t>(self.dim() - 1)), impl.indices(),
                             at::view_as_complex(at::contiguous(impl.values(), MemoryFormat::Contiguous)),
                             impl.coalesced());
}

// --- several tensors ---
Tensor cat_sparse(TensorList tensors, int64_t dim) {
  TORCH_CHECK(!tensors.empty(), "expected a non-empty list of Tensors");
  const Tensor& first = tensors[0];
  const int64_t sparse_dim = sparse::impl_of("cat", first).sparse_dim(),
                dense_dim = sparse::impl_of("cat", first).dense_dim();
  dim = maybe_wrap_dim(dim, first.dim());
  ScalarType type = first.scalar_type();
  for (const Tensor& t : tensors) type = promoteTypes(type, t.scalar_type());
  std::vector<Tensor> indices, values;
  int64_t offset = 0, total = 0, position = 0;
  for (const Tensor& t : tensors) {
    const SparseTensorImpl& impl = sparse::impl_of("cat", t);
    TORCH_CHECK(impl.sparse_dim() == sparse_dim && impl.dense_dim() == dense_dim,
                "All tensors must have the same sparse_dim and dense_dim: ", sparse_dim, ", ", dense_dim,
                ", but tensor at position ", position, " has ", impl.sparse_dim(), ", ", impl.dense_dim(), ".");
    for (int64_t d = 0; d < first.dim(); ++d) {
      TORCH_CHECK(d == dim || t.size(d) == first.size(d), "All tensors must have the same shape: ", first.sizes(),
                  " (except in the concatenating dimension), but found shape: ", t.sizes(), " at position ", position,
                  ".");
    }
    ++position;
    TORCH_CHECK(!__builtin_add_overflow(total, t.size(dim), &total), "cat: the sizes along dimension ", dim,
                " overflow");
  }
  for (const Tensor& t : tensors) {
    const SparseTensorImpl& impl = sparse::impl_of("cat", t);
    Tensor own = at::to(impl.values(), type);
    indices.push_back(impl.indices());
    if (dim >= sparse_dim) {
      // Each element has zeros where the other tensors are.
      const int64_t d = dim - sparse_dim + 1;
      DimVector sizes(own.sizes().begin(), own.sizes().end());
      sizes[d] = total;
      Tensor wide = at::zeros(sizes, own.options());
      Tensor part = at::narrow(wide, d, offset, t.size(dim));
      at::copy_(part, own);
      own = wide;
    }
    values.push_back(own);
    offset += t.size(dim);
  }
  const Tensor all = at::cat(indices, 1);
  if (dim < sparse_dim) {
    // Each index is counted from where its tensor begins.
    int64_t begin = 0;
    offset = 0;
    for (size_t i = 0; i < tensors.size(); offset += tensors[i].size(dim), ++i) {
      const int64_t count = indices[i].size(1);
      if (offset != 0 && !all.is_cpu()) sparse::device::shift(all, dim, begin, count, offset);
      if (offset != 0 && all.is_cpu()) {
        int64_t* row = all.mutable_data_ptr<int64_t>() + dim * all.size(1) + begin;
        for (int64_t k = 0; k < count; ++k) {
          row[k] = static_cast<int64_t>(static_cast<uint64_t>(row[k]) + static_cast<uint64_t>(offset));
        }
      }
      begin += count;
    }
  }
  const DimVector sizes = with_size(first, dim, total);
  c10::checked_numel(sizes);
  const bool coalesced = tensors.size() == 1 && sparse::impl_of("cat", first).coalesced();
  return sparse::make_sparse(sizes, all, at::cat(values, 0), coalesced);
}

Tensor stack_sparse(TensorList tensors, int64_t dim) {
  TORCH_CHECK(!tensors.empty(), "stack expects a non-empty TensorList");
  std::vector<Tensor> parts;
  for (const Tensor& t : tensors) parts.push_back(unsqueeze_sparse(t, maybe_wrap_dim(dim, tensors[0].dim() + 1)));
  return cat_sparse(parts, maybe_wrap_dim(dim, tensors[0].dim() + 1));
}

// --- more elements at equal distance, other sizes ---
Tensor _sparse_broadcast_to_sparse(const Tensor& self, IntArrayRef size) {
  const SparseTensorImpl& impl = sparse::impl_of("sparse_broadcast_to", self);
  const int64_t rank = static_cast<int64_t>(size.size()), lead = rank - self.dim(),
                sparse_dim = impl.sparse_dim() + lead;
  TORCH_CHECK(lead >= 0, "Requested shape is of fewer dimensions than the input's ", self.dim(), ", got ", size);
  for (int64_t d = 0; d < self.dim(); ++d) {
    TORCH_CHECK(self.size(d) == 1 || self.size(d) == size[d + lead], "The input's length ", self.size(d),
                " at dimension ", d, " does not broadcast over the requested shape of length ", size[d + lead],
                " at dimension ", d + lead);
  }
  DimVector value_sizes{impl.nnz()};
  value_sizes.append(size.begin() + sparse_dim, size.end());
  Tensor values = at::expand(impl.values(), value_sizes);
  std::vector<Tensor> rows;
  for (int64_t d = 0; d < impl.sparse_dim(); ++d) rows.push_back(at::select(impl.indices(), 0, d));
  const TensorOptions options = impl.indices().options();
  // Each dimension that is new, or grows from one, repeats all elements in turn.
  bool repeated = false;
  for (int64_t d = 0; d < sparse_dim; ++d) {
    const bool is_new = d < lead;
    if (is_new) rows.insert(rows.begin() + d, at::zeros({values.size(0)}, options));
    if (!is_new && (self.size(d - lead) == size[d])) continue;
    const int64_t count = values.size(0);
    const Tensor each = at::reshape(at::expand(at::unsqueeze(at::arange(count, options), 1), {count, size[d]}), {-1});
    values = at::index_select(values, 0, each);
    for (Tensor& row : rows) row = at::index_select(row, 0, each);
    rows[d] = at::reshape(at::expand(at::unsqueeze(at::arange(size[d], options), 0), {count, size[d]}), {-1});
    repeated = true;
  }
  const Tensor indices = rows.empty() ? impl.indices() : at::stack(rows);
  return sparse::make_sparse(size, indices, values, impl.coalesced() && !repeated);
}

namespace {
constexpr const char* kResizeOptions =
    "You could try the following options:\n"
    "1. If you need an empty sparse tensor of this size, call `x = torch.sparse_coo_tensor(size)`.\n"
    "2. If you need to resize this tensor, you have the following options:\n"
    "    1. For both sparse and dense dimensions, keep the number of them constant and the size of them non-shrinking, "
    "and then "
    "try the same call again.\n"
    "    2. Or, create a new sparse tensor with the correct indices and values from this sparse tensor.";

void check_resize(IntArrayRef size, int64_t sparse_dim, int64_t dense_dim) {
  TORCH_CHECK(sparse_dim >= 0 && dense_dim >= 0 && sparse_dim + dense_dim == static_cast<int64_t>(size.size()),
              "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = ", size.size(),
              ", sparse_dim = ", sparse_dim, ", dense_dim = ", dense_dim);
  c10::checked_numel(size);
}
}  // namespace

Tensor& sparse_resize_and_clear_sparse_(Tensor& self, IntArrayRef size, int64_t sparse_dim, int64_t dense_dim) {
  sparse::impl_of("sparse_resize_and_clear_", self);
  check_resize(size, sparse_dim, dense_dim);
  DimVector value_sizes{0};
  value_sizes.append(size.begin() + sparse_dim, size.end());
  const Tensor indices = at::empty({sparse_dim, 0}, TensorOptions(self.device()).dtype(ScalarType::Long));
  sparse::assign(self, sparse::make_sparse(size, indices, at::empty(value_sizes, sparse::values_of(self).options()),
                                           true));
  return self;
}

Tensor& sparse_resize_sparse_(Tensor& self, IntArrayRef size, int64_t sparse_dim, int64_t dense_dim) {
  const SparseTensorImpl& impl = sparse::impl_of("sparse_resize_", self);
  check_resize(size, sparse_dim, dense_dim);
  if (impl.nnz() == 0) return sparse_resize_and_clear_sparse_(self, size, sparse_dim, dense_dim);
  TORCH_CHECK(sparse_dim == impl.sparse_dim(), "changing the number of sparse dimensions (from ", impl.sparse_dim(),
              " to ", sparse_dim, ") on a non-empty sparse tensor is not supported.\n", kResizeOptions);
  TORCH_CHECK(dense_dim == impl.dense_dim(), "changing the number of dense dimensions (from ", impl.dense_dim(), " to ",
              dense_dim, ") on a non-empty sparse tensor is not supported.\n", kResizeOptions);
  bool grows = false;
  for (int64_t d = 0; d < self.dim(); ++d) {
    TORCH_CHECK(
        size[d] >= self.size(d), "shrinking the size of ", d < sparse_dim ? "sparse" : "dense", " dimensions (from ",
        d < sparse_dim ? sparse::sparse_sizes(self, impl) : sparse::dense_sizes(self, impl), " to ",
        d < sparse_dim ? size.slice(0, static_cast<size_t>(sparse_dim)) : size.slice(static_cast<size_t>(sparse_dim)),
        ") on a non-empty sparse tensor is not supported.\n", kResizeOptions);
    grows |= d >= sparse_dim && size[d] > self.size(d);
  }
  Tensor values = impl.values();
  if (grows) {
    DimVector sizes{impl.nnz()};
    sizes.append(size.begin() + sparse_dim, size.end());
    const Tensor wide = at::zeros(sizes, values.options());
    Tensor part = wide;
    for (int64_t d = 1; d < values.dim(); ++d) part = at::narrow(part, d, 0, values.size(d));
    at::copy_(part, values);
    values = wide;
  }
  sparse::assign(self, sparse::make_sparse(size, impl.indices(), values, impl.coalesced()));
  return self;
}

Tensor& resize_as_sparse_sparse_(Tensor& self, const Tensor& the_template) {
  TORCH_CHECK(self.layout() == the_template.layout(), "resize_as_sparse_: layout of self(", self.layout(),
              ") and the template(", the_template.layout(), ") must match");
  if (sparse::is_compressed(self)) {
    const SparseCsrTensorImpl &impl = sparse::compressed_impl_of("resize_as_sparse_", the_template),
                              &own = sparse::compressed_impl_of("resize_as_sparse_", self);
    if (self.sizes() == the_template.sizes() && own.dense_dim() == impl.dense_dim() &&
        own.values().sizes() == impl.values().sizes()) {
      return self;
    }
    sparse::assign(self, sparse::make_compressed(self.layout(), the_template.sizes(), at::clone(impl.compressed()),
                                                 at::clone(impl.plain()),
                                                 at::zeros(impl.values().sizes(), sparse::values_of(self).options())));
    return self;
  }
  const SparseTensorImpl& impl = sparse::impl_of("resize_as_sparse_", the_template);
  if (self.sizes() == the_template.sizes() &&
      sparse::impl_of("resize_as_sparse_", self).sparse_dim() == impl.sparse_dim()) {
    return self;
  }
  return sparse_resize_sparse_(self, the_template.sizes(), impl.sparse_dim(), impl.dense_dim());
}

namespace {

// The rows of a matrix, or as many as there are of `count`; those beyond are as the first.
Tensor with_rows(const Tensor& t, int64_t count) {
  const Tensor kept = at::narrow(t, 0, 0, std::min(t.size(0), count));
  if (kept.size(0) == count) return kept;
  return at::cat({kept, at::expand(at::narrow(t, 0, 0, 1), {count - kept.size(0), t.size(1)})}, 0);
}

// Pointers of `count` lines: those that are new are empty, and the last has all that lines gone had.
Tensor with_lines(const Tensor& pointers, int64_t count, int64_t nnz) {
  const int64_t kept = std::min(pointers.size(1) - 1, count);
  const Tensor end = at::full({pointers.size(0), count + 1 - kept}, nnz, pointers.options());
  return at::cat({at::narrow(pointers, 1, 0, kept), end}, 1);
}

// All but the last two dimensions are a batch then. Elements stay where they stand, as far as there are such matrices.
void resize_compressed(Tensor& self, IntArrayRef size) {
  const SparseCsrTensorImpl& impl = sparse::compressed_impl_of("resize_", self);
  TORCH_CHECK(size.size() >= 2, "torch.resize_: Only batched sparse CSR matrices are supported, but got size ", size);
  TORCH_CHECK(impl.block_dim() == 0, "torch.resize_: a tensor of layout ", self.layout(), " cannot be resized");
  c10::checked_numel(size);
  TORCH_CHECK(size.back() >= self.size(-1),
              "torch.resize_: Resizing columns of sparse CSR tensors to a smaller value is not supported. The original "
              "number of columns is ",
              self.size(-1), " while the requested new number of columns is ", size.back(), ".");
  const bool rows = sparse::by_rows(self.layout());
  const int64_t count = rows ? size[size.size() - 2] : size.back(), width = rows ? size.back() : size[size.size() - 2],
                width_before = self.size(impl.batch_dim() + (rows ? 1 : 0)), nnz = impl.nnz();
  TORCH_CHECK(width >= width_before && (count > 0 || nnz == 0),
              "torch.resize_: a tensor of layout ", self.layout(), " of size ", self.sizes(), " cannot be resized to ",
              size, ": its elements have no place there");
  int64_t matrices = 1, batch = 1;
  for (int64_t d = 0; d < impl.batch_dim(); ++d) matrices *= self.size(d);
  DimVector line_sizes(size.begin(), size.end() - 2), place_sizes = line_sizes;
  for (const int64_t n : line_sizes) batch *= n;
  TORCH_CHECK(matrices > 0, "torch.resize_: a batch of no matrices cannot be resized");
  line_sizes.push_back(count + 1);
  place_sizes.push_back(nnz);
  const auto as_rows = [&](const Tensor& t) { return at::reshape(t, {matrices, t.numel() / matrices}); };
  const Tensor pointers = with_lines(with_rows(as_rows(impl.compressed()), batch), count, nnz);
  const Tensor plain = with_rows(as_rows(impl.plain()), batch);
  const Tensor values = with_rows(at::narrow(as_rows(impl.values()), 1, 0, nnz), batch);
  sparse::assign(self, sparse::make_compressed(self.layout(), size, at::reshape(pointers, line_sizes),
                                               at::reshape(at::clone(plain), place_sizes),
                                               at::reshape(at::clone(values), place_sizes)));
}

}  // namespace

const Tensor& resize_sparse_(const Tensor& self, IntArrayRef size, std::optional<MemoryFormat>) {
  sparse::check_has_kernel(sparse::is_compressed(self), "resize_", self);
  Tensor target = self;
  if (self.sizes() != size) resize_compressed(target, size);
  return self;
}

const Tensor& resize_as_sparse_(const Tensor& self, const Tensor& the_template, std::optional<MemoryFormat> format) {
  if (self.layout() != Layout::Sparse) return at::resize_(self, the_template.sizes(), format);
  sparse::check_has_kernel(the_template.layout() == Layout::Sparse, "resize_as_", the_template);
  Tensor target = self;
  resize_as_sparse_sparse_(target, the_template);
  return self;
}

}  // namespace at::native
