#include "aten/ops/special/ops.h"

#include <cmath>

#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/testing/testing.h"
#include "gtest/gtest.h"

namespace at {
namespace {

Tensor tensor_of(std::initializer_list<double> values) {
  return testing::tensor_of(values, {static_cast<int64_t>(values.size())}, kDouble);
}

TEST(Special, EntrOfSpecialValues) {
  const std::vector<double> y = testing::values(at::special_entr(tensor_of({0, -0.0, 1, std::exp(1.0), 0.5, -1, INFINITY, -INFINITY, NAN})));
  const double expected[] = {0, 0, 0, -std::exp(1.0), 0.5 * std::log(2.0), -INFINITY, -INFINITY, -INFINITY};
  for (int i = 0; i < 8; ++i) EXPECT_DOUBLE_EQ(y[static_cast<size_t>(i)], expected[i]) << i;
  EXPECT_TRUE(std::isnan(y[8]));
}

TEST(Special, EntrTakesEveryRealDtypeAndLayout) {
  for (ScalarType dtype : {kFloat, kHalf, kBFloat16, kInt, kBool}) {
    const Tensor x = at::to(at::ones({2, 3}), dtype);
    const Tensor y = at::special_entr(x);
    EXPECT_EQ(y.scalar_type(), isFloatingType(dtype) ? dtype : kFloat);
    EXPECT_EQ(at::item(at::select(at::view(y, {6}), 0, 5)).toDouble(), 0.0);
  }
  const Tensor x = at::view(tensor_of({1, 2, 3, 4, 5, 6}), {2, 3});
  const Tensor strided = at::special_entr(at::transpose(x, 0, 1));
  const Tensor expected = at::transpose(at::special_entr(x), 0, 1);
  EXPECT_TRUE(at::equal(strided, expected));
  Tensor out = at::empty({0}, TensorOptions().dtype(kDouble));
  at::special_entr_out(out, x);
  EXPECT_TRUE(at::equal(out, at::special_entr(x)));
  EXPECT_EQ(at::special_entr(at::empty({0, 3})).sizes(), IntArrayRef({0, 3}));
}

TEST(Special, EntrRefusesComplex) {
  EXPECT_THROW(at::special_entr(at::empty({2}, TensorOptions().dtype(kComplexFloat))), c10::Error);
}

double value(const Tensor& t) { return at::item(t).toDouble(); }

TEST(Special, FunctionsOfTensorsAndNumbers) {
  const Tensor x = tensor_of({1.5});
  EXPECT_NEAR(value(at::i0(x)), 1.6467231897728906, 1e-15);
  EXPECT_NEAR(value(at::special_i1(x)), 0.98166642857790759, 1e-15);
  EXPECT_NEAR(value(at::polygamma(1, x)), 0.93480220054467930942, 1e-15);
  EXPECT_NEAR(value(at::mvlgamma(x, 2)), value(at::lgamma(x)) + std::log(M_PI) / 2, 1e-15);
  EXPECT_NEAR(value(at::special_zeta(x, 2.0)), value(at::special_zeta(1.5, tensor_of({2}))), 0);
  EXPECT_NEAR(value(at::special_zeta(2, tensor_of({1}))), M_PI * M_PI / 6, 1e-15);
  EXPECT_NEAR(value(at::add(at::igamma(x, tensor_of({0.7})), at::igammac(x, tensor_of({0.7})))), 1, 1e-15);
  EXPECT_EQ(value(at::special_xlog1py(tensor_of({0}), -1)), 0);
  EXPECT_NEAR(value(at::special_xlog1py(2, x)), 2 * std::log1p(1.5), 1e-15);
  EXPECT_NEAR(value(at::special_ndtr(x)) + value(at::special_ndtr(at::neg(x))), 1, 1e-15);
  EXPECT_NEAR(value(at::special_ndtri(at::special_ndtr(x))), 1.5, 1e-14);
  EXPECT_NEAR(value(at::special_bessel_j0(x)), 0.51182767173591814, 1e-15);
  EXPECT_NEAR(value(at::special_legendre_polynomial_p(x, 2)), (3 * 1.5 * 1.5 - 1) / 2, 1e-15);
  EXPECT_EQ(value(at::special_shifted_chebyshev_polynomial_t(2.0, tensor_of({2}))), 17);
  // Degrees are cut towards 0.
  EXPECT_EQ(value(at::special_chebyshev_polynomial_t(3.0, tensor_of({-0.5}))), 1);
  EXPECT_EQ(value(at::special_chebyshev_polynomial_t(3.0, tensor_of({-1}))), 0);
}

TEST(Special, DtypesOfResults) {
  const Tensor integers = at::to(tensor_of({1, 2}), kLong), halves = at::to(tensor_of({1, 2}), kHalf);
  EXPECT_EQ(at::i0(integers).scalar_type(), kFloat);
  EXPECT_EQ(at::polygamma(1, integers).scalar_type(), kFloat);
  EXPECT_EQ(at::special_chebyshev_polynomial_t(integers, 2).scalar_type(), kFloat);
  EXPECT_EQ(at::special_erfcx(halves).scalar_type(), kHalf);
  EXPECT_EQ(at::igamma(at::to(halves, kFloat), tensor_of({1, 2})).scalar_type(), kDouble);
  EXPECT_THROW(at::igamma(integers, integers), c10::Error);
  EXPECT_THROW(at::polygamma(-1, halves), c10::Error);
  EXPECT_THROW(at::mvlgamma(halves, 0), c10::Error);
  const Tensor z = at::empty({2}, TensorOptions().dtype(kComplexFloat));
  EXPECT_THROW(at::i0(z), c10::Error);
  EXPECT_THROW(at::special_zeta(z, z), c10::Error);
  Tensor in_place = tensor_of({1.5});
  in_place.polygamma_(1);
  EXPECT_NEAR(value(in_place), 0.93480220054467930942, 1e-15);
  Tensor out = at::empty({0}, TensorOptions().dtype(kDouble));
  at::polygamma_out(out, 1, tensor_of({1.5}));
  EXPECT_TRUE(at::equal(out, in_place));
}

TEST(Special, AliasesAreTheOperatorsTheyName) {
  const Tensor x = tensor_of({0.25, 0.5});
  EXPECT_TRUE(at::equal(at::special_expit(x), at::sigmoid(x)));
  EXPECT_TRUE(at::equal(at::special_exp2(x), at::exp2(x)));
  Tensor out = at::empty({2}, TensorOptions().dtype(kDouble));
  at::special_erf_out(out, x);
  EXPECT_TRUE(at::equal(out, at::erf(x)));
}

}  // namespace
}  // namespace at
