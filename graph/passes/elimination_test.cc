// Dead code, common subexpressions, constant folding; and random graphs through each of them.
#include <cstdlib>

#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/view/ops.h"
#include "graph/ir/text.h"
#include "graph/passes/common_subexpressions.h"
#include "graph/passes/constant_folding.h"
#include "graph/passes/dead_code.h"
#include "graph/passes/effects.h"
#include "graph/passes/testing/programs.h"
#include "gtest/gtest.h"

namespace torch::graph {
namespace {

using c10::IValue;
using testing::difference;
using testing::parse;

// The text after a pass, which made so many changes.
template <class Pass>
std::string after(const Pass& pass, std::string_view text, int64_t changes, std::vector<IValue> tensors = {}) {
  const auto graph = parse(text, std::move(tensors));
  const PassResult result = pass(*graph);
  verify(*graph);
  EXPECT_EQ(result.changes, changes);
  return print(*graph);
}
std::string without_dead_code(std::string_view text, int64_t erased) {
  return after(eliminate_dead_code, text, erased);
}
std::string merged(std::string_view text, int64_t erased) {
  return after(eliminate_common_subexpressions, text, erased);
}
std::string folded(std::string_view text, int64_t replaced, std::vector<IValue> tensors = {}) {
  return after([](Graph& graph) { return fold_constants(graph); }, text, replaced, std::move(tensors));
}
// The same with what the pass leaves as it is.
template <class F>
void expect_unchanged(const F& pass, std::string_view text) {
  EXPECT_EQ(pass(text, 0), print(*parse(text)));
}

TEST(Effects, OfNodes) {
  const auto graph = parse(R"(graph f(%x: Tensor, %g: Any) {
    %0: Tensor = aten::dropout(%x, 0.5, True)
    %1: Tensor = aten::dropout(%x, 0.5, False)
    %2: Tensor = aten::bernoulli(%x, %g)
    %3: Tensor = aten::add_.Tensor(%x, %x, 1)
    %4: Tensor = aten::view(%x, [3])
    %5: Tensor = aten::add.out(%x, %x, 1, %x)
    %6: Tensor = aten::batch_norm(%x, None, None, %0, %1, True, 0.1, 0.1, False)
    %7: Tensor = aten::batch_norm(%x, None, None, %0, %1, False, 0.1, 0.1, False)
    return
  })");
  std::vector<const Node*> nodes;
  for (const Node* node : graph->block()) nodes.push_back(node);
  EXPECT_TRUE(draws_random_numbers(*nodes[0]));
  EXPECT_FALSE(draws_random_numbers(*nodes[1]));
  EXPECT_TRUE(draws_random_numbers(*nodes[2]));
  EXPECT_TRUE(has_effects(*nodes[2]));
  EXPECT_FALSE(has_effects(*nodes[3]));
  EXPECT_EQ(written_operands(*nodes[3]), std::vector<size_t>{0});
  EXPECT_TRUE(is_view(*nodes[4]));
  EXPECT_FALSE(is_view(*nodes[3]));
  EXPECT_EQ(written_operands(*nodes[5]), std::vector<size_t>{3});
  EXPECT_EQ(written_operands(*nodes[6]), (std::vector<size_t>{3, 4}));
  EXPECT_TRUE(written_operands(*nodes[7]).empty());
}

TEST(Effects, SetsOfValues) {
  const auto graph = parse(R"(graph f(%x: Tensor, %y: Tensor) {
    %0: Tensor = aten::t(%x)
    %1: Tensor[] = aten::split.Tensor(%0, 1, 0)
    %2: Tensor, %3: Tensor = unpack(%1)
    %4: Tensor = aten::exp(%2)
    %5: Tensor = aten::add_.Tensor(%3, %y, 1)
    return %4
  })");
  const AliasSets sets(*graph);
  std::vector<const Node*> nodes;
  for (const Node* node : graph->block()) nodes.push_back(node);
  const int x = sets.of(graph->block().input(0)), y = sets.of(graph->block().input(1));
  EXPECT_NE(x, y);
  EXPECT_EQ(sets.of(nodes[0]->result()), x);
  EXPECT_EQ(sets.of(nodes[2]->result(0)), x);
  EXPECT_EQ(sets.of(nodes[4]->result()), x);
  const int exp = sets.of(nodes[3]->result());
  EXPECT_NE(exp, x);
  EXPECT_TRUE(sets.is_written(x));
  EXPECT_FALSE(sets.is_written(y));
  EXPECT_TRUE(sets.enters(x));
  EXPECT_FALSE(sets.enters(exp));
  EXPECT_TRUE(sets.escapes(exp));
  EXPECT_FALSE(sets.escapes(x));
  EXPECT_TRUE(sets.written_between(x, nodes[0], nodes[4]));
  EXPECT_FALSE(sets.written_between(x, nodes[0], nodes[3]));
}

