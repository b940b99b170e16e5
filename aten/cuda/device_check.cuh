#pragma once

#include "c10/cuda/launch.h"

namespace at::cuda {

/// Ends the launch where `holds` is false. The error comes out of a later call, as of every fault of a kernel; on the
/// host with `what`.
__device__ __forceinline__ void device_check(bool holds, [[maybe_unused]] const char* what) {
  if (holds) return;
#ifdef KD_CUDA_ON_HOST
  simt::fault(what);
#else
  __trap();
#endif
}

}  // namespace at::cuda
