#pragma once

#include <cstdint>

#include "aten/cuda/reduce/reduce_call.h"

namespace at::cuda {

/// Rows of `size` > 0 elements, `inner` elements apart: row r begins at r / inner * size * inner + r % inner. Results
/// are dense.
struct SelectCall {
  c10::ScalarType dtype;
  const char* in;
  int64_t rows, size, inner;
  char* values;
  int64_t* indices;  // null: not wanted
  bool skip_nan;     // of medians
};

/// Element (n - 1) / 2 in order, its index as a stable sort gives it; the first NaN where there is one, or, with
/// skip_nan, of the others.
void launch_median(const SelectCall& call);
/// The most frequent element, the smallest of several, at its last place. Takes time with the square of a row's size.
void launch_mode(const SelectCall& call);

/// The exclusive or of elements of int64, as uint64.
ReduceLaunchers exclusive_or(ScalarType dtype, const cpu::ReduceParams& params);

}  // namespace at::cuda