TEST(DeadCode, GoesWithWhatItAloneReads) {
  EXPECT_EQ(without_dead_code(R"(graph f(%x: Tensor, %c: bool) {
    %0: Tensor = aten::neg(%x)
    %1: Tensor = aten::exp(%x)
    %2: Tensor = aten::tanh(%0)
    %3: Tensor = if(%c) {
      %4: Tensor = aten::neg(%2)
      yield %4
    } {
      yield %x
    }
    return %1
  })",
                              3),
            "graph f(%x: Tensor, %c: bool) {\n  %0: Tensor = aten::exp(%x)\n  return %0\n}\n");
}

TEST(DeadCode, WritesStayWhereTheyAreSeen) {
  constexpr auto pass = without_dead_code;
  // To an input, to what is returned, to what is read.
  expect_unchanged(pass, "graph f(%x: Tensor) { %0: Tensor = aten::neg_(%x) return }");
  expect_unchanged(pass, R"(graph f(%x: Tensor) {
    %0: Tensor = aten::neg(%x)
    %1: Tensor = aten::t(%0)
    %2: Tensor = aten::zero_(%1)
    return %0
  })");
  expect_unchanged(pass, R"(graph f(%x: Tensor, %c: bool) {
    %0: Tensor = aten::neg(%x)
    if(%c) {
      %1: Tensor = aten::zero_(%0)
      yield
    } {
      yield
    }
    %2: Tensor = aten::exp(%0)
    return %2
  })");
  // To memory that nobody looks at.
  EXPECT_EQ(pass(R"(graph f(%x: Tensor) {
    %0: Tensor = aten::neg(%x)
    %1: Tensor = aten::zero_(%0)
    return %x
  })",
                 2),
            "graph f(%x: Tensor) {\n  return %x\n}\n");
}

TEST(DeadCode, EffectsStay) {
  constexpr auto pass = without_dead_code;
  expect_unchanged(pass, R"(graph f(%x: Tensor, %c: bool) {
    %0: Tensor = aten::rand([3], None, None, None, None)
    if(%c) {
      raise["builtins.ValueError"]("no")
      yield
    } {
      yield
    }
    aten::_assert_async(%x)
    return
  })");
}

TEST(CommonSubexpressions, EqualCalls) {
  EXPECT_EQ(merged(R"(graph f(%x: Tensor) {
    %0: Tensor = aten::add.Scalar(%x, 1, 1)
    %1: Tensor = aten::exp(%0)
    %2: Tensor = aten::add.Scalar(%x, 1, 1)
    %3: Tensor = aten::exp(%2)
    %4: Tensor = aten::add.Scalar(%x, 1.0, 1)
    %5: Tensor = aten::cat([%1, %3, %4], 0)
    return %5
  })",
                   2),
            "graph f(%x: Tensor) {\n  %0: Tensor = aten::add.Scalar(%x, 1, 1)\n  %1: Tensor = aten::exp(%0)\n"
            "  %2: Tensor = aten::add.Scalar(%x, 1.0, 1)\n  %3: Tensor = aten::cat([%1, %1, %2], 0)\n"
            "  return %3\n}\n");
}

TEST(CommonSubexpressions, NotAcrossWritesDrawsAndScopes) {
  constexpr auto pass = merged;
  expect_unchanged(pass, R"(graph f(%x: Tensor) {
    %0: Tensor = aten::exp(%x)
    %1: Tensor = aten::neg_(%x)
    %2: Tensor = aten::exp(%x)
    %3: Tensor = aten::add.Tensor(%0, %2, 1)
    return %3
  })");
  expect_unchanged(pass, R"(graph f(%x: Tensor) {
    %0: Tensor = aten::exp(%x)
    %1: Tensor = aten::exp(%x)
    %2: Tensor = aten::neg_(%1)
    %3: Tensor = aten::add.Tensor(%0, %1, 1)
    return %3
  })");
  expect_unchanged(pass, R"(graph f(%x: Tensor) {
    %0: Tensor = aten::rand([3], None, None, None, None)
    %1: Tensor = aten::rand([3], None, None, None, None)
    %2: Tensor = aten::add.Tensor(%0, %1, 1)
    return %2
  })");
  expect_unchanged(pass, R"(graph f(%x: Tensor) {
    %0: Tensor = aten::mm(%x, %x)
    %1: Tensor = scope["autocast"]("cpu", 15, True, True) {
      %2: Tensor = aten::mm(%x, %x)
      yield %2
    }
    %3: Tensor = aten::add.Tensor(%0, %1, 1)
    return %3
  })");
  // Two results are two tensors.
  expect_unchanged(pass, R"(graph f(%x: Tensor) {
    %0: Tensor = aten::exp(%x)
    %1: Tensor = aten::exp(%x)
    return %0, %1
  })");
}

TEST(CommonSubexpressions, InnerBlocksSeeOuterOnes) {
  EXPECT_EQ(merged(R"(graph f(%x: Tensor, %c: bool) {
    %0: Tensor = aten::exp(%x)
    %1: Tensor = if(%c) {
      %2: Tensor = aten::exp(%x)
      %3: Tensor = aten::neg(%2)
      yield %3
    } {
      %4: Tensor = aten::neg(%x)
      yield %4
    }
    %5: Tensor = aten::neg(%x)
    %6: Tensor = aten::add.Tensor(%1, %5, 1)
    %7: Tensor = aten::add.Tensor(%6, %0, 1)
    return %7
  })",
                   1)
                    .find("aten::neg(%0)") != std::string::npos,
            true);
}

