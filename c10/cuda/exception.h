#pragma once

// Every CUDA call's status is checked:
//     C10_CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream));
//     kernel<<<grid, block, 0, stream>>>(...); C10_CUDA_KERNEL_LAUNCH_CHECK();

#include <driver_types.h>

namespace c10::cuda {

// Throws c10::Error with CUDA's name and text of `status`, the call and its place. cudaSuccess is not passed here.
[[noreturn]] void throw_cuda_error(cudaError_t status, const char* call, const char* file, int line);

// The status of the calling thread's last launch, which it clears.
cudaError_t last_launch_status();

}  // namespace c10::cuda

#define C10_CUDA_CHECK(call)                                                                   \
  do {                                                                                         \
    const cudaError_t kd_status = (call);                                                      \
    if (kd_status != cudaSuccess) ::c10::cuda::throw_cuda_error(kd_status, #call, __FILE__, __LINE__); \
  } while (0)

#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(::c10::cuda::last_launch_status())
