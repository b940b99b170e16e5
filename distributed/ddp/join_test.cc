// Ranks with different numbers of batches.
#include "distributed/ddp/join.h"

#include <gtest/gtest.h>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "distributed/ddp/distributed_data_parallel.h"
#include "distributed/ddp/testing/group.h"
#include "nn/layers/linear.h"
#include "nn/layers/normalization.h"
#include "optim/sgd.h"

namespace c10d {
namespace {

using at::Tensor;
using testing::expect_equal;
using testing::fill;
using testing::Group;
using testing::numbers;
using torch::distributed::algorithms::Join;
using torch::distributed::algorithms::JoinOptions;
using torch::nn::parallel::DistributedDataParallel;
using torch::nn::parallel::DistributedDataParallelOptions;

struct NetImpl : torch::nn::Module {
  explicit NetImpl(bool normed = false) : normed(normed) {
    a = register_module("a", torch::nn::Linear(6, 8));
    unused = register_module("unused", torch::nn::Linear(2, 2));
    if (normed) bn = register_module("bn", torch::nn::BatchNorm1d(8));
    b = register_module("b", torch::nn::Linear(8, 3));
    unused->requires_grad_(false);
  }
  Tensor forward(const Tensor& x) { return b(at::tanh(normed ? bn(a(x)) : a(x))); }
  torch::nn::Linear a{nullptr}, unused{nullptr}, b{nullptr};
  torch::nn::BatchNorm1d bn{nullptr};
  bool normed;
};
TORCH_MODULE(Net);

Tensor loss_of(const Tensor& y, int step, int rank) {
  return at::mse_loss(y, numbers({4, 3}, 7 * step + rank));
}
Tensor batch(int step, int rank) {
  return numbers({4, 6}, 100 + 11 * step + rank);
}

struct Case {
  std::vector<int> batches;  // of each rank
  bool by_initial_size = true;
  bool finds_unused = false;
  bool has_hook = false;
};

// As one process in which only those ranks' gradients come that still have data.
void expect_joined(const Case& c) {
  const int ranks = static_cast<int>(c.batches.size());
  const int most = *std::max_element(c.batches.begin(), c.batches.end());
  testing::run_group(ranks, [&](int rank, const Group& group) {
    Net net, twin;
    fill(*net, rank);
    fill(*twin, 0);
    DistributedDataParallel ddp(
        net, DistributedDataParallelOptions(group).bucket_cap_mb(0.0001).find_unused_parameters(c.finds_unused));
    if (c.has_hook) ddp->register_builtin_comm_hook(BuiltinCommHookType::ALLREDUCE);
    torch::optim::SGD sgd(ddp->parameters(), torch::optim::SGDOptions(0.1));
    torch::optim::SGD twins(twin->parameters(), torch::optim::SGDOptions(0.1));
    {
      Join join({&*ddp}, JoinOptions{.divide_by_initial_world_size = c.by_initial_size});
      for (int step = 0; step < c.batches[static_cast<size_t>(rank)]; ++step) {
        sgd.zero_grad();
        loss_of(ddp(batch(step, rank)), step, rank).backward();
        sgd.step();
      }
    }
    for (int step = 0; step < most; ++step) {
      twins.zero_grad();
      int live = 0;
      for (const int n : c.batches) live += n > step;
      for (int of = 0; of < ranks; ++of) {
        if (c.batches[static_cast<size_t>(of)] <= step) continue;
        (loss_of(twin(batch(step, of)), step, of) / (c.by_initial_size ? ranks : live)).backward();
      }
      twins.step();
    }
    testing::expect_same_parameters(*net, *twin, 1e-5);
  });
}

TEST(Join, RanksWithFewerBatches) {
  expect_joined({.batches = {3, 5}});
  expect_joined({.batches = {5, 3}});
  expect_joined({.batches = {4, 0, 2}});
  expect_joined({.batches = {0, 4}});
  expect_joined({.batches = {3, 3}});
  expect_joined({.batches = {0, 0}});
  expect_joined({.batches = {2, 5, 1}, .by_initial_size = false});
}
TEST(Join, WithUnusedParametersAndHooks) {
  expect_joined({.batches = {2, 5, 1}, .finds_unused = true});
  expect_joined({.batches = {5, 1}, .has_hook = true});
}

// Buffers, and iterations that only accumulate.
TEST(Join, BuffersAndAccumulation) {
  testing::run_group(2, [](int rank, const Group& group) {
    Net net(true);
    DistributedDataParallel ddp(net, {group});
    {
      Join join({&*ddp});
      for (int step = 0; step < 3 + 3 * rank; ++step) {
        std::optional<torch::nn::parallel::DistributedDataParallelBase::NoSync> only_here;
        if (step % 3 != 2) only_here.emplace(ddp->no_sync());
        loss_of(ddp(batch(step, rank)), step, rank).backward();
      }
    }
    for (const Tensor& t : net->buffers()) {
      std::vector<Tensor> root{t.clone()};
      group->broadcast(root)->wait();
      EXPECT_TRUE(at::equal(root[0], t));
    }
    EXPECT_EQ(net->bn->num_batches_tracked.item<int64_t>(), 6);
    // After the Join everything is as before it.
    loss_of(ddp(batch(0, rank)), 0, rank).backward();
  });
}

TEST(Join, ThrowsWhenOneHasNoMore) {
  std::vector<int> steps(3);
  const auto errors = testing::errors_of_group(3, [&](int rank, const Group& group) {
    DistributedDataParallel ddp(Net().ptr(), {group});
    Join join({&*ddp}, JoinOptions{.throw_on_early_termination = true});
    for (int step = 0; step < 2 + rank; ++step) {
      loss_of(ddp(batch(step, rank)), step, rank).backward();
      ++steps[static_cast<size_t>(rank)];
    }
  });
  for (const std::string& error : errors) {
    EXPECT_EQ(error, "Detected at least one rank that exhausted inputs. Throwing across all ranks.");
  }
  EXPECT_EQ(steps, (std::vector<int>{2, 2, 2}));
}

// An exception of one rank is no end of its data.
TEST(Join, ExceptionsPass) {
  const auto errors = testing::errors_of_group(2, [&](int rank, const Group& group) {
    DistributedDataParallel ddp(Net().ptr(), {group});
    Join join({&*ddp});
    for (int step = 0; step < 4; ++step) {
      TORCH_CHECK(rank != 1 || step != 2, "no such file");
      loss_of(ddp(batch(step, rank)), step, rank).backward();
    }
  });
  EXPECT_EQ(errors[1], "no such file");
  EXPECT_NE(errors[0].find("rank 1"), std::string::npos) << errors[0];
}

TEST(Join, Disabled) {
  testing::run_group(2, [](int rank, const Group& group) {
    DistributedDataParallel ddp(Net().ptr(), {group});
    Join join({&*ddp}, JoinOptions{.enable = false});
    loss_of(ddp(batch(0, rank)), 0, rank).backward();
    EXPECT_EQ(Join::notify_join_context(*ddp), nullptr);
    EXPECT_THROW(Join({}), c10::ValueError);
  });
}

}  // namespace
}  // namespace c10d
