// c10::copysign for all floating-point types.
#pragma once

#include <cmath>

#include "c10/util/bfloat16.h"
#include "c10/util/half.h"

namespace c10 {

template <class T, class U>
auto copysign(const T& a, const U& b) {
  return std::copysign(a, b);
}
inline Half copysign(Half a, Half b) { return Half(std::copysign(float(a), float(b))); }
inline BFloat16 copysign(BFloat16 a, BFloat16 b) { return BFloat16(std::copysign(float(a), float(b))); }

}  // namespace c10
