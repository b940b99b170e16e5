#pragma once

#include <array>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/sparse/compressed_tensor_impl.h"
#include "aten/sparse/sparse_tensor_impl.h"

// What the kernels of compressed sparse tensors share. "Lines" are what is compressed: rows of csr and bsr, columns of
// csc and bsc; of bsr and bsc lines and places are those of blocks.
namespace at::sparse {

/// The indices of a compressed tensor, looked through: the pointers of each matrix go up from 0 to nnz, the others are
/// in range.
struct Lines {
  int64_t batch;             // matrices
  int64_t count;             // lines of a matrix
  int64_t width;             // places of a line
  int64_t nnz;               // elements of a matrix
  Tensor compressed, plain;  // int64, contiguous

  const int64_t* pointers(int64_t matrix) const { return compressed.const_data_ptr<int64_t>() + matrix * (count + 1); }
  const int64_t* places(int64_t matrix) const { return plain.const_data_ptr<int64_t>() + matrix * nnz; }
};
/// Throws c10::Error for indices that break what is said above.
Lines lines_of(const Tensor& t);

/// Throws c10::Error, in PyTorch's words, where pointers or indices of int32 or int64 break an invariant: pointers from
/// 0 to nnz that never fall, indices in [0, width), with `sorted` each line sorted and distinct.
void check_indices(bool rows, const Tensor& compressed, const Tensor& plain, int64_t count, int64_t width, int64_t nnz,
                   bool sorted);

/// Throws c10::Error for the first of those invariants, that is where pointers break one.
void check_pointers(bool rows, const Tensor& compressed, int64_t count, int64_t width, int64_t nnz);

/// Of each element, block elements one by one, the place in batch x rows x columns (row-major): int64.
Tensor element_places(const Tensor& t);
/// The values of these elements: elements x dense sizes, over the memory of t where it can be.
Tensor element_values(const Tensor& t);
/// The values of t from those of its elements.
Tensor values_from_elements(const Tensor& t, const Tensor& elements);

/// The same elements in coordinates; batch dimensions are sparse ones there.
Tensor coordinates(const Tensor& t);

/// A coalesced tensor in coordinates in a compressed layout; its last two sparse dimensions are the matrix, those
/// before are a batch. Throws c10::Error where matrices of a batch differ in their number of elements, and where blocks
/// do not divide them.
Tensor compress(const char* op, const Tensor& coordinates, Layout layout, std::array<int64_t, 2> block = {1, 1});

/// The blocks of `self` in the layout `to`: of one element where that has none, else `blocksize`, else those that `self` has.
/// Throws c10::Error for a layout that is not sparse, and where a size of blocks is missing, useless or not positive.
std::array<int64_t, 2> block_of(const char* op, const Tensor& self, Layout to, OptionalIntArrayRef blocksize);

/// `t` in another compressed layout; itself where it has it already, and the blocks.
Tensor to_compressed(const char* op, const Tensor& t, Layout layout, std::array<int64_t, 2> block = {1, 1});

/// `t` with indices of another dtype.
Tensor with_index_type(const Tensor& t, ScalarType type);

/// A tensor of size `sizes` without elements.
Tensor empty_compressed(Layout layout, IntArrayRef sizes, std::array<int64_t, 2> block, int64_t dense_dim,
                        ScalarType index_type, const TensorOptions& options);

}  // namespace at::sparse
