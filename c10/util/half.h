// c10::Half: IEEE 754 binary16 (1 sign, 5 exponent, 10 fraction bits), stored; arithmetic runs in float and rounds to
// nearest even. Implicit from and to float.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "c10/macros/macros.h"

namespace c10 {

namespace detail {

constexpr float fp16_to_fp32(uint16_t h) {
#if defined(__F16C__)
  if (!__builtin_is_constant_evaluated()) {
    _Float16 value;
    __builtin_memcpy(&value, &h, sizeof(h));
    return static_cast<float>(value);
  }
#endif
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  const uint32_t magnitude = static_cast<uint32_t>(h & 0x7fffu) << 13;
  uint32_t bits = 0;
  if (magnitude >= 0x0f800000u) {  // infinity and NaN keep an exponent of all ones
    bits = magnitude | 0x7f800000u;
  } else if (magnitude >= 0x00800000u) {  // normal: rebias from 15 to 127
    bits = magnitude + 0x38000000u;
  } else {
    // Subnormal: fraction * 2^-24, exact in float.
    bits = __builtin_bit_cast(uint32_t, static_cast<float>(h & 0x3ffu) * 0x1p-24f);
  }
  return __builtin_bit_cast(float, bits | sign);
}

constexpr uint16_t fp16_from_fp32(float f) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, f);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);   // NaN
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // rounds to 2^16 or beyond: infinity
  if (magnitude >= 0x38800000u) {
    const uint32_t odd = (magnitude >> 13) & 1u;
    return static_cast<uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
  }
  // Subnormal or zero: adding 1/2 makes the float adder align and round the fraction at 2^-24.
  const float aligned = __builtin_bit_cast(float, magnitude) + 0.5f;
  return static_cast<uint16_t>(sign | (__builtin_bit_cast(uint32_t, aligned) - 0x3f000000u));
}

}  // namespace detail

struct alignas(2) Half {
  uint16_t x;

  struct from_bits_t {};
  static constexpr from_bits_t from_bits() { return {}; }

  Half() = default;
  constexpr Half(uint16_t bits, from_bits_t) : x(bits) {}
  constexpr Half(float value) : x(detail::fp16_from_fp32(value)) {}
  constexpr operator float() const { return detail::fp16_to_fp32(x); }
};

static_assert(sizeof(Half) == 2 && std::is_trivially_copyable_v<Half>);

// ---- arithmetic: Half with Half, with an integer gives Half; with float or double gives that type ----
constexpr Half operator+(Half a, Half b) {
  return static_cast<float>(a) + static_cast<float>(b);
}
constexpr Half operator-(Half a, Half b) {
  return static_cast<float>(a) - static_cast<float>(b);
}
constexpr Half operator*(Half a, Half b) {
  return static_cast<float>(a) * static_cast<float>(b);
}
constexpr Half operator/(Half a, Half b) {
  return static_cast<float>(a) / static_cast<float>(b);
}
constexpr Half operator-(Half a) {
  return Half(static_cast<uint16_t>(a.x ^ 0x8000u), Half::from_bits());
}
constexpr Half& operator+=(Half& a, Half b) {
  return a = a + b;
}
constexpr Half& operator-=(Half& a, Half b) {
  return a = a - b;
}
constexpr Half& operator*=(Half& a, Half b) {
  return a = a * b;
}
constexpr Half& operator/=(Half& a, Half b) {
  return a = a / b;
}

