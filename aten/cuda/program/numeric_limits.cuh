// Limits of numbers for kernels, by libtorch's names: bounds are infinities where the type has them.
#pragma once

#include <limits>

#include "c10/macros/macros.h"
#include "c10/util/bfloat16.h"
#include "c10/util/half.h"

namespace at {

template <typename T>
struct numeric_limits {
  static C10_HOST_DEVICE T lowest() {
    constexpr T value = std::numeric_limits<T>::lowest();
    return value;
  }
  static C10_HOST_DEVICE T max() {
    constexpr T value = std::numeric_limits<T>::max();
    return value;
  }
  static C10_HOST_DEVICE T lower_bound() {
    if constexpr (std::numeric_limits<T>::has_infinity) {
      return -upper_bound();
    } else {
      return lowest();
    }
  }
  static C10_HOST_DEVICE T upper_bound() {
    constexpr T value =
        std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
    return value;
  }
};

}  // namespace at
