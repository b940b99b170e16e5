// Larger and smaller numbers, and bounds.
#pragma once

#include "aten/cuda/loops/functions.cuh"

namespace at::cuda {

// A NaN among the arguments is the result, the first of them.
AT_CUDA_FN(Maximum, 2, is_nan(a) ? a : is_nan(b) ? b : a > b ? a : b)
AT_CUDA_FN(Minimum, 2, is_nan(a) ? a : is_nan(b) ? b : a < b ? a : b)
// The number beside a NaN.
AT_CUDA_FN(Fmax, 2, is_nan(a) ? b : is_nan(b) ? a : a > b ? a : b)
AT_CUDA_FN(Fmin, 2, is_nan(a) ? b : is_nan(b) ? a : a < b ? a : b)

template <class T>
KD_DEVICE T raise(T a, T low) {
  return is_nan(a) || a > low ? a : low;
}
template <class T>
KD_DEVICE T lower(T a, T high) {
  return is_nan(a) || a < high ? a : high;
}
AT_CUDA_FN(Clamp, 1, lower(raise(a, p[0]), p[1]))
AT_CUDA_FN(ClampMin, 1, raise(a, p[0]))
AT_CUDA_FN(ClampMax, 1, lower(a, p[0]))
AT_CUDA_FN(ClampTensor, 3, is_nan(a) ? a : is_nan(b) ? b : is_nan(c) ? c : lower(raise(a, b), c))

}  // namespace at::cuda
