// Functions of the rows of dense CUDA tensors, as kernels get them.
#pragma once

#include <cstdint>

#include "c10/core/scalar_type.h"

namespace at::cuda {

inline constexpr int kMaxRowInputs = 4;

/// Rows of `size` elements, `inner` elements apart: row r begins at r / inner * size * inner + r % inner.
struct RowsCall {
  const char* name;
  // Of the rows' own shape; the ones from `of_columns` on have an element for each place in a row. Null: not given.
  const char* in[kMaxRowInputs];
  c10::ScalarType in_dtype[kMaxRowInputs];
  int of_columns;
  char* out;
  c10::ScalarType out_dtype;
  // Two numbers of each row, in the type that is computed in: results of forward functions, inputs of backward ones.
  void* numbers[2];
  double eps;
  int64_t rows, size, inner;
  bool vectors;  // inner is 1 and eight elements of every operand can be read together
  int lanes;     // threads of a row: 1, 32 or 256
};

inline constexpr int64_t kRowVectorElements = 8;

/// Threads that share one of `rows` rows of `size` elements side by side: a warp, or a block where rows are long, or
/// few of them would not fill a device.
constexpr int lanes_of_rows(int64_t rows, int64_t size) {
  return size > 1024 || (rows < 132 * 8 && size > 256) ? 256 : 32;
}

using RowsLauncher = void (*)(const RowsCall& call);

// By the type that is computed in: double, or float.
struct RowsLaunchers {
  RowsLauncher float32, float64;
};

extern const RowsLaunchers kSoftmaxRows, kLogSoftmaxRows;                  // in: x
extern const RowsLaunchers kSoftmaxBackwardRows, kLogSoftmaxBackwardRows;  // in: gradient, result
extern const RowsLaunchers kLayerNormRows;          // in: x, weight, bias; numbers: mean, 1 / deviation
extern const RowsLaunchers kLayerNormBackwardRows;  // in: gradient, x, weight; numbers: mean, 1 / deviation

/// Chooses lanes and vectors, and launches. The call has everything else.
void run_rows(const RowsLaunchers& launchers, RowsCall call);

}  // namespace at::cuda
