// Names of libtorch that mark symbols, and the limits that are known when the library is built.
#pragma once

#include "c10/macros/macros.h"

#define C10_CUDA_EXPORT C10_EXPORT
#define C10_CUDA_IMPORT C10_IMPORT

// The most devices that a process can use.
#define C10_COMPILE_TIME_MAX_GPUS 120

// A small function of kernels that the host can call, too.
#ifdef __CUDACC__
#define KD_DEVICE __host__ __device__ __forceinline__
#else
#define KD_DEVICE inline
#endif
