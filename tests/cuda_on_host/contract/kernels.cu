#include "tests/cuda_on_host/contract/kernels.h"

#include "c10/cuda/launch.h"

namespace contract {
namespace {

using c10::cuda::launch;

__global__ void set_kernel(int* to, int value, int64_t count) {
  const int64_t block = (static_cast<int64_t>(blockIdx.z) * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const int64_t thread = (static_cast<int64_t>(threadIdx.z) * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const int64_t i = block * blockDim.x * blockDim.y * blockDim.z + thread;
  if (i < count) to[i] = value;
}

__global__ void add_kernel(int* to, const int* a, const int* b, int64_t count) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) to[i] = a[i] + b[i];
}

__global__ void append_kernel(int* to, int digit) {
  *to = *to * 10 + digit;
}

__global__ void trap_kernel() {
  __trap();
}

unsigned blocks(int64_t count) {
  return static_cast<unsigned>((count + 63) / 64);
}

}  // namespace

cudaError_t set(int* to, int value, int64_t count, cudaStream_t stream) {
  return launch("contract_set", set_kernel, {.grid = blocks(count), .block = 64, .stream = stream}, to, value, count);
}

cudaError_t add(int* to, const int* a, const int* b, int64_t count, cudaStream_t stream) {
  return launch("contract_add", add_kernel, {.grid = blocks(count), .block = 64, .stream = stream}, to, a, b, count);
}

cudaError_t append(int* to, int digit, cudaStream_t stream) {
  return launch("contract_append", append_kernel, {.grid = 1, .block = 1, .stream = stream}, to, digit);
}

cudaError_t trap(cudaStream_t stream) {
  return launch("contract_trap", trap_kernel, {.grid = 1, .block = 1, .stream = stream});
}

cudaError_t set_in_shape(int* to, int value, dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream) {
  return launch("contract_set", set_kernel,
                {.grid = grid, .block = block, .shared_bytes = shared_bytes, .stream = stream}, to, value, int64_t{1});
}

const void* set_function() {
  return c10::cuda::function(set_kernel);
}

}  // namespace contract