TEST(ConstantFolding, CallsOfConstants) {
  const at::Tensor w = at::randn({2, 3});
  const auto graph = parse(R"(graph f(%x: Tensor) {
    %0: Tensor = aten::t(@0)
    %1: Tensor = aten::mul.Scalar(%0, 2)
    %2: Tensor[] = aten::split.Tensor(%1, 1, 1)
    %3: Tensor, %4: Tensor = unpack(%2)
    %5: Tensor = aten::add.Tensor(%x, %4, 1)
    return %5
  })",
                           {w});
  EXPECT_EQ(fold_constants(*graph).changes, 4);
  verify(*graph);
  std::vector<IValue> tensors;
  EXPECT_EQ(print(*graph, &tensors),
            "graph f(%x: Tensor) {\n  %0: Tensor = aten::add.Tensor(%x, @0, 1)\n  return %0\n}\n");
  ASSERT_EQ(tensors.size(), 1u);
  EXPECT_EQ(difference(tensors[0], at::narrow(at::mul(at::t(w), 2), 1, 1, 1)), "");
}

TEST(ConstantFolding, LeavesWhatMustBeOfEachRun) {
  constexpr auto pass = [](std::string_view text, int64_t changes) { return folded(text, changes); };
  expect_unchanged(pass, "graph f() { %0: Tensor = aten::ones([3], None, None, None, None) return %0 }");
  expect_unchanged(pass, R"(graph f(%x: Tensor) {
    %0: Tensor = aten::zeros([3], None, None, None, None)
    %1: Tensor = aten::add_.Tensor(%0, %x, 1)
    %2: Tensor = aten::exp(%0)
    return %2
  })");
  expect_unchanged(pass, R"(graph f(%x: Tensor) {
    %0: Tensor = aten::rand([3], None, None, None, None)
    %1: Tensor = aten::add.Tensor(%0, %x, 1)
    return %1
  })");
  // In all, more bytes than there are.
  expect_unchanged(pass, R"(graph f(%x: Tensor) {
    %0: Tensor = aten::zeros([1000000, 1000000, 1000], None, None, None, None)
    %1: Tensor = aten::add.Tensor(%x, %0, 1)
    return %1
  })");
  // What fails stays where it fails.
  expect_unchanged(pass, R"(graph f(%x: Tensor) {
    %0: Tensor = aten::zeros([-1], None, None, None, None)
    %1: Tensor = aten::add.Tensor(%x, %0, 1)
    return %1
  })");
}

TEST(ConstantFolding, SaysWhatIsTooLarge) {
  const auto graph = parse(R"(graph f(%x: Tensor) {
    %0: Tensor = aten::zeros([3], None, None, None, None)
    %1: Tensor = aten::ones([1000], None, None, None, None)
    %2: Tensor = aten::add.Tensor(%0, %1, 1)
    %3: Tensor = aten::add.Tensor(%x, %2, 1)
    return %3
  })");
  const PassResult result = fold_constants(*graph, {.max_bytes = 100});
  EXPECT_EQ(result.changes, 1);
  ASSERT_EQ(result.notes.size(), 1u);
  EXPECT_NE(result.notes[0].find("aten::ones"), std::string::npos);
  EXPECT_NE(result.notes[0].find("4000 bytes, of which only 88 are left"), std::string::npos) << result.notes[0];
}

TEST(Passes, RandomGraphsDoTheSame) {
  const char* given = std::getenv("KINDLING_GRAPHS");
  const unsigned count = given == nullptr ? 300 : static_cast<unsigned>(std::atoi(given));
  int64_t changes[3] = {};
  for (unsigned seed = 0; seed < count; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::RandomProgram program = testing::random_program(seed, {.writes = seed % 3 != 0});
    verify(*program.graph);
    const c10::Stack expected = testing::run(*program.graph, program.inputs);
    const auto all = program.graph->clone();
    int pass = 0;
    for (const auto& apply :
         {+[](Graph& g) { return eliminate_dead_code(g); },
          +[](Graph& g) { return eliminate_common_subexpressions(g); }, +[](Graph& g) { return fold_constants(g); }}) {
      SCOPED_TRACE("pass " + std::to_string(pass));
      const auto copy = program.graph->clone();
      changes[pass++] += apply(*copy).changes;
      verify(*copy);
      ASSERT_EQ(difference(testing::run(*copy, program.inputs), expected), "") << print(*program.graph) << print(*copy);
      apply(*all);
      EXPECT_EQ(apply(*copy).changes, 0);
    }
    verify(*all);
    ASSERT_EQ(difference(testing::run(*all, program.inputs), expected), "");
  }
  for (const int64_t n : changes) EXPECT_GT(n, count / 2);
}

}  // namespace
}  // namespace torch::graph
