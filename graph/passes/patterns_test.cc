// The matcher, and batch norms that it folds.
#include "aten/aten.h"
#include "autograd/factories.h"
#include "c10/testing/message_of.h"
#include "graph/capture/capture.h"
#include "graph/ir/text.h"
#include "graph/passes/fold_batch_norm.h"
#include "graph/passes/matcher.h"
#include "graph/passes/shape_propagation.h"
#include "graph/passes/testing/programs.h"
#include "gtest/gtest.h"

namespace torch::graph {
namespace {

using at::Tensor;
using c10::IValue;
using c10::Stack;
using c10::testing::message_of;
using testing::difference;
using testing::parse;

TEST(Matcher, HolesAndConstants) {
  const auto pattern = parse(R"(graph p(%a: Tensor, %n: Any) {
    %0: Tensor = aten::mul.Scalar(%a, %n)
    %1: Tensor = aten::add.Tensor(%a, %0, 1)
    return %1
  })");
  const auto graph = parse(R"(graph f(%x: Tensor, %y: Tensor) {
    %0: Tensor = aten::mul.Scalar(%x, 3)
    %1: Tensor = aten::add.Tensor(%x, %0, 1)
    %2: Tensor = aten::mul.Scalar(%x, 3)
    %3: Tensor = aten::add.Tensor(%y, %2, 1)
    %4: Tensor = aten::mul.Scalar(%y, 3)
    %5: Tensor = aten::add.Tensor(%y, %4, 2)
    %6: Tensor = aten::mul.Scalar(%y, 3)
    %7: Tensor = aten::add.Tensor(%y, %6, 1)
    return %1, %3, %5, %7, %6
  })");
  std::vector<int> found;
  int n = 0;
  for (Node* node : graph->block()) {
    const auto one = match(*pattern, node);
    if (one.has_value()) {
      found.push_back(n);
      EXPECT_EQ(one->anchor(), node);
      EXPECT_EQ(one->nodes().size(), 2u);
      EXPECT_EQ(one->hole("n").constant().toInt(), 3);
      EXPECT_EQ(one->hole(0).value(), graph->block().input(0));
      EXPECT_NE(message_of<c10::IndexError>([&] { (void)one->hole("m"); }).find("no input 'm'"), std::string::npos);
    }
    ++n;
  }
  // Not where another value fills the hole, a constant is another one, or the inside is used outside.
  EXPECT_EQ(found, std::vector<int>{1});
}

TEST(Matcher, ReplacesParts) {
  const auto pattern = parse(R"(graph p(%a: Tensor, %b: Tensor) {
    %0: Tensor = aten::mul.Tensor(%a, %b)
    %1: Tensor = aten::sum(%0, None)
    return %1
  })");
  const auto replacement = parse("graph r(%b: Tensor, %a: Tensor) { %0: Tensor = aten::dot(%a, %b) return %0 }");
  const auto graph = parse(R"(graph f(%x: Tensor, %y: Tensor) {
    %0: Tensor = aten::mul.Tensor(%x, %y)
    %1: Tensor = aten::sum(%0, None)
    %2: Tensor = aten::mul.Tensor(%y, %y)
    %3: Tensor = aten::sum(%2, None)
    %4: Tensor = aten::add.Tensor(%1, %3, 1)
    return %4
  })");
  EXPECT_EQ(replace_pattern(*graph, *pattern, *replacement,
                            [&](const Match& m) { return m.hole("a").value() != m.hole("b").value(); })
                .changes,
            1);
  verify(*graph);
  EXPECT_EQ(print(*graph), R"(graph f(%x: Tensor, %y: Tensor) {
  %0: Tensor = aten::dot(%x, %y)
  %1: Tensor = aten::mul.Tensor(%y, %y)
  %2: Tensor = aten::sum(%1, None)
  %3: Tensor = aten::add.Tensor(%0, %2, 1)
  return %3
}
)");
  EXPECT_EQ(replace_pattern(*graph, *pattern, *replacement).changes, 1);
  verify(*graph);
  const auto other = parse("graph r(%z: Tensor) { return %z }");
  EXPECT_NE(message_of<c10::ValueError>([&] { replace_pattern(*graph, *pattern, *other); }).find("input 'z'"),
            std::string::npos);
  EXPECT_NE(message_of<c10::ValueError>([&] {
              replace_pattern(*graph, *other, *replacement);
            }).find("expected a pattern that returns one result"),
            std::string::npos);
}

TEST(Matcher, PatternsOfFunctions) {
  const Tensor x = torch::randn({2, 3}), y = torch::randn({2, 3});
  const auto pattern =
      capture([](const Stack& in) { return Stack{at::tanh(at::add(in[0].toTensor(), in[1].toTensor()))}; }, {x, y});
  const auto replacement =
      capture([](const Stack& in) { return Stack{at::sigmoid(at::sub(in[0].toTensor(), in[1].toTensor()))}; }, {x, y});
  const auto graph = capture(
      [](const Stack& in) {
        Tensor a = in[0].toTensor();
        for (int i = 0; i < 3; ++i) a = at::tanh(at::add(a, in[1].toTensor()));
        return Stack{a};
      },
      {x, y});
  EXPECT_EQ(replace_pattern(*graph.graph, *pattern.graph, *replacement.graph).changes, 3);
  verify(*graph.graph);
  Tensor want = x;
  for (int i = 0; i < 3; ++i) want = at::sigmoid(at::sub(want, y));
  EXPECT_EQ(difference(testing::run(*graph.graph, {x, y})[0], want), "");
}

