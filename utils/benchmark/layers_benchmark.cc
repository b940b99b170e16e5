// Layers and small networks, forward and in training. Written against libtorch's C++ API, as overhead_benchmark.cc.
#include <memory>

#include <torch/torch.h>

#include "utils/benchmark/program.h"

namespace {

namespace bench = torch::utils::benchmark;
namespace F = torch::nn::functional;
using at::Tensor;

auto inference() { return std::make_shared<c10::InferenceMode>(); }

Tensor images(at::IntArrayRef sizes, bool channels_last) {
  const Tensor x = torch::randn(sizes);
  return channels_last ? x.contiguous(at::MemoryFormat::ChannelsLast) : x;
}

// A statement that runs f(x) alone, or with the gradients of x and `parameters` after it.
template <class F>
auto forward(Tensor x, F f) {
  return [guard = inference(), x = std::move(x), f = std::move(f)]() mutable { return f(x); };
}
template <class F>
auto step(Tensor x, std::vector<Tensor> parameters, F f) {
  x = x.detach().requires_grad_();
  parameters.push_back(x);
  const Tensor g = at::ones_like(f(x).detach());
  return [x, g, parameters = std::move(parameters), f = std::move(f)]() mutable {
    return torch::autograd::grad({f(x)}, parameters, {g});
  };
}

constexpr int64_t kImages[] = {32, 64, 56, 56};
constexpr double kImageBytes = 4.0 * 32 * 64 * 56 * 56;

void add_norms(bench::Program& p) {
  const auto parameter = [](double value) { return torch::full({64}, value).requires_grad_(); };
  for (bool last : {false, true}) {
    const std::string suffix = last ? "_channels_last" : "";
    for (bool training : {false, true}) {
      p.row((training ? "batch_norm_training" : "batch_norm_eval") + suffix,
            {.bytes = kImageBytes * (training ? 3 : 2)}, [=] {
              return forward(
                  images(kImages, last),
                  [w = torch::ones({64}), b = torch::zeros({64}), m = torch::zeros({64}), v = torch::ones({64}),
                   training](const Tensor& x) { return at::batch_norm(x, w, b, m, v, training, 0.1, 1e-5, false); });
            });
    }
    p.row("batch_norm_step" + suffix, {.bytes = kImageBytes * 8}, [=] {
      const Tensor w = parameter(1), b = parameter(0);
      return step(images(kImages, last), {w, b},
                  [w, b, m = torch::zeros({64}), v = torch::ones({64})](const Tensor& x) {
                    return at::batch_norm(x, w, b, m, v, true, 0.1, 1e-5, false);
                  });
    });
    p.row("group_norm" + suffix, {.bytes = kImageBytes * 2}, [=] {
      return forward(images(kImages, last), [w = torch::ones({64}), b = torch::zeros({64})](const Tensor& x) {
        return at::group_norm(x, 8, w, b, 1e-5, false);
      });
    });
    p.row("group_norm_step" + suffix, {.bytes = kImageBytes * 5}, [=] {
      const Tensor w = parameter(1), b = parameter(0);
      return step(images(kImages, last), {w, b},
                  [w, b](const Tensor& x) { return at::group_norm(x, 8, w, b, 1e-5, false); });
    });
    p.row("instance_norm" + suffix, {.bytes = kImageBytes * 2}, [=] {
      return forward(images(kImages, last), [w = torch::ones({64}), b = torch::zeros({64})](const Tensor& x) {
        return at::instance_norm(x, w, b, {}, {}, true, 0.1, 1e-5, false);
      });
    });
    p.row("instance_norm_step" + suffix, {.bytes = kImageBytes * 5}, [=] {
      const Tensor w = parameter(1), b = parameter(0);
      return step(images(kImages, last), {w, b},
                  [w, b](const Tensor& x) { return at::instance_norm(x, w, b, {}, {}, true, 0.1, 1e-5, false); });
    });
  }
  p.row("layer_norm_step", {.bytes = 4.0 * 5 * 8192 * 768}, [] {
    const Tensor w = torch::ones({768}).requires_grad_(), b = torch::zeros({768}).requires_grad_();
    return step(torch::randn({8192, 768}), {w, b}, [w, b](const Tensor& x) { return at::layer_norm(x, {768}, w, b); });
  });
}

void add_pools(bench::Program& p) {
  struct Pool {
    const char* name;
    Tensor (*f)(const Tensor&);
    double result;  // as a part of the input
  };
  constexpr Pool kPools[] = {
      {"max_pool2d_2", [](const Tensor& x) { return at::max_pool2d(x, 2); }, 0.25},
      {"max_pool2d_3_stride_2", [](const Tensor& x) { return at::max_pool2d(x, 3, 2, 1); }, 0.25},
      {"avg_pool2d_2", [](const Tensor& x) { return at::avg_pool2d(x, 2); }, 0.25},
      {"avg_pool2d_3_stride_1", [](const Tensor& x) { return at::avg_pool2d(x, 3, 1, 1); }, 1},
      {"adaptive_avg_pool2d_1",
       [](const Tensor& x) {
         return at::adaptive_avg_pool2d(x, {1, 1});
       },
       0},
      {"adaptive_avg_pool2d_7",
       [](const Tensor& x) {
         return at::adaptive_avg_pool2d(x, {7, 7});
       },
       1 / 64.},
      {"adaptive_max_pool2d_7",
       [](const Tensor& x) {
         return std::get<0>(at::adaptive_max_pool2d(x, {7, 7}));
       },
       1 / 64.},
  };
  for (bool last : {false, true}) {
    for (const Pool& pool : kPools) {
      const std::string name = pool.name + std::string(last ? "_channels_last" : "");
      p.row(name, {.bytes = kImageBytes * (1 + pool.result)}, [=] { return forward(images(kImages, last), pool.f); });
      // Gradients read the result's and write the input's; maxima read and write int64 places as well.
      const double places = std::string(pool.name).find("max") != std::string::npos ? 4 : 0;
      p.row(name + "_step", {.bytes = kImageBytes * (2 + (2 + places) * pool.result)},
            [=] { return step(images(kImages, last), {}, pool.f); });
    }
  }
  p.row("adaptive_avg_pool2d_small", {.bytes = 4.0 * 8 * 512 * 50}, [] {
    return forward(torch::randn({8, 512, 7, 7}), [](const Tensor& x) { return at::adaptive_avg_pool2d(x, {1, 1}); });
  });
}

struct BlockImpl : torch::nn::Module {
  BlockImpl(int64_t in, int64_t out, int64_t stride)
      : conv1(torch::nn::Conv2dOptions(in, out, 3).stride(stride).padding(1).bias(false)), bn1(out),
        conv2(torch::nn::Conv2dOptions(out, out, 3).padding(1).bias(false)), bn2(out) {
    register_module("conv1", conv1), register_module("bn1", bn1), register_module("conv2", conv2),
        register_module("bn2", bn2);
    if (stride != 1 || in != out) {
      down = torch::nn::Sequential(torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, 1).stride(stride).bias(false)),
                                   torch::nn::BatchNorm2d(out));
      register_module("down", down);
    }
  }
  Tensor forward(const Tensor& x) {
    Tensor y = bn1(conv1(x)).relu_();
    y = bn2(conv2(y));
    y += down.is_empty() ? x : down->forward(x);
    return y.relu_();
  }
  torch::nn::Conv2d conv1;
  torch::nn::BatchNorm2d bn1;
  torch::nn::Conv2d conv2;
  torch::nn::BatchNorm2d bn2;
  torch::nn::Sequential down{nullptr};
};
TORCH_MODULE(Block);

