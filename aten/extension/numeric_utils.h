// Functions of one number, for loops over any dtype.
#pragma once

#include <cmath>
#include <type_traits>

#include "c10/util/complex.h"

namespace at {

/// Whether the number, or one part of a complex one, is not a number. Never for integers.
template <class T>
bool _isnan(T value) {
  if constexpr (std::is_integral_v<T>) {
    return false;
  } else if constexpr (c10::is_complex_v<T>) {
    return _isnan(value.real()) || _isnan(value.imag());
  } else {
    return std::isnan(static_cast<double>(value));
  }
}
/// Whether the number is infinite. Never for integers.
template <class T>
bool _isinf(T value) {
  if constexpr (std::is_integral_v<T>) {
    return false;
  } else {
    return std::isinf(static_cast<double>(value));
  }
}

template <class T>
  requires std::is_floating_point_v<T>
T exp(T x) {
  return std::exp(x);
}
template <class T>
  requires std::is_floating_point_v<T>
T log(T x) {
  return std::log(x);
}
template <class T>
  requires std::is_floating_point_v<T>
T log1p(T x) {
  return std::log1p(x);
}
template <class T>
  requires std::is_floating_point_v<T>
T tan(T x) {
  return std::tan(x);
}

}  // namespace at

/// Division of integers that rounds down.
template <class T>
T div_rtn(T x, T y) {
  const T quotient = x / y;
  return x % y != 0 && (x % y < 0) != (y < 0) ? quotient - 1 : quotient;
}
