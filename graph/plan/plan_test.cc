#include "graph/plan/plan.h"

#include <cstdint>
#include <iostream>
#include <random>

#include "aten/aten.h"
#include "autograd/factories.h"
#include "c10/testing/message_of.h"
#include "graph/capture/capture.h"
#include "graph/ir/text.h"
#include "graph/passes/dead_code.h"
#include "graph/passes/decompose.h"
#include "graph/passes/shape_propagation.h"
#include "graph/passes/testing/models.h"
#include "graph/passes/testing/programs.h"
#include "gtest/gtest.h"

namespace torch::graph {
namespace {

using at::Tensor;
using c10::IValue;
using c10::Stack;
using c10::testing::message_of;
using testing::parse;

void expect_no_overlap(const std::vector<Buffer>& buffers, const Layout& layout, int64_t alignment) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    ASSERT_EQ(layout.offsets[i] % alignment, 0);
    ASSERT_GE(layout.offsets[i], 0);
    ASSERT_LE(layout.offsets[i] + buffers[i].bytes, layout.bytes);
    for (size_t j = 0; j < i; ++j) {
      const bool together = buffers[i].first <= buffers[j].last && buffers[j].first <= buffers[i].last;
      const bool overlap = layout.offsets[i] < layout.offsets[j] + buffers[j].bytes &&
                           layout.offsets[j] < layout.offsets[i] + buffers[i].bytes;
      ASSERT_FALSE(together && overlap) << i << " and " << j;
    }
  }
}

TEST(LayOut, RandomIntervals) {
  std::mt19937 random(5);
  for (int turn = 0; turn < 400; ++turn) {
    const int64_t alignment = int64_t{1} << random() % 8;
    std::vector<Buffer> buffers(random() % 60);
    int64_t all = 0;
    std::vector<int64_t> live(101);
    for (Buffer& buffer : buffers) {
      buffer.bytes = random() % 5 == 0 ? 0 : static_cast<int64_t>(random() % 5000);
      buffer.first = static_cast<int64_t>(random() % 100);
      buffer.last = std::min<int64_t>(buffer.first + static_cast<int64_t>(random() % 20), 100);
      const int64_t aligned = (buffer.bytes + alignment - 1) / alignment * alignment;
      all += aligned;
      for (int64_t t = buffer.first; t <= buffer.last; ++t) live[static_cast<size_t>(t)] += aligned;
    }
    const Layout layout = lay_out(buffers, alignment);
    expect_no_overlap(buffers, layout, alignment);
    EXPECT_EQ(layout.lower_bound, *std::max_element(live.begin(), live.end()));
    EXPECT_GE(layout.bytes, layout.lower_bound);
    EXPECT_LE(layout.bytes, all);
    EXPECT_EQ(lay_out(buffers, alignment).offsets, layout.offsets);
  }
  EXPECT_EQ(lay_out({}).bytes, 0);
}

TEST(LayOut, BadBuffers) {
  EXPECT_EQ(message_of<c10::ValueError>([] { lay_out({Buffer{-1, 0, 0}}); }), "buffer 0 has -1 bytes");
  EXPECT_EQ(message_of<c10::ValueError>([] {
              lay_out({Buffer{1, 3, 2}});
            }),
            "buffer 0 is needed from step 3 to step 2");
  EXPECT_EQ(message_of<c10::ValueError>([] {
              lay_out({Buffer{1, 0, 0}}, 48);
            }),
            "expected an alignment that is a power of two, but got 48");
  const std::vector<Buffer> large(3, Buffer{INT64_MAX / 2, 0, 0});
  EXPECT_EQ(message_of<c10::ValueError>([&] { lay_out(large); }), "the buffers have more bytes than 64 bits hold");
}

