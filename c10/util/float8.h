// The floating-point types of eight bits, and the pair of four bits, stored; arithmetic runs in float. Conversion from float
// rounds to nearest, ties to even.
//
//   type             largest   infinity  NaN           beyond the largest   negative zero
//   Float8_e4m3fn    448       no        0x7f, 0xff    448                  yes
//   Float8_e5m2      57344     yes       0x7d and on   infinity             yes
//   Float8_e4m3fnuz  240       no        0x80          NaN                  no
//   Float8_e5m2fnuz  57344     no        0x80          NaN                  no
//   Float8_e8m0fnu   2^127     no        0xff          NaN                  powers of two from 2^-127 on, no sign, no zero
//
//   c10::Float8_e4m3fn(1e6f) == 448.0f;  static_cast<float>(c10::Float8_e8m0fnu(3.0f)) == 4.0f
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

namespace c10 {

namespace detail {

// A sign, `kExponent` bits and `kFraction` bits.
enum class Float8Kind : uint8_t {
  kIeee,           // infinities and NaN where the exponent is all ones
  kFinite,         // "fn": NaN where all bits but the sign are ones
  kFiniteNoMinus,  // "fnuz": the code of -0 is the only NaN; the bias is greater by one
};

template <int kExponent, int kFraction, Float8Kind kKind>
struct Float8Format {
  static constexpr int kBias = (1 << (kExponent - 1)) - (kKind == Float8Kind::kFiniteNoMinus ? 0 : 1);
  static constexpr uint8_t kNan = kKind == Float8Kind::kFiniteNoMinus ? 0x80 : 0x7f;
  static constexpr uint8_t kInfinity = kKind == Float8Kind::kIeee ? 0x7f & ~((1 << kFraction) - 1) : kNan;
  // What stands for a finite value beyond the largest, and for infinity, but for its sign.
  static constexpr uint8_t kOverflow = kKind == Float8Kind::kFinite ? 0x7e : kInfinity;

  static constexpr float decode(uint8_t code) {
    const uint32_t magnitude = code & 0x7fu;
    const uint32_t sign = static_cast<uint32_t>(code & 0x80u) << 24;
    const float nan = __builtin_bit_cast(float, sign | 0x7fc00000u);
    if constexpr (kKind == Float8Kind::kFiniteNoMinus) {
      if (code == kNan) return __builtin_bit_cast(float, 0x7fc00000u);
    } else if constexpr (kKind == Float8Kind::kFinite) {
      if (magnitude == 0x7f) return nan;
    } else {
      if (magnitude > kInfinity) return nan;
      if (magnitude == kInfinity) return __builtin_bit_cast(float, sign | 0x7f800000u);
    }
    if (magnitude < (1u << kFraction)) {
      // Subnormal: fraction * 2^(1 - bias - fraction bits), exact in float.
      const float unit = __builtin_bit_cast(float, static_cast<uint32_t>(128 - kBias - kFraction) << 23);
      return __builtin_bit_cast(float, sign | __builtin_bit_cast(uint32_t, static_cast<float>(magnitude) * unit));
    }
    return __builtin_bit_cast(float, sign | ((magnitude << (23 - kFraction)) + (static_cast<uint32_t>(127 - kBias) << 23)));
  }

