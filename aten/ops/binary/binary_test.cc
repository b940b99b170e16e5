#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "aten/core/from_blob.h"
#include "aten/core/tensor.h"
#include "aten/core/view.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/testing/testing.h"
#include "gtest/gtest.h"

namespace {

using at::Scalar;
using at::ScalarType;
using at::Tensor;
using at::testing::blank;
using at::testing::expect_close;
using at::testing::tensor_of;
using at::testing::values;

// The same values with other strides.
Tensor transposed(const Tensor& t) {
  return at::transpose(at::clone(at::transpose(t, 0, 1), at::MemoryFormat::Contiguous), 0, 1);
}
Tensor strided(const Tensor& t) {
  Tensor wide = blank({t.size(0), 2 * t.size(1)}, t.scalar_type());
  Tensor odd = at::slice(wide, 1, 1, 2 * t.size(1), 2);
  at::copy_(odd, t);
  return odd;
}

struct Case {
  const char* name;
  Tensor (*op)(const Tensor&, const Tensor&);
  double (*exact)(double, double);
  bool integers;
};

double floor_mod(double a, double b) { return a - b * std::floor(a / b); }

const Case kCases[] = {
    {"add", [](const Tensor& a, const Tensor& b) { return at::add(a, b); }, [](double a, double b) { return a + b; }, true},
    {"add_scaled", [](const Tensor& a, const Tensor& b) { return at::add(a, b, 3); }, [](double a, double b) { return a + 3 * b; }, true},
    {"sub", [](const Tensor& a, const Tensor& b) { return at::sub(a, b, 2); }, [](double a, double b) { return a - 2 * b; }, true},
    {"rsub", [](const Tensor& a, const Tensor& b) { return at::rsub(a, b); }, [](double a, double b) { return b - a; }, true},
    {"mul", [](const Tensor& a, const Tensor& b) { return at::mul(a, b); }, [](double a, double b) { return a * b; }, true},
    {"div", [](const Tensor& a, const Tensor& b) { return at::div(a, b); }, [](double a, double b) { return a / b; }, false},
    {"floor_divide", [](const Tensor& a, const Tensor& b) { return at::floor_divide(a, b); }, [](double a, double b) { return std::floor(a / b); }, true},
    {"trunc_divide", [](const Tensor& a, const Tensor& b) { return at::div(a, b, "trunc"); }, [](double a, double b) { return std::trunc(a / b); }, true},
    {"remainder", [](const Tensor& a, const Tensor& b) { return at::remainder(a, b); }, floor_mod, true},
    {"fmod", [](const Tensor& a, const Tensor& b) { return at::fmod(a, b); }, [](double a, double b) { return std::fmod(a, b); }, true},
    {"maximum", [](const Tensor& a, const Tensor& b) { return at::maximum(a, b); }, [](double a, double b) { return a > b ? a : b; }, true},
    {"minimum", [](const Tensor& a, const Tensor& b) { return at::minimum(a, b); }, [](double a, double b) { return a < b ? a : b; }, true},
    {"lt", [](const Tensor& a, const Tensor& b) { return at::lt(a, b); }, [](double a, double b) { return double(a < b); }, true},
    {"ge", [](const Tensor& a, const Tensor& b) { return at::ge(a, b); }, [](double a, double b) { return double(a >= b); }, true},
    {"eq", [](const Tensor& a, const Tensor& b) { return at::eq(a, b); }, [](double a, double b) { return double(a == b); }, true},
    {"atan2", [](const Tensor& a, const Tensor& b) { return at::atan2(a, b); }, [](double a, double b) { return std::atan2(a, b); }, false},
    {"hypot", [](const Tensor& a, const Tensor& b) { return at::hypot(a, b); }, [](double a, double b) { return std::hypot(a, b); }, false},
    {"logical_and", [](const Tensor& a, const Tensor& b) { return at::logical_and(a, b); }, [](double a, double b) { return double(a != 0 && b != 0); }, true},
};

TEST(Binary, EveryOperatorInEveryDtypeAndLayout) {
  const std::vector<double> a = {1, 4, -3, 7, 0, -8, 2, 5, 9, -1, 3}, b = {2, -3, 5, 1, -4, 3, 7};
  for (const Case& c : kCases) {
    for (ScalarType type : {ScalarType::Char, ScalarType::Short, ScalarType::Int, ScalarType::Long, ScalarType::Half, ScalarType::BFloat16,
                            ScalarType::Float, ScalarType::Double}) {
      if (!c.integers && at::isIntegralType(type, true)) continue;
      const Tensor x = tensor_of(a, {5, 6}, type), y = tensor_of(b, {5, 6}, type), row = tensor_of(b, {6}, type), column = tensor_of(b, {5, 1}, type);
      const auto check = [&](const Tensor& left, const Tensor& right) {
        const Tensor got = c.op(left, right);
        const std::vector<double> l = values(at::expand(left, {5, 6})), r = values(at::expand(right, {5, 6})), g = values(got);
        const double tolerance = type == ScalarType::BFloat16 ? 1e-2 : type == ScalarType::Half ? 1e-3 : 1e-6;
        for (size_t i = 0; i < g.size(); ++i) {
          const double e = c.exact(l[i], r[i]);
          ASSERT_NEAR(g[i], e, tolerance * std::fabs(e)) << c.name << " of " << l[i] << " and " << r[i] << " in " << at::toString(type);
        }
      };
      check(x, y);
      check(transposed(x), y);
      check(x, strided(y));
      check(transposed(x), transposed(y));
      check(x, row);
      check(x, column);
      check(strided(x), row);
      check(x, tensor_of({3}, {}, type));
    }
  }
}

TEST(Binary, TruncatedQuotientsOf16Bits) {
  // 10.98, which is 11 in bfloat16: a quotient by one number is not rounded before it is truncated, that of two tensors is.
  const Tensor x = tensor_of({-7.9375, -7.9375}, {2}, ScalarType::BFloat16);
  const double divisor = -0.72265625;
  expect_close(at::div(x, Scalar(divisor), "trunc"), {10, 10});
  expect_close(at::div(x, tensor_of({divisor}, {}, ScalarType::BFloat16), "trunc"), {10, 10});
  expect_close(at::div(x, tensor_of({divisor}, {1}, ScalarType::BFloat16), "trunc"), {10, 10});
  expect_close(at::div(x, tensor_of({divisor, divisor}, {2}, ScalarType::BFloat16), "trunc"), {11, 11});
}

TEST(Binary, NumbersBeyondNarrowIntegersWrap) {
  const Tensor x = tensor_of({255, 100}, {2}, ScalarType::Byte);
  expect_close(at::floor_divide(x, Scalar(504)), {1, 0});
  expect_close(at::div(x, Scalar(-3), "floor"), {1, 0});
  expect_close(at::remainder(x, Scalar(504)), {7, 100});
  expect_close(at::fmod(x, Scalar(-3)), {2, 100});
  expect_close(at::to(at::gt(x, Scalar(504)), ScalarType::Int), {1, 0});
  expect_close(at::add(x, Scalar(504)), {247, 92});
  EXPECT_THROW(at::floor_divide(x, Scalar(256)), c10::Error);
}

TEST(Binary, ResultTypesPromote) {
  const Tensor i = tensor_of({1}, {2}, ScalarType::Int), f = tensor_of({1}, {2}, ScalarType::Float), u = tensor_of({1}, {2}, ScalarType::Byte);
  EXPECT_EQ(at::add(i, f).scalar_type(), ScalarType::Float);
  EXPECT_EQ(at::add(i, 2.5).scalar_type(), ScalarType::Float);
  EXPECT_EQ(at::add(u, 2).scalar_type(), ScalarType::Byte);
  EXPECT_EQ(at::div(i, i).scalar_type(), ScalarType::Float);
  EXPECT_EQ(at::add(f, tensor_of({1}, {}, ScalarType::Double)).scalar_type(), ScalarType::Float);
  EXPECT_EQ(at::mul(f, Scalar(c10::complex<double>(0, 1))).scalar_type(), ScalarType::ComplexFloat);
  EXPECT_EQ(at::pow(tensor_of({1}, {1}, ScalarType::Bool), 2).scalar_type(), ScalarType::Long);
}

TEST(Binary, LayoutOfResultsFollowsTheInputs) {
  const Tensor image = tensor_of({1, 2, 3}, {2, 3, 4, 5}, ScalarType::Float);
  const Tensor last = at::clone(image, at::MemoryFormat::ChannelsLast);
  EXPECT_TRUE(at::add(last, last).is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_TRUE(at::mul(last, 2).is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_TRUE(at::add(last, tensor_of({1, 2}, {5}, ScalarType::Float)).is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_TRUE(at::add(image, last).is_contiguous());
}

TEST(Binary, InPlaceAndOut) {
  Tensor a = tensor_of({1, 2, 3}, {3}, ScalarType::Float);
  at::add_(a, a);
  EXPECT_EQ(values(a), (std::vector<double>{2, 4, 6}));
  at::mul_(a, 0.5);
  EXPECT_EQ(values(a), (std::vector<double>{1, 2, 3}));
  Tensor base = tensor_of({1, 2, 3, 4}, {4}, ScalarType::Float);
  Tensor head = at::slice(base, 0, 0, 3), tail = at::slice(base, 0, 1, 4);
  at::add_(tail, head);
  EXPECT_EQ(values(base), (std::vector<double>{1, 3, 5, 7}));
  Tensor out = blank({0}, ScalarType::Double);
  at::add_out(out, a, a);
  EXPECT_EQ(values(out), (std::vector<double>{2, 4, 6}));
  Tensor narrow = tensor_of({0}, {3}, ScalarType::Long);
  EXPECT_THROW(at::add_out(narrow, a, a), c10::Error);
  EXPECT_THROW(at::add_(narrow, a), c10::Error);
  EXPECT_THROW(at::add_(a, tensor_of({1}, {2, 3}, ScalarType::Float)), c10::Error);
}

TEST(Binary, BadArguments) {
  const Tensor a = tensor_of({1}, {3}, ScalarType::Float), b = tensor_of({1}, {4}, ScalarType::Float);
  EXPECT_THROW(at::add(a, b), c10::Error);
  const Tensor flag = tensor_of({1}, {3}, ScalarType::Bool), whole = tensor_of({1}, {3}, ScalarType::Int);
  EXPECT_THROW(at::sub(flag, flag), c10::Error);
  EXPECT_THROW(at::add(whole, whole, 0.5), c10::Error);
  if (!at::testing::device().is_cuda()) EXPECT_THROW(at::div(whole, tensor_of({0}, {3}, ScalarType::Int), "floor"), c10::Error);
  EXPECT_THROW(at::remainder(whole, 0), c10::Error);
  EXPECT_THROW(at::div(a, a, "up"), c10::Error);
  EXPECT_THROW(at::pow(whole, -1), c10::Error);
  EXPECT_THROW(at::bitwise_and(a, a), c10::Error);
  EXPECT_THROW(at::lt(tensor_of({1}, {1}, ScalarType::ComplexFloat), a), c10::Error);
}

TEST(Binary, ZeroSized) {
  EXPECT_EQ(at::add(tensor_of({1}, {0, 3}, ScalarType::Float), tensor_of({1}, {3}, ScalarType::Float)).sizes(), at::IntArrayRef({0, 3}));
  EXPECT_TRUE(at::equal(tensor_of({1}, {0}, ScalarType::Float), tensor_of({1}, {0}, ScalarType::Float)));
}

TEST(Binary, SmallIntegersWrapAndBoolsAreLogic) {
  EXPECT_EQ(values(at::add(tensor_of({200}, {1}, ScalarType::Byte), 100))[0], 44);
  EXPECT_EQ(values(at::mul(tensor_of({100}, {1}, ScalarType::Char), 2))[0], -56);
  EXPECT_EQ(values(at::bitwise_left_shift(tensor_of({1}, {1}, ScalarType::Char), 7))[0], -128);
  EXPECT_EQ(values(at::bitwise_left_shift(tensor_of({1}, {1}, ScalarType::Char), 8))[0], 0);
  EXPECT_EQ(values(at::add(tensor_of({1}, {1}, ScalarType::Bool), tensor_of({1}, {1}, ScalarType::Bool)))[0], 1);
  EXPECT_EQ(at::add(tensor_of({1}, {1}, ScalarType::Bool), tensor_of({1}, {1}, ScalarType::Bool)).scalar_type(), ScalarType::Bool);
}

TEST(Binary, Powers) {
  const std::vector<double> x = {0.5, 2, 3, 1.25};
  for (double e : {0.0, 1.0, 2.0, 3.0, 0.5, -0.5, -1.0, -2.0, 1.7}) {
    const std::vector<double> got = values(at::pow(tensor_of(x, {4}, ScalarType::Double), e));
    for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(got[i], std::pow(x[i], e), 1e-14 * std::pow(x[i], e));
  }
  EXPECT_EQ(values(at::pow(tensor_of({-2, 3}, {2}, ScalarType::Int), 3)), (std::vector<double>{-8, 27}));
  EXPECT_EQ(values(at::pow(tensor_of({2, 1, -1}, {3}, ScalarType::Int), tensor_of({-1}, {3}, ScalarType::Int))), (std::vector<double>{0, 1, -1}));
  EXPECT_EQ(at::float_power(tensor_of({2}, {1}, ScalarType::Int), 2).scalar_type(), ScalarType::Double);
}

TEST(Binary, ExponentsAndStepsThatAreNotFinite) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  for (const ScalarType type : {ScalarType::Half, ScalarType::Float, ScalarType::Double}) {
    const std::vector<double> got = values(at::ldexp(tensor_of({inf, -3, 2, 3, 0, inf, 1}, {7}, type),
                                                     tensor_of({inf, inf, -inf, 2, inf, -inf, nan}, {7}, type)));
    const std::vector<double> want = {inf, -inf, 0, 12, nan, nan, nan};
    for (size_t i = 0; i < want.size(); ++i)
      EXPECT_TRUE(got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i]))) << i;
    EXPECT_EQ(values(at::heaviside(tensor_of({nan, inf, -inf, 0}, {4}, type), tensor_of({7}, {4}, type))),
              (std::vector<double>{0, 1, 0, 7}));
  }
}

