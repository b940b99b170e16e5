#include "graph/passes/functionalize.h"

#include <iostream>

#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/random/ops.h"
#include "c10/testing/message_of.h"
#include "graph/ir/text.h"
#include "graph/passes/dead_code.h"
#include "graph/passes/effects.h"
#include "graph/passes/shape_propagation.h"
#include "graph/passes/testing/programs.h"
#include "gtest/gtest.h"

namespace torch::graph {
namespace {

using c10::IValue;
using c10::Stack;
using c10::testing::message_of;
using testing::difference;
using testing::parse;

int64_t writes(const Graph& graph) {
  int64_t count = 0;
  graph.for_nodes([&](const Node* node) { count += !written_operands(*node).empty(); });
  return count;
}

// The functional form of a graph, without what nothing reads.
std::string functional(std::string_view text, const Stack& inputs, std::vector<size_t> written = {}) {
  const auto graph = parse(text);
  propagate_shapes(*graph, inputs);
  const Functionalized made = functionalize(*graph);
  verify(*made.graph);
  EXPECT_EQ(writes(*made.graph), 0);
  EXPECT_EQ(made.written_inputs, written);
  EXPECT_EQ(testing::functional_difference(*graph, *made.graph, made.written_inputs, inputs), "") << print(*made.graph);
  eliminate_dead_code(*made.graph);
  made.graph->for_nodes([](const Node* node) {
    for (size_t i = 0; i < node->result_count(); ++i) node->result(i)->set_info(std::nullopt);
  });
  for (size_t i = 0; i < made.graph->block().input_count(); ++i) made.graph->block().input(i)->set_info(std::nullopt);
  return print(*made.graph);
}

TEST(Functionalize, CallsInPlace) {
  EXPECT_EQ(functional(R"(graph f(%x: Tensor) {
    %0: Tensor = aten::exp(%x)
    %1: Tensor = aten::add_.Scalar(%0, 1, 1)
    %2: Tensor = aten::relu_(%0)
    %3: Tensor = aten::mul.Tensor(%0, %1)
    return %3
  })",
                       {at::randn({3})}),
            R"(graph f(%x: Tensor) {
  %0: Tensor = aten::exp(%x)
  %1: Tensor = aten::add.Scalar(%0, 1, 1)
  %2: Tensor = aten::relu(%1)
  %3: Tensor = aten::mul.Tensor(%2, %2)
  return %3
}
)");
}

// Their first argument has another name where they do not write.
TEST(Functionalize, DropoutInPlace) {
  EXPECT_EQ(functional(R"(graph f(%x: Tensor) {
    %0: Tensor = aten::exp(%x)
    %1: Tensor = aten::dropout_(%0, 0.5, False)
    %2: Tensor = aten::feature_dropout_(%0, 0.25, False)
    return %2
  })",
                       {at::randn({3, 2})}),
            R"(graph f(%x: Tensor) {
  %0: Tensor = aten::exp(%x)
  %1: Tensor = aten::dropout(%0, 0.5, False)
  %2: Tensor = aten::feature_dropout(%1, 0.25, False)
  return %2
}
)");
}

TEST(Functionalize, WritesThroughViews) {
  EXPECT_EQ(functional(R"(graph f(%x: Tensor) {
    %0: Tensor = aten::select.int(%x, 0, 1)
    %1: Tensor = aten::slice.Tensor(%0, 0, 1, 3, 1)
    %2: Tensor = aten::neg_(%1)
    %3: Tensor = aten::t(%x)
    %4: Tensor = aten::exp(%0)
    return %3, %4
  })",
                       {at::randn({2, 4})}, {0}),
            R"(graph f(%x: Tensor) {
  %0: Tensor = aten::select.int(%x, 0, 1)
  %1: Tensor = aten::slice.Tensor(%0, 0, 1, 3, 1)
  %2: Tensor = aten::neg(%1)
  %3: Tensor = aten::select.int(%x, 0, 1)
  %4: Tensor = aten::slice_scatter(%3, %2, 0, 1, 3, 1)
  %5: Tensor = aten::select_scatter(%x, %4, 0, 1)
  %6: Tensor = aten::t(%5)
  %7: Tensor = aten::select.int(%5, 0, 1)
  %8: Tensor = aten::exp(%7)
  return %5, %6, %8
}
)");
}

