// fully_shard() beside what else there is: state dictionaries, the meta device, checkpoints, other layers, tensor
// parallelism; and what it sends and holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "autograd/checkpoint/checkpoint.h"
#include "c10/memory/cpu_allocator.h"
#include "distributed/fsdp/clip_grad.h"
#include "distributed/fsdp/full_state_dict.h"
#include "distributed/fsdp/fully_shard.h"
#include "distributed/fsdp/twins.h"
#include "distributed/process_group/fake/fake_process_group.h"
#include "distributed/process_group/init.h"
#include "distributed/store/hash_store.h"
#include "distributed/tensor/dtensor.h"
#include "distributed/tensor/init_device_mesh.h"
#include "distributed/tensor/run_mesh.h"
#include "distributed/testing/run_ranks.h"
#include "nn/layers/layers.h"
#include "nn/module/parameter_containers.h"
#include "nn/module/state_dict.h"
#include "nn/utils/clip_grad.h"
#include "optim/optim.h"

namespace torch::distributed::fsdp {
namespace {

using at::Tensor;
using namespace testing;  // twins.h
using tensor::DeviceMesh;
using tensor::testing::run_mesh;
using ::testing::HasSubstr;

TEST(FullyShard, StateDictionariesHoldShards) {
  run_mesh({2}, [](const DeviceMesh& mesh) {
    Net net, other;
    fill(*net, 1);
    fill(*other, 5);
    const auto before = net->state_dict();
    std::vector<Tensor> values;
    for (const auto& item : before) values.push_back(item.value().clone());
    shard(net, {mesh});
    shard(other, {mesh});
    // Also while the root's parameters are whole.
    const Tensor y = net(numbers({2, 6}, 0));
    EXPECT_FALSE(DTensor::is(net->last->weight));
    const auto state = net->state_dict();
    EXPECT_TRUE(DTensor::is(net->last->weight));
    size_t i = 0;
    for (const auto& item : state) {
      EXPECT_TRUE(DTensor::is(item.value())) << item.key();
      EXPECT_EQ(item.key(), (before.begin() + static_cast<std::ptrdiff_t>(i))->key());
      expect_equal(whole(item.value()), values[i++], 0, item.key());
    }
    other->load_state_dict(state);
    expect_twins(*other, *net, 0);
    y.sum().backward();  // gathers again
    EXPECT_TRUE(net->first->weight.grad().defined());
  });
}

// What one process saves, ranks load, and the other way around.
TEST(FullyShard, FullStateDictionaries) {
  run_mesh({2}, [](const DeviceMesh& mesh) {
    Net net, twin;
    fill(*net, 1);
    fill(*twin, 1);
    shard(net, {mesh});
    optim::AdamW mine(net->parameters(), optim::AdamWOptions(0.01)),
        theirs(twin->parameters(), optim::AdamWOptions(0.01));
    const auto step = [&](int seed) {
      mine.zero_grad();
      theirs.zero_grad();
      const Tensor x = numbers({4, 6}, seed);
      net(x.chunk(2)[static_cast<size_t>(mesh.get_rank())]).square().mean().backward();
      backward_of_parts(twin, x, 2);
      mine.step();
      theirs.step();
      expect_twins(*net, *twin, 0);
    };
    step(0);
    nn::StateDict model;
    optim::StateDict optimizer;
    {
      const FullStateDict of_model(net), of_optimizer(mine);
      model = net->state_dict();
      optimizer = mine.state_dict();
      for (const auto& item : model) expect_equal(item.value(), twin->state_dict()[item.key()], 0, item.key());
      const auto expected = theirs.state_dict();
      for (const char* name : {"state.0.exp_avg", "state.5.exp_avg_sq", "state.9.exp_avg"}) {
        expect_equal(optimizer.tensor(name), expected.tensor(name), 0, name);
      }
    }
    EXPECT_TRUE(DTensor::is(net->state_dict()["first.weight"]));
    const optim::StateDict kept = theirs.state_dict().clone();
    std::vector<Tensor> values;
    for (const Tensor& p : twin->parameters()) values.push_back(p.detach().clone());
    step(1);
    {
      const FullStateDict of_model(net), of_optimizer(mine);
      net->load_state_dict(model);
      mine.load_state_dict(kept);
    }
    {
      const c10::NoGradGuard no_grad;
      for (size_t i = 0; i < values.size(); ++i) twin->parameters()[i].copy_(values[i]);
    }
    theirs.load_state_dict(kept);
    step(2);
  });
}

TEST(FullyShard, FromTheMetaDevice) {
  run_mesh({2}, [](const DeviceMesh& mesh) {
    Net net, twin;
    fill(*twin, 3);
    for (const Tensor& p : net->parameters()) p.set_data(at::empty_like(p, p.options().device(c10::kMeta)));
    shard(net, {mesh});
    EXPECT_TRUE(net->first->weight.is_meta());
    EXPECT_THAT([&] { net(numbers({2, 6}, 0)); }, ::testing::ThrowsMessage<c10::Error>(HasSubstr("meta device")));
    net->to_empty(c10::kCPU);
    EXPECT_EQ(DTensor(net->first->weight).to_local().size(0), 4);
    const c10::NoGradGuard no_grad;
    for (const auto& item : twin->named_parameters()) {
      net->named_parameters()[item.key()].copy_(tensor::distribute_tensor(item.value().detach(), mesh, {Shard(0)}));
    }
    expect_equal(net(numbers({2, 6}, 0)), twin(numbers({2, 6}, 0)), 0, "output");
    // Random numbers are those of one device.
    nn::Linear layer(6, 8);
    for (const Tensor& p : layer->parameters()) p.set_data(at::empty_like(p, p.options().device(c10::kMeta)));
    fully_shard(layer, {mesh});
    layer->to_empty(c10::kCPU);
    layer->reset_parameters();
    EXPECT_TRUE(DTensor::is(layer->weight));
    EXPECT_LE(whole(layer->weight).abs().max().item<double>(), 1 / std::sqrt(6.0));
  });
}

TEST(FullyShard, InCheckpoints) {
  struct CheckpointedImpl : nn::Module {
    CheckpointedImpl() {
      a = register_module("a", nn::Linear(6, 8));
      b = register_module("b", nn::Linear(8, 3));
    }
    Tensor forward(const Tensor& x) {
      const auto rest = [&](const Tensor& t) { return b(at::tanh(t)); };
      const Tensor y = utils::checkpoint::checkpoint([&](const Tensor& t) { return a(t); }, x, options);
      return utils::checkpoint::checkpoint(rest, y, options);
    }
    nn::Linear a{nullptr}, b{nullptr};
    utils::checkpoint::CheckpointOptions options;
  };
  for (const bool reentrant : {false, true}) {
    run_mesh({2}, [reentrant](const DeviceMesh& mesh) {
      const auto net = std::make_shared<CheckpointedImpl>(), twin = std::make_shared<CheckpointedImpl>();
      for (const auto& one : {net, twin}) {
        fill(*one, 1);
        one->options.use_reentrant(reentrant);
      }
      fully_shard(net->a, {mesh});
      fully_shard(net->b, {mesh});
      fully_shard(net, {mesh});
      for (int step = 0; step < 2; ++step) {
        net->zero_grad();
        twin->zero_grad();
        const Tensor x = numbers({4, 6}, step).requires_grad_();
        nn::call_module(*net, x.chunk(2)[static_cast<size_t>(mesh.get_rank())]).square().mean().backward();
        for (const Tensor& part : x.chunk(2)) (nn::call_module(*twin, part).square().mean() / 2).backward();
        expect_twins(*net, *twin, 0, true);
      }
    });
  }
}

// Layers whose members are made in other ways.
TEST(FullyShard, LayersOfTheLibrary) {
  struct ManyImpl : nn::Module {
    ManyImpl() {
      words = register_module("words", nn::Embedding(10, 8));
      lstm = register_module("lstm", nn::LSTM(nn::LSTMOptions(8, 8).batch_first(true)));
      layer =
          register_module("layer", nn::TransformerEncoderLayer(nn::TransformerEncoderLayerOptions(8, 2).dropout(0)));
      list = register_module("list", nn::ParameterList(numbers({5, 8}, 3), numbers({3}, 4)));
      conv = register_module("conv", nn::Conv1d(8, 4, 1));
    }
    Tensor forward(const Tensor& x) {
      const Tensor y = layer(std::get<0>(lstm(words(x)))) + list->at(0).sum(0);
      return conv(y.transpose(1, 2)) * list->at(1).sum();
    }
    nn::Embedding words{nullptr};
    nn::LSTM lstm{nullptr};
    nn::TransformerEncoderLayer layer{nullptr};
    nn::ParameterList list{nullptr};
    nn::Conv1d conv{nullptr};
  };
  run_mesh({2}, [](const DeviceMesh& mesh) {
    const auto net = std::make_shared<ManyImpl>(), twin = std::make_shared<ManyImpl>();
    for (const auto& one : {net, twin}) {
      fill(*one, 1);
      for (const Tensor& p : one->list->parameters()) p.set_requires_grad(true);
    }
    fully_shard(net->lstm, {mesh});
    fully_shard(net->layer, {mesh});
    fully_shard(net, {mesh});
    optim::SGD mine(net->parameters(), optim::SGDOptions(0.1)), theirs(twin->parameters(), optim::SGDOptions(0.1));
    for (int step = 0; step < 2; ++step) {
      const Tensor x = at::arange(12).mul(3).add(step).remainder(10).view({4, 3});
      mine.zero_grad();
      theirs.zero_grad();
      nn::call_module(*net, x.chunk(2)[static_cast<size_t>(mesh.get_rank())]).square().mean().backward();
      for (const Tensor& part : x.chunk(2)) (nn::call_module(*twin, part).square().mean() / 2).backward();
      expect_twins(*net, *twin, 1e-6, true);
      mine.step();
      theirs.step();
    }
    expect_twins(*net, *twin, 1e-6);
  });
}

TEST(FullyShard, OfSeveralDtypesAndConverted) {
  run_mesh({2}, [](const DeviceMesh& mesh) {
    Net net, twin;
    for (Net* one : {&net, &twin}) {
      fill(**one, 1);
      (*one)->last->to(c10::kDouble);
    }
    fully_shard({net->first, net->last}, {mesh});
    fully_shard(net, {mesh});
    EXPECT_EQ(DTensor(net->last->weight).to_local().scalar_type(), c10::kDouble);
    FSDPModule pair(net->first);
    pair.unshard();
    EXPECT_TRUE(at::equal(net->last->weight, twin->last->weight));
    EXPECT_TRUE(at::equal(net->first->weight, twin->first->weight));
    pair.reshard();
    for (Net* one : {&net, &twin}) (*one)->to(c10::kDouble);
    EXPECT_TRUE(DTensor::is(net->first->weight));
    const Tensor x = numbers({4, 6}, 0, c10::kDouble);
    net(x.chunk(2)[static_cast<size_t>(mesh.get_rank())]).square().mean().backward();
    backward_of_parts(twin, x, 2);
    expect_twins(*net, *twin, 0, true);
  });
}

// What one of a thousand ranks sends and gets in a step; no other is there.
TEST(FullyShard, PlansOfAThousandRanks) {
  constexpr int64_t kRanks = 1024;
  const auto fake = c10::make_intrusive<c10d::FakeProcessGroup>(3, static_cast<int>(kRanks));
  const auto group = c10::make_intrusive<c10d::ProcessGroup>(3, static_cast<int>(kRanks));
  group->setBackend(c10::DeviceType::CPU, c10d::ProcessGroup::CUSTOM, fake);
  const DeviceMesh mesh = DeviceMesh::from_group(group, c10::kCPU);
  nn::Linear a(nn::LinearOptions(16, 1536).bias(false)), b(nn::LinearOptions(1536, 100).bias(false));
  nn::Sequential net(a, b);
  fully_shard(a, {mesh});
  fully_shard(b, {mesh});
  fully_shard(net, {mesh});
  EXPECT_EQ(DTensor(a->weight).to_local().size(0), 2);  // of 1,536 rows, so that 256 ranks have none
  nn::call_module(*net, at::ones({2, 16})).sum().backward();
  const size_t slot_a = 2 * 16 * sizeof(float), slot_b = 1536 * sizeof(float);
  using Call = std::pair<c10d::OpType, size_t>;
  constexpr auto kGather = c10d::OpType::ALLGATHER, kReduce = c10d::OpType::REDUCE_SCATTER;
  // For forward; for backward the last one, and the one before it as it is on its way; gradients.
  const std::vector<Call> expected{{kGather, slot_a}, {kGather, slot_b},          {kGather, slot_b},
                                   {kGather, slot_a}, {kReduce, kRanks * slot_b}, {kReduce, kRanks * slot_a}};
  std::vector<Call> calls;
  for (const c10d::FakeCall& call : fake->calls()) calls.emplace_back(call.type, call.bytes);
  EXPECT_EQ(calls, expected);
}

// Two layers over tensor-parallel ranks: the first by columns, the second by rows.
struct ParallelImpl : nn::Module {
  ParallelImpl() {
    up = register_module("up", nn::Linear(4, 8));
    down = register_module("down", nn::Linear(8, 5));
  }
  Tensor forward(const Tensor& x) {
    if (!tp) return down(at::tanh(up(x)));
    const std::vector<Placement> same{Replicate()};
    const Tensor y = down(at::tanh(up(DTensor::from_local(x, *tp, same))));
    return DTensor(y).redistribute(same).to_local();
  }
  void distribute(nn::Linear& layer, const char* name, Tensor& member, const Placement& placement) {
    member = layer->replace_parameter(name, tensor::distribute_tensor(member.detach(), *tp, {placement}));
    member.set_requires_grad(true);
  }
  void parallelize(const DeviceMesh& mesh) {
    tp = mesh;
    distribute(up, "weight", up->weight, Shard(0));
    distribute(up, "bias", up->bias, Shard(0));
    distribute(down, "weight", down->weight, Shard(1));
    distribute(down, "bias", down->bias, Replicate());
  }
  nn::Linear up{nullptr}, down{nullptr};
  std::optional<DeviceMesh> tp;
};
TORCH_MODULE(Parallel);

TEST(FullyShard, TensorParallelParameters) {
  run_mesh({2, 2},
           [](const DeviceMesh& mesh) {
             Parallel net, twin;
             fill(*net, 1);
             fill(*twin, 1);
             net->parallelize(mesh["tp"]);
             const DeviceMesh elsewhere = DeviceMesh::from_group(mesh.get_group("dp"), c10::kCPU, "dp");
             EXPECT_THAT([&] { fully_shard(net, {elsewhere}); },
                         ::testing::ThrowsMessage<c10::ValueError>(HasSubstr("not a slice by name of the mesh")));
             fully_shard(net->up, {mesh["dp"]});
             fully_shard(net, {mesh["dp"]});
             using Placements = std::vector<Placement>;
             EXPECT_EQ(DTensor(net->up->weight).placements(), (Placements{StridedShard(0, 2), Shard(0)}));
             EXPECT_EQ(DTensor(net->down->weight).placements(), (Placements{Shard(0), Shard(1)}));
             EXPECT_EQ(DTensor(net->down->bias).placements(), (Placements{Shard(0), Replicate()}));
             EXPECT_EQ(DTensor(net->up->weight).device_mesh(), mesh);
             EXPECT_EQ(DTensor(net->up->weight).to_local().sizes(), at::IntArrayRef({2, 4}));
             expect_twins(*net, *twin, 0);
             optim::AdamW mine(net->parameters(), optim::AdamWOptions(0.01)),
                 theirs(twin->parameters(), optim::AdamWOptions(0.01));
             for (int step = 0; step < 4; ++step) {
               mine.zero_grad();
               theirs.zero_grad();
               const Tensor x = numbers({4, 4}, step);
               net(x.chunk(2)[static_cast<size_t>(mesh.get_local_rank("dp"))]).square().mean().backward();
               for (const Tensor& part : x.chunk(2)) (twin(part).square().mean() / 2).backward();
               expect_twins(*net, *twin, 1e-6, true);
               const double norm = nn::utils::clip_grad_norm_(twin->parameters(), 0.1);
               EXPECT_NEAR(clip_grad_norm_(net->parameters(), 0.1), norm, 1e-6 * norm);
               mine.step();
               theirs.step();
               expect_twins(*net, *twin, 1e-6);
             }
           },
           {"dp", "tp"});
}

// Two layers in one, of each of which a tensor-parallel rank has a part.
struct FusedImpl : nn::Module {
  FusedImpl() {
    up = register_module("up", nn::Linear(4, 16));
    down = register_module("down", nn::Linear(8, 5));
  }
  Tensor forward(const Tensor& x) {
    const std::vector<Placement> same{Replicate()};
    const Tensor y = tp ? DTensor(up(DTensor::from_local(x, *tp, same))).redistribute(same).to_local() : up(x);
    const std::vector<Tensor> parts = y.chunk(2, -1);
    return down(at::tanh(parts[0]) * parts[1]);
  }
  nn::Linear up{nullptr}, down{nullptr};
  std::optional<DeviceMesh> tp;
};
TORCH_MODULE(Fused);

void train_fused(const DeviceMesh& mesh, const ReshardAfterForward& policy) {
  Fused net, twin;
  fill(*net, 1);
  fill(*twin, 1);
  net->tp = mesh["tp"];
  for (auto& [name, member] : {std::pair{"weight", &net->up->weight}, std::pair{"bias", &net->up->bias}}) {
    *member =
        net->up->replace_parameter(name, tensor::distribute_tensor(member->detach(), *net->tp, {StridedShard(0, 2)}));
    member->set_requires_grad(true);
  }
  fully_shard(net->up, FullyShardOptions(mesh["dp"]).reshard_after_forward(policy));
  fully_shard(net, {mesh["dp"]});
  EXPECT_EQ(DTensor(net->up->weight).placements(),
            (std::vector<Placement>{StridedShard(0, 2 * mesh.size(1)), StridedShard(0, 2)}));
  expect_twins(*net, *twin, 0);
  optim::AdamW mine(net->parameters(), optim::AdamWOptions(0.01)),
      theirs(twin->parameters(), optim::AdamWOptions(0.01));
  for (int step = 0; step < 3; ++step) {
    mine.zero_grad();
    theirs.zero_grad();
    const Tensor x = numbers({4, 4}, step);
    const int64_t parts = mesh.size(0);
    net(x.chunk(parts)[static_cast<size_t>(mesh.get_local_rank("dp"))]).square().mean().backward();
    for (const Tensor& part : x.chunk(parts)) {
      (twin(part).square().mean() / static_cast<double>(parts)).backward();
    }
    expect_twins(*net, *twin, 1e-6, true);
    mine.step();
    theirs.step();
    expect_twins(*net, *twin, 1e-6);
  }
}

TEST(FullyShard, TensorParallelPartsOfFusedLayers) {
  run_mesh({2, 2}, [](const DeviceMesh& mesh) { train_fused(mesh, {}); }, {"dp", "tp"});
  // Backward gathers from two ranks each.
  const auto store = c10::make_intrusive<c10d::HashStore>();
  c10d::testing::run_ranks(4, [&](int rank) {
    c10d::init_process_group("gloo",
                             {.timeout = std::chrono::seconds(20), .world_size = 4, .rank = rank, .store = store});
    train_fused(tensor::init_device_mesh(c10::kCPU, {4, 1}, {"dp", "tp"}), 2);
    c10d::destroy_process_group();
  });
  // Rows that are no multiple of what they are cut into.
  run_mesh({2, 2},
           [](const DeviceMesh& mesh) {
             nn::Linear layer(4, 12);
             layer->weight = layer->replace_parameter(
                 "weight", tensor::distribute_tensor(layer->weight.detach(), mesh["tp"], {StridedShard(0, 3)}));
             fully_shard(layer, FullyShardOptions(mesh["dp"]));
             EXPECT_EQ(DTensor(layer->weight).to_local().size(0), 3);
             nn::Linear other(4, 10);
             other->weight = other->replace_parameter(
                 "weight", tensor::distribute_tensor(other->weight.detach(), mesh["tp"], {StridedShard(0, 5)}));
             EXPECT_THAT([&] { fully_shard(other, FullyShardOptions(mesh["dp"])); },
                         ::testing::ThrowsMessage<c10::NotImplementedError>(HasSubstr("`weight` has 10 elements")));
           },
           {"dp", "tp"});
}

// What one of eight ranks holds beyond its shards of parameters and moments, in units, by the allocator: the highest
// readings of each phase, between modules and at any time. The other ranks are not there: their parts are this rank's.
struct UnitsHeld {
  double in_forward = 0, peak_forward = 0, in_backward = 0, peak_backward = 0;
};
constexpr int64_t kUnits = 6;
constexpr double kRanks = 8, kActivations = 0.1;
// Units one after the other.
struct UnitsImpl : nn::Module {
  Tensor forward(Tensor x) {
    for (const auto& unit : units) {
      const auto run = [unit](const Tensor& given) { return nn::Sequential(unit)(given); };
      x = checkpointed ? utils::checkpoint::checkpoint(run, x) : run(x);
    }
    return x;
  }
  std::vector<std::shared_ptr<nn::SequentialImpl>> units;
  bool checkpointed = false;
};
TORCH_MODULE(Units);

// Units of one layer of 1024 features, or of four with half of these; `checkpointed`: computed again in backward.
UnitsHeld units_held(bool prefetches, bool has_layers = false, bool checkpointed = false) {
  constexpr double kUnit = 1024 * 1024 * 4, kTotal = kUnits * kUnit;
  const int64_t layers_of_unit = has_layers ? 4 : 1, width = has_layers ? 512 : 1024;
  const auto allocated = [] { return static_cast<double>(c10::cpu_memory_stats().allocated_bytes); };
  const auto group = c10::make_intrusive<c10d::ProcessGroup>(0, static_cast<int>(kRanks));
  group->setBackend(c10::DeviceType::CPU, c10d::ProcessGroup::CUSTOM,
                    c10::make_intrusive<c10d::FakeProcessGroup>(0, static_cast<int>(kRanks)));
  const DeviceMesh mesh = DeviceMesh::from_group(group, c10::kCPU);
  const double before = allocated();
  Units net;
  net->checkpointed = checkpointed;
  for (int64_t i = 0; i < kUnits; ++i) {
    nn::Sequential layers;
    for (int64_t j = 0; j < layers_of_unit; ++j) {
      layers->push_back(nn::Linear(nn::LinearOptions(width, width).bias(false)));
    }
    net->units.push_back(net->register_module(std::to_string(i), layers.ptr()));
    FSDPModule unit = fully_shard(layers, {mesh});
    if (!prefetches) unit.set_modules_to_backward_prefetch({unit});
  }
  fully_shard(net, {mesh});
  optim::AdamW optimizer(net->parameters(), optim::AdamWOptions(0.01));
  const double shards = allocated() - before;
  double in_forward = 0, in_backward = 0, peak_forward = 0, peak_backward = 0;
  const auto peak = [] { return static_cast<double>(c10::cpu_memory_stats().peak_allocated_bytes); };
  for (const auto& layer : net->units) {
    layer->register_forward_hook(
        [&](nn::Module&, const std::vector<Tensor>&, const std::vector<Tensor>& outputs) {
          in_forward = std::max(in_forward, allocated() - before);
          outputs[0].register_hook([&](const Tensor&) -> Tensor {
            in_backward = std::max(in_backward, allocated() - before);
            return {};
          });
        },
        /*prepend=*/true);
  }
  double after = 0;
  for (int step = 0; step < 3; ++step) {
    c10::reset_peak_cpu_memory_stats();
    const Tensor loss = net(at::ones({1, width})).sum();
    peak_forward = peak() - before;
    c10::reset_peak_cpu_memory_stats();
    loss.backward();
    peak_backward = peak() - before;
    optimizer.step();
    optimizer.zero_grad();
    after = allocated() - before;
    if (step == 0) in_forward = in_backward = 0;  // without the optimizer's state
  }
  EXPECT_NEAR(shards, kTotal / kRanks, kActivations * kUnit);
  EXPECT_NEAR(after, 3 * kTotal / kRanks, kActivations * kUnit);  // and two moments
  return {(in_forward - after) / kUnit, (peak_forward - after) / kUnit, (in_backward - after) / kUnit,
          (peak_backward - after) / kUnit};
}

TEST(FullyShard, MemoryIsThatOfShardsAndAFewUnits) {
  constexpr double kGradients = kUnits / kRanks;
  const auto show = [](const char* what, const UnitsHeld& held) {
    std::printf("units beyond shards and moments, %s: forward %.2f, at most %.2f; backward %.2f, at most %.2f\n", what,
                held.in_forward, held.peak_forward, held.in_backward, held.peak_backward);
  };
  for (const bool prefetches : {true, false}) {
    const double ahead = prefetches ? 1 : 0;
    for (const bool has_layers : {false, true}) {
      const UnitsHeld held = units_held(prefetches, has_layers);
      show(prefetches ? "the next one gathered ahead" : "none gathered ahead", held);
      // One unit is whole, which was gathered where it lies.
      EXPECT_LE(held.in_forward, 1 + kActivations);
      EXPECT_LE(held.peak_forward, 1 + kActivations);
      // One is whole, and so is the next one where it is gathered ahead; each parameter goes when its gradient has
      // come.
      EXPECT_LE(held.in_backward, ahead + kGradients + kActivations);
      EXPECT_LE(held.peak_backward, ahead + 1 + (has_layers ? 0.25 : 1) + kGradients + kActivations);
    }
  }
  const UnitsHeld held = units_held(false, true, true);
  show("computed again", held);
  EXPECT_LE(held.peak_backward, 1 + 0.25 + 0.25 + kGradients + kActivations);
}

// Computes with a weight twice; the first time no gradient goes there, and backward needs it when all others have come.
struct TwiceImpl : nn::Module {
  TwiceImpl() {
    first = register_module("first", nn::Linear(6, 6));
    second = register_module("second", nn::Linear(6, 6));
  }
  Tensor forward(const Tensor& x) {
    const auto run = [this](const Tensor& t) { return at::linear(first(t), second->weight.detach()); };
    return second(at::tanh(checkpointed ? utils::checkpoint::checkpoint(run, x) : run(x)));
  }
  nn::Linear first{nullptr}, second{nullptr};
  bool checkpointed = false;
};
TORCH_MODULE(Twice);

TEST(FullyShard, ParametersThatBackwardStillNeedsStay) {
  run_mesh({2}, [](const DeviceMesh& mesh) {
    Twice net, twin;
    fill(*net, 1);
    fill(*twin, 1);
    fully_shard(net, {mesh});
    const Tensor x = numbers({4, 6}, 3);
    // A graph that stays keeps all, too.
    for (const bool keeps : {false, true}) {
      const Tensor loss = net(x.chunk(2)[static_cast<size_t>(mesh.get_rank())]).square().mean();
      for (int pass = 0; pass < (keeps ? 2 : 1); ++pass) loss.backward({}, keeps);
      for (const Tensor& part : x.chunk(2)) {
        const Tensor half = twin(part).square().mean() / 2;
        for (int pass = 0; pass < (keeps ? 2 : 1); ++pass) half.backward({}, keeps);
      }
      expect_twins(*net, *twin, 1e-6, true);
      for (const Tensor& p : net->parameters()) EXPECT_TRUE(DTensor::is(p));
    }
    // A checkpoint holds nothing that would tell: an error, unless parameters are to stay.
    net->checkpointed = true;
    EXPECT_THROW(net(x).sum().backward(), c10::Error);
    FSDPModule(net).reset_iter_state();
    FSDPModule(net).set_reshard_after_backward(false);
    net(x).sum().backward();
  });
}

}  // namespace
}  // namespace torch::distributed::fsdp