TEST(Binary, BoolsOfAnyByte) {
  // Foreign memory holds masks of 255, and of other bytes.
  constexpr int64_t kCount = 1000;
  std::vector<uint8_t> bytes(2 * kCount);
  for (int64_t i = 0; i < kCount; ++i) {
    bytes[i] = static_cast<uint8_t>(i % 3 == 0 ? 0 : 1 + i % 255);
    bytes[kCount + i] = static_cast<uint8_t>(i % 5 < 2 ? 0 : 255 - i % 254);
  }
  const Tensor a = at::from_blob(bytes.data(), {kCount}, at::kBool);
  const Tensor b = at::from_blob(bytes.data() + kCount, {kCount}, at::kBool);
  const auto check = [&](const Tensor& x, const Tensor& y) {
    const Tensor results[] = {at::logical_and(x, y), at::bitwise_and(x, y), at::logical_or(x, y),  at::bitwise_or(x, y),
                              at::logical_xor(x, y), at::bitwise_xor(x, y), at::logical_not(x), at::bitwise_not(x)};
    const std::vector<double> p = values(x), q = values(at::expand(y, x.sizes()));
    for (int k = 0; k < 8; ++k) {
      ASSERT_EQ(results[k].scalar_type(), at::kBool);
      const std::vector<double> got = values(at::to(results[k], at::kInt));
      for (size_t i = 0; i < got.size(); ++i) {
        const bool u = p[i] != 0, v = q[i] != 0;
        ASSERT_EQ(got[i], k < 2 ? u && v : k < 4 ? u || v : k < 6 ? u != v : !u) << k << " at " << i;
      }
    }
  };
  check(a, b);
  check(at::slice(a, 0, 0, kCount, 3), at::slice(b, 0, 0, kCount, 3));
  check(at::transpose(at::view(a, {20, 50}), 0, 1), at::transpose(at::view(b, {20, 50}), 0, 1));
  check(at::view(a, {20, 50}), at::slice(b, 0, 0, 50));
  check(at::view(a, {20, 50}), at::slice(b, 0, 7, 8));
  EXPECT_EQ(values(at::bitwise_and(a, at::Scalar(true))), values(at::ne(a, at::Scalar(false))));
}

