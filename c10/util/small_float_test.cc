#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "c10/util/bfloat16.h"
#include "c10/util/half.h"
#include "c10/util/std_complex.h"

namespace c10 {
namespace {

uint32_t bits_of(float f) {
  return __builtin_bit_cast(uint32_t, f);
}

// The value of a small float by its definition.
double value_of(uint16_t x, int exponent_bits) {
  const int fraction_bits = 15 - exponent_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (x & 0x7fff) >> fraction_bits;
  const int fraction = x & ((1 << fraction_bits) - 1);
  const double sign = x & 0x8000 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) return fraction ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
}

TEST(Half, EveryValueConvertsToFloatAndBack) {
  for (uint32_t i = 0; i < 65536; ++i) {
    const Half h(static_cast<uint16_t>(i), Half::from_bits());
    const double expected = value_of(h.x, 5);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(float(h)));
      EXPECT_TRUE(std::isnan(float(Half(float(h)))));
    } else {
      ASSERT_EQ(bits_of(float(h)), bits_of(static_cast<float>(expected))) << i;
      ASSERT_EQ(Half(float(h)).x, h.x);
    }
  }
}

TEST(BFloat16, EveryValueConvertsToFloatAndBack) {
  for (uint32_t i = 0; i < 65536; ++i) {
    const BFloat16 b(static_cast<uint16_t>(i), BFloat16::from_bits());
    const double expected = value_of(b.x, 8);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(float(BFloat16(float(b)))));
    } else {
      ASSERT_EQ(bits_of(float(b)), bits_of(static_cast<float>(expected))) << i;
      ASSERT_EQ(BFloat16(float(b)).x, b.x);
    }
  }
}

// Rounds to nearest, ties to even: checked at, just below and just above each midpoint of neighbours.
template <typename S>
void check_rounding(uint16_t largest) {
  for (uint32_t i = 0; i < largest; ++i) {
    const S low(static_cast<uint16_t>(i), S::from_bits());
    const S high(static_cast<uint16_t>(i + 1), S::from_bits());
    const double exact = (double(float(low)) + double(float(high))) / 2;
    const float middle = static_cast<float>(exact);
    if (double(middle) != exact) continue;  // below float's own resolution
    const uint16_t even = i % 2 == 0 ? low.x : high.x;
    ASSERT_EQ(S(middle).x, even) << i;
    ASSERT_EQ(S(-middle).x, even | 0x8000) << i;
    ASSERT_EQ(S(std::nextafterf(middle, 0.0f)).x, low.x) << i;
    ASSERT_EQ(S(std::nextafterf(middle, INFINITY)).x, high.x) << i;
  }
}
TEST(Half, Rounding) {
  check_rounding<Half>(0x7bff);
}
TEST(BFloat16, Rounding) {
  check_rounding<BFloat16>(0x7f7f);
}

TEST(Half, Overflow) {
  EXPECT_EQ(Half(65519.0f).x, 0x7bff);
  EXPECT_EQ(Half(65520.0f).x, 0x7c00);
  EXPECT_EQ(Half(-1e30f).x, 0xfc00);
  EXPECT_EQ(Half(INFINITY).x, 0x7c00);
  EXPECT_EQ(BFloat16(std::numeric_limits<float>::max()).x, 0x7f80);
  static_assert(Half(1.5f).x == 0x3e00);
  static_assert(float(BFloat16(1.5f)) == 1.5f);
}

TEST(Half, ArithmeticTypes) {
  const Half h(1.5f);
  const BFloat16 b(1.5f);
  static_assert(std::is_same_v<decltype(h + h), Half>);
  static_assert(std::is_same_v<decltype(h + 1), Half>);
  static_assert(std::is_same_v<decltype(h + int64_t{1}), Half>);
  static_assert(std::is_same_v<decltype(h * 2.0), double>);
  static_assert(std::is_same_v<decltype(2.0f * h), float>);
  static_assert(std::is_same_v<decltype(b * 2.0f), float>);
  static_assert(std::is_same_v<decltype(b / 2), BFloat16>);
  static_assert(std::is_same_v<decltype(b + h), float>);
  EXPECT_EQ(float(h + h), 3.0f);
  EXPECT_EQ(float(-h), -1.5f);
  EXPECT_EQ(float(h / 2), 0.75f);
  EXPECT_EQ(float(Half(2048.0f) + Half(1.0f)), 2048.0f);
  Half acc(1.0f);
  acc += h;
  acc *= Half(2.0f);
  acc -= h;
  acc /= Half(2.0f);
  EXPECT_EQ(float(acc), 1.75f);
  EXPECT_TRUE(h < Half(2.0f) && b == BFloat16(1.5f));
  float f = 1;
  f += h;
  EXPECT_EQ(f, 2.5f);
}

