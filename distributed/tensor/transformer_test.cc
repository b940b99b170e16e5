// A transformer whose weights, batches and sequences are distributed, trained beside one that is not.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "distributed/tensor/dtensor.h"
#include "distributed/tensor/redistribute.h"
#include "distributed/tensor/run_mesh.h"
#include "optim/adamw.h"
#include "optim/sgd.h"

namespace torch::distributed::tensor {
namespace {

using at::Tensor;
using Weights = std::map<std::string, Tensor>;

constexpr int64_t kWords = 10, kWidth = 8, kHeads = 4, kLength = 6, kBatch = 4, kLayers = 2;

Tensor sample(at::IntArrayRef sizes, double first) {
  return at::sin(at::arange(at::empty(sizes, at::kMeta).numel(), at::kDouble).mul(1.7).add(first)).view(sizes).mul(0.3);
}

Weights make_weights() {
  Weights w;
  double first = 0;
  const auto add = [&](const std::string& name, at::IntArrayRef sizes) { w[name] = sample(sizes, first += 3); };
  add("words", {kWords, kWidth});
  add("places", {kLength, kWidth});
  for (int64_t i = 0; i < kLayers; ++i) {
    const std::string layer = "layer" + std::to_string(i);
    add(layer + ".norm1", {kWidth});
    add(layer + ".norm2", {kWidth});
    for (const char* name : {".q", ".k", ".v"}) add(layer + name, {kWidth, kWidth});
    add(layer + ".out", {kWidth, kWidth});
    add(layer + ".up", {4 * kWidth, kWidth});
    add(layer + ".up_bias", {4 * kWidth});
    add(layer + ".down", {kWidth, 4 * kWidth});
    add(layer + ".down_bias", {kWidth});
  }
  return w;
}

// The mean loss of the next words.
Tensor loss_of(const Weights& w, const Tensor& words, const Tensor& next) {
  Tensor x = at::embedding(w.at("words"), words) + w.at("places");
  for (int64_t i = 0; i < kLayers; ++i) {
    const auto of = [&](const char* name) { return w.at("layer" + std::to_string(i) + name); };
    const Tensor h = at::layer_norm(x, {kWidth}, of(".norm1"));
    const auto heads = [&](const char* name) {
      return at::transpose(at::reshape(at::linear(h, of(name)), {kBatch, kLength, kHeads, kWidth / kHeads}), 1, 2);
    };
    const Tensor seen = at::scaled_dot_product_attention(heads(".q"), heads(".k"), heads(".v"), {}, 0, true);
    x = x + at::linear(at::reshape(at::transpose(seen, 1, 2), {kBatch, kLength, kWidth}), of(".out"));
    const Tensor wide = at::gelu(at::linear(at::layer_norm(x, {kWidth}, of(".norm2")), of(".up"), of(".up_bias")));
    x = x + at::linear(wide, of(".down"), of(".down_bias"));
  }
  const Tensor scores = at::linear(x, w.at("words"));
  return at::cross_entropy_loss(at::reshape(scores, {kBatch * kLength, kWords}), at::reshape(next, {kBatch * kLength}));
}

Tensor batch_of(int64_t step, int64_t shift) {
  return at::arange(kBatch * kLength).mul(3).add(step + shift).remainder(kWords).view({kBatch, kLength});
}

// Trains, and gives the losses and the weights at the end.
template <class Optimizer, class Options>
std::pair<std::vector<double>, Weights> train(Weights w, const Options& options,
                                              const std::function<Tensor(const Tensor&)>& place_batch,
                                              const std::function<double(const Tensor&)>& number) {
  std::vector<Tensor> all;
  for (auto& [name, weight] : w) all.push_back(weight);
  Optimizer optimizer(all, options);
  std::vector<double> losses;
  for (int64_t step = 0; step < 6; ++step) {
    optimizer.zero_grad();
    const Tensor loss = loss_of(w, place_batch(batch_of(step, 0)), place_batch(batch_of(step, 3)));
    loss.backward();
    optimizer.step();
    losses.push_back(number(loss));
  }
  return {losses, w};
}

// How a weight lies along the tensor-parallel dimension: columns of what widens, rows of what narrows.
Placement of_weight(const std::string& name) {
  const auto ends = [&](const char* end) {
    return name.size() > strlen(end) && name.rfind(end) == name.size() - strlen(end);
  };
  if (ends(".q") || ends(".k") || ends(".v") || ends(".up") || ends(".up_bias") || name == "words") return Shard(0);
  if (ends(".out") || ends(".down")) return Shard(1);
  return Replicate();
}

template <class Optimizer, class Options>
void compare(const Options& options) {
  const auto [losses, trained] = [&] {
    Weights w = make_weights();
    for (auto& [name, weight] : w) weight.requires_grad_();
    return train<Optimizer>(
        w, options, [](const Tensor& t) { return t; }, [](const Tensor& t) { return t.item<double>(); });
  }();
  EXPECT_LT(losses.back(), losses.front());
  struct Way {
    const char* name;
    std::vector<int64_t> mesh;
    std::function<std::vector<Placement>(const std::string&)> weight;
    std::vector<Placement> batch;
  };
  const Way ways[] = {
      {"data", {2}, [](const std::string&) { return std::vector<Placement>{Replicate()}; }, {Shard(0)}},
      {"tensor", {2}, [](const std::string& name) { return std::vector<Placement>{of_weight(name)}; }, {Replicate()}},
      {"tensor of 4",
       {4},
       [](const std::string& name) { return std::vector<Placement>{of_weight(name)}; },
       {Replicate()}},
      {"sequence", {2}, [](const std::string&) { return std::vector<Placement>{Replicate()}; }, {Shard(1)}},
      {"fully sharded", {3}, [](const std::string&) { return std::vector<Placement>{Shard(0)}; }, {Replicate()}},
      {"data and tensor",
       {2, 2},
       [](const std::string& name) {
         return std::vector<Placement>{Replicate(), of_weight(name)};
       },
       {Shard(0), Replicate()}},
  };
  for (const Way& way : ways) {
    testing::run_mesh(way.mesh, [&](const DeviceMesh& mesh) {
      SCOPED_TRACE(way.name);
      Weights w = make_weights();
      for (auto& [name, weight] : w) weight = distribute_tensor(weight, mesh, way.weight(name)).requires_grad_();
      const auto [got, weights] = train<Optimizer>(
          w, options, [&](const Tensor& t) { return distribute_tensor(t, mesh, way.batch); },
          [](const Tensor& t) { return DTensor(t.detach()).full_tensor().template item<double>(); });
      for (size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(got[i], losses[i], 1e-10) << "step " << i;
      for (const auto& [name, weight] : weights) {
        const Tensor whole = DTensor(weight.detach()).full_tensor();
        EXPECT_TRUE(at::allclose(whole, trained.at(name).detach(), 1e-9, 1e-9)) << name;
        EXPECT_EQ(DTensor(weight).placements(), way.weight(name)) << name;
      }
    });
  }
}

TEST(Transformer, TrainsAsOneDeviceDoesWithSgd) {
  compare<torch::optim::SGD>(torch::optim::SGDOptions(0.1).momentum(0.9));
}
TEST(Transformer, TrainsAsOneDeviceDoesWithAdamW) {
  compare<torch::optim::AdamW>(torch::optim::AdamWOptions(0.01));
}

}  // namespace
}  // namespace torch::distributed::tensor
