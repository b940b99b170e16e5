// Integer products and sums that tell about overflow.
#pragma once

#include <cstdint>

#include "c10/util/array_ref.h"

namespace c10 {

// *out = a * b (a + b); true where the result does not fit.
template <typename I>
constexpr bool mul_overflows(I a, I b, I* out) {
  return __builtin_mul_overflow(a, b, out);
}
template <typename I>
constexpr bool add_overflows(I a, I b, I* out) {
  return __builtin_add_overflow(a, b, out);
}

// The product of all values (1 for none); true where it does not fit.
inline bool safe_multiplies(IntArrayRef values, int64_t* out) {
  int64_t product = 1;
  bool overflow = false;
  for (int64_t v : values) {
    if (v == 0) {
      *out = 0;
      return false;
    }
    overflow |= __builtin_mul_overflow(product, v, &product);
  }
  *out = product;
  return overflow;
}

// Unchecked product and sum, of values known to be small.
template <typename C>
int64_t multiply_integers(const C& values) {
  int64_t product = 1;
  for (auto v : values) product *= v;
  return product;
}
template <typename C>
int64_t sum_integers(const C& values) {
  int64_t sum = 0;
  for (auto v : values) sum += v;
  return sum;
}

}  // namespace c10