TEST(Functionalize, ListsDtypesAndGivenTensors) {
  functional(R"(graph f(%x: Tensor, %y: Tensor) {
    %0: Tensor[] = aten::split.Tensor(%x, 2, 1)
    %1: Tensor, %2: Tensor = unpack(%0)
    %3: Tensor = aten::add_.Tensor(%2, %y, 1)
    %4: Tensor[] = aten::unbind.int(%x, 0)
    %5: Tensor, %6: Tensor = unpack(%4)
    %7: Tensor = aten::mul_.Tensor(%6, %y)
    %8: Tensor = aten::add.out(%5, %6, 1, %5)
    %9: Tensor = aten::cat([%1, %2], 0)
    return %9, %8
  })",
             {at::randn({2, 4}), at::full({}, 2.5, at::kDouble)}, {0});
  functional(R"(graph f(%x: Tensor, %y: Tensor) {
    %0: Tensor = aten::permute(%x, [2, 0, 1])
    %1: Tensor = aten::copy_(%0, %y, False)
    %2: Tensor = aten::view(%x, [24])
    %3: Tensor = aten::zero_(%2)
    %4: Tensor = aten::diagonal(%x, 0, 0, 1)
    %5: Tensor = aten::fill_.Scalar(%4, 3)
    return %0
  })",
             {at::randn({2, 3, 4}), at::randn({4, 1, 3})}, {0});
}

TEST(Functionalize, RunningStatistics) {
  const Stack inputs{at::randn({4, 3}), at::zeros({3}), at::ones({3})};
  EXPECT_EQ(functional(R"(graph f(%x: Tensor, %mean: Tensor, %var: Tensor) {
    %0: Tensor = aten::batch_norm(%x, None, None, %mean, %var, True, 0.1, 1e-05, False)
    %1: Tensor = aten::batch_norm(%0, None, None, %mean, %var, False, 0.1, 1e-05, False)
    %2: Tensor = aten::batch_norm(%1, None, None, None, None, True, 0.1, 1e-05, False)
    return %2
  })",
                       inputs, {1, 2}),
            R"(graph f(%x: Tensor, %mean: Tensor, %var: Tensor) {
  %0: Tensor, %1: Tensor, %2: Tensor, %3: Tensor, %4: Tensor = )"
            R"(aten::_native_batch_norm_legit_functional(%x, None, None, %mean, %var, True, 0.1, 1e-05)
  %5: Tensor = aten::batch_norm(%0, None, None, %3, %4, False, 0.1, 1e-05, False)
  %6: Tensor = aten::batch_norm(%5, None, None, None, None, True, 0.1, 1e-05, False)
  return %3, %4, %6
}
)");
}

// Where sizes have symbols: one graph for all of them.
TEST(Functionalize, SizesWithSymbols) {
  const auto graph = parse(R"(graph f(%x: Tensor<Float, cpu, [s0, s1], [s1, 1]>, %y: Tensor<Float, cpu, [2*s0], [1]>) {
    where s0 in [2, 40]
    where s1 in [1, 30]
    %0: Tensor = aten::slice.Tensor(%y, 0, {s0}, None, 1)
    %1: Tensor = aten::add_.Scalar(%0, 1, 2)
    %2: Tensor = aten::view(%x, [{s0*s1}])
    %3: Tensor = aten::mul_.Scalar(%2, 3)
    %4: Tensor = aten::sum(%x, None)
    return %0, %4
  })");
  propagate_shapes(*graph);
  const Functionalized made = functionalize(*graph);
  verify(*made.graph);
  EXPECT_EQ(made.written_inputs, (std::vector<size_t>{0, 1}));
  for (const auto& [s0, s1] : {std::pair<int64_t, int64_t>{2, 1}, {7, 5}, {40, 30}}) {
    const Stack inputs{at::randn({s0, s1}), at::randn({2 * s0})};
    EXPECT_EQ(testing::functional_difference(*graph, *made.graph, made.written_inputs, inputs), "")
        << print(*made.graph);
  }
}

