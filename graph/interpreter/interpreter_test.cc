#include "graph/interpreter/interpreter.h"

#include <thread>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "autograd/factories.h"
#include "c10/testing/message_of.h"
#include "graph/ir/text.h"
#include "gtest/gtest.h"

namespace {

using at::Tensor;
using c10::IValue;
using c10::Stack;
using c10::testing::message_of;
using namespace torch::graph;

std::unique_ptr<Graph> parse(std::string_view text, std::vector<IValue> tensors = {}) {
  TextNames names;
  names.callable = [](std::string_view name) -> std::optional<Callable> {
    const size_t overload = name.find('.');
    const auto op = c10::Dispatcher::singleton().findSchema(
        name.substr(0, overload), overload == std::string_view::npos ? "" : name.substr(overload + 1));
    return op.has_value() ? std::optional<Callable>(Callable(*op)) : std::nullopt;
  };
  names.tensors = std::move(tensors);
  return parse_graph(text, names);
}
std::vector<IValue> run(std::string_view text, Stack stack, std::vector<IValue> tensors = {}) {
  Interpreter (*parse(text, std::move(tensors)))(stack);
  return stack;
}
void expect_same(const IValue& got, const Tensor& expected) {
  EXPECT_TRUE(at::equal(got.toTensor(), expected));
}

TEST(Interpreter, CallsOperators) {
  const Tensor x = torch::randn({3, 4}), y = torch::randn({4, 5}), bias = torch::randn({5});
  const auto got = run(R"(graph f(%x: Tensor, %y: Tensor) {
    %0: Tensor = aten::mm(%x, %y)
    %1: Tensor = aten::add.Tensor(%0, @0, 2)
    %2: Tensor, %3: Tensor = aten::max.dim(%1, 1, False)
    %4: Tensor = aten::cat([%1, %0], 0)
    return %1, %2, %3, %4
  })",
                       {x, y}, {bias});
  const Tensor product = at::mm(x, y), sum = at::add(product, bias, 2);
  ASSERT_EQ(got.size(), 4u);
  expect_same(got[0], sum);
  expect_same(got[1], std::get<0>(at::max(sum, 1)));
  expect_same(got[2], std::get<1>(at::max(sum, 1)));
  expect_same(got[3], at::cat({sum, product}));
}

TEST(Interpreter, SizesComeFromTheInputs) {
  const Interpreter f(*parse(R"(graph f(%x: Tensor<Float, cpu, [s0, s1], [s1, 1]>) {
    where s0 in [2, 64]
    %0: Tensor = aten::view(%x, [{s0*s1}])
    %1: Tensor = aten::slice.Tensor(%0, 0, 0, {s0*s1 // 2}, 1)
    return %1
  })"));
  for (const int64_t rows : {2, 5}) {
    const Tensor x = torch::randn({rows, 3});
    Stack stack{x};
    f(stack);
    expect_same(stack.at(0), at::slice(x.view({rows * 3}), 0, 0, rows * 3 / 2));
  }
  Stack stack{torch::randn({3})};
  EXPECT_NE(message_of([&] { f(stack); }).find("no tensor with a dimension 1"), std::string::npos);
}

TEST(Interpreter, RunsAreDifferentiable) {
  const Tensor w = torch::randn({4, 4}).requires_grad_(true), x = torch::randn({2, 4});
  const auto got = run(R"(graph f(%x: Tensor, %w: Tensor) {
    %0: Tensor = aten::mm(%x, %w)
    %1: Tensor = aten::tanh(%0)
    %2: Tensor = scope["set_grad_enabled"](False) {
      %3: Tensor = aten::mul.Tensor(%w, %w)
      yield %3
    }
    %4: Tensor = aten::sum(%1, None)
    return %4, %2
  })",
                       {x, w});
  EXPECT_FALSE(got[1].toTensor().requires_grad());
  got[0].toTensor().backward();
  const Tensor direct = torch::autograd::grad({at::tanh(at::mm(x, w)).sum()}, {w})[0];
  expect_same(w.grad(), direct);
}

