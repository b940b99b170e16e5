#include "c10/util/float8.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace c10 {
namespace {

float float_of(uint32_t bits) { return __builtin_bit_cast(float, bits); }

// The value of a code by the definition of its type.
template <class T>
double by_definition(uint32_t code, int exponent_bits, int bias, bool ieee, bool no_minus) {
  const int fraction_bits = 7 - exponent_bits;
  const int exponent = static_cast<int>((code & 0x7f) >> fraction_bits);
  const int fraction = static_cast<int>(code) & ((1 << fraction_bits) - 1);
  const double sign = code & 0x80 ? -1 : 1;
  if (no_minus && code == 0x80) return NAN;
  if (ieee && exponent == (1 << exponent_bits) - 1) return fraction != 0 ? NAN : sign * INFINITY;
  if (!ieee && !no_minus && (code & 0x7f) == 0x7f) return NAN;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
}

// Every code has its value and comes back; every float in a net over all of them goes to the nearest code, of two equally near
// ones to the even one.
template <class T>
void check(int exponent_bits, int bias, bool ieee, bool no_minus, uint8_t beyond) {
  std::vector<double> values(256);
  for (uint32_t code = 0; code < 256; ++code) {
    values[code] = by_definition<T>(code, exponent_bits, bias, ieee, no_minus);
    const float decoded = T(static_cast<uint8_t>(code), T::from_bits());
    if (std::isnan(values[code])) {
      EXPECT_TRUE(std::isnan(decoded)) << code;
      EXPECT_TRUE(T(decoded).isnan());
    } else {
      EXPECT_EQ(decoded, values[code]) << code;
      EXPECT_EQ(std::signbit(decoded), std::signbit(values[code]));
      EXPECT_EQ(T(decoded).x, code);
    }
  }
  int largest = 0x7f;
  while (!std::isfinite(values[static_cast<size_t>(largest)])) --largest;
  const double last = values[static_cast<size_t>(largest)];
  // Halfway to what would come after the largest.
  const double limit = last + (last - values[static_cast<size_t>(largest - 1)]) / 2;
  for (uint32_t high = 0; high < (1u << 19); ++high) {
    for (const uint32_t low : {0u, 1u, 0x7ffu, 0x800u, 0xfffu}) {
      const float x = float_of(high << 12 | low);
      if (std::isnan(x)) continue;
      const uint8_t code = T(x).x;
      uint8_t expected = beyond;
      if (x < limit || (x == limit && largest % 2 == 0)) {
        int above = 1;
        while (above <= largest && values[static_cast<size_t>(above)] <= x) ++above;
        const int below = above - 1;
        const double middle = above > largest ? limit : (values[static_cast<size_t>(below)] + values[static_cast<size_t>(above)]) / 2;
        expected = static_cast<uint8_t>(x < middle || (x == middle && below % 2 == 0) ? below : above);
      }
      ASSERT_EQ(code, expected) << x;
      const uint8_t negative = no_minus && code == 0 ? 0 : no_minus && code == 0x80 ? 0x80 : code | 0x80;
      ASSERT_EQ(T(-x).x, negative) << x;
    }
  }
}

TEST(Float8, E4M3FN) { check<Float8_e4m3fn>(4, 7, false, false, 0x7e); }
TEST(Float8, E5M2) { check<Float8_e5m2>(5, 15, true, false, 0x7c); }
TEST(Float8, E4M3FNUZ) { check<Float8_e4m3fnuz>(4, 8, false, true, 0x80); }
TEST(Float8, E5M2FNUZ) { check<Float8_e5m2fnuz>(5, 16, false, true, 0x80); }

// As PyTorch 2.15 converts.
TEST(Float8, RecordedConversions) {
  struct Case {
    float x;
    uint8_t e4m3fn, e5m2, e4m3fnuz, e5m2fnuz, e8m0fnu;
  };
  for (const Case& c : {
           Case{0.0f, 0x00, 0x00, 0x00, 0x00, 0x00}, {-0.0f, 0x80, 0x80, 0x00, 0x00, 0x00}, {0.1f, 0x1d, 0x2e, 0x25, 0x32, 0x7c},
           {465.0f, 0x7e, 0x5f, 0x80, 0x63, 0x88}, {480.0f, 0x7e, 0x60, 0x80, 0x64, 0x88}, {61440.0f, 0x7e, 0x7c, 0x80, 0x80, 0x8f},
           {1e6f, 0x7e, 0x7c, 0x80, 0x80, 0x93}, {INFINITY, 0x7e, 0x7c, 0x80, 0x80, 0xff}, {-INFINITY, 0xfe, 0xfc, 0x80, 0x80, 0xff},
           {NAN, 0x7f, 0x7f, 0x80, 0x80, 0xff}, {247.9f, 0x77, 0x5c, 0x7f, 0x60, 0x87}, {248.0f, 0x78, 0x5c, 0x80, 0x60, 0x87},
           {-0.001f, 0x81, 0x94, 0x81, 0x98, 0x75}, {-1.0f, 0xb8, 0xbc, 0xc0, 0xc0, 0x7f}, {3.0f, 0x44, 0x42, 0x4c, 0x46, 0x81},
       }) {
    EXPECT_EQ(Float8_e4m3fn(c.x).x, c.e4m3fn) << c.x;
    EXPECT_EQ(Float8_e5m2(c.x).x, c.e5m2) << c.x;
    EXPECT_EQ(Float8_e4m3fnuz(c.x).x, c.e4m3fnuz) << c.x;
    EXPECT_EQ(Float8_e5m2fnuz(c.x).x, c.e5m2fnuz) << c.x;
    EXPECT_EQ(Float8_e8m0fnu(c.x).x, c.e8m0fnu) << c.x;
  }
}

TEST(Float8, E8M0IsAPowerOfTwo) {
  for (int code = 0; code < 255; ++code) {
    const Float8_e8m0fnu x(static_cast<uint8_t>(code), Float8_e8m0fnu::from_bits());
    EXPECT_EQ(static_cast<float>(x), std::ldexp(1.0f, code - 127));
    EXPECT_EQ(Float8_e8m0fnu(static_cast<float>(x)).x, code);
    if (code > 0 && code < 254) {
      EXPECT_EQ(Float8_e8m0fnu(1.49f * static_cast<float>(x)).x, code);
      EXPECT_EQ(Float8_e8m0fnu(1.5f * static_cast<float>(x)).x, code + 1);
    }
  }
  EXPECT_TRUE(Float8_e8m0fnu(0xff, Float8_e8m0fnu::from_bits()).isnan());
  // Subnormal floats: 2^-127 is the smallest of them that the type has.
  EXPECT_EQ(Float8_e8m0fnu(std::ldexp(1.01f, -127)).x, 1);
  EXPECT_EQ(Float8_e8m0fnu(std::ldexp(1.5f, -128)).x, 0);
}

TEST(Float8, Limits) {
  EXPECT_EQ(static_cast<float>(std::numeric_limits<Float8_e4m3fn>::max()), 448.0f);
  EXPECT_EQ(static_cast<float>(std::numeric_limits<Float8_e5m2>::max()), 57344.0f);
  EXPECT_EQ(static_cast<float>(std::numeric_limits<Float8_e4m3fnuz>::lowest()), -240.0f);
  EXPECT_EQ(static_cast<float>(std::numeric_limits<Float8_e5m2fnuz>::epsilon()), 0.25f);
  EXPECT_EQ(static_cast<float>(std::numeric_limits<Float8_e4m3fn>::min()), 0.015625f);
  EXPECT_TRUE(std::isinf(static_cast<float>(std::numeric_limits<Float8_e5m2>::infinity())));
}

}  // namespace
}  // namespace c10
