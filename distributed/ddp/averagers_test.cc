// Parameters that are averaged now and then.
#include "distributed/ddp/averagers.h"

#include <gtest/gtest.h>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "distributed/ddp/distributed_data_parallel.h"
#include "distributed/ddp/post_local_sgd.h"
#include "distributed/ddp/testing/group.h"
#include "nn/layers/linear.h"
#include "optim/sgd.h"

namespace c10d {
namespace {

using at::Tensor;
using testing::expect_equal;
using testing::fill;
using testing::Group;
using testing::numbers;
using namespace torch::distributed::algorithms;  // NOLINT(build/namespaces)

Tensor parameter(double value) {
  Tensor p = at::full({3}, value);
  p.requires_grad_();
  p.mutable_grad() = at::ones({3});
  return p;
}
double value(const Tensor& p) {
  return p.detach()[0].item<double>();
}

TEST(Averagers, Periodic) {
  testing::run_group(2, [](int rank, const Group& group) {
    PeriodicModelAverager averager(3, 2, group);
    const Tensor p = parameter(0), other = at::full({2}, static_cast<double>(rank));
    std::vector<int> averaged;
    for (int step = 0; step < 10; ++step) {
      p.detach().fill_(rank);
      averager.average_parameters(std::vector<Tensor>{p, other});
      if (value(p) == 0.5) averaged.push_back(step);
    }
    EXPECT_EQ(averaged, (std::vector<int>{2, 5, 8}));
    EXPECT_EQ(other[0].item<double>(), rank);  // has no gradient
    EXPECT_EQ(averager.step, 10);
    EXPECT_THROW(PeriodicModelAverager(0, 0, group), c10::ValueError);
    EXPECT_THROW(PeriodicModelAverager(2, -1, group), c10::ValueError);
    EXPECT_THROW(PeriodicModelAverager(2, 0, nullptr), c10::Error);
  });
}

TEST(Averagers, Hierarchical) {
  // Groups of one rank stand for those of a machine: an average with oneself changes nothing.
  testing::run_group(2, [](int rank, const Group& group) {
    testing::run_group(1, [&](int, const Group& alone) {
      HierarchicalModelAverager averager({{2, alone}, {4, group}}, 1);
      const Tensor p = parameter(0);
      std::vector<int> averaged;
      for (int step = 0; step < 10; ++step) {
        p.detach().fill_(rank);
        averager.average_parameters(std::vector<Tensor>{p});
        if (value(p) == 0.5) averaged.push_back(step);
      }
      EXPECT_EQ(averaged, (std::vector<int>{1, 5, 9}));
      EXPECT_THROW(HierarchicalModelAverager({{4, alone}, {2, group}}), c10::ValueError);
      EXPECT_THROW(HierarchicalModelAverager({{2, group}, {4, alone}}), c10::ValueError);
      EXPECT_THROW(HierarchicalModelAverager(HierarchicalModelAverager::Groups{}), c10::ValueError);
    });
  });
}

// Gradients are averaged first, then parameters: as written out here.
TEST(Averagers, PostLocalSGD) {
  static constexpr int64_t kRanks = 2, kWarmup = 2, kPeriod = 3;
  testing::run_group(kRanks, [](int rank, const Group& group) {
    torch::nn::Linear net(4, 2);
    fill(*net, 1);
    torch::nn::parallel::DistributedDataParallel ddp(net, {group});
    ddp->register_comm_hook(
        std::make_unique<PostLocalSGDCommHook>(std::make_shared<PostLocalSGDState>(group, nullptr, kWarmup)));
    auto sgd = std::make_shared<torch::optim::SGD>(ddp->parameters(), torch::optim::SGDOptions(0.1));
    PostLocalSGDOptimizer optimizer(sgd, std::make_shared<PeriodicModelAverager>(kPeriod, kWarmup, group));
    std::vector<torch::nn::Linear> twins;
    std::vector<torch::optim::SGD> theirs;
    for (int r = 0; r < kRanks; ++r) {
      twins.emplace_back(4, 2);
      fill(*twins.back(), 1);
      theirs.emplace_back(twins.back()->parameters(), torch::optim::SGDOptions(0.1));
    }
    const auto loss = [](const Tensor& y, int step, int r) {
      return at::mse_loss(y, numbers({3, 2}, 50 + step + 9 * r));
    };
    for (int step = 0; step < 9; ++step) {
      optimizer.zero_grad();
      loss(ddp(numbers({3, 4}, step + 20 * rank)), step, rank).backward();
      optimizer.step();
      for (int r = 0; r < kRanks; ++r) {
        theirs[r].zero_grad();
        loss(twins[r](numbers({3, 4}, step + 20 * r)), step, r).backward();
      }
      const auto mean = [&](const auto& of) {
        for (size_t i = 0; i < 2; ++i) {
          const Tensor m = (of(twins[0], i) + of(twins[1], i)) / 2;
          for (auto& twin : twins) of(twin, i).copy_(m);
        }
      };
      if (step < kWarmup) mean([](auto& twin, size_t i) { return twin->parameters()[i].grad(); });
      for (auto& t : theirs) t.step();
      if (step >= kWarmup && (step - kWarmup) % kPeriod == 0) {
        mean([](auto& twin, size_t i) { return twin->parameters()[i].detach(); });
      }
      testing::expect_same_parameters(*net, *twins[static_cast<size_t>(rank)], 1e-6);
    }
    const auto state = optimizer.state_dict();
    EXPECT_EQ(state.integer("step"), 9);
    auto averager = std::make_shared<PeriodicModelAverager>(kPeriod, kWarmup, group);
    PostLocalSGDOptimizer loaded(sgd, averager);
    loaded.load_state_dict(state);
    EXPECT_EQ(averager->step, 9);
    loaded.load_state_dict(sgd->state_dict());
    EXPECT_EQ(averager->step, 0);
  });
}

}  // namespace
}  // namespace c10d
