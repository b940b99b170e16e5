#include "utils/repr/repr.h"

#include <gtest/gtest.h>

#include "aten/core/tensor_literal.h"
#include "aten/ops/creation/ops.h"

namespace torch {
namespace {

TEST(Repr, OptionsAreForAllThatFollowsAndChecked) {
  const at::Tensor x = torch::tensor({1.5, -2.});
  EXPECT_EQ(repr(x), "tensor([ 1.5000, -2.0000])");
  PrintOptions two;
  two.precision = 2;
  EXPECT_EQ(repr(x, two), "tensor([ 1.50, -2.00])");
  set_printoptions(two);
  EXPECT_EQ(get_printoptions().precision, 2);
  EXPECT_EQ(repr(x), "tensor([ 1.50, -2.00])");
  set_printoptions(PrintOptions::profile("default"));
  EXPECT_EQ(repr(x), "tensor([ 1.5000, -2.0000])");

  for (auto spoil : {+[](PrintOptions& o) { o.precision = 101; }, +[](PrintOptions& o) { o.threshold = -1; },
                     +[](PrintOptions& o) { o.edgeitems = -1; }, +[](PrintOptions& o) { o.linewidth = 0; }}) {
    PrintOptions bad;
    spoil(bad);
    EXPECT_THROW(set_printoptions(bad), c10::ValueError);
  }
  EXPECT_THROW(PrintOptions::profile("long"), c10::ValueError);
  EXPECT_EQ(get_printoptions().precision, 4);
}

TEST(Repr, NothingOfATensorNeedBeThere) {
  EXPECT_EQ(repr(at::Tensor()), "None");
  EXPECT_EQ(repr(at::empty({2, 0})), "tensor([], size=(2, 0))");
  PrintOptions none;
  none.threshold = 1;
  none.edgeitems = 0;
  EXPECT_EQ(repr(torch::tensor({1, 2, 3}), none), "tensor([...])");
}

TEST(Repr, NumbersAtTheEndsOfTheirTypes) {
  EXPECT_EQ(repr(torch::tensor({std::numeric_limits<int64_t>::min()})), "tensor([-9223372036854775808])");
  EXPECT_EQ(repr(at::full({1}, std::numeric_limits<double>::max(), at::TensorOptions(at::kDouble))),
            "tensor([1.7977e+308], dtype=torch.float64)");
}

}  // namespace
}  // namespace torch
