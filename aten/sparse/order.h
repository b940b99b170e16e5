#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"

// Elements in the order of their places.
namespace at::sparse {

/// 0, ..., n - 1 in the order of keys, those of one key as they stand.
struct Order {
  std::vector<int64_t> numbers;
  std::vector<int64_t> starts;  // where each key begins among them, and n
  bool as_they_stand = true;    // numbers are 0, 1, 2, ...

  int64_t groups() const { return static_cast<int64_t>(starts.size()) - 1; }
};
/// Of keys in [0, range).
Order order_of(const int64_t* keys, int64_t n, int64_t range);

/// Of the columns of `indices` (int64, rows x n), which may be any numbers, first row first.
Order order_of(const Tensor& indices);

/// Numbers for the columns of two such lists of indices, in the order of these, the same for the same columns.
std::pair<Tensor, Tensor> common_keys(const Tensor& a, const Tensor& b);

/// Elements of two matrices by rows, at places that go up in each row, or of two lists of such as one row: which of
/// them stand at the same place.
struct Merged {
  Tensor pointers;    // where each row begins, and the number of elements
  Tensor of_a, of_b;  // int64: the number of the element of each result, in the order of places, -1: none
};
/// All places of both, or `common`: those that both name. `begin_a` and `begin_b` never fall; where places do not go
/// up, elements of one place may stand apart.
Merged merge_rows(int64_t rows, const int64_t* begin_a, const int64_t* places_a, const int64_t* begin_b,
                  const int64_t* places_b, bool common);

/// Whether places go up in each row, that is stand there once.
template <class Index>
bool go_up(int64_t rows, const Index* begin, const Index* places) {
  int64_t falls = 0;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t k = begin[i] + 1; k < begin[i + 1]; ++k) falls |= places[k] <= places[k - 1] ? 1 : 0;
  }
  return falls == 0;
}

}  // namespace at::sparse