TEST(Functionalize, Refusals) {
  const auto message = [](std::string_view text, const Stack& inputs) {
    const auto graph = parse(text, {at::zeros({3})});
    if (!inputs.empty()) propagate_shapes(*graph, inputs);
    return message_of<c10::ValueError>([&] { functionalize(*graph); });
  };
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const Stack x{at::randn({3})};
  has(message("graph f(%x: Tensor) { %0: Tensor = aten::neg_(%x) return }", {}),
      "sizes of what is written are not known");
  has(message("graph f(%x: Tensor) { %0: Tensor = aten::add_.Tensor(@0, %x, 1) return %0 }", x),
      "writes to a constant");
  has(message("graph f(%x: Tensor) { %0: Tensor = aten::unsqueeze_(%x, 0) return %0 }", x),
      "changes what its tensor is");
  has(message(R"(graph f(%x: Tensor) {
    loop(3, True, []) { |%i: int|
      %0: Tensor = aten::neg_(%x)
      yield True
    }
    return
  })",
              x),
      "a call that writes, in an inner block,");
  has(message(R"(graph f(%x: Tensor) {
    %0: Tensor = aten::expand(%x, [2, 3], False)
    %1: Tensor = aten::neg_(%0)
    return
  })",
              x),
      "a write through 'expand', which has no inverse,");
}

TEST(Reinplace, WhereNothingReadsTheOldValue) {
  const auto graph = parse(R"(graph f(%x: Tensor) {
    %0: Tensor = aten::exp(%x)
    %1: Tensor = aten::add.Scalar(%0, 1, 1)
    %2: Tensor = aten::neg(%1)
    %3: Tensor = aten::t(%2)
    %4: Tensor = aten::mul.Tensor(%2, %x)
    %5: Tensor = aten::relu(%3)
    %6: Tensor = aten::mul.Tensor(%4, %4)
    %7: Tensor = aten::mm(%5, %6)
    return %7
  })");
  const Stack inputs{at::randn({3, 3})};
  propagate_shapes(*graph, inputs);
  const Stack want = testing::run(*graph, inputs);
  EXPECT_EQ(reinplace(*graph).changes, 3);
  verify(*graph);
  EXPECT_EQ(difference(testing::run(*graph, inputs), want), "");
  const std::string text = print(*graph);
  for (const char* call :
       {"aten::exp(", "aten::add_.Scalar(", "aten::neg_(", "aten::mul.Tensor(%2, %x)", "aten::relu_("}) {
    EXPECT_NE(text.find(call), std::string::npos) << call << " in\n" << text;
  }
}

TEST(Functionalize, RandomGraphsDoTheSame) {
  int functional = 0, refused = 0;
  int64_t changes = 0, back = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::RandomProgram program = testing::random_program(seed, {.control = seed % 4 == 0});
    propagate_shapes(*program.graph, program.inputs);
    Functionalized made;
    try {
      made = functionalize(*program.graph);
    } catch (const c10::ValueError& error) {
      ++refused;
      continue;
    }
    ++functional;
    changes += made.changes;
    verify(*made.graph);
    ASSERT_EQ(writes(*made.graph), 0);
    ASSERT_EQ(testing::functional_difference(*program.graph, *made.graph, made.written_inputs, program.inputs), "")
        << print(*program.graph) << print(*made.graph);
    propagate_shapes(*made.graph, program.inputs);
    const Stack want = testing::run(*made.graph, program.inputs);
    back += reinplace(*made.graph).changes;
    verify(*made.graph);
    ASSERT_EQ(difference(testing::run(*made.graph, program.inputs), want), "") << print(*made.graph);
  }
  std::cout << functional << " functional, " << refused << " refused, " << changes << " writes, " << back << " back\n";
  EXPECT_GT(functional, 250);
  EXPECT_GT(changes, 500);
  EXPECT_GT(back, 100);
}

}  // namespace
}  // namespace torch::graph