#define KD_MIXED_(T, H, R)                                            \
  constexpr R operator+(H a, T b) {                                   \
    return static_cast<R>(static_cast<float>(a)) + static_cast<R>(b); \
  }                                                                   \
  constexpr R operator-(H a, T b) {                                   \
    return static_cast<R>(static_cast<float>(a)) - static_cast<R>(b); \
  }                                                                   \
  constexpr R operator*(H a, T b) {                                   \
    return static_cast<R>(static_cast<float>(a)) * static_cast<R>(b); \
  }                                                                   \
  constexpr R operator/(H a, T b) {                                   \
    return static_cast<R>(static_cast<float>(a)) / static_cast<R>(b); \
  }                                                                   \
  constexpr R operator+(T a, H b) {                                   \
    return static_cast<R>(a) + static_cast<R>(static_cast<float>(b)); \
  }                                                                   \
  constexpr R operator-(T a, H b) {                                   \
    return static_cast<R>(a) - static_cast<R>(static_cast<float>(b)); \
  }                                                                   \
  constexpr R operator*(T a, H b) {                                   \
    return static_cast<R>(a) * static_cast<R>(static_cast<float>(b)); \
  }                                                                   \
  constexpr R operator/(T a, H b) {                                   \
    return static_cast<R>(a) / static_cast<R>(static_cast<float>(b)); \
  }
#define KD_MIXED_INTEGER_(T, H)          \
  constexpr H operator+(H a, T b) {      \
    return a + H(static_cast<float>(b)); \
  }                                      \
  constexpr H operator-(H a, T b) {      \
    return a - H(static_cast<float>(b)); \
  }                                      \
  constexpr H operator*(H a, T b) {      \
    return a * H(static_cast<float>(b)); \
  }                                      \
  constexpr H operator/(H a, T b) {      \
    return a / H(static_cast<float>(b)); \
  }                                      \
  constexpr H operator+(T a, H b) {      \
    return H(static_cast<float>(a)) + b; \
  }                                      \
  constexpr H operator-(T a, H b) {      \
    return H(static_cast<float>(a)) - b; \
  }                                      \
  constexpr H operator*(T a, H b) {      \
    return H(static_cast<float>(a)) * b; \
  }                                      \
  constexpr H operator/(T a, H b) {      \
    return H(static_cast<float>(a)) / b; \
  }

KD_MIXED_(float, Half, float)
KD_MIXED_(double, Half, double)
KD_MIXED_INTEGER_(int, Half)
KD_MIXED_INTEGER_(int64_t, Half)
constexpr float& operator+=(float& a, Half b) {
  return a += static_cast<float>(b);
}
constexpr float& operator-=(float& a, Half b) {
  return a -= static_cast<float>(b);
}
constexpr float& operator*=(float& a, Half b) {
  return a *= static_cast<float>(b);
}
constexpr float& operator/=(float& a, Half b) {
  return a /= static_cast<float>(b);
}

}  // namespace c10

template <>
class std::numeric_limits<c10::Half> {
 public:
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = true;
  static constexpr bool is_integer = false;
  static constexpr bool is_exact = false;
  static constexpr bool has_infinity = true;
  static constexpr bool has_quiet_NaN = true;
  static constexpr bool has_signaling_NaN = true;
  static constexpr std::float_round_style round_style = std::round_to_nearest;
  static constexpr bool is_iec559 = true;
  static constexpr bool is_bounded = true;
  static constexpr bool is_modulo = false;
  static constexpr bool traps = false;
  static constexpr int digits = 11;
  static constexpr int digits10 = 3;
  static constexpr int max_digits10 = 5;
  static constexpr int radix = 2;
  static constexpr int min_exponent = -13;
  static constexpr int min_exponent10 = -4;
  static constexpr int max_exponent = 16;
  static constexpr int max_exponent10 = 4;
  static constexpr c10::Half bits(uint16_t x) { return {x, c10::Half::from_bits()}; }
  static constexpr c10::Half min() { return bits(0x0400); }
  static constexpr c10::Half lowest() { return bits(0xfbff); }
  static constexpr c10::Half max() { return bits(0x7bff); }
  static constexpr c10::Half epsilon() { return bits(0x1400); }
  static constexpr c10::Half round_error() { return bits(0x3800); }
  static constexpr c10::Half infinity() { return bits(0x7c00); }
  static constexpr c10::Half quiet_NaN() { return bits(0x7e00); }
  static constexpr c10::Half signaling_NaN() { return bits(0x7d00); }
  static constexpr c10::Half denorm_min() { return bits(0x0001); }
};

namespace at {
using c10::Half;
}
