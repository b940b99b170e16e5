// cuSPARSE's handles for programs that run on the host: they are counted, and a wrong one is misuse
// (tests/cuda_on_host/runtime). Products are not here.
#pragma once

#include <cusparse.h>

#include <cstddef>

namespace cusparse_standin {

size_t live_handles();
/// The stream that a handle was set to last.
cudaStream_t stream_of(cusparseHandle_t handle);

}  // namespace cusparse_standin
