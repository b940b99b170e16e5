// Pools of memory apart from the common one, by libtorch's names.
#pragma once

#include "c10/cuda/caching_allocator.h"

namespace at::cuda {
using c10::cuda::MemPool;
using c10::cuda::MemPoolContext;
}  // namespace at::cuda
