#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace contract {

// to[i] = value, for `count` integers.
cudaError_t set(int* to, int value, int64_t count, cudaStream_t stream);
// to[i] = a[i] + b[i].
cudaError_t add(int* to, const int* a, const int* b, int64_t count, cudaStream_t stream);
// *to = *to * 10 + digit: the order of several shows in the result.
cudaError_t append(int* to, int digit, cudaStream_t stream);
// Ends with a fault.
cudaError_t trap(cudaStream_t stream);
// set() with this shape and so much dynamic shared memory.
cudaError_t set_in_shape(int* to, int value, dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream);
// set()'s kernel, for functions that ask about one.
const void* set_function();

}  // namespace contract
