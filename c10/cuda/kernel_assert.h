// CUDA_KERNEL_ASSERT of kernels: a failed one ends the device's work, with its text, in builds of all kinds.
#pragma once

#include <cassert>

#include "c10/macros/macros.h"

#if defined(KD_CUDA_ON_HOST)
#undef CUDA_KERNEL_ASSERT
#define CUDA_KERNEL_ASSERT(cond) \
  (static_cast<bool>(cond) ? static_cast<void>(0) : ::simt::fault("Assertion `" #cond "` failed"))
#elif defined(__CUDACC__)
#ifdef NDEBUG
extern "C" __host__ __device__ void __assert_fail(const char*, const char*, unsigned, const char*) noexcept;
#endif
#undef CUDA_KERNEL_ASSERT
#define CUDA_KERNEL_ASSERT(cond) \
  (static_cast<bool>(cond) ? static_cast<void>(0) : __assert_fail(#cond, __FILE__, __LINE__, __func__))
#endif
