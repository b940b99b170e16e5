// ProcessGroupNCCL, with ranks as threads that have a device each: on the host against the stand-ins of CUDA and NCCL.
#include "distributed/process_group/nccl/process_group_nccl.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "aten/cuda/graph.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/cuda/device.h"
#include "c10/cuda/guard.h"
#include "c10/cuda/testing.h"
#include "c10/testing/message_of.h"
#include "distributed/process_group/collectives.h"
#include "distributed/process_group/conformance.h"
#include "distributed/process_group/group_registry.h"
#include "distributed/process_group/init.h"
#include "distributed/store/hash_store.h"
#include "distributed/store/prefix_store.h"
#include "distributed/testing/run_ranks.h"

#ifdef KD_CUDA_ON_HOST
#include "tests/cuda_on_host/nccl/standin.h"
#include "tests/cuda_on_host/runtime/standin.h"
#endif

namespace c10d {
namespace {

using at::Tensor;
using c10::cuda::CUDAGuard;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using Tensors = std::vector<Tensor>;

c10::Device device_of(int rank) {
  return {c10::kCUDA, static_cast<c10::DeviceIndex>(rank)};
}

// Each case has a process of its own. `body(rank, group)` runs on the rank's device.
using GroupPtr = c10::intrusive_ptr<ProcessGroupNCCL>;
using RankBody = std::function<void(int rank, const GroupPtr& group)>;

c10::intrusive_ptr<ProcessGroupNCCL::Options> with_timeout(milliseconds timeout) {
  auto options = ProcessGroupNCCL::Options::create(false, timeout);
  options->group_name = "0";
  return options;
}

std::vector<std::string> run_group(int size, const RankBody& body, milliseconds timeout = milliseconds(20000)) {
  const auto store = c10::make_intrusive<HashStore>();
  return testing::errors_of_ranks(size, [&](int rank) {
    const CUDAGuard guard(device_of(rank));
    const auto group = c10::make_intrusive<ProcessGroupNCCL>(c10::make_intrusive<PrefixStore>("group", store), rank,
                                                             size, with_timeout(timeout));
    body(rank, group);
  });
}

// In orders of execution of the device, on the host; on a machine with so many devices, elsewhere.
void for_ranks(int size, const std::function<void()>& test, [[maybe_unused]] bool in_all_orders = true) {
#ifdef KD_CUDA_ON_HOST
  for (const auto execution :
       {cuda_standin::Execution::kEager, cuda_standin::Execution::kLazy, cuda_standin::Execution::kRandom}) {
    if (!in_all_orders && execution != cuda_standin::Execution::kLazy) continue;
    SCOPED_TRACE(static_cast<int>(execution));
    c10::cuda::testing::in_own_process([&] {
      cuda_standin::reset({.devices = size, .execution = execution});
      nccl_standin::reset();
      test();
      EXPECT_EQ(nccl_standin::live_communicators(), 0u);
      EXPECT_EQ(cuda_standin::misuse(), "");
    });
  }
#else
  c10::cuda::testing::in_own_process([&] {
    if (c10::cuda::device_count() < size) GTEST_SKIP() << size << " CUDA devices are needed";
    test();
  });
#endif
}

void expect_none(const std::vector<std::string>& errors) {
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

Tensor on(int rank, float value, int64_t count = 4) {
  return at::full({count}, value, at::TensorOptions().device(device_of(rank)));
}
void expect_values(const Tensor& t, float value) {
  EXPECT_TRUE(at::equal(t.cpu(), at::full(t.sizes(), value))) << t.cpu().toString();
}

void expect_all_collectives(int size) {
  const auto make = [](int ranks) {
    const auto store = c10::make_intrusive<HashStore>();
    return [store, ranks](int rank, milliseconds timeout) -> c10::intrusive_ptr<Backend> {
      const CUDAGuard guard(device_of(rank));
      auto group = c10::make_intrusive<ProcessGroupNCCL>(c10::make_intrusive<PrefixStore>("group", store), rank, ranks,
                                                         with_timeout(timeout));
      group->setBoundDeviceId(device_of(rank));
      return group;
    };
  };
  testing::expect_collectives(make, size, [](ReduceOp::RedOpType op, c10::ScalarType dtype) {
    if (op == ReduceOp::BAND || op == ReduceOp::BOR || op == ReduceOp::BXOR || dtype == c10::ScalarType::Short)
      return false;
    return !c10::isComplexType(dtype) || op != ReduceOp::PRODUCT;
  });
}

// The watchdog calls what destroys the group, or shuts it down.
TEST(ProcessGroupNccl, EndsInACallbackOnItsOwnThread) {
  for (const bool is_destroyed : {true, false}) {
    for_ranks(2, [is_destroyed] {
      const auto store = c10::make_intrusive<HashStore>();
      std::promise<void> has_callback;
      std::future<void> may_start = has_callback.get_future();
      expect_none(testing::errors_of_ranks(2, [&](int rank) {
        const CUDAGuard guard(device_of(rank));
        auto options = with_timeout(milliseconds(20000));
        auto group = c10::make_intrusive<ProcessGroupNCCL>(c10::make_intrusive<PrefixStore>("group", store), rank, 2,
                                                           options);
        std::vector<Tensors> tensors;
        for (int i = 0; i < 3; ++i) tensors.push_back({on(rank, static_cast<float>(i))});
        group->barrier()->wait();
        if (rank == 1) {
          may_start.wait();
          for (Tensors& t : tensors) group->allreduce(t);
          c10::cuda::device_synchronize();
          return;
        }
        std::vector<c10::intrusive_ptr<Work>> works;
        for (Tensors& t : tensors) works.push_back(group->allreduce(t));
        std::promise<void> is_called;
        works[0]->getFuture()->addCallback([&, given = std::move(group)](c10::ivalue::Future&) mutable {
          if (!is_destroyed) given->shutdown();
          given.reset();
          is_called.set_value();
        });
        has_callback.set_value();
        is_called.get_future().wait();
        for (size_t i = 0; i < works.size(); ++i) {
          works[i]->wait(milliseconds(5000));
          expect_values(tensors[i][0], static_cast<float>(2 * i));
        }
      }));
    });
  }
}

TEST(ProcessGroupNccl, EqualsAPlainLoop) {
  for_ranks(2, [] { expect_all_collectives(2); });
}

TEST(ProcessGroupNccl, EqualsAPlainLoopOnThreeRanks) {
  for_ranks(
      3, [] { expect_all_collectives(3); }, /*in_all_orders=*/false);
}

TEST(ProcessGroupNccl, EightRanks) {
  for_ranks(8, [] {
    expect_none(run_group(8, [](int rank, const GroupPtr& group) {
      Tensors t{on(rank, static_cast<float>(rank))};
      group->allreduce(t)->wait();
      expect_values(t[0], 28);
      Tensor all = at::empty({16}, t[0].options()), own = on(rank, static_cast<float>(rank), 2);
      group->_allgather_base(all, own)->wait();
      for (int i = 0; i < 8; ++i) EXPECT_EQ(all.cpu().data_ptr<float>()[2 * i + 1], static_cast<float>(i));
      group->barrier()->wait();
    }));
  });
}

// What the current stream does before comes before, and what it does after wait() comes after; tensors may go at once.
TEST(ProcessGroupNccl, IsInOrderWithTheCurrentStream) {
  for_ranks(2, [] {
    expect_none(run_group(2, [](int rank, const GroupPtr& group) {
      const auto side = c10::cuda::getStreamFromPool(false, static_cast<c10::DeviceIndex>(rank));
      const c10::cuda::CUDAStreamGuard guard(side);
      Tensor total = on(rank, 0);
      for (int i = 0; i < 10; ++i) {
        Tensors t{at::add(on(rank, static_cast<float>(rank)), i)};
        const auto work = group->allreduce(t);
        const Tensor sum = t[0];
        t.clear();
        work->wait();
        total.add_(sum);
      }
      expect_values(total, 10 + 90);
    }));
  });
}

TEST(ProcessGroupNccl, MessagesOfPairsAndBatches) {
  for_ranks(3, [] {
    expect_none(run_group(3, [](int rank, const GroupPtr& group) {
      // Between two ranks alone: the third has no part in it.
      if (rank == 0) {
        Tensors t{on(0, 7)};
        group->send(t, 2, 0)->wait();
      } else if (rank == 2) {
        Tensors t{on(2, 0)};
        const auto work = group->recv(t, 0, 0);
        work->wait();
        expect_values(t[0], 7);
        EXPECT_EQ(work->sourceRank(), 0);
      }
      // Both ways around the ring at once.
      Tensors to_next{on(rank, static_cast<float>(rank))}, from_previous{on(rank, -1)},
          to_previous{on(rank, static_cast<float>(10 + rank))}, from_next{on(rank, -1)};
      const int next = (rank + 1) % 3, previous = (rank + 2) % 3;
      group->startCoalescing();
      group->send(to_next, next, 0);
      group->recv(from_previous, previous, 0);
      group->send(to_previous, previous, 0);
      group->recv(from_next, next, 0);
      group->endCoalescing()->wait();
      expect_values(from_previous[0], static_cast<float>(previous));
      expect_values(from_next[0], static_cast<float>(10 + next));
    }));
  });
}

TEST(ProcessGroupNccl, WhatCannotBeCoalescedIsRefused) {
  for_ranks(2, [] {
    for (const bool is_strided : {true, false}) {
      const auto errors = run_group(2, [&](int rank, const GroupPtr& group) {
        Tensors t{is_strided ? at::select(on(rank, 1, 8).view({4, 2}), 1, 0) : on(rank, 1)}, other{on(rank, 1)};
        group->startCoalescing();
        group->allreduce(other);
        group->allreduce(t, {.reduceOp = is_strided ? ReduceOp(ReduceOp::SUM) : makePreMulSum(0.5)});
        group->endCoalescing()->wait();
      });
      for (const std::string& error : errors) EXPECT_NE(error.find("cannot be coalesced"), std::string::npos) << error;
    }
  });
}

TEST(ProcessGroupNccl, FuturesAreDoneWhenTheDeviceIs) {
  for_ranks(2, [] {
    expect_none(run_group(2, [](int rank, const GroupPtr& group) {
      Tensors t{on(rank, 1)};
      const auto work = group->allreduce(t);
      const auto future = work->getFuture();
      future->waitAndThrow();
      EXPECT_TRUE(work->isCompleted() && work->isSuccess());
      EXPECT_TRUE(future->value().toTensorVector().at(0).is_same(t[0]));
      expect_values(t[0], 2);
      EXPECT_EQ(work->getSequencenumber(), 0u);
    }));
  });
}

TEST(ProcessGroupNccl, CapturedOperationsRunWithEachReplay) {
  for_ranks(2, [] {
    expect_none(run_group(2, [](int rank, const GroupPtr& group) {
      const auto side = c10::cuda::getStreamFromPool(false, static_cast<c10::DeviceIndex>(rank));
      const c10::cuda::CUDAStreamGuard guard(side);
      Tensor x = on(rank, static_cast<float>(1 + rank));
      Tensors warm{on(rank, 1)};
      group->allreduce(warm)->wait();
      at::cuda::CUDAGraph graph;
      graph.capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
      Tensors t{at::mul(x, 2)};
      group->allreduce(t)->wait();
      x.copy_(at::add(t[0], 0));
      graph.capture_end();
      for (int i = 0; i < 3; ++i) graph.replay();
      expect_values(x, 6 * 4 * 4);  // 2 * (1 + 2), then 2 * (x + x)
      side.synchronize();
    }));
  });
}

TEST(ProcessGroupNccl, SplitsOffAPart) {
  for_ranks(3, [] {
    const auto store = c10::make_intrusive<HashStore>();
    expect_none(run_group(3, [&](int rank, const GroupPtr& group) {
      group->eagerConnectSingleDevice(device_of(rank));
      if (rank == 1) return group->performNocolorSplit(device_of(rank));
      auto options = with_timeout(milliseconds(20000));
      options->split_from = group;
      options->split_color = 5;
      ProcessGroupNCCL part(c10::make_intrusive<PrefixStore>("part", store), rank / 2, 2, options);
      Tensors t{on(rank, static_cast<float>(rank + 1))};
      part.allreduce(t)->wait();
      expect_values(t[0], 4);
    }));
  });
}

TEST(ProcessGroupNccl, ArgumentsAreChecked) {
  for_ranks(2, [] {
    expect_none(run_group(2, [](int rank, const GroupPtr& group) {
      Tensors on_host{at::zeros({2})};
      EXPECT_NE(c10::testing::message_of([&] {
                  group->allreduce(on_host);
                }).find("allreduce: tensors must be on a cuda device, but it is on cpu"),
                std::string::npos);
      Tensors bytes{at::zeros({2}, at::TensorOptions().device(device_of(rank)).dtype(at::kByte))};
      EXPECT_THROW(group->allreduce(bytes, {.reduceOp = ReduceOp::BXOR}), c10::ValueError);
      Tensors shorts{at::zeros({2}, at::TensorOptions().device(device_of(rank)).dtype(at::kShort))};
      EXPECT_THROW(group->allreduce(shorts), c10::TypeError);
      Tensors t{on(rank, 1)};
      EXPECT_THROW(group->send(t, rank, 0), c10::Error);
      Tensor out = on(1 - rank, 0, 8), in = on(rank, 0);
      EXPECT_NE(c10::testing::message_of([&] { group->_allgather_base(out, in); }).find("tensors are on cuda:"),
                std::string::npos);
      EXPECT_THROW(group->endCoalescing(), c10::Error);
      // None of it was an operation.
      group->allreduce(t)->wait();
      expect_values(t[0], 2);
    }));
  });
}

TEST(ProcessGroupNccl, ByItsName) {
  for_ranks(2, [] {
    const auto store = c10::make_intrusive<HashStore>();
    expect_none(testing::errors_of_ranks(2, [&](int rank) {
      const CUDAGuard guard(device_of(rank));
      torch::distributed::init_process_group("nccl", {.world_size = 2, .rank = rank, .store = store});
      Tensor t = on(rank, 1);
      torch::distributed::all_reduce(t);
      expect_values(t, 2);
      torch::distributed::destroy_process_group();
    }));
  });
}

#ifdef KD_CUDA_ON_HOST

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

// One rank does something else: all others throw in time, and say who.
TEST(ProcessGroupNccl, ARankThatDoesNotCall) {
  for_ranks(3, [] {
    const auto begin = Clock::now();
    const auto errors = run_group(
        3,
        [](int rank, const GroupPtr& group) {
          Tensors t{on(rank, 1)};
          group->allreduce(t)->wait();
          if (rank == 2) {
            std::this_thread::sleep_for(milliseconds(1800));
            return;
          }
          group->allreduce(t)->wait(milliseconds(5000));
        },
        milliseconds(1000));
    EXPECT_LT(Clock::now() - begin, milliseconds(7000));
    for (const int rank : {0, 1}) {
      expect_contains(errors[static_cast<size_t>(rank)], "ALLREDUCE number 1 of 4 Float elements (SUM) failed on rank");
    }
    expect_contains(errors[0] + errors[1], "timed out");
    expect_contains(errors[0] + errors[1], "not called by rank 2, which last called ALLREDUCE number 0");
  });
}

TEST(ProcessGroupNccl, RanksThatCallSomethingElse) {
  cuda_standin::Options options{.devices = 2};
  c10::cuda::testing::in_own_process([&] {
    cuda_standin::reset(options);
    const auto errors = run_group(
        2,
        [](int rank, const GroupPtr& group) {
          Tensors t{on(rank, 1, 4 + rank)};
          group->allreduce(t)->wait(milliseconds(5000));
        },
        milliseconds(1000));
    expect_contains(errors[0], "failed on rank 0");
    expect_contains(errors[1], "failed on rank 1");
    expect_contains(cuda_standin::misuse(), "ncclAllReduce");
  });
}

TEST(ProcessGroupNccl, AbortEndsAllRanksAtOnceThoughNcclHangs) {
  for_ranks(3, [] {
    nccl_standin::reset({.abort_takes = milliseconds(1500)});
    const auto errors = run_group(3, [](int rank, const GroupPtr& group) {
      Tensors t{on(rank, 1)};
      group->allreduce(t)->wait();
      const auto begin = Clock::now();
      if (rank == 0) {
        std::this_thread::sleep_for(milliseconds(100));
        group->abort_because("no more data");
        EXPECT_LT(Clock::now() - begin, milliseconds(1000));
        return;
      }
      const auto work = group->allreduce(t);
      const std::string error = c10::testing::message_of([&] { work->wait(milliseconds(10000)); });
      EXPECT_LT(Clock::now() - begin, milliseconds(1000));
      expect_contains(error, "rank 0 called abort(): no more data");
      EXPECT_THROW(group->allreduce(t), c10::DistBackendError);
    });
    expect_none(errors);
  });
}

TEST(ProcessGroupNccl, AnErrorOfNcclsEndsAllRanks) {
  for_ranks(2, [] {
    const auto errors = run_group(2, [](int rank, const GroupPtr& group) {
      Tensors t{on(rank, 1)};
      group->allreduce(t)->wait();
      if (rank == 1) {
        nccl_standin::fail_later(1, ncclRemoteError);
        std::this_thread::sleep_for(milliseconds(300));
      }
      group->allreduce(t)->wait(milliseconds(10000));
    });
    for (const std::string& error : errors) expect_contains(error, "remote process exited");
  });
}

// A call of NCCL's that fails, whichever it is: an error that says so, and nothing that stays behind.
TEST(ProcessGroupNccl, EachCallFailingInTurn) {
  for (int64_t n = 0; n < 12; ++n) {
    SCOPED_TRACE(n);
    c10::cuda::testing::in_own_process([&] {
      cuda_standin::reset({.devices = 2});
      nccl_standin::reset({.fail_call = n});
      const auto errors = run_group(
          2,
          [](int rank, const GroupPtr& group) {
            Tensors t{on(rank, 1)}, other{on(rank, 2)};
            group->allreduce(t)->wait(milliseconds(5000));
            group->startCoalescing();
            group->send(t, 1 - rank, 0);
            group->recv(other, 1 - rank, 0);
            group->endCoalescing()->wait(milliseconds(5000));
            group->barrier()->wait();
          },
          milliseconds(1000));
      const bool failed = nccl_standin::calls() > static_cast<uint64_t>(n);
      EXPECT_EQ(failed, !errors[0].empty() || !errors[1].empty());
      if (failed) expect_contains(errors[0] + errors[1], "unhandled system error");
      EXPECT_EQ(nccl_standin::live_communicators(), 0u);
    });
  }
}

#endif

}  // namespace
}  // namespace c10d
