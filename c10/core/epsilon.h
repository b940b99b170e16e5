#pragma once

#include "c10/core/scalar_type.h"

namespace c10 {

/// The distance from 1 to the next number of a dtype of 16, 32 or 64 bits, or of the real part of a complex one: eps of
/// PyTorch's finfo. Of any other dtype that of Float.
constexpr double epsilon_of(ScalarType type) {
  switch (toRealValueType(type)) {
    case ScalarType::Double:
      return 0x1p-52;
    case ScalarType::Half:
      return 0x1p-10;
    case ScalarType::BFloat16:
      return 0x1p-7;
    default:
      return 0x1p-23;
  }
}

}  // namespace c10

namespace at {
using c10::epsilon_of;
}
