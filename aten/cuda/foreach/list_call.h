// A call of a pointwise operator on lists of tensors as its kernel gets it: the tensors' addresses are arguments of the
// kernel.
#pragma once

#include <cstdint>

#include "c10/core/scalar_type.h"

namespace at::cuda {

inline constexpr int kListInputs = 3;
inline constexpr int kListTensors = 56;
/// Elements that a block computes.
inline constexpr int64_t kListChunk = 16384;

struct ListCall {
  struct Entry {
    void* out;
    const void* inputs[kListInputs];  // null: the number
    int64_t numel;
    alignas(8) char number[8];  // in the compute type, as is the parameter
    alignas(8) char parameter[8];
  };
  int tensors;
  uint32_t first_block[kListTensors + 1];  // of a tensor
  Entry entries[kListTensors];
};

/// Launches on all entries, whose elements are of `dtype`: Float, Double, Half or BFloat16.
using ListLauncher = void (*)(c10::ScalarType dtype, const ListCall& call);

}  // namespace at::cuda
