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

// --- models, as functions on meta tensors ---

Tensor weight(c10::IntArrayRef sizes) {
  return at::empty(sizes, at::device(c10::DeviceType::Meta));
}
struct ConvBn {
  Tensor w, scale, shift, mean, var;
  int64_t stride, padding, groups;
  ConvBn(int64_t in, int64_t out, int64_t k, int64_t s, int64_t g = 1)
      : w(weight({out, in / g, k, k})),
        scale(weight({out})),
        shift(weight({out})),
        mean(weight({out})),
        var(weight({out})),
        stride(s),
        padding(k / 2),
        groups(g) {}
  Tensor operator()(const Tensor& x) const {
    const Tensor y = at::conv2d(x, w, {}, {stride, stride}, {padding, padding}, {1, 1}, groups);
    return at::batch_norm(y, scale, shift, mean, var, false, 0.1, 1e-5, false);
  }
};

// The plan of a function's functional core graph.
Plan planned(const char* name, const std::function<Tensor(const Tensor&)>& f, const Tensor& x) {
  CaptureOptions options;
  options.max_constant_bytes = INT64_MAX;
  options.expand = [](const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack& stack) {
    return is_decomposed_to_core(op) && expand_operator(op, keys, stack);
  };
  const at::NoGradGuard no_grad;
  const Captured one = capture([&](const Stack& in) { return Stack{f(in[0].toTensor())}; }, {x}, options);
  eliminate_dead_code(*one.graph);
  propagate_shapes(*one.graph);
  Plan plan = plan_memory(*one.graph);
  expect_no_overlap(plan.buffers, plan.layout, 64);
  std::cout << name << ": " << plan.buffers.size() << " buffers, " << plan.unshared_bytes << " -> "
            << plan.layout.lower_bound << " -> " << plan.layout.bytes << " bytes\n";
  return plan;
}

TEST(Plan, ResNet18MeetsTheLowerBound) {
  struct Block {
    ConvBn first, second;
    std::optional<ConvBn> shortcut;
  };
  const ConvBn stem(3, 64, 7, 2);
  std::vector<Block> blocks;
  int64_t in = 64;
  for (const int64_t out : {64, 128, 256, 512}) {
    for (int i = 0; i < 2; ++i) {
      const int64_t stride = i == 0 && out > 64 ? 2 : 1;
      Block block{ConvBn(in, out, 3, stride), ConvBn(out, out, 3, 1), std::nullopt};
      if (stride == 2) {
        block.shortcut.emplace(in, out, 1, 2);
        block.shortcut->padding = 0;
      }
      blocks.push_back(std::move(block));
      in = out;
    }
  }
  const Tensor w = weight({1000, 512}), b = weight({1000});
  const Plan plan = planned(
      "ResNet-18",
      [&](const Tensor& input) {
        Tensor x = at::max_pool2d(at::relu(stem(input)), {3, 3}, {2, 2}, {1, 1});
        for (const Block& block : blocks) {
          const Tensor y = block.second(at::relu(block.first(x)));
          x = at::relu(at::add(y, block.shortcut.has_value() ? (*block.shortcut)(x) : x));
        }
        return at::linear(at::flatten(at::adaptive_avg_pool2d(x, {1, 1}), 1), w, b);
      },
      weight({1, 3, 224, 224}));
  EXPECT_EQ(plan.layout.bytes, plan.layout.lower_bound);
  // Two maps of 64 channels, 112 by 112, and statistics.
  EXPECT_NEAR(static_cast<double>(plan.layout.bytes), 6.42e6, 0.02e6);
}

