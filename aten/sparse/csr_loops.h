#pragma once

#include <cstdint>

// Loops of sparse matrices by rows, chosen for the processor. T: float or double; Index: int32_t or int64_t.
namespace at::sparse {

/// A sparse matrix by rows, by its memory: row i has values[k] at places[k] for k in [pointers[i], pointers[i + 1]).
template <class T, class Index>
struct RowsMemory {
  const int64_t* pointers;
  const Index* places;
  const T* values;
};

/// Whether n indices are in [0, size).
template <class Index>
bool are_in_range(const Index* indices, int64_t n, int64_t size);

/// Rows [first, end) of the product with a dense matrix of `height` rows and `columns` columns, row-major. False, with
/// rows that are not all written, where a place is not in [0, height).
template <class T, class Index>
bool multiply_rows(const RowsMemory<T, Index>& a, const T* dense, int64_t height, int64_t columns, int64_t first,
                   int64_t end, T* out);

/// Of each element k of rows [first, end), at (i, j), the product of rows i of `left` and j of `right`, of `inner`
/// elements: out[k]. Places are in range.
template <class T>
void multiply_sampled(const int64_t* pointers, const int64_t* places, const T* left, const T* right, int64_t inner,
                      int64_t first, int64_t end, T* out);

/// Rows [first, end) of what is the greatest product of an element and its row of a dense matrix, `greatest`, or the
/// least one, and of which element it is: 0 and -1 in rows without elements. NaN is greater and less than all. Places
/// are in range.
template <class T>
void reduce_rows(const RowsMemory<T, int64_t>& a, const T* dense, int64_t columns, bool greatest, int64_t first,
                 int64_t end, T* out, int64_t* from);

}  // namespace at::sparse
