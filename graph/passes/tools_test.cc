// Pictures, parts, and small graphs that still show an error.
#include <map>
#include <random>

#include "aten/core/tensor.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/unary/ops.h"
#include "c10/core/cpu_generator.h"
#include "c10/testing/message_of.h"
#include "graph/interpreter/interpreter.h"
#include "graph/ir/text.h"
#include "graph/passes/draw.h"
#include "graph/passes/effects.h"
#include "graph/passes/minimise.h"
#include "graph/passes/partition.h"
#include "graph/passes/testing/programs.h"
#include "gtest/gtest.h"

namespace torch::graph {
namespace {

using c10::IValue;
using c10::Stack;
using testing::difference;
using testing::parse;

size_t count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}
// Whether every element that opens closes.
void expect_well_formed(const std::string& svg) {
  std::vector<std::string> open;
  for (size_t at = svg.find('<'); at != std::string::npos; at = svg.find('<', at + 1)) {
    const size_t end = svg.find('>', at);
    ASSERT_NE(end, std::string::npos);
    const std::string tag = svg.substr(at + 1, end - at - 1);
    ASSERT_EQ(tag.find('<'), std::string::npos) << tag;
    if (tag.back() == '/') continue;
    const std::string name = tag.substr(tag[0] == '/' ? 1 : 0, tag.find(' ') - (tag[0] == '/' ? 1 : 0));
    if (tag[0] != '/') {
      open.push_back(name);
      continue;
    }
    ASSERT_FALSE(open.empty());
    ASSERT_EQ(open.back(), name);
    open.pop_back();
  }
  EXPECT_TRUE(open.empty());
}

TEST(Draw, BoxesAndLines) {
  const auto graph = parse(R"(graph f(%x: Tensor<Float, cpu, [s0, 4], [4, 1]>, %c: bool) {
    %0: Tensor = aten::neg(%x)
    %1: Tensor = if(%c) {
      %2: Tensor = aten::add.Tensor(%0, %x, 1)
      yield %2
    } {
      yield %0
    }
    raise["<&\"'>"]("<script>alert(1)</script>")
    return %1
  })");
  const std::string svg = draw(*graph);
  expect_well_formed(svg);
  // Inputs, calls, the two of the if, raise and return.
  EXPECT_EQ(count(svg, "<rect "), 8u);
  EXPECT_EQ(count(svg, "<path "), 7u);
  EXPECT_EQ(svg.find("<script"), std::string::npos);
  EXPECT_NE(svg.find("&lt;script&gt;"), std::string::npos);
  EXPECT_NE(svg.find("Float [s0, 4]"), std::string::npos);
  EXPECT_NE(svg.find("xmlns=\"http://www.w3.org/2000/svg\""), std::string::npos);
  EXPECT_EQ(draw(*graph), svg);
  EXPECT_NE(
      c10::testing::message_of<c10::ValueError>([&] { draw(*graph, {.max_nodes = 3}); }).find("more than 3 nodes"),
      std::string::npos);
}

TEST(Draw, RandomGraphs) {
  for (unsigned seed = 0; seed < 50; ++seed) expect_well_formed(draw(*testing::random_program(seed).graph));
}

// What the parts of a graph are run by.
Surroundings running(const std::vector<std::unique_ptr<Graph>>& parts) {
  auto interpreters = std::make_shared<std::map<std::string, Interpreter>>();
  for (const auto& part : parts) interpreters->emplace(part->name(), Interpreter(*part));
  Surroundings surroundings;
  surroundings.function = [interpreters](const Node& node) -> std::function<void(Stack&)> {
    const Interpreter& one = interpreters->at(node.name());
    return [interpreters, &one](Stack& stack) { one(stack); };
  };
  return surroundings;
}

TEST(Partition, KeepsCirclesOut) {
  const auto graph = parse(R"(graph f(%x: Tensor) {
    %0: Tensor = aten::neg(%x)
    %1: Tensor = aten::exp(%0)
    %2: Tensor = aten::add.Tensor(%0, %1, 1)
    %3: Tensor = aten::neg(%2)
    %4: Tensor = aten::neg(%x)
    return %3, %4
  })");
  const auto parts =
      partition(*graph, [](const Node& node) { return node.calls("aten::neg") || node.calls("aten::add"); });
  verify(*graph);
  ASSERT_EQ(parts.size(), 2u);
  // The addition depends on the first by way of exp.
  EXPECT_EQ(print(*parts[0]), R"(graph part0(%x: Tensor) {
  %0: Tensor = aten::neg(%x)
  return %0
}
)");
  EXPECT_EQ(count(print(*parts[1]), "aten::"), 3u);
  EXPECT_EQ(count(print(*graph), "invoke["), 2u);
  EXPECT_EQ(count(print(*graph), "aten::exp"), 1u);
}

