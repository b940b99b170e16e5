// The GPT of examples/gpt by two processes, with dropout, beside one process: the same bits for losses, parameters and
// optimizer state over 50 steps. By four processes, two by two, with tensor parallelism or a pipeline along the other
// dimension, whose sums have another order: the same to 1e-9.
//
// Each rank has its own part of the batch and its own masks. The single process computes both parts one after the
// other, each with the random numbers that its rank draws, and halves their losses: halving is exact, and the sum of
// two does not depend on their order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "c10/testing/files.h"
#include "distributed/fsdp/clip_grad.h"
#include "distributed/fsdp/full_state_dict.h"
#include "distributed/fsdp/fully_shard.h"
#include "distributed/pipeline/orders.h"
#include "distributed/pipeline/schedules.h"
#include "distributed/process_group/init.h"
#include "distributed/store/file_store.h"
#include "distributed/tensor/dtensor.h"
#include "distributed/tensor/init_device_mesh.h"
#include "distributed/tensor/parallel/loss_parallel.h"
#include "distributed/tensor/parallel/style.h"
#include "distributed/testing/run_processes.h"
#include "examples/gpt/model.h"

namespace torch::distributed::fsdp {
namespace {

constexpr int64_t kSteps = 50, kRows = 4;
const ReshardAfterForward kPolicies[] = {ReshardAfterForward(), ReshardAfterForward(false)};

struct LossImpl : nn::Module {
  LossImpl()
      : model(gpt::ModelOptions{.vocabulary = 16, .layers = 2, .heads = 2, .width = 16, .context = 8, .dropout = 0.1}) {
    register_module("model", model);
  }
  Tensor forward(const Tensor& words) {
    const Tensor loss = model->loss(words.narrow(1, 0, 8), words.narrow(1, 1, 8));
    return tensor::DTensor::is(loss) ? tensor::DTensor(loss).to_local() : loss;
  }
  gpt::Gpt model;
};
TORCH_MODULE(Loss);

Loss make() {
  torch::manual_seed(1);
  return Loss();
}

// A rank's part of a step's batch, and the numbers that it draws for it.
Tensor part(int64_t step, int64_t rank) {
  torch::manual_seed(static_cast<uint64_t>(1000 + 2 * step + rank));
  const Tensor words = torch::arange(kRows * 9).mul(3).add(step * step).remainder(16).view({kRows, 9});
  return words.narrow(0, rank * kRows / 2, kRows / 2);
}

void check_same(const Tensor& mine, const Tensor& twin, int64_t step, const std::string& name, double tolerance) {
  const double off = (mine - twin).abs().max().item<double>();
  TORCH_CHECK(off <= tolerance && mine.sizes() == twin.sizes() && mine.dtype() == twin.dtype(), "step ", step, ": ",
              name, " differs by up to ", off);
}

// Of a module and its optimizer, whose state is not of one rank, beside those of one process.
void check_states(nn::ModuleRef mine, torch::optim::Optimizer& of_mine, nn::Module& twin,
                  torch::optim::Optimizer& of_twin, int64_t step, double tolerance) {
  const FullStateDict of_model(mine), of_optimizer(of_mine);
  const nn::StateDict state = mine->state_dict(), expected = twin.state_dict();
  for (const auto& item : expected) check_same(state[item.key()], item.value(), step, item.key(), tolerance);
  const optim::StateDict moments = of_mine.state_dict(), expected_moments = of_twin.state_dict();
  for (size_t i = 0; i < twin.parameters().size(); ++i) {
    for (const char* name : {".exp_avg", ".exp_avg_sq"}) {
      const std::string path = "state." + std::to_string(i) + name;
      check_same(moments.tensor(path), expected_moments.tensor(path), step, path, tolerance);
    }
  }
}

void shard_all(Loss& loss, const tensor::DeviceMesh& mesh, const ReshardAfterForward& policy) {
  for (const gpt::Block& block : loss->model->layers()) {
    fully_shard(block, FullyShardOptions(mesh).reshard_after_forward(policy));
  }
  fully_shard(loss, FullyShardOptions(mesh).reshard_after_forward(policy));
}

const gpt::OptimizerSettings kSettings{.learning_rate = 1e-2};

// Trains `nets`, which are distributed, each on this rank's half of each batch, beside one process.
void train(std::vector<Loss> nets, Loss twin, int64_t row, double tolerance, bool clips) {
  std::vector<torch::optim::AdamW> optimizers;
  for (Loss& loss : nets) optimizers.push_back(gpt::make_optimizer(loss->model, kSettings));
  torch::optim::AdamW theirs = gpt::make_optimizer(twin->model, kSettings);
  double first = 0, last = 0;
  for (int64_t step = 0; step < kSteps; ++step) {
    theirs.zero_grad();
    for (int64_t other = 0; other < 2; ++other) {
      const Tensor expected = twin(part(step, other));
      if (other == row) last = expected.item<double>();
      (expected / 2).backward();
    }
    const double norm = clips ? torch::nn::utils::clip_grad_norm_(twin->parameters(), 0.5) : 0;
    theirs.step();
    for (size_t i = 0; i < nets.size(); ++i) {
      Loss& loss = nets[i];
      optimizers[i].zero_grad();
      const Tensor value = loss(part(step, row));
      TORCH_CHECK(std::abs(value.item<double>() - last) <= tolerance, "step ", step, ": the loss is ",
                  value.item<double>(), ", not ", last);
      value.backward();
      if (clips) {
        const double mine = clip_grad_norm_(loss->parameters(), 0.5);
        TORCH_CHECK(std::abs(mine - norm) < 1e-9 * norm, "step ", step, ": the norm is ", mine, ", not ", norm);
      }
      optimizers[i].step();
      if (step % 25 == 24) check_states(loss, optimizers[i], *twin, theirs, step, tolerance);
    }
    if (step == 0) first = last;
  }
  TORCH_CHECK(last < 0.8 * first, "the loss went from ", first, " to ", last);
}

TEST(FullyShardGpt, TrainsAsOneProcessBitForBitWithDropout) {
  const std::string folder = c10::testing::fresh_folder();
  const auto ended = c10d::testing::run_processes(2, [&](int rank) {
    torch::set_num_threads(1);
    const auto store = c10::make_intrusive<c10d::FileStore>(folder + "/store", 2);
    init_process_group("gloo", {.timeout = std::chrono::seconds(20), .world_size = 2, .rank = rank, .store = store});
    std::vector<Loss> nets;
    for (const ReshardAfterForward& policy : kPolicies) {
      nets.push_back(make());
      shard_all(nets.back(), init_device_mesh(torch::kCPU, {2}), policy);
    }
    train(nets, make(), rank, 0, /*clips=*/false);
    destroy_process_group();
  });
  for (size_t rank = 0; rank < ended.size(); ++rank) {
    EXPECT_EQ(ended[rank].exit_code, 0) << "rank " << rank << ": " << ended[rank].error;
  }
}

// Runs `body` on four ranks, in two rows of two.
void run_two_by_two(const std::string& columns, const std::function<void(const tensor::DeviceMesh&)>& body) {
  const std::string folder = c10::testing::fresh_folder();
  const auto ended = c10d::testing::run_processes(
      4,
      [&](int rank) {
        torch::set_num_threads(1);
        const auto store = c10::make_intrusive<c10d::FileStore>(folder + "/store", 4);
        init_process_group("gloo",
                           {.timeout = std::chrono::seconds(20), .world_size = 4, .rank = rank, .store = store});
        body(init_device_mesh(torch::kCPU, {2, 2}, {"dp", columns}));
        destroy_process_group();
      },
      std::chrono::seconds(60));
  for (size_t rank = 0; rank < ended.size(); ++rank) {
    EXPECT_EQ(ended[rank].exit_code, 0) << "rank " << rank << ": " << ended[rank].error;
  }
}

TEST(FullyShardGpt, WithTensorAndSequenceParallelismTrainsAsOneProcess) {
  run_two_by_two("tp", [](const tensor::DeviceMesh& mesh) {
    using namespace tensor::parallel;
    const LinearStyleOptions distributed{.use_local_output = false};
    const Placement sequence = Shard(1);
    const SequenceParallel local(1, /*use_local_output=*/true);
    const ParallelizePlan plans[] = {{{"token_embedding", RowwiseParallel()},
                                      {"blocks.*.qkv", ColwiseParallel(distributed, 3)},
                                      {"blocks.*.attention_out", RowwiseParallel()},
                                      {"blocks.*.expand", ColwiseParallel()},
                                      {"blocks.*.contract", RowwiseParallel()},
                                      {"head", ColwiseParallel(distributed)}},
                                     // What is between these, for a part of the sequence.
                                     {{"token_embedding", RowwiseParallel({.output_layouts = sequence})},
                                      {"position_embedding", RowwiseParallel({.output_layouts = Shard(0)})},
                                      {"dropout", local},
                                      {"blocks.*.*_norm", SequenceParallel()},
                                      {"blocks.*.qkv", ColwiseParallel(distributed, 3)},
                                      {"blocks.*.attention_out", RowwiseParallel({.output_layouts = sequence})},
                                      {"blocks.*.expand", ColwiseParallel()},
                                      {"blocks.*.contract", RowwiseParallel({.output_layouts = sequence})},
                                      {"blocks.*.*_dropout", local},
                                      {"final_norm", SequenceParallel()},
                                      {"head", ColwiseParallel(distributed)}}};
    const auto guard = loss_parallel();
    std::vector<Loss> nets;
    for (size_t i = 0; i < 2; ++i) {
      Loss& loss = nets.emplace_back(make());
      loss->to(torch::kDouble);
      parallelize_module(loss->model, mesh["tp"], plans[i]);
      shard_all(loss, mesh["dp"], kPolicies[i]);
    }
    Loss twin = make();
    twin->to(torch::kDouble);
    train(nets, twin, mesh.get_local_rank("dp"), 1e-9, /*clips=*/true);
  });
}

// Its parameter's gradient needs the parameter, and what gives the result needs neither.
struct GainImpl : nn::Module {
  GainImpl() : gain(register_parameter("gain", torch::ones({16}, torch::kDouble))) {}
  Tensor forward(const Tensor& x) { return x * (gain * gain) + x; }
  TORCH_MODULE_TENSORS(gain)
  Tensor gain;
};
TORCH_MODULE(Gain);

// One half of the layers. Microbatches go through it in order, each with the random numbers of its own.
struct StageImpl : nn::Module {
  StageImpl(gpt::Gpt& model, int64_t number) : index(number) {
    const auto children = model->named_children();
    const auto add = [&](const std::string& name, std::shared_ptr<nn::Module> child) {
      return register_module(name, std::move(child));
    };
    if (index == 0) {
      tokens = torch::nn::Embedding(
          std::dynamic_pointer_cast<nn::EmbeddingImpl>(add("tokens", children["token_embedding"])));
      positions = torch::nn::Embedding(
          std::dynamic_pointer_cast<nn::EmbeddingImpl>(add("positions", children["position_embedding"])));
      dropout = torch::nn::Dropout(std::dynamic_pointer_cast<nn::DropoutImpl>(add("dropout", children["dropout"])));
    }
    block = model->layers()[static_cast<size_t>(index)];
    register_module("block", block);
    register_module("gain", gain);
    if (index == 1) {
      norm = torch::nn::LayerNorm(std::dynamic_pointer_cast<nn::LayerNormImpl>(add("norm", children["final_norm"])));
      head = torch::nn::Linear(std::dynamic_pointer_cast<nn::LinearImpl>(add("head", children["head"])));
    }
  }
  Tensor forward(const Tensor& in) {
    torch::manual_seed(static_cast<uint64_t>(seed++));
    Tensor x = in;
    if (index == 0) x = dropout(tokens(x) + positions(torch::arange(x.size(1), x.options())));
    x = gain(block(x));
    return index == 0 ? x : head(norm(x));
  }
  // To be said before the microbatches of a step.
  void begin(int64_t step, int64_t row) { seed = ((step * 2 + row) * 2 + index) * 100; }

