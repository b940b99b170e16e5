// c10::BFloat16: the upper half of an IEEE 754 binary32 (1 sign, 8 exponent, 7 fraction bits), stored; arithmetic runs
// in float and rounds to nearest even. Implicit from and to float.
#pragma once

#include <cstdint>

#include "c10/util/half.h"

namespace c10 {

namespace detail {
constexpr float bf16_to_fp32(uint16_t x) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(x) << 16);
}

constexpr uint16_t bf16_from_fp32(float f) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, f);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return f != f ? uint16_t{0x7fc0} : static_cast<uint16_t>(rounded);
}
}  // namespace detail

struct alignas(2) BFloat16 {
  uint16_t x;

  struct from_bits_t {};
  static constexpr from_bits_t from_bits() { return {}; }

  BFloat16() = default;
  constexpr BFloat16(uint16_t bits, from_bits_t) : x(bits) {}
  constexpr BFloat16(float value) : x(detail::bf16_from_fp32(value)) {}
  constexpr operator float() const { return detail::bf16_to_fp32(x); }
};

static_assert(sizeof(BFloat16) == 2 && std::is_trivially_copyable_v<BFloat16>);

constexpr BFloat16 operator+(BFloat16 a, BFloat16 b) {
  return static_cast<float>(a) + static_cast<float>(b);
}
constexpr BFloat16 operator-(BFloat16 a, BFloat16 b) {
  return static_cast<float>(a) - static_cast<float>(b);
}
constexpr BFloat16 operator*(BFloat16 a, BFloat16 b) {
  return static_cast<float>(a) * static_cast<float>(b);
}
constexpr BFloat16 operator/(BFloat16 a, BFloat16 b) {
  return static_cast<float>(a) / static_cast<float>(b);
}
constexpr BFloat16 operator-(BFloat16 a) {
  return {static_cast<uint16_t>(a.x ^ 0x8000u), BFloat16::from_bits()};
}
constexpr BFloat16& operator+=(BFloat16& a, BFloat16 b) {
  return a = a + b;
}
constexpr BFloat16& operator-=(BFloat16& a, BFloat16 b) {
  return a = a - b;
}
constexpr BFloat16& operator*=(BFloat16& a, BFloat16 b) {
  return a = a * b;
}
constexpr BFloat16& operator/=(BFloat16& a, BFloat16 b) {
  return a = a / b;
}

KD_MIXED_(float, BFloat16, float)
KD_MIXED_(double, BFloat16, double)
KD_MIXED_INTEGER_(int, BFloat16)
KD_MIXED_INTEGER_(int64_t, BFloat16)
constexpr float& operator+=(float& a, BFloat16 b) {
  return a += static_cast<float>(b);
}
constexpr float& operator-=(float& a, BFloat16 b) {
  return a -= static_cast<float>(b);
}
constexpr float& operator*=(float& a, BFloat16 b) {
  return a *= static_cast<float>(b);
}
constexpr float& operator/=(float& a, BFloat16 b) {
  return a /= static_cast<float>(b);
}

// Either of the two with the other: the common range is float's.
constexpr float operator+(Half a, BFloat16 b) {
  return static_cast<float>(a) + static_cast<float>(b);
}
constexpr float operator+(BFloat16 a, Half b) {
  return static_cast<float>(a) + static_cast<float>(b);
}
constexpr float operator*(Half a, BFloat16 b) {
  return static_cast<float>(a) * static_cast<float>(b);
}
constexpr float operator*(BFloat16 a, Half b) {
  return static_cast<float>(a) * static_cast<float>(b);
}

#undef KD_MIXED_
#undef KD_MIXED_INTEGER_

}  // namespace c10

template <>
class std::numeric_limits<c10::BFloat16> {
 public:
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = true;
  static constexpr bool is_integer = false;
  static constexpr bool is_exact = false;
  static constexpr bool has_infinity = true;
  static constexpr bool has_quiet_NaN = true;
  static constexpr bool has_signaling_NaN = true;
  static constexpr std::float_round_style round_style = std::round_to_nearest;
  static constexpr bool is_iec559 = false;
  static constexpr bool is_bounded = true;
  static constexpr bool is_modulo = false;
  static constexpr bool traps = false;
  static constexpr int digits = 8;
  static constexpr int digits10 = 2;
  static constexpr int max_digits10 = 4;
  static constexpr int radix = 2;
  static constexpr int min_exponent = -125;
  static constexpr int min_exponent10 = -37;
  static constexpr int max_exponent = 128;
  static constexpr int max_exponent10 = 38;
  static constexpr c10::BFloat16 bits(uint16_t x) { return {x, c10::BFloat16::from_bits()}; }
  static constexpr c10::BFloat16 min() { return bits(0x0080); }
  static constexpr c10::BFloat16 lowest() { return bits(0xff7f); }
  static constexpr c10::BFloat16 max() { return bits(0x7f7f); }
  static constexpr c10::BFloat16 epsilon() { return bits(0x3c00); }
  static constexpr c10::BFloat16 round_error() { return bits(0x3f00); }
  static constexpr c10::BFloat16 infinity() { return bits(0x7f80); }
  static constexpr c10::BFloat16 quiet_NaN() { return bits(0x7fc0); }
  static constexpr c10::BFloat16 signaling_NaN() { return bits(0x7fa0); }
  static constexpr c10::BFloat16 denorm_min() { return bits(0x0001); }
};

namespace at {
using c10::BFloat16;
}
