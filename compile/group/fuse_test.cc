// What groups are made of, and where they end.
#include "compile/group/fuse.h"

#include "aten/core/tensor.h"
#include "c10/testing/message_of.h"
#include "graph/ir/text.h"
#include "graph/passes/shape_propagation.h"
#include "graph/passes/testing/programs.h"
#include "gtest/gtest.h"

namespace torch::compiler {
namespace {

using c10::Stack;
using graph::testing::parse;

TEST(Fuse, DescribesAChain) {
  const auto graph =
      parse(R"(graph f(%x: Tensor<BFloat16, cpu, [8, 64], [64, 1]>, %w: Tensor<BFloat16, cpu, [64], [1]>) {
    %0: Tensor = aten::mul.Tensor(%x, %w)
    %1: Tensor = aten::add.Scalar(%0, 1, 2)
    %2: Tensor = aten::gelu(%1, "tanh")
    %3: Tensor = aten::gt.Scalar(%2, 0.301)
    return %2, %3
  })");
  graph::propagate_shapes(*graph);
  const auto parts = fuse(*graph);
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(print(parts[0].group), R"(sizes [8, 64]
input 0: BFloat16 [8, 64]
input 1: BFloat16 [64]
operation 0: mul(input 0, input 1), Float to BFloat16
operation 1: add_scaled(operation 0, 1; 2), Float to BFloat16
operation 2: gelu_tanh(operation 1), Float to BFloat16
operation 3: gt(operation 2, 0.300781), Float to Bool
output operation 2
output operation 3
)");
}

TEST(Fuse, RowsHaveAPrologueAndAnEpilogue) {
  const auto graph = parse(R"(graph f(%x: Tensor<Float, cpu, [s0, 16], [16, 1]>, %m: Tensor<Bool, cpu, [16], [1]>) {
    where s0 in [2, 100]
    %0: Tensor = aten::mul.Scalar(%x, 0.5)
    %1: Tensor = aten::masked_fill.Scalar(%0, %m, -1.5)
    %2: Tensor = aten::softmax.int(%1, 1, None)
    %3: Tensor = aten::mul.Tensor(%2, %0)
    %4: Tensor = aten::softmax.int(%3, -1, None)
    %5: Tensor = aten::softmax.int(%4, 0, None)
    return %5
  })");
  graph::propagate_shapes(*graph);
  const auto parts = fuse(*graph);
  // The second softmax begins another group, which has one node; the third goes along another dimension.
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(print(parts[0].group), R"(sizes [s0, 16]
input 0: Float [s0, 16]
input 1: Bool [16]
operation 0: mul(input 0, 0.5), Float
operation 1: where(input 1, -1.5, operation 0), Float
row: softmax(operation 1) of 1 dimensions, Float
operation 2: mul(row, operation 0), Float
output operation 2
)");
}

TEST(Fuse, OperandsOfOtherDtypesAreConverted) {
  const auto graph = parse(R"(graph f(%x: Tensor<Float, cpu, [4], [1]>, %n: Tensor<Long, cpu, [4], [1]>) {
    %0: Tensor = aten::mul.Tensor(%x, %n)
    %1: Tensor = aten::add.Tensor(%n, %n, 3)
    %2: Tensor = aten::minimum(%0, %1)
    return %2
  })");
  graph::propagate_shapes(*graph);
  const auto parts = fuse(*graph);
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(print(parts[0].group), R"(sizes [4]
input 0: Float [4]
input 1: Long [4]
operation 0: convert(input 1), Float
operation 1: mul(input 0, operation 0), Float
operation 2: add_scaled(input 1, input 1; 3), Long
operation 3: convert(operation 2), Float
operation 4: minimum(operation 1, operation 3), Float
output operation 4
)");
}

TEST(Fuse, QuotientsOf16BitsByOneNumberAreNotRoundedFirst) {
  const auto operations = [](const std::string& divisor) {
    const auto graph = parse(c10::str(R"(graph f(%x: Tensor<BFloat16, cpu, [4, 3], [3, 1]>,
        %y: Tensor<BFloat16, cpu, )",
                                      divisor, R"(>) {
      where s0 in [1, 3]
      %0: Tensor = aten::div.Tensor_mode(%x, %y, "trunc")
      %1: Tensor = aten::neg(%0)
      return %1
    })"));
    graph::propagate_shapes(*graph);
    const auto parts = fuse(*graph, {.min_nodes = 1});
    const std::string text = print(parts.at(0).group);
    return text.substr(text.find("operation 0"));
  };
  const char* const kCut =
      "operation 0: trunc_divide(input 0, input 1), Float to BFloat16\n"
      "operation 1: neg(operation 0), Float to BFloat16\noutput operation 1\n";
  EXPECT_EQ(operations("[], []"), kCut);
  EXPECT_EQ(operations("[1, 1], [1, 1]"), kCut);
  EXPECT_EQ(operations("[4, 1], [1, 1]"),
            "operation 0: div(input 0, input 1), Float to BFloat16\n"
            "operation 1: trunc(operation 0), Float to BFloat16\n"
            "operation 2: neg(operation 1), Float to BFloat16\noutput operation 2\n");
  // Of an unknown number: left alone.
  EXPECT_EQ(operations("[1, s0], [1, 1]").find("div"), std::string::npos);
}

// Not on another device, of unknown sizes, written, or with arguments with which the operator can fail.
TEST(Fuse, LeavesAlone) {
  const auto count = [](const char* text) {
    const auto graph = parse(text);
    graph::propagate_shapes(*graph);
    return fuse(*graph, {.min_nodes = 1}).size();
  };
  EXPECT_EQ(count(R"(graph f(%x: Tensor<Float, cpu, [4], [1]>) { %0: Tensor = aten::neg(%x) return %0 })"), 1u);
  EXPECT_EQ(count(R"(graph f(%x: Tensor<Float, meta, [4], [1]>) { %0: Tensor = aten::neg(%x) return %0 })"), 0u);
  EXPECT_EQ(count(R"(graph f(%x: Tensor) { %0: Tensor = aten::neg(%x) return %0 })"), 0u);
  EXPECT_EQ(count(R"(graph f(%x: Tensor<ComplexFloat, cpu, [4], [1]>) { %0: Tensor = aten::neg(%x) return %0 })"), 0u);
  EXPECT_EQ(count(R"(graph f(%x: Tensor<Float, cpu, [4], [1]>) {
    %0: Tensor = aten::neg(%x) %1: Tensor = aten::neg_(%x) return %0, %1 })"),
            0u);
  EXPECT_EQ(count(R"(graph f(%x: Tensor<Long, cpu, [4], [1]>) {
    %0: Tensor = aten::floor_divide(%x, %x) return %0 })"),
            0u);
}

TEST(Fuse, DescribeSaysWhatIsWrong) {
  const auto graph = parse(R"(graph f(%x: Tensor<Float, cpu, [4, 4], [4, 1]>) {
    %0: Tensor = aten::neg(%x) %1: Tensor = aten::mm(%0, %x) return %1 })");
  graph::propagate_shapes(*graph);
  const std::string message = c10::testing::message_of<c10::ValueError>([&] { describe(*graph); });
  EXPECT_NE(message.find("aten::mm"), std::string::npos) << message;
}

}  // namespace
}  // namespace torch::compiler
