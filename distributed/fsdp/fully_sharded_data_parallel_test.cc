#include "distributed/fsdp/fully_sharded_data_parallel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "distributed/ddp/testing/group.h"
#include "distributed/process_group/fake/fake_process_group.h"
#include "distributed/tensor/dtensor.h"
#include "distributed/tensor/run_mesh.h"
#include "nn/layers/layers.h"
#include "nn/module/state_dict.h"
#include "nn/utils/clip_grad.h"
#include "optim/optim.h"

namespace torch::distributed::fsdp {
namespace {

using at::Tensor;
using c10d::testing::expect_equal;
using c10d::testing::fill;
using c10d::testing::numbers;
using tensor::DeviceMesh;
using tensor::DTensor;
using tensor::testing::run_mesh;
using ::testing::HasSubstr;

struct PairImpl : nn::Module {
  PairImpl() {
    a = register_module("a", nn::Linear(6, 8));
    b = register_module("b", nn::Linear(8, 3));
    norm = register_module("norm", nn::BatchNorm1d(8));
  }
  Tensor forward(const Tensor& x) { return b(norm(at::tanh(a(x)))); }
  nn::Linear a{nullptr}, b{nullptr};
  nn::BatchNorm1d norm{nullptr};
};
TORCH_MODULE(Pair);

using Options = FullyShardedDataParallelOptions;

Options of(const DeviceMesh& mesh, ShardingStrategy strategy) {
  Options options(mesh);
  options.sharding_strategy(strategy).auto_wrap_policy(module_wrap_policy<nn::LinearImpl>());
  return options;
}

void train_beside_twin(const DeviceMesh& mesh, ShardingStrategy strategy, double tolerance,
                       std::optional<BackwardPrefetch> prefetch = BackwardPrefetch::BACKWARD_PRE) {
  Pair net, twin;
  fill(*net, 1);
  fill(*twin, 1);
  // Statistics of batches differ between ranks.
  net->eval();
  twin->eval();
  FullyShardedDataParallel fsdp(net, of(mesh, strategy).backward_prefetch(prefetch));
  EXPECT_TRUE(FSDPModule::is(*net->a) && FSDPModule::is(*net));
  EXPECT_FALSE(FSDPModule::is(*net->norm));
  optim::SGD mine(fsdp->parameters(), optim::SGDOptions(0.1)), theirs(twin->parameters(), optim::SGDOptions(0.1));
  for (int step = 0; step < 3; ++step) {
    mine.zero_grad();
    theirs.zero_grad();
    for (int micro = 0; micro < 2; ++micro) {
      const Tensor x = numbers({8, 6}, 2 * step + micro);
      const Tensor mine_x = x.chunk(mesh.size())[static_cast<size_t>(mesh.get_rank())];
      if (micro == 0) {
        const auto guard = fsdp->no_sync();
        fsdp(mine_x).square().mean().backward();
      } else {
        fsdp->forward(mine_x).square().mean().backward();
      }
      for (const Tensor& part : x.chunk(mesh.size())) {
        (twin(part).square().mean() / static_cast<double>(mesh.size())).backward();
      }
    }
    const double norm = nn::utils::clip_grad_norm_(twin->parameters(), 0.5);
    EXPECT_NEAR(fsdp->clip_grad_norm_(0.5), norm, 1e-5 * norm);
    mine.step();
    theirs.step();
  }
  const auto state = fsdp->state_dict(), expected = twin->state_dict();
  ASSERT_EQ(state.size(), expected.size());
  for (const auto& item : expected) expect_equal(state[item.key()], item.value(), tolerance, item.key());
}

TEST(FullyShardedDataParallel, TrainsAsOneProcessWithEveryStrategy) {
  for (const auto strategy :
       {ShardingStrategy::FULL_SHARD, ShardingStrategy::SHARD_GRAD_OP, ShardingStrategy::NO_SHARD}) {
    run_mesh({2}, [&](const DeviceMesh& mesh) { train_beside_twin(mesh, strategy, 1e-6); });
  }
  for (const auto strategy : {ShardingStrategy::HYBRID_SHARD, ShardingStrategy::_HYBRID_SHARD_ZERO2}) {
    run_mesh({2, 2}, [&](const DeviceMesh& mesh) { train_beside_twin(mesh, strategy, 1e-6); });
  }
}

TEST(FullyShardedDataParallel, GathersAheadAsItIsTold) {
  // What the backward pass calls, of a group that is not there.
  const auto calls_of = [](std::optional<BackwardPrefetch> prefetch) {
    const auto fake = c10::make_intrusive<c10d::FakeProcessGroup>(0, 2);
    const auto group = c10::make_intrusive<c10d::ProcessGroup>(0, 2);
    group->setBackend(c10::kCPU, c10d::ProcessGroup::CUSTOM, fake);
    Pair net;
    const DeviceMesh mesh = DeviceMesh::from_group(group, c10::kCPU);
    FullyShardedDataParallel fsdp(net, of(mesh, ShardingStrategy::FULL_SHARD).backward_prefetch(prefetch));
    const Tensor loss = fsdp(numbers({4, 6}, 1)).sum();
    fake->clear_calls();
    loss.backward();
    std::string text;
    for (const c10d::FakeCall& call : fake->calls()) {
      text += c10d::opTypeToString(call.type).find("GATHER") != std::string::npos ? "gather " : "scatter ";
    }
    return text;
  };
  EXPECT_EQ(calls_of(BackwardPrefetch::BACKWARD_PRE), "gather gather scatter scatter scatter ");
  EXPECT_EQ(calls_of(BackwardPrefetch::BACKWARD_POST), "gather scatter gather scatter scatter ");
  EXPECT_EQ(calls_of(std::nullopt), "gather scatter gather scatter scatter ");
  for (const auto prefetch : {std::optional(BackwardPrefetch::BACKWARD_POST), std::optional<BackwardPrefetch>()}) {
    run_mesh({2},
             [&](const DeviceMesh& mesh) { train_beside_twin(mesh, ShardingStrategy::FULL_SHARD, 1e-6, prefetch); });
  }
}

TEST(FullyShardedDataParallel, StateDictionaries) {
  run_mesh({2}, [](const DeviceMesh& mesh) {
    Pair net, other;
    fill(*net, 1);
    fill(*other, 7);
    const Tensor before = net->a->weight.detach().clone();
    FullyShardedDataParallel fsdp(net, of(mesh, ShardingStrategy::FULL_SHARD));
    FullyShardedDataParallel second(other, of(mesh, ShardingStrategy::FULL_SHARD));
    const auto full = fsdp->state_dict();
    expect_equal(full["a.weight"], before, 0, "full");
    EXPECT_FALSE(DTensor::is(full["a.weight"]));
    second->load_state_dict(full);
    fsdp->set_state_dict_type(StateDictType::SHARDED_STATE_DICT);
    EXPECT_EQ(fsdp->state_dict_type(), StateDictType::SHARDED_STATE_DICT);
    const auto sharded = fsdp->state_dict();
    EXPECT_TRUE(DTensor::is(sharded["a.weight"]));
    expect_equal(second->state_dict()["a.weight"], before, 0, "loaded");
    fill(*Pair(), 0);
    second->set_state_dict_type(StateDictType::SHARDED_STATE_DICT);
    second->load_state_dict(sharded);
    second->set_state_dict_type(StateDictType::FULL_STATE_DICT);
    expect_equal(second->state_dict()["b.weight"], full["b.weight"], 0, "loaded from shards");
  });
}

TEST(FullyShardedDataParallel, SummonsWholeParameters) {
  run_mesh({2}, [](const DeviceMesh& mesh) {
    Pair net;
    fill(*net, 1);
    const Tensor before = net->a->weight.detach().clone();
    Options options = of(mesh, ShardingStrategy::FULL_SHARD);
    options.mixed_precision(MixedPrecision().param_dtype(c10::kBFloat16).buffer_dtype(c10::kBFloat16));
    FullyShardedDataParallel fsdp(net, options);
    for (const bool writeback : {false, true}) {
      {
        const auto whole = fsdp->summon_full_params(writeback);
        EXPECT_FALSE(DTensor::is(net->a->weight));
        expect_equal(net->a->weight, before, 0, "in its own precision");
        const c10::NoGradGuard no_grad;
        net->a->weight.fill_(2);
      }
      EXPECT_TRUE(DTensor::is(net->a->weight));
      const c10::NoGradGuard no_grad;
      expect_equal(DTensor(net->a->weight).full_tensor(), writeback ? at::full({8, 6}, 2.0) : before, 0, "afterwards");
    }
    const Tensor y = fsdp(numbers({4, 6}, 0));
    EXPECT_EQ(y.scalar_type(), c10::kBFloat16);
    y.sum().backward();
    EXPECT_EQ(net->a->weight.grad().scalar_type(), c10::kFloat);
    bool threw = false;
    const auto handle = net->norm->register_forward_pre_hook([&](nn::Module&, const std::vector<Tensor>&) {
      try {
        (void)fsdp->summon_full_params();
      } catch (const c10::Error& e) {
        threw = std::string(e.what()).find("within forward or backward") != std::string::npos;
      }
    });
    fsdp(numbers({4, 6}, 0));
    EXPECT_TRUE(threw);
  });
}

TEST(FullyShardedDataParallel, TakesTheFirstRanksStates) {
  run_mesh({2}, [](const DeviceMesh& mesh) {
    Pair net, first;
    fill(*first, 0);
    fill(*net, static_cast<int>(mesh.get_rank()) * 10);
    Options options(mesh.get_group());
    FullyShardedDataParallel fsdp(net, options.sync_module_states(true));
    const auto state = fsdp->state_dict();
    for (const auto& item : first->state_dict()) expect_equal(state[item.key()], item.value(), 0, item.key());
  });
}

TEST(FullyShardedDataParallel, Policies) {
  run_mesh({2}, [](const DeviceMesh& mesh) {
    Pair net;
    Options options(mesh);
    FullyShardedDataParallel fsdp(net, options.auto_wrap_policy(size_based_auto_wrap_policy(50)));
    EXPECT_TRUE(FSDPModule::is(*net->a));   // of 56 elements
    EXPECT_FALSE(FSDPModule::is(*net->b));  // of 27
    EXPECT_THAT(
        [&] { FullyShardedDataParallel(Pair(), Options(mesh).sharding_strategy(ShardingStrategy::HYBRID_SHARD)); },
        ::testing::ThrowsMessage<c10::ValueError>(HasSubstr("a device_mesh of two dimensions")));
    EXPECT_THAT([&] { FullyShardedDataParallel(Pair(), Options(mesh).process_group(mesh.get_group())); },
                ::testing::ThrowsMessage<c10::ValueError>(HasSubstr("exclude each other")));
  });
}

}  // namespace
}  // namespace torch::distributed::fsdp
