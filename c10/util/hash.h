// Combining hashes: c10::get_hash(a, b, c) and c10::hash<X> for pairs, tuples' parts and vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "c10/util/array_ref.h"

namespace c10 {

// Boost's documented mixing of two hashes.
constexpr size_t hash_combine(size_t seed, size_t value) {
  return seed ^ (value + 0x9e3779b9 + (seed << 6) + (seed >> 2));
}

template <typename X>
struct hash;

// The hash of one value is its own; of more, the last one's with those before it mixed in.
inline size_t get_hash() {
  return 0;
}
template <typename X>
size_t get_hash(const X& value) {
  return hash<X>()(value);
}
namespace detail {
// `before`: the hash of what stands before the value.
inline size_t hash_onto(size_t before) {
  return before;
}
template <typename X, typename... Xs>
size_t hash_onto(size_t before, const X& value, const Xs&... rest) {
  return hash_onto(hash_combine(hash<X>()(value), before), rest...);
}
}  // namespace detail
template <typename X, typename Y, typename... Xs>
size_t get_hash(const X& first, const Y& second, const Xs&... rest) {
  return detail::hash_onto(get_hash(first), second, rest...);
}

// Integers are their own hash; a list mixes its elements one after another; pairs and tuples are get_hash() of their parts.
template <typename X>
struct hash {
  size_t operator()(const X& value) const {
    if constexpr (std::is_enum_v<X> || std::is_integral_v<X>) {
      return static_cast<size_t>(value);
    } else if constexpr (std::is_convertible_v<const X&, std::string_view>) {
      return std::hash<std::string_view>()(value);
    } else if constexpr (requires { value.begin() != value.end(); }) {
      size_t seed = 0;
      for (const auto& v : value) seed = hash_combine(seed, hash<std::decay_t<decltype(v)>>()(v));
      return seed;
    } else if constexpr (requires { std::tuple_size<X>::value; }) {
      return std::apply([](const auto&... parts) { return get_hash(parts...); }, value);
    } else {
      return std::hash<X>()(value);
    }
  }
};

}  // namespace c10
