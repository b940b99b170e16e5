// Compiled modules whose parameters are constants as long as they stay what they are.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "compile/compile.h"
#include "compile/testing/known.h"
#include "gtest/gtest.h"
#include "torch/torch.h"

namespace torch {
namespace {

using compiler::testing::Known;

CompileOptions freezing() {
  CompileOptions options;
  options.freeze = true;
  return options;
}

// Of the largest number.
double relative_error(const Tensor& got, const Tensor& wanted) {
  if (got.sizes() != wanted.sizes() || got.strides() != wanted.strides()) return INFINITY;
  return (got - wanted).abs().max().item<double>() / wanted.abs().max().item<double>();
}

void expect_same(Known net, IntArrayRef sizes, size_t layers, size_t layer_nodes) {
  const NoGradGuard no_grad;
  auto f = compile(net, freezing());
  for (int turn = 0; turn < 3; ++turn) {
    const Tensor x = randn(sizes);
    EXPECT_LT(relative_error(f(x), net->forward(x)), 2e-5) << "turn " << turn;
  }
  const CompileStatistics all = f.statistics();
  EXPECT_EQ(all.misses, 1u);
  EXPECT_EQ(all.hits, 2u);
  ASSERT_EQ(all.reports.size(), 1u);
  EXPECT_EQ(all.reports[0].layers, layers);
  EXPECT_EQ(all.reports[0].layer_nodes, layer_nodes);
}

// Of ResNet-18's 21 layers eight end with a sum and a limit, nine with a limit.
TEST(Freeze, KnownNetworks) {
  manual_seed(1);
  using namespace graph::testing;
  expect_same(Known(resnet18), {1, 3, 96, 96}, 21, 21 + 2 * 8 + 9);
  expect_same(Known(mobilenet_v2), {2, 3, 64, 64}, 53, 53 + 35 + 10);
  expect_same(Known(convolutions), {2, 16, 24, 24}, 5, 9);
  expect_same(Known([](const MakeWeight& make) { return mlp(make, {12, 30, 7}); }), {5, 12}, 2, 3);
  expect_same(Known([](const MakeWeight& make) { return gpt(make); }), {1, 128, 256}, 17, 25);
}

struct NetImpl : nn::Module {
  NetImpl() {
    conv = register_module("conv", nn::Conv2d(nn::Conv2dOptions(3, 8, 3).padding(1).bias(false)));
    norm = register_module("norm", nn::BatchNorm2d(8));
    last = register_module("last", nn::Linear(8, 4));
  }
  Tensor forward(const Tensor& x) { return last(relu(norm(conv(x))).mean(IntArrayRef{2, 3})); }
  nn::Conv2d conv{nullptr};
  nn::BatchNorm2d norm{nullptr};
  nn::Linear last{nullptr};
};
TORCH_MODULE(Net);

TEST(Freeze, ChangedStateIsSeen) {
  manual_seed(2);
  Net net;
  net->eval();
  auto f = compile(net, freezing());
  const Tensor x = randn({2, 3, 9, 9});
  const auto check = [&](const char* after) {
    const NoGradGuard no_grad;
    EXPECT_LT(relative_error(f(x), net(x)), 1e-5) << after;
    EXPECT_TRUE(f(x).equal(f(x))) << after;
  };
  check("nothing");
  optim::SGD sgd(net->parameters(), 0.5);
  net(x).square().sum().backward();
  sgd.step();
  check("a step of an optimizer");
  {
    const NoGradGuard no_grad;
    net->norm->running_var.mul_(4);
  }
  check("changed statistics");
  net->last->weight.set_data(randn({4, 8}));
  check("other memory");
  net->train();
  net(x);
  net->eval();
  check("training");
  EXPECT_EQ(f.statistics().misses, 1u);
  ASSERT_EQ(f.statistics().reports.size(), 1u);
  EXPECT_EQ(f.statistics().reports[0].layers, 2u);
  EXPECT_EQ(f.statistics().reports[0].layer_nodes, 3u);
  EXPECT_EQ(f.statistics().reports[0].groups, 0u);
}

// What a program writes to stays an input, and calls that record gradients are what they were.
TEST(Freeze, StateThatCannotBeConstant) {
  manual_seed(3);
  Net net, same;
  {
    const NoGradGuard no_grad;
    for (const auto& item : net->named_parameters()) same->get_parameter(item.key()).copy_(item.value());
  }
  auto f = compile(net, freezing());
  for (int turn = 0; turn < 3; ++turn) {
    const NoGradGuard no_grad;
    const Tensor x = randn({2, 3, 9, 9});
    EXPECT_TRUE(f(x).equal(same(x)));
    EXPECT_TRUE(net->norm->running_mean.equal(same->norm->running_mean));
    EXPECT_TRUE(net->norm->running_var.equal(same->norm->running_var));
  }
  ASSERT_EQ(f.statistics().reports.size(), 1u);
  EXPECT_EQ(f.statistics().reports[0].layers, 0u);
  ASSERT_EQ(f.statistics().reports[0].notes.size(), 1u);
  EXPECT_EQ(f.statistics().reports[0].notes[0], "the program writes to its constants, which stay inputs");
  f.clear();
  net->eval();
  same->eval();
  for (int turn = 0; turn < 2; ++turn) {
    const Tensor x = randn({2, 3, 9, 9});
    f(x).square().sum().backward();
    same(x).square().sum().backward();
    EXPECT_TRUE(net->conv->weight.grad().equal(same->conv->weight.grad()));
  }
  const InferenceMode inference;
  Net fixed;
  fixed->eval();
  auto g = compile(fixed, freezing());
  const Tensor x = randn({2, 3, 9, 9});
  for (int turn = 0; turn < 2; ++turn) EXPECT_TRUE(g(x).equal(fixed(x)));
  EXPECT_EQ(g.statistics().reports[0].layers, 0u);
}

// Programs for several sizes share their weights; other weights are others.
TEST(Freeze, WeightsAreHeldOnce) {
  manual_seed(6);
  const NoGradGuard no_grad;
  Known net([](const graph::testing::MakeWeight& make) { return graph::testing::mlp(make, {256, 512, 16}); });
  const size_t bytes = (256 * 512 + 512 * 16) * sizeof(float);
  auto f = compile(net, freezing());
  for (int turn = 0; turn < 2; ++turn) {
    for (const int64_t rows : {1, 2, 3, 4, 5, 6}) {
      const Tensor x = randn({rows, 256});
      EXPECT_LT(relative_error(f(x), net->forward(x)), 1e-5);
    }
    EXPECT_EQ(f.statistics().entries, 6u);
    EXPECT_GE(f.statistics().bytes, bytes);
    EXPECT_LT(f.statistics().bytes, 2 * bytes);
    net->buffers()[1].mul_(2);
  }
}

TEST(Freeze, Threads) {
  manual_seed(4);
  Net net;
  net->eval();
  auto f = compile(net, freezing());
  const NoGradGuard no_grad;
  const Tensor x = randn({2, 3, 9, 9});
  for (int turn = 0; turn < 5; ++turn) {
    net->conv->weight.add_(0.1);
    const Tensor wanted = net(x);
    std::array<double, 4> errors{};
    std::vector<std::thread> threads;
    for (double& error : errors) {
      threads.emplace_back([&] {
        const NoGradGuard no_grad_here;
        for (int call = 0; call < 5; ++call) error = std::max(error, relative_error(f(x), wanted));
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const double error : errors) EXPECT_LT(error, 1e-5);
  }
}

// A chain of random layers, norms, limits, pools and sums.
struct RandomImpl : nn::Module {
  RandomImpl(int64_t channels, int64_t size) {
    const int64_t length = 3 + pick(6);
    for (int64_t i = 0; i < length; ++i) {
      const int64_t kind = pick(8);
      if (kind < 4) {
        const int64_t groups = pick(4) == 0 ? channels : 1;
        const int64_t out = groups > 1 || pick(3) == 0 ? channels : 1 + pick(40);
        const int64_t kernel = size > 8 ? 1 + 2 * pick(2) : 1, dilation = 1 + pick(5) / 4, stride = 1 + pick(5) / 4;
        const int64_t padding = pick(2) * (kernel / 2);
        size = (size + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
        net->push_back(nn::Conv2d(nn::Conv2dOptions(channels, out, kernel)
                                      .padding(padding)
                                      .stride(stride)
                                      .dilation(dilation)
                                      .groups(groups)
                                      .bias(pick(2) == 0)));
        channels = out;
        if (pick(2) == 0) net->push_back(nn::BatchNorm2d(nn::BatchNormOptions(channels).affine(pick(2) == 0)));
      } else if (kind == 4) {
        net->push_back(nn::ReLU());
      } else if (kind == 5) {
        net->push_back(nn::Hardtanh(nn::HardtanhOptions().min_val(-0.5).max_val(0.75)));
      } else if (kind == 6 && size > 8) {
        --size;
        net->push_back(nn::MaxPool2d(nn::MaxPool2dOptions(2).stride(1)));
      } else {
        net->push_back(nn::GELU());
      }
    }
    register_module("net", net);
    head = register_module("head", nn::Linear(channels, 5));
    for (Tensor& t : buffers()) {
      if (t.is_floating_point()) t.uniform_(0.5, 1.5);
    }
  }
  static int64_t pick(int64_t below) { return torch::randint(below, {1}, kLong).item<int64_t>(); }
  Tensor forward(Tensor x) {
    for (nn::AnyModule& layer : *net) {
      const Tensor y = layer.forward(x);
      x = y.sizes() == x.sizes() ? y + x : y;
    }
    return head(x.mean(IntArrayRef{2, 3}));
  }
  nn::Sequential net;
  nn::Linear head{nullptr};
};
TORCH_MODULE(Random);

TEST(Freeze, RandomNetworks) {
  const NoGradGuard no_grad;
  size_t layers = 0, layer_nodes = 0;
  for (int seed = 0; seed < 40; ++seed) {
    manual_seed(seed);
    const int64_t channels = 1 + RandomImpl::pick(32);
    Random net(channels, 26);
    net->eval();
    auto f = compile(net, freezing());
    for (int turn = 0; turn < 2; ++turn) {
      Tensor x = randn({1 + RandomImpl::pick(3), channels, 26, 30});
      if (turn == 1) x = x.contiguous(MemoryFormat::ChannelsLast);
      const Tensor wanted = net(x);
      for (int call = 0; call < 2; ++call) EXPECT_LT(relative_error(f(x), wanted), 1e-4) << "seed " << seed;
    }
    for (const auto& report : f.statistics().reports) layers += report.layers, layer_nodes += report.layer_nodes;
  }
  EXPECT_GT(layers, 150u);
  EXPECT_GT(layer_nodes, layers + 30);
}

TEST(Freeze, OtherTypesHaveNoLayers) {
  manual_seed(5);
  const NoGradGuard no_grad;
  Net net;
  net->eval();
  net->to(kDouble);
  auto f = compile(net, freezing());
  const Tensor x = randn({2, 3, 9, 9}, kDouble);
  for (int turn = 0; turn < 2; ++turn) EXPECT_LT(relative_error(f(x), net(x)), 1e-13);
  EXPECT_EQ(f.statistics().reports[0].layers, 0u);
}

}  // namespace
}  // namespace torch
