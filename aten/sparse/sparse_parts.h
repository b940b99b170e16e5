#pragma once

#include <vector>

#include "aten/core/tensor.h"
#include "aten/sparse/sparse_tensor_impl.h"

// What the kernels of sparse tensors share.
namespace at::sparse {

/// `t`, or where it is not coalesced a tensor of the same elements that is: places in order, each once, values of one
/// place added (true where one is, for bool).
Tensor coalesced(const Tensor& t);

/// The sizes of the sparse dimensions, and of the dense ones.
inline IntArrayRef sparse_sizes(const Tensor& t, const SparseTensorImpl& impl) {
  return t.sizes().slice(0, static_cast<size_t>(impl.sparse_dim()));
}
inline IntArrayRef dense_sizes(const Tensor& t, const SparseTensorImpl& impl) {
  return t.sizes().slice(static_cast<size_t>(impl.sparse_dim()));
}

/// The places in a tensor of `sizes` (row-major), int64 of size nnz. Throws IndexError for an index that is out of
/// range.
Tensor flat_places(const Tensor& indices, IntArrayRef sizes);

/// A tensor like `t` at the same places, with other values: `coalesced` as t.
Tensor with_values(const Tensor& t, const Tensor& values);

/// int64 numbers as a tensor, of one dimension or of `rows` rows.
Tensor long_tensor(const std::vector<int64_t>& numbers);

/// The elements of dense `self` that stand where `indices` says: nnz x dense sizes.
Tensor gather_places(const Tensor& self, const Tensor& indices, int64_t sparse_dim);

/// Adds alpha times the elements of the sparse `t` to the dense contiguous `into` of its size, which counts the write.
void add_elements(const Tensor& into, const Tensor& t, const Scalar& alpha);

/// A kernel wrote to `t`: counts it.
inline void mark_written(const Tensor& t) {
  t.unsafeGetTensorImpl()->bump_version();
}

/// Makes `self`, a sparse tensor, the same as `result`, of the dtype of self.
void assign(Tensor& self, const Tensor& result);

}  // namespace at::sparse
