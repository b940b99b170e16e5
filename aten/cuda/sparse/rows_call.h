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

}  // namespace at::cuda
