// Data-parallel training by NCCL's process group is that of the CPU's.
#include <gtest/gtest.h>
#include <torch/torch.h>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include <mutex>
#include <vector>

#include "c10/cuda/guard.h"
#include "c10/cuda/testing.h"
#include "distributed/ddp/distributed_data_parallel.h"
#include "distributed/process_group/init.h"
#include "distributed/store/hash_store.h"
#include "distributed/testing/run_ranks.h"
#include "tests/cuda_on_host/nccl/standin.h"
#include "tests/cuda_on_host/runtime/standin.h"

namespace {

using torch::Tensor;

constexpr int kRanks = 2, kSteps = 5;

torch::nn::Sequential make_net() {
  static std::mutex one_at_a_time;  // the generator is the process's
  const std::lock_guard<std::mutex> lock(one_at_a_time);
  torch::manual_seed(3);
  torch::nn::Sequential net(torch::nn::Linear(4, 8), torch::nn::Tanh(), torch::nn::Linear(8, 2));
  net->to(torch::kDouble);
  return net;
}
Tensor input_of(int rank, int step) {
  return torch::arange(12, torch::kDouble).reshape({3, 4}).mul(0.1).sub(0.3 * rank + 0.05 * step).sin();
}

// The parameters after some steps by all ranks' batches together, on the CPU.
std::vector<Tensor> expected() {
  auto net = make_net();
  torch::optim::SGD sgd(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  for (int step = 0; step < kSteps; ++step) {
    sgd.zero_grad();
    for (int rank = 0; rank < kRanks; ++rank) {
      net->forward(input_of(rank, step)).square().mean().div(kRanks).backward();
    }
    sgd.step();
  }
  return net->parameters();
}

TEST(DistributedOnCuda, DataParallelTrainsAsTheCpuDoes) {
  for (const auto execution : {cuda_standin::Execution::kLazy, cuda_standin::Execution::kRandom}) {
    SCOPED_TRACE(static_cast<int>(execution));
    c10::cuda::testing::in_own_process([&] {
      cuda_standin::reset({.devices = kRanks, .execution = execution});
      nccl_standin::reset();
      const std::vector<Tensor> want = expected();
      const auto store = c10::make_intrusive<c10d::HashStore>();
      c10d::testing::run_ranks(kRanks, [&](int rank) {
        const torch::Device device(torch::kCUDA, static_cast<c10::DeviceIndex>(rank));
        const c10::cuda::CUDAGuard guard(device);
        torch::distributed::init_process_group("nccl", {.world_size = kRanks, .rank = rank, .store = store});
        {
          auto net = make_net();
          net->to(device);
          torch::nn::parallel::DistributedDataParallel ddp(net, {torch::distributed::get_default_group()});
          torch::optim::SGD sgd(ddp->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
          for (int step = 0; step < kSteps; ++step) {
            sgd.zero_grad();
            ddp(input_of(rank, step).to(device)).square().mean().backward();
            sgd.step();
          }
          const auto got = net->parameters();
          for (size_t i = 0; i < want.size(); ++i) {
            EXPECT_TRUE(torch::allclose(got[i].cpu(), want[i], 1e-10, 1e-12)) << "parameter " << i;
          }
        }
        torch::distributed::destroy_process_group();
      });
      EXPECT_EQ(nccl_standin::live_communicators(), 0u);
      EXPECT_EQ(cuda_standin::misuse(), "");
    });
  }
}

}  // namespace
