// Which weights of attention its dropout keeps: the same on every device.
#pragma once

#include <cstdint>

namespace at::matrix {

// SplitMix64's finaliser: a weight's fate depends on the seed and its place alone.
constexpr uint64_t attention_mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// What the places of one query begin with; `head` is batch * heads + head.
constexpr uint64_t attention_row_seed(uint64_t seed, int64_t head, int64_t query) {
  return attention_mix(attention_mix(seed + 0x9e3779b97f4a7c15u * static_cast<uint64_t>(head + 1)) +
                       static_cast<uint64_t>(query));
}

/// A number below 2^53, evenly distributed: the weight is kept where it is not below 2^53 times the probability of
/// dropping it.
constexpr uint64_t attention_draw(uint64_t row_seed, int64_t key) {
  return attention_mix(row_seed + 0x9e3779b97f4a7c15u * static_cast<uint64_t>(key + 1)) >> 11;
}

/// For attention_draw, so that its key counts from `keys` on.
constexpr uint64_t attention_row_seed_from(uint64_t row_seed, int64_t keys) {
  return row_seed + 0x9e3779b97f4a7c15u * static_cast<uint64_t>(keys);
}

}  // namespace at::matrix
