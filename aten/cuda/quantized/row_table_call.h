#pragma once

#include <cstdint>

namespace at::cuda {

/// Sums of rows of a table as aten/quantized/row_tables.h has it, all in device memory: out[bag] is the sum of the rows
/// that its indices name.
struct RowTableCall {
  const uint8_t* table;
  int bits;
  int64_t rows, columns, row_bytes;
  const int64_t* indices;  // null: index i is i
  int64_t count;           // of indices
  const int64_t* offsets;  // of each bag; null: bags of `bag` indices
  int64_t bags, bag;
  bool last_offset;        // whether there is one more offset, the end of the last bag
  const int32_t* mapping;  // of each index its row, or -1; null, or a single 0: the index
  int64_t mapped;
  const float* weights;  // of each index, or null: 1
  float* out;            // [bags, columns]
};
void launch_sums_of_rows(const RowTableCall& call);

}  // namespace at::cuda