TEST(Plan, ViewsAndCallsInPlaceShare) {
  const auto graph = parse(R"(graph f(%x: Tensor) {
    %0: Tensor = aten::exp(%x)
    %1: Tensor = aten::t(%0)
    %2: Tensor = aten::relu_(%1)
    %3: Tensor = aten::neg(%2)
    %4: Tensor = aten::reshape(%1, [8])
    %5: Tensor[] = aten::split.Tensor(%3, 1, 0)
    %6: Tensor, %7: Tensor, %8: Tensor, %9: Tensor = unpack(%5)
    %10: Tensor = aten::add.Tensor(%6, %7, 1)
    %11: Tensor = aten::t(%x)
    return %10, %11
  })");
  propagate_shapes(*graph, {IValue(torch::randn({2, 4}))});
  const Plan plan = plan_memory(*graph);
  std::vector<const Node*> nodes;
  for (const Node* node : graph->block()) nodes.push_back(node);
  const auto of = [&](size_t node, size_t result = 0) { return plan.buffers_of(nodes[node]->result(result)); };
  EXPECT_EQ(of(1), of(0));
  EXPECT_EQ(of(2), of(0));
  EXPECT_NE(of(3), of(0));
  EXPECT_NE(of(4), of(0));  // a transposed tensor's elements in a row are a copy
  EXPECT_EQ(of(6, 1), of(3));
  EXPECT_TRUE(of(8).empty());
  EXPECT_EQ(plan.buffers.size(), 4u);
  EXPECT_EQ(plan.buffers[of(0)[0]].first, 0);
  EXPECT_EQ(plan.buffers[of(0)[0]].last, 4);
  EXPECT_EQ(plan.buffers[of(3)[0]].last, 7);
  EXPECT_EQ(plan.buffers[of(7)[0]].last, 9);  // returned
  EXPECT_EQ(plan.buffers[of(0)[0]].bytes, 32);
  expect_no_overlap(plan.buffers, plan.layout, 64);
  PlanOptions options;
  options.outputs = false;
  EXPECT_LT(plan_memory(*graph, options).layout.lower_bound, plan.layout.lower_bound + 1);
}

TEST(Plan, RefusesWhatItDoesNotKnow) {
  EXPECT_NE(message_of<c10::ValueError>([] {
              plan_memory(*parse("graph f(%x: Tensor) { %0: Tensor = aten::neg(%x) return %0 }"));
            }).find("nothing is known of the sizes of a value that is an input gives"),
            std::string::npos);
  EXPECT_NE(message_of<c10::ValueError>([] {
              plan_memory(*parse(R"(graph f(%x: Tensor, %c: bool) {
                %0: Tensor = if(%c) { yield %x } { yield %x }
                return %0
              })"));
            }).find("has a node that memory cannot be planned for"),
            std::string::npos);
}

Tensor on_meta(c10::IntArrayRef sizes, double, double) {
  return at::empty(sizes, at::device(c10::DeviceType::Meta));
}

// The plan of a function's functional core graph.
Plan planned(const char* name, const testing::Model& f, c10::IntArrayRef sizes) {
  CaptureOptions options;
  options.max_constant_bytes = INT64_MAX;
  options.expand = [](const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack& stack) {
    return is_decomposed_to_core(op) && expand_operator(op, keys, stack);
  };
  const at::NoGradGuard no_grad;
  const Captured one =
      capture([&](const Stack& in) { return Stack{f(in[0].toTensor())}; }, {on_meta(sizes, 0, 0)}, options);
  eliminate_dead_code(*one.graph);
  propagate_shapes(*one.graph);
  Plan plan = plan_memory(*one.graph);
  expect_no_overlap(plan.buffers, plan.layout, 64);
  std::cout << name << ": " << plan.buffers.size() << " buffers, " << plan.unshared_bytes << " -> "
            << plan.layout.lower_bound << " -> " << plan.layout.bytes << " bytes\n";
  return plan;
}

TEST(Plan, ResNet18MeetsTheLowerBound) {
  const Plan plan = planned("ResNet-18", testing::resnet18(on_meta), {1, 3, 224, 224});
  EXPECT_EQ(plan.layout.bytes, plan.layout.lower_bound);
  // Two maps of 64 channels, 112 by 112, and statistics.
  EXPECT_NEAR(static_cast<double>(plan.layout.bytes), 6.42e6, 0.02e6);
}

