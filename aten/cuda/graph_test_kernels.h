#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "aten/cuda/philox_state.h"

namespace at::cuda::testing {

/// out[0] = seed, out[1] = offset, as a kernel sees them.
void show(const PhiloxCudaState& random, uint64_t* out, cudaStream_t stream);

/// out[i] = 31 a[i] + 17 b[i] + tag; any of them may be the same.
void mix(uint64_t* out, const uint64_t* a, const uint64_t* b, uint64_t tag, uint32_t n, cudaStream_t stream);

}  // namespace at::cuda::testing
