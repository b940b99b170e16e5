// Comparisons of integers of any two types by their values.
#pragma once

#include <limits>
#include <type_traits>

namespace c10 {

template <class T>
constexpr bool is_negative(const T& x) {
  if constexpr (std::is_unsigned_v<T>) return false;
  else return x < T(0);
}
/// -1, 0 or 1.
template <class T>
constexpr int signum(const T& x) {
  return (T(0) < x) - is_negative(x);
}
template <class T, class U>
constexpr bool signs_differ(const T& a, const U& b) {
  return is_negative(a) != is_negative(b);
}
/// Whether x is above, or below, all values of Limit.
template <class Limit, class T>
constexpr bool greater_than_max(const T& x) {
  if constexpr (std::is_integral_v<Limit> && std::is_integral_v<T>) {
    if (is_negative(x)) return false;
    return static_cast<std::make_unsigned_t<T>>(x) >
           static_cast<std::make_unsigned_t<Limit>>(std::numeric_limits<Limit>::max());
  } else {
    return x > static_cast<T>(std::numeric_limits<Limit>::max());
  }
}
template <class Limit, class T>
constexpr bool less_than_lowest(const T& x) {
  if constexpr (std::is_unsigned_v<Limit>) return is_negative(x);
  else if constexpr (std::is_unsigned_v<T>) return false;
  else return x < static_cast<std::common_type_t<T, Limit>>(std::numeric_limits<Limit>::lowest());
}

}  // namespace c10
