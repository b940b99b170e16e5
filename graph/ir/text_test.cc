#include "graph/ir/text.h"

#include <random>

#include "c10/testing/message_of.h"
#include "graph/ir/test_callables.h"
#include "gtest/gtest.h"

namespace {

using c10::testing::message_of;
using namespace torch::graph;

TextNames names() {
  TextNames names;
  names.callable = [](std::string_view name) -> std::optional<Callable> {
    if (name.substr(0, 6) != "test::" || (name != "test::add" && name != "test::mul" && name != "test::minmax")) {
      return std::nullopt;
    }
    return test_callable(name);
  };
  return names;
}

constexpr char kEverything[] = R"(graph sample(%x: Tensor<Float, cpu, [s0, 4], [4, 1]>, %n: int {3*s0 - 1}, %c: bool) {
  where s0 in [2, 128]
  where u in [0, *]
  %0: int {max(1, u)}, %1: int = test::minmax([%n, {2*s0 + 1}, 7])
  %2: int = test::add(%0, -3)
  %3: (int, float, str) = tuple(%2, 0.5, "a\"b\\\x0a")
  %4: int, %5: float, %6: str = unpack(%3)
  %7: int[] = list(%4, %2)
  %8: Dict(str, int) = dict("k", %4)
  %9: Any = tuple(None, True, False, inf, -inf, nan, 1e-10, complex(1.0, -2.0), device("cpu"), tuple{1, tuple{}})
  %10: Any = tuple(int[]{1, 2}, float[]{}, Dict(str, int[]){"a": int[]{3}}, -9223372036854775808)
  %11: Tensor<Double, cuda:1, [], [], offset s0, grad> = get["weight"](%x)
  set["bias"](%x, %11)
  %r: int = if(%c) {
    %12: int = test::mul(%2, %2)
    yield %12
  } {
    %13: int = invoke["helper"](%n)
    yield %13
  }
  %14: int, %15: int = loop(10, %c, [%r, %n]) { |%turn: int, %a: int, %b: int|
    %16: int = test::add(%a, %turn)
    yield %c, %16, %b
  }
  %17: int = while([%n], [%r]) { |%18: int, %19: int|
    yield %18
  } { |%20: int, %21: int|
    yield %21
  }
  %22: Tensor = map([%x], [%n]) { |%23: Tensor, %24: int|
    yield %23
  }
  %25: Tensor, %26: Tensor = scan([%22], [%x], []) { |%27: Tensor, %28: Tensor|
    yield %28, %27
  }
  %29: Tensor = scope["set_grad_enabled"](False) {
    yield %26
  }
  %30: Tensor = cast(%29)
  raise["builtins.ValueError"]("no")
  return %30, %17
}
)";

TEST(GraphText, ThereAndBack) {
  const std::unique_ptr<Graph> graph = parse_graph(kEverything, names());
  EXPECT_EQ(print(*graph), kEverything);
  EXPECT_EQ(graph->symbols().at("u"), (IntRange{0, INT64_MAX}));
  EXPECT_EQ(graph->block().input(0)->info()->sizes[0], IntExpr::symbol("s0"));
  EXPECT_EQ(*graph->block().input(1)->expr(), 3 * IntExpr::symbol("s0") - 1);
  EXPECT_EQ(print(*graph->clone()), kEverything);
}

TEST(GraphText, EmptyGraph) {
  EXPECT_EQ(print(*parse_graph("graph f() { return }", names())), "graph f() {\n  return\n}\n");
}

TEST(GraphText, NamesThatAreTakenBecomeNumbers) {
  Graph graph("f");
  graph.block().add_input(c10::IntType::get(), "x");
  graph.block().add_input(c10::IntType::get(), "x");
  graph.block().add_input(c10::IntType::get(), "no name");
  EXPECT_EQ(print(graph), "graph f(%x: int, %0: int, %1: int) {\n  return\n}\n");
}

TEST(GraphText, Errors) {
  const auto error = [](std::string_view text) { return message_of([&] { parse_graph(text, names()); }); };
  EXPECT_EQ(error("graph f(%x: int) {\n  %0: int = test::add(%x, %y)\n  return %0\n}"),
            "graph text, line 2, column 29: expected a value that is known before this, got ')\n  return %'");
  EXPECT_NE(error("graph f() { %0: int = no::op() return }").find("expected an operator that is known"),
            std::string::npos);
  EXPECT_NE(error("graph f() { %0: int = nothing() return }").find("a kind of node"), std::string::npos);
  EXPECT_NE(error("graph f(%x: 3) { return }").find("line 1"), std::string::npos);
  EXPECT_NE(error("graph f(%x: int, %x: int) { return }").find("another name"), std::string::npos);
  EXPECT_NE(error("graph f(%x: int) { %0: int = test::add(%x) return }").find("expected 2 operands"),
            std::string::npos);
  EXPECT_NE(error("graph f() { return @0 }").find("a tensor that is given"), std::string::npos);
  EXPECT_NE(error("graph f() { return 99999999999999999999 }").find("64 bits"), std::string::npos);
  EXPECT_NE(error("graph f() { return " + std::string(100000, '[')).find("fewer lists"), std::string::npos);
  std::string deep = "graph f(%x: bool) { ";
  for (int i = 0; i < 5000; ++i) deep += "if(%x) { ";
  EXPECT_NE(error(deep).find("fewer blocks"), std::string::npos);
}

// Whatever a text has become, it is read or refused.
TEST(GraphText, MutatedTexts) {
  std::mt19937 random(7);
  int read = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = kEverything;
    for (int changes = 1 + static_cast<int>(random() % 3); changes > 0; --changes) {
      const size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = static_cast<char>(random() % 128);
          break;
        case 1:
          text.erase(at, 1 + random() % 8);
          break;
        case 2:
          text.insert(at, text.substr(random() % text.size(), random() % 20));
          break;
        default:
          std::swap(text[at], text[random() % text.size()]);
          break;
      }
    }
    try {
      const std::unique_ptr<Graph> graph = parse_graph(text, names());
      ++read;
      const std::string once = print(*graph);
      ASSERT_EQ(print(*parse_graph(once, names())), once);
    } catch (const c10::Error&) {
    }
  }
  EXPECT_GT(read, 100);
}

}  // namespace
