// Functions of the rows of dense CUDA tensors, as kernels get them.
#pragma once

#include <cstdint>

#include "aten/cuda/rows/row_units.h"
#include "c10/core/scalar_type.h"

namespace at::cuda {

inline constexpr int kMaxRowInputs = 4;

/// Neighbours that a thread reads and writes together where the widest operand is of the type computed in: 16 bytes.
template <class Compute>
inline constexpr int kPieceOf = sizeof(Compute) == 4 ? 4 : 2;

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
  // Of losses: the class of each row, and that of rows that do not count; what the gradients are multiplied with and
  // divided by (or null), in the type that is computed in.
  const int64_t* targets;
  int64_t ignored;
  const void *gradient, *divisor;
  bool gradient_of_each;
  int piece;  // neighbours that a thread reads together: 1, or as many as are 16 bytes of the widest operand
  int lanes;  // threads of a row: 1, 32 or 256
  bool holds;  // a thread keeps its elements in registers
};

using RowsLauncher = void (*)(const RowsCall& call);

// By the type that is computed in: double, or float.
struct RowsLaunchers {
  RowsLauncher float32, float64;
};

extern const RowsLaunchers kSoftmaxRows, kLogSoftmaxRows;                  // in: x
extern const RowsLaunchers kSoftmaxBackwardRows, kLogSoftmaxBackwardRows;  // in: gradient, result
extern const RowsLaunchers kLayerNormRows;          // in: x, weight, bias; numbers: mean, 1 / deviation
extern const RowsLaunchers kLayerNormBackwardRows;  // in: gradient, x, weight; numbers: mean, 1 / deviation

/// What is made of the losses of rows, which are of the type that is computed in.
struct LossTotal {
  const void* losses;
  const int64_t* targets;
  int64_t rows, ignored;
  char* loss;  // their sum, or its mean; null: not wanted
  c10::ScalarType dtype;
  bool mean;
  void* count;  // of the targets that are not `ignored`, in the type that is computed in
};
void add_losses(const LossTotal& call, bool doubles);

/// The gradients of layer normalisation, all at once: that of the input as kLayerNormBackwardRows, and sums over rows.
struct LayerNormGradients {
  RowsCall rows;
  char* grad_weight;  // null: not wanted
  char* grad_bias;
  c10::ScalarType weight_dtype, bias_dtype;
  void* parts;  // of each block: two numbers of each column, in the type that is computed in
  int blocks;
};
inline constexpr int kLayerNormWarps = 4;  // of a block
/// Completes a call that is ready for run_rows. Blocks that share the rows; 0 where no such kernel takes them.
int prepare_layer_norm_gradients(RowsCall& rows);
void layer_norm_gradients(const LayerNormGradients& call);

extern const RowsLaunchers kCrossEntropyRows;          // in: x; numbers: loss, logarithm of the sum of exponentials
extern const RowsLaunchers kCrossEntropyBackwardRows;  // in: x; numbers: that logarithm

/// Chooses lanes and pieces, and launches. The call has everything else.
void run_rows(const RowsLaunchers& launchers, RowsCall call);

}  // namespace at::cuda
