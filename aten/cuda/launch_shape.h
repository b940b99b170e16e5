#pragma once

#include <algorithm>
#include <cstdint>

#include "c10/cuda/launch.h"

namespace at::cuda {

inline constexpr uint32_t kThreadsPerBlock = 256;
// Enough blocks to fill the largest devices several times over; threads take further elements in turns.
inline constexpr uint32_t kMostBlocks = 132 * 16;

/// For kernels whose threads step through `numel` > 0 elements, `each` at a time.
inline c10::cuda::Launch shape_for(uint32_t numel, uint32_t each, cudaStream_t stream) {
  const uint32_t turns = (numel - 1) / (kThreadsPerBlock * each) + 1;
  return {.grid = std::min(turns, kMostBlocks), .block = kThreadsPerBlock, .stream = stream};
}

}  // namespace at::cuda
