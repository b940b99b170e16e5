// The texts are what libtorch 1.13 prints for the same tensors.
#include "aten/core/printing.h"

#include <gtest/gtest.h>

#include <cmath>

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
  EXPECT_EQ(to_string(literal(1234567.891)), "1.23457e+06\n[ CPUFloatType{} ]");
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
            "(1,.,.) = \n  0  1  2\n  3  4  5\n\n(2,.,.) = \n   6   7   8\n   9  10  11\n[ CPULongType{2,2,3} ]");
  const std::string wide = to_string(at::view(at::arange(60), {2, 30}));
  EXPECT_EQ(wide.substr(0, 30), "Columns 1 to 20  0   1   2   3");
  EXPECT_NE(wide.find("\n\nColumns 21 to 30 20  21"), std::string::npos);
}

TEST(Printing, WithoutElements) {
  EXPECT_EQ(to_string(Tensor()), "[ Tensor (undefined) ]");
  EXPECT_EQ(to_string(at::empty({2, 0})), "[ CPUFloatType{2,0} ]");
  EXPECT_EQ(Tensor().toString(), "UndefinedType");
}

TEST(Printing, ComplexNumbersShowBothParts) {
  const Tensor z = at::complex(literal({1., 2.}), literal({3., -4.5}));
  EXPECT_EQ(to_string(z), " 1.0000+3.0000j\n 2.0000-4.5000j\n[ CPUComplexFloatType{2} ]");
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
              "Expected all sub-lists to have sizes: [2] (e.g. {1, 2}), but got sub-list {3} with sizes: [1]");
  }
  EXPECT_THROW(literal({1, 2.5}), Error);
}

}  // namespace
}  // namespace at
