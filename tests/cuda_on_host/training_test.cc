// Training on CUDA devices: the losses of the CPU, also where steps are captured and replayed.
#include <ATen/cuda/CUDAGraph.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <functional>
#include <vector>

#include "examples/gpt/model.h"
#include "tests/cuda_on_host/runtime/standin.h"

namespace {

using torch::Tensor;

constexpr int kSteps = 12;
constexpr int64_t kBatch = 3, kContext = 9;

gpt::ModelOptions options() {
  gpt::ModelOptions o;
  o.vocabulary = 23;
  o.context = kContext;
  o.layers = 2;
  o.heads = 2;
  o.width = 16;
  return o;
}

gpt::Gpt made_on(torch::Device device) {
  torch::manual_seed(3);
  gpt::Gpt model(options());
  model->to(device);
  return model;
}

std::vector<std::pair<Tensor, Tensor>> batches() {
  torch::manual_seed(4);
  std::vector<std::pair<Tensor, Tensor>> all;
  for (int i = 0; i < kSteps; ++i) {
    const Tensor text = torch::randint(23, {kBatch, kContext + 1});
    all.emplace_back(text.narrow(1, 0, kContext).contiguous(), text.narrow(1, 1, kContext).contiguous());
  }
  return all;
}

double rate_of(int step) {
  return 0.01 / (1 + step);
}

// What a step computes: its loss, with everything a graph may hold.
struct Training {
  explicit Training(torch::Device device, bool captured)
      : model(made_on(device)),
        optimizer(model->parameters(), torch::optim::AdamWOptions(0.01).fused(captured).capturable(captured)) {
    const auto integers = torch::TensorOptions(torch::kLong).device(device);
    tokens = torch::empty({kBatch, kContext}, integers);
    targets = torch::empty({kBatch, kContext}, integers);
    if (captured) rates().tensor_lr(torch::full({}, 0.01, torch::TensorOptions(torch::kFloat).device(device)));
  }
  torch::optim::AdamWOptions& rates() {
    return static_cast<torch::optim::AdamWOptions&>(optimizer.param_groups()[0].options());
  }
  void step() {
    loss = model->loss(tokens, targets);
    optimizer.zero_grad();
    loss.backward();
    std::vector<Tensor> grads;
    for (const Tensor& p : model->parameters()) grads.push_back(p.grad());
    torch::nn::utils::clip_grads_with_norm_(model->parameters(), 0.5, torch::nn::utils::get_total_norm(grads));
    optimizer.step();
  }
  std::vector<float> losses(const std::function<void(int)>& run) {
    std::vector<float> all;
    const auto data = batches();
    for (int i = 0; i < kSteps; ++i) {
      tokens.copy_(data[static_cast<size_t>(i)].first);
      targets.copy_(data[static_cast<size_t>(i)].second);
      rates().set_lr(rate_of(i));
      run(i);
      all.push_back(loss.item<float>());
    }
    return all;
  }

  gpt::Gpt model;
  torch::optim::AdamW optimizer;
  Tensor tokens, targets, loss;
};

int64_t count_of(Training& t) {
  return t.optimizer.state_dict().at("state.0.step").toTensor().item<int64_t>();
}

TEST(Training, LossesAreTheCpus) {
  Training on_cpu(torch::kCPU, false), on_cuda(torch::Device(torch::kCUDA, 0), false);
  const auto expected = on_cpu.losses([&](int) { on_cpu.step(); });
  const auto losses = on_cuda.losses([&](int) { on_cuda.step(); });
  for (size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i], expected[i], 2e-5 * expected[i]) << "step " << i;
  EXPECT_LT(losses.back(), losses.front());
}

TEST(Training, CapturedStepsAreThoseOneByOne) {
  Training plain(torch::Device(torch::kCUDA, 0), true), captured(torch::Device(torch::kCUDA, 0), true);
  const auto expected = plain.losses([&](int) { plain.step(); });
  at::cuda::CUDAGraph graph;
  const auto losses = captured.losses([&](int i) {
    if (i < 3) return captured.step();
    if (i == 3) {
      const torch::cuda::graph capture(graph);
      captured.step();
    }
    graph.replay();
  });
  EXPECT_EQ(losses, expected);
  const auto a = plain.model->parameters(), b = captured.model->parameters();
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(torch::equal(a[i], b[i])) << i;
  // Steps were counted where they ran.
  EXPECT_EQ(count_of(plain), kSteps);
  EXPECT_EQ(count_of(captured), kSteps);
}

TEST(Training, AStepThatIsNotCapturableIsNotCaptured) {
  Training training(torch::Device(torch::kCUDA, 0), false);
  training.losses([&](int i) {
    if (i < 2) training.step();
  });
  at::cuda::CUDAGraph graph;
  try {
    const torch::cuda::graph capture(graph);
    training.step();
    FAIL() << "was captured";
  } catch (const c10::Error& e) {
    EXPECT_EQ(e.msg(),
              "Attempting CUDA graph capture of step() for an instance of AdamW but param_groups' capturable is False.");
  }
  EXPECT_EQ(count_of(training), 2);
}

// A step with an overflow does not count, and the next one has a smaller scale; nothing of it waits for the device.
TEST(Training, ScaledStepsAreCaptured) {
  const torch::Device device(torch::kCUDA, 0);
  const auto run = [&](bool captured) {
    Tensor weight = torch::full({4}, 2.0, torch::TensorOptions(torch::kFloat).device(device)).requires_grad_();
    Tensor x = torch::ones({4}, device);
    torch::optim::AdamW optimizer({weight}, torch::optim::AdamWOptions(0.1).fused(true).capturable(true));
    torch::amp::GradScaler scaler(torch::kCUDA, 1024.0, 2.0, 0.5, 4);
    const auto step = [&] {
      optimizer.zero_grad();
      scaler.scale((weight * x).sum()).backward();
      scaler.step(optimizer);
      scaler.update();
    };
    at::cuda::CUDAGraph graph;
    for (int i = 0; i < 9; ++i) {
      x.fill_(i == 5 ? INFINITY : 1.0f + static_cast<float>(i));
      if (captured && i == 2) {
        const torch::cuda::graph capture(graph);
        step();
      }
      if (captured && i >= 2) {
        graph.replay();
      } else {
        step();
      }
    }
    return std::make_tuple(weight.detach().cpu(), scaler.get_scale(),
                           optimizer.state_dict().at("state.0.step").toTensor().item<int64_t>());
  };
  const auto [weight, scale, count] = run(false);
  const auto [captured_weight, captured_scale, captured_count] = run(true);
  EXPECT_TRUE(torch::equal(weight, captured_weight)) << weight << captured_weight;
  EXPECT_EQ(scale, captured_scale);
  EXPECT_EQ(count, 8);
  EXPECT_EQ(captured_count, 8);
}

}  // namespace