TEST(Plan, MobileNetV2MeetsTheLowerBound) {
  struct Block {
    std::vector<ConvBn> layers;
    bool residual;
  };
  struct Stage {
    int64_t expand, out, count, stride;
  };
  const ConvBn stem(3, 32, 3, 2);
  std::vector<Block> blocks;
  int64_t in = 32;
  for (const Stage& stage : {Stage{1, 16, 1, 1},
                             {6, 24, 2, 2},
                             {6, 32, 3, 2},
                             {6, 64, 4, 2},
                             {6, 96, 3, 1},
                             {6, 160, 3, 2},
                             {6, 320, 1, 1}}) {
    for (int64_t i = 0; i < stage.count; ++i) {
      const int64_t stride = i == 0 ? stage.stride : 1, wide = in * stage.expand;
      Block block{{}, stride == 1 && in == stage.out};
      if (stage.expand != 1) block.layers.emplace_back(in, wide, 1, 1);
      block.layers.emplace_back(wide, wide, 3, stride, wide);
      block.layers.emplace_back(wide, stage.out, 1, 1);
      blocks.push_back(std::move(block));
      in = stage.out;
    }
  }
  const ConvBn last(320, 1280, 1, 1);
  const Tensor w = weight({1000, 1280}), b = weight({1000});
  const Plan plan = planned(
      "MobileNetV2",
      [&](const Tensor& input) {
        Tensor x = at::hardtanh(stem(input), 0, 6);
        for (const Block& block : blocks) {
          Tensor y = x;
          for (size_t i = 0; i < block.layers.size(); ++i) {
            y = block.layers[i](y);
            if (i + 1 < block.layers.size()) y = at::hardtanh(y, 0, 6);
          }
          x = block.residual ? at::add(x, y) : y;
        }
        x = at::hardtanh(last(x), 0, 6);
        return at::linear(at::flatten(at::adaptive_avg_pool2d(x, {1, 1}), 1), w, b);
      },
      weight({1, 3, 224, 224}));
  EXPECT_EQ(plan.layout.bytes, plan.layout.lower_bound);
  EXPECT_NEAR(static_cast<double>(plan.layout.bytes), 9.63e6, 0.02e6);
}

TEST(Plan, GptMeetsTheLowerBound) {
  constexpr int64_t kLayers = 4, kWidth = 256, kHeads = 4, kTokens = 128;
  struct Layer {
    Tensor norm1 = weight({kWidth}), shift1 = weight({kWidth}), norm2 = weight({kWidth}), shift2 = weight({kWidth});
    Tensor qkv = weight({3 * kWidth, kWidth}), qkv_bias = weight({3 * kWidth});
    Tensor out = weight({kWidth, kWidth}), out_bias = weight({kWidth});
    Tensor up = weight({4 * kWidth, kWidth}), up_bias = weight({4 * kWidth});
    Tensor down = weight({kWidth, 4 * kWidth}), down_bias = weight({kWidth});
  };
  const std::vector<Layer> layers(kLayers);
  const Tensor scale = weight({kWidth}), shift = weight({kWidth}), head = weight({512, kWidth});
  const Plan plan = planned(
      "GPT",
      [&](const Tensor& input) {
        Tensor x = input;
        for (const Layer& l : layers) {
          const Tensor y = at::layer_norm(x, {kWidth}, l.norm1, l.shift1);
          std::vector<Tensor> parts = at::split(at::linear(y, l.qkv, l.qkv_bias), kWidth, 2);
          for (Tensor& part : parts) {
            part = at::transpose(at::view(part, {1, kTokens, kHeads, kWidth / kHeads}), 1, 2);
          }
          Tensor scores = at::mul(at::matmul(parts[0], at::transpose(parts[1], 2, 3)), 0.125);
          const Tensor mask =
              at::triu(at::ones({kTokens, kTokens}, at::device(c10::DeviceType::Meta).dtype(at::kBool)), 1);
          scores = at::masked_fill(scores, mask, -1e9);
          const Tensor attended = at::matmul(at::softmax(scores, 3), parts[2]);
          const Tensor merged = at::reshape(at::transpose(attended, 1, 2), {1, kTokens, kWidth});
          x = at::add(x, at::linear(merged, l.out, l.out_bias));
          const Tensor z = at::layer_norm(x, {kWidth}, l.norm2, l.shift2);
          x = at::add(x, at::linear(at::gelu(at::linear(z, l.up, l.up_bias)), l.down, l.down_bias));
        }
        return at::linear(at::layer_norm(x, {kWidth}, scale, shift), head, {});
      },
      weight({1, kTokens, kWidth}));
  EXPECT_EQ(plan.layout.bytes, plan.layout.lower_bound);
}

}  // namespace
}  // namespace torch::graph
