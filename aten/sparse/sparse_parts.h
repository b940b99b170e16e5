#pragma once

#include <vector>

#include "aten/core/tensor.h"
#include "aten/sparse/compressed_tensor_impl.h"
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

/// Throws c10::Error, in PyTorch's words, for parts that do not make a tensor of that size.
void check_coordinates(const Tensor& indices, const Tensor& values, IntArrayRef size, bool coalesced);

/// Throws IndexError for an index that is out of the range of its dimension of `sizes`.
void check_places(const Tensor& indices, IntArrayRef sizes);

/// The places in a tensor of `sizes` (row-major), int64 of size nnz. Throws IndexError as above.
Tensor flat_places(const Tensor& indices, IntArrayRef sizes);

/// The values of a sparse tensor of any layout.
const Tensor& values_of(const Tensor& t);

/// A tensor like `t`, of any sparse layout, at the same places, with other values: `coalesced` as t.
Tensor with_values(const Tensor& t, const Tensor& values);

/// check_places, and flat_places, of the elements of a tensor in coordinates.
void check_places_of(const Tensor& t);
Tensor places_of(const Tensor& t);

/// The number of the element of coalesced `t` that stands at each of `places` (as flat_places gives them); -1: none.
std::vector<int64_t> find_places(const Tensor& t, const Tensor& places);

/// Rows of `values` where `rows` names one, zeros where it says -1.
Tensor spread(const Tensor& values, const std::vector<int64_t>& rows);

/// The values of coalesced `t` at `places` (as flat_places gives them), zeros where it has none.
Tensor values_at(const Tensor& t, const Tensor& places);

/// A sparse tensor of any layout in coordinates: itself, or a copy.
Tensor in_coordinates(const Tensor& t);

/// int64 numbers as a tensor.
Tensor long_tensor(const std::vector<int64_t>& numbers, c10::Device device = c10::kCPU);

/// The elements of dense `self` at flat places, in range, of its first `sparse_dim` dimensions: places x dense sizes.
/// An expanded `self` is not laid out.
Tensor gather_flat(const Tensor& self, const Tensor& places, int64_t sparse_dim);

/// The elements of dense `self` that stand where `indices` says: nnz x dense sizes.
Tensor gather_places(const Tensor& self, const Tensor& indices, int64_t sparse_dim);

/// The same of `self` as it broadcasts to `sizes`, without a tensor of that size: places x the dense sizes.
Tensor gather_expanded(const Tensor& self, IntArrayRef sizes, const Tensor& indices);

/// Adds alpha times the elements of the sparse `t`, of any layout, to the dense contiguous `into` of its size, which
/// counts the write.
void add_elements(const Tensor& into, const Tensor& t, const Scalar& alpha);

/// Throws NotImplementedError, as an operator without a kernel for the backend of `t` does, where a condition does not
/// hold.
void check_has_kernel(bool condition, const char* op, const Tensor& t);

/// A kernel wrote to `t`: counts it.
inline void mark_written(const Tensor& t) {
  t.unsafeGetTensorImpl()->bump_version();
}

/// Makes `self`, a sparse tensor, the same as `result`, of the dtype of self. Throws c10::Error for another layout.
void assign(Tensor& self, const Tensor& result);

/// Writes a result into `out`: a sparse one into a tensor of its layout, a dense one into a dense tensor, which is
/// resized.
Tensor& write_out(const char* op, Tensor& out, const Tensor& result);

}  // namespace at::sparse
