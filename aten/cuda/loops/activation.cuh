// Activations.
#pragma once

#include "aten/cuda/loops/math_function.cuh"

namespace at::cuda {

// The part of the normal distribution beyond t.
template <class T>
KD_DEVICE T normal_tail(T t) {
  return T(0.5) * static_cast<T>(::erfc(t * T(0.70710678118654752440)));
}
AT_CUDA_FN(Gelu, 1, a > T(100) ? a : at_least(a, T(0)) - ::fabs(a) * normal_tail(static_cast<T>(::fabs(a))))
template <class T>
KD_DEVICE T gelu_by_tanh(T x) {
  const T inner = T(0.79788456080286535588) * (x + T(0.044715) * x * x * x);
  return T(0.5) * x * (T(1) + static_cast<T>(::tanh(inner)));
}
AT_CUDA_FN(GeluTanh, 1, gelu_by_tanh(a))

// Below -80 silu and mish are x exp(x), whose exponential alone may be below the normal numbers.
template <class T>
KD_DEVICE T silu_of(T x) {
  if (x < T(-80)) {
    const T e = ::exp(x * T(0.5));
    return x * e * e;
  }
  const T e = ::exp(-::fabs(x));
  return x * (x < T(0) ? e : T(1)) / (T(1) + e);
}
AT_CUDA_MATH(Silu, silu_of(a), z / (Complex(1) + exp_of(-z)))
// tanh(log(1 + e)) = ((1 + e)^2 - 1) / ((1 + e)^2 + 1) for e = exp(x); beyond 20 it is 1.
template <class T>
KD_DEVICE T mish_of(T x) {
  if (x > T(20)) return x;
  if (x < T(-80)) {
    const T e = ::exp(x * T(0.5));
    return x * e * e;
  }
  const T e = ::exp(x), n = e * (e + T(2));
  return x * n / (n + T(2));
}
AT_CUDA_FN(Mish, 1, mish_of(a))

// log(1 + exp(-|x|))
template <class T>
KD_DEVICE T softened(T x) {
  return static_cast<T>(::log1p(::exp(-::fabs(x))));
}
// p: beta, threshold.
AT_CUDA_FN(Softplus, 1, a* p[0] > p[1] ? a : (at_least(a * p[0], T(0)) + softened(a * p[0])) / p[0])
AT_CUDA_FN(LogSigmoid, 1, at_most(a, T(0)) - softened(a))
AT_CUDA_FN(LogitCrossEntropy, 2, (T(1) - b) * a - at_most(a, T(0)) + softened(a))

// p: negative coefficient, scale, input scale.
AT_CUDA_FN(Elu, 1, a > T(0) ? a * p[1] : static_cast<T>(::expm1(a * p[2]) * p[0]))
AT_CUDA_FN(LeakyRelu, 1, a > T(0) ? a : a * p[0])
AT_CUDA_FN(Prelu, 2, a > T(0) ? a : a * b)
AT_CUDA_FN(Hardsigmoid, 1, at_most(at_least(a + T(3), T(0)), T(6)) / T(6))
AT_CUDA_FN(Hardswish, 1, a*(at_most(at_least(a + T(3), T(0)), T(6)) / T(6)))
AT_CUDA_FN(Softshrink, 1, a > p[0] ? a - p[0] : a < -p[0] ? a + p[0] : a * T(0))
AT_CUDA_FN(Hardshrink, 1, a > p[0] || a < -p[0] || is_nan(a) ? a : T(0))
AT_CUDA_FN(Threshold, 1, a <= p[0] ? p[1] : a)
AT_CUDA_FN(SquaredDifference, 2, (a - b) * (a - b))

}  // namespace at::cuda
