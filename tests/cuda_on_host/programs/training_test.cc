// A program that trains, as tutorials have it: it runs where there is a device, and what it saves loads anywhere.
#include <gtest/gtest.h>
#include <torch/cuda.h>
#include <torch/torch.h>

#include <sstream>
#include <tuple>
#include <vector>

#include "c10/cuda/testing.h"

namespace {

struct Points : torch::data::datasets::Dataset<Points> {
  explicit Points(int64_t count) : x(torch::randn({count, 4})), y((x.sum(1) > 0).to(torch::kLong)) {}
  torch::data::Example<> get(size_t index) override {
    return {x[static_cast<int64_t>(index)], y[static_cast<int64_t>(index)]};
  }
  torch::optional<size_t> size() const override { return static_cast<size_t>(x.size(0)); }
  torch::Tensor x, y;
};

struct NetImpl : torch::nn::Module {
  NetImpl()
      : fc1(register_module("fc1", torch::nn::Linear(4, 16))), fc2(register_module("fc2", torch::nn::Linear(16, 2))) {
    register_module("dropout", dropout);
  }
  torch::Tensor forward(torch::Tensor x) { return torch::log_softmax(fc2(dropout(torch::relu(fc1(x)))), /*dim=*/1); }
  torch::nn::Linear fc1, fc2;
  torch::nn::Dropout dropout{0.1};
};
TORCH_MODULE(Net);

double accuracy(Net& net, Points& points, torch::Device device) {
  torch::NoGradGuard no_grad;
  net->eval();
  return net->forward(points.x.to(device)).argmax(1).eq(points.y.to(device)).to(torch::kFloat).mean().item<double>();
}

TEST(Programs, TrainsWhereThereIsADevice) {
  c10::cuda::testing::in_own_process([] {
    torch::manual_seed(1);
    torch::DeviceType device_type = torch::cuda::is_available() ? torch::kCUDA : torch::kCPU;
    torch::Device device(device_type);
    Points points(96);
    auto loader = torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(
        Points(points).map(torch::data::transforms::Stack<>()), /*batch_size=*/32);
    Net net;
    net->to(device);
    torch::optim::Adam optimizer(net->parameters(), torch::optim::AdamOptions(0.05));
    for (int epoch = 0; epoch < 8; ++epoch) {
      net->train();
      for (auto& batch : *loader) {
        auto data = batch.data.to(device), targets = batch.target.to(device);
        optimizer.zero_grad();
        auto loss = torch::nll_loss(net->forward(data), targets);
        ASSERT_FALSE(std::isnan(loss.item<float>()));
        loss.backward();
        torch::nn::utils::clip_grad_norm_(net->parameters(), 5.0);
        optimizer.step();
      }
    }
    EXPECT_GT(accuracy(net, points, device), 0.9);

    std::stringstream saved, saved_optimizer;
    torch::save(net, saved);
    torch::save(optimizer, saved_optimizer);
    Net loaded;
    torch::load(loaded, saved, torch::kCPU);
    EXPECT_TRUE(loaded->fc1->weight.is_cpu());
    EXPECT_GT(accuracy(loaded, points, torch::kCPU), 0.9);
    EXPECT_TRUE(torch::allclose(loaded->fc2->bias, net->fc2->bias.cpu()));
    torch::optim::Adam other(net->parameters(), torch::optim::AdamOptions(0.05));
    torch::load(other, saved_optimizer);
    other.step();
    std::stringstream printed;
    printed << net->fc2->bias.detach() << net->fc2->bias.device();
    EXPECT_NE(printed.str().find(torch::cuda::is_available() ? "CUDAFloatType" : "CPUFloatType"), std::string::npos);
    torch::cuda::synchronize();
  });
}

}  // namespace
