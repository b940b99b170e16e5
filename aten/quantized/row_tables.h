#pragma once
// Tables of vectors whose rows are quantized by themselves: the integers of a row, several in a byte where they have 4
// or 2 bits, the first in the lowest ones, and then the row's scale and its least number, floats for 8 bits, else
// halves.

#include <optional>

#include "aten/core/tensor.h"

namespace at::quantized {

/// How the range of a row is chosen.
struct RowRange {
  /// [rows, 2], the least and the greatest number of each; else its own.
  std::optional<Tensor> least_most;
  /// By the search of choose_qparams_optimized.
  bool optimized = false;
  int64_t bins = 200;
  double ratio = 0.16;
};

/// [..., columns] of floats or halves as such a table of `bits` 8, 4 or 2, dtype Byte. Throws c10::Error for other
/// dtypes, for more than two dimensions where bits are not 8, and where the columns do not fill whole bytes.
Tensor pack_rows(const char* op, const Tensor& weight, int bits, const RowRange& range = {});
/// The numbers of a table.
Tensor unpack_rows(const char* op, const Tensor& table, int bits);

/// Such a table of integers [rows, columns] (Byte) with a scale and a zero point (floats) for each, and back.
Tensor pack_integers(const Tensor& integers, const Tensor& scales, const Tensor& zero_points, int bits);
Tensor unpack_integers(const Tensor& table, int64_t columns, int bits);

/// What is asked of a table: rows, or sums of rows.
struct Lookup {
  Tensor indices;                 // Int or Long
  std::optional<Tensor> offsets;  // where bags of one-dimensional indices begin; none: the rows of two-dimensional ones
  std::optional<Tensor> weights;  // of the indices
  std::optional<Tensor> mapping;  // Int: which row of the table an index means, -1 none; {0}: all rows are there
  bool last_offset = false;       // offsets end with the number of indices
};
/// The rows that lookup.indices name, [indices..., columns].
Tensor rows_of(const char* op, const Tensor& table, int bits, const Tensor& indices);
/// The sum of each bag, [bags, columns].
Tensor sums_of_rows(const char* op, const Tensor& table, int bits, const Lookup& lookup);

}  // namespace at::quantized