TEST(Binary, ComplexNumbersOfTwoHalves) {
  const Tensor re = tensor_of({1, 2}, {2}, ScalarType::Half), im = tensor_of({0, 0.5}, {2}, ScalarType::Half);
  const Tensor z = at::complex(re, im);
  EXPECT_EQ(z.scalar_type(), ScalarType::ComplexHalf);
  EXPECT_EQ(values(at::view_as_real(z)), (std::vector<double>{1, 0, 2, 0.5}));
  EXPECT_EQ(at::view_as_complex(tensor_of({1, 2, 3, 4}, {2, 2}, ScalarType::Half)).scalar_type(),
            ScalarType::ComplexHalf);
  const std::vector<double> polar = values(at::view_as_real(at::polar(re, im)));
  EXPECT_NEAR(polar[2], 2 * std::cos(0.5), 2e-3);
  EXPECT_NEAR(polar[3], 2 * std::sin(0.5), 2e-3);
  EXPECT_THROW(at::complex(re, tensor_of({1, 2}, {2})), c10::Error);
  EXPECT_THROW(at::view_as_complex(tensor_of({1, 2}, {2}, ScalarType::BFloat16)), c10::Error);
}

TEST(Binary, LargeBroadcastRowIsRightInParallel) {
  const Tensor x = tensor_of({1, 2, 3, 4, 5}, {700, 96}, ScalarType::Float), row = tensor_of({10, 20, 30}, {96}, ScalarType::Float);
  const std::vector<double> got = values(at::add(x, row)), l = values(x), r = values(row);
  for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], l[i] + r[i % 96]);
}

TEST(Binary, IsCloseAndEqual) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const Tensor a = tensor_of({1, nan, inf, 1}, {4}, ScalarType::Double), b = tensor_of({1 + 1e-9, nan, inf, 2}, {4}, ScalarType::Double);
  EXPECT_EQ(values(at::isclose(a, b)), (std::vector<double>{1, 0, 1, 0}));
  EXPECT_EQ(values(at::isclose(a, b, 1e-5, 1e-8, true)), (std::vector<double>{1, 1, 1, 0}));
  EXPECT_FALSE(at::allclose(a, b));
  EXPECT_FALSE(at::equal(a, a));
  EXPECT_TRUE(at::equal(tensor_of({1, 2}, {2}, ScalarType::Int), tensor_of({1, 2}, {2}, ScalarType::Int)));
}

}  // namespace
