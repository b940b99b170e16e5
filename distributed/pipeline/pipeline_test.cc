#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "autograd/function/custom_function.h"
#include "autograd/profiler/profiler.h"
#include "c10/testing/message_of.h"
#include "distributed/ddp/distributed_data_parallel.h"
#include "distributed/ddp/testing/group.h"
#include "distributed/pipeline/orders.h"
#include "distributed/pipeline/pipe.h"
#include "distributed/pipeline/schedules.h"
#include "distributed/pipeline/split_backward.h"
#include "distributed/process_group/init.h"
#include "distributed/store/hash_store.h"
#include "distributed/tensor/run_mesh.h"
#include "distributed/testing/run_ranks.h"
#include "nn/layers/activation.h"
#include "nn/layers/embedding.h"
#include "nn/layers/linear.h"
#include "nn/layers/loss.h"
#include "nn/layers/normalization.h"
#include "optim/adamw.h"
#include "optim/sgd.h"

namespace torch::distributed::pipelining {
namespace {

using at::Tensor;
using c10::testing::message_of;
using c10d::testing::expect_equal;
using c10d::testing::expect_same_parameters;
using c10d::testing::fill;
using c10d::testing::Group;
using c10d::testing::numbers;
using c10d::testing::run_group;
using nn::Sequential;

Tensor mean_square(const Tensor& output, const Tensor& target) {
  return at::mean(at::square(output - target));
}

// One layer of a model, which is the same wherever it is made.
Sequential layer(int64_t index) {
  Sequential result(nn::Linear(6, 6), nn::Tanh(), nn::LayerNorm(nn::LayerNormOptions({6})));
  result->to(at::kDouble);
  fill(*result, static_cast<int>(10 * index));
  return result;
}

struct Twin {
  std::vector<Sequential> layers;
  explicit Twin(int64_t count) {
    for (int64_t i = 0; i < count; ++i) layers.push_back(layer(i));
  }
  std::vector<Tensor> parameters() const {
    std::vector<Tensor> all;
    for (const auto& l : layers) {
      for (const Tensor& p : l->parameters()) all.push_back(p);
    }
    return all;
  }
  // As a schedule's step, without a pipeline. Returns outputs and losses.
  std::pair<Tensor, std::vector<Tensor>> step(const Tensor& x, const Tensor& y, int64_t n, bool scale_grads = true) {
    std::vector<Tensor> outputs, losses;
    const auto xs = at::tensor_split(x, n), ys = at::tensor_split(y, n);
    for (size_t m = 0; m < xs.size(); ++m) {
      Tensor h = xs[m];
      for (auto& l : layers) h = l->forward(h);
      const Tensor loss = mean_square(h, ys[m]);
      outputs.push_back(h.detach());
      losses.push_back(loss.detach());
      loss.backward(at::full({}, scale_grads ? 1.0 / static_cast<double>(n) : 1.0, at::kDouble));
    }
    return {at::cat(outputs), losses};
  }
};

using Stages = std::vector<PipelineStage>;
struct Kind {
  const char* name;
  int64_t stages_per_rank;
  bool there_and_back;
  std::function<std::unique_ptr<PipelineSchedule>(const Stages&, int64_t n, const ScheduleOptions&)> make;
};
template <class S>
Kind multi(const char* name, int64_t stages_per_rank, bool there_and_back = false) {
  return {name, stages_per_rank, there_and_back,
          [](const Stages& s, int64_t n, const ScheduleOptions& o) { return std::make_unique<S>(s, n, o); }};
}
template <class S>
Kind single(const char* name) {
  return {name, 1, false,
          [](const Stages& s, int64_t n, const ScheduleOptions& o) { return std::make_unique<S>(s.at(0), n, o); }};
}
std::vector<Kind> kinds() {
  return {single<ScheduleGPipe>("GPipe"),
          single<Schedule1F1B>("1F1B"),
          multi<ScheduleInterleaved1F1B>("Interleaved1F1B", 2),
          multi<ScheduleLoopedBFS>("LoopedBFS", 2),
          multi<ScheduleInterleavedZeroBubble>("ZeroBubble", 1),
          multi<ScheduleInterleavedZeroBubble>("InterleavedZeroBubble", 2),
          multi<ScheduleZBVZeroBubble>("ZBVZeroBubble", 2, true),
          multi<ScheduleDualPipeV>("DualPipeV", 2, true)};
}

std::vector<int64_t> stages_of(const Kind& kind, int64_t rank, int64_t ranks) {
  if (kind.there_and_back) return {rank, 2 * ranks - 1 - rank};
  std::vector<int64_t> stages;
  for (int64_t i = 0; i < kind.stages_per_rank; ++i) stages.push_back(rank + i * ranks);
  return stages;
}

// Several steps by every schedule, against the model in one piece.
void expect_equal_to_whole(const Kind& kind, int rank, const Group& group, int64_t n, int steps) {
  SCOPED_TRACE(c10::str(kind.name, ", rank ", rank, ", ", n, " microbatches"));
  const int64_t ranks = group->getSize(), count = ranks * kind.stages_per_rank, batch = 2 * n;
  Twin twin(count);
  optim::SGD twin_sgd(twin.parameters(), optim::SGDOptions(0.1).momentum(0.9));
  Stages stages;
  std::vector<Sequential> modules;
  std::vector<Tensor> parameters;
  for (const int64_t index : stages_of(kind, rank, ranks)) {
    modules.push_back(layer(index));
    for (const Tensor& p : modules.back()->parameters()) parameters.push_back(p);
    stages.emplace_back(modules.back(), index, count, c10::kCPU, PipelineStageOptions(group));
  }
  const auto schedule = kind.make(stages, n, mean_square);
  optim::SGD sgd(parameters, optim::SGDOptions(0.1).momentum(0.9));
  for (int step = 0; step < steps; ++step) {
    const Tensor x = numbers({batch, 6}, 100 + step, at::kDouble), y = numbers({batch, 6}, 200 + step, at::kDouble);
    const auto [output, losses] = twin.step(x, y, n);
    std::vector<Tensor> seen;
    const Tensors got = rank == 0 ? schedule->step({x}, {.target = y, .losses = &seen})
                                  : schedule->step({}, {.target = y, .losses = &seen});
    bool has_last = false;
    for (size_t i = 0; i < modules.size(); ++i) {
      const int64_t index = stages[i].stage_index();
      expect_same_parameters(*modules[i], *twin.layers[static_cast<size_t>(index)], 0, /*gradients=*/true);
      has_last = has_last || index + 1 == count;
    }
    ASSERT_EQ(got.size(), has_last ? 1u : 0u);
    ASSERT_EQ(seen.size(), has_last ? static_cast<size_t>(n) : 0u);
    if (has_last) expect_equal(got[0], output, 0, "output");
    for (size_t m = 0; m < seen.size(); ++m) expect_equal(seen[m], losses[m], 0, c10::str("loss ", m));
    sgd.step();
    sgd.zero_grad();
    twin_sgd.step();
    twin_sgd.zero_grad();
  }
  for (size_t i = 0; i < modules.size(); ++i) {
    expect_same_parameters(*modules[i], *twin.layers[static_cast<size_t>(stages[i].stage_index())], 0);
  }
}

TEST(SchedulesTest, EqualTheModelInOnePieceBitForBit) {
  for (const Kind& kind : kinds()) {
    for (const int ranks : {1, 2, 4}) {
      const int64_t n = 2 * ranks * (kind.there_and_back ? 2 : 1);
      run_group(ranks, [&](int rank, const Group& group) { expect_equal_to_whole(kind, rank, group, n, 3); });
    }
  }
}

TEST(SchedulesTest, RunOnGloo) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  c10d::testing::run_ranks(2, [&](int rank) {
    c10d::init_process_group("gloo", {.world_size = 2, .rank = rank, .store = store});
    for (const Kind& kind : kinds()) expect_equal_to_whole(kind, rank, c10d::get_default_group(), 4, 2);
    // Messages that do not fit into any buffer, both ways at once.
    nn::Linear wide(512, 512);
    PipelineStage stage(wide, rank, 2);
    Schedule1F1B schedule(stage, 4, mean_square);
    const Tensor x = numbers({4 * 1024, 512}, 1);
    for (int i = 0; i < 2; ++i) schedule.step({x}, {.target = x, .return_outputs = false});
    EXPECT_TRUE(wide->weight.grad().defined());
    c10d::destroy_process_group();
  });
}

TEST(SchedulesTest, GradientsAreOfTheMeanOrTheSumAndAddUp) {
  run_group(2, [](int rank, const Group& group) {
    Twin twin(2);
    Sequential own = layer(rank);
    PipelineStage stage(own, rank, 2, c10::kCPU, {group});
    Schedule1F1B schedule(stage, 3, ScheduleOptions(mean_square).scale_grads(false));
    const Tensor x = numbers({6, 6}, 1, at::kDouble), y = numbers({6, 6}, 2, at::kDouble);
    for (int i = 0; i < 2; ++i) {
      twin.step(x, y, 3, /*scale_grads=*/false);
      schedule.step({x}, {.target = y});
    }
    expect_same_parameters(*own, *twin.layers[static_cast<size_t>(rank)], 0, /*gradients=*/true);
  });
}

TEST(SchedulesTest, EvalGoesForwardsOnly) {
  run_group(2, [](int rank, const Group& group) {
    Twin twin(4);
    Sequential down = layer(rank), up = layer(3 - rank);
    const Stages stages{PipelineStage(down, rank, 4, c10::kCPU, {group}),
                        PipelineStage(up, 3 - rank, 4, c10::kCPU, {group})};
    ScheduleZBVZeroBubble schedule(stages, 4, mean_square);
    const Tensor x = numbers({8, 6}, 1, at::kDouble), y = numbers({8, 6}, 2, at::kDouble);
    std::vector<Tensor> losses;
    const Tensors got = schedule.eval({x}, {.target = y, .losses = &losses});
    const auto [output, expected] = twin.step(x, y, 4);
    ASSERT_EQ(got.size(), rank == 0 ? 1u : 0u);
    if (rank == 0) {
      expect_equal(got[0], output, 0, "output");
      EXPECT_FALSE(got[0].requires_grad());
      ASSERT_EQ(losses.size(), 4u);
      expect_equal(losses[3], expected[3], 0, "loss");
    }
    for (const Tensor& p : down->parameters()) EXPECT_FALSE(p.grad().defined());
    // Another size, without a target.
    const Tensors more = schedule.eval({numbers({4, 6}, 1, at::kDouble)});
    if (rank == 0) EXPECT_EQ(more[0].sizes(), (at::IntArrayRef{4, 6}));
    // And with backwards again.
    schedule.step({x}, {.target = y});
    expect_same_parameters(*down, *twin.layers[static_cast<size_t>(rank)], 0, /*gradients=*/true);
    // Without a loss a step goes forwards, too.
    const Tensors plain = ScheduleZBVZeroBubble(stages, 4).step({x});
    if (rank == 0) expect_equal(plain[0], output, 0, "output");
  });
}

// Two outputs, of which one is of integers, and one that the next stage makes no use of.
struct FirstImpl : nn::Module {
  FirstImpl() { register_module("fc", fc); }
  std::tuple<Tensor, Tensor, Tensor> forward(const Tensor& x, const Tensor& ids) { return {fc(x), ids, fc(x) * 2}; }
  nn::Linear fc{4, 4};
};
TORCH_MODULE(First);
struct SecondImpl : nn::Module {
  SecondImpl() { register_module("table", table); }
  Tensor forward(const Tensor& h, const Tensor& ids, const Tensor& unused) { return h + table(ids); }
  nn::Embedding table{5, 4};
};
TORCH_MODULE(Second);

TEST(SchedulesTest, StagesPassOnSeveralTensorsOfAnyKind) {
  const Tensor x = numbers({4, 4}, 1), ids = at::remainder(at::arange(4), 5), y = numbers({4, 4}, 2);
  for (const bool splits : {false, true}) {
    run_group(2, [&](int rank, const Group& group) {
      First first;
      Second second;
      fill(*first, 1);
      fill(*second, 5);
      const auto options = ScheduleOptions(mean_square).args_chunk_spec({TensorChunkSpec(0), TensorChunkSpec(-1)});
      const PipelineStage stage =
          rank == 0 ? PipelineStage(first, 0, 2, c10::kCPU, {group}) : PipelineStage(second, 1, 2, c10::kCPU, {group});
      const auto order = splits ? interleaved_zero_bubble_order(2, 1, 2) : one_forward_one_backward_order(2, 2);
      PipelineScheduleSingle(stage, 2, options, order).step({x, ids}, {.target = y});
      First whole;
      Second above;
      fill(*whole, 1);
      fill(*above, 5);
      for (int64_t m = 0; m < 2; ++m) {
        const auto [h, i, unused] = whole->forward(x.narrow(0, 2 * m, 2), ids.narrow(0, 2 * m, 2));
        mean_square(above->forward(h, i, unused), y.narrow(0, 2 * m, 2)).backward(at::full({}, 0.5));
      }
      if (rank == 0) expect_same_parameters(*first, *whole, 0, /*gradients=*/true);
      if (rank == 1) expect_same_parameters(*second, *above, 0, /*gradients=*/true);
    });
  }
}

TEST(SchedulesTest, AComputationWaitsForItsOwnMessageOnly) {
  // Rank 1 has asked for microbatch 1 when it computes microbatch 0, and rank 0 sends it only after that.
  const PipelineOrder order = parse_csv(
      "0F0,0SEND_F0,0RECV_B0,0B0,0F1,0SEND_F1,0RECV_B1,0B1\n"
      "1RECV_F0,1RECV_F1,1F0,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n");
  run_group(2, [&](int rank, const Group& group) {
    Twin twin(2);
    Sequential own = layer(rank);
    PipelineScheduleSingle schedule(PipelineStage(own, rank, 2, c10::kCPU, {group}), 2, mean_square, order);
    EXPECT_EQ(schedule.pipeline_order(), order);
    const Tensor x = numbers({4, 6}, 1, at::kDouble), y = numbers({4, 6}, 2, at::kDouble);
    twin.step(x, y, 2);
    schedule.step({x}, {.target = y});
    expect_same_parameters(*own, *twin.layers[static_cast<size_t>(rank)], 0, /*gradients=*/true);
  });
}

TEST(SchedulesTest, ActionsOfParametersCallTheStages) {
  std::vector<std::string> calls;
  run_group(1, [&](int, const Group& group) {
    auto note = [&](const char* what) { return [&calls, what] { calls.push_back(what); }; };
    PipelineStageOptions options(group);
    options.unshard(note("unshard")).reshard(note("reshard")).reduce_grad(note("reduce"));
    PipelineStage stage(layer(0), 0, 1, c10::kCPU, options);
    const Tensor x = numbers({2, 6}, 1, at::kDouble);
    Schedule1F1B(stage, 1, nn::MSELoss()).step({x}, {.target = x});
    const auto order = parse_csv("0UNSHARD,0F0,0B0,0REDUCE_GRAD,0RESHARD\n");
    PipelineScheduleSingle(stage, 1, mean_square, order).step({x}, {.target = x});
  });
  EXPECT_EQ(calls, (std::vector<std::string>{"reduce", "unshard", "reduce", "reshard"}));
}

// --- memory ---

// Counts the activations of its calls that something still holds.
struct LiveImpl : nn::Module {
  LiveImpl() { register_module("fc", fc); }
  Tensor forward(const Tensor& x) {
    const Tensor h = fc(x);
    seen.emplace_back(h.getIntrusivePtr());
    const auto live = std::count_if(seen.begin(), seen.end(), [](const auto& weak) { return !weak.expired(); });
    peak = std::max<int64_t>(peak, live);
    return at::sin(h);  // whose gradient needs h
  }
  nn::Linear fc{4, 4};
  std::vector<c10::weak_intrusive_ptr<c10::TensorImpl>> seen;
  int64_t peak = 0;
};
TORCH_MODULE(Live);

TEST(SchedulesTest, HoldNoMoreActivationsThanTheSimulatorSays) {
  for (const Kind& kind : kinds()) {
    run_group(4, [&](int rank, const Group& group) {
      Stages stages;
      std::vector<Live> modules;
      for (const int64_t index : stages_of(kind, rank, 4)) {
        modules.emplace_back();
        stages.emplace_back(modules.back(), index, 4 * kind.stages_per_rank, c10::kCPU, PipelineStageOptions(group));
      }
      const auto schedule = kind.make(stages, 12, mean_square);
      const Tensor x = at::ones({12, 4});
      schedule->step({x}, {.target = x, .return_outputs = false});
      // A stage's peak may come at another time than the other's.
      int64_t most = 0, all = 0;
      for (const Live& module : modules) {
        most = std::max(most, module->peak);
        all += module->peak;
        for (const auto& weak : module->seen) EXPECT_TRUE(weak.expired()) << kind.name;
      }
      const int64_t expected = simulate(schedule->pipeline_order()).ranks[static_cast<size_t>(rank)].peak_activations;
      EXPECT_LE(most, expected) << kind.name << ", rank " << rank;
      // What only the gradient of an input needs, as h here, is free when that is known.
      if (to_csv(schedule->pipeline_order()).find('I') == std::string::npos) {
        EXPECT_GE(all, expected) << kind.name << ", rank " << rank;
      }
    });
  }
}

// --- time ---

// A stage that takes 4 ms forwards, 4 for the gradient of its input and 4 for that of its weight, whatever the machine.
constexpr std::chrono::milliseconds kTick(4);
struct Nap : autograd::Function<Nap> {
  static Tensor forward(autograd::AutogradContext* ctx, const Tensor& x, const Tensor& w) {
    std::this_thread::sleep_for(kTick);
    return x * w;
  }
  static autograd::variable_list backward(autograd::AutogradContext* ctx, const autograd::variable_list& grads) {
    if (ctx->needs_input_grad(0)) std::this_thread::sleep_for(kTick);
    if (ctx->needs_input_grad(1)) std::this_thread::sleep_for(kTick);
    return {grads[0], grads[0].sum().reshape({1})};
  }
};
struct NapsImpl : nn::Module {
  Tensor forward(const Tensor& x) { return Nap::apply(x, weight); }
  Tensor weight = register_parameter("weight", at::ones({1}));
};
TORCH_MODULE(Naps);

TEST(SchedulesTest, TakeAsLongAsTheSimulatorSays) {
  constexpr int kRanks = 4;
  CostModel costs;
  costs.duration = [](const Action& action) {
    double ticks = 0;
    for (const Action& part : action.sub_actions.empty() ? std::vector<Action>{action} : action.sub_actions) {
      const auto type = part.computation_type;
      // The first stage has no gradients of inputs to compute.
      if (type == ComputationType::FORWARD || type == ComputationType::BACKWARD_WEIGHT) ticks += 1;
      if (type == ComputationType::FULL_BACKWARD) ticks += part.stage_index == 0 ? 1 : 2;
      if (type == ComputationType::BACKWARD_INPUT) ticks += part.stage_index == 0 ? 0 : 1;
    }
    return ticks * std::chrono::duration<double>(kTick).count();
  };
  for (const Kind& kind : kinds()) {
    double measured = 1e9, simulated = 0, one_by_one = 0;
    const auto run_once = [&](int rank, const Group& group) {
      Stages stages;
      for (const int64_t index : stages_of(kind, rank, kRanks)) {
        stages.emplace_back(Naps(), index, kRanks * kind.stages_per_rank, c10::kCPU, PipelineStageOptions(group));
      }
      const auto schedule = kind.make(stages, 8, mean_square);
      const Tensor x = at::ones({8, 1});
      group->barrier()->wait();
      const auto began = std::chrono::steady_clock::now();
      schedule->step({x}, {.target = x});
      group->barrier()->wait();
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
      if (rank != 0) return;
      measured = std::min(measured, took.count());
      const Simulation simulation = simulate(schedule->pipeline_order(), costs);
      simulated = simulation.step_time;
      one_by_one = 0;
      for (const SimulatedRank& other : simulation.ranks) one_by_one += other.busy;
    };
    // How much longer depends on what else the machine does.
    run_group(kRanks, run_once);
    for (int again = 0; again < 5 && measured > simulated * 1.5; ++again) run_group(kRanks, run_once);
    std::printf("%-22s simulated %.1f ms, measured %.1f ms\n", kind.name, simulated * 1e3, measured * 1e3);
    EXPECT_GT(measured, simulated * 0.99) << kind.name;
    EXPECT_LT(measured, one_by_one * 0.8) << kind.name;
  }
}

// --- with data parallelism ---

TEST(DataParallelPipelineTest, EqualsTheWholeModel) {
  for (const bool splits : {false, true}) {
    tensor::testing::run_mesh(
        {2, 2},
        [&](const tensor::DeviceMesh& mesh) {
          const int64_t part = mesh.get_local_rank("dp"), index = mesh.get_local_rank("pp");
          nn::parallel::DistributedDataParallel ddp(layer(index), {mesh.get_group("dp")});
          const PipelineStage stage = build_stage(ddp, index, PipeInfo{2}, c10::kCPU, {mesh.get_group("pp")});
          const auto order = splits ? interleaved_zero_bubble_order(2, 1, 4) : one_forward_one_backward_order(2, 4);
          PipelineScheduleSingle schedule(stage, 4, mean_square, order);
          Twin twin(2);
          optim::SGD sgd(ddp->parameters(), 0.1), twin_sgd(twin.parameters(), 0.1);
          for (int step = 0; step < 4; ++step) {
            const Tensor x = numbers({16, 6}, 100 + step, at::kDouble), y = numbers({16, 6}, 200 + step, at::kDouble);
            schedule.step({x.narrow(0, 8 * part, 8)}, {.target = y.narrow(0, 8 * part, 8)});
            twin.step(x, y, 8);
            const auto mine = ddp->module->parameters();
            const auto theirs = twin.layers[static_cast<size_t>(index)]->parameters();
            for (size_t i = 0; i < mine.size(); ++i) {
              expect_equal(mine[i].grad(), theirs[i].grad(), 1e-12, c10::str("gradient ", i, " of step ", step));
            }
            sgd.step();
            sgd.zero_grad();
            twin_sgd.step();
            twin_sgd.zero_grad();
          }
        },
        {"dp", "pp"});
  }
}

TEST(DataParallelPipelineTest, AnExceptionEndsAllPipelines) {
  std::vector<std::string> errors(4);
  const auto began = std::chrono::steady_clock::now();
  tensor::testing::run_mesh({2, 2},
                            [&](const tensor::DeviceMesh& mesh) {
                              const int64_t part = mesh.get_local_rank("dp"), index = mesh.get_local_rank("pp");
                              nn::parallel::DistributedDataParallel ddp(layer(index), {mesh.get_group("dp")});
                              const PipelineStage stage(ddp, index, 2, c10::kCPU, {mesh.get_group("pp")});
                              Schedule1F1B schedule(stage, 2, [&](const Tensor& output, const Tensor& target) {
                                TORCH_CHECK(part == 0, "no more of this");
                                return mean_square(output, target);
                              });
                              const Tensor x = numbers({4, 6}, 1, at::kDouble);
                              errors[static_cast<size_t>(2 * part + index)] =
                                  message_of([&] { schedule.step({x}, {.target = x}); });
                            },
                            {"dp", "pp"});
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
  for (const std::string& error : errors) EXPECT_NE(error.find("no more of this"), std::string::npos) << error;
}

TEST(DataParallelPipelineTest, OptionsThatNeedTheOutputsThrow) {
  run_group(1, [](int, const Group& group) {
    nn::parallel::DistributedDataParallelOptions options(group);
    nn::parallel::DistributedDataParallel ddp(layer(0), options.find_unused_parameters(true));
    EXPECT_NE(message_of([&] { PipelineStage(ddp, 0, 1, c10::kCPU, {group}); }).find("find_unused_parameters"),
              std::string::npos);
  });
}

// --- a transformer ---

struct BlockImpl : nn::Module {
  BlockImpl() {
    register_module("norm", norm);
    register_module("qkv", qkv);
    register_module("out", out);
    register_module("up", up);
    register_module("down", down);
  }
  Tensor forward(const Tensor& x) {
    std::vector<Tensor> parts = qkv(norm(x)).chunk(3, -1);
    for (Tensor& p : parts) p = p.view({x.size(0), x.size(1), 2, 8}).transpose(1, 2);
    const Tensor y = at::scaled_dot_product_attention(parts[0], parts[1], parts[2], {}, 0.0, /*is_causal=*/true);
    const Tensor h = x + out(y.transpose(1, 2).reshape(x.sizes()));
    return h + down(at::gelu(up(h)));
  }
  nn::LayerNorm norm{nn::LayerNormOptions({16})};
  nn::Linear qkv{16, 48}, out{16, 16}, up{16, 32}, down{32, 16};
};
TORCH_MODULE(Block);
struct EmbeddingsImpl : nn::Module {
  EmbeddingsImpl() {
    register_module("tokens", tokens);
    register_module("positions", positions);
  }
  Tensor forward(const Tensor& ids) { return tokens(ids) + positions(at::arange(ids.size(1))); }
  nn::Embedding tokens{11, 16}, positions{8, 16};
};
TORCH_MODULE(Embeddings);

Sequential gpt() {
  Sequential blocks;
  for (int i = 0; i < 4; ++i) blocks->push_back(Block());
  Sequential model({{"embeddings", Embeddings()},
                    {"blocks", blocks},
                    {"norm", nn::LayerNorm(nn::LayerNormOptions({16}))},
                    {"head", nn::Linear(16, 11)}});
  fill(*model, 1);
  return model;
}
Tensor next_token_loss(const Tensor& logits, const Tensor& ids) {
  return at::cross_entropy_loss(logits.view({-1, 11}), ids.reshape({-1}));
}

TEST(TransformerPipelineTest, TrainsAsInOneProcess) {
  constexpr int kSteps = 20;
  for (const int ranks : {2, 4}) {
    run_group(ranks, [&](int rank, const Group& group) {
      Sequential whole = gpt(), parted = gpt();
      std::map<std::string, SplitPoint> spec{{"blocks.2", SplitPoint::BEGINNING}};
      if (ranks == 4)
        spec = {{"embeddings", SplitPoint::END}, {"blocks.1", SplitPoint::END}, {"blocks.3", SplitPoint::END}};
      const Pipe pipe = pipeline(parted, spec);
      ASSERT_EQ(pipe.num_stages(), ranks);
      Sequential own = pipe.get_stage_module(rank);
      const PipelineStage stage = pipe.build_stage(rank, c10::kCPU, {group});
      PipelineScheduleSingle schedule(
          stage, 4, next_token_loss,
          ranks == 2 ? one_forward_one_backward_order(2, 4) : interleaved_zero_bubble_order(4, 1, 4));
      optim::AdamW adam(own->parameters(), optim::AdamWOptions(1e-2)),
          whole_adam(whole->parameters(), optim::AdamWOptions(1e-2));
      const auto theirs = whole->named_parameters();
      for (int step = 0; step < kSteps; ++step) {
        const Tensor ids = at::remainder(at::arange(8 * 9).add(step * 5).square().view({8, 9}), 11);
        const Tensor x = ids.narrow(1, 0, 8).contiguous(), y = ids.narrow(1, 1, 8).contiguous();
        std::vector<Tensor> losses;
        schedule.step({x}, {.target = y, .losses = &losses, .return_outputs = false});
        for (int64_t m = 0; m < 4; ++m) {
          const Tensor loss = next_token_loss(whole->forward(x.narrow(0, 2 * m, 2)), y.narrow(0, 2 * m, 2));
          if (!losses.empty()) expect_equal(losses[static_cast<size_t>(m)], loss, 0, c10::str("loss of step ", step));
          loss.backward(at::full({}, 0.25));
        }
        adam.step();
        adam.zero_grad();
        whole_adam.step();
        whole_adam.zero_grad();
      }
      size_t compared = 0;
      for (const auto& item : own->named_parameters()) {
        expect_equal(item.value(), theirs[item.key()], 0, item.key());  // under the names of the whole model
        ++compared;
      }
      EXPECT_GT(compared, 0u);
    });
  }
}

TEST(PipeTest, CutsSequencesAtAnyDepth) {
  Sequential inner(nn::Linear(2, 2), nn::Tanh(), nn::Linear(2, 2));
  Sequential model({{"in", nn::Linear(3, 2)}, {"inner", inner}, {"out", nn::Linear(2, 1)}});
  const auto names = [](const Pipe& pipe) {
    std::vector<std::string> all;
    for (int64_t i = 0; i < pipe.num_stages(); ++i) {
      std::string text;
      for (const auto& item : pipe.get_stage_module(i)->named_parameters()) text += item.key() + " ";
      all.push_back(text);
    }
    return all;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names(pipeline(model, {})).size(), 1u);
  EXPECT_EQ(
      names(pipeline(model, {{"inner.2", SplitPoint::BEGINNING}})),
      (Names{"in.weight in.bias inner.0.weight inner.0.bias ", "inner.2.weight inner.2.bias out.weight out.bias "}));
  EXPECT_EQ(names(pipeline(model, {{"in", SplitPoint::END}, {"inner", SplitPoint::END}})).size(), 3u);
  EXPECT_EQ(
      names(pipeline(model, {{"in", SplitPoint::END}, {"inner.0", SplitPoint::END}, {"out", SplitPoint::BEGINNING}})),
      (Names{"in.weight in.bias ", "inner.0.weight inner.0.bias ", "inner.2.weight inner.2.bias ",
             "out.weight out.bias "}));
  // At the edge of a sequence within.
  EXPECT_EQ(names(pipeline(model, {{"inner.0", SplitPoint::BEGINNING}, {"inner.2", SplitPoint::END}})),
            (Names{"in.weight in.bias ", "inner.0.weight inner.0.bias inner.2.weight inner.2.bias ",
                   "out.weight out.bias "}));
  // The model's own parameters.
  EXPECT_TRUE(pipeline(model, {}).get_stage_module(0)->parameters()[0].is_same(model->parameters()[0]));
  for (const auto& [spec, word] : std::vector<std::pair<std::map<std::string, SplitPoint>, std::string>>{
           {{{"middle", SplitPoint::END}}, "split_spec names middle"},
           {{{"in.weight", SplitPoint::END}}, "split_spec names in.weight"},
           {{{"inner.7", SplitPoint::END}}, "split_spec names inner.7"},
           {{{"in", SplitPoint::BEGINNING}}, "without modules"},
           {{{"out", SplitPoint::END}}, "without modules"},
           {{{"inner.0", SplitPoint::END}, {"inner.1", SplitPoint::BEGINNING}}, "without modules"},
           {{{"in", SplitPoint::END}, {"inner", SplitPoint::BEGINNING}}, "without modules"}}) {
    EXPECT_NE(message_of([&] { pipeline(model, spec); }).find(word), std::string::npos) << word;
  }
  EXPECT_THROW(pipeline(model, {}).get_stage_module(1), c10::IndexError);
}

// --- errors ---

TEST(FaultsTest, WrongSizesThrowOnAllRanks) {
  struct Case {
    at::Tensor x;
    PipelineStageOptions options;
    std::string word;
  };
  const Tensor good = numbers({8, 6}, 1, at::kDouble), small = numbers({2, 6}, 1, at::kDouble);
  for (const Case& c : std::vector<Case>{
           {numbers({9, 6}, 1, at::kDouble),
            {},
            "microbatch 1 of stage 0 has inputs ([2, 6] of Double), but others of this step have ([3, 6] of Double)"},
           {numbers({3, 6}, 1, at::kDouble), {}, "cannot be split into 4 chunks"},
           {good, PipelineStageOptions().input_args({numbers({4, 6}, 1, at::kDouble)}),
            "was made for ([4, 6] of Double)"},
           {good, PipelineStageOptions().output_args({at::empty({2, 6})}),
            "has outputs ([2, 6] of Double), but the stage was made for ([2, 6] of Float)"},
           {good, PipelineStageOptions().input_args({small}).output_args({small}), ""}}) {
    const auto errors = c10d::testing::errors_of_group(2, [&](int rank, const Group& group) {
      Sequential own = layer(rank);
      PipelineStageOptions options = c.options;
      PipelineStage stage(own, rank, 2, c10::kCPU, options.group(group));
      try {
        Schedule1F1B(stage, 4, mean_square).step({c.x}, {.target = good});
      } catch (const PipeliningShapeError&) {
        EXPECT_EQ(c.word.find("cannot be split"), std::string::npos);
        throw;
      }
    });
    for (const std::string& error : errors) {
      EXPECT_EQ(error.empty(), c.word.empty()) << error;
      EXPECT_NE(error.find(c.word), std::string::npos) << error;
    }
  }
}

TEST(FaultsTest, BadArgumentsThrow) {
  run_group(2, [](int rank, const Group& group) {
    Sequential own = layer(rank);
    const auto expect = [&](const std::string& word, const std::function<void()>& body) {
      EXPECT_THROW(body(), c10::ValueError) << word;
      EXPECT_NE(message_of(body).find(word), std::string::npos) << message_of(body);
    };
    const auto stage = [&](int64_t index, int64_t count) {
      return PipelineStage(own, index, count, c10::kCPU, {group});
    };
    expect("stage_index 2 is not below", [&] { stage(2, 2); });
    expect("stage_index -1", [&] { stage(-1, 2); });
    expect("is no multiple of the 2 ranks", [&] { stage(0, 3); });
    expect("the submodule is null",
           [&] { PipelineStage(std::shared_ptr<nn::LinearImpl>(), 0, 2, c10::kCPU, {group}); });
    expect("at least as many microbatches as ranks", [&] { Schedule1F1B(stage(rank, 2), 1, mean_square); });
    expect("at least as many microbatches as stages", [&] {
      ScheduleDualPipeV({stage(rank, 4), stage(3 - rank, 4)}, 3, mean_square);
    });
    expect("expected 2 stages on each rank", [&] { ScheduleZBVZeroBubble({stage(rank, 2)}, 2, mean_square); });
    expect("no stages were given", [&] { ScheduleLoopedBFS({}, 2, mean_square); });
    expect("which the schedule has on rank", [&] { ScheduleGPipe(stage(1 - rank, 2), 2, mean_square); });
    expect("but stage " + std::to_string(rank) + " is one of 4",
           [&] { ScheduleGPipe(stage(rank, 4), 2, mean_square); });
    expect("once, but was 0 times",
           [&] { PipelineScheduleMulti({stage(rank, 4)}, 2, mean_square, looped_bfs_order(2, 2, 2)); });
    expect("n_microbatches is 3", [&] { PipelineScheduleSingle(stage(rank, 2), 3, mean_square, gpipe_order(2, 2)); });
    expect("the group has 2", [&] { PipelineScheduleSingle(stage(rank, 2), 2, mean_square, gpipe_order(1, 2)); });
    expect("cannot go on", [&] {
      PipelineScheduleSingle(stage(rank, 2), 2, mean_square, parse_csv("0F0,0B0,0F1,0B1\n1F1,1F0,1B0,1B1\n"));
    });
    {
      const c10::NoGradGuard no_grad;
      EXPECT_NE(
          message_of([&] { ScheduleGPipe(stage(rank, 2), 2, mean_square).step(); }).find("gradients are not recorded"),
          std::string::npos);
    }
  });
  // These are found out in the step, and end it on all ranks.
  const auto errors = c10d::testing::errors_of_group(2, [](int rank, const Group& group) {
    Sequential own = layer(rank);
    Schedule1F1B(PipelineStage(own, rank, 2, c10::kCPU, {group}), 2, mean_square)
        .step({numbers({2, 6}, 1, at::kDouble)});
  });
  for (const std::string& error : errors) EXPECT_NE(error.find("needs the target"), std::string::npos) << error;
}

TEST(MicrobatchTest, SplitsAndMerges) {
  const Tensor a = at::arange(12).view({4, 3}), b = at::arange(7);
  const auto chunks = split_args_into_chunks({a, b}, 3, {TensorChunkSpec(1), TensorChunkSpec::replicate()});
  ASSERT_EQ(chunks.size(), 3u);
  EXPECT_TRUE(at::equal(chunks[1][0], a.narrow(1, 1, 1)));
  EXPECT_TRUE(chunks[2][1].is_same(b));
  const Tensors merged = merge_chunks(chunks, {TensorChunkSpec(1), TensorChunkSpec::replicate()});
  EXPECT_TRUE(at::equal(merged[0], a));
  EXPECT_TRUE(at::equal(merged[1], b));
  EXPECT_EQ(split_args_into_chunks({b}, 3)[0][0].size(0), 3);
  EXPECT_EQ(split_args_into_chunks({b}, 3)[2][0].size(0), 2);
  EXPECT_TRUE(split_args_into_chunks({}, 3)[2].empty());
  EXPECT_THROW(split_args_into_chunks({b}, 8), c10::ValueError);
  EXPECT_THROW(split_args_into_chunks({b}, 0), c10::ValueError);
  EXPECT_THROW(split_args_into_chunks({b}, 2, {TensorChunkSpec(1)}), c10::ValueError);
  EXPECT_THROW(split_args_into_chunks({a, b}, 2, {TensorChunkSpec(0)}), c10::ValueError);
  EXPECT_THROW(merge_chunks({{a}, {a, b}}), c10::ValueError);
}

// --- backward in two ---

// x w, which counts the products of its backward pass.
int products_of_inputs = 0, products_of_weights = 0;
struct CountedProduct : autograd::Function<CountedProduct> {
  static Tensor forward(autograd::AutogradContext* ctx, const Tensor& x, const Tensor& w) {
    ctx->save_for_backward({x, w});
    return at::matmul(x, w);
  }
  static autograd::variable_list backward(autograd::AutogradContext* ctx, const autograd::variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    Tensor of_x, of_w;
    if (ctx->needs_input_grad(0)) {
      ++products_of_inputs;
      of_x = at::matmul(grads[0], saved[1].t());
    }
    if (ctx->needs_input_grad(1)) {
      ++products_of_weights;
      of_w = at::matmul(saved[0].t(), grads[0]);
    }
    return {of_x, of_w};
  }
};

TEST(SplitBackwardTest, ComputesNothingTwice) {
  const auto leaf = [](int seed) { return numbers({3, 3}, seed, at::kDouble).requires_grad_(true); };
  // Both weights are used twice, once before and once behind each other; one only beside the input.
  std::vector<Tensor> one{leaf(1), leaf(2), leaf(3), leaf(4)}, two{leaf(1), leaf(2), leaf(3), leaf(4)};
  const auto compute = [](const std::vector<Tensor>& t) {
    Tensor h = at::tanh(CountedProduct::apply(t[0], t[1]));
    h.register_hook([](const Tensor& g) { return g * 2; });
    h = at::tanh(CountedProduct::apply(h, t[2])) + CountedProduct::apply(t[3], t[1]);
    return CountedProduct::apply(h, t[1]);
  };
  const Tensor gradient = numbers({3, 3}, 9, at::kDouble);
  compute(one).backward(gradient);
  EXPECT_EQ(products_of_inputs, 4);
  EXPECT_EQ(products_of_weights, 4);
  products_of_inputs = products_of_weights = 0;

  const Tensor y = compute(two);
  auto [of_inputs, rest] = backward_input({autograd::gradient_edge(y)}, {gradient}, {two[0]});
  EXPECT_EQ(products_of_inputs, 3);
  EXPECT_EQ(products_of_weights, 0);
  expect_equal(of_inputs[0], one[0].grad(), 0, "of the input");
  for (const Tensor& t : two) EXPECT_FALSE(t.grad().defined());
  rest.run();
  EXPECT_EQ(products_of_inputs, 4);  // that of the leaf beside
  EXPECT_EQ(products_of_weights, 4);
  EXPECT_FALSE(two[0].grad().defined());
  for (size_t i = 1; i < 4; ++i) expect_equal(two[i].grad(), one[i].grad(), 1e-15, c10::str("of leaf ", i));
  rest.run();  // once only
  EXPECT_EQ(products_of_weights, 4);
}

// How many products of matrices `body` computes.
template <class Body>
int products_in(const Body& body) {
  using namespace autograd::profiler;
  enableProfiler(ProfilerConfig(ProfilerState::CPU), {ActivityType::CPU});
  body();
  const auto result = disableProfiler();
  int products = 0;
  for (const auto& event : result->events()) products += event.name() == "aten::mm";
  return products;
}

TEST(SplitBackwardTest, OperatorsComputeNothingTwice) {
  Sequential net(nn::Linear(4, 4), nn::Tanh(), nn::Linear(4, 4), nn::Tanh(), nn::Linear(4, 4));
  const Tensor x = numbers({2, 4}, 1).requires_grad_(true), gradient = numbers({2, 4}, 2);
  const Tensor whole = net->forward(x), parted = net->forward(x);
  EXPECT_EQ(products_in([&] { whole.backward(gradient); }), 6);
  std::pair<autograd::variable_list, WeightBackward> both;
  EXPECT_EQ(products_in([&] { both = backward_input({autograd::gradient_edge(parted)}, {gradient}, {x}); }), 3);
  EXPECT_EQ(products_in([&] { both.second.run(); }), 3);
  expect_equal(both.first[0], x.grad(), 0, "of the input");
}

TEST(SplitBackwardTest, TakesGraphsOfAnyForm) {
  // A result that is the input itself, and one that does not depend on it.
  const Tensor x = numbers({3}, 1, at::kDouble).requires_grad_(true),
               w = numbers({3}, 2, at::kDouble).requires_grad_(true);
  const Tensor g = numbers({3}, 3, at::kDouble), y = w * 3;
  auto [gradients, rest] = backward_input({autograd::gradient_edge(x), autograd::gradient_edge(y), {}}, {g, g, g}, {x});
  expect_equal(gradients[0], g, 0, "through nothing");
  rest.run();
  expect_equal(w.grad(), g * 3, 0, "beside");
  // Nothing at all depends on it.
  const Tensor z = numbers({3}, 1, at::kDouble).requires_grad_(true);
  auto [none, all] = backward_input({autograd::gradient_edge(w * 2)}, {g}, {z});
  EXPECT_FALSE(none[0].defined());
  all.run();
  expect_equal(w.grad(), g * 5, 1e-15, "all");
  // Deep.
  Tensor h = x;
  for (int i = 0; i < 100000; ++i) h = h + w;
  std::tie(gradients, rest) = backward_input({autograd::gradient_edge(h)}, {g}, {x});
  expect_equal(gradients[0], g, 0, "deep");
  rest.run();
  expect_equal(w.grad(), g * 100005, 1e-9, "deep");
}

}  // namespace
}  // namespace torch::distributed::pipelining
