// Elementary functions.
#pragma once

#include "aten/cuda/loops/math_function.cuh"

namespace at::cuda {

#ifndef KD_RUNTIME_COMPILED
// Re = expm1(x) cos y - 2 sin^2(y / 2): nothing cancels near zero.
KD_DEVICE Complex expm1_of(Complex z) {
  const double e = ::expm1(z.real()), s = ::sin(z.imag() / 2);
  return Complex(e * ::cos(z.imag()) - 2 * s * s, (e + 1) * ::sin(z.imag()));
}
KD_DEVICE Complex log1p_of(Complex z) {
  const double x = z.real(), y = z.imag();
  if (abs_of(z) < 0.5) return Complex(::log1p(x * (2 + x) + y * y) / 2, ::atan2(y, 1 + x));
  return log_of(Complex(1 + x, y));
}
KD_DEVICE Complex complex_power_of(Complex z, Complex w) {
  if (w.imag() == 0) {
    if (w.real() == 0) return Complex(1);
    if (w.real() == 1) return z;
    if (w.real() == 2) return z * z;
  }
  if (z.real() == 0 && z.imag() == 0 && w.real() > 0) return Complex(0);
  return exp_of(w * log_of(z));
}
#endif

constexpr double kLn2 = 0.69314718055994530942, kLog2E = 1.44269504088896340736, kLog10E = 0.43429448190325182765;

AT_CUDA_MATH(Exp, ::exp(a), exp_of(z))
AT_CUDA_MATH(Exp2, ::exp2(a), exp_of(z* kLn2))
AT_CUDA_MATH(Expm1, ::expm1(a), expm1_of(z))
AT_CUDA_MATH(Log, ::log(a), log_of(z))
AT_CUDA_MATH(Log2, ::log2(a), log_of(z) * kLog2E)
AT_CUDA_MATH(Log10, ::log10(a), log_of(z) * kLog10E)
AT_CUDA_MATH(Log1p, ::log1p(a), log1p_of(z))
AT_CUDA_MATH(Sqrt, ::sqrt(a), sqrt_of(z))
AT_CUDA_MATH(Rsqrt, T(1) / ::sqrt(a), Complex(1) / sqrt_of(z))
AT_CUDA_MATH(Sin, ::sin(a), sin_of(z))
AT_CUDA_MATH(Cos, ::cos(a), cos_of(z))
AT_CUDA_MATH(Tan, ::tan(a), tan_of(z))
AT_CUDA_MATH(Sinh, ::sinh(a), sinh_of(z))
AT_CUDA_MATH(Cosh, ::cosh(a), cosh_of(z))
AT_CUDA_MATH(Tanh, ::tanh(a), tanh_of(z))
AT_CUDA_MATH(Sigmoid, T(1) / (T(1) + ::exp(-a)), Complex(1) / (Complex(1) + exp_of(-z)))

AT_CUDA_MATH(Asin, ::asin(a), asin_of(z))
AT_CUDA_MATH(Acos, ::acos(a), acos_of(z))
AT_CUDA_MATH(Atan, ::atan(a), atan_of(z))
AT_CUDA_MATH(Asinh, ::asinh(a), asinh_of(z))
AT_CUDA_MATH(Acosh, ::acosh(a), acosh_of(z))
AT_CUDA_MATH(Atanh, ::atanh(a), atanh_of(z))
AT_CUDA_FN(Erf, 1, static_cast<T>(::erf(a)))
AT_CUDA_FN(Erfc, 1, static_cast<T>(::erfc(a)))
AT_CUDA_FN(Atan2, 2, static_cast<T>(::atan2(a, b)))
AT_CUDA_FN(Hypot, 2, static_cast<T>(::hypot(a, b)))
AT_CUDA_MATH_2(Xlogy,
               is_nan(b)   ? b
               : a == T(0) ? T(0)
                           : static_cast<T>(a * ::log(b)),
               z == Complex(0) ? Complex(0) : z * log_of(w))
AT_CUDA_FN(Logit, 1, static_cast<T>(::log(a / (T(1) - a))))
// Within [eps, 1 - eps]; 1 less the upper bound is eps again.
AT_CUDA_FN(LogitClamped, 1,
           static_cast<T>(::log(a<p[0] ? p[0] / (T(1) - p[0]) : a> T(1) - p[0] ? (T(1) - p[0]) / p[0]
                                                                               : a / (T(1) - a))))

// sin(pi x) / (pi x), the argument reduced before it is multiplied.
KD_DEVICE double sinc_of_real(double x) {
  if (x == 0) return 1;
  const double r = ::remainder(x, 2.0), near = ::fabs(r) <= 0.5 ? r : ::copysign(1.0, r) - r;
  return ::sin(3.14159265358979323846 * near) / (3.14159265358979323846 * x);
}
AT_CUDA_MATH(Sinc, sinc_of_real(a), sinc_of(z))

AT_CUDA_FN(Fmod, 2, static_cast<T>(::fmod(a, b)))
template <class T>
KD_DEVICE T remainder_of(T a, T b) {
  const T r = ::fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
template <class T>
KD_DEVICE T floor_quotient(T a, T b) {
  if (b == 0) return a / b;
  const T r = ::fmod(a, b);
  T q = (a - r) / b;
  if (r != 0 && (b < 0) != (r < 0)) q -= 1;
  if (q == 0) return ::copysign(T(0), a / b);
  const T f = ::floor(q);
  return q - f > T(0.5) ? f + 1 : f;
}
AT_CUDA_FN(Remainder, 2, remainder_of(a, b))
AT_CUDA_FN(FloorDivide, 2, floor_quotient(a, b))

// Of numbers a and b, both of them inf or both -inf, the number itself; else the larger and what the other adds.
template <class T>
KD_DEVICE T larger_with(T a, T b, T added) {
  return a == b && ::isinf(a) ? a : (a > b ? a : b) + added;
}
AT_CUDA_MATH_2(LogAddExp, larger_with(a, b, static_cast<T>(::log1p(::exp(-::fabs(a - b))))), logaddexp_of(z, w))
AT_CUDA_FN(LogAddExp2, 2, larger_with(a, b, static_cast<T>(::log1p(::exp2(-::fabs(a - b))) * T(kLog2E))))

// Integers wrap; of a negative exponent only bases 1 and -1 give anything but 0. 0 ^ 0 = 1.
template <class T>
KD_DEVICE T power_of(T base, T exponent) {
  if constexpr (std::is_integral_v<T>) {
    if (exponent < 0) return base == 1 ? T(1) : base == T(-1) ? ((exponent & 1) ? T(-1) : T(1)) : T(0);
    Wrapping<T> square = wrapping(base), result = 1;
    for (; exponent != 0; exponent >>= 1, square *= square) {
      if (exponent & 1) result *= square;
    }
    return static_cast<T>(result);
  } else {
    return static_cast<T>(::pow(base, exponent));
  }
}
AT_CUDA_MATH_2(Pow, power_of(a, b), complex_power_of(z, w))

AT_CUDA_FN(SigmoidBackward, 2, a*(T(1) - conjugate(b)) * conjugate(b))
AT_CUDA_FN(TanhBackward, 2, a*(T(1) - conjugate(b) * conjugate(b)))

}  // namespace at::cuda
