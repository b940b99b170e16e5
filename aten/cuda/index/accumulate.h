// Reductions of elements that go to places which a tensor of indices names.
#pragma once

#include <cstdint>

#include "aten/core/tensor.h"
#include "aten/cuda/index/accumulate_call.h"
#include "c10/core/scalar.h"

namespace at::cuda {

/// Slices of a dense tensor seen as [outer][rows][inner] that take those of a dense one seen as [outer][n][inner].
struct Accumulation {
  const char* name;
  Reduction reduction;
  Tensor to;      // changed in place
  Tensor from;    // of to's dtype: slices in the order of `places`, or one element, which stands for all
  Tensor places;  // n numbers in [0, rows), int32 or int64, dense
  int64_t outer = 1, rows = 1, inner = 1;
  Scalar alpha = 1;          // what elements are multiplied by, for kSum
  bool include_self = true;  // whether what is in a place takes part, for all but kAssign
  int64_t skipped = -1;      // a place that takes nothing
};

/// to[o][places[i]][k] (op)= from[o][i][k]; places that are not named keep what they hold. The result does not depend
/// on the order of blocks: slices for one place are joined in the order of i, many of them by a fixed tree. kAssign:
/// the last one stays. Half and bfloat16 are summed in float, integers in int64; kMax and kMin give NaN where one takes
/// part. Runs on the current stream.
void accumulate(const Accumulation& call);

}  // namespace at::cuda
