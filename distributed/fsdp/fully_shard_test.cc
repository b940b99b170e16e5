#include "distributed/fsdp/fully_shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "distributed/fsdp/clip_grad.h"
#include "distributed/fsdp/twins.h"
#include "distributed/process_group/init.h"
#include "distributed/store/hash_store.h"
#include "distributed/tensor/init_device_mesh.h"
#include "distributed/tensor/run_mesh.h"
#include "distributed/testing/run_ranks.h"
#include "nn/utils/clip_grad.h"
#include "optim/optim.h"

namespace torch::distributed::fsdp {
namespace {

using at::Tensor;
using namespace testing;  // twins.h
using tensor::DeviceMesh;
using tensor::testing::run_mesh;
using ::testing::HasSubstr;

struct Training {
  FullyShardOptions options;
  int steps = 4;
  double tolerance = 0;
  std::function<void(Net&)> after_shard;
};

// Trains `mesh.size()` ranks beside one process.
void train_beside_twin(const DeviceMesh& mesh, const Training& training) {
  Net net, twin;
  fill(*net, 1);
  fill(*twin, 1);
  shard(net, training.options);
  if (training.after_shard) training.after_shard(net);
  optim::AdamW mine(net->parameters(), optim::AdamWOptions(0.01)),
      theirs(twin->parameters(), optim::AdamWOptions(0.01));
  for (int step = 0; step < training.steps; ++step) {
    mine.zero_grad();
    theirs.zero_grad();
    const Tensor x = numbers({8, 6}, step);
    net(x.chunk(mesh.size())[static_cast<size_t>(mesh.get_rank())]).square().mean().backward();
    backward_of_parts(twin, x, mesh.size());
    expect_twins(*net, *twin, training.tolerance, /*gradients=*/true);
    mine.step();
    theirs.step();
    expect_twins(*net, *twin, training.tolerance);
  }
}

TEST(FullyShard, TrainsAsOneProcessBitForBit) {
  for (const ReshardAfterForward& policy :
       {ReshardAfterForward(), ReshardAfterForward(true), ReshardAfterForward(false)}) {
    run_mesh({2}, [&](const DeviceMesh& mesh) {
      train_beside_twin(mesh, {FullyShardOptions(mesh).reshard_after_forward(policy)});
    });
  }
}

TEST(FullyShard, ShardsAndTheirGradients) {
  run_mesh({2}, [](const DeviceMesh& mesh) {
    Net net;
    fill(*net, 1);
    const Tensor before = net->blocks->ptr<nn::LinearImpl>(2)->weight.detach().clone();
    shard(net, {mesh});
    const DTensor weight(net->blocks->ptr<nn::LinearImpl>(2)->weight);
    EXPECT_TRUE(weight.is_same(net->named_parameters()["blocks.2.weight"]));
    EXPECT_TRUE(weight.is_leaf() && weight.requires_grad());
    EXPECT_EQ(weight.placements(), std::vector<Placement>{Shard(0)});
    EXPECT_EQ(weight.sizes(), before.sizes());
    const int64_t rank = mesh.get_rank();
    const Tensor local = weight.to_local();
    EXPECT_EQ(local.size(0), rank == 0 ? 4 : 3);  // of 7 rows
    EXPECT_TRUE(at::equal(local, before.narrow(0, 4 * rank, rank == 0 ? 4 : 3)));
    net(numbers({2, 6}, 0)).sum().backward();
    const DTensor gradient(weight.grad());
    EXPECT_EQ(gradient.placements(), weight.placements());
    EXPECT_EQ(gradient.to_local().sizes(), local.sizes());
  });
}

// The sum of four is in another order than a process has.
TEST(FullyShard, FourRanksThatDoNotDivideTheRows) {
  run_mesh({4}, [](const DeviceMesh& mesh) { train_beside_twin(mesh, {{mesh}, 4, 1e-6}); });
}

TEST(FullyShard, AlongAnotherDimension) {
  run_mesh({2}, [](const DeviceMesh& mesh) {
    FullyShardOptions options(mesh);
    options.shard_placement_fn([](const Tensor& p) -> std::optional<Shard> {
      if (p.dim() == 2 && p.size(1) % 2 == 0) return Shard(-1);
      return std::nullopt;
    });
    train_beside_twin(mesh, {options, 3, 0, [](Net& net) {
                               EXPECT_EQ(DTensor(net->first->weight).placements(), std::vector<Placement>{Shard(1)});
                               EXPECT_EQ(DTensor(net->last->weight).placements(), std::vector<Placement>{Shard(0)});
                             }});
  });
}

TEST(FullyShard, Replicas) {
  run_mesh({2, 2}, [](const DeviceMesh& mesh) {
    const std::vector<Placement> expected{Replicate(), Shard(0)};
    train_beside_twin(
        mesh, {{mesh}, 4, 1e-6, [&](Net& net) { EXPECT_EQ(DTensor(net->first->weight).placements(), expected); }});
  });
}

TEST(FullyShard, OffloadedToTheCpuIsWhatItIsThere) {
  run_mesh({2}, [](const DeviceMesh& mesh) {
    train_beside_twin(mesh, {FullyShardOptions(mesh).offload_policy(CPUOffloadPolicy()), 2});
  });
}

// The small groups are made of the default group.
TEST(FullyShard, ReshardsToFewerRanks) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  c10d::testing::run_ranks(4, [&](int rank) {
    c10d::init_process_group("gloo",
                             {.timeout = std::chrono::seconds(20), .world_size = 4, .rank = rank, .store = store});
    {
      const DeviceMesh mesh = tensor::init_device_mesh(c10::kCPU, {4});
      train_beside_twin(mesh, {FullyShardOptions().reshard_after_forward(2), 3, 1e-6});
      Net net;
      // Backward gathers from two ranks each, in groups of their own.
      Net counted;
      shard(counted, FullyShardOptions().reshard_after_forward(2));
      const uint64_t before = mesh.get_group()->getSequenceNumberForGroup();
      counted(numbers({2, 6}, rank)).sum().backward();
      EXPECT_EQ(mesh.get_group()->getSequenceNumberForGroup() - before, 5 + 5u);  // for forward, and gradients
      for (const int64_t size : {1, 3, 4, 8}) {
        EXPECT_THROW(fully_shard(net, FullyShardOptions(mesh).reshard_after_forward(size)), c10::ValueError) << size;
      }
      EXPECT_FALSE(DTensor::is(net->first->weight));
    }
    c10d::destroy_process_group();
  });
}

TEST(FullyShard, PrefetchChangesNoNumber) {
  run_mesh({2}, [](const DeviceMesh& mesh) {
    train_beside_twin(mesh, {{mesh}, 3, 0, [](Net& net) {
                               std::vector<FSDPModule> units{FSDPModule(net->first)};
                               for (size_t i : {0, 2, 3}) units.emplace_back(net->blocks->ptr(i));
                               for (size_t i = 0; i + 2 < units.size(); ++i) {
                                 units[i].set_modules_to_forward_prefetch({units[i + 1], units[i + 2]});
                               }
                               for (size_t i = 2; i < units.size(); ++i) {
                                 units[i].set_modules_to_backward_prefetch({units[i - 1], units[i - 2]});
                               }
                             }});
  });
}

TEST(FullyShard, MixedPrecision) {
  struct PlainImpl : nn::Module {
    PlainImpl() {
      a = register_module("a", nn::Linear(4, 6));
      b = register_module("b", nn::Linear(6, 2));
    }
    Tensor forward(const Tensor& x) {
      seen = x.scalar_type();
      return b(a(x));
    }
    nn::Linear a{nullptr}, b{nullptr};
    c10::ScalarType seen = c10::ScalarType::Undefined;
  };
  for (const bool wide : {false, true}) {
    run_mesh({2}, [wide](const DeviceMesh& mesh) {
      const auto net = std::make_shared<PlainImpl>(), twin = std::make_shared<PlainImpl>();
      fill(*net, 1);
      fill(*twin, 1);
      for (const Tensor& p : twin->parameters()) p.set_data(p.to(c10::kBFloat16));
      MixedPrecisionPolicy policy;
      policy.param_dtype(c10::kBFloat16).output_dtype(c10::kDouble);
      if (wide) policy.reduce_dtype(c10::kFloat);
      fully_shard(net, FullyShardOptions(mesh).mp_policy(policy));
      const Tensor x = numbers({4, 4}, 3);
      const Tensor y = nn::call_module(*net, x.chunk(2)[static_cast<size_t>(mesh.get_rank())]);
      EXPECT_EQ(net->seen, c10::kBFloat16);
      EXPECT_EQ(y.scalar_type(), c10::kDouble);
      y.sum().backward();
      // What each rank has, and their mean in the dtype of the reduction.
      std::vector<std::vector<Tensor>> gradients(2);
      for (size_t part = 0; part < 2; ++part) {
        twin->zero_grad();
        nn::call_module(*twin, x.chunk(2)[part].to(c10::kBFloat16)).to(c10::kDouble).sum().backward();
        for (const Tensor& p : twin->parameters()) gradients[part].push_back(p.grad().clone());
      }
      const auto mine = net->parameters();
      for (size_t i = 0; i < mine.size(); ++i) {
        EXPECT_EQ(mine[i].scalar_type(), c10::kFloat);
        EXPECT_EQ(mine[i].grad().scalar_type(), c10::kFloat);
        const auto dtype = wide ? c10::kFloat : c10::kBFloat16;
        const Tensor mean = (gradients[0][i].to(dtype) + gradients[1][i].to(dtype)) / 2;
        expect_equal(whole(mine[i].grad()), mean.to(c10::kFloat), 0, net->named_parameters()[i].key());
      }
    });
  }
}

TEST(FullyShard, Float16IsDividedBeforeAndAfter) {
  run_mesh({4}, [](const DeviceMesh& mesh) {
    nn::Linear net(nn::LinearOptions(1, 4).bias(false));
    MixedPrecisionPolicy policy;
    policy.param_dtype(c10::kHalf);
    fully_shard(net, FullyShardOptions(mesh).mp_policy(policy));
    // 20,000 of each rank: four of them are more than float16 has.
    (net(at::full({1, 1}, 20000.0))).sum().backward();
    expect_equal(whole(net->weight.grad()), at::full({4, 1}, 20000.0), 0, "mean");
  });
}

TEST(FullyShard, DivisionsThatAreAskedFor) {
  for (const bool sums : {false, true}) {
    run_mesh({2, 2}, [sums](const DeviceMesh& mesh) {
      nn::Linear net(nn::LinearOptions(1, 4).bias(false));
      FSDPModule handle = fully_shard(net, {mesh});
      if (sums) handle.set_force_sum_reduction_for_comms(true);
      const auto run = [&] {
        net->zero_grad();
        net(at::full({1, 1}, 1.0 + static_cast<double>(mesh.get_rank()))).sum().backward();
        return whole(net->weight.grad());
      };
      expect_equal(run(), at::full({4, 1}, 2.5), 0, "mean");
      handle.set_gradient_divide_factor(2);
      expect_equal(run(), at::full({4, 1}, 5.0), 0, "half the sum");
      handle.set_all_reduce_hook([](Tensor gradients) { gradients.mul_(10); });
      expect_equal(run(), at::full({4, 1}, 50.0), 0, "by a hook");
      EXPECT_THROW(handle.set_gradient_divide_factor(0), c10::ValueError);
    });
  }
}

TEST(FullyShard, AccumulatesWithoutCommunication) {
  for (const bool keeps : {false, true}) {
    run_mesh({2}, [keeps](const DeviceMesh& mesh) {
      Net net, twin;
      fill(*net, 1);
      fill(*twin, 1);
      shard(net, {mesh});
      FSDPModule handle(net);
      const auto group = mesh.get_group();
      for (int step = 0; step < 2; ++step) {
        net->zero_grad();
        twin->zero_grad();
        for (int micro = 0; micro < 3; ++micro) {
          const bool is_last = micro == 2;
          handle.set_requires_gradient_sync(is_last);
          handle.set_is_last_backward(is_last);
          if (keeps) handle.set_reshard_after_backward(is_last);
          const uint64_t before = group->getSequenceNumberForGroup();
          const Tensor x = numbers({4, 6}, 10 * step + micro);
          net(x.chunk(2)[static_cast<size_t>(mesh.get_rank())]).square().mean().backward();
          const uint64_t calls = group->getSequenceNumberForGroup() - before;
          // Five units are gathered for forward, unless they are there, and for backward all but the root.
          const uint64_t gathers = keeps && micro != 0 ? 4 : 9;
          EXPECT_EQ(calls, gathers + (is_last ? 5 : 0)) << micro;
          backward_of_parts(twin, x, 2);
        }
        expect_twins(*net, *twin, 1e-6, true);
      }
    });
  }
}

TEST(FullyShard, AccumulatesOverShardsOnly) {
  run_mesh({2, 2}, [](const DeviceMesh& mesh) {
    Net net, twin;
    fill(*net, 1);
    fill(*twin, 1);
    shard(net, {mesh});
    FSDPModule handle(net);
    const auto replicas = mesh.get_group(int64_t{0});
    for (int micro = 0; micro < 2; ++micro) {
      handle.set_requires_all_reduce(micro == 1);
      const uint64_t before = replicas->getSequenceNumberForGroup();
      const Tensor x = numbers({8, 6}, micro);
      net(x.chunk(4)[static_cast<size_t>(mesh.get_rank())]).square().mean().backward();
      EXPECT_EQ(replicas->getSequenceNumberForGroup() - before, micro == 1 ? 5 : 0);
      EXPECT_EQ(net->first->weight.grad().defined(), micro == 1);
      backward_of_parts(twin, x, 4);
    }
    expect_twins(*net, *twin, 1e-6, true);
  });
}

// In low precision, gradients add up in the dtype of the reduction.
TEST(FullyShard, AccumulatesInTheDtypeOfTheReduction) {
  run_mesh({2}, [](const DeviceMesh& mesh) {
    nn::Linear net(nn::LinearOptions(1, 2).bias(false));
    MixedPrecisionPolicy policy;
    policy.param_dtype(c10::kBFloat16).reduce_dtype(c10::kFloat);
    FSDPModule handle = fully_shard(net, FullyShardOptions(mesh).mp_policy(policy));
    for (int micro = 0; micro < 2; ++micro) {
      handle.set_requires_gradient_sync(micro == 1);
      net(at::full({1, 1}, micro == 0 ? 256.0 : 1.0)).sum().backward();
    }
    expect_equal(whole(net->weight.grad()), at::full({2, 1}, 257.0), 0, "sum");  // 256 in bfloat16
  });
}

struct SharedImpl : nn::Module {
  SharedImpl() {
    a = register_module("a", nn::Linear(4, 4));
    b = register_module("b", nn::Linear(4, 4));
    b->weight = b->replace_parameter("weight", a->weight);
    unused = register_module("unused", nn::Linear(4, 3));
  }
  Tensor forward(const Tensor& x) { return b(at::tanh(a(x))); }
  nn::Linear a{nullptr}, b{nullptr}, unused{nullptr};
};
TORCH_MODULE(Shared);

TEST(FullyShard, SharedAndUnusedParameters) {
  run_mesh({2}, [](const DeviceMesh& mesh) {
    Shared net, twin;
    fill(*net, 1);
    fill(*twin, 1);
    fully_shard(net->unused, {mesh});
    fully_shard(net, {mesh});
    EXPECT_TRUE(net->a->weight.is_same(net->b->weight));
    EXPECT_EQ(net->parameters().size(), 5u);
    optim::AdamW mine(net->parameters(), optim::AdamWOptions(0.01)),
        theirs(twin->parameters(), optim::AdamWOptions(0.01));
    for (int step = 0; step < 3; ++step) {
      mine.zero_grad();
      theirs.zero_grad();
      const Tensor x = numbers({4, 4}, step);
      net(x.chunk(2)[static_cast<size_t>(mesh.get_rank())]).sum().backward();
      for (const Tensor& part : x.chunk(2)) (twin(part).sum() / 2).backward();
      EXPECT_FALSE(net->unused->weight.grad().defined());
      expect_twins(*net, *twin, 0, true);
      mine.step();
      theirs.step();
      expect_twins(*net, *twin, 0);
    }
    Shared apart;
    fully_shard(apart->a, {mesh});
    EXPECT_THAT([&] { fully_shard(apart, {mesh}); },
                ::testing::ThrowsMessage<c10::ValueError>(HasSubstr("`b.weight` is shared with `weight`")));
  });
}

TEST(FullyShard, FrozenParameters) {
  run_mesh({2}, [](const DeviceMesh& mesh) {
    Net net, twin;
    fill(*net, 1);
    fill(*twin, 1);
    shard(net, {mesh});
    for (Net* one : {&net, &twin}) {
      (*one)->first->requires_grad_(false);
      (*one)->blocks->ptr(2)->requires_grad_(false);
      (*one)->last->bias.set_requires_grad(false);
    }
    for (int step = 0; step < 2; ++step) {
      if (step == 1) {
        for (Net* one : {&net, &twin}) (*one)->last->bias.set_requires_grad(true);
      }
      const Tensor x = numbers({4, 6}, step);
      net(x.chunk(2)[static_cast<size_t>(mesh.get_rank())]).square().mean().backward();
      backward_of_parts(twin, x, 2);
      EXPECT_FALSE(net->first->weight.grad().defined());
      EXPECT_EQ(net->last->bias.grad().defined(), step == 1);
      expect_twins(*net, *twin, step == 0 ? 0 : 1e-6, true);
    }
  });
}

TEST(FullyShard, ClipsByTheNormOfAllShards) {
  for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{{2}, {2, 2}}) {
    run_mesh(shape, [](const DeviceMesh& mesh) {
      Net net, twin;
      fill(*net, 1);
      fill(*twin, 1);
      shard(net, {mesh});
      const Tensor x = numbers({8, 6}, 1);
      for (const double type : {1.0, 2.0, 3.0, HUGE_VAL}) {
        net->zero_grad();
        twin->zero_grad();
        net(x.chunk(mesh.size())[static_cast<size_t>(mesh.get_rank())]).square().mean().backward();
        backward_of_parts(twin, x, mesh.size());
        const double norm = nn::utils::clip_grad_norm_(twin->parameters(), 0.01, type);
        std::vector<Tensor> gradients;
        for (const Tensor& p : net->parameters()) gradients.push_back(p.grad());
        // The function for all tensors gives the same, as a distributed one.
        EXPECT_NEAR(whole(nn::utils::get_total_norm(gradients, type)).item<double>(), norm, 1e-6 * norm) << type;
        EXPECT_NEAR(clip_grad_norm_(net->parameters(), 0.01, type), norm, 1e-6 * norm) << type;
        expect_twins(*net, *twin, 1e-6, true);
      }
      net->first->bias.mutable_grad().fill_(NAN);
      EXPECT_THROW(clip_grad_norm_(net->parameters(), 1, 2, /*error_if_nonfinite=*/true), c10::Error);
    });
  }
}

