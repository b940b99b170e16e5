// The GPT of examples/gpt by two processes, with dropout, beside one process: the same bits for losses, parameters and
// optimizer state over 50 steps.
//
// Each rank has its own part of the batch and its own masks. The single process computes both parts one after the
// other, each with the random numbers that its rank draws, and halves their losses: halving is exact, and the sum of
// two does not depend on their order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "c10/testing/files.h"
#include "distributed/fsdp/full_state_dict.h"
#include "distributed/fsdp/fully_shard.h"
#include "distributed/process_group/init.h"
#include "distributed/store/file_store.h"
#include "distributed/tensor/dtensor.h"
#include "distributed/tensor/init_device_mesh.h"
#include "distributed/testing/run_processes.h"
#include "examples/gpt/model.h"

namespace torch::distributed::fsdp {
namespace {

constexpr int64_t kSteps = 50, kRows = 4;

struct LossImpl : nn::Module {
  LossImpl()
      : model(gpt::ModelOptions{.vocabulary = 16, .layers = 2, .heads = 2, .width = 16, .context = 8, .dropout = 0.1}) {
    register_module("model", model);
  }
  Tensor forward(const Tensor& words) { return model->loss(words.narrow(1, 0, 8), words.narrow(1, 1, 8)); }
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

void check_same(const Tensor& mine, const Tensor& twin, int64_t step, const std::string& name) {
  TORCH_CHECK(torch::equal(mine, twin), "step ", step, ": ", name, " differs by up to ",
              (mine - twin).abs().max().item<double>());
}

void train(int rank, const ReshardAfterForward& policy) {
  const auto mesh = init_device_mesh(torch::kCPU, {2});
  Loss loss = make(), twin = make();
  for (const gpt::Block& block : loss->model->layers()) {
    fully_shard(block, FullyShardOptions(mesh).reshard_after_forward(policy));
  }
  fully_shard(loss, FullyShardOptions(mesh).reshard_after_forward(policy));
  const gpt::OptimizerSettings settings{.learning_rate = 1e-2};
  torch::optim::AdamW mine = gpt::make_optimizer(loss->model, settings),
                      theirs = gpt::make_optimizer(twin->model, settings);
  double first = 0, last = 0;
  for (int64_t step = 0; step < kSteps; ++step) {
    mine.zero_grad();
    theirs.zero_grad();
    const Tensor value = loss(part(step, rank));
    value.backward();
    for (int64_t other = 0; other < 2; ++other) {
      const Tensor expected = twin(part(step, other));
      if (other == rank) check_same(value.detach(), expected.detach(), step, "the loss");
      (expected / 2).backward();
    }
    mine.step();
    theirs.step();
    last = value.item<double>();
    if (step == 0) first = last;
    if (step % 10 != 9) continue;
    const FullStateDict of_model(loss), of_optimizer(mine);
    const nn::StateDict state = loss->state_dict(), expected = twin->state_dict();
    for (const auto& item : expected) check_same(state[item.key()], item.value(), step, item.key());
    const optim::StateDict moments = mine.state_dict(), expected_moments = theirs.state_dict();
    for (size_t i = 0; i < twin->parameters().size(); ++i) {
      for (const char* name : {".exp_avg", ".exp_avg_sq"}) {
        const std::string path = "state." + std::to_string(i) + name;
        check_same(moments.tensor(path), expected_moments.tensor(path), step, path);
      }
    }
  }
  TORCH_CHECK(last < 0.8 * first, "the loss went from ", first, " to ", last);
}

TEST(FullyShardGpt, TrainsAsOneProcessBitForBitWithDropout) {
  const std::string folder = c10::testing::fresh_folder();
  const auto ended = c10d::testing::run_processes(2, [&](int rank) {
    torch::set_num_threads(1);
    const auto store = c10::make_intrusive<c10d::FileStore>(folder + "/store", 2);
    init_process_group("gloo", {.timeout = std::chrono::seconds(20), .world_size = 2, .rank = rank, .store = store});
    for (const ReshardAfterForward& policy : {ReshardAfterForward(), ReshardAfterForward(false)}) train(rank, policy);
    destroy_process_group();
  });
  for (size_t rank = 0; rank < ended.size(); ++rank) {
    EXPECT_EQ(ended[rank].exit_code, 0) << "rank " << rank << ": " << ended[rank].error;
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