TEST(Interpreter, ControlFlow) {
  constexpr char kText[] = R"(graph f(%x: Tensor, %n: int, %up: bool) {
    %0: Tensor = if(%up) {
      %1: Tensor = aten::add.Scalar(%x, 1, 1)
      yield %1
    } {
      %2: Tensor = aten::neg(%x)
      yield %2
    }
    %3: Tensor = loop(%n, True, [%0]) { |%turn: int, %y: Tensor|
      %4: Tensor = aten::mul.Scalar(%y, 2)
      %5: Tensor = aten::add.Scalar(%4, %turn, 1)
      yield True, %5
    }
    return %3
  })";
  const Tensor x = torch::randn({3});
  expect_same(run(kText, {x, 3, true})[0], ((x + 1) * 2 * 2 + 1) * 2 + 2);
  expect_same(run(kText, {x, 0, false})[0], -x);
  const auto halved = run(R"(graph f(%x: Tensor, %least: Tensor) {
    %0: Tensor = while([%x], [%least]) { |%a: Tensor, %b: Tensor|
      %1: Tensor = aten::gt.Tensor(%a, %b)
      yield %1
    } { |%c: Tensor, %d: Tensor|
      %2: Tensor = aten::div.Scalar(%c, 2)
      yield %2
    }
    return %0
  })",
                          {torch::tensor(10.0), torch::tensor(2.0)});
  EXPECT_EQ(halved[0].toTensor().item<float>(), 1.25f);
}

TEST(Interpreter, MapsAndScans) {
  const Tensor xs = torch::randn({4, 3}), start = torch::zeros({3}), scale = torch::tensor(0.5);
  const auto got = run(R"(graph f(%xs: Tensor, %start: Tensor, %scale: Tensor) {
    %0: Tensor = map([%xs], [%scale]) { |%x: Tensor, %by: Tensor|
      %1: Tensor = aten::mul.Tensor(%x, %by)
      yield %1
    }
    %2: Tensor, %3: Tensor = scan([%start], [%xs], [%scale]) { |%sum: Tensor, %x2: Tensor, %by2: Tensor|
      %4: Tensor = aten::add.Tensor(%sum, %x2, 1)
      %5: Tensor = aten::mul.Tensor(%4, %by2)
      yield %4, %5
    }
    return %0, %2, %3
  })",
                       {xs, start, scale});
  expect_same(got[0], xs * 0.5);
  Tensor sum = start;
  std::vector<Tensor> steps;
  for (int64_t i = 0; i < 4; ++i) {
    sum = sum + xs[i];
    steps.push_back(sum * 0.5);
  }
  expect_same(got[1], sum);
  expect_same(got[2], at::stack(steps));
}

TEST(Interpreter, ValuesOfTheLanguage) {
  const auto got = run(R"(graph f(%n: int) {
    %0: (int, str) = tuple(%n, "text")
    %1: int, %2: str = unpack(%0)
    %3: int[] = list(%1, 7)
    %4: Dict(str, int) = dict(%2, %1)
    %5: int = cast(%1)
    return %0, %3, %4, %5
  })",
                       {5});
  EXPECT_EQ(got[0].toTupleRef().elements()[1].toStringRef(), "text");
  EXPECT_EQ(got[1].toIntVector(), (std::vector<int64_t>{5, 7}));
  EXPECT_EQ(got[2].toGenericDict().at("text").toInt(), 5);
  EXPECT_EQ(got[3].toInt(), 5);
  EXPECT_EQ(message_of<c10::TypeError>([] { run("graph f(%x: Any) { %0: int = cast(%x) return %0 }", {"no int"}); }),
            "expected a value of type int, but got str");
  try {
    run(R"(graph f() { raise["builtins.ValueError"]("too much") return })", {});
    FAIL();
  } catch (const Raised& raised) {
    EXPECT_EQ(std::string(raised.what()), "too much");
    EXPECT_EQ(raised.exception_class(), "builtins.ValueError");
  }
}