TEST(FullyShard, AnExceptionLeavesItUsable) {
  run_mesh({2}, [](const DeviceMesh& mesh) {
    Net net, twin;
    fill(*net, 1);
    fill(*twin, 1);
    shard(net, {mesh});
    const auto run = [&](int step) {
      const Tensor x = numbers({4, 6}, step);
      net(x.chunk(2)[static_cast<size_t>(mesh.get_rank())]).square().mean().backward();
      backward_of_parts(twin, x, 2);
      expect_twins(*net, *twin, 0, true);
      net->zero_grad();
      twin->zero_grad();
    };
    run(0);
    // In forward, after some units.
    EXPECT_THROW(net(numbers({2, 5}, 0)), c10::Error);
    auto handle = net->last->register_forward_pre_hook(
        [](nn::Module&, const std::vector<Tensor>&) { throw std::runtime_error("stop"); });
    EXPECT_THROW(net(numbers({2, 6}, 0)), std::runtime_error);
    handle.remove();
    run(1);
    // Of one unit, within a forward pass that goes on.
    auto retries = net->register_forward_pre_hook([&](nn::Module&, const std::vector<Tensor>&) {
      EXPECT_THROW(net->last(numbers({2, 4}, 0)), c10::Error);
    });
    run(3);
    run(4);
    retries.remove();
    // In backward, after some units.
    Tensor y;
    auto watch = net->blocks->ptr(0)->register_forward_hook(
        [&](nn::Module&, const std::vector<Tensor>&, const std::vector<Tensor>& outputs) {
          outputs[0].register_hook([](const Tensor&) -> Tensor { throw std::runtime_error("stop"); });
        });
    y = net(numbers({2, 6}, 0)).sum();
    EXPECT_THROW(y.backward(), std::runtime_error);
    watch.remove();
    net->zero_grad();
    FSDPModule(net).reset_iter_state();
    EXPECT_TRUE(DTensor::is(net->last->weight));
    run(2);
  });
}