TEST(Half, Limits) {
  using H = std::numeric_limits<Half>;
  using B = std::numeric_limits<BFloat16>;
  EXPECT_EQ(float(H::max()), 65504.0f);
  EXPECT_EQ(float(H::lowest()), -65504.0f);
  EXPECT_EQ(float(H::min()), std::ldexp(1.0f, -14));
  EXPECT_EQ(float(H::epsilon()), std::ldexp(1.0f, -10));
  EXPECT_EQ(float(H::denorm_min()), std::ldexp(1.0f, -24));
  EXPECT_EQ(float(B::epsilon()), std::ldexp(1.0f, -7));
  EXPECT_EQ(float(B::min()), std::numeric_limits<float>::min());
  EXPECT_EQ(float(B::max()), 0x1.fep127f);
  EXPECT_TRUE(std::isinf(float(H::infinity())) && std::isnan(float(B::quiet_NaN())));
}

TEST(Complex, AgreesWithTheStandard) {
  const complex<double> a(1.25, -2.5);
  const complex<double> b(-0.75, 3.0);
  const std::complex<double> sa(a);
  const std::complex<double> sb(b);
  const auto near = [](complex<double> x, std::complex<double> y) {
    EXPECT_NEAR(x.real(), y.real(), 1e-12 * (1 + std::abs(y)));
    EXPECT_NEAR(x.imag(), y.imag(), 1e-12 * (1 + std::abs(y)));
  };
  near(a + b, sa + sb);
  near(a - b, sa - sb);
  near(a * b, sa * sb);
  near(a / b, sa / sb);
  near(b / a, sb / sa);
  near(2 * a, 2.0 * sa);
  near(1 / a, 1.0 / sa);
  near(a - 1, sa - 1.0);
  near(exp(a), std::exp(sa));
  near(log(a), std::log(sa));
  near(log10(a), std::log10(sa));
  near(sqrt(a), std::sqrt(sa));
  near(pow(a, b), std::pow(sa, sb));
  near(sin(a), std::sin(sa));
  near(tanh(a), std::tanh(sa));
  near(acosh(a), std::acosh(sa));
  near(polar(2.0, 0.5), std::polar(2.0, 0.5));
  EXPECT_DOUBLE_EQ(abs(a), std::abs(sa));
  EXPECT_DOUBLE_EQ(arg(a), std::arg(sa));
  EXPECT_DOUBLE_EQ(norm(a), std::norm(sa));
  EXPECT_EQ(conj(a), complex<double>(1.25, 2.5));
  const complex<double> from = sa;
  EXPECT_EQ(from, a);
}

TEST(Complex, DivisionNeitherOverflowsNorHidesZero) {
  const complex<float> big(1e38f, 1e38f);
  EXPECT_NEAR((big / big).real(), 1.0f, 1e-6f);
  EXPECT_EQ((big / big).imag(), 0.0f);
  const complex<float> zero = complex<float>(1, 0) / complex<float>(0, 0);
  EXPECT_TRUE(std::isinf(zero.real()));
}

TEST(Complex, TypesAndLiterals) {
  static_assert(sizeof(complex<Half>) == 4 && sizeof(complex<float>) == 8 && alignof(complex<double>) == 16);
  static_assert(std::is_convertible_v<complex<float>, complex<double>>);
  static_assert(!std::is_convertible_v<complex<double>, complex<float>>);
  EXPECT_EQ(1.0 + 2.0_id, complex<double>(1, 2));
  const complex<Half> h(complex<float>(1.5f, 2.5f));
  EXPECT_EQ(complex<float>(h), complex<float>(1.5f, 2.5f));
  EXPECT_TRUE(complex<float>(2, 0) == 2.0f);
}

}  // namespace
}  // namespace c10
