// Sparse tensors from their parts, and what operators of sparse tensors say of others.
#include <algorithm>

#include "aten/core/context.h"
#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/sparse/kernels.h"
#include "aten/ops/sparse/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/sparse/compressed_parts.h"
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

Tensor checked(const Tensor& indices, const Tensor& values, IntArrayRef size, bool coalesced) {
  if (globalContext().checkSparseTensorInvariants()) sparse::check_coordinates(indices, values, size, coalesced);
  return sparse::make_sparse(size, indices, values, coalesced);
}

// One number is the value of one place.
Tensor with_nnz(const Tensor& values) {
  return values.dim() == 0 ? at::reshape(values, {1}) : values;
}

// One more than the greatest index of each sparse dimension, then the dense sizes.
DimVector inferred_size(const Tensor& indices, const Tensor& values) {
  const Tensor rows = dense(at::to(indices, Device(DeviceType::CPU), ScalarType::Long));
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
  return checked(indices, elements, sizes, is_coalesced.value_or(false));
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
  return checked(indices, elements, size, is_coalesced.value_or(false));
}

Tensor _sparse_coo_tensor_unsafe(const Tensor& indices, const Tensor& values, IntArrayRef size, TensorOptions options,
                                 std::optional<bool> is_coalesced) {
  return sparse_coo_tensor_indices_size(indices, values, size, options, is_coalesced);
}

namespace {
void check_dims(int64_t sparse_dim, int64_t dense_dim, IntArrayRef size) {
  const int64_t dims = static_cast<int64_t>(size.size());
  TORCH_CHECK(sparse_dim >= 0 && sparse_dim <= dims && dense_dim == dims - sparse_dim,
              "number of dimensions must be sparse_dim (", sparse_dim, ") + dense_dim (", dense_dim, "), but got ", dims);
}
}  // namespace

Tensor _sparse_coo_tensor_with_dims(int64_t sparse_dim, int64_t dense_dim, IntArrayRef size, TensorOptions options) {
  check_sparse_layout(options);
  check_dims(sparse_dim, dense_dim, size);
  checked_numel(size);
  DimVector value_sizes{0};
  value_sizes.append(size.begin() + sparse_dim, size.end());
  return sparse::make_sparse(size, empty_contiguous({sparse_dim, 0}, ScalarType::Long, options.device()),
                             empty_contiguous(value_sizes, options.scalar_type(), options.device()), true);
}

Tensor _sparse_coo_tensor_with_dims_and_tensors(int64_t sparse_dim, int64_t dense_dim, IntArrayRef size,
                                                const Tensor& indices, const Tensor& values, TensorOptions options,
                                                std::optional<bool> is_coalesced) {
  check_dims(sparse_dim, dense_dim, size);
  TORCH_CHECK(indices.dim() == 2 && indices.size(0) == sparse_dim, "indices has incorrect first dimension, expected ",
              sparse_dim, ", got ", indices.sizes());
  return sparse_coo_tensor_indices_size(indices, values, size, options, is_coalesced);
}