TEST(FullyShard, ByHandAndWithoutGradients) {
  run_mesh({2}, [](const DeviceMesh& mesh) {
    Net net, twin;
    fill(*net, 1);
    fill(*twin, 1);
    shard(net, {mesh});
    FSDPModule first(net->first);
    const Tensor x = numbers({2, 6}, 0);
    auto handle = first.unshard(/*async_op=*/true);
    ASSERT_TRUE(handle.has_value());
    handle->wait();
    EXPECT_FALSE(DTensor::is(net->first->weight));
    expect_equal(net->first->forward(x), twin->first->forward(x), 0, "by hand");
    first.reshard();
    EXPECT_TRUE(DTensor::is(net->first->weight));
    EXPECT_FALSE(first.unshard().has_value());
    first.reshard();
    {
      const c10::NoGradGuard no_grad;
      expect_equal(net(x), twin(x), 0, "without gradients");
      EXPECT_TRUE(DTensor::is(net->last->weight));  // the root's, too: no backward pass comes
    }
    expect_equal(call_fsdp_forward_method(*net, &NetImpl::begin, x), twin->begin(x), 0, "another method");
    // A call past the hooks has distributed parameters, and says so.
    EXPECT_THAT([&] { net->first->forward(x); }, ::testing::ThrowsMessage<c10::Error>(HasSubstr("DTensor")));
  });
}

