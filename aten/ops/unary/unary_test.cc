#include <cmath>
#include <limits>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/testing/testing.h"
#include "gtest/gtest.h"

namespace {

using at::ScalarType;
using at::Tensor;
using at::testing::tensor_of;
using at::testing::values;


struct Case {
  const char* name;
  Tensor (*op)(const Tensor&);
  double (*exact)(double);
  double shift;  // added to every argument, to stay inside the domain
};

const Case kCases[] = {
    {"exp", at::exp, std::exp, 0},       {"exp2", at::exp2, std::exp2, 0},     {"expm1", at::expm1, std::expm1, 0},
    {"log", at::log, std::log, 4},       {"log2", at::log2, std::log2, 4},     {"log10", at::log10, std::log10, 4},
    {"log1p", at::log1p, std::log1p, 3}, {"sin", at::sin, std::sin, 0},        {"cos", at::cos, std::cos, 0},
    {"tan", at::tan, std::tan, 0},       {"atan", at::atan, std::atan, 0},     {"sinh", at::sinh, std::sinh, 0},
    {"cosh", at::cosh, std::cosh, 0},    {"tanh", at::tanh, std::tanh, 0},     {"asinh", at::asinh, std::asinh, 0},
    {"acosh", at::acosh, std::acosh, 5}, {"sqrt", at::sqrt, std::sqrt, 4},     {"erf", at::erf, std::erf, 0},
    {"erfc", at::erfc, std::erfc, 0},    {"lgamma", at::lgamma, std::lgamma, 5},
    {"sigmoid", at::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, 0},
    {"rsqrt", at::rsqrt, [](double x) { return 1 / std::sqrt(x); }, 4},
    {"reciprocal", at::reciprocal, [](double x) { return 1 / x; }, 4},
    {"rad2deg", at::rad2deg, [](double x) { return x * 180 / 3.14159265358979323846; }, 0},
};

TEST(Unary, FloatingFunctionsInEveryDtypeAndLayout) {
  for (const Case& c : kCases) {
    for (ScalarType type : {ScalarType::Half, ScalarType::BFloat16, ScalarType::Float, ScalarType::Double, ScalarType::Int, ScalarType::Byte}) {
      std::vector<double> x = {-2, -1, -0.5, 0, 0.25, 1, 1.75, 3};
      for (double& v : x) v += c.shift;
      if (type == ScalarType::Byte) {
        for (double& v : x) v = std::fabs(v);
      }
      const Tensor t = tensor_of(x, {5, 7}, type);
      for (const Tensor& in : {t, at::transpose(t, 0, 1), at::slice(t, 1, 1, 7, 2)}) {
        const Tensor got = c.op(in);
        const std::vector<double> g = values(got), a = values(in);
        EXPECT_EQ(got.sizes(), in.sizes());
        const double tolerance = type == ScalarType::BFloat16 ? 1e-2 : type == ScalarType::Half ? 2e-3 : type == ScalarType::Double ? 1e-13 : 1e-6;
        for (size_t i = 0; i < g.size(); ++i) {
          const double e = c.exact(a[i]);
          if (type == ScalarType::Half && std::fabs(e) > 65504) continue;
          ASSERT_NEAR(g[i], e, tolerance * (std::fabs(e) + 0.1)) << c.name << "(" << a[i] << ") in " << at::toString(type);
        }
      }
    }
  }
}

TEST(Unary, IntegersKeepTheirType) {
  const Tensor i = tensor_of({-3, 0, 5}, {3}, ScalarType::Int);
  EXPECT_EQ(values(at::abs(i)), (std::vector<double>{3, 0, 5}));
  EXPECT_EQ(values(at::neg(i)), (std::vector<double>{3, 0, -5}));
  EXPECT_EQ(values(at::sign(i)), (std::vector<double>{-1, 0, 1}));
  EXPECT_EQ(values(at::bitwise_not(i)), (std::vector<double>{2, -1, -6}));
  EXPECT_EQ(at::floor(i).scalar_type(), ScalarType::Int);
  EXPECT_EQ(at::square(i).scalar_type(), ScalarType::Int);
  EXPECT_EQ(at::exp(i).scalar_type(), ScalarType::Float);
  EXPECT_EQ(values(at::bitwise_not(tensor_of({0, 1}, {2}, ScalarType::Bool))), (std::vector<double>{1, 0}));
}

TEST(Unary, RoundingAndParts) {
  const Tensor x = tensor_of({-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.7}, {7}, ScalarType::Float);
  EXPECT_EQ(values(at::round(x)), (std::vector<double>{-2, -2, -0.0, 0, 2, 2, 3}));
  EXPECT_EQ(values(at::trunc(x)), (std::vector<double>{-2, -1, -0.0, 0, 1, 2, 2}));
  EXPECT_EQ(values(at::floor(x)), (std::vector<double>{-3, -2, -1, 0, 1, 2, 2}));
  EXPECT_NEAR(values(at::round(tensor_of({3.14159}, {1}, ScalarType::Double), 2))[0], 3.14, 1e-12);
  EXPECT_EQ(values(at::round(tensor_of({1249}, {1}, ScalarType::Double), -2))[0], 1200);
  const auto [mantissa, exponent] = at::frexp(tensor_of({8, -0.75, 0}, {3}, ScalarType::Float));
  EXPECT_EQ(values(mantissa), (std::vector<double>{0.5, -0.75, 0}));
  EXPECT_EQ(values(exponent), (std::vector<double>{4, 0, 0}));
}

template <class T>
void expect_parts(ScalarType type) {
  using Limits = std::numeric_limits<T>;
  std::vector<double> numbers;
  for (const T x : {T(0), Limits::denorm_min(), 3 * Limits::denorm_min(), Limits::min() / 2, std::nextafter(Limits::min(), T(0)),
                    Limits::min(), T(0.5), std::nextafter(T(1), T(0)), T(1), T(3), Limits::max(), Limits::infinity()}) {
    numbers.push_back(x), numbers.push_back(-x);
  }
  numbers.push_back(NAN);
  const auto [mantissa, exponent] = at::frexp(tensor_of(numbers, {static_cast<int64_t>(numbers.size())}, type));
  const std::vector<double> m = values(mantissa), e = values(exponent);
  for (size_t i = 0; i < numbers.size(); ++i) {
    int want = 0;
    const double part = std::frexp(numbers[i], &want);
    if (!std::isfinite(numbers[i])) want = 0;
    EXPECT_EQ(e[i], want) << numbers[i];
    EXPECT_TRUE(m[i] == part || (std::isnan(m[i]) && std::isnan(part))) << numbers[i] << ": " << m[i];
    EXPECT_EQ(std::signbit(m[i]), std::signbit(part)) << numbers[i];
  }
}

TEST(Unary, FrexpOfAllSizes) {
  expect_parts<float>(ScalarType::Float);
  expect_parts<double>(ScalarType::Double);
}

TEST(Unary, PredicatesAndNanToNum) {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor x = tensor_of({1, NAN, inf, -inf}, {4}, ScalarType::Float);
  EXPECT_EQ(values(at::isnan(x)), (std::vector<double>{0, 1, 0, 0}));
  EXPECT_EQ(values(at::isinf(x)), (std::vector<double>{0, 0, 1, 1}));
  EXPECT_EQ(values(at::isfinite(x)), (std::vector<double>{1, 0, 0, 0}));
  EXPECT_EQ(values(at::isneginf(x)), (std::vector<double>{0, 0, 0, 1}));
  EXPECT_EQ(values(at::signbit(x))[3], 1);
  EXPECT_EQ(values(at::nan_to_num(x, 7.0, 8.0, -8.0)), (std::vector<double>{1, 7, 8, -8}));
  EXPECT_EQ(values(at::isfinite(tensor_of({1}, {1}, ScalarType::Int)))[0], 1);
}

TEST(Unary, ComplexNumbers) {
  const Tensor z = at::view_as_complex(tensor_of({3, -4}, {1, 2}, ScalarType::Double));
  EXPECT_EQ(values(at::abs(z))[0], 5);
  EXPECT_EQ(at::abs(z).scalar_type(), ScalarType::Double);
  EXPECT_EQ(values(at::angle(z))[0], std::atan2(-4.0, 3.0));
  const Tensor s = at::sgn(z), c = at::conj_physical(z);
  EXPECT_NEAR(values(at::view_as_real(s))[1], -0.8, 1e-15);
  EXPECT_EQ(values(at::view_as_real(c))[1], 4);
  EXPECT_THROW(at::sign(z), c10::Error);
  EXPECT_THROW(at::floor(z), c10::Error);
}

TEST(Unary, BadArgumentsAndZeroSize) {
  EXPECT_THROW(at::neg(tensor_of({1}, {1}, ScalarType::Bool)), c10::Error);
  EXPECT_THROW(at::bitwise_not(tensor_of({1}, {1}, ScalarType::Float)), c10::Error);
  EXPECT_EQ(at::exp(tensor_of({1}, {0, 2}, ScalarType::Float)).sizes(), at::IntArrayRef({0, 2}));
  Tensor i = tensor_of({1}, {1}, ScalarType::Int);
  EXPECT_THROW(at::exp_(i), c10::Error);
}

}  // namespace
