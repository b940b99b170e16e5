// Scalar: one number of any kind (integer, floating-point, bool or complex), as operators take it. 24 bytes, trivially
// copyable. It keeps int64 (uint64 where that is too small), double, bool or complex<double>; `to<X>` converts with a range
// check.
//
//   Scalar(3).type() == kLong;  Scalar(2.7).to<int>() == 2;  Scalar(300).to<int8_t>() throws
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "c10/core/scalar_type.h"
#include "c10/util/exception.h"
#include "c10/util/text_stream.h"

namespace c10 {

class Scalar {
 public:
  constexpr Scalar() : Scalar(int64_t{0}) {}
  constexpr Scalar(uint8_t v) : Scalar(static_cast<int64_t>(v)) {}
  constexpr Scalar(int8_t v) : Scalar(static_cast<int64_t>(v)) {}
  constexpr Scalar(int16_t v) : Scalar(static_cast<int64_t>(v)) {}
  constexpr Scalar(int v) : Scalar(static_cast<int64_t>(v)) {}
  constexpr Scalar(int64_t v) : integer_(v), tag_(kLong) {}
  constexpr Scalar(uint16_t v) : Scalar(static_cast<int64_t>(v)) {}
  constexpr Scalar(uint32_t v) : Scalar(static_cast<int64_t>(v)) {}
  constexpr Scalar(uint64_t v) : integer_(static_cast<int64_t>(v)), tag_(integer_ < 0 ? kUInt64 : kLong) {}
  constexpr Scalar(Half v) : Scalar(static_cast<double>(static_cast<float>(v))) {}
  constexpr Scalar(BFloat16 v) : Scalar(static_cast<double>(static_cast<float>(v))) {}
  constexpr Scalar(float v) : Scalar(static_cast<double>(v)) {}
  constexpr Scalar(double v) : parts_{v, 0.0}, tag_(kDouble) {}
  constexpr Scalar(complex<Half> v) : Scalar(complex<double>(complex<float>(v))) {}
  constexpr Scalar(complex<BFloat16> v) : Scalar(complex<double>(complex<float>(v))) {}
  constexpr Scalar(complex<float> v) : Scalar(complex<double>(v)) {}
  constexpr Scalar(complex<double> v) : parts_{v.real(), v.imag()}, tag_(kComplexDouble) {}
  // The floating-point types of eight bits.
  template <typename X>
  requires(isFloat8Type(CppTypeToScalarType<X>::value))
  constexpr Scalar(X v) : Scalar(static_cast<double>(static_cast<float>(v))) {}
  // Exactly bool: a pointer must not become one.
  template <typename B>
  requires std::is_same_v<B, bool>
  constexpr Scalar(B v) : integer_(v), tag_(kBool) {}

  constexpr bool isFloatingPoint() const { return tag_ == kDouble; }
  constexpr bool isIntegral(bool includeBool) const { return isIntegral() || (includeBool && tag_ == kBool); }
  constexpr bool isIntegral() const { return tag_ == kLong || tag_ == kUInt64; }
  // An integer that is not negative.
  constexpr bool isUnsigned() const { return tag_ == kUInt64 || (tag_ == kLong && integer_ >= 0); }
  constexpr bool isComplex() const { return tag_ == kComplexDouble; }
  constexpr bool isBoolean() const { return tag_ == kBool; }
  // Long, Double, Bool or ComplexDouble; UInt64 for an integer beyond int64.
  constexpr ScalarType type() const { return tag_; }

  // The value as an X. Throws Error "value cannot be converted to type {X} without overflow" where the
  // integral part does not fit or an imaginary part would be lost. A fraction is cut off; a negative integer wraps into
  // an unsigned type.
  template <typename X>
  X to() const;

  uint8_t toByte() const { return to<uint8_t>(); }
  int8_t toChar() const { return to<int8_t>(); }
  int16_t toShort() const { return to<int16_t>(); }
  int toInt() const { return to<int>(); }
  int64_t toLong() const { return to<int64_t>(); }
  uint16_t toUInt16() const { return to<uint16_t>(); }
  uint32_t toUInt32() const { return to<uint32_t>(); }
  uint64_t toUInt64() const { return to<uint64_t>(); }
  Float8_e5m2 toFloat8_e5m2() const;
  Float8_e4m3fn toFloat8_e4m3fn() const;
  Float8_e5m2fnuz toFloat8_e5m2fnuz() const;
  Float8_e4m3fnuz toFloat8_e4m3fnuz() const;
  Float8_e8m0fnu toFloat8_e8m0fnu() const;
  Half toHalf() const { return to<Half>(); }
  float toFloat() const { return to<float>(); }
  double toDouble() const { return to<double>(); }
  bool toBool() const { return to<bool>(); }
  BFloat16 toBFloat16() const { return to<BFloat16>(); }
  complex<Half> toComplexHalf() const { return to<complex<Half>>(); }
  complex<float> toComplexFloat() const { return to<complex<float>>(); }
  complex<double> toComplexDouble() const { return to<complex<double>>(); }
  complex<BFloat16> toBComplex32() const { return to<complex<BFloat16>>(); }

