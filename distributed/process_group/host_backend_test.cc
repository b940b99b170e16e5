// Backends of CPU tensors with ranks that are threads: what all engines' backends do.
#include "distributed/process_group/host_backend.h"

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/thread_state.h"
#include "distributed/process_group/conformance.h"
#include "distributed/testing/run_ranks.h"
#include "distributed/testing/threads_engine.h"

namespace c10d {
namespace {

testing::BackendOfRank group_of_threads(int size) {
  const auto engines = std::make_shared<std::vector<std::unique_ptr<Engine>>>(testing::threads_engines(size));
  return [engines](int rank, std::chrono::milliseconds timeout) -> c10::intrusive_ptr<Backend> {
    auto options = c10::make_intrusive<HostBackend::HostOptions>("threads", timeout);
    options->group_name = "test";
    return c10::make_intrusive<HostBackend>(std::move(engines->at(static_cast<size_t>(rank))), std::move(options));
  };
}

class HostBackendOfRanks : public ::testing::TestWithParam<int> {};

TEST_P(HostBackendOfRanks, Collectives) {
  testing::expect_collectives(group_of_threads, GetParam());
}
TEST_P(HostBackendOfRanks, Messages) {
  if (GetParam() > 1) testing::expect_messages(group_of_threads, GetParam());
}
INSTANTIATE_TEST_SUITE_P(Sizes, HostBackendOfRanks, ::testing::Values(1, 2, 3, 4, 7));

TEST(HostBackend, Errors) {
  testing::expect_errors(group_of_threads);
}
TEST(HostBackend, Arguments) {
  testing::expect_argument_checks(group_of_threads);
}

// Rank 0 starts three operations, of which the first calls `end` with the only reference, on a thread of the backend;
// all three must be done.
void expect_end_in_callback(bool are_messages, int threads,
                            const std::function<void(c10::intrusive_ptr<HostBackend>&)>& end) {
  SCOPED_TRACE(threads);
  auto engines = testing::threads_engines(2);
  std::promise<void> has_callback;
  std::future<void> may_start = has_callback.get_future();
  testing::run_ranks(2, [&](int rank) {
    auto options = c10::make_intrusive<HostBackend::HostOptions>("threads", std::chrono::seconds(10));
    options->threads = threads;
    auto group = c10::make_intrusive<HostBackend>(std::move(engines[static_cast<size_t>(rank)]), options);
    std::vector<std::vector<at::Tensor>> tensors;
    std::vector<c10::intrusive_ptr<Work>> works;
    if (rank == 1) may_start.wait();
    for (int i = 0; i < 3; ++i) {
      tensors.push_back({at::full({4}, rank == 0 ? 0.0 : i + 1.0)});
      works.push_back(!are_messages ? group->allreduce(tensors[static_cast<size_t>(i)])
                      : rank == 0   ? group->recv(tensors[static_cast<size_t>(i)], 1, 0)
                                    : group->send(tensors[static_cast<size_t>(i)], 0, 0));
    }
    if (rank == 0) {
      const auto caller = std::this_thread::get_id();
      std::promise<bool> called;
      works[0]->getFuture()->addCallback([&, given = std::move(group)](c10::ivalue::Future&) mutable {
        end(given);
        called.set_value(std::this_thread::get_id() != caller);
      });
      has_callback.set_value();
      EXPECT_TRUE(called.get_future().get());
      EXPECT_EQ(options.use_count(), 1u);  // the backend had the other
    }
    for (size_t i = 0; i < works.size(); ++i) {
      EXPECT_TRUE(rank == 1 || works[i]->isCompleted()) << i;
      works[i]->wait();
      EXPECT_EQ(tensors[i][0].data_ptr<float>()[3], static_cast<float>(i + 1)) << i;
    }
  });
}

TEST(HostBackend, TheLastReferenceMayGoInACallbackOnItsOwnThread) {
  for (const int threads : {1, 2}) {
    for (const bool are_messages : {false, true})
      expect_end_in_callback(are_messages, threads, [](c10::intrusive_ptr<HostBackend>& group) { group.reset(); });
  }
}

TEST(HostBackend, IsShutDownInACallbackOnItsOwnThread) {
  for (const int threads : {1, 2}) {
    for (const bool are_messages : {false, true}) {
      expect_end_in_callback(are_messages, threads, [](c10::intrusive_ptr<HostBackend>& group) {
        group->shutdown();
        std::vector<at::Tensor> t{at::zeros({1})};
        EXPECT_THROW(group->allreduce(t), c10::DistBackendError);
        group.reset();
      });
    }
  }
}

c10::intrusive_ptr<HostBackend> group_of(std::unique_ptr<Engine> engine) {
  return c10::make_intrusive<HostBackend>(
      std::move(engine), c10::make_intrusive<HostBackend::HostOptions>("threads", std::chrono::seconds(10)));
}

// Starts a sum over the ranks of rank + 1.
c10::intrusive_ptr<Work> start_sum(HostBackend& group, std::vector<at::Tensor>& tensors) {
  tensors = {at::full({4}, group.getRank() + 1.0)};
  return group.allreduce(tensors);
}

TEST(HostBackend, WhoWaitsCarriesTheOperationOut) {
  auto engines = testing::threads_engines(2);
  testing::run_ranks(2, [&](int rank) {
    const auto group = group_of(std::move(engines[static_cast<size_t>(rank)]));
    const auto caller = std::this_thread::get_id();
    std::vector<at::Tensor> tensors;
    int by_caller = 0;
    // A thread of the backend's may be faster: at first, and on a busy machine.
    for (int i = 0; i < 500; ++i) {
      const auto work = start_sum(*group, tensors);
      std::promise<std::thread::id> by;
      work->getFuture()->addCallback([&](c10::ivalue::Future&) { by.set_value(std::this_thread::get_id()); });
      work->wait();
      EXPECT_EQ(tensors[0].data_ptr<float>()[3], 3.0f);
      by_caller += by.get_future().get() == caller ? 1 : 0;
    }
    EXPECT_GT(by_caller, 0);
    // One that nobody waits for is carried out as well, and so are those behind it.
    std::vector<std::vector<at::Tensor>> all(5);
    std::vector<c10::intrusive_ptr<Work>> works;
    works.push_back(start_sum(*group, all[0]));
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (!works[0]->isCompleted() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    EXPECT_TRUE(works[0]->isCompleted());
    for (size_t i = 1; i < all.size(); ++i) works.push_back(start_sum(*group, all[i]));
    while (!works[4]->isCompleted() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    for (const auto& work : works) EXPECT_TRUE(work->isCompleted());
  });
}

TEST(HostBackend, AWaitingThreadIsAsOneOfTheBackends) {
  auto engines = testing::threads_engines(2);
  testing::run_ranks(2, [&](int rank) {
    const auto group = group_of(std::move(engines[static_cast<size_t>(rank)]));
    for (int i = 0; i < 10; ++i) {
      // Elements apart are copied by operators, which what the caller has excluded does not concern.
      std::vector<at::Tensor> tensors{at::narrow(at::full({4, 2}, rank + 1.0), 1, 0, 1)};
      const auto work = group->allreduce(tensors);
      {
        const c10::ExcludeDispatchKeyGuard none(c10::DispatchKeySet{c10::DispatchKey::CPU});
        work->wait();
        EXPECT_TRUE(c10::thread_state().excluded.has(c10::DispatchKey::CPU));
      }
      EXPECT_EQ(tensors[0].data_ptr<float>()[6], 3.0f);
    }
  });
}

TEST(HostBackend, EndsWhenWhatAnotherThreadCarriesOutIsDone) {
  auto engines = testing::threads_engines(2);
  std::promise<void> is_ending;
  std::future<void> may_start = is_ending.get_future();
  testing::run_ranks(2, [&](int rank) {
    auto group = group_of(std::move(engines[static_cast<size_t>(rank)]));
    std::vector<at::Tensor> tensors;
    for (int i = 0; i < 10; ++i) start_sum(*group, tensors)->wait();
    if (rank == 1) may_start.wait();
    const auto work = start_sum(*group, tensors);
    if (rank == 1) return work->wait(), void();
    std::thread waiter([&] { work->wait(); });
    std::thread ender([&] { group.reset(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    is_ending.set_value();
    ender.join();
    waiter.join();
    EXPECT_EQ(tensors[0].data_ptr<float>()[3], 3.0f);
  });
}

TEST(HostBackend, TheLastReferenceMayGoInACallbackOnAWaitingThread) {
  auto engines = testing::threads_engines(2);
  testing::run_ranks(2, [&](int rank) {
    auto group = group_of(std::move(engines[static_cast<size_t>(rank)]));
    std::vector<at::Tensor> first, second;
    for (int i = 0; i < 10; ++i) start_sum(*group, first)->wait();
    const auto work = start_sum(*group, first);
    std::promise<void> called;
    work->getFuture()->addCallback([&](c10::ivalue::Future&) {
      start_sum(*group, second)->wait();
      group.reset();
      called.set_value();
    });
    work->wait();
    called.get_future().wait();
    EXPECT_EQ(second[0].data_ptr<float>()[3], 3.0f);
  });
}

}  // namespace
}  // namespace c10d
