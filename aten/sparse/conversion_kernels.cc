// Sparse tensors: what is asked of them, and copies to and from dense ones.
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "aten/core/empty.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/kernels.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/kernels.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/random/kernels.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/sparse/kernels.h"
#include "aten/ops/sparse/ops.h"
#include "aten/ops/view/kernels.h"
#include "aten/ops/view/ops.h"
#include "aten/sparse/compressed_parts.h"
#include "aten/sparse/sparse_parts.h"

namespace at::native {
namespace {

TensorOptions options_like(const Tensor& self, const TensorOptions& options) {
  return self.options().merge_in(options);
}

// The same elements in memory of their own, in another dtype or on another device where that is asked for.
Tensor copy_of(const Tensor& self, ScalarType dtype, std::optional<Device> device = std::nullopt) {
  const Device to = device.value_or(self.device());
  const auto indices = [&](const Tensor& t) {
    return to == self.device() ? at::clone(t) : at::_to_copy(t, TensorOptions().device(to));
  };
  if (sparse::is_compressed(self)) {
    const SparseCsrTensorImpl& impl = sparse::compressed_impl_of("clone", self);
    return sparse::make_compressed(self.layout(), self.sizes(), indices(impl.compressed()), indices(impl.plain()),
                                   at::_to_copy(impl.values(), TensorOptions().dtype(dtype).device(to)));
  }
  const SparseTensorImpl& impl = sparse::impl_of("clone", self);
  return sparse::make_sparse(self.sizes(), indices(impl.indices()),
                             at::_to_copy(impl.values(), TensorOptions().dtype(dtype).device(to)), impl.coalesced());
}

// The same places, with unwritten values.
Tensor with_new_values(const Tensor& self, ScalarType dtype) {
  const SparseCsrTensorImpl& impl = sparse::compressed_impl_of("empty_like", self);
  return sparse::make_compressed(self.layout(), self.sizes(), at::clone(impl.compressed()), at::clone(impl.plain()),
                                 at::empty(impl.values().sizes(), impl.values().options().dtype(dtype)));
}

// A tensor of the size and layout of `self` that stores nothing.
Tensor without_elements(const Tensor& self, ScalarType dtype) {
  if (sparse::is_compressed(self)) {
    const SparseCsrTensorImpl& impl = sparse::compressed_impl_of("empty_like", self);
    return sparse::empty_compressed(self.layout(), self.sizes(), impl.block(), impl.dense_dim(),
                                    impl.plain().scalar_type(), self.options().dtype(dtype));
  }
  const SparseTensorImpl& impl = sparse::impl_of("empty_like", self);
  DimVector sizes(impl.values().sizes().begin(), impl.values().sizes().end());
  sizes[0] = 0;
  return sparse::make_sparse(self.sizes(), at::empty({impl.sparse_dim(), 0}, impl.indices().options()),
                             at::empty(sizes, impl.values().options().dtype(dtype)), true);
}

// A compressed tensor that stores nothing.
Tensor empty_lines(const char* name, IntArrayRef size, const TensorOptions& options) {
  c10::checked_numel(size);
  TORCH_CHECK(!SparseCsrTensorImpl::is_blocked(options.layout()), name,
              "_sparse_compressed expected sparse compressed (non-block) tensor layout but got ", options.layout());
  TORCH_CHECK(size.size() >= 2, "torch.", name,
              ": Only batched sparse compressed (non-block) tensors are supported, but got size ", size);
  return sparse::empty_compressed(options.layout(), size, {1, 1}, 0, ScalarType::Long, options);
}

}  // namespace

// --- factories ---
Tensor empty_sparse(IntArrayRef size, TensorOptions options, std::optional<MemoryFormat>) {
  TORCH_CHECK(!options.pinned_memory(), "Only dense CPU tensors can be pinned");
  if (!sparse::is_compressed(options.layout())) return native::sparse_coo_tensor_size(size, options);
  return empty_lines("empty", size, options);
}
Tensor zeros_sparse(IntArrayRef size, TensorOptions options) {
  if (sparse::is_compressed(options.layout())) return empty_lines("zeros", size, options);
  return empty_sparse(size, options, std::nullopt);
}

namespace {
void check_no_format(const Tensor& self, const TensorOptions& merged, bool has_format) {
  TORCH_CHECK(!has_format || merged.layout() == Layout::Strided || sparse::is_compressed(self),
              "memory format option is only supported by strided tensors");
}
void check_same_layout(const Tensor& self, const TensorOptions& merged) {
  TORCH_CHECK(merged.layout() == self.layout(), "empty_like with different sparse layout is not supported (self is ",
              self.layout(), " but you requested ", merged.layout(), ")");
}
}  // namespace

Tensor empty_like_sparse(const Tensor& self, TensorOptions options, std::optional<MemoryFormat> memory_format) {
  const TensorOptions merged = options_like(self, options);
  check_no_format(self, merged, memory_format.has_value() || options.has_memory_format());
  if (sparse::is_compressed(self)) {
    check_same_layout(self, merged);
    return with_new_values(self, merged.scalar_type());
  }
  if (merged.layout() == self.layout()) return without_elements(self, merged.scalar_type());
  return at::empty(self.sizes(), merged, merged.layout() == Layout::Strided ? memory_format : std::nullopt);
}
// Of a sparse layout it stores nothing and has as many dense dimensions as self.
Tensor zeros_like_sparse(const Tensor& self, TensorOptions options, std::optional<MemoryFormat> memory_format) {
  const TensorOptions merged = options_like(self, options);
  check_no_format(self, merged, memory_format.has_value() || options.has_memory_format());
  if (merged.layout() == self.layout()) return without_elements(self, merged.scalar_type());
  if (merged.layout() == Layout::Strided) {
    if (sparse::is_compressed(self)) check_same_layout(self, merged);
    return at::zeros(self.sizes(), merged);
  }
  const int64_t dense_dim = dense_dim_sparse(self);
  if (merged.layout() == Layout::Sparse) {
    return at::_sparse_coo_tensor_with_dims(self.dim() - dense_dim, dense_dim, self.sizes(), merged);
  }
  TORCH_CHECK(self.dim() - dense_dim >= 2, "zeros_like: a tensor of layout ", merged.layout(),
              " has at least two sparse dimensions, but self has ", self.dim() - dense_dim);
  TORCH_CHECK(!SparseCsrTensorImpl::is_blocked(self.layout()) || SparseCsrTensorImpl::is_blocked(merged.layout()),
              "zeros_like: blocksize cannot be specified for non-block layout ", merged.layout());
  const std::array<int64_t, 2> block = sparse::block_of("zeros_like", self, merged.layout(), std::nullopt);
  return sparse::empty_compressed(merged.layout(), self.sizes(), block, dense_dim, ScalarType::Long, merged);
}
Tensor new_empty_sparse(const Tensor& self, IntArrayRef size, TensorOptions options) {
  return at::empty(size, options_like(self, options));
}
Tensor new_zeros_sparse(const Tensor& self, IntArrayRef size, TensorOptions options) {
  return at::zeros(size, options_like(self, options));
}

// --- copies ---
Tensor clone_sparse(const Tensor& self, std::optional<MemoryFormat> memory_format) {
  TORCH_CHECK(!memory_format.has_value() || *memory_format == MemoryFormat::Preserve ||
                  *memory_format == MemoryFormat::Contiguous,
              "unsupported memory format option ", *memory_format);
  return copy_of(self, self.scalar_type());
}

Tensor _to_copy_sparse(const Tensor& self, TensorOptions options, bool, std::optional<MemoryFormat>) {
  const TensorOptions merged = options_like(self, options);
  TORCH_CHECK(merged.layout() == self.layout(), "to(options): changing the layout from ", self.layout(), " to ",
              merged.layout(), " is not supported");
  const Device to = merged.device();
  TORCH_CHECK_NOT_IMPLEMENTED(to.is_cpu() || to.is_cuda(), "to(options): a sparse tensor on ", to,
                              " has no kernel yet");
  return copy_of(self, merged.scalar_type(), to);
}

Tensor& copy_sparse_(Tensor& self, const Tensor& src, bool) {
  if (self.layout() != src.layout()) {
    TORCH_CHECK(
        !sparse::is_compressed(self) || src.layout() == Layout::Strided,
        "torch.copy_: copy of sparse compressed tensors having different layouts is not supported. self layout is ",
        self.layout(), " and src layout is ", src.layout());
    TORCH_CHECK(false,
                "copy_() between dense and sparse Tensors is not implemented! Found self type = ", self.toString(),
                " and src type = ", src.toString());
  }
  if (self.is_same(src)) return self;
  if (self.layout() == Layout::Sparse) {
    // As many dimensions of both kinds, and no smaller ones, where self stores elements.
    resize_as_sparse_sparse_(self, src);
  } else {
    TORCH_CHECK(self.sizes() == src.sizes(), "copy_: expected a sparse tensor of size ", self.sizes(), ", but got ",
                src.sizes());
    TORCH_CHECK(nnz_sparse(self) == nnz_sparse(src),
                "torch.copy_: only sparse compressed tensors with the same number of specified elements are "
                "supported.");
  }
  sparse::assign(self, copy_of(src, self.scalar_type(), self.device()));
  return self;
}
Tensor& copy_sparse_to_sparse_sparse_(Tensor& self, const Tensor& src, bool non_blocking) {
  return copy_sparse_(self, src, non_blocking);
}

namespace {
// Writes to the values of a compressed tensor.
template <class F>
Tensor& write_values(const char* op, Tensor& self, const F& f) {
  sparse::check_has_kernel(sparse::is_compressed(self), op, self);
  Tensor values = sparse::plain(sparse::values_of(self));
  f(values);
  sparse::mark_written(self);
  return self;
}
}  // namespace

Tensor& fill_scalar_sparse_(Tensor& self, const Scalar& value) {
  return write_values("fill_.Scalar", self, [&](Tensor& values) { at::fill_(values, value); });
}
Tensor fill_scalar_sparse(const Tensor& self, const Scalar& value) {
  Tensor result = copy_of(self, self.scalar_type());
  return fresh(fill_scalar_sparse_(result, value));
}
Tensor& normal_sparse_(Tensor& self, double mean, double std, std::optional<Generator> generator) {
  return write_values("normal_", self, [&](Tensor& values) { at::normal_(values, mean, std, std::move(generator)); });
}

Tensor& zero_sparse_(Tensor& self) {
  sparse::assign(self, without_elements(self, self.scalar_type()));
  return self;
}

Tensor detach_sparse(const Tensor& self) {
  const Tensor result = sparse::plain(self);
  result.unsafeGetTensorImpl()->set_inference(self.is_inference());
  return result;
}
Tensor alias_sparse(const Tensor& self) {
  return detach_sparse(self);
}

// --- queries ---
int64_t stride_int_sparse(const Tensor& self, int64_t dim) {
  TORCH_CHECK(!sparse::is_compressed(self), self.layout(), " tensors do not have strides");
  return self.stride(dim);
}
bool is_contiguous_sparse(const Tensor& self) {
  TORCH_CHECK(!sparse::is_compressed(self), self.layout(), " tensors do not have is_contiguous");
  return false;
}
bool is_contiguous_format_sparse(const Tensor& self, MemoryFormat) {
  return is_contiguous_sparse(self);
}
bool is_pinned_sparse(const Tensor& self, std::optional<Device> device) {
  return at::is_pinned(sparse::values_of(self), device);
}
int64_t sparse_dim_sparse(const Tensor& self) {
  return sparse::is_compressed(self) ? 2 : sparse::impl_of("sparse_dim", self).sparse_dim();
}
int64_t dense_dim_sparse(const Tensor& self) {
  return sparse::is_compressed(self) ? sparse::compressed_impl_of("dense_dim", self).dense_dim()
                                     : sparse::impl_of("dense_dim", self).dense_dim();
}
int64_t nnz_sparse(const Tensor& self) {
  return sparse::is_compressed(self) ? sparse::compressed_impl_of("_nnz", self).nnz()
                                     : sparse::impl_of("_nnz", self).nnz();
}
bool is_coalesced_sparse(const Tensor& self) {
  return sparse::impl_of("is_coalesced", self).coalesced();
}
Tensor& _coalesced_sparse_(Tensor& self, bool coalesced) {
  sparse::impl_of("_coalesced_", self).set_coalesced(coalesced);
  sparse::mark_written(self);
  return self;
}
Tensor _indices_sparse(const Tensor& self) {
  return sparse::plain(sparse::impl_of("_indices", self).indices());
}
Tensor _values_sparse(const Tensor& self) {
  return sparse::plain(sparse::impl_of("_values", self).values());
}

namespace {
// The pointers or the indices of a tensor whose rows, or columns, are compressed.
Tensor part(const char* name, const Tensor& self, bool rows, bool pointers) {
  TORCH_CHECK(sparse::is_compressed(self) && sparse::by_rows(self.layout()) == rows, name, " expected sparse ",
              rows ? "row" : "column", " compressed tensor layout but got ", self.layout());
  const SparseCsrTensorImpl& impl = sparse::compressed_impl_of(name, self);
  return sparse::plain(pointers ? impl.compressed() : impl.plain());
}
}  // namespace

Tensor crow_indices_sparse(const Tensor& self) {
  return part("crow_indices", self, true, true);
}
Tensor col_indices_sparse(const Tensor& self) {
  return part("col_indices", self, true, false);
}
Tensor ccol_indices_sparse(const Tensor& self) {
  return part("ccol_indices", self, false, true);
}
Tensor row_indices_sparse(const Tensor& self) {
  return part("row_indices", self, false, false);
}

Tensor indices_sparse(const Tensor& self) {
  TORCH_CHECK(sparse::impl_of("indices", self).coalesced(),
              "Cannot get indices on an uncoalesced tensor, please call .coalesce() first");
  return _indices_sparse(self);
}
Tensor values_sparse(const Tensor& self) {
  if (sparse::is_compressed(self)) return sparse::plain(sparse::values_of(self));
  TORCH_CHECK(sparse::impl_of("values", self).coalesced(),
              "Cannot get values on an uncoalesced tensor, please call .coalesce() first");
  return _values_sparse(self);
}

Tensor coalesce_sparse(const Tensor& self) {
  const SparseTensorImpl& impl = sparse::impl_of("coalesce", self);
  // Where the call is recorded the result gets a history of its own.
  if (impl.coalesced()) return self.requires_grad() ? sparse::plain(self) : self;
  const Tensor result = sparse::coalesced(self);
  return impl.nnz() < 2 ? copy_of(result, self.scalar_type()) : result;
}

Tensor _coalesce_sparse(const Tensor& self) {
  return coalesce_sparse(self);
}

// --- to and from dense ---
Tensor to_dense_sparse(const Tensor& self, std::optional<ScalarType> dtype, std::optional<bool>) {
  TORCH_CHECK(!dtype.has_value(), "dtype argument is not supported by sparse_to_dense");
  const Tensor result = at::zeros(self.sizes(), self.options().layout(Layout::Strided));
  sparse::add_elements(result, self, 1);
  return fresh(result);
}

namespace {

// `self`, which is sparse, in another sparse layout.
Tensor converted(const char* name, const Tensor& self, Layout to, OptionalIntArrayRef blocksize,
                 std::optional<int64_t> dense_dim) {
  // As PyTorch calls the conversion in its texts.
  const char* from = self.layout() == to ? "" : self.layout() == Layout::Sparse ? "coo_" : "sparse_compressed_";
  const std::string called = std::string(from) + name;
  const char* op = called.c_str();
  const std::array<int64_t, 2> block = sparse::block_of(op, self, to, blocksize);
  TORCH_CHECK(!dense_dim.has_value() || *dense_dim == at::dense_dim(self), op, ": conversion from ", self.layout(), " to ", to,
              " with dense_dim argument !=self.dense_dim() is not supported");
  if (to == self.layout() && to == Layout::Sparse) return sparse::plain(self);
  if (to == self.layout() && sparse::compressed_impl_of(op, self).block() == block) return copy_of(self, self.scalar_type());
  if (to == Layout::Sparse) return sparse::coordinates(self);
  if (sparse::is_compressed(self)) return sparse::to_compressed(op, self, to, block);
  const int64_t sparse_dim = sparse::impl_of(op, self).sparse_dim();
  TORCH_CHECK(sparse_dim == 2, op, ": conversion from ", self.layout(), " to ", to,
              " for input tensors with sparse_dim()!=2 is not supported");
  return sparse::compress(op, sparse::coalesced(self), to, block);
}

}  // namespace

Tensor to_sparse_sparse(const Tensor& self, std::optional<Layout> layout, OptionalIntArrayRef blocksize,
                        std::optional<int64_t> dense_dim) {
  return converted("to_sparse", self, layout.value_or(Layout::Sparse), blocksize, dense_dim);
}
Tensor to_sparse_dim_sparse(const Tensor& self, int64_t sparse_dim) {
  TORCH_CHECK(at::sparse_dim(self) == sparse_dim, "to_sparse: conversion from ", self.layout(),
              " to Sparse with sparse_dim argument !=self.sparse_dim() is not supported");
  return converted("to_sparse", self, Layout::Sparse, std::nullopt, std::nullopt);
}
Tensor to_sparse_csr_sparse(const Tensor& self, std::optional<int64_t> dense_dim) {
  return converted("to_sparse_csr", self, Layout::SparseCsr, std::nullopt, dense_dim);
}
Tensor to_sparse_csc_sparse(const Tensor& self, std::optional<int64_t> dense_dim) {
  return converted("to_sparse_csc", self, Layout::SparseCsc, std::nullopt, dense_dim);
}
Tensor to_sparse_bsr_sparse(const Tensor& self, IntArrayRef blocksize, std::optional<int64_t> dense_dim) {
  return converted("to_sparse_bsr", self, Layout::SparseBsr, blocksize, dense_dim);
}
Tensor to_sparse_bsc_sparse(const Tensor& self, IntArrayRef blocksize, std::optional<int64_t> dense_dim) {
  return converted("to_sparse_bsc", self, Layout::SparseBsc, blocksize, dense_dim);
}

}  // namespace at::native
