#pragma once

#include <cstdint>

#include "c10/cuda/launch.h"

namespace at::cuda {

/// Which of a list's `tensors` a block works on, where each has the blocks from first_block[i] on.
__device__ inline int tensor_of_block(const uint32_t* first_block, int tensors, uint32_t block) {
  int low = 0, high = tensors;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (first_block[middle] <= block)
      low = middle;
    else
      high = middle;
  }
  return low;
}

}  // namespace at::cuda
