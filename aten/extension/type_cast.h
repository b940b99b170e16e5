// Conversion between the numbers that tensors hold.
#pragma once

#include <bit>

#include "c10/core/scalar.h"

namespace c10 {

using std::bit_cast;

/// A number as another type, as static_cast does it; of a complex number for a real type the real part.
template <class To, class From>
To convert(From value) {
  if constexpr (is_complex_v<From> && !is_complex_v<To>) {
    return static_cast<To>(value.real());
  } else {
    return static_cast<To>(value);
  }
}

/// The same. Throws ValueError "value cannot be converted to type int8_t without overflow" where it does not fit; a negative
/// integer wraps into an unsigned type. The name of the type is taken from the type itself.
template <class To, class From>
To checked_convert(From value, const char* /*name*/ = "") {
  return Scalar(value).template to<To>();
}

}  // namespace c10
