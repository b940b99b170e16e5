// Failures in the middle of a program's life.
#pragma once

#include <driver_types.h>

#include <cstdint>

namespace cuda_standin {

/// The n-th call from now on, counted from 0, fails as one of Options::fail_call does; -1: none. failed_call() is "".
void fail_call_from_now(int64_t n, cudaError_t with = cudaErrorMemoryAllocation);

}  // namespace cuda_standin