// A group whose parameters backward does not read is not gathered for it.
TEST(FullyShard, EmbeddingsAreNotGatheredForBackward) {
  run_mesh({2}, [](const DeviceMesh& mesh) {
    const auto calls = [&](bool unshards) {
      struct NetImpl : nn::Module {
        NetImpl() {
          table = register_module("table", nn::Embedding(10, 4));
          last = register_module("last", nn::Linear(4, 2));
        }
        Tensor forward(const Tensor& x) { return last(table(x)); }
        nn::Embedding table{nullptr};
        nn::Linear last{nullptr};
      };
      const auto net = std::make_shared<NetImpl>();
      FSDPModule embedding = fully_shard(net->table, {mesh});
      fully_shard(net, {mesh});
      embedding.set_unshard_in_backward(unshards);
      const uint64_t before = mesh.get_group()->getSequenceNumberForGroup();
      nn::call_module(*net, at::arange(4)).sum().backward();
      const uint64_t after = mesh.get_group()->getSequenceNumberForGroup();
      EXPECT_EQ(DTensor(net->parameters()[0].grad()).full_tensor().sizes(), at::IntArrayRef({10, 4}));
      return after - before;
    };
    EXPECT_EQ(calls(true), 5u);
    EXPECT_EQ(calls(false), 4u);
  });
}

