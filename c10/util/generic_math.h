// Division that rounds down, as Python's //, for integers and floating-point numbers.
#pragma once

#include <cmath>
#include <type_traits>

namespace c10 {

/// The quotient rounded down; of floating-point numbers as exact as the remainder is.
template <class T>
T div_floor_floating(T a, T b) {
  if (b == 0) return a / b;
  const T mod = std::fmod(a, b);
  T div = (a - mod) / b;
  if (mod != 0 && (b < 0) != (mod < 0)) div -= T(1);
  if (div == 0) return std::copysign(T(0), a / b);
  const T floor = std::floor(div);
  return div - floor > T(0.5) ? floor + T(1) : floor;
}
template <class T>
constexpr T div_floor_integer(T a, T b) {
  const T quotient = a / b;
  if constexpr (std::is_signed_v<T>) {
    if ((a < 0) != (b < 0) && a % b != 0) return quotient - 1;
  }
  return quotient;
}
/// The remainder with b's sign.
template <class T>
T div_mod(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    const T mod = std::fmod(a, b);
    return mod != 0 && (b < 0) != (mod < 0) ? mod + b : mod;
  } else {
    return static_cast<T>(a - b * div_floor_integer(a, b));
  }
}

}  // namespace c10
