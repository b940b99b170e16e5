#pragma once

#include "aten/cuda/elementwise_call.h"

namespace at::cuda {

// Elements as they are, through a type between; of its kernels those for float, double, int64, uint64 and complex
// numbers exist.
extern const ElementKernels kCopyKernels;

}  // namespace at::cuda