TEST(FullyShard, IgnoredParametersStay) {
  run_mesh({2}, [](const DeviceMesh& mesh) {
    Net net;
    fully_shard(net, FullyShardOptions(mesh).ignored_params({net->last->weight}));
    EXPECT_FALSE(DTensor::is(net->last->weight));
    EXPECT_TRUE(DTensor::is(net->last->bias));
    net(numbers({2, 6}, 0)).sum().backward();
    EXPECT_FALSE(DTensor::is(net->last->weight.grad()));
  });
}

TEST(FullyShard, SeveralPassesOverOneGraphAndSeveralGraphs) {
  run_mesh({2}, [](const DeviceMesh& mesh) {
    Net net, twin;
    fill(*net, 1);
    fill(*twin, 1);
    shard(net, {mesh});
    const Tensor x = numbers({4, 6}, 1), mine = x.chunk(2)[static_cast<size_t>(mesh.get_rank())];
    const Tensor once = net(mine).square().mean();
    const Tensor other = net(mine * 2).square().mean();
    once.backward({}, /*retain_graph=*/true);
    once.backward();
    (other * 3).backward();
    for (const Tensor& part : x.chunk(2)) {
      const Tensor first = twin(part).square().mean() / 2;
      first.backward({}, /*retain_graph=*/true);
      first.backward();
      (twin(part * 2).square().mean() * 3 / 2).backward();
    }
    expect_twins(*net, *twin, 1e-6, true);
  });
}

