#include "export/pt2/scalar_operators.h"

#include "c10/testing/message_of.h"
#include "gtest/gtest.h"

namespace torch::pt2 {
namespace {

using c10::IValue;
using c10::testing::message_of;

IValue run(const char* target, c10::Stack stack) {
  scalar_operator(target)->call(stack);
  return stack.at(0);
}

// As Python computes them.
TEST(ScalarOperators, WholeNumbers) {
  EXPECT_EQ(run("_operator.add", {2, true}).toInt(), 3);
  EXPECT_EQ(run("_operator.floordiv", {-7, 2}).toInt(), -4);
  EXPECT_EQ(run("_operator.mod", {-7, 2}).toInt(), 1);
  EXPECT_EQ(run("_operator.mod", {INT64_MIN, -1}).toInt(), 0);
  EXPECT_EQ(run("_operator.truediv", {7, 2}).toDouble(), 3.5);
  EXPECT_EQ(run("_operator.pow", {-3, 3}).toInt(), -27);
  EXPECT_EQ(run("_operator.pow", {2, -1}).toDouble(), 0.5);
  EXPECT_EQ(run("_operator.rshift", {-5, 1}).toInt(), -3);
  EXPECT_TRUE(run("_operator.le", {2, 2}).toBool());
  EXPECT_TRUE(run("_operator.and_", {true, true}).toBool());
  EXPECT_EQ(run("_operator.and_", {6, 3}).toInt(), 2);
  EXPECT_EQ(run("torch.sym_max", {2, 9}).toInt(), 9);
  EXPECT_EQ(run("torch.sym_ite", {false, 1, 2}).toInt(), 2);
}

TEST(ScalarOperators, OtherNumbers) {
  EXPECT_EQ(run("_operator.floordiv", {-7.0, 2}).toDouble(), -4);
  EXPECT_EQ(run("_operator.mod", {-7.5, 2}).toDouble(), 0.5);
  EXPECT_EQ(run("math.trunc", {-2.7}).toInt(), -2);
  EXPECT_EQ(run("torch.sym_sqrt", {9}).toDouble(), 3);
}

TEST(ScalarOperators, Errors) {
  EXPECT_FALSE(scalar_operator("_operator.attrgetter").has_value());
  EXPECT_FALSE(scalar_operator("os.system").has_value());
  EXPECT_NE(message_of([] { run("_operator.add", {INT64_MAX, 1}); }).find("beyond int64"), std::string::npos);
  EXPECT_NE(message_of([] { run("_operator.pow", {10, 100}); }).find("beyond int64"), std::string::npos);
  EXPECT_NE(message_of([] { run("_operator.lshift", {1, 63}); }).find("beyond int64"), std::string::npos);
  EXPECT_NE(message_of([] { run("math.trunc", {1e300}); }).find("beyond int64"), std::string::npos);
  EXPECT_NE(message_of([] { run("_operator.floordiv", {1, 0}); }).find("by zero"), std::string::npos);
  EXPECT_NE(message_of([] { run("_operator.truediv", {1, 0}); }).find("by zero"), std::string::npos);
  EXPECT_NE(message_of([] { run("_operator.add", {"a", 1}); }).find("expected a number"), std::string::npos);
}

}  // namespace
}  // namespace torch::pt2
