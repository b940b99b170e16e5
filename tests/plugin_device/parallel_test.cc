// Modules on both devices at once.
#include "torch/nn/parallel/data_parallel.h"

#include <gtest/gtest.h>

#include "c10/testing/message_of.h"
#include "tests/plugin_device/shadow.h"
#include "torch/torch.h"

namespace {

using c10::testing::message_of;
using torch::Device;
using torch::Tensor;
namespace parallel = torch::nn::parallel;

const Device kShadow(torch::kPrivateUse1, 0), kOther(torch::kPrivateUse1, 1), kCpu(torch::kCPU);

TEST(Parallel, ScatterHasADerivative) {
  torch::autograd::Scatter scatter({kShadow, kOther});
  const Tensor x = torch::arange(10, torch::kFloat).requires_grad_(true);
  const auto parts = scatter.apply({x});
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].device(), kShadow);
  EXPECT_EQ(parts[1].device(), kOther);
  EXPECT_TRUE(torch::equal(torch::cat({parts[0].cpu(), parts[1].cpu()}), x));
  (parts[0].to(kOther) * 2 + parts[1]).sum().backward();
  EXPECT_EQ(x.grad().device(), kCpu);
  EXPECT_EQ(x.grad().sum().item<float>(), 15);
  const auto uneven = torch::autograd::Scatter({kShadow, kOther}, std::vector<int64_t>{3, 7}).apply({x});
  EXPECT_EQ(uneven[1].size(0), 7);
  EXPECT_ANY_THROW(torch::autograd::Scatter({kShadow, kOther}, std::vector<int64_t>{10}).apply({x}));
}

TEST(Parallel, GatherHasADerivative) {
  const Tensor a = torch::ones({5}, kShadow).requires_grad_(true), b = torch::ones({2}, kOther).requires_grad_(true);
  const Tensor all = torch::autograd::Gather(kOther).apply({a, b}).front();
  EXPECT_EQ(all.device(), kOther);
  EXPECT_EQ(all.size(0), 7);
  all.backward(torch::ones_like(all));
  EXPECT_EQ(a.grad().device(), kShadow);
  EXPECT_EQ(a.grad().sum().cpu().item<float>(), 5);
  EXPECT_EQ(b.grad().sum().cpu().item<float>(), 2);
  const auto numbers = torch::autograd::Gather(kCpu).apply({a.sum(), b.sum()});
  EXPECT_EQ(numbers[0].sizes(), torch::IntArrayRef({2}));
}

struct NetImpl : torch::nn::Cloneable<NetImpl> {
  NetImpl() { reset(); }
  void reset() override {
    conv = register_module("conv", torch::nn::Conv2d(torch::nn::Conv2dOptions(2, 2, 2)));
    fc = register_module("fc", torch::nn::Linear(8, 2));
  }
  Tensor forward(Tensor x) { return torch::log_softmax(fc(torch::relu(conv(x)).view({-1, 8})), 1); }
  torch::nn::Conv2d conv{nullptr};
  torch::nn::Linear fc{nullptr};
};
TORCH_MODULE(Net);

TEST(Parallel, TrainsAsOneDeviceDoes) {
  torch::manual_seed(0);
  Net one;
  Net both(std::dynamic_pointer_cast<NetImpl>(one->clone()));
  torch::optim::SGD optimizer(one->parameters(), 0.1), optimizer_of_both(both->parameters(), 0.1);
  const Tensor x = torch::randn({5, 2, 3, 3});
  for (int step = 0; step < 3; ++step) {
    optimizer.zero_grad();
    one(x).pow(2).mean().backward();
    optimizer.step();
    optimizer_of_both.zero_grad();
    const Tensor y = parallel::data_parallel(both, x, std::vector<Device>{kShadow, kOther}, kCpu);
    EXPECT_EQ(y.device(), kCpu);
    y.pow(2).mean().backward();
    optimizer_of_both.step();
  }
  const auto parameters = one->parameters(), of_both = both->parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    EXPECT_EQ(of_both[i].device(), kCpu);
    EXPECT_TRUE(torch::allclose(parameters[i], of_both[i], 1e-4, 1e-5)) << i;
  }
}

TEST(Parallel, PlacesTheOutput) {
  torch::nn::Linear linear(3, 4);
  const Tensor x = torch::ones({10, 3});
  EXPECT_EQ(parallel::data_parallel(linear, x).device(), kShadow);  // all devices of the accelerator
  EXPECT_EQ(parallel::data_parallel(linear, x, std::nullopt, kOther).device(), kOther);
  EXPECT_EQ(parallel::data_parallel(linear, torch::ones({1, 3})).size(0), 1);
  EXPECT_EQ(parallel::data_parallel(linear, x, std::vector<Device>{kShadow}, kOther).device(), kOther);
  EXPECT_EQ(linear->weight.device(), kShadow);
}

TEST(Parallel, RethrowsAndChecksCounts) {
  struct Bad : torch::nn::Cloneable<Bad> {
    void reset() override {}
    Tensor forward(Tensor) { throw std::runtime_error("Badness!"); }
  };
  const auto bad = std::make_shared<Bad>();
  try {
    parallel::data_parallel(bad, torch::ones({10, 3}));
    ADD_FAILURE();
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "Badness!");
  }
  std::vector<torch::nn::Linear> modules = {torch::nn::Linear(1, 1)};
  EXPECT_EQ(message_of([&] { parallel::parallel_apply(modules, {}); }), "Must have as many inputs as modules");
  EXPECT_EQ(message_of([&] {
              parallel::parallel_apply(modules, {torch::ones({1, 1})}, std::vector<Device>{});
            }),
            "Must have as many devices as modules");
  // Threads have the caller's modes.
  const torch::NoGradGuard no_grad;
  modules.push_back(torch::nn::Linear(1, 1));
  for (const Tensor& y : parallel::parallel_apply(modules, {torch::ones({1, 1}), torch::ones({1, 1})}))
    EXPECT_FALSE(y.requires_grad());
}

}  // namespace
