// Ranks of a pipeline that throw, stay away or die: the others throw, in time, and say whom they waited for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "c10/testing/message_of.h"
#include "distributed/ddp/testing/group.h"
#include "distributed/pipeline/orders.h"
#include "distributed/pipeline/schedules.h"
#include "distributed/process_group/gloo/process_group_gloo.h"
#include "distributed/store/file_store.h"
#include "distributed/testing/run_processes.h"
#include "nn/layers/linear.h"

namespace torch::distributed::pipelining {
namespace {

using at::Tensor;
using c10d::testing::errors_of_group;
using c10d::testing::Group;
using std::chrono::milliseconds;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

enum class Where { kForward, kBackward };
using Event = std::function<void(int call, Where where)>;

struct WatchedImpl : nn::Module {
  explicit WatchedImpl(Event event) : event(std::move(event)) { register_module("fc", fc); }
  Tensor forward(const Tensor& x) {
    const int call = calls++;
    event(call, Where::kForward);
    const Tensor y = fc(x);
    y.register_hook([this, call](const Tensor&) { event(call, Where::kBackward); });
    return y;
  }
  Event event;
  nn::Linear fc{4, 4};
  int calls = 0;
};
TORCH_MODULE(Watched);

Tensor loss(const Tensor& output, const Tensor& target) {
  return at::mean(at::square(output - target));
}

// Steps of 4 microbatches, by a schedule with whole backwards or by one with halves.
void train(const Group& group, int rank, bool splits, const Event& event) {
  const int size = group->getSize();
  Watched own(event);
  const auto order = splits ? interleaved_zero_bubble_order(size, 1, 4) : one_forward_one_backward_order(size, 4);
  PipelineScheduleSingle schedule(PipelineStage(own, rank, size, c10::kCPU, {group}), 4, loss, order);
  const Tensor x = at::ones({8, 4});
  for (int step = 0; step < 500; ++step) {
    schedule.step({x}, {.target = x});
    own->zero_grad();
  }
}

TEST(PipelineFaults, AnExceptionInOneRank) {
  for (const bool splits : {false, true}) {
    for (const Where where : {Where::kForward, Where::kBackward}) {
      const auto begin = std::chrono::steady_clock::now();
      const auto errors = errors_of_group(3, [&](int rank, const Group& group) {
        train(group, rank, splits, [&](int call, Where here) {
          TORCH_CHECK(rank != 1 || call != 6 || here != where, "no more of this");  // microbatch 2 of the second step
        });
      });
      EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(5000));
      const std::string action = where == Where::kForward ? "1F2" : splits ? "1I2" : "1B2";
      EXPECT_THAT(errors[1], HasSubstr("no more of this"));
      for (const size_t rank : {0u, 2u}) {
        EXPECT_THAT(errors[rank], HasSubstr("rank 1 of the pipeline failed in " + action + ": no more of this"));
      }
    }
  }
}

TEST(PipelineFaults, ErrorsSayInWhichAction) {
  c10d::testing::run_group(1, [](int rank, const Group& group) {
    try {
      train(group, rank, false, [](int call, Where) { TORCH_CHECK(call != 3, "no more of this"); });
      FAIL();
    } catch (const c10::Error& e) {
      EXPECT_EQ(e.msg(), "no more of this");
      EXPECT_THAT(e.what_without_backtrace(), HasSubstr("PipelineScheduleSingle: in 0F3 on rank 0"));
    }
    // The group has ended.
    EXPECT_THAT(c10::testing::message_of([&] { group->barrier()->wait(); }),
                HasSubstr("failed in 0F3: no more of this"));
  });
}

TEST(PipelineFaults, ARankThatIsLate) {
  const auto errors = errors_of_group(
      3,
      [](int rank, const Group& group) {
        train(group, rank, false, [&](int call, Where) {
          if (rank == 1 && call == 6) std::this_thread::sleep_for(milliseconds(1200));
        });
      },
      milliseconds(400));
  for (const size_t rank : {0u, 2u}) EXPECT_THAT(errors[rank], ContainsRegex("rank 1"));
  EXPECT_NE(errors[1], "");
}

TEST(PipelineFaults, ARankThatNeverComes) {
  const auto errors = errors_of_group(
      2,
      [](int rank, const Group& group) {
        if (rank == 1) return std::this_thread::sleep_for(milliseconds(1000));
        train(group, rank, false, [](int, Where) {});
      },
      milliseconds(300));
  EXPECT_THAT(errors[0], HasSubstr("rank 1"));
}

TEST(PipelineFaults, AKilledProcess) {
  for (const Where where : {Where::kForward, Where::kBackward}) {
    const std::string path = ::testing::TempDir() + "/pipeline_store_" + std::to_string(::getpid());
    const auto ended = c10d::testing::run_processes(3, [&](int rank) {
      auto store = c10::make_intrusive<c10d::FileStore>(path, 3);
      auto options = c10d::ProcessGroupGloo::Options::create(milliseconds(10000));
      options->devices = {c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1")};
      auto group = c10::make_intrusive<c10d::ProcessGroup>(store, rank, 3);
      group->setBackend(c10::DeviceType::CPU, c10d::ProcessGroup::GLOO,
                        c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, 3, options));
      train(group, rank, true, [&](int call, Where here) {
        if (rank == 1 && call == 14 && here == where) ::kill(::getpid(), SIGKILL);
      });
    });
    ::unlink(path.c_str());
    EXPECT_EQ(ended[1].signal, SIGKILL);
    for (const size_t rank : {0u, 2u}) {
      EXPECT_EQ(ended[rank].signal, 0);
      EXPECT_EQ(ended[rank].exit_code, 1);
      EXPECT_THAT(ended[rank].error, ContainsRegex("ranks? 1"));
      EXPECT_LT(ended[rank].after - ended[1].after, milliseconds(3000)) << ended[rank].error;
    }
  }
}

}  // namespace
}  // namespace torch::distributed::pipelining
