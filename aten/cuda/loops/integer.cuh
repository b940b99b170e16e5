// Integers: quotients, bits, divisors.
#pragma once

#include "aten/cuda/loops/functions.cuh"

namespace at::cuda {

// What the quotient of the most negative number by -1 would overflow, wraps. By zero, which nobody can be told of: 0.
AT_CUDA_FN(IntTruncDivide, 2, b == T(0) ? T(0) : b == T(-1) ? static_cast<T>(-wrapping(a)) : static_cast<T>(a / b))
AT_CUDA_FN(IntFmod, 2, b == T(0) || b == T(-1) ? T(0) : static_cast<T>(a % b))
template <class T>
KD_DEVICE bool falls_short(T remainder, T divisor) {
  return remainder != 0 && (remainder < 0) != (divisor < 0);
}
template <class T>
KD_DEVICE T int_floor_divide(T a, T b) {
  if (b == 0) return 0;
  if (b == T(-1)) return static_cast<T>(-wrapping(a));
  return static_cast<T>(a / b - (falls_short(static_cast<T>(a % b), b) ? 1 : 0));
}
template <class T>
KD_DEVICE T int_remainder(T a, T b) {
  if (b == 0 || b == T(-1)) return 0;
  const T r = static_cast<T>(a % b);
  return falls_short(r, b) ? static_cast<T>(r + b) : r;
}
AT_CUDA_FN(IntFloorDivide, 2, int_floor_divide(a, b))
AT_CUDA_FN(IntRemainder, 2, int_remainder(a, b))

AT_CUDA_FN(BitwiseAnd, 2, static_cast<T>(a& b))
AT_CUDA_FN(BitwiseOr, 2, static_cast<T>(a | b))
AT_CUDA_FN(BitwiseXor, 2, static_cast<T>(a ^ b))

// The dtype's bits, which are fewer than the compute type's where that is wider.
template <class T>
KD_DEVICE bool shifts_all_out(T by, const T* params) {
  return by < 0 || by >= static_cast<T>(*reinterpret_cast<const int32_t*>(params));
}
AT_CUDA_FN(ShiftLeft, 2, shifts_all_out(b, p) ? T(0) : static_cast<T>(wrapping(a) << b))
AT_CUDA_FN(ShiftRight, 2, static_cast<T>(a >> (shifts_all_out(b, p) ? static_cast<T>(sizeof(T) * 8 - 1) : b)))

template <class T>
KD_DEVICE Wrapping<T> unsigned_magnitude(T a) {
  return a < 0 ? -wrapping(a) : wrapping(a);
}
template <class T>
KD_DEVICE T greatest_divisor(T a, T b) {
  Wrapping<T> x = unsigned_magnitude(a), y = unsigned_magnitude(b);
  while (y != 0) {
    const Wrapping<T> rest = x % y;
    x = y;
    y = rest;
  }
  return static_cast<T>(x);
}
template <class T>
KD_DEVICE T least_multiple(T a, T b) {
  const T divisor = greatest_divisor(a, b);
  return divisor == 0
             ? T(0)
             : static_cast<T>(unsigned_magnitude(static_cast<T>(wrapping(static_cast<T>(a / divisor)) * wrapping(b))));
}
AT_CUDA_FN(Gcd, 2, greatest_divisor(a, b))
AT_CUDA_FN(Lcm, 2, least_multiple(a, b))

}  // namespace at::cuda
