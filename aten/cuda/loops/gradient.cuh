// Gradients of activations, and losses of single elements with theirs.
#pragma once

#include "aten/cuda/loops/functions.cuh"

namespace at::cuda {

// Of (gradient, input).
template <class T>
KD_DEVICE T gelu_slope(T x) {
  const T tail = T(0.5) * static_cast<T>(::erfc(::fabs(x) * T(0.70710678118654752440)));
  return (x < T(0) ? tail : T(1) - tail) + x * (T(0.39894228040143267794) * static_cast<T>(::exp(T(-0.5) * x * x)));
}
template <class T>
KD_DEVICE T gelu_tanh_slope(T x) {
  constexpr T kBeta(0.79788456080286535588), kKappa(0.044715);
  const T t = ::tanh(kBeta * (x + kKappa * x * x * x)), slope = kBeta * (T(1) + T(3) * kKappa * x * x);
  return T(0.5) * (T(1) + t + x * (T(1) - t * t) * slope);
}
template <class T>
KD_DEVICE T silu_slope(T x) {
  const T s = T(1) / (T(1) + static_cast<T>(::exp(-x)));
  return s * (T(1) + x * (T(1) - s));
}
// exp(x) / (1 + exp(x))
template <class T>
KD_DEVICE T logistic(T x) {
  const T e = ::exp(-::fabs(x));
  return (x < T(0) ? e : T(1)) / (T(1) + e);
}
AT_CUDA_FN(GeluBackward, 2, a* gelu_slope(b))
AT_CUDA_FN(GeluTanhBackward, 2, a* gelu_tanh_slope(b))
AT_CUDA_FN(SiluBackward, 2, a* silu_slope(b))
AT_CUDA_FN(ThresholdBackward, 2, b <= p[0] ? T(0) : a)
AT_CUDA_FN(EluBackward, 2, a*(b <= T(0) ? static_cast<T>(::exp(b * p[2])) * p[1] : p[0]))
AT_CUDA_FN(EluResultBackward, 2, a*(b <= T(0) ? (b + p[2]) * p[1] : p[0]))
AT_CUDA_FN(LeakyReluBackward, 2, b > T(0) ? a : a * p[0])
AT_CUDA_FN(HardswishBackward, 2, b <= T(-3) ? T(0) : b < T(3) ? a * (b * T(1.0 / 3) + T(0.5)) : a)
AT_CUDA_FN(SoftplusBackward, 2, b* p[0] > p[1] ? a : a * logistic(b * p[0]))

// Of (input, target).
AT_CUDA_FN(AbsoluteDifference, 2, static_cast<T>(::fabs(a - b)))
template <class T>
KD_DEVICE T smooth_l1_of(T d, const T* p) {
  return d < p[0] ? d * d * p[1] : d - p[2];
}
template <class T>
KD_DEVICE T huber_of(T d, const T* p) {
  return d <= p[0] ? d * d * T(0.5) : (d - p[1]) * p[0];
}
AT_CUDA_FN(SmoothL1, 2, smooth_l1_of(static_cast<T>(::fabs(a - b)), p))
AT_CUDA_FN(Huber, 2, huber_of(static_cast<T>(::fabs(a - b)), p))
AT_CUDA_FN(SoftMargin, 2, static_cast<T>(::log1p(::exp(-::fabs(a* b)))) - at_most(a * b, T(0)))
AT_CUDA_FN(Divergence, 2, (b == T(0) ? T(0) : b * static_cast<T>(::log(b))) - b * a)
AT_CUDA_FN(DivergenceOfLogs, 2, static_cast<T>(::exp(b)) * (b - a))
template <class T>
KD_DEVICE T clamped(T d, const T* p) {
  return d > p[0] ? p[1] : d < -p[0] ? -p[1] : d * p[2];
}
AT_CUDA_FN(ClampedDifference, 3, a* clamped(b - c, p))

}  // namespace at::cuda
