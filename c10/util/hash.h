// Combining hashes: c10::get_hash(a, b, c) and c10::hash<X> for pairs, tuples' parts and vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "c10/util/array_ref.h"

namespace c10 {

// Mixes the bits of `value` into `seed` (a 64-bit finaliser of the multiply-xorshift kind).
constexpr size_t hash_combine(size_t seed, size_t value) {
  uint64_t x = seed * 0x9e3779b97f4a7c15u + value;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93u;
  x ^= x >> 32;
  return x;
}

template <typename X>
struct hash {
  size_t operator()(const X& value) const {
    if constexpr (std::is_enum_v<X> || std::is_integral_v<X>) {
      return hash_combine(0, static_cast<size_t>(value));
    } else if constexpr (std::is_convertible_v<const X&, std::string_view>) {
      return std::hash<std::string_view>()(value);
    } else if constexpr (requires { value.begin() != value.end(); }) {
      size_t seed = 0;
      for (const auto& v : value) seed = hash_combine(seed, hash<std::decay_t<decltype(v)>>()(v));
      return seed;
    } else {
      return std::hash<X>()(value);
    }
  }
};

template <typename... Xs>
size_t get_hash(const Xs&... values) {
  size_t seed = 0;
  ((seed = hash_combine(seed, hash<Xs>()(values))), ...);
  return seed;
}

}  // namespace c10
