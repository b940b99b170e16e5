// The handle of cuSPARSE for programs that call the library themselves.
#pragma once

#include <cusparse.h>

namespace at::cuda {

/// A handle of the current device for the calling thread alone, on the current stream. A thread's handles go to other
/// threads when it ends. Throws c10::Error where a call of the library fails.
cusparseHandle_t getCurrentCUDASparseHandle();

namespace sparse {

/// Throws c10::Error "cusparse error: insufficient resources, when calling `cusparseCreate`" unless the status is
/// success; forgets the runtime's error, so that no later call reports it again.
void check(cusparseStatus_t status, const char* call);

}  // namespace sparse
}  // namespace at::cuda
