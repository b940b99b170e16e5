#include "graph/passes/decompose.h"

#include "aten/aten.h"
#include "autograd/factories.h"
#include "c10/testing/message_of.h"
#include "graph/capture/capture.h"
#include "graph/ir/text.h"
#include "graph/passes/core_operators.h"
#include "graph/passes/fit.h"
#include "graph/passes/generalise.h"
#include "graph/passes/shape_propagation.h"
#include "graph/passes/testing/programs.h"
#include "gtest/gtest.h"

namespace torch::graph {
namespace {

using at::Tensor;
using c10::IValue;
using c10::Stack;
using testing::parse;

// Whether all calls are core. Names those that are not.
std::string beyond_core(const Graph& graph) {
  std::string names;
  graph.for_nodes([&](const Node* node) {
    if (node->kind() == Node::Kind::kCall && !is_core_operator(node->callable().schema().operator_name())) {
      names += print_node(*node) + "\n";
    }
  });
  return names;
}

void expect_close(const Stack& got, const Stack& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (!got[i].isTensor()) continue;
    EXPECT_TRUE(at::allclose(got[i].toTensor(), want[i].toTensor(), 1e-5, 1e-6, true)) << "value " << i;
    EXPECT_EQ(got[i].toTensor().scalar_type(), want[i].toTensor().scalar_type());
  }
}

void decompose_and_compare(std::string_view text, const Stack& inputs, std::vector<IValue> tensors = {}) {
  const auto graph = parse(text, std::move(tensors));
  propagate_shapes(*graph, inputs);
  const Stack want = testing::run(*graph, inputs);
  const PassResult result = decompose(*graph);
  verify(*graph);
  EXPECT_GT(result.changes, 0);
  EXPECT_TRUE(result.notes.empty()) << result.notes[0];
  EXPECT_EQ(beyond_core(*graph), "") << print(*graph);
  expect_close(testing::run(*graph, inputs), want);
}

TEST(Decompose, OperatorsOfTables) {
  const Tensor x = torch::randn({3, 4}), y = torch::randn({3, 4});
  decompose_and_compare(R"(graph f(%x: Tensor, %y: Tensor) {
    %0: Tensor = aten::addcmul(%x, %x, %y, 2)
    %1: Tensor = aten::softplus(%0, 1, 20)
    %2: Tensor = aten::silu(%1)
    %3: Tensor = aten::mse_loss(%2, %y, 1)
    %4: Tensor = aten::stack([%0, %1, %2], 1)
    return %3, %4
  })",
                        {x, y});
}

TEST(Decompose, ComposedOnes) {
  decompose_and_compare(R"(graph f(%x: Tensor, %w: Tensor) {
    %0: Tensor = aten::linear(%x, %w, None)
    %1: Tensor = aten::layer_norm(%0, [5], None, None, 1e-5, True)
    %2: Tensor = aten::softmax.int(%1, 1, None)
    %3: Tensor[] = aten::chunk(%2, 2, 1)
    %4: Tensor, %5: Tensor = unpack(%3)
    return %2, %5
  })",
                        {torch::randn({3, 4}), torch::randn({5, 4})});
}

TEST(Decompose, CallsInPlaceWriteToTheSame) {
  const auto graph = parse(R"(graph f(%x: Tensor, %y: Tensor) {
    %0: Tensor = aten::addcmul_(%x, %x, %y, 2)
    return %0
  })");
  const Stack inputs{torch::randn({3}), torch::randn({3})};
  propagate_shapes(*graph, inputs);
  const Stack want = testing::run(*graph, inputs);
  EXPECT_EQ(decompose(*graph).changes, 1);
  verify(*graph);
  expect_close(testing::run(*graph, inputs), want);
}

TEST(Decompose, LeavesWhatItCannot) {
  const auto graph = parse(R"(graph f(%x: Tensor) {
    %0: Tensor = aten::silu(%x)
    return %0
  })");
  const std::string before = print(*graph);
  const PassResult result = decompose(*graph);
  verify(*graph);
  EXPECT_EQ(result.changes, 0);
  EXPECT_EQ(print(*graph), before);
  ASSERT_EQ(result.notes.size(), 1u);
  EXPECT_NE(result.notes[0].find("nothing is known of an operand's sizes"), std::string::npos);
}

