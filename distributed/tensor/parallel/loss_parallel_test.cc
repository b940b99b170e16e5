#include "distributed/tensor/parallel/loss_parallel.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "distributed/tensor/dtensor.h"
#include "distributed/tensor/redistribute.h"
#include "distributed/tensor/run_mesh.h"
#include "nn/nn.h"

namespace torch::distributed::tensor::parallel {
namespace {

using at::Tensor;

Tensor sample(at::IntArrayRef sizes, double first = 1) {
  return at::sin(at::arange(at::empty(sizes, at::kMeta).numel(), at::kDouble).mul(1.7).add(first)).view(sizes).mul(3);
}

Tensor whole(const Tensor& t) {
  return DTensor(t.detach()).full_tensor();
}

struct Case {
  const char* name;
  std::vector<int64_t> logits;
  bool weighted;
};
const Case kCases[] = {
    {"rows", {6, 10}, false},   {"weights", {6, 10}, true},     {"pictures", {4, 10, 2, 3}, true},
    {"one sample", {10}, true}, {"few classes", {6, 3}, false},  // a rank has none
};

TEST(LossParallel, IsTheLossOfOneDevice) {
  for (const Case& c : kCases) {
    const bool single = c.logits.size() == 1;
    const int64_t classes = c.logits[single ? 0 : 1];
    std::vector<int64_t> samples = c.logits;
    samples.erase(samples.begin() + (single ? 0 : 1));
    const Tensor logits = sample(c.logits),
                 target = at::arange(at::empty(samples, at::kMeta).numel()).mul(7).remainder(classes).view(samples),
                 weight = sample({classes}, 4).abs();
    const std::optional<Tensor> weights = c.weighted ? std::optional<Tensor>(weight) : std::nullopt;
    for (const int64_t reduction : {0, 1, 2}) {
      for (const int64_t ignored : {int64_t{-100}, target.flatten()[0].item<int64_t>()}) {
        if (single && ignored >= 0) continue;
        Tensor plain = logits.clone().requires_grad_();
        const Tensor expected = at::cross_entropy_loss(plain, target, weights, reduction, ignored);
        const Tensor factors = sample(expected.sizes(), 30);
        at::sum(expected * factors).backward();
        for (const int64_t ranks : {2, 4}) {
          testing::run_mesh({ranks}, [&](const DeviceMesh& mesh) {
            SCOPED_TRACE(std::string(c.name) + " reduction " + std::to_string(reduction) + " ignored " +
                         std::to_string(ignored) + " ranks " + std::to_string(ranks));
            const Tensor mine = distribute_tensor(logits, mesh, {Shard(single ? 0 : 1)}).requires_grad_();
            const CommDebugMode counted;
            const auto guard = loss_parallel();
            const Tensor loss = at::cross_entropy_loss(mine, target, weights, reduction, ignored);
            ASSERT_TRUE(DTensor::is(loss));
            EXPECT_EQ(DTensor(loss).placements()[0], Replicate());
            EXPECT_EQ(counted.get_comm_counts().at("all_reduce"), 2);
            EXPECT_TRUE(at::allclose(whole(loss), expected.detach(), 1e-12, 1e-12));
            at::sum(loss * distribute_tensor(factors, mesh, {Replicate()})).backward();
            EXPECT_EQ(counted.get_total_counts(), 2);  // no gathering, and nothing in the backward pass
            EXPECT_EQ(DTensor(mine.grad()).placements()[0], Shard(single ? 0 : 1));
            EXPECT_TRUE(at::allclose(whole(mine.grad()), plain.grad(), 1e-12, 1e-12));
          });
        }
      }
    }
  }
}

TEST(LossParallel, SamplesMayBeSharedToo) {
  const Tensor logits = sample({6, 10}), target = at::arange(6).mul(7).remainder(10), weight = sample({10}, 4).abs();
  for (const int64_t reduction : {0, 1, 2}) {
    Tensor plain = logits.clone().requires_grad_();
    const Tensor expected = at::cross_entropy_loss(plain, target, weight, reduction, 4);
    const Tensor factors = sample(expected.sizes(), 30);
    at::sum(expected * factors).backward();
    testing::run_mesh({2, 2}, [&](const DeviceMesh& mesh) {
      for (const bool plain_target : {true, false}) {
        const Tensor mine = distribute_tensor(logits, mesh, {Shard(0), Shard(1)}).requires_grad_();
        const Tensor targets = distribute_tensor(target, mesh, {Shard(0), Replicate()});
        const auto guard = loss_parallel();
        const Tensor loss =
            at::cross_entropy_loss(mine, plain_target ? target : static_cast<Tensor>(targets), weight, reduction, 4);
        EXPECT_TRUE(at::allclose(whole(loss), expected.detach(), 1e-12, 1e-12)) << reduction;
        at::sum(loss * distribute_tensor(factors, mesh, {Replicate(), Replicate()})).backward();
        EXPECT_TRUE(at::allclose(whole(mine.grad()), plain.grad(), 1e-12, 1e-12)) << reduction;
      }
    });
  }
}

TEST(LossParallel, HalfPrecision) {
  const Tensor logits = sample({6, 10}).to(at::kBFloat16), target = at::arange(6);
  Tensor plain = logits.to(at::kFloat).requires_grad_();
  const Tensor expected = at::cross_entropy_loss(plain, target);
  expected.backward();
  testing::run_mesh({2}, [&](const DeviceMesh& mesh) {
    const Tensor mine = distribute_tensor(logits, mesh, {Shard(1)}).requires_grad_();
    const auto guard = loss_parallel();
    const Tensor loss = at::cross_entropy_loss(mine, target);
    EXPECT_EQ(loss.scalar_type(), at::kBFloat16);
    EXPECT_TRUE(at::allclose(whole(loss).to(at::kFloat), expected.detach(), 8e-3, 0));
    loss.backward();
    EXPECT_TRUE(at::allclose(whole(mine.grad()).to(at::kFloat), plain.grad(), 8e-3, 1e-3));
  });
}

TEST(LossParallel, OnlyWhileItLasts) {
  const Tensor logits = sample({6, 10}), target = at::arange(6);
  const Tensor expected = nn::functional::cross_entropy(logits, target);
  testing::run_mesh({2}, [&](const DeviceMesh& mesh) {
    const Tensor mine = distribute_tensor(logits, mesh, {Shard(1)});
    {
      const auto guard = loss_parallel();
      const auto inner = loss_parallel();
      EXPECT_TRUE(at::allclose(whole(nn::CrossEntropyLoss()(mine, target)), expected, 1e-12, 1e-12));
      // Plain tensors, and logits that are not sharded along the classes, as always.
      EXPECT_TRUE(at::equal(nn::functional::cross_entropy(logits, target), expected));
      const Tensor by_samples = distribute_tensor(logits, mesh, {Shard(0)});
      EXPECT_TRUE(at::allclose(whole(nn::functional::cross_entropy(by_samples, target)), expected, 1e-12, 1e-12));
    }
    EXPECT_THROW(nn::functional::cross_entropy(mine, target), c10::Error);  // the target is a plain tensor
    const CommDebugMode counted;
    nn::functional::cross_entropy(mine, distribute_tensor(target, mesh, {Replicate()}));
    // The logits are sent.
    EXPECT_GT(counted.get_comm_counts().count("all_gather") + counted.get_comm_counts().count("all_to_all"), 0);
  });
}

TEST(LossParallel, Errors) {
  testing::run_mesh({2}, [](const DeviceMesh& mesh) {
    const Tensor logits = distribute_tensor(sample({6, 10}), mesh, {Shard(1)}), target = at::arange(6);
    const auto guard = loss_parallel();
    EXPECT_THROW(at::cross_entropy_loss(logits, target, {}, 1, -100, 0.1), c10::NotImplementedError);
    EXPECT_THROW(at::cross_entropy_loss(logits, sample({6, 10})), c10::NotImplementedError);
    EXPECT_THROW(at::cross_entropy_loss(logits, at::arange(5)), c10::ValueError);
    EXPECT_THROW(at::cross_entropy_loss(logits, target.add(5)), c10::IndexError);
    EXPECT_THROW(at::cross_entropy_loss(logits, target, sample({9})), c10::Error);
  });
  testing::run_mesh({2, 2}, [](const DeviceMesh& mesh) {
    const auto guard = loss_parallel();
    EXPECT_THROW(at::cross_entropy_loss(distribute_tensor(sample({6, 10}), mesh, {Shard(1), Shard(1)}), at::arange(6)),
                 c10::NotImplementedError);
  });
}

}  // namespace
}  // namespace torch::distributed::tensor::parallel
