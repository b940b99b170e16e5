// Division by a number that is known before the kernel runs, by libtorch's names.
#pragma once

#include <cstdint>

#include "c10/macros/macros.h"
#include "c10/util/exception.h"

namespace at::cuda::detail {

template <typename Value>
struct DivMod {
  Value div, mod;
  C10_HOST_DEVICE DivMod(Value quotient, Value remainder) : div(quotient), mod(remainder) {}
};

template <typename Value>
struct IntDivider {
  IntDivider() = default;
  explicit IntDivider(Value d) : divisor(d) {}

  C10_HOST_DEVICE Value div(Value n) const { return n / divisor; }
  C10_HOST_DEVICE Value mod(Value n) const { return n % divisor; }
  C10_HOST_DEVICE DivMod<Value> divmod(Value n) const { return {n / divisor, n % divisor}; }

  Value divisor;
};

/// By a multiplication and a shift, of numbers up to INT32_MAX.
template <>
struct IntDivider<uint32_t> {
  IntDivider() = default;
  explicit IntDivider(uint32_t d) : divisor(d) {
    TORCH_CHECK(d >= 1 && d <= INT32_MAX, "IntDivider: expected a divisor from 1 to 2147483647, but got ", d);
    while ((uint32_t{1} << shift) < d) ++shift;
    factor = static_cast<uint32_t>(((uint64_t{1} << 32) * ((uint64_t{1} << shift) - d)) / d + 1);
  }

  C10_HOST_DEVICE uint32_t div(uint32_t n) const {
    const auto high = static_cast<uint32_t>(static_cast<uint64_t>(n) * factor >> 32);
    return (high + n) >> shift;
  }
  C10_HOST_DEVICE uint32_t mod(uint32_t n) const { return n - div(n) * divisor; }
  C10_HOST_DEVICE DivMod<uint32_t> divmod(uint32_t n) const {
    const uint32_t quotient = div(n);
    return {quotient, n - quotient * divisor};
  }

  uint32_t divisor = 1, factor = 1, shift = 0;
};

}  // namespace at::cuda::detail