// --- compressed, from their parts ---
namespace {

// The least size that holds all indices.
DimVector inferred_compressed_size(const Tensor& compressed, const Tensor& plain, const Tensor& values, Layout layout) {
  const int64_t batch = compressed.dim() - 1;
  const bool blocked = SparseCsrTensorImpl::is_blocked(layout), rows = sparse::by_rows(layout);
  TORCH_CHECK(batch >= 0 && values.dim() > batch + (blocked ? 2 : 0), "expected ",
              rows ? "crow_indices" : "ccol_indices", " and values of enough dimensions, but got ", compressed.sizes(),
              " and ", values.sizes());
  const auto block = [&](int64_t d) { return blocked ? values.size(batch + 1 + d) : 1; };
  const int64_t lines = std::max<int64_t>(compressed.size(-1) - 1, 0);
  const int64_t most = plain.numel() == 0 ? -1 : at::max(plain).item<int64_t>();
  TORCH_CHECK(most < INT64_MAX, "found index ", most, ", which has no size");
  const auto sized = [&](int64_t count, int64_t d) {
    int64_t product = 0;
    TORCH_CHECK(!__builtin_mul_overflow(count, block(d), &product), "found an index that has no size: ", count,
                " blocks of ", block(d));
    return product;
  };
  DimVector size(compressed.sizes().begin(), compressed.sizes().end() - 1);
  size.push_back(sized(rows ? lines : most + 1, 0));
  size.push_back(sized(rows ? most + 1 : lines, 1));
  size.append(values.sizes().begin() + batch + 1 + (blocked ? 2 : 0), values.sizes().end());
  return size;
}

// What a call for one layout may say of it.
TensorOptions with_layout(const char* name, const TensorOptions& options, Layout layout) {
  TORCH_CHECK(!options.has_layout() || options.layout() == layout, "sparse ", name, " layout must be ", layout,
              " but got ", options.layout());
  return options.layout(layout);
}

}  // namespace

Tensor sparse_compressed_tensor_size(const Tensor& compressed_indices, const Tensor& plain_indices,
                                     const Tensor& values, IntArrayRef size, TensorOptions options) {
  TORCH_CHECK(options.has_layout() && sparse::is_compressed(options.layout()),
              "sparse_compressed_tensor expected sparse compressed tensor layout but got ",
              options.has_layout() ? toString(options.layout()) : "none");
  return at::_sparse_compressed_tensor_unsafe(compressed_indices, plain_indices, values, size, options);
}
Tensor sparse_compressed_tensor(const Tensor& compressed_indices, const Tensor& plain_indices, const Tensor& values,
                                TensorOptions options) {
  TORCH_CHECK(options.has_layout() && sparse::is_compressed(options.layout()),
              "sparse_compressed_tensor expected sparse compressed tensor layout but got ",
              options.has_layout() ? toString(options.layout()) : "none");
  return at::_sparse_compressed_tensor_unsafe(
      compressed_indices, plain_indices, values,
      inferred_compressed_size(compressed_indices, plain_indices, values, options.layout()), options);
}

