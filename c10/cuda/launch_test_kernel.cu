#include "c10/cuda/launch_test_kernel.h"

#include "c10/cuda/launch.h"

namespace c10::cuda {
namespace {

__global__ void scale_and_add_kernel(float a, const float* x, float* y, int64_t n) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) y[i] += a * x[i];
}

}  // namespace

void scale_and_add(float a, const float* x, float* y, int64_t n, int threads, cudaStream_t stream) {
  launch_or_throw("scale_and_add", scale_and_add_kernel,
                  {.grid = 128, .block = static_cast<unsigned>(threads), .stream = stream}, a, x, y, n);
}

}  // namespace c10::cuda
