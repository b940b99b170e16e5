// The handle of cuSOLVER, one a thread and device, and what calls of it share.
#pragma once

#include <cusolverDn.h>

namespace at::cuda {

/// A handle of the current device for the calling thread alone, on the current stream. A thread's handles go to other
/// threads when it ends. Throws c10::Error where a call of the library fails.
cusolverDnHandle_t getCurrentCUDASolverDnHandle();

namespace solver {

/// Throws c10::Error "cusolver error: CUSOLVER_STATUS_ALLOC_FAILED, when calling `cusolverDnCreate`" unless the status
/// is success; forgets the runtime's error, so that no later call reports it again.
void check(cusolverStatus_t status, const char* call);

/// The options of 64-bit calls: the library's defaults, for all threads.
cusolverDnParams_t default_params();

}  // namespace solver
}  // namespace at::cuda