TEST(Plan, MobileNetV2MeetsTheLowerBound) {
  const Plan plan = planned("MobileNetV2", testing::mobilenet_v2(on_meta), {1, 3, 224, 224});
  EXPECT_EQ(plan.layout.bytes, plan.layout.lower_bound);
  EXPECT_NEAR(static_cast<double>(plan.layout.bytes), 9.63e6, 0.02e6);
}

TEST(Plan, GptMeetsTheLowerBound) {
  const Plan plan = planned("GPT", testing::gpt(on_meta, /*spelled_out=*/true), {1, 128, 256});
  EXPECT_EQ(plan.layout.bytes, plan.layout.lower_bound);
}

// What runs with a later node has no memory, and what it reads stays until then.
TEST(Plan, NodesThatRunWithOthers) {
  const auto graph = parse(R"(graph f(%x: Tensor<Float, cpu, [4, 16], [16, 1]>) {
    %0: Tensor = aten::exp(%x)
    %1: Tensor = aten::neg(%0)
    %2: Tensor = aten::tanh(%x)
    %3: Tensor = aten::add.Tensor(%1, %2, 1)
    return %3
  })");
  propagate_shapes(*graph);
  std::vector<const Node*> nodes;
  for (const Node* node : graph->block()) nodes.push_back(node);
  EXPECT_EQ(plan_memory(*graph).layout.bytes, 3 * 256);
  PlanOptions options;
  options.runs_with[nodes[1]] = nodes[3];
  const Plan plan = plan_memory(*graph, options);
  EXPECT_TRUE(plan.buffers_of(nodes[1]->result()).empty());
  // exp lives until the sum, beside tanh and the result.
  EXPECT_EQ(plan.buffers.size(), 3u);
  EXPECT_EQ(plan.buffers[0].last, 3);
  EXPECT_EQ(plan.layout.bytes, 3 * 256);
}

// A result takes the place of an operand that ends, if that lies as it does and is read in no other way.
TEST(Plan, ResultsReplaceOperands) {
  const auto buffers = [](const char* text, bool outputs) {
    const auto graph = parse(text);
    propagate_shapes(*graph);
    PlanOptions options;
    options.outputs = outputs;
    options.may_replace = [](const Node&, size_t, size_t) { return true; };
    const Plan plan = plan_memory(*graph, options);
    std::vector<size_t> of;
    for (const Node* node : graph->block()) of.push_back(plan.buffers_of(node->result()).at(0));
    return of;
  };
  // A chain, but not what is read later, and not what is returned to the caller's memory.
  EXPECT_EQ(buffers(R"(graph f(%x: Tensor<Float, cpu, [4, 16], [16, 1]>) {
    %0: Tensor = aten::exp(%x)
    %1: Tensor = aten::neg(%0)
    %2: Tensor = aten::tanh(%1)
    %3: Tensor = aten::add.Tensor(%1, %2, 1)
    %4: Tensor = aten::neg(%3)
    return %4
  })",
                    false),
            (std::vector<size_t>{0, 0, 2, 0, 4}));
  // Other sizes, strides, element sizes, and an operand that is read transposed.
  EXPECT_EQ(buffers(R"(graph f(%x: Tensor<Float, cpu, [4, 4], [4, 1]>) {
    %0: Tensor = aten::exp(%x)
    %1: Tensor = aten::t(%0)
    %2: Tensor = aten::add.Tensor(%0, %1, 1)
    %3: Tensor = aten::gt.Scalar(%2, 0)
    %4: Tensor = aten::logical_not(%3)
    %5: Tensor = aten::sum.dim_IntList(%4, [0], False, None)
    return %5
  })",
                    true),
            (std::vector<size_t>{0, 0, 1, 2, 2, 4}));
}

}  // namespace
}  // namespace torch::graph
