// Arithmetic, for kernels of tensors and of lists of tensors.
#pragma once

#include "aten/cuda/loops/functions.cuh"

namespace at::cuda {

AT_CUDA_FN(Add, 2, static_cast<T>(wrapping(a) + wrapping(b)))
AT_CUDA_FN(AddScaled, 2, static_cast<T>(wrapping(a) + wrapping(b) * wrapping(p[0])))
AT_CUDA_FN(Sub, 2, static_cast<T>(wrapping(a) - wrapping(b)))
AT_CUDA_FN(Mul, 2, static_cast<T>(wrapping(a) * wrapping(b)))
AT_CUDA_FN(Div, 2, a / b)
AT_CUDA_FN(Addcmul, 3, static_cast<T>(wrapping(a) + wrapping(p[0]) * wrapping(b) * wrapping(c)))
AT_CUDA_FN(Addcdiv, 3, a + p[0] * b / c)

// From the nearer end, so that weights 0 and 1 give the ends themselves.
template <class T>
KD_DEVICE T interpolate(T a, T b, T weight) {
  bool from_first;
  if constexpr (kIsComplex<T>) {
    using Part = decltype(weight.real());
    from_first = weight.real() * weight.real() + weight.imag() * weight.imag() < Part(0.25);
  } else {
    from_first = weight < T(0.5) && weight > T(-0.5);
  }
  return from_first ? a + weight * (b - a) : b - (b - a) * (T(1) - weight);
}
AT_CUDA_FN(Lerp, 3, interpolate(a, b, c))
AT_CUDA_FN(LerpScalar, 2, interpolate(a, b, p[0]))

}  // namespace at::cuda
