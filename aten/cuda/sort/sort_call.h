#pragma once

#include "aten/cuda/elementwise_call.h"

namespace at::cuda {

/// The rows of a dense tensor seen as [outer][size][inner], along `size`. Positions count the elements row by row.
struct Rows {
  const char* data;
  ScalarType dtype;
  int64_t item;
  int64_t outer, size, inner;
  FastDivisor size_divisor, inner_divisor;  // where there are fewer than 2^31 elements
  bool wide;                                // else; then positions are int64, not int32

  constexpr int64_t rows() const { return outer * inner; }
  constexpr int64_t numel() const { return outer * size * inner; }
};

int key_bits(ScalarType dtype);

/// keys[p] = the image of the element at position p, the complement of it with `descending`, above it with `with_row`
/// the row's number; positions[p] = p. Keys of uint64 with `long_keys`, else of uint32.
void launch_sort_keys(const Rows& rows, bool descending, bool with_row, bool long_keys, void* keys, void* positions);
/// keys[i] = the row's number of positions[i], uint32.
void launch_row_keys(const Rows& rows, const void* positions, uint32_t* keys);

/// What stands in a row of sorted positions.
enum class Pick { kRun, kMedian, kNanMedian, kMode };

/// Values and indices of `count` elements a row, [outer][count][inner]: of those from `first` on in order, or of the
/// one that `pick` says.
struct PickCall {
  const char* name;
  Rows rows;
  const void* positions;  // sorted
  Pick pick;
  int64_t first, count;
  char* values;      // null: not wanted
  int64_t* indices;  // null: not wanted
};
void launch_pick(const PickCall& call);

/// flags[i] = whether the elements at positions[i - 1] and positions[i] differ, 1 for the first; `positions` null: i.
/// Elements are slices of `width` numbers of `dtype`.
void launch_differs(const char* data, ScalarType dtype, int64_t item, int64_t width, const int64_t* positions,
                    int64_t n, uint8_t* flags);
/// to[positions[i]] = from[i] - 1; `positions` null: i.
void launch_invert(const int64_t* from, const int64_t* positions, int64_t n, int64_t* to);
/// lengths[i] = starts[i + 1] - starts[i], the last one to n.
void launch_lengths(const int64_t* starts, int64_t count, int64_t n, int64_t* lengths);

/// What stands at the places of `values` in sorted rows.
struct SearchCall {
  const char* name;
  const char* rows;  // of `dtype`, dense
  const char* values;
  ScalarType dtype;
  int64_t item;
  int64_t length;         // of a row
  int64_t n;              // values
  int64_t width;          // values a row; 0: one row for all
  const int64_t* sorter;  // null: rows are sorted
  bool right;
  char* to;  // int64 places, or bools with `contains`
  bool contains, invert;
};
void launch_search(const SearchCall& call);

/// extremes[0], [1]: the least and the greatest image of `n` > 0 elements.
void launch_extremes(const char* data, ScalarType dtype, int64_t item, int64_t n, uint64_t* extremes);

/// counts[x[i]] += 1.
void launch_count(const int64_t* x, int64_t n, int64_t length, int64_t* counts);

struct HistogramCall {
  const char* data;
  ScalarType dtype;
  int64_t item, n, bins;
  double low, high, first, width, number;
  bool measurable;
  int64_t* counts;
};
void launch_histogram(const HistogramCall& call);

/// to[i] = the first place whose sum is above i; of int64 with `is_long`, else int32.
void launch_repeat(const int64_t* sums, int64_t count, int64_t n, bool is_long, void* to);

}  // namespace at::cuda
