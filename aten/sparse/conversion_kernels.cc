// Sparse tensors: what is asked of them, and copies to and from dense ones.
#include <vector>

#include "aten/core/empty.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/kernels.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/kernels.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/sparse/kernels.h"
#include "aten/ops/sparse/ops.h"
#include "aten/ops/view/kernels.h"
#include "aten/ops/view/ops.h"
#include "aten/sparse/sparse_parts.h"

namespace at::native {
namespace {

TensorOptions options_like(const Tensor& self, const TensorOptions& options) {
  return self.options().merge_in(options);
}

// The same elements in memory of their own, in another dtype where that is asked for.
Tensor copy_of(const Tensor& self, ScalarType dtype) {
  const SparseTensorImpl& impl = sparse::impl_of("clone", self);
  return sparse::make_sparse(self.sizes(), at::clone(impl.indices()),
                             at::_to_copy(impl.values(), TensorOptions().dtype(dtype)), impl.coalesced());
}

Tensor without_elements(const Tensor& self, const Tensor& indices, const Tensor& values, ScalarType dtype) {
  DimVector sizes(values.sizes().begin(), values.sizes().end());
  sizes[0] = 0;
  return sparse::make_sparse(self.sizes(), at::empty({indices.size(0), 0}, indices.options()),
                             at::empty(sizes, values.options().dtype(dtype)), true);
}

}  // namespace

// --- factories ---
Tensor empty_sparse(IntArrayRef size, TensorOptions options, std::optional<MemoryFormat>) {
  TORCH_CHECK(!options.pinned_memory(), "Only dense CPU tensors can be pinned");
  return native::sparse_coo_tensor_size(size, options);
}
Tensor zeros_sparse(IntArrayRef size, TensorOptions options) {
  return empty_sparse(size, options, std::nullopt);
}

Tensor empty_like_sparse(const Tensor& self, TensorOptions options, std::optional<MemoryFormat> memory_format) {
  const TensorOptions merged = options_like(self, options);
  if (merged.layout() == Layout::Strided) return at::empty(self.sizes(), merged, memory_format);
  const SparseTensorImpl& impl = sparse::impl_of("empty_like", self);
  return without_elements(self, impl.indices(), impl.values(), merged.scalar_type());
}
Tensor zeros_like_sparse(const Tensor& self, TensorOptions options, std::optional<MemoryFormat> memory_format) {
  const TensorOptions merged = options_like(self, options);
  if (merged.layout() == Layout::Strided) return at::zeros(self.sizes(), merged);
  return empty_like_sparse(self, options, memory_format);
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
  TORCH_CHECK_NOT_IMPLEMENTED(merged.device().is_cpu(), "to(options): a sparse tensor on ", merged.device(),
                              " has no kernel yet");
  return copy_of(self, merged.scalar_type());
}

Tensor& copy_sparse_(Tensor& self, const Tensor& src, bool) {
  TORCH_CHECK(self.layout() == src.layout(),
              "copy_() between dense and sparse Tensors is not implemented! Found self type = ", self.toString(),
              " and src type = ", src.toString());
  TORCH_CHECK(self.sizes() == src.sizes(), "copy_: expected a sparse tensor of size ", self.sizes(), ", but got ",
              src.sizes());
  if (!self.is_same(src)) sparse::assign(self, copy_of(src, self.scalar_type()));
  return self;
}

Tensor& zero_sparse_(Tensor& self) {
  const SparseTensorImpl& impl = sparse::impl_of("zero_", self);
  sparse::assign(self, without_elements(self, impl.indices(), impl.values(), self.scalar_type()));
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
int64_t sparse_dim_sparse(const Tensor& self) {
  return sparse::impl_of("sparse_dim", self).sparse_dim();
}
int64_t dense_dim_sparse(const Tensor& self) {
  return sparse::impl_of("dense_dim", self).dense_dim();
}
int64_t nnz_sparse(const Tensor& self) {
  return sparse::impl_of("_nnz", self).nnz();
}
bool is_coalesced_sparse(const Tensor& self) {
  return sparse::impl_of("is_coalesced", self).coalesced();
}
Tensor _indices_sparse(const Tensor& self) {
  return sparse::plain(sparse::impl_of("_indices", self).indices());
}
Tensor _values_sparse(const Tensor& self) {
  return sparse::plain(sparse::impl_of("_values", self).values());
}

Tensor indices_sparse(const Tensor& self) {
  TORCH_CHECK(sparse::impl_of("indices", self).coalesced(),
              "Cannot get indices on an uncoalesced tensor, please call .coalesce() first");
  return _indices_sparse(self);
}
Tensor values_sparse(const Tensor& self) {
  TORCH_CHECK(sparse::impl_of("values", self).coalesced(),
              "Cannot get values on an uncoalesced tensor, please call .coalesce() first");
  return _values_sparse(self);
}

Tensor coalesce_sparse(const Tensor& self) {
  const Tensor result = sparse::coalesced(self);
  // Where the call is recorded the result gets a history of its own.
  return result.is_same(self) && self.requires_grad() ? sparse::plain(self) : result;
}

// --- to and from dense ---
Tensor to_dense_sparse(const Tensor& self, std::optional<ScalarType> dtype, std::optional<bool>) {
  TORCH_CHECK(!dtype.has_value(), "dtype argument is not supported by sparse_to_dense");
  const Tensor result = at::zeros(self.sizes(), self.options().layout(Layout::Strided));
  sparse::add_elements(result, self, 1);
  return fresh(result);
}

namespace {
void check_sparse_arguments(std::optional<Layout> layout, OptionalIntArrayRef blocksize,
                            std::optional<int64_t> dense_dim) {
  const Layout to = layout.value_or(Layout::Sparse);
  TORCH_CHECK_NOT_IMPLEMENTED(to == Layout::Sparse, "to_sparse: conversion to the layout ", to, " is not implemented");
  TORCH_CHECK(!blocksize.has_value(), "to_sparse: conversion to Sparse does not use the specified blocksize");
  TORCH_CHECK(!dense_dim.has_value(),
              "to_sparse: conversion to Sparse does not use the specified number of dense dimensions");
}
}  // namespace

Tensor to_sparse(const Tensor& self, std::optional<Layout> layout, OptionalIntArrayRef blocksize,
                 std::optional<int64_t> dense_dim) {
  check_sparse_arguments(layout, blocksize, dense_dim);
  return at::to_sparse(self, self.dim());
}
Tensor to_sparse_sparse(const Tensor& self, std::optional<Layout> layout, OptionalIntArrayRef blocksize,
                        std::optional<int64_t> dense_dim) {
  check_sparse_arguments(layout, blocksize, dense_dim);
  return sparse::plain(self);
}
Tensor to_sparse_dim_sparse(const Tensor& self, int64_t sparse_dim) {
  TORCH_CHECK(
      sparse::impl_of("to_sparse", self).sparse_dim() == sparse_dim,
      "to_sparse: conversion from Sparse to Sparse with sparse_dim argument !=self.sparse_dim() is not supported");
  return sparse::plain(self);
}

Tensor sparse_mask_sparse(const Tensor& self, const Tensor& mask) {
  TORCH_CHECK(self.sizes() == mask.sizes(), "sparse_mask(): operands have incompatible sizes; self has size ",
              self.sizes(), " but mask has size ", mask.sizes());
  const SparseTensorImpl& places = sparse::impl_of("sparse_mask", mask);
  const Tensor dense = self.layout() == Layout::Sparse ? to_dense_sparse(self, std::nullopt, std::nullopt) : self;
  return sparse::with_values(mask, sparse::gather_places(dense, places.indices(), places.sparse_dim()));
}

}  // namespace at::native
