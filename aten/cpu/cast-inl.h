// Conversion between element types, for sources compiled once a target. Include after hwy/highway.h.

#if defined(ATEN_CPU_CAST_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATEN_CPU_CAST_INL_H_
#undef ATEN_CPU_CAST_INL_H_
#else
#define ATEN_CPU_CAST_INL_H_
#endif

#include <cstdint>
#include <cstring>

#include "aten/cpu/support/boolean.h"

HWY_BEFORE_NAMESPACE();
namespace at::cpu {
namespace HWY_NAMESPACE {

template <class To, class From>
HWY_INLINE To bit_cast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(To));
  return to;
}

// Element types by their stored form.
struct F16 {
  uint16_t bits;
};
struct BF16 {
  uint16_t bits;
};
struct C64 {
  float re, im;
};
struct C128 {
  double re, im;
};

HWY_INLINE float f16_to_float(uint16_t h) {
  const uint32_t magnitude = static_cast<uint32_t>(h & 0x7fffu) << 13;
  // Shifts the exponent bias from 15 to 127 by a product, which also normalises subnormals.
  const float scaled = bit_cast<float>(magnitude) * 0x1p112f;
  uint32_t bits = bit_cast<uint32_t>(scaled);
  bits = magnitude >= 0x0f800000u ? (magnitude | 0x7f800000u) : bits;
  return bit_cast<float>(bits | (static_cast<uint32_t>(h & 0x8000u) << 16));
}

HWY_INLINE uint16_t float_to_f16(float f) {
  const uint32_t all = bit_cast<uint32_t>(f);
  const uint32_t sign = (all >> 16) & 0x8000u;
  const uint32_t x = all & 0x7fffffffu;
  const uint32_t special = x > 0x7f800000u ? 0x7e00u : 0x7c00u;
  // Below the smallest normal half: adding 0.5 leaves the rounded subnormal in the low bits.
  const uint32_t small = bit_cast<uint32_t>(bit_cast<float>(x) + 0.5f) - 0x3f000000u;
  const uint32_t normal = (x - 0x38000000u + 0xfffu + ((x >> 13) & 1u)) >> 13;
  uint32_t r = x < 0x38800000u ? small : normal;
  r = x >= 0x47800000u ? special : r;
  return static_cast<uint16_t>(r | sign);
}

HWY_INLINE float bf16_to_float(uint16_t b) { return bit_cast<float>(static_cast<uint32_t>(b) << 16); }

HWY_INLINE uint16_t float_to_bf16(float f) {
  const uint32_t x = bit_cast<uint32_t>(f);
  const uint32_t rounded = (x + 0x7fffu + ((x >> 16) & 1u)) >> 16;
  return static_cast<uint16_t>((x & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u : rounded);
}

template <class T>
inline constexpr bool kIsFloating = false;
template <>
inline constexpr bool kIsFloating<float> = true;
template <>
inline constexpr bool kIsFloating<double> = true;

// What arithmetic happens in: the type itself but for the 16-bit ones and bool.
HWY_INLINE float widen(F16 x) { return f16_to_float(x.bits); }
HWY_INLINE float widen(BF16 x) { return bf16_to_float(x.bits); }
HWY_INLINE uint8_t widen(Boolean x) { return static_cast<uint8_t>(x.byte != 0); }
HWY_INLINE float widen(C64 x) { return x.re; }
HWY_INLINE double widen(C128 x) { return x.re; }
template <class T>
HWY_INLINE T widen(T x) {
  return x;
}

// Out of range and NaN give the smallest integer, as the processor's conversion does.
template <class I, class F>
HWY_INLINE I float_to_int(F x) {
  constexpr F limit = sizeof(I) == 8 ? static_cast<F>(0x1p63) : static_cast<F>(0x1p31);
  const bool fits = x >= -limit && x < limit;
  const F safe = fits ? x : F(0);
  const I lowest = static_cast<I>(I(1) << (sizeof(I) * 8 - 2)) * -2;
  return fits ? static_cast<I>(safe) : lowest;
}

template <class To>
struct Narrow {
  template <class From>
  static HWY_INLINE To from(From x) {
    if constexpr (kIsFloating<From> && !kIsFloating<To>) {
      // A float beyond int32 is a multiple of 256: bytes are its lowest eight bits by either way.
      constexpr bool is_signed = static_cast<To>(-1) < To(0);
      constexpr bool through_int32 = sizeof(To) < 8 && (is_signed || (sizeof(To) == 1 && sizeof(From) == 4));
      if constexpr (!through_int32) {
        return static_cast<To>(float_to_int<int64_t>(x));
      } else {
        return static_cast<To>(float_to_int<int32_t>(x));
      }
    } else {
      return static_cast<To>(x);
    }
  }
};
template <>
struct Narrow<F16> {
  template <class From>
  static HWY_INLINE F16 from(From x) {
    return {float_to_f16(static_cast<float>(x))};
  }
};
template <>
struct Narrow<BF16> {
  template <class From>
  static HWY_INLINE BF16 from(From x) {
    return {float_to_bf16(static_cast<float>(x))};
  }
};
template <>
struct Narrow<Boolean> {
  template <class From>
  static HWY_INLINE Boolean from(From x) {
    return x != From(0);
  }
};

template <class To, class From>
HWY_INLINE To convert_element(From x) {
  constexpr bool from_complex = std::is_same_v<From, C64> || std::is_same_v<From, C128>;
  if constexpr (std::is_same_v<To, C64> || std::is_same_v<To, C128>) {
    using Part = decltype(To::re);
    if constexpr (from_complex) {
      return {static_cast<Part>(x.re), static_cast<Part>(x.im)};
    } else {
      return {static_cast<Part>(widen(x)), Part(0)};
    }
  } else if constexpr (from_complex && std::is_same_v<To, Boolean>) {
    return x.re != 0 || x.im != 0;
  } else if constexpr (std::is_same_v<To, From>) {
    return x;
  } else {
    return Narrow<To>::from(widen(x));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace at::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard
