// Sparse tensors from their parts, and what operators of sparse tensors say of others.
#include <algorithm>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/sparse/kernels.h"
#include "aten/ops/view/ops.h"
#include "aten/sparse/sparse_parts.h"

namespace at::native {
namespace {

void check_sparse_layout(const TensorOptions& options) {
  TORCH_CHECK(!options.has_layout() || options.layout() == Layout::Sparse, "expected sparse layout, but got layout ",
              options.layout());
}

void check_parts(const Tensor& indices, const Tensor& values) {
  TORCH_CHECK(indices.dim() == 2, "indices must be sparse_dim x nnz, but got: ", indices.sizes());
  TORCH_CHECK(indices.layout() == Layout::Strided && values.layout() == Layout::Strided,
              "expected indices and values to be dense tensors, but got ", indices.layout(), " and ", values.layout());
  TORCH_CHECK(indices.size(1) == values.size(0),
              "indices and values must have same nnz, but got nnz from indices: ", indices.size(1),
              ", nnz from values: ", values.size(0));
  TORCH_CHECK(indices.device() == values.device(), "device of indices (", indices.device(),
              ") must match device of values (", values.device(), ")");
}

// One number is the value of one place.
Tensor with_nnz(const Tensor& values) {
  return values.dim() == 0 ? at::reshape(values, {1}) : values;
}

// One more than the greatest index of each sparse dimension, then the dense sizes.
DimVector inferred_size(const Tensor& indices, const Tensor& values) {
  const Tensor rows = dense(indices);
  const int64_t* data = rows.data_ptr<int64_t>();
  const int64_t nnz = indices.size(1);
  DimVector sizes;
  for (int64_t d = 0; d < indices.size(0); ++d) {
    int64_t most = -1;
    for (int64_t i = 0; i < nnz; ++i) {
      const int64_t index = data[d * nnz + i];
      TORCH_CHECK(index >= 0, "found negative index ", index, " for dim ", d);
      TORCH_CHECK(index < INT64_MAX, "found index ", index, " for dim ", d, ", which has no size");
      most = std::max(most, index);
    }
    sizes.push_back(most + 1);
  }
  for (int64_t d = 1; d < values.dim(); ++d) sizes.push_back(values.size(d));
  return sizes;
}

}  // namespace

Tensor sparse_coo_tensor_size(IntArrayRef size, TensorOptions options) {
  check_sparse_layout(options);
  checked_numel(size);
  const Device device = options.device();
  return sparse::make_sparse(size, empty_contiguous({static_cast<int64_t>(size.size()), 0}, ScalarType::Long, device),
                             empty_contiguous({0}, options.scalar_type(), device), true);
}

Tensor sparse_coo_tensor_indices(const Tensor& indices, const Tensor& values, TensorOptions options,
                                 std::optional<bool> is_coalesced) {
  check_sparse_layout(options);
  TORCH_CHECK(indices.scalar_type() == ScalarType::Long, "expected scalar type Long but found ", indices.scalar_type());
  const Tensor elements = with_nnz(values);
  check_parts(indices, elements);
  const DimVector sizes = inferred_size(indices, elements);
  checked_numel(sizes);
  return sparse::make_sparse(sizes, indices, elements, is_coalesced.value_or(false));
}

Tensor sparse_coo_tensor_indices_size(const Tensor& indices, const Tensor& values, IntArrayRef size,
                                      TensorOptions options, std::optional<bool> is_coalesced) {
  check_sparse_layout(options);
  checked_numel(size);
  const Tensor elements = with_nnz(values);
  TORCH_CHECK(indices.dim() > 0, "indices must be sparse_dim x nnz, but got: ", indices.sizes());
  TORCH_CHECK(indices.scalar_type() == ScalarType::Long, "indices must be an int64 tensor");
  const int64_t sparse_dim = indices.size(0), dense_dim = elements.dim() - 1;
  TORCH_CHECK(static_cast<int64_t>(size.size()) == sparse_dim + dense_dim,
              "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = ", size.size(),
              ", sparse_dim = ", sparse_dim, ", dense_dim = ", dense_dim);
  check_parts(indices, elements);
  const IntArrayRef dense_size = size.slice(static_cast<size_t>(sparse_dim));
  TORCH_CHECK(elements.sizes().slice(1) == dense_size, "values has incorrect size, expected [", elements.size(0),
              "] and ", dense_size, ", got ", elements.sizes());
  return sparse::make_sparse(size, indices, elements, is_coalesced.value_or(false));
}

// --- strided tensors ---
int64_t sparse_dim(const Tensor&) {
  return 0;
}
int64_t dense_dim(const Tensor& self) {
  return self.dim();
}

Tensor to_dense(const Tensor& self, std::optional<ScalarType> dtype, std::optional<bool> masked_grad) {
  self.sizes();  // throws where undefined
  if (dtype.has_value() && *dtype != self.scalar_type()) return at::_to_copy(self, TensorOptions().dtype(*dtype));
  return sparse::plain(self);
}

Tensor coalesce(const Tensor& self) {
  sparse::impl_of("coalesce", self);
  return self;
}
bool is_coalesced(const Tensor& self) {
  return sparse::impl_of("is_coalesced", self).coalesced();
}
Tensor indices(const Tensor& self) {
  return sparse::impl_of("indices", self).indices();
}
Tensor values(const Tensor& self) {
  TORCH_CHECK(self.layout() != Layout::Strided, "values expected sparse tensor layout but got ", self.layout());
  return sparse::impl_of("values", self).values();
}

Tensor to_sparse_dim(const Tensor& self, int64_t sparse_dim) {
  const int64_t rank = self.dim();
  TORCH_CHECK(sparse_dim >= 0 && sparse_dim <= rank, "dense_to_sparse: sparse_dim argument must be in [0,", rank,
              "] range, but ", sparse_dim, " is given");
  TORCH_CHECK(rank == 0 || sparse_dim > 0, "dense_to_sparse: sparse_dim argument must be in >0 when self.dim()>0");
  // A place counts where any of its dense elements is not 0; a number without dimensions always does.
  if (rank == 0) {
    return sparse::make_sparse({}, at::empty({0, 1}, self.options().dtype(ScalarType::Long)),
                               at::reshape(at::clone(self), {1}), true);
  }
  Tensor named = at::ne(self, 0);
  if (sparse_dim < rank) {
    std::vector<int64_t> dense;
    for (int64_t d = sparse_dim; d < rank; ++d) dense.push_back(d);
    named = at::any(named, dense);
  }
  const Tensor indices = at::contiguous(at::t(at::nonzero(named)));
  return sparse::make_sparse(self.sizes(), indices, sparse::gather_places(self, indices, sparse_dim), true);
}

}  // namespace at::native
