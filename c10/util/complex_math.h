// Functions of c10::complex<float> and c10::complex<double>, by the C library's complex functions (no <complex>). Also
// found for c10 types where code calls them unqualified: abs(z), exp(z) ...
#pragma once

#include "c10/util/complex.h"

namespace c10 {

namespace detail {
template <typename X>
struct CComplex;
template <>
struct CComplex<float> {
  using type = _Complex float;
};
template <>
struct CComplex<double> {
  using type = _Complex double;
};
template <typename X>
inline typename CComplex<X>::type to_c(complex<X> z) {
  typename CComplex<X>::type out;
  __real__ out = z.real();
  __imag__ out = z.imag();
  return out;
}
template <typename X>
inline complex<X> from_c(typename CComplex<X>::type z) {
  return complex<X>(__real__ z, __imag__ z);
}
}  // namespace detail

#define KD_UNARY_(name)                                                  \
  inline complex<float> name(complex<float> z) {                         \
    return detail::from_c<float>(__builtin_c##name##f(detail::to_c(z))); \
  }                                                                      \
  inline complex<double> name(complex<double> z) {                       \
    return detail::from_c<double>(__builtin_c##name(detail::to_c(z)));   \
  }
KD_UNARY_(exp)
KD_UNARY_(log)
KD_UNARY_(sqrt)
KD_UNARY_(sin)
KD_UNARY_(cos)
KD_UNARY_(tan)
KD_UNARY_(asin)
KD_UNARY_(acos)
KD_UNARY_(atan)
KD_UNARY_(sinh)
KD_UNARY_(cosh)
KD_UNARY_(tanh)
KD_UNARY_(asinh)
KD_UNARY_(acosh)
KD_UNARY_(atanh)
#undef KD_UNARY_

// |z|, without overflow of the squares.
inline float abs(complex<float> z) {
  return __builtin_hypotf(z.real(), z.imag());
}
inline double abs(complex<double> z) {
  return __builtin_hypot(z.real(), z.imag());
}
// The angle of z in [-pi, pi].
inline float arg(complex<float> z) {
  return __builtin_atan2f(z.imag(), z.real());
}
inline double arg(complex<double> z) {
  return __builtin_atan2(z.imag(), z.real());
}
// |z|^2
template <typename X>
constexpr X norm(complex<X> z) {
  return z.real() * z.real() + z.imag() * z.imag();
}
template <typename X>
constexpr complex<X> conj(complex<X> z) {
  return {z.real(), -z.imag()};
}
template <typename X>
constexpr X real(complex<X> z) {
  return z.real();
}
template <typename X>
constexpr X imag(complex<X> z) {
  return z.imag();
}
inline complex<float> polar(float r, float theta = 0) {
  return {r * __builtin_cosf(theta), r * __builtin_sinf(theta)};
}
inline complex<double> polar(double r, double theta = 0) {
  return {r * __builtin_cos(theta), r * __builtin_sin(theta)};
}
// log2 and log10: the natural logarithm, scaled.
template <typename X>
complex<X> log2(complex<X> z) {
  return log(z) * static_cast<X>(1.4426950408889634074);
}
template <typename X>
complex<X> log10(complex<X> z) {
  return log(z) * static_cast<X>(0.43429448190325182765);
}

inline complex<float> pow(complex<float> a, complex<float> b) {
  return detail::from_c<float>(__builtin_cpowf(detail::to_c(a), detail::to_c(b)));
}
inline complex<double> pow(complex<double> a, complex<double> b) {
  return detail::from_c<double>(__builtin_cpow(detail::to_c(a), detail::to_c(b)));
}
template <typename X>
complex<X> pow(complex<X> a, X b) {
  return pow(a, complex<X>(b));
}
template <typename X>
complex<X> pow(X a, complex<X> b) {
  return pow(complex<X>(a), b);
}

}  // namespace c10