// Parts join by a rule of the caller's, and end where a window of nodes ends.
TEST(Partition, JoinsAsItIsTold) {
  Graph graph("long");
  Value* x = graph.block().add_input(c10::TensorType::get(), "x");
  const Callable neg(c10::Dispatcher::singleton().findSchemaOrThrow("aten::neg", ""));
  for (int i = 0; i < 5000; ++i) x = graph.block().append(graph.call(neg, {x}))->result();
  graph.block().set_outputs({x});
  const auto whole = graph.clone(), few = graph.clone();
  const auto all = [](const Node&) { return true; };
  EXPECT_EQ(partition(*whole, all).size(), 2u);
  PartitionOptions options;
  options.joins = [](c10::ArrayRef<const Node*> part, const Node&) { return part.size() < 64; };
  const auto parts = partition(*few, all, options);
  verify(*few);
  EXPECT_EQ(parts.size(), 79u);
  const at::Tensor in = at::randn({3});
  Stack stack{in};
  Interpreter(*few, running(parts))(stack);
  EXPECT_EQ(difference(stack[0], IValue(in)), "");
}

TEST(Partition, RandomGraphsDoTheSame) {
  size_t all = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const testing::RandomProgram program = testing::random_program(seed);
    const Stack want = testing::run(*program.graph, program.inputs);
    const auto graph = program.graph->clone();
    std::mt19937 random(seed);
    const auto parts = partition(*graph, [&](const Node&) { return random() % 3 != 0; }, {.min_nodes = 2});
    verify(*graph);
    for (const auto& part : parts) verify(*part);
    all += parts.size();
    const Interpreter interpreter(*graph, running(parts));
    // As testing::run, with what the parts need.
    Stack own;
    for (const IValue& v : program.inputs) own.push_back(v.isTensor() ? IValue(at::clone(v.toTensor())) : v);
    Stack got = own;
    at::manual_seed(7);
    interpreter(got);
    got.insert(got.end(), own.begin(), own.end());
    ASSERT_EQ(difference(got, want), "") << print(*program.graph) << print(*graph);
  }
  EXPECT_GT(all, 200u);
}

TEST(Minimise, FindsTheFirstNodeThatDiffers) {
  std::string text = "graph f(%x: Tensor) {\n  %0: Tensor = aten::neg(%x)\n";
  for (int i = 1; i < 40; ++i) {
    const std::string call = i == 23 ? "aten::tanh" : i % 2 == 0 ? "aten::neg" : "aten::abs";
    text += "  %" + std::to_string(i) + ": Tensor = " + call + "(%" + std::to_string(i - 1) + ")\n";
  }
  const auto graph = parse(text + "  return %39\n}\n");
  const Stack inputs{at::randn({3})};
  int calls = 0;
  // An executor whose tanh is wrong.
  const auto fails = [&](const Graph& g, const Stack& in) {
    ++calls;
    verify(g);
    EXPECT_EQ(in.size(), g.block().input_count());
    testing::run(g, in);
    return print(g).find("aten::tanh") != std::string::npos;
  };
  const auto found = minimise(*graph, inputs, fails);
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->node->calls("aten::tanh"));
  EXPECT_EQ(count(print(*found->graph), "aten::"), 1u);
  ASSERT_EQ(found->inputs.size(), 1u);
  // What that node was given.
  EXPECT_EQ(difference(found->inputs[0], at::neg(at::abs(inputs[0].toTensor()))), "");
  EXPECT_LT(calls, 16);
  EXPECT_FALSE(minimise(*graph, inputs, [](const Graph&, const Stack&) { return false; }).has_value());
}

TEST(Minimise, KeepsWhatBelongsTogether) {
  const auto graph = parse(R"(graph f(%x: Tensor, %c: bool) {
    %0: Tensor = aten::exp(%x)
    %1: Tensor = if(%c) {
      %2: Tensor = aten::neg(%0)
      yield %2
    } {
      yield %x
    }
    %3: Tensor = aten::abs(%1)
    %4: Tensor = aten::tanh(%3)
    %5: Tensor = aten::neg(%4)
    return %5
  })");
  // Only an if and a tanh show it.
  const auto found = minimise(*graph, {at::randn({3}), true}, [](const Graph& g, const Stack&) {
    const std::string text = print(g);
    return text.find("if(") != std::string::npos && text.find("aten::tanh") != std::string::npos;
  });
  ASSERT_TRUE(found.has_value());
  verify(*found->graph);
  EXPECT_TRUE(found->node->calls("aten::tanh"));
  EXPECT_EQ(count(print(*found->graph), "aten::exp"), 0u);
  EXPECT_EQ(found->graph->block().input_count(), 3u);
  testing::run(*found->graph, found->inputs);
}

}  // namespace
}  // namespace torch::graph