  // Throws for a boolean.
  Scalar operator-() const;
  Scalar conj() const;
  // Natural logarithm; of a negative real number, NaN.
  Scalar log() const;

  // Whether the number equals `value` mathematically.
  template <typename X>
  requires(!is_complex_v<X>) bool equal(X value) const {
    if (tag_ == kComplexDouble) return parts_[0] == static_cast<double>(value) && parts_[1] == 0.0;
    if (tag_ == kDouble) return parts_[0] == static_cast<double>(value);
    if constexpr (std::is_integral_v<X>) {
      // One of them is beyond int64: both are, or they differ.
      const bool beyond = std::is_same_v<X, uint64_t> && static_cast<int64_t>(value) < 0;
      return integer_ == static_cast<int64_t>(value) && beyond == (tag_ == kUInt64);
    }
    return real_part() == static_cast<double>(value);
  }
  template <typename X>
  bool equal(complex<X> value) const {
    return tag_ == kComplexDouble ? parts_[0] == value.real() && parts_[1] == value.imag()
                                  : value.imag() == X(0) && equal(value.real());
  }
  bool equal(bool value) const { return tag_ == kBool ? (integer_ != 0) == value : equal<int64_t>(value); }

 private:
  friend void to_text(std::string& out, const Scalar& s);
  [[noreturn]] C10_COLD static void overflow(ScalarType type);
  double real_part() const {
    if (tag_ == kDouble || tag_ == kComplexDouble) return parts_[0];
    return C10_UNLIKELY(tag_ == kUInt64) ? static_cast<double>(static_cast<uint64_t>(integer_)) : static_cast<double>(integer_);
  }

  union {
    int64_t integer_;
    double parts_[2];
  };
  ScalarType tag_;
};
static_assert(sizeof(Scalar) <= 24 && std::is_trivially_copyable_v<Scalar>);

template <typename X>
X Scalar::to() const {
  using L = std::numeric_limits<X>;
  if constexpr (is_complex_v<X>) {
    using V = typename X::value_type;
    Scalar re(real_part());
    if (tag_ != kComplexDouble) return X(re.to<V>());
    return X(re.to<V>(), Scalar(parts_[1]).to<V>());
  } else {
    if (tag_ == kComplexDouble && C10_UNLIKELY(parts_[1] != 0.0)) overflow(CppTypeToScalarType<X>::value);
    if constexpr (std::is_same_v<X, bool>) {
      return tag_ == kDouble || tag_ == kComplexDouble ? parts_[0] != 0.0 : integer_ != 0;
    } else if constexpr (std::is_integral_v<X>) {
      if (tag_ == kLong || tag_ == kBool) {
        if constexpr (sizeof(X) < sizeof(int64_t)) {
          // An unsigned type takes what its signed twin would, too: -1 is 255.
          constexpr int64_t kLeast = std::is_unsigned_v<X> ? -static_cast<int64_t>(L::max()) : int64_t{L::min()};
          if (C10_UNLIKELY(integer_ < kLeast || integer_ > int64_t{L::max()})) {
            overflow(CppTypeToScalarType<X>::value);
          }
        }
        return static_cast<X>(integer_);
      }
      if (C10_UNLIKELY(tag_ == kUInt64)) {
        if constexpr (!std::is_same_v<X, uint64_t>) overflow(CppTypeToScalarType<X>::value);
        return static_cast<X>(integer_);
      }
      // Only the limits of int64 are not exact in double: 2^63 is the first value too large.
      const double v = parts_[0];
      constexpr double kEnd = static_cast<double>(uint64_t{1} << (L::digits - 1)) * 2.0;
      const bool fits = v >= static_cast<double>(L::min()) && (sizeof(X) < 8 ? v <= kEnd - 1.0 : v < kEnd);
      if (C10_UNLIKELY(!fits)) overflow(CppTypeToScalarType<X>::value);
      if constexpr (std::is_same_v<X, uint64_t>) return static_cast<X>(v);
      return static_cast<X>(static_cast<int64_t>(v));
    } else {
      const double v = real_part();
      if constexpr (!std::is_same_v<X, double>) {
        constexpr double kMax = static_cast<double>(static_cast<float>(L::max()));
        const double magnitude = v < 0 ? -v : v;
        // NaN converts, and infinity where there is one; finite values must stay finite.
        if (C10_UNLIKELY(magnitude > kMax && (!L::has_infinity || magnitude <= std::numeric_limits<double>::max()))) {
          overflow(CppTypeToScalarType<X>::value);
        }
        if constexpr (static_cast<float>(L::lowest()) > 0.0f) {
          if (C10_UNLIKELY(v < static_cast<double>(static_cast<float>(L::lowest())))) overflow(CppTypeToScalarType<X>::value);
        }
        return static_cast<X>(static_cast<float>(v));
      }
      return static_cast<X>(v);
    }
  }
}

// As streams print it: 3, 2.5, true, (1,2).
void to_text(std::string& out, const Scalar& s);
template <TextStream Stream, SameType<Scalar> X>
Stream& operator<<(Stream& out, const X& s) {
  std::string text;
  to_text(text, s);
  out << text.c_str();
  return out;
}

}  // namespace c10

namespace at {
using c10::Scalar;
}