struct ResNet18Impl : torch::nn::Module {
  ResNet18Impl() : conv1(torch::nn::Conv2dOptions(3, 64, 7).stride(2).padding(3).bias(false)), bn1(64), fc(512, 1000) {
    register_module("conv1", conv1), register_module("bn1", bn1);
    int64_t in = 64;
    for (int64_t out : {64, 128, 256, 512}) {
      blocks->push_back(Block(in, out, out == 64 ? 1 : 2));
      blocks->push_back(Block(out, out, 1));
      in = out;
    }
    register_module("blocks", blocks), register_module("fc", fc);
  }
  Tensor forward(const Tensor& x) {
    Tensor y = torch::max_pool2d(bn1(conv1(x)).relu_(), 3, 2, 1);
    y = blocks->forward(y);
    return fc(torch::adaptive_avg_pool2d(y, {1, 1}).flatten(1));
  }
  torch::nn::Conv2d conv1;
  torch::nn::BatchNorm2d bn1;
  torch::nn::Sequential blocks;
  torch::nn::Linear fc;
};
TORCH_MODULE(ResNet18);

constexpr double kResNetFlops = 3.63e9;  // of one image of 224 x 224

void add_networks(bench::Program& p) {
  p.row("resnet18_forward_1", {.flops = kResNetFlops}, [] {
    torch::manual_seed(1);
    ResNet18 net;
    net->eval();
    return forward(torch::randn({1, 3, 224, 224}), [net](const Tensor& x) mutable { return net(x); });
  });
  p.row("resnet18_step_4", {.flops = 4 * 3 * kResNetFlops}, [] {
    torch::manual_seed(1);
    ResNet18 net;
    auto optimizer =
        std::make_shared<torch::optim::SGD>(net->parameters(), torch::optim::SGDOptions(1e-3).momentum(0.9));
    return [net, optimizer, x = torch::randn({4, 3, 224, 224}), t = torch::randint(1000, {4}, torch::kLong)]() mutable {
      optimizer->zero_grad();
      Tensor loss = F::cross_entropy(net(x), t);
      loss.backward();
      optimizer->step();
      return loss;
    };
  });
  p.row("conv_relu", {.flops = 2.0 * 8 * 64 * 64 * 9 * 56 * 56}, [] {
    return forward(torch::randn({8, 64, 56, 56}), [w = torch::randn({64, 64, 3, 3}), b = torch::zeros({64})](
                                                      const Tensor& x) { return at::conv2d(x, w, b, 1, 1).relu_(); });
  });
  p.row("conv_step", {.flops = 3 * 2.0 * 8 * 64 * 64 * 9 * 56 * 56}, [] {
    const Tensor w = torch::randn({64, 64, 3, 3}).requires_grad_(), b = torch::zeros({64}).requires_grad_();
    return step(torch::randn({8, 64, 56, 56}), {w, b}, [w, b](const Tensor& x) { return at::conv2d(x, w, b, 1, 1); });
  });
  p.row("depthwise_conv", {.bytes = 4.0 * 2 * 8 * 128 * 56 * 56}, [] {
    return forward(torch::randn({8, 128, 56, 56}),
                   [w = torch::randn({128, 1, 3, 3})](const Tensor& x) { return at::conv2d(x, w, {}, 1, 1, 1, 128); });
  });
  p.row("mlp_step", {.flops = 6.0 * 64 * (784 * 512 + 512 * 512 + 512 * 10)}, [] {
    torch::manual_seed(1);
    torch::nn::Sequential net(torch::nn::Linear(784, 512), torch::nn::ReLU(), torch::nn::Linear(512, 512),
                              torch::nn::ReLU(), torch::nn::Linear(512, 10));
    auto optimizer = std::make_shared<torch::optim::SGD>(net->parameters(), torch::optim::SGDOptions(1e-3));
    return [net, optimizer, x = torch::randn({64, 784}), t = torch::randint(10, {64}, torch::kLong)]() mutable {
      optimizer->zero_grad();
      Tensor loss = F::cross_entropy(net->forward(x), t);
      loss.backward();
      optimizer->step();
      return loss;
    };
  });
}

