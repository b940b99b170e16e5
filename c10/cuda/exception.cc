#include "c10/cuda/exception.h"

#include <cuda_runtime.h>

#include "c10/util/exception.h"

namespace c10::cuda {

void throw_cuda_error(cudaError_t status, const char* call, const char* file, int line) {
  (void)cudaGetLastError();  // a sticky error stays; any other must not be reported twice
  TORCH_CHECK(false, "CUDA error: ", cudaGetErrorString(status), " (", cudaGetErrorName(status), ") in ", call, " at ",
              file, ":", line);
}

cudaError_t last_launch_status() { return cudaGetLastError(); }

}  // namespace c10::cuda
