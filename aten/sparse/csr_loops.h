#pragma once

#include <cstdint>

namespace at::sparse {

/// Rows [first, end) of the product of a sparse matrix by rows with a dense one of `columns` columns, row-major: row i
/// of `out` is the sum of values[k] times row places[k] of `dense` for k in [pointers[i], pointers[i + 1]). Chosen for
/// the processor.
void multiply_rows(const int64_t* pointers, const int64_t* places, const float* values, const float* dense,
                   int64_t columns, int64_t first, int64_t end, float* out);
void multiply_rows(const int64_t* pointers, const int64_t* places, const double* values, const double* dense,
                   int64_t columns, int64_t first, int64_t end, double* out);

}  // namespace at::sparse
