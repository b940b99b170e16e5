// Ranks that die, throw or disagree: the others throw, in time, and say whom they waited for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "distributed/ddp/distributed_data_parallel.h"
#include "distributed/ddp/testing/group.h"
#include "distributed/process_group/gloo/process_group_gloo.h"
#include "distributed/store/file_store.h"
#include "distributed/testing/run_processes.h"
#include "nn/layers/linear.h"
#include "nn/module/sequential.h"

namespace c10d {
namespace {

using at::Tensor;
using std::chrono::milliseconds;
using testing::Group;
using testing::numbers;
using torch::nn::parallel::DistributedDataParallel;
using torch::nn::parallel::DistributedDataParallelOptions;

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "`" << part << "` is not in: " << text;
}

struct NetImpl : torch::nn::Module {
  explicit NetImpl(int64_t width = 8) {
    first = register_module("first", torch::nn::Linear(6, width));
    second = register_module("second", torch::nn::Linear(width, 3));
  }
  Tensor forward(const Tensor& x) { return second(at::tanh(first(x))); }
  torch::nn::Linear first{nullptr}, second{nullptr};
};
TORCH_MODULE(Net);

Tensor batch(int rank) {
  return numbers({5, 6}, rank);
}

enum class Where { kForward, kBackward };

// Steps until one rank fails; small buckets, so that some are on their way then.
void train(const Group& group, int rank, const std::function<void(int step, Where where)>& at) {
  Net net;
  DistributedDataParallel ddp(net, DistributedDataParallelOptions(group).bucket_cap_mb(0.00001));
  int step = 0;
  net->first->weight.register_hook([&](const Tensor&) { at(step, Where::kBackward); });
  for (; step < 1000; ++step) {
    const Tensor y = ddp(batch(rank));
    at(step, Where::kForward);
    y.sum().backward();
    ddp->zero_grad();
  }
}

TEST(DataParallelFaults, AnExceptionInOneRank) {
  for (const Where where : {Where::kForward, Where::kBackward}) {
    const auto begin = std::chrono::steady_clock::now();
    const auto errors = testing::errors_of_group(3, [&](int rank, const Group& group) {
      train(group, rank,
            [&](int step, Where here) { TORCH_CHECK(rank != 1 || step != 3 || here != where, "no more data"); });
    });
    EXPECT_EQ(errors[1], "no more data");
    for (const size_t rank : {0u, 2u}) {
      expect_contains(errors[rank], "DistributedDataParallel: the gradients of bucket ");
      expect_contains(errors[rank], where == Where::kForward ? "second." : "first.weight");
      expect_contains(errors[rank], "were not reduced on rank " + std::to_string(rank) + ": ");
      EXPECT_THAT(errors[rank], ::testing::ContainsRegex("ranks? 1"));
    }
    EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(5000));
  }
}

// A rank that stays alive after its error, and does not come.
TEST(DataParallelFaults, ARankThatIsLate) {
  const auto errors = testing::errors_of_group(
      3,
      [](int rank, const Group& group) {
        train(group, rank, [&](int step, Where here) {
          if (rank == 1 && step == 3 && here == Where::kForward) std::this_thread::sleep_for(milliseconds(1200));
        });
      },
      milliseconds(400));
  for (const size_t rank : {0u, 2u}) {
    expect_contains(errors[rank], "DistributedDataParallel: the gradients of bucket ");
    EXPECT_THAT(errors[rank], ::testing::ContainsRegex("ranks? 1"));
  }
  EXPECT_NE(errors[1], "");
}

TEST(DataParallelFaults, AKilledProcess) {
  for (const Where where : {Where::kForward, Where::kBackward}) {
    const std::string path = ::testing::TempDir() + "/ddp_store_" + std::to_string(::getpid());
    const auto ended = testing::run_processes(3, [&](int rank) {
      auto store = c10::make_intrusive<FileStore>(path, 3);
      auto options = ProcessGroupGloo::Options::create(milliseconds(10000));
      options->devices = {ProcessGroupGloo::createDeviceForHostname("127.0.0.1")};
      auto group = c10::make_intrusive<ProcessGroup>(store, rank, 3);
      group->setBackend(c10::DeviceType::CPU, ProcessGroup::GLOO,
                        c10::make_intrusive<ProcessGroupGloo>(store, rank, 3, options));
      train(group, rank, [&](int step, Where here) {
        if (rank == 1 && step == 3 && here == where) ::kill(::getpid(), SIGKILL);
      });
    });
    ::unlink(path.c_str());
    EXPECT_EQ(ended[1].signal, SIGKILL);
    for (const size_t rank : {0u, 2u}) {
      EXPECT_EQ(ended[rank].signal, 0);
      EXPECT_EQ(ended[rank].exit_code, 1);
      expect_contains(ended[rank].error, "DistributedDataParallel: the gradients of bucket ");
      EXPECT_THAT(ended[rank].error, ::testing::ContainsRegex("ranks? 1"));
      EXPECT_LT(ended[rank].after - ended[1].after, milliseconds(3000));
    }
  }
}

