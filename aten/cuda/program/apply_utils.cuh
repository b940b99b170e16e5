// Grids for one thread an element, by libtorch's names.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>

#include "aten/cuda/program/index_utils.cuh"
#include "c10/cuda/device.h"

namespace at::cuda {

/// a / b, rounded up.
template <typename T>
C10_HOST_DEVICE constexpr T ATenCeilDiv(T a, T b) {
  return (a + b - 1) / b;
}

inline constexpr uint32_t AT_APPLY_THREADS_PER_BLOCK = 512;
inline constexpr uint32_t AT_APPLY_BLOCKS_PER_SM = 4;

inline dim3 getApplyBlock(int max_threads_per_block = AT_APPLY_THREADS_PER_BLOCK) {
  return dim3(static_cast<uint32_t>(max_threads_per_block));
}

/// The blocks for `totalElements`, at most what the device's limit allows. False for a device that does not exist.
template <int step = 1>
inline bool getApplyGrid(uint64_t totalElements, dim3& grid, c10::DeviceIndex curDevice,
                         int max_threads_per_block = AT_APPLY_THREADS_PER_BLOCK) {
  if (curDevice < 0 || curDevice >= c10::cuda::device_count()) return false;
  const uint64_t each = static_cast<uint64_t>(max_threads_per_block) * step;
  const auto limit = static_cast<uint64_t>(at::cuda::getDeviceProperties(curDevice)->maxGridSize[0]);
  grid = dim3(static_cast<uint32_t>(std::min(limit, std::max<uint64_t>(ATenCeilDiv(totalElements, each), 1))));
  return true;
}

}  // namespace at::cuda
