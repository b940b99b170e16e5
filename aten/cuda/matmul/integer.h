// Products of integer matrices, for which the library has no kernels.
#pragma once

#include <cstdint>

#include "c10/core/scalar_type.h"

namespace at::cuda {

struct IntegerOperand {
  void* data = nullptr;
  int64_t row = 0, column = 0, batch = 0;  // in elements
};

/// out = alpha * a @ b + beta * add for each of `batches` pairs, all of one integer dtype, wrapping. Sizes are at least
/// 1. Without `add`, whose data are null then, 0 is added. `add` may be `out`.
struct IntegerProduct {
  const char* name;
  c10::ScalarType dtype;
  int64_t batches, m, n, k;
  IntegerOperand a, b, add, out;
  int64_t alpha, beta;
};
/// Queues it on the current stream.
void multiply_integers(const IntegerProduct& product);

}  // namespace at::cuda
