#pragma once

#include <cstdint>

#include "c10/core/scalar_type.h"

namespace at::cuda {

/// Element (i, j) of matrix number l lies at data + i * row + j * column + l * batch elements.
struct IntegerMatrices {
  const void* data;
  int64_t row, column, batch;
};

/// out[batches][m][n], without gaps, = a [m, k] * b [k, n] of one integer dtype, modulo its range. All sizes are at
/// least 1, m and n below 2^31, `batches` is at most 65,535.
struct IntegerProduct {
  c10::ScalarType dtype;
  int64_t batches, m, n, k;
  IntegerMatrices a, b;
  void* out;
};

/// Queues it on the current stream.
void launch_integer_product(const IntegerProduct& product);

}  // namespace at::cuda
