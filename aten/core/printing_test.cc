// The texts are what libtorch 2.15 prints for the same tensors.
#include "aten/core/printing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/core/tensor_accessor.h"
#include "aten/core/tensor_literal.h"

namespace at {
namespace {

using torch::detail::TensorDataContainer;

Tensor literal(TensorDataContainer data, TensorOptions options = {}) { return data.convert_to_tensor(options); }

TEST(Printing, NumbersOfOneElement) {
  EXPECT_EQ(to_string(literal(3)), "3\n[ CPULongType{} ]");
  EXPECT_EQ(to_string(literal(3.5)), "3.5\n[ CPUFloatType{} ]");
  EXPECT_EQ(to_string(literal(1234567.891)), "1234567.875\n[ CPUFloatType{} ]");
}

TEST(Printing, IntegersShowAllTheirDigits) {
  EXPECT_EQ(to_string(literal(123456789)), "123456789\n[ CPULongType{} ]");
  EXPECT_EQ(to_string(literal(int64_t{-9007199254740993})), "-9007199254740993\n[ CPULongType{} ]");
  EXPECT_EQ(to_string(literal(true)), "1\n[ CPUBoolType{} ]");
  EXPECT_EQ(to_string(literal({1234567, -3})), " 1234567\n      -3\n[ CPULongType{2} ]");
  EXPECT_EQ(to_string(literal({int64_t{1}, int64_t{-1000000}, int64_t{1000000000000}})),
            " 1.0000e+00\n-1.0000e+06\n 1.0000e+12\n[ CPULongType{3} ]");
}

TEST(Printing, AStreamsPrecisionChangesNothing) {
  std::ostringstream out;
  out.precision(2);
  out << literal(1. / 3, kDouble) << literal({0.25, 1.}, kDouble) << literal({1e9, 2.5e9, 0.5}, kDouble);
  EXPECT_EQ(out.str(),
            "0.3333333333333333\n[ CPUDoubleType{} ] 0.2500\n 1.0000\n[ CPUDoubleType{2} ] 1.0000e+09\n 2.5000e+09\n"
            " 5.0000e-01\n[ CPUDoubleType{3} ]");
  EXPECT_EQ(to_string(literal({1234567890.5, 2e9}, kDouble)), "1000000000 *\n 1.2346\n 2.0000\n[ CPUDoubleType{2} ]");
}

TEST(Printing, SpecialValues) {
  const double inf = HUGE_VAL, nan = std::nan("");
  EXPECT_EQ(to_string(literal({inf, -inf, nan, 1.})), "inf\n-inf\nnan\n 1\n[ CPUFloatType{4} ]");
  EXPECT_EQ(to_string(literal({{inf, 0.25}, {nan, -123.5}})), "      inf    0.2500\n      nan -123.5000\n[ CPUFloatType{2,2} ]");
  EXPECT_EQ(to_string(literal({nan, nan})), "nan\nnan\n[ CPUFloatType{2} ]");
  EXPECT_EQ(to_string(literal({-0., 0.})), "-0\n 0\n[ CPUFloatType{2} ]");
  EXPECT_EQ(to_string(literal({1., 2., 1e6})), "       1\n       2\n   1e+06\n[ CPUFloatType{3} ]");
  EXPECT_EQ(to_string(literal({1e-10, 2e-10})), "1e-10 *\n 1.0000\n 2.0000\n[ CPUFloatType{2} ]");
}

TEST(Printing, Vectors) {
  EXPECT_EQ(to_string(literal({1, 2, -3})), " 1\n 2\n-3\n[ CPULongType{3} ]");
  EXPECT_EQ(to_string(literal({1., 2., 300.})), "   1\n   2\n 300\n[ CPUFloatType{3} ]");
  EXPECT_EQ(to_string(literal({1.5, std::nan(""), HUGE_VAL})), " 1.5000\n    nan\n    inf\n[ CPUFloatType{3} ]");
  EXPECT_EQ(to_string(literal({1e-5, 2e-5, 3e-5})), "1e-05 *\n 1.0000\n 2.0000\n 3.0000\n[ CPUFloatType{3} ]");
  EXPECT_EQ(to_string(literal({1e7, 2.5, 3.})), " 1.0000e+07\n 2.5000e+00\n 3.0000e+00\n[ CPUFloatType{3} ]");
  EXPECT_EQ(to_string(literal({12345., 2.5, 3.})), " 12345.0000\n     2.5000\n     3.0000\n[ CPUFloatType{3} ]");
  EXPECT_EQ(to_string(literal({true, false})), " 1\n 0\n[ CPUBoolType{2} ]");
}

TEST(Printing, MatricesAndSlices) {
  EXPECT_EQ(to_string(literal({{1., 2.}, {3., 4.5}})), " 1.0000  2.0000\n 3.0000  4.5000\n[ CPUFloatType{2,2} ]");
  EXPECT_EQ(to_string(at::view(at::arange(12), {2, 2, 3})),
            "(1,.,.) = \n 0  1  2\n  3  4  5\n\n(2,.,.) = \n  6   7   8\n   9  10  11\n[ CPULongType{2,2,3} ]");
  EXPECT_EQ(to_string(literal({{{0.0122, -0.0293}, {0.0366, 0.0194}}})),
            "(1,.,.) = \n0.01 *\n  1.2200 -2.9300\n   3.6600  1.9400\n[ CPUFloatType{1,2,2} ]");
  const std::string wide = to_string(at::view(at::arange(60), {2, 30}));
  EXPECT_EQ(wide.substr(0, 30), "Columns 1 to 20  0   1   2   3");
  EXPECT_NE(wide.find("\n\nColumns 21 to 30 20  21"), std::string::npos);
  EXPECT_EQ(to_string(at::view(at::arange(60), {1, 2, 30})).substr(0, 39),
            "(1,.,.) = \nColumns 1 to 19   0   1   2 ");
}

TEST(Printing, WithoutElements) {
  EXPECT_EQ(to_string(Tensor()), "[ Tensor (undefined) ]");
  EXPECT_EQ(to_string(at::empty({2, 0})), "[ CPUFloatType{2,0} ]");
  EXPECT_EQ(Tensor().toString(), "UndefinedType");
}

TEST(Printing, ComplexNumbersShowTheirRealParts) {
  const Tensor z = at::complex(literal({1., 2.}), literal({3., -4.5}));
  EXPECT_EQ(to_string(z), " 1\n 2\n[ CPUComplexFloatType{2} ]");
}

TEST(Printing, ANumberOfNoDimensionShowsAllItsDigits) {
  const std::pair<double, const char*> cases[] = {
      {1e15, "1000000000000000"},
      {1e16, "1e+16"},
      {123456789012345680.0, "1.2345678901234568e+17"},
      {1e-4, "0.0001"},
      {1.2345e-5, "1.2345e-05"},
      {5e-324, "5e-324"},
      {1.0 / 3, "0.3333333333333333"},
      {-2.5, "-2.5"},
      {-0.0, "-0"},
      {INFINITY, "inf"},
      {-INFINITY, "-inf"},
      {NAN, "nan"},
  };
  for (const auto& [value, text] : cases) {
    EXPECT_EQ(to_string(at::full({}, value, kDouble)), text + std::string("\n[ CPUDoubleType{} ]"));
  }
  EXPECT_EQ(to_string(at::full({}, 0.1, kFloat)), "0.10000000149011612\n[ CPUFloatType{} ]");
  EXPECT_EQ(to_string(at::full({}, 0.1, kBFloat16)), "0.10009765625\n[ CPUBFloat16Type{} ]");
}

TEST(Literal, InfersSizesAndTypes) {
  EXPECT_EQ(literal({{1, 2, 3}, {4, 5, 6}}).sizes(), IntArrayRef({2, 3}));
  EXPECT_EQ(literal({{1, 2}, {3, 4}}).scalar_type(), kLong);
  EXPECT_EQ(literal({1.5f}).scalar_type(), kFloat);
  EXPECT_EQ(literal(std::vector<int>{1, 2}).scalar_type(), kLong);
  EXPECT_EQ(literal(std::vector<bool>{true, false}).scalar_type(), kBool);
  EXPECT_EQ(literal(TensorDataContainer()).sizes(), IntArrayRef({0}));
  const Tensor t = literal({{1, 2}, {3, 4}}, kDouble);
  EXPECT_EQ((t.accessor<double, 2>()[1][0]), 3);
}

TEST(Literal, RaggedOrMixedListsThrow) {
  try {
    literal({{1, 2}, {3}});
    FAIL() << "a ragged list was taken";
  } catch (const Error& e) {
    EXPECT_EQ(e.msg(),
              "Expected all sub-lists to have sizes: 2 (e.g. {1, 2}), but got sub-list {3} with sizes: 1");
  }
  EXPECT_THROW(literal({1, 2.5}), Error);
}

}  // namespace
}  // namespace at
