// The handle of cuBLASLt, one a device for all threads.
#pragma once

#include <cublasLt.h>

#include <string>

namespace at::cuda {

/// The handle of the current device, made at the first call; it stays until the process ends. Throws c10::Error where
/// that fails.
cublasLtHandle_t getCurrentCUDABlasLtHandle();

namespace blas {

/// Throws c10::Error "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasLtCreate`" and what `about` says;
/// forgets the runtime's error, so that no later call reports it again.
[[noreturn]] void throw_cublas_error(cublasStatus_t status, const char* call, const std::string& about = "");

}  // namespace blas
}  // namespace at::cuda
