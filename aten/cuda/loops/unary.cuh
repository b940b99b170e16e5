// Functions of one element that are a few instructions.
#pragma once

#include "aten/cuda/loops/functions.cuh"

namespace at::cuda {

AT_CUDA_FN(Neg, 1, static_cast<T>(-wrapping(a)))
template <class T>
KD_DEVICE T magnitude(T a) {
  if constexpr (std::is_unsigned_v<T>)
    return a;
  else if constexpr (std::is_integral_v<T>)
    return a < 0 ? static_cast<T>(-wrapping(a)) : a;
  else
    return ::fabs(a);
}
AT_CUDA_FN(Abs, 1, magnitude(a))
AT_CUDA_FN(Sign, 1, static_cast<T>((a > T(0)) - (a < T(0))))
AT_CUDA_FN(Ceil, 1, static_cast<T>(::ceil(a)))
AT_CUDA_FN(Floor, 1, static_cast<T>(::floor(a)))
AT_CUDA_FN(Round, 1, static_cast<T>(::nearbyint(a)))
AT_CUDA_FN(Trunc, 1, static_cast<T>(::trunc(a)))
AT_CUDA_FN(Frac, 1, static_cast<T>(a - ::trunc(a)))
AT_CUDA_FN(Reciprocal, 1, T(1) / a)
AT_CUDA_FN(Square, 1, static_cast<T>(wrapping(a) * wrapping(a)))
AT_CUDA_FN(Cube, 1, a* a* a)
AT_CUDA_FN(InverseSquare, 1, T(1) / (a * a))
AT_CUDA_FN(BitNot, 1, static_cast<T>(~a))
AT_CUDA_FN(Copysign, 2, static_cast<T>(::copysign(a, b)))
AT_CUDA_FN(NanToNum, 1, is_nan(a) ? p[0] : a == T(INFINITY) ? p[1] : a == T(-INFINITY) ? p[2] : a)
// p: 10^|decimals|, and whether decimals are negative.
AT_CUDA_FN(RoundDecimals, 1, static_cast<T>(p[1] != T(0) ? ::nearbyint(a / p[0]) * p[0] : ::nearbyint(a * p[0]) / p[0]))
AT_CUDA_FN(RealAngle, 1, is_nan(a) ? a : a < T(0) ? T(3.14159265358979323846) : T(0))
AT_CUDA_FN(Heaviside, 2, a == T(0) ? b : static_cast<T>(a > T(0)))
AT_CUDA_FN(TruncDivide, 2, static_cast<T>(::trunc(a / b)))

}  // namespace at::cuda
