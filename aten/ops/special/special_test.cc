#include "aten/ops/special/ops.h"

#include <cmath>

#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "gtest/gtest.h"

namespace at {
namespace {

Tensor tensor_of(std::initializer_list<double> values) {
  Tensor t = at::empty({static_cast<int64_t>(values.size())}, TensorOptions().dtype(kDouble));
  std::copy(values.begin(), values.end(), t.data_ptr<double>());
  return t;
}

TEST(Special, EntrOfSpecialValues) {
  const Tensor y = at::special_entr(tensor_of({0, -0.0, 1, std::exp(1.0), 0.5, -1, INFINITY, -INFINITY, NAN}));
  const double expected[] = {0, 0, 0, -std::exp(1.0), 0.5 * std::log(2.0), -INFINITY, -INFINITY, -INFINITY};
  for (int i = 0; i < 8; ++i) EXPECT_DOUBLE_EQ(y.data_ptr<double>()[i], expected[i]) << i;
  EXPECT_TRUE(std::isnan(y.data_ptr<double>()[8]));
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