void add_sequences(bench::Program& p) {
  constexpr double kProducts = 2.0 * 64 * 32 * 256 * (128 + 256);
  p.row("lstm_forward", {.flops = 4 * kProducts}, [] {
    return forward(torch::randn({64, 32, 128}),
                   [lstm = torch::nn::LSTM(128, 256)](const Tensor& x) mutable { return std::get<0>(lstm(x)); });
  });
  p.row("lstm_step", {.flops = 3 * 4 * kProducts}, [] {
    torch::nn::LSTM lstm(128, 256);
    return step(torch::randn({64, 32, 128}), lstm->parameters(),
                [lstm](const Tensor& x) mutable { return std::get<0>(lstm(x)); });
  });
  p.row("gru_step", {.flops = 3 * 3 * kProducts}, [] {
    torch::nn::GRU gru(128, 256);
    return step(torch::randn({64, 32, 128}), gru->parameters(),
                [gru](const Tensor& x) mutable { return std::get<0>(gru(x)); });
  });
  p.row("rnn_step", {.flops = 3 * kProducts}, [] {
    torch::nn::RNN rnn(128, 256);
    return step(torch::randn({64, 32, 128}), rnn->parameters(),
                [rnn](const Tensor& x) mutable { return std::get<0>(rnn(x)); });
  });
  // Weights of 4 x 256 x 256, feed-forward of 2 x 256 x 1024, scores and their products of 128 x 128.
  constexpr double kLayer = 2.0 * 16 * 128 * (4 * 256 * 256 + 2 * 256 * 1024) + 2.0 * 2 * 16 * 128 * 128 * 256;
  const auto layer = [] {
    return torch::nn::TransformerEncoderLayer(
        torch::nn::TransformerEncoderLayerOptions(256, 4).dim_feedforward(1024).dropout(0));
  };
  p.row("transformer_layer", {.flops = kLayer}, [=] {
    auto net = layer();
    net->eval();
    return forward(torch::randn({128, 16, 256}), [net](const Tensor& x) mutable { return net(x); });
  });
  p.row("transformer_layer_step", {.flops = 3 * kLayer}, [=] {
    auto net = layer();
    return step(torch::randn({128, 16, 256}), net->parameters(), [net](const Tensor& x) mutable { return net(x); });
  });
}