TEST(Matcher, NotWhereMemoryIsWritten) {
  const auto pattern = parse(R"(graph p(%a: Tensor) {
    %0: Tensor = aten::neg(%a)
    %1: Tensor = aten::exp(%0)
    return %1
  })");
  const auto graph = parse(R"(graph f(%x: Tensor) {
    %0: Tensor = aten::neg(%x)
    %1: Tensor = aten::relu_(%x)
    %2: Tensor = aten::exp(%0)
    return %2
  })");
  EXPECT_EQ(rewrite(*graph, *pattern, [](const Match&) { return Operand(IValue(1)); }).changes, 0);
}

// A graph that applies `layer` and a norm, with constants in place of weights.
void expect_folded(const char* layer, const Tensor& x, std::vector<IValue> tensors, int64_t folded = 1) {
  const std::string text = std::string("graph f(%x: Tensor) {\n  %0: Tensor = ") + layer +
                           "\n  %1: Tensor = aten::batch_norm(%0, @2, @3, @4, @5, False, 0.1, 1e-5, True)\n"
                           "  %2: Tensor = aten::relu(%1)\n  return %2\n}\n";
  const auto graph = parse(text, std::move(tensors));
  propagate_shapes(*graph, {IValue(x)});
  const Tensor want = testing::run(*graph, {x})[0].toTensor();
  EXPECT_EQ(fold_batch_norm(*graph).changes, folded);
  verify(*graph);
  EXPECT_EQ(print(*graph).find("batch_norm") == std::string::npos, folded == 1);
  EXPECT_TRUE(at::allclose(testing::run(*graph, {x})[0].toTensor(), want, 1e-4, 1e-5));
}

TEST(FoldBatchNorm, IntoConvolutionsAndLinear) {
  const auto tensors = [](const Tensor& w) {
    const int64_t n = w.size(0);
    return std::vector<IValue>{
        w, torch::randn({n}), torch::randn({n}), torch::randn({n}), torch::randn({n}), at::add(at::rand({n}), 0.5)};
  };
  const Tensor image = torch::randn({2, 4, 6, 6});
  expect_folded("aten::conv2d(%x, @0, @1, [1, 1], [1, 1], [1, 1], 1)", image, tensors(torch::randn({5, 4, 3, 3})));
  expect_folded("aten::conv2d(%x, @0, None, [2, 2], [0, 0], [1, 1], 2)", image, tensors(torch::randn({6, 2, 3, 3})));
  expect_folded("aten::conv2d.padding(%x, @0, @1, [1, 1], \"same\", [1, 1], 1)", image,
                tensors(torch::randn({5, 4, 3, 3})));
  expect_folded("aten::conv1d(%x, @0, @1, [1], [1], [1], 1)", torch::randn({2, 3, 8}),
                tensors(torch::randn({4, 3, 3})));
  expect_folded("aten::convolution(%x, @0, @1, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)", image,
                tensors(torch::randn({5, 4, 3, 3})));
  expect_folded("aten::linear(%x, @0, @1)", torch::randn({3, 4}), tensors(torch::randn({5, 4})));
  // The channels are another dimension there.
  expect_folded("aten::linear(%x, @0, @1)", torch::randn({3, 5, 4}), tensors(torch::randn({5, 4})), 0);
  expect_folded("aten::convolution(%x, @0, @1, [1, 1], [1, 1], [1, 1], True, [0, 0], 1)", image,
                tensors(torch::randn({4, 4, 3, 3})), 0);
}

TEST(FoldBatchNorm, WeightsThatAreInputsAreBoundFirst) {
  const Tensor x = torch::randn({1, 2, 4, 4}), w = torch::randn({3, 2, 3, 3}), mean = torch::randn({3}),
               var = torch::ones({3});
  const auto graph = parse(R"(graph f(%w: Tensor, %mean: Tensor, %var: Tensor, %x: Tensor) {
    %0: Tensor = aten::conv2d(%x, %w, None, [1, 1], [0, 0], [1, 1], 1)
    %1: Tensor, %2: Tensor, %3: Tensor = )"
                           R"(aten::_native_batch_norm_legit_no_training(%0, None, None, %mean, %var, 0.1, 1e-5)
    return %1
  })");
  const Tensor want = testing::run(*graph, {w, mean, var, x})[0].toTensor();
  EXPECT_EQ(fold_batch_norm(*graph).changes, 0);
  for (const Tensor& t : {w, mean, var}) bind_input(*graph, 0, t);
  verify(*graph);
  EXPECT_EQ(fold_batch_norm(*graph).changes, 1);
  verify(*graph);
  EXPECT_TRUE(at::allclose(testing::run(*graph, {x})[0].toTensor(), want, 1e-4, 1e-5));
  EXPECT_NE(message_of<c10::IndexError>([&] { bind_input(*graph, 1, IValue(1)); }).find("none of number 1"),
            std::string::npos);
}

}  // namespace
}  // namespace torch::graph
