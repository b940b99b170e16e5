// Functions of the toolkit for kernels that are templates over float and double, by libtorch's names. Files of the host
// include it too, and find nothing.
#pragma once

#if defined(__CUDACC__) || defined(KD_CUDA_ON_HOST)

#include <cuda_runtime.h>

#define KD_CUDA_COMPAT(name)                         \
  __device__ __forceinline__ float name(float x) {   \
    return ::name##f(x);                             \
  }                                                  \
  __device__ __forceinline__ double name(double x) { \
    return ::name(x);                                \
  }
#define KD_CUDA_COMPAT_2(name, function)                       \
  __device__ __forceinline__ float name(float x, float y) {    \
    return ::function##f(x, y);                                \
  }                                                            \
  __device__ __forceinline__ double name(double x, double y) { \
    return ::function(x, y);                                   \
  }

namespace c10::cuda::compat {

__device__ __forceinline__ float abs(float x) {
  return ::fabsf(x);
}
__device__ __forceinline__ double abs(double x) {
  return ::fabs(x);
}
KD_CUDA_COMPAT(ceil)
KD_CUDA_COMPAT(exp)
KD_CUDA_COMPAT(floor)
KD_CUDA_COMPAT(log)
KD_CUDA_COMPAT(log1p)
KD_CUDA_COMPAT(sqrt)
KD_CUDA_COMPAT(tan)
KD_CUDA_COMPAT(tanh)
KD_CUDA_COMPAT(rsqrt)
KD_CUDA_COMPAT_2(copysign, copysign)
KD_CUDA_COMPAT_2(max, fmax)
KD_CUDA_COMPAT_2(min, fmin)
KD_CUDA_COMPAT_2(pow, pow)

__device__ __forceinline__ void sincos(float x, float* sine, float* cosine) {
  return ::sincosf(x, sine, cosine);
}
__device__ __forceinline__ void sincos(double x, double* sine, double* cosine) {
  return ::sincos(x, sine, cosine);
}

}  // namespace c10::cuda::compat

#undef KD_CUDA_COMPAT
#undef KD_CUDA_COMPAT_2

#endif  // __CUDACC__ || KD_CUDA_ON_HOST
