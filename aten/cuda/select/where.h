#pragma once

#include "aten/cuda/elementwise_call.h"

namespace at::cuda {

// Of inputs condition, a and b: a where the condition is not 0, and b elsewhere.
extern const ElementKernels kWhereKernels;

}  // namespace at::cuda
