#pragma once

#include <cstdint>

#include "c10/core/scalar_type.h"

namespace at::cuda {

/// The product of a sparse matrix by rows with a dense one, all contiguous and of one dtype.
struct SparseRowsCall {
  const char* name;
  c10::ScalarType dtype;
  int64_t rows, columns;  ///< of the result, which has an element
  const int64_t *pointers, *places;
  const char *values, *dense;
  char* out;
};
/// Sums are in the order of the elements; those of a product with few columns in that of a tree over a warp. Half types
/// add in float, integers in int64.
void launch_sparse_rows(const SparseRowsCall& call);

/// Solves the triangular system of the square matrix in `values` for the right-hand sides in `out`; `dense` does not
/// count. Elements on the other side of the diagonal do not count; `unit`: nor do those on it, which are 1. A thread
/// solves for a column, row after row.
void launch_triangular_rows(const SparseRowsCall& call, bool upper, bool unit);

/// The products of rows of two dense matrices that elements name, all contiguous and of one dtype.
struct SampledRowsCall {
  const char* name;
  c10::ScalarType dtype;
  int64_t elements, inner;  ///< there is an element
  const int64_t *lines, *places;
  const char *left, *right;
  char* out;
};
void launch_sampled_rows(const SampledRowsCall& call);

}  // namespace at::cuda
