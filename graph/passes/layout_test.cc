// Numbers that depend on sizes, and images with their channels side by side.
#include "aten/aten.h"
#include "graph/capture/capture.h"
#include "graph/ir/text.h"
#include "graph/passes/channels_last.h"
#include "graph/passes/dead_code.h"
#include "graph/passes/decompose.h"
#include "graph/passes/fold_batch_norm.h"
#include "graph/passes/numbers.h"
#include "graph/passes/shape_propagation.h"
#include "graph/passes/tensor_info.h"
#include "graph/passes/testing/models.h"
#include "graph/passes/testing/programs.h"
#include "gtest/gtest.h"

namespace torch::graph {
namespace {

using c10::Stack;
using testing::parse;

TEST(ResolveNumbers, PutsExpressionsOfSizesInTheirPlaces) {
  const auto graph = parse(R"(graph f(%x: Tensor<Float, cpu, [s0, 4], [4, 1]>) {
    where s0 in [2, 9]
    %0: int = aten::sym_numel(%x)
    %1: Tensor = aten::view(%x, [%0])
    %2: int = aten::sym_size.int(%1, -1)
    %3: Tensor = aten::view(%1, [%2, 1])
    return %3
  })");
  propagate_shapes(*graph);
  EXPECT_GT(resolve_numbers(*graph).changes, 0);
  eliminate_dead_code(*graph);
  propagate_shapes(*graph);
  resolve_numbers(*graph);
  eliminate_dead_code(*graph);
  int calls = 0;
  for (const Node* node : graph->block()) {
    EXPECT_TRUE(node->calls("aten::view")) << print_node(*node);
    ++calls;
  }
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(graph->block().outputs()[0].value()->info()->sizes[0].str(), "4*s0");
  const at::Tensor x = at::randn({3, 4});
  EXPECT_TRUE(at::equal(testing::run(*graph, {x})[0].toTensor(), at::view(x, {12, 1})));
}

TEST(ChannelsLast, TurnsImagesOnceAndBack) {
  const at::NoGradGuard no_grad;
  const at::Tensor x = at::randn({1, 3, 64, 64});
  for (const auto& model : {testing::resnet18(testing::normal_weight), testing::mobilenet_v2(testing::normal_weight)}) {
    CaptureOptions options;
    options.max_constant_bytes = INT64_MAX;
    const Captured one = capture([&](const Stack& in) { return Stack{model(in[0].toTensor())}; }, {x}, options);
    Graph& graph = *one.graph;
    const Stack expected = testing::run(graph, {x});
    propagate_shapes(graph);
    EXPECT_GT(fold_batch_norm(graph).changes, 0);
    decompose(graph);
    propagate_shapes(graph);
    const PassResult turned =
        use_channels_last(graph, [](const Node& node) { return node.calls("aten::convolution"); });
    // The image on its way in; what has one pixel is in both formats.
    EXPECT_EQ(turned.changes, 1);
    verify(graph);
    int convolutions = 0;
    graph.for_nodes([&](const Node* node) {
      if (!node->calls("aten::convolution")) return;
      ++convolutions;
      ASSERT_NE(node->result()->info(), nullptr);
      EXPECT_TRUE(is_channels_last(*node->result()->info())) << print_node(*node);
    });
    EXPECT_GE(convolutions, 20);
    const Stack got = testing::run(graph, {x});
    EXPECT_TRUE(at::allclose(got[0].toTensor(), expected[0].toTensor(), 1e-3, 1e-3));
  }
}

TEST(ChannelsLast, OutputsAndOtherCallsSeeWhatTheySaw) {
  const at::NoGradGuard no_grad;
  const at::Tensor x = at::randn({2, 3, 6, 5}), w = at::randn({4, 3, 3, 3}), more = at::randn({2, 4, 6, 5});
  const Captured one = capture(
      [&](const Stack& in) {
        const at::Tensor y = at::relu(at::conv2d(in[0].toTensor(), w, {}, {1, 1}, {1, 1}, {1, 1}, 1));
        return Stack{at::view(y, {2, 120}), at::add(y, in[1].toTensor()), y};
      },
      {x, more});
  Graph& graph = *one.graph;
  const Stack expected = testing::run(graph, {x, more});
  propagate_shapes(graph);
  decompose(graph);
  propagate_shapes(graph);
  EXPECT_GT(use_channels_last(graph, [](const Node& node) { return node.calls("aten::convolution"); }).changes, 1);
  const Stack got = testing::run(graph, {x, more});
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_TRUE(at::allclose(got[i].toTensor(), expected[i].toTensor(), 1e-4, 1e-5));
    EXPECT_EQ(got[i].toTensor().strides(), expected[i].toTensor().strides());
  }
}

}  // namespace
}  // namespace torch::graph
