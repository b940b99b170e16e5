#include "aten/ops/foreach/ops.h"

#include <vector>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/ops/copy/ops.h"
#include "gtest/gtest.h"

namespace {

using at::Scalar;
using at::Tensor;

Tensor make(std::vector<float> values) {
  Tensor t = at::empty_contiguous({static_cast<int64_t>(values.size())}, at::ScalarType::Float);
  std::copy(values.begin(), values.end(), t.data_ptr<float>());
  return t;
}
std::vector<std::vector<float>> values(const std::vector<Tensor>& tensors) {
  std::vector<std::vector<float>> all;
  for (const Tensor& t : tensors) all.emplace_back(t.data_ptr<float>(), t.data_ptr<float>() + t.numel());
  return all;
}
using Lists = std::vector<std::vector<float>>;

TEST(Foreach, ArithmeticWithNumbersListsAndTensors) {
  const std::vector<Tensor> a = {make({1, 2}), make({3})}, b = {make({10, 20}), make({30})};
  const std::vector<Scalar> numbers = {2, 3};
  EXPECT_EQ(values(at::_foreach_add(a, 1)), (Lists{{2, 3}, {4}}));
  EXPECT_EQ(values(at::_foreach_add(a, b, 2)), (Lists{{21, 42}, {63}}));
  EXPECT_EQ(values(at::_foreach_mul(a, numbers)), (Lists{{2, 4}, {9}}));
  EXPECT_EQ(values(at::_foreach_sub(b, a)), (Lists{{9, 18}, {27}}));
  EXPECT_EQ(values(at::_foreach_div(b, a)), (Lists{{10, 10}, {10}}));
  EXPECT_EQ(values(at::_foreach_addcmul(a, a, b, 2)), (Lists{{21, 82}, {183}}));
  EXPECT_EQ(values(at::_foreach_addcdiv(a, b, a, numbers)), (Lists{{21, 22}, {33}}));
  EXPECT_EQ(values(at::_foreach_lerp(a, b, 1)), values(b));
  EXPECT_EQ(values(at::_foreach_maximum(a, 2)), (Lists{{2, 2}, {3}}));
  EXPECT_EQ(values(at::_foreach_clamp_max(a, 2)), (Lists{{1, 2}, {2}}));
  EXPECT_EQ(values(at::_foreach_pow(a, 2)), (Lists{{1, 4}, {9}}));
  EXPECT_EQ(values(at::_foreach_neg(a)), (Lists{{-1, -2}, {-3}}));
  EXPECT_EQ(values(at::_foreach_norm({make({3, 4}), make({2})})), (Lists{{5}, {2}}));
}

TEST(Foreach, InPlace) {
  std::vector<Tensor> a = {make({1, 4}), make({9})};
  at::_foreach_sqrt_(a);
  EXPECT_EQ(values(a), (Lists{{1, 2}, {3}}));
  at::_foreach_mul_(a, 2);
  at::_foreach_add_(a, a, 1);
  EXPECT_EQ(values(a), (Lists{{4, 8}, {12}}));
  at::_foreach_copy_(a, {make({1, 2}), make({3})});
  at::_foreach_addcdiv_(a, {make({1, 1}), make({1})}, {make({2, 2}), make({2})}, 2);
  EXPECT_EQ(values(a), (Lists{{2, 3}, {4}}));
  at::_foreach_zero_(a);
  EXPECT_EQ(values(a), (Lists{{0, 0}, {0}}));
}

TEST(Foreach, ListsMustFit) {
  const std::vector<Tensor> a = {make({1}), make({2})}, one = {make({1})};
  EXPECT_THROW(at::_foreach_add(a, one), c10::Error);
  EXPECT_THROW(at::_foreach_add(std::vector<Tensor>{}, 1), c10::Error);
  const std::vector<Scalar> numbers = {1};
  EXPECT_THROW(at::_foreach_mul(a, numbers), c10::Error);
}

}  // namespace