TEST(DataParallelFaults, OtherParameters) {
  const auto errors = testing::errors_of_group(
      3, [](int rank, const Group& group) { DistributedDataParallel ddp(Net(rank == 2 ? 9 : 8).ptr(), {group}); });
  for (const std::string& error : errors) {
    expect_contains(error,
                    "the ranks do not have the same parameters; rank 2: parameter 0 (first.weight) is Float [9, 6]");
    expect_contains(error, "but on rank 0 Float [8, 6] with strides [6, 1]");
  }
  const auto counts = testing::errors_of_group(2, [](int rank, const Group& group) {
    torch::nn::Sequential net(torch::nn::Linear(2, 2), torch::nn::Linear(2, 2));
    if (rank == 1) net->push_back(torch::nn::Linear(2, 2));
    DistributedDataParallel ddp(net, {group});
  });
  for (const std::string& error : counts) {
    expect_contains(error, "rank 1: parameter 4 (2.weight) is one that rank 0 has not got (it has 4)");
  }
  const auto fewer = testing::errors_of_group(2, [](int rank, const Group& group) {
    torch::nn::Sequential net(torch::nn::Linear(2, 2), torch::nn::Linear(2, 2));
    if (rank == 0) net->push_back(torch::nn::Linear(2, 2));
    DistributedDataParallel ddp(net, {group});
  });
  for (const std::string& error : fewer) expect_contains(error, "rank 1: there are 4 parameters, but rank 0 has more");
  const auto dtypes = testing::errors_of_group(2, [](int rank, const Group& group) {
    Net net;
    if (rank == 1) net->second->to(at::kDouble);
    DistributedDataParallel ddp(net, {group});
  });
  for (const std::string& error : dtypes)
    expect_contains(error, "rank 1: parameter 2 (second.weight) is Double [3, 8]");
}

// Neither a hang nor a wrong mean where the graph leaves out a parameter.
TEST(DataParallelFaults, ParametersWithoutAGradientAreNamed) {
  struct HalfImpl : NetImpl {
    Tensor forward(const Tensor& x) { return first(x); }
  };
  const auto errors = testing::errors_of_group(2, [](int rank, const Group& group) {
    auto half = std::make_shared<HalfImpl>();
    DistributedDataParallel<HalfImpl> ddp(half, {group});
    ddp(batch(rank)).sum().backward();
    ddp(batch(rank)).sum().backward();
  });
  for (size_t rank = 0; rank < 2; ++rank) {
    expect_contains(
        errors[rank],
        "Expected to have finished reduction in the prior iteration before starting a new one. Parameters which "
        "did not receive grad for rank " +
            std::to_string(rank) + ": second.weight, second.bias. ");
  }
}

TEST(DataParallelFaults, TwoBackwardPassesThroughOneForward) {
  const auto errors = testing::errors_of_group(2, [](int rank, const Group& group) {
    DistributedDataParallel ddp(Net().ptr(), DistributedDataParallelOptions(group).find_unused_parameters(true));
    const Tensor y = ddp(batch(rank));
    // The second loss leaves nothing out, the first all but the last layer's bias.
    torch::autograd::grad({y.sum()}, {ddp->parameters().back()}, {}, /*retain_graph=*/true);
    y.sum().backward({}, /*retain_graph=*/true);
    const Tensor gradient = ddp->parameters().back().grad().clone();
    y.sum().backward();  // not reduced any more: added on this rank only
    EXPECT_TRUE(at::equal(ddp->parameters().back().grad(), gradient * 2));
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

// What a failed pass left can be forgotten.
TEST(DataParallelFaults, GoesOnAfterAnErrorOfAllRanks) {
  testing::run_group(2, [](int rank, const Group& group) {
    Net net;
    DistributedDataParallel ddp(net, {group});
    bool fails = true;
    net->first->weight.register_hook([&](const Tensor&) { TORCH_CHECK(!fails, "a bad gradient"); });
    EXPECT_THROW(ddp(batch(rank)).sum().backward(), c10::Error);
    fails = false;
    EXPECT_THROW(ddp(batch(rank)), c10::Error);
    ddp->reset_state();
    ddp->zero_grad();
    ddp(batch(rank)).sum().backward();
    std::vector<Tensor> sum{net->first->weight.grad().clone()};
    group->allreduce(sum)->wait();
    EXPECT_TRUE(at::equal(sum[0], net->first->weight.grad() * 2));
  });
}

TEST(DataParallelFaults, Arguments) {
  testing::run_group(1, [](int, const Group& group) {
    EXPECT_THROW(DistributedDataParallel(Net().ptr(), DistributedDataParallelOptions()), c10::Error);
    EXPECT_THROW(DistributedDataParallel(Net().ptr(), DistributedDataParallelOptions(group).bucket_cap_mb(0)),
                 c10::Error);
    EXPECT_THROW(DistributedDataParallel(std::shared_ptr<NetImpl>(), {group}), c10::Error);
    Net frozen;
    frozen->requires_grad_(false);
    EXPECT_THROW(DistributedDataParallel(frozen.ptr(), {group}), c10::Error);
    DistributedDataParallel ddp(Net().ptr(), {group});
    ddp->register_builtin_comm_hook(BuiltinCommHookType::ALLREDUCE);
    EXPECT_THROW(ddp->register_builtin_comm_hook(BuiltinCommHookType::ALLREDUCE), c10::Error);
    ddp(batch(0)).sum().backward();
    EXPECT_THROW(ddp->set_static_graph(), c10::Error);
  });
}

}  // namespace
}  // namespace c10d
