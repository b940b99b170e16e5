#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "aten/core/tensor.h"
#include "aten/sparse/csr_rows.h"

// What sparse_parts.h, compressed_parts.h and csr_rows.h do by loops for CPU tensors, for CUDA tensors: put together
// from operators, in aten/cuda/sparse. Named weakly, so that programs without CUDA tensors do not link it. Indices are
// not looked through: one out of range is an error of the operators that use it, or gives wrong elements.
namespace at::sparse::device {

/// As sparse::coalesced, of a tensor in coordinates that is not. Waits for the device.
[[gnu::weak]] Tensor coalesced(const Tensor& t);

[[gnu::weak]] Tensor flat_places(const Tensor& indices, IntArrayRef sizes);
[[gnu::weak]] Tensor element_places(const Tensor& t);
/// Of a compressed tensor. Waits for the device, to see whether places go up.
[[gnu::weak]] Tensor coordinates(const Tensor& t);

/// The indices of elements that are compressed, and their values.
struct Compressed {
  Tensor pointers;  ///< matrices x (lines + 1)
  Tensor places;    ///< of all elements, or blocks
  Tensor values;    ///< of elements, those of a block together
};
/// As sparse::compress, which has checked its arguments. Waits for the device where there are blocks or several
/// matrices.
[[gnu::weak]] Compressed compress(const Tensor& coordinates, Layout layout, std::array<int64_t, 2> block);

[[gnu::weak]] Rows rows_of(const char* op, const Tensor& t, bool transposed);
[[gnu::weak]] Tensor times_dense(const char* op, const Rows& a, const Tensor& dense);
/// The product of a matrix in coordinates and a sparse one of any layout. `in_order`: places go up in each row; else
/// they stand as they come up, an element of `left` after the other. Waits for the device.
[[gnu::weak]] Rows times_sparse(const Tensor& left, const Tensor& right, bool in_order);

/// Of each element at (i, j) of `a` the product of row i of `left` with row j of `right`.
[[gnu::weak]] Tensor sampled_products(const char* op, const Rows& a, const Tensor& left, const Tensor& right);
/// Solves a triangular system of floating or complex numbers for the right-hand sides in `x`, which is contiguous.
[[gnu::weak]] void solve_triangular(const char* op, const Rows& a, const Tensor& x, bool upper, bool unit);
/// The rows of a coalesced matrix in coordinates that have elements, and their numbers. Waits for the device.
[[gnu::weak]] std::pair<Rows, Tensor> stored_rows(const Tensor& t);

/// Softmax, or its logarithm, of values whose elements have one of the other indices in common, and its gradient.
/// Waits for the device.
[[gnu::weak]] Tensor softmax(const Tensor& t, int64_t dim, const Tensor& values, bool log);
[[gnu::weak]] Tensor softmax_backward(const Tensor& t, int64_t dim, const Tensor& grad, const Tensor& values, bool log);

/// A CSR matrix of the sums, or products, of rows (dim 1), columns (dim 0) or all of it; places where there is an
/// element. Waits for the device.
[[gnu::weak]] Tensor reduce_csr(const Tensor& t, bool rows_become_one, bool columns_become_one, const Tensor& values,
                                bool multiplies);

/// What an element of a row's weighted sum becomes: all are added up, perhaps divided by their number, or the greatest
/// or the least of them stands, and its number in a second result, -1 where a row has none.
enum class RowReduction { kSum, kMean, kMost, kLeast };
[[gnu::weak]] std::pair<Tensor, Tensor> reduce_rows(const char* op, const Rows& a, const Tensor& dense,
                                                    RowReduction kind);
/// The gradients of the elements of `a` and of `dense`.
[[gnu::weak]] std::pair<Tensor, Tensor> reduce_rows_backward(const char* op, const Rows& a, const Tensor& dense,
                                                             const Tensor& grad, RowReduction kind,
                                                             const Tensor& argument);

/// How often each of `places` is among `named`.
[[gnu::weak]] Tensor times_named(const Tensor& places, const Tensor& named);

/// Which of places, in order, each of `wanted` is, and whether it is one.
struct Found {
  Tensor numbers, found;
};
[[gnu::weak]] Found find(const Tensor& places, const Tensor& wanted);
/// As sparse::values_at.
[[gnu::weak]] Tensor values_at(const Tensor& t, const Tensor& places);
/// The numbers of what two lists of places in order have in common. Waits for the device.
[[gnu::weak]] std::pair<Tensor, Tensor> common(const Tensor& a, const Tensor& b);

/// Which of `row` are from + k * step below `to`, and these k. Waits for the device.
[[gnu::weak]] std::pair<Tensor, Tensor> in_slice(const Tensor& row, int64_t from, int64_t to, int64_t step);
/// The elements whose index in `row`, below `size`, is one of `wanted` (from -size on), of one after the other, and
/// where in `wanted` it stands. Waits for the device.
[[gnu::weak]] std::pair<Tensor, Tensor> selected(const Tensor& row, const Tensor& wanted, int64_t size);
/// Adds `by` to `count` indices of one dimension from `first` on.
[[gnu::weak]] void shift(const Tensor& indices, int64_t dim, int64_t first, int64_t count, int64_t by);

}  // namespace at::sparse::device
