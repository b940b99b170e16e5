#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace c10::cuda {

// y[i] = a * x[i] + y[i] on the device, n floats in device memory; returns when the launch is checked.
void scale_and_add(float a, const float* x, float* y, int64_t n, int threads, cudaStream_t stream = nullptr);

}  // namespace c10::cuda