#define COMPRESSED_CONSTRUCTORS(name, Name)                                                                       \
  Tensor sparse_##name##_tensor_size(const Tensor& compressed, const Tensor& plain, const Tensor& values,         \
                                     IntArrayRef size, TensorOptions options) {                                   \
    return at::_sparse_compressed_tensor_unsafe(compressed, plain, values, size,                                  \
                                                with_layout(#name, options, Layout::Sparse##Name));               \
  }                                                                                                               \
  Tensor sparse_##name##_tensor(const Tensor& compressed, const Tensor& plain, const Tensor& values,              \
                                TensorOptions options) {                                                          \
    return sparse_##name##_tensor_size(compressed, plain, values,                                                 \
                                       inferred_compressed_size(compressed, plain, values, Layout::Sparse##Name), \
                                       options);                                                                  \
  }
COMPRESSED_CONSTRUCTORS(csr, Csr)
COMPRESSED_CONSTRUCTORS(csc, Csc)
COMPRESSED_CONSTRUCTORS(bsr, Bsr)
COMPRESSED_CONSTRUCTORS(bsc, Bsc)
#undef COMPRESSED_CONSTRUCTORS

Tensor _sparse_compressed_tensor_with_dims(int64_t nnz, int64_t dense_dim, IntArrayRef size, IntArrayRef blocksize,
                                           ScalarType index_dtype, TensorOptions options) {
  TORCH_CHECK(options.has_layout() && sparse::is_compressed(options.layout()),
              "_sparse_compressed_tensor_with_dims expected sparse compressed tensor layout but got ",
              options.has_layout() ? toString(options.layout()) : "none");
  const bool blocked = SparseCsrTensorImpl::is_blocked(options.layout());
  const int64_t batch = static_cast<int64_t>(size.size()) - 2 - dense_dim;
  TORCH_CHECK(
      nnz >= 0 && dense_dim >= 0 && batch >= 0 && blocksize.size() == (blocked ? 2u : 0u),
      "_sparse_compressed_tensor_with_dims: expected nnz and dense_dim of at least 0, two dimensions more in size and ",
      blocked ? 2 : 0, " sizes of a block, but got ", nnz, ", ", dense_dim, ", ", size, " and ", blocksize);
  TORCH_CHECK(index_dtype == ScalarType::Int || index_dtype == ScalarType::Long,
              "indices dtype must be Int or Long, but got ", index_dtype);
  checked_numel(size);
  for (size_t d = 0; d < blocksize.size(); ++d) {
    TORCH_CHECK(blocksize[d] > 0 && size[batch + static_cast<int64_t>(d)] % blocksize[d] == 0, "size ", size,
                " must be divisible by blocksize ", blocksize);
  }
  const int64_t line = sparse::by_rows(options.layout()) ? 0 : 1;
  DimVector pointers(size.begin(), size.begin() + batch), indices = pointers;
  pointers.push_back(size[batch + line] / (blocked ? blocksize[line] : 1) + 1);
  indices.push_back(nnz);
  DimVector values = indices;
  values.append(blocksize.begin(), blocksize.end());
  values.append(size.begin() + batch + 2, size.end());
  const TensorOptions strided = options.layout(Layout::Strided), index = strided.dtype(index_dtype);
  return sparse::make_compressed(options.layout(), size, at::zeros(pointers, index), at::zeros(indices, index),
                                 at::empty(values, strided));
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

#define COMPRESSED_PART(name, lines)                                                                         \
  Tensor name(const Tensor& self) {                                                                          \
    TORCH_CHECK(false, #name " expected sparse " lines " compressed tensor layout but got ", self.layout()); \
  }
COMPRESSED_PART(crow_indices, "row")
COMPRESSED_PART(col_indices, "row")
COMPRESSED_PART(ccol_indices, "column")
COMPRESSED_PART(row_indices, "column")
#undef COMPRESSED_PART

// --- composed of others ---
#define PART_COPY(name)                                         \
  Tensor name##_copy(const Tensor& self) {                      \
    return at::clone(at::name(self), MemoryFormat::Contiguous); \
  }
PART_COPY(indices)
PART_COPY(_indices)
PART_COPY(values)
PART_COPY(_values)
PART_COPY(crow_indices)
PART_COPY(col_indices)
PART_COPY(ccol_indices)
PART_COPY(row_indices)
#undef PART_COPY

Tensor _sparse_broadcast_to_copy(const Tensor& self, IntArrayRef size) {
  return at::clone(at::_sparse_broadcast_to(self, size));
}

Tensor _sparse_sum(const Tensor& self) {
  return at::sum(at::values(at::coalesce(self)));
}
Tensor _sparse_sum_dtype(const Tensor& self, ScalarType dtype) {
  return at::sum(at::values(at::coalesce(self)), dtype);
}
Tensor _sparse_sum_dim_dtype(const Tensor& self, IntArrayRef dim, ScalarType dtype) {
  return at::_sparse_sum(at::to(self, dtype), dim);
}

Tensor _sparse_softmax_int(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  return at::_sparse_softmax(dtype.has_value() ? at::to(self, *dtype) : self, dim, false);
}
Tensor _sparse_log_softmax_int(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  return at::_sparse_log_softmax(dtype.has_value() ? at::to(self, *dtype) : self, dim, false);
}

Tensor _sparse_mm_reduce(const Tensor& sparse_one, const Tensor& dense, std::string_view reduce) {
  return std::get<0>(at::_sparse_mm_reduce_impl(sparse_one, dense, reduce));
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