  static constexpr uint8_t encode(float value) {
    const uint32_t bits = __builtin_bit_cast(uint32_t, value);
    const uint32_t magnitude = bits & 0x7fffffffu;
    const uint32_t sign = (bits >> 24) & 0x80u;
    if (magnitude > 0x7f800000u) return kKind == Float8Kind::kFiniteNoMinus ? kNan : static_cast<uint8_t>(sign | kNan);
    uint32_t code;
    if (magnitude >= static_cast<uint32_t>(128 - kBias) << 23) {
      const uint32_t odd = (magnitude >> (23 - kFraction)) & 1u;
      const uint32_t rebiased = magnitude - (static_cast<uint32_t>(127 - kBias) << 23);
      code = (rebiased + (1u << (22 - kFraction)) - 1 + odd) >> (23 - kFraction);
    } else {
      // Subnormal or zero: adding 2^(23 - ...) makes the float adder align and round the fraction.
      constexpr uint32_t kAlign = static_cast<uint32_t>(127 + 1 - kBias - kFraction + 23) << 23;
      const float aligned = __builtin_bit_cast(float, magnitude) + __builtin_bit_cast(float, kAlign);
      code = __builtin_bit_cast(uint32_t, aligned) - kAlign;
    }
    constexpr uint32_t kLargest = kKind == Float8Kind::kIeee ? kInfinity - 1u : kKind == Float8Kind::kFinite ? 0x7e : 0x7f;
    if (code > kLargest) return kKind == Float8Kind::kFiniteNoMinus ? kNan : static_cast<uint8_t>(sign | kOverflow);
    if (kKind == Float8Kind::kFiniteNoMinus && code == 0) return 0;
    return static_cast<uint8_t>(sign | code);
  }
};

// An exponent alone.
struct Float8E8M0 {
  static constexpr float decode(uint8_t code) {
    if (code == 0) return __builtin_bit_cast(float, 0x00400000u);
    if (code == 0xff) return __builtin_bit_cast(float, 0x7fc00000u);
    return __builtin_bit_cast(float, static_cast<uint32_t>(code) << 23);
  }
  // Halfway and above goes up; the sign is lost. Below 2^-127 the exponent is 0.
  static constexpr uint8_t encode(float value) {
    const uint32_t bits = __builtin_bit_cast(uint32_t, value) & 0x7fffffffu;
    const uint32_t exponent = bits >> 23;
    if (exponent == 0xff) return 0xff;
    const bool half = (bits & 0x00400000u) != 0;
    const bool rest = (bits & 0x003fffffu) != 0;
    // A subnormal float has no leading one: 2^-127 is its half.
    const bool up = exponent == 0 ? half && rest : half;
    return static_cast<uint8_t>(exponent + up);
  }
};

using Float8E4M3FN = Float8Format<4, 3, Float8Kind::kFinite>;
using Float8E5M2 = Float8Format<5, 2, Float8Kind::kIeee>;
using Float8E4M3FNUZ = Float8Format<4, 3, Float8Kind::kFiniteNoMinus>;
using Float8E5M2FNUZ = Float8Format<5, 2, Float8Kind::kFiniteNoMinus>;

}  // namespace detail

#define KD_FLOAT8_(name, format)                                                             \
  struct alignas(1) name {                                                                   \
    using Format = detail::format;                                                           \
    uint8_t x;                                                                               \
    struct from_bits_t {};                                                                   \
    static constexpr from_bits_t from_bits() { return {}; }                                  \
    name() = default;                                                                        \
    constexpr name(uint8_t bits, from_bits_t) : x(bits) {}                                   \
    constexpr name(float value) : x(Format::encode(value)) {}                                \
    constexpr operator float() const { return Format::decode(x); }                           \
    constexpr bool isnan() const { return operator float() != operator float(); }            \
  };                                                                                         \
  static_assert(sizeof(name) == 1 && std::is_trivially_copyable_v<name>);

KD_FLOAT8_(Float8_e4m3fn, Float8E4M3FN)
KD_FLOAT8_(Float8_e5m2, Float8E5M2)
KD_FLOAT8_(Float8_e4m3fnuz, Float8E4M3FNUZ)
KD_FLOAT8_(Float8_e5m2fnuz, Float8E5M2FNUZ)
KD_FLOAT8_(Float8_e8m0fnu, Float8E8M0)
#undef KD_FLOAT8_

// Two numbers of four bits (a sign, two bits of exponent, one of fraction) in a byte.
struct alignas(1) Float4_e2m1fn_x2 {
  using underlying = uint8_t;
  uint8_t val_;
  Float4_e2m1fn_x2() = default;
  explicit constexpr Float4_e2m1fn_x2(uint8_t val) : val_(val) {}
  friend constexpr bool operator==(Float4_e2m1fn_x2 a, Float4_e2m1fn_x2 b) { return a.val_ == b.val_; }
};

// Bits without a meaning: eight ones, four pairs, two fours, eight, sixteen.
#define KD_BITS_(name, type)                      \
  struct alignas(sizeof(type)) name {             \
    using underlying = type;                      \
    type val_;                                    \
    name() = default;                             \
    explicit constexpr name(type val) : val_(val) {} \
  };
KD_BITS_(bits1x8, uint8_t)
KD_BITS_(bits2x4, uint8_t)
KD_BITS_(bits4x2, uint8_t)
KD_BITS_(bits8, uint8_t)
KD_BITS_(bits16, uint16_t)
#undef KD_BITS_

}  // namespace c10

// Limits, as bit patterns: largest, least, smallest normal, smallest of all, epsilon.
#define KD_LIMITS_(name, largest, least, normal, smallest, eps, digits_, min_exp, max_exp, infinite)        \
  template <>                                                                                              \
  class std::numeric_limits<c10::name> {                                                                   \
    static constexpr c10::name code(uint8_t bits) { return c10::name(bits, c10::name::from_bits()); }        \
                                                                                                           \
   public:                                                                                                 \
    static constexpr bool is_specialized = true, is_signed = (least) != 0, is_integer = false, is_exact = false; \
    static constexpr bool has_infinity = infinite, has_quiet_NaN = true;                                   \
    static constexpr int digits = digits_, radix = 2, min_exponent = min_exp, max_exponent = max_exp;        \
    static constexpr c10::name max() { return code(largest); }                                              \
    static constexpr c10::name lowest() { return code(least); }                                             \
    static constexpr c10::name min() { return code(normal); }                                               \
    static constexpr c10::name denorm_min() { return code(smallest); }                                       \
    static constexpr c10::name epsilon() { return code(eps); }                                              \
    static constexpr c10::name infinity() { return code(c10::name(__builtin_inff()).x); }                   \
    static constexpr c10::name quiet_NaN() { return code(c10::name(__builtin_nanf("")).x); }                \
  };
KD_LIMITS_(Float8_e4m3fn, 0x7e, 0xfe, 0x08, 0x01, 0x20, 4, -5, 8, false)
KD_LIMITS_(Float8_e5m2, 0x7b, 0xfb, 0x04, 0x01, 0x34, 3, -13, 15, true)
KD_LIMITS_(Float8_e4m3fnuz, 0x7f, 0xff, 0x08, 0x01, 0x28, 4, -6, 8, false)
KD_LIMITS_(Float8_e5m2fnuz, 0x7f, 0xff, 0x04, 0x01, 0x38, 3, -14, 16, false)
KD_LIMITS_(Float8_e8m0fnu, 0xfe, 0x00, 0x00, 0x00, 0x7f, 1, -126, 128, false)
#undef KD_LIMITS_