TEST(FullyShard, OneRank) {
  run_mesh({1}, [](const DeviceMesh& mesh) { train_beside_twin(mesh, {{mesh}, 2}); });
  run_mesh({2, 1}, [](const DeviceMesh& mesh) { train_beside_twin(mesh, {{mesh}, 2}); });
  run_mesh({1, 2}, [](const DeviceMesh& mesh) { train_beside_twin(mesh, {{mesh}, 2}); });
}

// Optimizers that step while backward goes on wait for the shard's gradient.
TEST(FullyShard, HooksOnShardsRunWhenGradientsAreReduced) {
  run_mesh({2}, [](const DeviceMesh& mesh) {
    Net net;
    shard(net, {mesh});
    std::vector<bool> is_reduced;
    for (const Tensor& p : net->parameters()) {
      p.register_post_accumulate_grad_hook([&](const Tensor& sharded) {
        is_reduced.push_back(sharded.grad().defined() && DTensor::is(sharded.grad()));
        sharded.mutable_grad() = Tensor();
      });
    }
    net(numbers({2, 6}, 0)).sum().backward();
    EXPECT_EQ(is_reduced, std::vector<bool>(10, true));
  });
}

// A list of modules is one group.
TEST(FullyShard, ModulesTogether) {
  run_mesh({2}, [](const DeviceMesh& mesh) {
    Net net, twin;
    fill(*net, 1);
    fill(*twin, 1);
    fully_shard({net->first, net->blocks->ptr(0)}, {mesh});
    fully_shard(net, {mesh});
    for (int step = 0; step < 2; ++step) {
      const Tensor x = numbers({4, 6}, step);
      net->zero_grad();
      twin->zero_grad();
      const uint64_t before = mesh.get_group()->getSequenceNumberForGroup();
      net(x.chunk(2)[static_cast<size_t>(mesh.get_rank())]).square().mean().backward();
      // Both groups are gathered, the list's again for backward, and both are reduced.
      EXPECT_EQ(mesh.get_group()->getSequenceNumberForGroup() - before, 5u);
      backward_of_parts(twin, x, 2);
      expect_twins(*net, *twin, 0, true);
    }
  });
}