  int64_t index, seed = 0;
  Gain gain;
  torch::nn::Embedding tokens{nullptr}, positions{nullptr};
  torch::nn::Dropout dropout{nullptr};
  gpt::Block block{nullptr};
  torch::nn::LayerNorm norm{nullptr};
  torch::nn::Linear head{nullptr};
};
TORCH_MODULE(Stage);

Tensor loss_of(const Tensor& logits, const Tensor& targets) {
  return torch::nn::functional::cross_entropy(logits.reshape({-1, logits.size(-1)}), targets.reshape({-1}));
}

// A gradient of weights behind a forward, after which the parameters may be gone.
constexpr char kSplitBackwards[] =
    "0F0,0F1,0I0,0W0,0F2,0I1,0W1,0F3,0I2,0W2,0I3,0W3\n1F0,1I0,1F1,1W0,1I1,1F2,1W1,1I2,1F3,1W2,1I3,1W3\n";

// With backwards as one, and in two parts, of inputs and of weights. Gradients are reduced once a step.
TEST(FullyShardGpt, InAPipelineTrainsAsOneProcess) {
  run_two_by_two("pp", [](const tensor::DeviceMesh& mesh) {
    constexpr int64_t kMicrobatches = 4, kRowsOfAll = 2 * kMicrobatches;
    const int64_t row = mesh.get_local_rank("dp"), index = mesh.get_local_rank("pp");
    for (const auto& [splits, policy] :
         {std::pair{false, kPolicies[0]}, std::pair{true, ReshardAfterForward(true)}, std::pair{true, kPolicies[1]}}) {
      gpt::Gpt model = make()->model, twin = make()->model;
      for (gpt::Gpt* one : {&model, &twin}) (*one)->to(torch::kDouble);
      Stage mine(model, index), first(twin, 0), second(twin, 1);
      const FullyShardOptions options = FullyShardOptions(mesh["dp"]).reshard_after_forward(policy);
      fully_shard(mine->block, options);
      fully_shard(mine->gain, options);
      fully_shard(mine, options);
      int64_t reductions = 0;
      Tensor watched = mine->block->parameters()[0];
      watched.register_post_accumulate_grad_hook([&](const Tensor&) { ++reductions; });
      const pipelining::PipelineStage stage(mine, index, 2, torch::kCPU, {mesh.get_group("pp")});
      pipelining::PipelineScheduleSingle schedule(stage, kMicrobatches, loss_of,
                                                  splits
                                                      ? pipelining::parse_csv(kSplitBackwards)
                                                      : pipelining::one_forward_one_backward_order(2, kMicrobatches));
      const auto adam = torch::optim::AdamWOptions(1e-2).weight_decay(0.1);
      torch::optim::AdamW optimizer(mine->parameters(), adam), of_first(first->parameters(), adam),
          of_second(second->parameters(), adam);
      double begin = 0, end = 0;
      for (int64_t step = 0; step < kSteps; ++step) {
        for (torch::optim::AdamW* one : {&optimizer, &of_first, &of_second}) one->zero_grad();
        const Tensor words =
            torch::arange(kRowsOfAll * 9).mul(3).add(step * step).remainder(16).view({2, kMicrobatches, 9});
        const Tensor tokens = words.narrow(2, 0, 8), targets = words.narrow(2, 1, 8);
        mine->begin(step, row);
        std::vector<Tensor> losses;
        schedule.step({tokens[row]}, {.target = targets[row], .losses = &losses, .return_outputs = false});
        TORCH_CHECK(reductions == step + 1, "after step ", step, " gradients were reduced ", reductions, " times");
        for (int64_t other = 0; other < 2; ++other) {
          for (Stage one : {first, second}) one->begin(step, other);
          for (int64_t m = 0; m < kMicrobatches; ++m) {
            const Tensor expected =
                loss_of(second(first(tokens[other].narrow(0, m, 1))), targets[other].narrow(0, m, 1));
            end = expected.item<double>();
            (expected / kRowsOfAll).backward();
            if (other != row || index == 0) continue;
            check_same(losses[static_cast<size_t>(m)], expected.detach(), step, "a loss", 1e-9);
          }
        }
        if (step == 0) begin = end;
        for (torch::optim::AdamW* one : {&optimizer, &of_first, &of_second}) one->step();
        if (step % 25 != 24) continue;
        check_states(mine, optimizer, index == 0 ? *first : *second, index == 0 ? of_first : of_second, step, 1e-9);
      }
      TORCH_CHECK(end < 0.8 * begin, "the loss went from ", begin, " to ", end);
    }
  });
}

// What one rank's forward throws ends the others' steps: those of its pipeline, and those that share its parameters.
TEST(FullyShardGpt, AnErrorInAPipelineEndsAllThatShareParameters) {
  const std::string folder = c10::testing::fresh_folder();
  const auto ended = c10d::testing::run_processes(4, [&](int rank) {
    torch::set_num_threads(1);
    const auto store = c10::make_intrusive<c10d::FileStore>(folder + "/store", 4);
    init_process_group("gloo", {.timeout = std::chrono::seconds(30), .world_size = 4, .rank = rank, .store = store});
    const auto mesh = init_device_mesh(torch::kCPU, {2, 2}, {"dp", "pp"});
    gpt::Gpt model = make()->model;
    model->to(torch::kDouble);
    Stage mine(model, mesh.get_local_rank("pp"));
    fully_shard(mine->block, {mesh["dp"]});
    fully_shard(mine, {mesh["dp"]});
    int64_t calls = 0;
    mine->block->register_forward_pre_hook(
        [&](nn::Module&, const std::vector<Tensor>&) { TORCH_CHECK(rank != 0 || ++calls < 7, "no more layers"); });
    const pipelining::PipelineStage stage(mine, mesh.get_local_rank("pp"), 2, torch::kCPU, {mesh.get_group("pp")});
    pipelining::Schedule1F1B schedule(stage, 4, loss_of);
    try {
      for (int64_t step = 0; step < 1000; ++step) {
        const Tensor words = torch::arange(4 * 9).remainder(16).view({4, 9});
        schedule.step({words.narrow(1, 0, 8)}, {.target = words.narrow(1, 1, 8)});
      }
    } catch (const c10::Error& e) {
      throw std::runtime_error(e.what_without_backtrace());
    }
  });
  for (size_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(ended[rank].exit_code, 1);
    EXPECT_THAT(ended[rank].error, ::testing::HasSubstr("no more layers")) << rank;
    EXPECT_LT(ended[rank].after.count(), 15000);
  }
}

// The other throws within the deadline, and says who is gone and what it was about.
TEST(FullyShardGpt, ADeadRankEndsTheOther) {
  const std::string folder = c10::testing::fresh_folder();
  const auto ended = c10d::testing::run_processes(2, [&](int rank) {
    torch::set_num_threads(1);
    const auto store = c10::make_intrusive<c10d::FileStore>(folder + "/store", 2);
    init_process_group("gloo", {.timeout = std::chrono::seconds(5), .world_size = 2, .rank = rank, .store = store});
    const auto mesh = init_device_mesh(torch::kCPU, {2});
    Loss loss = make();
    for (const gpt::Block& block : loss->model->layers()) fully_shard(block, {mesh});
    fully_shard(loss, {mesh});
    try {
      for (int64_t step = 0; step < 1000; ++step) {
        const Tensor value = loss(part(step, rank));
        if (rank == 1 && step == 3) ::kill(::getpid(), SIGKILL);
        value.backward();
      }
    } catch (const c10::DistBackendError& e) {
      throw std::runtime_error(e.what_without_backtrace());
    }
  });
  EXPECT_EQ(ended[1].signal, SIGKILL);
  EXPECT_EQ(ended[0].exit_code, 1);
  EXPECT_THAT(ended[0].error, ::testing::HasSubstr("rank 1"));
  EXPECT_THAT(ended[0].error, ::testing::HasSubstr("fully_shard: while "));
  EXPECT_THAT(ended[0].error, ::testing::HasSubstr("qkv.weight"));
  EXPECT_LT(ended[0].after.count(), 10000);
}

}  // namespace
}  // namespace torch::distributed::fsdp
