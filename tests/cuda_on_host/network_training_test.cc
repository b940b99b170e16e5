// Training of a residual network and of a recurrent one on CUDA devices: the losses of the CPU, also where steps are
// captured and replayed.
#include <ATen/cuda/CUDAGraph.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <functional>
#include <vector>

#include "tests/cuda_on_host/runtime/standin.h"

namespace {

namespace nn = torch::nn;
using torch::Tensor;

constexpr int kSteps = 20;
constexpr int64_t kBatch = 4, kClasses = 5;
const torch::Device kGpu(torch::kCUDA, 0);

// Convolutions with and without a stride, groups, normalisation, a sum past a block, and pooling of both kinds.
struct ResidualNetwork : nn::Module {
  ResidualNetwork() {
    register_module("stem", stem);
    register_module("stem_norm", stem_norm);
    register_module("first", first);
    register_module("second", second);
    register_module("norm", norm);
    register_module("shortcut", shortcut);
    register_module("head", head);
  }
  Tensor forward(const Tensor& images) {
    const Tensor x = torch::max_pool2d(torch::relu(stem_norm(stem(images))), 2);
    const Tensor block = norm(second(torch::relu(first(x))));
    return head(torch::adaptive_avg_pool2d(torch::relu(block + shortcut(x)), {1, 1}).flatten(1));
  }

  nn::Conv2d stem{nn::Conv2dOptions(3, 8, 3).padding(1).bias(false)};
  nn::BatchNorm2d stem_norm{8};
  nn::Conv2d first{nn::Conv2dOptions(8, 12, 3).stride(2).padding(1)};
  nn::Conv2d second{nn::Conv2dOptions(12, 12, 3).padding(1).groups(3)};
  nn::BatchNorm2d norm{12};
  nn::Conv2d shortcut{nn::Conv2dOptions(8, 12, 1).stride(2)};
  nn::Linear head{12, kClasses};

  static Tensor samples() { return torch::randn({kBatch, 3, 10, 10}); }
};

// Two layers in both directions, and the state behind the last step.
struct RecurrentNetwork : nn::Module {
  RecurrentNetwork() {
    register_module("layers", layers);
    register_module("gated", gated);
    register_module("head", head);
  }
  Tensor forward(const Tensor& sequences) {
    const Tensor out = std::get<0>(layers(sequences));
    return head(std::get<0>(gated(out)).select(1, -1));
  }

  nn::LSTM layers{nn::LSTMOptions(6, 7).num_layers(2).bidirectional(true).batch_first(true)};
  nn::GRU gated{nn::GRUOptions(14, 9).batch_first(true)};
  nn::Linear head{9, kClasses};

  static Tensor samples() { return torch::randn({kBatch, 5, 6}); }
};

template <class Network>
class Training {
 public:
  explicit Training(torch::Device device)
      : network_(made_on(device)),
        optimizer_(network_->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9)),
        samples_(Network::samples().to(device)),
        classes_(torch::zeros({kBatch}, torch::TensorOptions(torch::kLong).device(device))) {}

  void step() {
    loss_ = torch::nll_loss(torch::log_softmax(network_->forward(samples_), 1), classes_);
    optimizer_.zero_grad(false);
    loss_.backward();
    optimizer_.step();
  }

  // Of every step, which `run` takes.
  std::vector<float> losses(const std::function<void(int)>& run) {
    torch::manual_seed(4);
    const Tensor samples = Network::samples();
    std::vector<float> all;
    for (int i = 0; i < kSteps; ++i) {
      samples_.copy_(samples + 0.1 * Network::samples());
      classes_.copy_(torch::arange(kBatch) % kClasses);
      run(i);
      all.push_back(loss_.template item<float>());
    }
    return all;
  }
  std::vector<float> losses() {
    return losses([this](int) { step(); });
  }

 private:
  static std::shared_ptr<Network> made_on(torch::Device device) {
    torch::manual_seed(3);
    auto network = std::make_shared<Network>();
    network->to(device);
    return network;
  }

  std::shared_ptr<Network> network_;
  torch::optim::SGD optimizer_;
  Tensor samples_, classes_, loss_;
};

template <class Network>
class NetworkTraining : public testing::Test {
 protected:
  void SetUp() override {
    at::globalContext().setAllowTF32CuDNN(false);
    at::globalContext().setDeterministicCuDNN(true);
  }
};
using Networks = testing::Types<ResidualNetwork, RecurrentNetwork>;
TYPED_TEST_SUITE(NetworkTraining, Networks);

TYPED_TEST(NetworkTraining, LossesAreTheCpus) {
  const auto expected = Training<TypeParam>(torch::kCPU).losses(), losses = Training<TypeParam>(kGpu).losses();
  for (size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i], expected[i], 1e-4 * expected[i]) << "step " << i;
  EXPECT_LT(losses.back(), 0.9f * losses.front());
  EXPECT_EQ(cuda_standin::misuse(), "");
}

TYPED_TEST(NetworkTraining, CapturedStepsAreThoseOneByOne) {
  const auto expected = Training<TypeParam>(kGpu).losses();
  Training<TypeParam> captured(kGpu);
  at::cuda::CUDAGraph graph;
  const auto losses = captured.losses([&](int i) {
    if (i < 2) return captured.step();
    if (i == 2) {
      const torch::cuda::graph capture(graph);
      captured.step();
    }
    graph.replay();
  });
  EXPECT_EQ(losses, expected);
  EXPECT_EQ(cuda_standin::misuse(), "");
}

}  // namespace
