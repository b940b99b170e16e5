#include "graph/passes/shape_propagation.h"

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/random/ops.h"
#include "c10/testing/message_of.h"
#include "graph/interpreter/interpreter.h"
#include "graph/ir/text.h"
#include "graph/passes/fit.h"
#include "graph/passes/tensor_info.h"
#include "graph/passes/testing/programs.h"
#include "gtest/gtest.h"

namespace torch::graph {
namespace {

using c10::IValue;
using testing::parse;

TEST(Fit, Expressions) {
  std::map<std::string, IntRange> ranges{{"s", {2, 1000}}, {"t", {2, 1000}}};
  const auto points = sample_points({"s", "t"}, ranges);
  ASSERT_GE(points.size(), kFewestPoints);
  for (const auto& point : points) {
    for (const auto& [name, value] : point) EXPECT_TRUE(ranges.at(name).contains(value));
  }
  const auto fitted = [&](const char* text) {
    std::vector<int64_t> values;
    for (const auto& point : points) values.push_back(IntExpr::parse(text).evaluate(point));
    const auto found = fit(values, points);
    return found.has_value() ? found->str() : "none";
  };
  for (const char* text : {"7", "s", "3*s + 1", "t - 5", "s*t", "4*s*t + 2", "s*s", "s*s*t", "s // 2", "(s + 1) // 2",
                           "(t + 3) // 5", "-s"}) {
    EXPECT_EQ(fitted(text), IntExpr::parse(text).str());
  }
  EXPECT_EQ(fitted("s % 3"), "none");
  EXPECT_EQ(fitted("max(s, t)"), "none");
  EXPECT_EQ(sample_points({}, ranges).size(), 1u);
  for (const auto& point : sample_points({"u"}, {{"u", {5, 7}}})) EXPECT_TRUE(point.at("u") >= 5 && point.at("u") <= 7);
}

std::string infos(std::string_view text, c10::Stack examples = {}) {
  const auto graph = parse(text);
  propagate_shapes(*graph, examples);
  verify(*graph);
  return print(*graph);
}

TEST(ShapePropagation, FromExamples) {
  EXPECT_EQ(infos(R"(graph f(%x: Tensor, %n: int) {
    %0: Tensor = aten::t(%x)
    %1: Tensor = aten::mm(%x, %0)
    %2: Tensor = aten::zeros([%n, 5], 7, None, None, None)
    %3: Tensor, %4: Tensor = aten::max.dim(%1, 1, False)
    %5: Tensor[] = aten::split.Tensor(%x, 2, 1)
    %6: Tensor, %7: Tensor = unpack(%5)
    %8: Tensor = aten::select.int(%x, 0, 1)
    return %1, %2
  })",
                  {at::randn({2, 4}), 3}),
            R"(graph f(%x: Tensor<Float, cpu, [2, 4], [4, 1]>, %n: int) {
  %0: Tensor<Float, cpu, [4, 2], [1, 4]> = aten::t(%x)
  %1: Tensor<Float, cpu, [2, 2], [2, 1]> = aten::mm(%x, %0)
  %2: Tensor<Double, cpu, [3, 5], [5, 1]> = aten::zeros([%n, 5], 7, None, None, None)
  %3: Tensor<Float, cpu, [2], [1]>, %4: Tensor<Long, cpu, [2], [1]> = aten::max.dim(%1, 1, False)
  %5: Tensor[] = aten::split.Tensor(%x, 2, 1)
  %6: Tensor<Float, cpu, [2, 2], [4, 1]>, %7: Tensor<Float, cpu, [2, 2], [4, 1], offset 2> = unpack(%5)
  %8: Tensor<Float, cpu, [4], [1], offset 4> = aten::select.int(%x, 0, 1)
  return %1, %2
}
)");
}

TEST(ShapePropagation, NumbersGiveWay) {
  for (const bool number : {true, false}) {
    const at::Tensor half = number ? at::wrapped_scalar_tensor(-0.5) : at::full({}, -0.5, at::kDouble);
    const auto graph = parse(R"(graph f(%x: Tensor) {
      %0: Tensor = aten::mul.Tensor(%x, @0)
      return %0
    })",
                             {half});
    propagate_shapes(*graph, {at::ones({}, at::kFloat)});
    EXPECT_EQ(graph->block().outputs()[0].value()->info()->dtype, number ? at::kFloat : at::kDouble);
  }
}

