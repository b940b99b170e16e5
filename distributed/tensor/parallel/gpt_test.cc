// The GPT of examples/gpt by two processes, with dropout, beside one process.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "c10/testing/files.h"
#include "distributed/process_group/init.h"
#include "distributed/store/file_store.h"
#include "distributed/tensor/dtensor.h"
#include "distributed/tensor/parallel/loss_parallel.h"
#include "distributed/tensor/parallel/style.h"
#include "distributed/testing/run_processes.h"
#include "examples/gpt/model.h"

namespace torch::distributed::tensor::parallel {
namespace {

constexpr int64_t kSteps = 50;

struct Trained {
  std::vector<double> losses;
  std::map<std::string, torch::Tensor> parameters;
};

Trained train(const std::function<void(gpt::Gpt&)>& prepare) {
  torch::manual_seed(1);
  gpt::Gpt model(
      gpt::ModelOptions{.vocabulary = 16, .layers = 2, .heads = 2, .width = 16, .context = 8, .dropout = 0.1});
  model->to(torch::kDouble);
  prepare(model);
  torch::optim::AdamW optimizer = gpt::make_optimizer(model, {.learning_rate = 1e-2});
  torch::manual_seed(2);
  Trained trained;
  for (int64_t step = 0; step < kSteps; ++step) {
    const torch::Tensor words = torch::arange(4 * 9).mul(3).add(step * step).remainder(16).view({4, 9});
    optimizer.zero_grad();
    const torch::Tensor loss = model->loss(words.narrow(1, 0, 8), words.narrow(1, 1, 8));
    loss.backward();
    optimizer.step();
    const torch::Tensor value = loss.detach();
    trained.losses.push_back((DTensor::is(value) ? DTensor(value).full_tensor() : value).item<double>());
  }
  for (const auto& item : model->named_parameters()) {
    const torch::Tensor t = item.value().detach();
    trained.parameters[item.key()] = DTensor::is(t) ? DTensor(t).full_tensor() : t;
  }
  return trained;
}

void compare(const Trained& parallel, const Trained& one) {
  TORCH_CHECK(one.losses.back() < 0.8 * one.losses.front(), "the loss went from ", one.losses.front(), " to ",
              one.losses.back());
  for (size_t i = 0; i < one.losses.size(); ++i) {
    TORCH_CHECK(std::abs(parallel.losses[i] - one.losses[i]) < 1e-9, "step ", i, ": the loss is ", parallel.losses[i],
                ", that of one process ", one.losses[i]);
  }
  for (const auto& [name, t] : one.parameters) {
    const double off = torch::max(torch::abs(t - parallel.parameters.at(name))).item<double>();
    TORCH_CHECK(off < 1e-9, name, " differs by ", off);
  }
}

// Attention over DTensors draws for all heads what one process draws.
const LinearStyleOptions kDistributed{.use_local_output = false};

ParallelizePlan tensor_plan() {
  return {{"token_embedding", RowwiseParallel()},        {"blocks.*.qkv", ColwiseParallel(kDistributed, 3)},
          {"blocks.*.attention_out", RowwiseParallel()}, {"blocks.*.expand", ColwiseParallel()},
          {"blocks.*.contract", RowwiseParallel()},      {"head", ColwiseParallel(kDistributed)}};
}

// What is between these layers is computed for a part of the sequence, with its part of the dropout of all of it.
ParallelizePlan sequence_plan() {
  const Placement sequence = Shard(1);
  const SequenceParallel local(1, /*use_local_output=*/true);
  return {{"token_embedding", RowwiseParallel({.output_layouts = sequence})},
          {"position_embedding", RowwiseParallel({.output_layouts = Shard(0)})},
          {"dropout", local},
          {"blocks.*.*_norm", SequenceParallel()},
          {"blocks.*.qkv", ColwiseParallel(kDistributed, 3)},
          {"blocks.*.attention_out", RowwiseParallel({.output_layouts = sequence})},
          {"blocks.*.expand", ColwiseParallel()},
          {"blocks.*.contract", RowwiseParallel({.output_layouts = sequence})},
          {"blocks.*.*_dropout", local},
          {"final_norm", SequenceParallel()},
          {"head", ColwiseParallel(kDistributed)}};
}

TEST(GptOfTwoProcesses, IsThatOfOneWithTheSameDropout) {
  const std::string folder = c10::testing::fresh_folder();
  const auto ended = c10d::testing::run_processes(2, [&](int rank) {
    torch::set_num_threads(1);
    const Trained one = train([](gpt::Gpt&) {});
    const auto store = c10::make_intrusive<c10d::FileStore>(folder + "/store", 2);
    c10d::init_process_group("gloo",
                             {.timeout = std::chrono::seconds(20), .world_size = 2, .rank = rank, .store = store});
    {
      const DeviceMesh mesh = DeviceMesh::from_group(c10d::get_default_group(), torch::kCPU, "tp");
      const auto guard = loss_parallel();
      for (const ParallelizePlan& plan : {tensor_plan(), sequence_plan()}) {
        compare(train([&](gpt::Gpt& model) { parallelize_module(model, mesh, plan); }), one);
      }
    }
    c10d::destroy_process_group();
  });
  for (size_t rank = 0; rank < ended.size(); ++rank) {
    EXPECT_EQ(ended[rank].exit_code, 0) << "rank " << rank << ": " << ended[rank].error;
  }
}

}  // namespace
}  // namespace torch::distributed::tensor::parallel
