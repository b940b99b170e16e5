#include "aten/cuda/graph_test_kernels.h"

#include "c10/cuda/launch.h"

namespace at::cuda::testing {

__global__ void show_kernel(const __grid_constant__ PhiloxCudaState random, uint64_t* out) {
  const auto [seed, offset] = philox::unpack(random);
  out[0] = seed;
  out[1] = offset;
}

__global__ void mix_kernel(uint64_t* out, const uint64_t* a, const uint64_t* b, uint64_t tag, uint32_t n) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 31 * a[i] + 17 * b[i] + tag;
}

void show(const PhiloxCudaState& random, uint64_t* out, cudaStream_t stream) {
  c10::cuda::launch_or_throw("show", show_kernel, {.grid = 1, .block = 1, .stream = stream}, random, out);
}

void mix(uint64_t* out, const uint64_t* a, const uint64_t* b, uint64_t tag, uint32_t n, cudaStream_t stream) {
  c10::cuda::launch_or_throw("mix", mix_kernel, {.grid = (n + 63) / 64, .block = 64, .stream = stream}, out, a, b, tag,
                             n);
}

}  // namespace at::cuda::testing
