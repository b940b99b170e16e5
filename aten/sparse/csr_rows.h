#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "aten/core/tensor.h"
#include "c10/parallel/parallel.h"

// Matrices by rows, and their products with dense ones.
namespace at::sparse {

/// A sparse matrix by rows; a batch of them is one, whose columns of one matrix follow those of the one before. Places
/// may stand in any order and several times; they are in range, and pointers go up from 0 to their number.
struct Rows {
  int64_t rows = 0;
  int64_t columns = 0;
  Tensor pointers, places, values;  // contiguous; the first two of int64

  int64_t nnz() const { return places.numel(); }
  const int64_t* begin() const { return pointers.const_data_ptr<int64_t>(); }
  const int64_t* place() const { return places.const_data_ptr<int64_t>(); }
};

/// A sparse matrix of any layout, or a batch of them; transposed: by columns. Throws c10::Error for dense dimensions.
Rows rows_of(const char* op, const Tensor& t, bool transposed = false);

/// The dense product with a contiguous matrix of a.columns rows and a's dtype: a.rows x its columns.
Tensor times_dense(const char* op, const Rows& a, const Tensor& dense);

/// The dense product of a sparse matrix of any layout, or a batch of them one below the other, with such a matrix.
Tensor times_dense(const char* op, const Tensor& sparse, const Tensor& dense);

/// The product of two sparse matrices by rows. `in_order`: places go up in each row; else they stand as they come up,
/// an element of a after the other.
Rows times_sparse(const char* op, const Rows& a, const Rows& b, bool in_order);

/// A sparse matrix of any layout, of which places go up in each row: each place stands there once.
Rows ordered_rows(const char* op, const Tensor& t);

/// Sums and products as the dtype has them: integers wrap around.
template <class T>
T plus(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return static_cast<T>(a + b);
  }
}
template <class T>
T times(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return static_cast<T>(a * b);
  }
}

/// Calls f(first row, end) in parallel, on parts of about as many elements each. `work`: what an element costs.
template <class F>
void for_rows(const Rows& a, int64_t work, const F& f) {
  const int64_t total = a.nnz() + a.rows,
                grain = std::max<int64_t>(1, internal::GRAIN_SIZE / std::max<int64_t>(work, 1));
  const int64_t parts = std::clamp<int64_t>(total / grain, 1, int64_t{4} * get_num_threads());
  const int64_t* begin = a.begin();
  // The first row of a part: the elements and rows before it are the parts before it.
  const auto first = [&](int64_t part) {
    if (part == parts) return a.rows;
    const int64_t before = total / parts * part;
    int64_t low = 0, high = a.rows;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (begin[middle] + middle < before) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  };
  at::parallel_for(0, parts, 1, [&](int64_t from, int64_t to) {
    const int64_t b = first(from), e = first(to);
    if (b < e) f(b, e);
  });
}

}  // namespace at::sparse