struct OwnImpl : nn::Module {
  OwnImpl() { scale = register_parameter("scale", at::ones({4})); }
  Tensor forward(const Tensor& x) { return x * scale; }
  Tensor scale;
};
struct NumberImpl : nn::Module {
  NumberImpl() { scale = register_parameter("scale", at::ones({})); }
  TORCH_MODULE_TENSORS(scale)
  Tensor scale;
};

TEST(FullyShard, ArgumentsThatMakeNoSense) {
  run_mesh({2}, [](const DeviceMesh& mesh) {
    const auto own = std::make_shared<OwnImpl>();
    EXPECT_THAT([&] { fully_shard(own, {mesh}); },
                ::testing::ThrowsMessage<c10::Error>(HasSubstr("add TORCH_MODULE_TENSORS(scale, ..)")));
    EXPECT_FALSE(DTensor::is(own->scale));
    EXPECT_THAT([&] { fully_shard(std::make_shared<NumberImpl>(), {mesh}); },
                ::testing::ThrowsMessage<c10::ValueError>(HasSubstr("`scale` has no dimensions")));
    Net net;
    EXPECT_THROW(FSDPModule{net}, c10::TypeError);
    EXPECT_THROW(fully_shard(std::vector<nn::ModuleRef>{}, {mesh}), c10::ValueError);
    EXPECT_THROW(fully_shard({net->first, net->first}, {mesh}), c10::ValueError);
    EXPECT_THAT(
        [&] { fully_shard(net, FullyShardOptions(mesh).shard_placement_fn([](const Tensor&) { return Shard(2); })); },
        ::testing::ThrowsMessage<c10::ValueError>(HasSubstr("`first.weight`")));
    EXPECT_THAT(
        [&] {
          fully_shard(net->last,
                      FullyShardOptions(mesh).shard_placement_fn([](const Tensor& p) { return Shard(p.dim() - 1); }));
        },
        ::testing::ThrowsMessage<c10::ValueError>(HasSubstr("not divided evenly by 2 ranks")));
    EXPECT_THROW(fully_shard(net), c10::ValueError);  // there is no default group
    EXPECT_FALSE(DTensor::is(net->first->weight));
    fully_shard(net, {mesh});
    EXPECT_THAT([&] { fully_shard(net, {mesh}); },
                ::testing::ThrowsMessage<c10::ValueError>(HasSubstr("is sharded already")));
    // Not the outermost first.
    Net inner;
    shard(inner, {mesh});
    inner->first(numbers({2, 6}, 0));
    EXPECT_THAT(
        [&] {
          inner(numbers({2, 6}, 0));
        },
        ::testing::ThrowsMessage<c10::Error>(HasSubstr("the outermost module has to be called first")));
  });
}

}  // namespace
}  // namespace torch::distributed::fsdp