TEST(ShapePropagation, SymbolsOfInputs) {
  const auto graph = parse(R"(graph f(%x: Tensor<Float, cpu, [s0, 3, s1, s1], [3*s1*s1, s1*s1, s1, 1]>) {
    where s0 in [1, 64]
    where s1 in [8, 256]
    %0: Tensor = aten::conv2d(%x, @0, None, [2, 2], [1, 1], [1, 1], 1)
    %1: Tensor = aten::flatten.using_ints(%x, 1, 3)
    %2: Tensor = aten::cat([%1, %1], 0)
    %3: Tensor = aten::zeros([{s0}, {2*s1}], None, None, None, None)
    return %0, %2, %3
  })",
                           {at::randn({5, 3, 3, 3})});
  EXPECT_EQ(propagate_shapes(*graph).changes, 4);
  verify(*graph);
  std::vector<std::string> sizes;
  for (const Node* node : graph->block()) {
    ASSERT_NE(node->result()->info(), nullptr) << print_node(*node);
    std::string text;
    for (const IntExpr& e : node->result()->info()->sizes) text += e.str() + " ";
    sizes.push_back(text);
  }
  const std::string half = IntExpr::parse("(s1 + 1) // 2").str();
  EXPECT_EQ(sizes,
            (std::vector<std::string>{"s0 5 " + half + " " + half + " ", "s0 3*s1*s1 ", "2*s0 3*s1*s1 ", "s0 2*s1 "}));
}

TEST(ShapePropagation, StopsWhereElementsDecide) {
  const auto graph = parse(R"(graph f(%x: Tensor<Float, cpu, [4], [1]>) {
    %0: Tensor = aten::nonzero(%x)
    %1: Tensor = aten::neg(%0)
    %2: Tensor = aten::neg(%x)
    return %1, %2
  })");
  const PassResult result = propagate_shapes(*graph);
  EXPECT_EQ(result.changes, 1);
  ASSERT_EQ(result.notes.size(), 1u);
  EXPECT_NE(result.notes[0].find("aten::nonzero"), std::string::npos);
  EXPECT_NE(c10::testing::message_of([&] {
              propagate_shapes(*graph, {IValue(1), IValue(2)});
            }).find("expected 1 examples, one for each input of graph f, but got 2"),
            std::string::npos);
}

TEST(ShapePropagation, ControlFlow) {
  EXPECT_EQ(infos(R"(graph f(%x: Tensor, %c: bool) {
    %0: Tensor = if(%c) {
      %1: Tensor = aten::neg(%x)
      yield %1
    } {
      yield %x
    }
    %2: Tensor, %3: Tensor = loop(3, True, [%0, %x]) { |%turn: int, %a: Tensor, %b: Tensor|
      %4: Tensor = aten::exp(%a)
      %5: Tensor = aten::cat([%b, %b], 0)
      yield True, %4, %5
    }
    %6: Tensor = map([%x], []) { |%row: Tensor|
      %7: Tensor = aten::sum(%row, None)
      yield %7
    }
    return %2, %3, %6
  })",
                  {at::randn({2, 4}), true}),
            R"(graph f(%x: Tensor<Float, cpu, [2, 4], [4, 1]>, %c: bool) {
  %0: Tensor<Float, cpu, [2, 4], [4, 1]> = if(%c) {
    %1: Tensor<Float, cpu, [2, 4], [4, 1]> = aten::neg(%x)
    yield %1
  } {
    yield %x
  }
  %2: Tensor<Float, cpu, [2, 4], [4, 1]>, %3: Tensor = loop(3, True, [%0, %x]) { )"
            R"(|%turn: int, %a: Tensor<Float, cpu, [2, 4], [4, 1]>, %b: Tensor|
    %4: Tensor<Float, cpu, [2, 4], [4, 1]> = aten::exp(%a)
    %5: Tensor = aten::cat([%b, %b], 0)
    yield True, %4, %5
  }
  %6: Tensor<Float, cpu, [2], [1]> = map([%x], []) { |%row: Tensor<Float, cpu, [4], [1]>|
    %7: Tensor<Float, cpu, [], []> = aten::sum(%row, None)
    yield %7
  }
  return %2, %3, %6
}
)");
}

// What is said of a tensor is so when it runs.
TEST(ShapePropagation, IsWhatRandomGraphsDo) {
  struct Compare : RunListener {
    void ran(const Node& node, c10::ArrayRef<IValue> results) override {
      for (size_t i = 0; i < results.size(); ++i) {
        const TensorInfo* info = node.result(i)->info();
        if (info == nullptr || !results[i].isTensor()) continue;
        ++compared;
        TensorInfo got = info_of(results[i].toTensor());
        got.requires_grad = info->requires_grad;
        EXPECT_TRUE(got == *info) << print_node(node);
      }
    }
    int compared = 0;
  } compare;
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::RandomProgram program = testing::random_program(seed);
    const PassResult result = propagate_shapes(*program.graph, program.inputs);
    verify(*program.graph);
    EXPECT_TRUE(result.notes.empty()) << result.notes[0];
    c10::Stack stack = program.inputs;
    Interpreter (*program.graph)(stack, &compare);
  }
  EXPECT_GT(compare.compared, 3000);
}

}  // namespace
}  // namespace torch::graph
