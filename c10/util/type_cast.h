// Conversions between numbers with a check of their range.
#pragma once

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "c10/util/complex.h"
#include "c10/util/type_safe_sign_math.h"

namespace c10 {

namespace detail {

template <class X>
struct RealPart {
  using type = X;
};
template <class X>
struct RealPart<complex<X>> {
  using type = X;
};
template <class X>
inline constexpr bool is_complex_number = !std::is_same_v<typename RealPart<X>::type, X>;

}  // namespace detail

/// Whether f is outside of To's values. Integers may wrap around once when they become unsigned (-1 is 255 as uint8_t)
/// unless `strict_unsigned`. A complex number fits into a real type where its imaginary part is zero; nothing is too
/// large for a bool.
template <class To, class From>
bool overflows(From f, bool strict_unsigned = false) {
  using Limit = std::numeric_limits<typename detail::RealPart<To>::type>;
  if constexpr (detail::is_complex_number<From>) {
    if constexpr (!detail::is_complex_number<To>) {
      if (f.imag() != 0) return true;
    }
    return overflows<typename detail::RealPart<To>::type>(f.real()) ||
           (detail::is_complex_number<To> && overflows<typename detail::RealPart<To>::type>(f.imag()));
  } else if constexpr (std::is_same_v<To, bool>) {
    return false;
  } else if constexpr (std::is_integral_v<From> && std::is_integral_v<typename detail::RealPart<To>::type>) {
    if constexpr (!Limit::is_signed && std::is_signed_v<From>) {
      if (!strict_unsigned) return greater_than_max<To>(f) || (is_negative(f) && -static_cast<__int128>(f) > Limit::max());
    }
    return less_than_lowest<To>(f) || greater_than_max<To>(f);
  } else {
    if (Limit::has_infinity && std::isinf(static_cast<double>(f))) return false;
    if (!Limit::has_quiet_NaN && f != f) return true;
    return f < Limit::lowest() || f > Limit::max();
  }
}

/// static_cast; the real part of a complex number for a real type.
template <class To, class From>
To convert(From f) {
  if constexpr (detail::is_complex_number<From> && !detail::is_complex_number<To>) return static_cast<To>(f.real());
  else return static_cast<To>(f);
}

/// Throws std::runtime_error.
[[noreturn]] inline void report_overflow(const char* name) {
  throw std::runtime_error(std::string("value cannot be converted to type ") + name + " without overflow");
}

/// convert(), or report_overflow(name) where f is out of range.
template <class To, class From>
To checked_convert(From f, const char* name) {
  if (!std::is_same_v<To, bool> && overflows<To, From>(f)) report_overflow(name);
  return convert<To, From>(f);
}

}  // namespace c10