TEST(Interpreter, InvokesFunctionsOfItsSurroundings) {
  const auto graph = parse(R"(graph f(%x: Tensor) {
    %0: Tensor = invoke["twice"](%x)
    return %0
  })");
  Surroundings surroundings;
  surroundings.function = [](const Node& node) -> std::function<void(Stack&)> {
    if (node.name() != "twice") return nullptr;
    return [](Stack& stack) { stack = {stack[0].toTensor() * 2}; };
  };
  const Tensor x = torch::randn({3});
  Stack stack{x};
  const Interpreter f(*graph, surroundings);
  f(stack);
  expect_same(stack.at(0), x * 2);
  EXPECT_EQ(message_of([&] { Interpreter{*graph}; }), "a graph invokes 'twice', which is not there");
}

struct Listener : RunListener {
  std::vector<std::string> nodes;
  void ran(const Node& node, c10::ArrayRef<IValue> results) override {
    nodes.push_back(print_node(node).substr(0, 3) + " of " + std::to_string(results.size()));
  }
  void failed(const Node& node) override { nodes.push_back("failed " + print_node(node)); }
};

TEST(Interpreter, Listeners) {
  const Interpreter f(*parse(R"(graph f(%x: Tensor, %c: bool) {
    %0: Tensor = aten::neg(%x)
    %1: Tensor = if(%c) {
      %2: Tensor = aten::view(%0, [7])
      yield %2
    } {
      yield %0
    }
    return %1
  })"));
  Listener listener;
  Stack stack{torch::zeros({3}), false};
  f(stack, &listener);
  EXPECT_EQ(listener.nodes, (std::vector<std::string>{"%0: of 1", "%0: of 1"}));
  listener.nodes.clear();
  stack = {torch::zeros({3}), true};
  EXPECT_NE(message_of([&] { f(stack, &listener); }).find("invalid for input of size 3"), std::string::npos);
  ASSERT_EQ(listener.nodes.size(), 3u);
  EXPECT_EQ(listener.nodes[1], "failed %0: Tensor = aten::view(%1, [7])");
  EXPECT_EQ(listener.nodes[2], "failed %0: Tensor = if(%c)");
}

// A value goes after its last use: the memory of a chain is that of two tensors.
TEST(Interpreter, ValuesAreLetGo) {
  std::string text = "graph f(%x: Tensor) {\n  %0: Tensor = aten::neg(%x)\n";
  for (int i = 1; i < 20; ++i) {
    text += "  %" + std::to_string(i) + ": Tensor = aten::neg(%" + std::to_string(i - 1) + ")\n";
  }
  struct Held : RunListener {
    std::vector<c10::weak_intrusive_ptr<c10::TensorImpl>> made;
    size_t most = 0;
    void ran(const Node&, c10::ArrayRef<IValue> results) override {
      made.emplace_back(results[0].toTensor().getIntrusivePtr());
      size_t alive = 0;
      for (const auto& one : made) alive += one.use_count() > 0;
      most = std::max(most, alive);
    }
  } held;
  const Interpreter f(*parse(text + "  return %19\n}"));
  Stack stack{torch::zeros({3})};
  f(stack, &held);
  EXPECT_LE(held.most, 2u);
}

TEST(Interpreter, ManyThreadsRunOne) {
  const Interpreter f(*parse(R"(graph f(%x: Tensor, %n: int) {
    %0: Tensor = loop(%n, True, [%x]) { |%turn: int, %y: Tensor|
      %1: Tensor = aten::add.Scalar(%y, 1, 1)
      yield True, %1
    }
    return %0
  })"));
  std::vector<std::thread> threads;
  std::vector<float> results(4);
  for (size_t i = 0; i < results.size(); ++i) {
    threads.emplace_back([&, i] {
      Stack stack{torch::zeros({}), static_cast<int64_t>(100 * i)};
      f(stack);
      results[i] = stack[0].toTensor().item<float>();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(results, (std::vector<float>{0, 100, 200, 300}));
}

}  // namespace