TEST(Decompose, SizesWithSymbols) {
  const auto graph =
      parse(R"(graph f(%x: Tensor<Float, cpu, [s0, s1, 4], [4*s1, 4, 1]>, %w: Tensor<Float, cpu, [5, 4], [4, 1]>) {
    where s0 in [2, 100]
    where s1 in [2, 100]
    %0: Tensor = aten::linear(%x, %w, None)
    %1: Tensor[] = aten::chunk(%0, 2, 2)
    %2: Tensor, %3: Tensor = unpack(%1)
    %4: Tensor = aten::softmax.int(%3, 1, None)
    return %2, %4
  })");
  propagate_shapes(*graph);
  std::vector<Stack> inputs, want;
  for (const int64_t n : {2, 7}) {
    inputs.push_back({torch::randn({n, n + 3, 4}), torch::randn({5, 4})});
    want.push_back(testing::run(*graph, inputs.back()));
  }
  const PassResult result = decompose(*graph);
  verify(*graph);
  EXPECT_EQ(result.changes, 3);
  EXPECT_TRUE(result.notes.empty()) << result.notes[0];
  EXPECT_EQ(beyond_core(*graph), "");
  EXPECT_NE(print(*graph).find("{s0*s1}"), std::string::npos) << print(*graph);
  for (size_t i = 0; i < inputs.size(); ++i) expect_close(testing::run(*graph, inputs[i]), want[i]);
}

// What a function is captured as at several sizes [s, t].
std::unique_ptr<Graph> at_sizes(const std::function<Tensor(const Tensor&)>& f) {
  const std::map<std::string, IntRange> ranges{{"s", {2, 200}}, {"t", {2, 200}}};
  const auto points = sample_points({"s", "t"}, ranges);
  std::vector<Captured> all;
  std::vector<const Graph*> graphs;
  for (const auto& point : points) {
    const Tensor x = torch::randn({point.at("s"), point.at("t")});
    all.push_back(capture([&](const Stack& in) { return Stack{f(in[0].toTensor())}; }, {x}));
    graphs.push_back(all.back().graph.get());
  }
  return generalise(graphs, points, ranges);
}

TEST(Generalise, IntegersBecomeExpressions) {
  const auto f = [](const Tensor& x) {
    const Tensor flat = at::reshape(x, {x.size(0) * x.size(1)});
    return at::cat({at::slice(flat, 0, 1, (x.size(0) + 1) / 2), at::zeros({2 * x.size(1) + 3})});
  };
  const auto graph = at_sizes(f);
  verify(*graph);
  EXPECT_EQ(print(*graph), R"(graph forward(%0: Tensor<Float, cpu, [s, t], [t, 1]>) {
  where s in [2, 200]
  where t in [2, 200]
  %1: Tensor = aten::reshape(%0, [{s*t}])
  %2: Tensor = aten::slice.Tensor(%1, 0, 1, {(s + 1) // 2}, 1)
  %3: Tensor = aten::zeros([{2*t + 3}], None, None, None, None)
  %4: Tensor = aten::cat([%2, %3], 0)
  return %4
}
)");
  const Tensor x = torch::randn({19, 5});
  EXPECT_EQ(testing::difference(testing::run(*graph, {x})[0], f(x)), "");
}

TEST(Generalise, Refusals) {
  const auto message = [](const std::function<Tensor(const Tensor&)>& f) {
    return c10::testing::message_of<c10::ValueError>([&] { at_sizes(f); });
  };
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(message([](const Tensor& x) { return x.size(0) > 30 ? at::neg(x) : at::exp(x); }), "aten::neg");
  has(message([](const Tensor& x) { return at::zeros({x.size(0) % 3 + x.size(1) % 5}); }),
      "integers that no expression of the sizes gives");
  has(message([](const Tensor& x) { return at::mul(x, 1.0 / static_cast<double>(x.size(0))); }), "other numbers");
  has(message([](const Tensor& x) { return at::sum(at::stack(at::unbind(x, 0)), 0); }), "unpack");
}

TEST(Decompose, Predicate) {
  const auto graph = parse(R"(graph f(%x: Tensor) {
    %0: Tensor = aten::silu(%x)
    %1: Tensor = aten::softplus(%0, 1, 20)
    return %1
  })");
  propagate_shapes(*graph, {IValue(torch::randn({3}))});
  EXPECT_EQ(decompose(*graph, [](const c10::OperatorHandle& op) { return op.schema().name() == "aten::silu"; }).changes,
            1);
  EXPECT_NE(print(*graph).find("aten::softplus"), std::string::npos);
  EXPECT_EQ(print(*graph).find("aten::silu"), std::string::npos);
}

TEST(Decompose, WhileProgramsAreCaptured) {
  const Tensor x = torch::randn({3, 4}), w = torch::randn({5, 4});
  const auto program = [](const Stack& in) { return Stack{at::silu(at::linear(in[0].toTensor(), in[1].toTensor()))}; };
  CaptureOptions options;
  options.expand = [](const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack& stack) {
    return is_decomposed_to_core(op) && expand_operator(op, keys, stack);
  };
  const Captured one = capture(program, {x, w}, options);
  verify(*one.graph);
  EXPECT_EQ(beyond_core(*one.graph), "");
  expect_close(testing::run(*one.graph, {x, w}), {program({x, w})[0], x, w});
}

}  // namespace
}  // namespace torch::graph
