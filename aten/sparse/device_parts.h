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
/// The product of two sparse matrices in coordinates, coalesced. Waits for the device.
[[gnu::weak]] Tensor times_sparse(const Tensor& left, const Tensor& right);

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
/// Adds `by` to `count` indices of one dimension from `first` on.
[[gnu::weak]] void shift(const Tensor& indices, int64_t dim, int64_t first, int64_t count, int64_t by);

}  // namespace at::sparse::device
