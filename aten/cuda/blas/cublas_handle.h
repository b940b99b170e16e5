// cuBLAS' handles for programs that call the library themselves.
#pragma once

#include <cublas_v2.h>

#include <cstddef>

#include "aten/cuda/blas/handle.h"

namespace at::cuda {

/// A handle of the current device for the calling thread alone, on the current stream, with a workspace of
/// getChosenWorkspaceSize() bytes of that stream, and with TF32 as at::globalContext() allows. A thread's handles go to
/// other threads when it ends. Throws c10::Error where a call of the library fails.
cublasHandle_t getCurrentCUDABlasHandle();

/// Bytes of the workspace of a handle and a stream, as CUBLAS_WORKSPACE_CONFIG says (see blas::workspace_bytes).
size_t getChosenWorkspaceSize();

/// Gives the workspaces of all handles back to the allocator. Nobody may be using a handle that was got before.
void clearCublasWorkspaces();

}  // namespace at::cuda
