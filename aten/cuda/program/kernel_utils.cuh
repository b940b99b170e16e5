// Additions to memory that several threads share, by libtorch's name.
#pragma once

#include "c10/cuda/atomic.cuh"

namespace at::native {

/// tensor[index] += value, atomically. `numel` is the tensor's size, whatever `fast_atomics` says.
template <typename scalar_t, typename index_t>
__device__ __forceinline__ void fastAtomicAdd(scalar_t* tensor, index_t index, const index_t /*numel*/, scalar_t value,
                                              bool /*fast_atomics*/) {
  gpuAtomicAddNoReturn(tensor + index, value);
}

}  // namespace at::native
