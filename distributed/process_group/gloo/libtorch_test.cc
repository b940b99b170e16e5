// Programs of libtorch's: its header paths, names and defaults.
#include <gtest/gtest.h>
#include <torch/csrc/distributed/c10d/debug.h>
#include <torch/csrc/distributed/c10d/exception.h>
#include <torch/torch.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/FakeProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Functional.hpp>
#include <torch/csrc/distributed/c10d/GroupRegistry.hpp>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupWrapper.hpp>
#include <torch/csrc/distributed/c10d/RankLocal.hpp>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <functional>
#include <thread>
#include <vector>

#include "distributed/process_group/collectives.h"

namespace {

void run(int size, const std::function<void(int)>& body) {
  c10d::set_thread_isolation_mode(true);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < size; ++rank) ranks.emplace_back(body, rank);
  for (std::thread& rank : ranks) rank.join();
  c10d::set_thread_isolation_mode(false);
}

// The average of gradients, as a data-parallel program of libtorch has it.
TEST(Libtorch, AverageOfGradients) {
  auto store = c10::make_intrusive<::c10d::HashStore>();
  run(2, [&](int rank) {
    auto options = c10d::ProcessGroupGloo::Options::create();
    options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
    options->timeout = std::chrono::milliseconds(20000);
    options->threads = 2;
    auto pg = c10::make_intrusive<::c10d::ProcessGroupGloo>(c10::make_intrusive<::c10d::PrefixStore>("job", store),
                                                            rank, 2, options);
    torch::manual_seed(0);
    torch::nn::Linear model(3, 1);
    model->forward(torch::full({4, 3}, rank + 1.0)).sum().backward();
    std::vector<c10::intrusive_ptr<::c10d::Work>> works;
    for (auto& param : model->named_parameters()) {
      std::vector<torch::Tensor> tensors = {param.value().grad()};
      c10d::AllreduceOptions opts;
      opts.reduceOp = c10d::ReduceOp::SUM;
      works.push_back(pg->allreduce(tensors, opts));
    }
    for (auto& work : works) work->wait();
    for (auto& param : model->named_parameters()) param.value().grad().div_(pg->getSize());
    EXPECT_TRUE(torch::equal(model->weight.grad(), torch::full({1, 3}, 6.0)));
    EXPECT_TRUE(torch::equal(model->bias.grad(), torch::full({1}, 4.0)));
  });
}

TEST(Libtorch, GroupByName) {
  auto store = c10::make_intrusive<::c10d::HashStore>();
  run(2, [&](int rank) {
    auto group = c10::make_intrusive<c10d::ProcessGroup>(store, rank, 2);
    auto options = c10d::ProcessGroupGloo::Options::create(std::chrono::milliseconds(20000));
    options->devices = {c10d::ProcessGroupGloo::createDeviceForInterface("lo")};
    group->setBackend(c10::DeviceType::CPU, c10d::ProcessGroup::BackendType::GLOO,
                      c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, 2, options));
    group->setGroupName("mine");
    c10d::register_process_group(group->getGroupName(), group);
    auto found = c10d::resolve_process_group("mine");
    EXPECT_EQ(found->getBackendName(), "gloo");
    torch::Tensor input = torch::tensor({rank}), output = torch::zeros({2}, torch::kInt64);
    found->_allgather_base(output, input)->wait();
    EXPECT_TRUE(torch::equal(output, torch::tensor({0, 1})));
    c10d::unregister_all_process_groups();
  });
}

TEST(Libtorch, DefaultGroup) {
  auto store = c10::make_intrusive<::c10d::HashStore>();
  ::setenv("GLOO_SOCKET_IFNAME", "lo", 1);
  run(2, [&](int rank) {
    torch::distributed::init_process_group("cpu:gloo", {.world_size = 2, .rank = rank, .store = store});
    torch::Tensor t = torch::ones({2, 2}) * (rank + 1);
    torch::distributed::all_reduce(t, c10d::ReduceOp::AVG);
    EXPECT_TRUE(torch::equal(t, torch::full({2, 2}, 1.5)));
    torch::distributed::destroy_process_group();
  });
}

// An engine of the program's own.
class Lonely : public c10d::Backend {
 public:
  Lonely() : Backend(0, 1) {}
  std::string getBackendName() const override { return "lonely"; }
  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>&, const c10d::AllreduceOptions&) override {
    return c10d::Work::create_from_future(
        c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get())));
  }
  void shutdown() override {}
};

TEST(Libtorch, OwnEngine) {
  c10d::register_backend(
      {.name = "Lonely",
       .devices = {at::kCPU},
       .make = [](const c10d::DistributedBackendOptions& group, const c10::intrusive_ptr<c10d::Backend::Options>&) {
         EXPECT_EQ(group.group_size, 1);
         EXPECT_EQ(group.global_ranks_in_group, std::vector<int64_t>{0});
         return c10::make_intrusive<Lonely>();
       }});
  EXPECT_TRUE(torch::distributed::is_backend_available("lonely"));
  torch::distributed::init_process_group("lonely",
                                         {.world_size = 1, .rank = 0, .store = c10::make_intrusive<c10d::HashStore>()});
  EXPECT_EQ(torch::distributed::get_backend(), "lonely");
  torch::Tensor t = torch::ones({1});
  EXPECT_FALSE(torch::distributed::all_reduce(t, c10d::ReduceOp::SUM, std::nullopt, true)->isCompleted());
  EXPECT_THROW(torch::distributed::broadcast(t, 0), c10::NotImplementedError);
  torch::distributed::destroy_process_group();
}

TEST(Libtorch, FunctionalByName) {
  auto store = c10::make_intrusive<::c10d::HashStore>();
  ::setenv("GLOO_SOCKET_IFNAME", "lo", 1);
  run(2, [&](int rank) {
    torch::distributed::init_process_group("gloo", {.world_size = 2, .rank = rank, .store = store});
    torch::Tensor x = torch::full({2}, rank + 1.0, torch::requires_grad());
    const std::string op = "sum", name = c10d::get_default_group()->getGroupName();
    torch::Tensor y = c10d::wait_tensor(c10d::all_reduce(x, op, name));
    EXPECT_TRUE(torch::equal(y, torch::full({2}, 3.0)));
    (y * (rank + 1)).sum().backward();
    EXPECT_TRUE(torch::equal(x.grad(), torch::full({2}, 3.0)));
    torch::distributed::destroy_process_group();
  });
}

TEST(Libtorch, FakeAndDebug) {
  auto fake = c10d::FakeProcessGroup::_create_internal(3, 1000);
  std::vector<at::Tensor> tensors{torch::ones({2})};
  EXPECT_TRUE(fake->allreduce(tensors)->wait());
  EXPECT_EQ(c10d::debug_level(), c10d::DebugLevel::Off);
  c10d::setDebugLevel(c10d::DebugLevel::Info);
  EXPECT_EQ(c10d::debug_level(), c10d::DebugLevel::Info);
  c10d::setDebugLevel(c10d::DebugLevel::Off);
}

TEST(Libtorch, Errors) {
  EXPECT_THROW(
      {
        try {
          c10d::resolve_process_group("none");
        } catch (const c10::DistBackendError&) {
          FAIL();
        }
      },
      c10::Error);
  static_assert(std::is_base_of_v<c10::DistError, c10::DistBackendError>);
}

}  // namespace
