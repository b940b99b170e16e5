// Kernels that take one element a thread, by libtorch's names.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "c10/util/exception.h"

namespace at::cuda::detail {

inline constexpr int CUDA_NUM_THREADS = 1024;

/// The blocks for `n` elements.
inline int GET_BLOCKS(int64_t n, int64_t max_threads_per_block = CUDA_NUM_THREADS) {
  TORCH_INTERNAL_ASSERT(n > 0, "CUDA kernel launch blocks must be positive, but got N=", n);
  const int64_t blocks = (n - 1) / max_threads_per_block + 1;
  return static_cast<int>(std::min<int64_t>(blocks, std::numeric_limits<int>::max()));
}

}  // namespace at::cuda::detail

/// for (index i : 0 .. n - 1), divided among the threads of the grid.
#define CUDA_KERNEL_LOOP_TYPE(i, n, index_type)                                                                    \
  for (int64_t kd_i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; kd_i < static_cast<int64_t>(n); \
       kd_i += static_cast<int64_t>(blockDim.x) * gridDim.x)                                                       \
    if (index_type i = static_cast<index_type>(kd_i); false) {                                                     \
    } else
#define CUDA_KERNEL_LOOP(i, n) CUDA_KERNEL_LOOP_TYPE(i, n, int)
