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
}  // namespace std
