// Conversions between c10::complex and std::complex, for code that needs both.
#pragma once

#include <complex>

#include "c10/util/complex.h"
#include "c10/util/complex_math.h"

namespace c10 {

template <typename X>
std::complex<X> to_std(complex<X> z) {
  return {z.real(), z.imag()};
}
template <typename X>
complex<X> from_std(const std::complex<X>& z) {
  return {z.real(), z.imag()};
}

}  // namespace c10

// libtorch finds the functions of complex numbers in std, too.
namespace std {
template <typename X>
X abs(const c10::complex<X>& z) {
  return c10::abs(z);
}
template <typename X>
X arg(const c10::complex<X>& z) {
  return c10::arg(z);
}
template <typename X>
constexpr X norm(const c10::complex<X>& z) {
  return c10::norm(z);
}
template <typename X>
constexpr c10::complex<X> conj(const c10::complex<X>& z) {
  return c10::conj(z);
}
template <typename X>
constexpr X real(const c10::complex<X>& z) {
  return z.real();
}
template <typename X>
constexpr X imag(const c10::complex<X>& z) {
  return z.imag();
}
template <typename X>
c10::complex<X> log10(const c10::complex<X>& z) {
  return c10::from_std(log10(c10::to_std(z)));
}
template <typename X>
c10::complex<X> log2(const c10::complex<X>& z) {
  return c10::log(z) / X(0.693147180559945309417);
}
using c10::acos;
using c10::acosh;
using c10::asin;
using c10::asinh;
using c10::atan;
using c10::atanh;
using c10::cos;
using c10::cosh;
using c10::exp;
using c10::log;
using c10::pow;
using c10::sin;
using c10::sinh;
using c10::sqrt;
using c10::tan;
using c10::tanh;
}  // namespace std
