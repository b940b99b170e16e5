// Training by NCCL's process group, data-parallel and fully sharded, is that of the CPU.
#include <gtest/gtest.h>
#include <torch/torch.h>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include <functional>
#include <mutex>
#include <vector>

#include "c10/cuda/guard.h"
#include "c10/cuda/testing.h"
#include "distributed/ddp/distributed_data_parallel.h"
#include "distributed/fsdp/fully_shard.h"
#include "distributed/process_group/init.h"
#include "distributed/store/hash_store.h"
#include "distributed/tensor/dtensor.h"
#include "distributed/tensor/init_device_mesh.h"
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

// Runs `train(net, device)` on each rank, which returns the parameters, and compares those with the CPU's.
void expect_as_on_cpu(
    const std::function<std::vector<Tensor>(torch::nn::Sequential& net, torch::Device device, int rank)>& train) {
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
          const auto got = train(net, device, rank);
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

template <class Net>
void train_steps(Net& net, const std::vector<Tensor>& parameters, torch::Device device, int rank) {
  torch::optim::SGD sgd(parameters, torch::optim::SGDOptions(0.1).momentum(0.9));
  for (int step = 0; step < kSteps; ++step) {
    sgd.zero_grad();
    Tensor y = net(input_of(rank, step).to(device));
    y.square().mean().backward();
    sgd.step();
  }
}

TEST(DistributedOnCuda, DataParallelTrainsAsTheCpuDoes) {
  expect_as_on_cpu([](torch::nn::Sequential& net, torch::Device device, int rank) {
    torch::nn::parallel::DistributedDataParallel ddp(net, {torch::distributed::get_default_group()});
    train_steps(ddp, ddp->parameters(), device, rank);
    return net->parameters();
  });
}

TEST(DistributedOnCuda, FullyShardedTrainsAsTheCpuDoes) {
  namespace fsdp = torch::distributed::fsdp;
  namespace tensor = torch::distributed::tensor;
  for (const bool reshards : {true, false}) {
    expect_as_on_cpu([&](torch::nn::Sequential& net, torch::Device device, int rank) {
      const auto mesh = tensor::init_device_mesh(torch::kCUDA, {kRanks});
      for (const auto& child : net->children()) {
        if (!child->parameters().empty())
          fsdp::fully_shard(child, fsdp::FullyShardOptions(mesh).reshard_after_forward(reshards));
      }
      fsdp::fully_shard(net, mesh);
      train_steps(net, net->parameters(), device, rank);
      std::vector<Tensor> whole;
      for (const Tensor& p : net->parameters()) whole.push_back(tensor::DTensor(p).full_tensor().detach());
      return whole;
    });
  }
}

}  // namespace
