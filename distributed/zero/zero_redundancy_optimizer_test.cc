// An optimizer spread over ranks against the plain one.
#include "distributed/zero/zero_redundancy_optimizer.h"

#include <gtest/gtest.h>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "distributed/ddp/testing/group.h"
#include "nn/layers/linear.h"
#include "optim/adam.h"
#include "optim/lr_scheduler/step_lr.h"
#include "optim/sgd.h"

namespace c10d {
namespace {

using at::Tensor;
using testing::expect_same_parameters;
using testing::fill;
using testing::Group;
using testing::numbers;
using torch::distributed::algorithms::Join;
using torch::distributed::optim::ZeroRedundancyOptimizer;
using torch::distributed::optim::ZeroRedundancyOptions;
using torch::nn::parallel::DistributedDataParallel;
using torch::nn::parallel::DistributedDataParallelOptions;
using torch::optim::Adam;
using torch::optim::AdamOptions;
using torch::optim::OptimizerParamGroup;
using torch::optim::SGD;
using torch::optim::SGDOptions;

struct NetImpl : torch::nn::Module {
  NetImpl() {
    a = register_module("a", torch::nn::Linear(6, 10));
    b = register_module("b", torch::nn::Linear(10, 10));
    c = register_module("c", torch::nn::Linear(10, 3));
  }
  Tensor forward(const Tensor& x) { return c(at::tanh(b(at::relu(a(x))))); }
  torch::nn::Linear a{nullptr}, b{nullptr}, c{nullptr};
};
TORCH_MODULE(Net);

template <class Forward>
void backward(Forward& net, int step, int rank) {
  at::mse_loss(net(numbers({4, 6}, 10 * step + rank)), numbers({4, 3}, step)).backward();
}

// Two groups of settings.
std::vector<OptimizerParamGroup> groups(Net& net, const auto& options) {
  std::vector<OptimizerParamGroup> made;
  made.emplace_back(net->a->parameters());
  std::vector<Tensor> rest = net->b->parameters();
  for (const Tensor& p : net->c->parameters()) rest.push_back(p);
  auto slower = options;
  slower.lr(0.003);
  made.emplace_back(rest, std::make_unique<std::decay_t<decltype(options)>>(slower));
  return made;
}

template <class Inner, class Options>
void expect_as_plain(int ranks, const Options& options, const std::function<void(ZeroRedundancyOptions&)>& set = {}) {
  testing::run_group(ranks, [&](int rank, const Group& group) {
    ZeroRedundancyOptions zero_options(group);
    if (set) set(zero_options);
    Net net, twin;
    fill(*net, 1);
    fill(*twin, 1);
    const auto buckets = DistributedDataParallelOptions(group).bucket_cap_mb(0.0003);
    DistributedDataParallel ddp(net, buckets), plain(twin, buckets);
    ZeroRedundancyOptimizer<Inner> zero(groups(net, options), options, zero_options);
    Inner optimizer(groups(twin, options), options);
    if (zero_options.overlap_with_ddp()) {
      ddp->register_comm_hook(hook_with_zero_step(std::make_unique<AllReduceCommHook>(group), *ddp, zero));
    }
    torch::optim::StepLR schedule(zero, 2, 0.5), other(optimizer, 2, 0.5);
    for (int step = 0; step < 6; ++step) {
      backward(ddp, step, rank);
      backward(plain, step, rank);
      zero.step();
      optimizer.step();
      schedule.step();
      other.step();
      expect_same_parameters(*net, *twin, 0);
      zero.zero_grad();
      optimizer.zero_grad();
    }
    // All that the plain one remembers, on one rank.
    EXPECT_THROW(zero.state_dict(), c10::Error);
    zero.consolidate_state_dict(ranks - 1);
    if (rank != ranks - 1) {
      EXPECT_THROW(zero.state_dict(), c10::Error);
    } else {
      const auto mine = zero.state_dict(), theirs = optimizer.state_dict();
      EXPECT_EQ(torch::optim::names_of_parts(mine.at("state")).size(), 6u);
      for (const std::string& number : torch::optim::names_of_parts(theirs.at("state"))) {
        for (const std::string& field : torch::optim::names_of_parts(theirs.at("state." + number))) {
          const std::string path = "state." + number + "." + field;
          EXPECT_TRUE(at::equal(mine.tensor(path), theirs.tensor(path))) << path;
        }
      }
      EXPECT_EQ(mine.number("param_groups.1.lr"), theirs.number("param_groups.1.lr"));
    }
    // A plain optimizer's state, loaded by another one.
    Net again;
    fill(*again, 1);
    {
      const c10::NoGradGuard no_grad;
      for (size_t i = 0; i < 6; ++i) again->parameters()[i].copy_(twin->parameters()[i]);
    }
    ZeroRedundancyOptions simple(group);
    ZeroRedundancyOptimizer<Inner> loaded(groups(again, options), options, simple);
    loaded.load_state_dict(optimizer.state_dict());
    DistributedDataParallel third(again, buckets);
    backward(third, 9, rank);
    backward(plain, 9, rank);
    loaded.step();
    optimizer.step();
    expect_same_parameters(*again, *twin, 0);
  });
}

TEST(Zero, IsThePlainOptimizer) {
  expect_as_plain<Adam>(2, AdamOptions(0.01).weight_decay(0.1));
  expect_as_plain<SGD>(2, SGDOptions(0.1).momentum(0.9));
  expect_as_plain<Adam>(3, AdamOptions(0.01));
  expect_as_plain<Adam>(1, AdamOptions(0.01));
  expect_as_plain<Adam>(8, AdamOptions(0.01));  // some have nothing
}
TEST(Zero, ParametersInFlatTensors) {
  expect_as_plain<Adam>(2, AdamOptions(0.01), [](auto& o) { o.parameters_as_bucket_view(true); });
  expect_as_plain<SGD>(3, SGDOptions(0.1).momentum(0.9), [](auto& o) { o.parameters_as_bucket_view(true); });
}
TEST(Zero, InBackward) {
  expect_as_plain<Adam>(2, AdamOptions(0.01), [](auto& o) { o.overlap_with_ddp(true); });
  expect_as_plain<SGD>(3, SGDOptions(0.1).momentum(0.9), [](auto& o) { o.overlap_with_ddp(true); });
}

TEST(Zero, StateIsSpread) {
  constexpr int kRanks = 4;
  testing::run_group(kRanks, [](int rank, const Group& group) {
    std::vector<Tensor> params;
    for (int i = 0; i < 16; ++i) params.push_back(numbers({16, 1 + i}, i).requires_grad_());
    int64_t total = 0;
    for (const Tensor& p : params) total += p.numel();
    ZeroRedundancyOptimizer<Adam> zero(params, AdamOptions(0.01), ZeroRedundancyOptions(group));
    EXPECT_EQ(zero.local_state_numel(), 0);
    for (const Tensor& p : params) p.mutable_grad() = at::ones_like(p);
    zero.step();
    // Two numbers for each element, of a quarter of all.
    EXPECT_EQ(zero.local_state_numel(), 2 * zero.load_of_ranks()[static_cast<size_t>(rank)]);
    EXPECT_EQ(zero.local_state_numel(), 2 * total / kRanks);
    EXPECT_TRUE(zero.state().empty());
    for (const Tensor& p : params) {
      std::vector<Tensor> root{p.detach().clone()};
      group->broadcast(root)->wait();
      EXPECT_TRUE(at::equal(root[0], p));
    }
  });
}

TEST(Zero, GroupsThatComeLater) {
  testing::run_group(2, [](int rank, const Group& group) {
    Net net, twin;
    fill(*net, 1);
    fill(*twin, 1);
    DistributedDataParallel ddp(net, {group}), plain(twin, {group});
    ZeroRedundancyOptimizer<SGD> zero(net->a->parameters(), SGDOptions(0.1), ZeroRedundancyOptions(group));
    SGD optimizer(twin->a->parameters(), SGDOptions(0.1));
    zero.add_param_group({net->b->parameters()});
    optimizer.add_param_group({twin->b->parameters()});
    for (int step = 0; step < 2; ++step) {
      backward(ddp, step, rank);
      backward(plain, step, rank);
      zero.step();
      optimizer.step();
    }
    expect_same_parameters(*net, *twin, 0);
  });
}

// A rank without data goes on stepping its part.
TEST(Zero, Join) {
  testing::run_group(2, [](int rank, const Group& group) {
    Net net, twin;
    fill(*net, 1);
    fill(*twin, 1);
    DistributedDataParallel ddp(net, {group});
    ZeroRedundancyOptimizer<Adam> zero(ddp->parameters(), AdamOptions(0.01), ZeroRedundancyOptions(group));
    Adam optimizer(twin->parameters(), AdamOptions(0.01));
    {
      torch::distributed::algorithms::Join join({&*ddp, &zero});
      for (int step = 0; step < 2 + 3 * rank; ++step) {
        zero.zero_grad();
        backward(ddp, step, rank);
        zero.step();
      }
    }
    for (int step = 0; step < 5; ++step) {
      optimizer.zero_grad();
      for (int of = step < 2 ? 0 : 1; of < 2; ++of) {
        (at::mse_loss(twin(numbers({4, 6}, 10 * step + of)), numbers({4, 3}, step)) / 2).backward();
      }
      optimizer.step();
    }
    expect_same_parameters(*net, *twin, 1e-5);
  });
}

TEST(Zero, Errors) {
  testing::run_group(1, [](int, const Group& group) {
    Net net;
    EXPECT_THROW(ZeroRedundancyOptimizer<SGD>(net->parameters(), SGDOptions(0.1), ZeroRedundancyOptions()), c10::Error);
    EXPECT_THROW(ZeroRedundancyOptimizer<SGD>(
                     net->parameters(), SGDOptions(0.1),
                     ZeroRedundancyOptions(group).overlap_with_ddp(true).parameters_as_bucket_view(true)),
                 c10::ValueError);
    ZeroRedundancyOptimizer<SGD> zero(net->parameters(), SGDOptions(0.1), ZeroRedundancyOptions(group));
    EXPECT_THROW(zero.consolidate_state_dict(1), c10::Error);
    EXPECT_THROW(zero.owner_of(at::zeros({1})), c10::Error);
    DistributedDataParallel ddp(net, {group});
    EXPECT_THROW(hook_with_zero_step(std::make_unique<NoopCommHook>(), *ddp, zero), c10::ValueError);
  });
}

}  // namespace
}  // namespace c10d