void add_losses(bench::Program& p) {
  constexpr int64_t kRows = 2048, kClasses = 8192;
  p.row("cross_entropy", {.bytes = 4.0 * kRows * kClasses}, [] {
    return forward(torch::randn({kRows, kClasses}), [t = torch::randint(kClasses, {kRows}, torch::kLong)](
                                                        const Tensor& x) { return at::cross_entropy_loss(x, t); });
  });
  p.row("cross_entropy_step", {.bytes = 4.0 * 3 * kRows * kClasses}, [] {
    return step(torch::randn({kRows, kClasses}), {},
                [t = torch::randint(kClasses, {kRows}, torch::kLong)](const Tensor& x) {
                  return at::cross_entropy_loss(x, t);
                });
  });
  for (int64_t mode : {0, 1, 2}) {
    const char* names[] = {"embedding_bag_sum", "embedding_bag_mean", "embedding_bag_max"};
    p.row(names[mode], {.bytes = 4.0 * (65536 + 4096) * 128}, [=] {
      return [guard = inference(), w = torch::randn({100000, 128}),
              index = torch::randint(100000, {65536}, torch::kLong), offsets = torch::arange(0, 65536, 16),
              mode] { return std::get<0>(at::embedding_bag(w, index, offsets, false, mode)); };
    });
  }
  p.row("mse_step", {.bytes = 4.0 * (1 << 22) * 5}, [] {
    return step(torch::randn({1 << 22}), {},
                [t = torch::randn({1 << 22})](const Tensor& x) { return at::mse_loss(x, t); });
  });
  p.row("binary_cross_entropy_logits_step", {.bytes = 4.0 * (1 << 22) * 5}, [] {
    return step(torch::randn({1 << 22}), {},
                [t = torch::rand({1 << 22})](const Tensor& x) { return at::binary_cross_entropy_with_logits(x, t); });
  });
}

}  // namespace

int main(int argc, char** argv) {
  bench::Program program("layers");
  add_norms(program);
  add_pools(program);
  add_networks(program);
  add_sequences(program);
  add_losses(program);
  return program.run(argc, argv);
}
