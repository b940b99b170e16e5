// Workers that are processes, of which some end or stop without a word.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "aten/aten.h"
#include "c10/testing/files.h"
#include "distributed/rpc/autograd.h"
#include "distributed/rpc/rpc.h"
#include "distributed/store/file_store.h"
#include "distributed/testing/run_processes.h"

namespace torch::distributed::rpc {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

std::string name_of(int rank) {
  return "worker" + std::to_string(rank);
}

[[maybe_unused]] const bool functions_are_known = [] {
  register_function("nothing", [] {});
  register_function("die", [] { ::raise(SIGKILL); });
  register_function("stop", [] { ::raise(SIGSTOP); });
  register_function("sleep", [](int64_t ms) { std::this_thread::sleep_for(milliseconds(ms)); });
  register_function("hold", [](RRefPtr reference) {
    static RRefPtr held;
    held = reference;
  });
  register_function("twice", [](at::Tensor x) { return x * 2; });
  register_function("value_of", [](RRefPtr reference) { return reference->to_here<at::Tensor>(); });
  return true;
}();

// Runs workers; those of `lost` are expected to end by SIGKILL (stopped ones are killed when the others have ended),
// the others to return.
void run_workers(int size, const std::vector<int>& lost, float lease, const std::function<void(int)>& body) {
  const std::string path = c10::testing::fresh_folder() + "/store";
  const auto ended = c10d::testing::run_processes(
      size,
      [&](int rank) {
        RpcBackendOptions options;
        options.store = c10::make_intrusive<c10d::FileStore>(path, -1);
        options.address = "127.0.0.1";
        options.lease = lease;
        options.rpcTimeoutSeconds = 20;
        init_rpc(name_of(rank), rank, size, options);
        body(rank);
      },
      milliseconds(25000),
      [&](const std::vector<pid_t>& processes) {
        for (int rank = 0; rank < size; ++rank) {
          siginfo_t info;
          if (std::find(lost.begin(), lost.end(), rank) == lost.end())
            ::waitid(P_PID, static_cast<id_t>(processes[rank]), &info, WEXITED | WNOWAIT);
        }
        for (const int rank : lost) ::kill(processes[rank], SIGKILL);
      });
  for (int rank = 0; rank < size; ++rank) {
    const bool is_lost = std::find(lost.begin(), lost.end(), rank) != lost.end();
    EXPECT_EQ(ended[rank].signal, is_lost ? SIGKILL : 0) << rank;
    EXPECT_TRUE(is_lost || ended[rank].exit_code == 0) << rank << ": " << ended[rank].error;
  }
}

// In a worker: that `body` throws c10::DistNetworkError that names `worker`, within `limit`.
void expect_lost(int worker, milliseconds limit, const char* what, const std::function<void()>& body) {
  const auto begin = Clock::now();
  try {
    body();
  } catch (const c10::DistNetworkError& e) {
    const auto took = std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
    TORCH_CHECK(e.msg().find("worker \"" + name_of(worker) + "\" (rank " + std::to_string(worker)) != std::string::npos,
                what, " names no worker: ", e.msg());
    TORCH_CHECK(took < limit, what, " took ", took.count(), " ms of ", limit.count());
    return;
  }
  TORCH_CHECK(false, what, " threw nothing");
}

TEST(Faults, AKilledWorkerIsNamedByAllCallsAndByShutdown) {
  run_workers(3, {2}, 1, [](int rank) {
    if (rank == 0) {
      rpc_sync(2, "nothing");
      const RRefPtr reference = remote(2, "twice", {at::ones({3})});
      reference->to_here();
      const FuturePtr waiting = rpc_async(2, "sleep", {20000}, 0);
      expect_lost(2, milliseconds(3000), "the call that kills it", [] { rpc_sync(2, "die"); });
      expect_lost(2, milliseconds(3000), "a call that waited", [&] { waiting->waitAndThrow(); });
      expect_lost(2, milliseconds(3000), "a later call", [] { rpc_sync(2, "nothing"); });
      expect_lost(2, milliseconds(3000), "a reference", [&] { reference->to_here(); });
      expect_lost(2, milliseconds(3000), "a new reference", [] { remote(2, "nothing")->to_here(); });
      rpc_sync(1, "nothing");
    }
    if (rank == 2) std::this_thread::sleep_for(std::chrono::hours(1));
    expect_lost(2, milliseconds(8000), "shutdown", [] { shutdown(); });
    shutdown();
  });
}

TEST(Faults, AStoppedWorkerIsNamedWithinTimeoutOrLease) {
  run_workers(3, {2}, 1, [](int rank) {
    if (rank == 0) {
      rpc_sync(2, "nothing");
      rpc_async(2, "stop");
      const auto calls = [] {
        expect_lost(2, milliseconds(1500), "a call with a timeout", [] { rpc_sync(2, "nothing", {}, 0.3f); });
      };
      std::this_thread::sleep_for(milliseconds(50));
      calls();
      expect_lost(2, milliseconds(5000), "a call without one", [] { rpc_sync(2, "nothing", {}, 0); });
      calls();
      rpc_sync(1, "nothing");
    }
    if (rank == 2) std::this_thread::sleep_for(std::chrono::hours(1));
    expect_lost(2, milliseconds(12000), "shutdown", [] { shutdown(); });
  });
}

TEST(Faults, TheFirstWorkerMayBeTheOneThatIsLost) {
  for (const char* how : {"die", "stop"}) {
    run_workers(3, {0}, 1, [how](int rank) {
      if (rank == 1) expect_lost(0, milliseconds(3000), "the call that ends it", [how] { rpc_sync(0, how, {}, 1); });
      if (rank == 0) std::this_thread::sleep_for(std::chrono::hours(1));
      expect_lost(0, milliseconds(8000), "shutdown", [] { shutdown(); });
    });
  }
}

TEST(Faults, ALostWorkerLosesItsReferencesWithItsLease) {
  run_workers(3, {1}, 0.6f, [](int rank) {
    if (rank == 1) std::this_thread::sleep_for(std::chrono::hours(1));
    if (rank == 0) {
      const auto context = RRefContext::current();
      const RRefPtr own = make_rref(at::ones({2}));
      rpc_sync(1, "hold", {own});
      rpc_sync(2, "hold", {own});
      std::this_thread::sleep_for(milliseconds(1200));
      TORCH_CHECK(context->counts().forks == 2, "references were lost: ", context->counts().forks);
      expect_lost(1, milliseconds(3000), "the call that kills it", [] { rpc_sync(1, "die"); });
      const auto end = Clock::now() + milliseconds(4000);
      while (context->counts().forks != 1) {
        TORCH_CHECK(Clock::now() < end, "a dead worker keeps its references");
        std::this_thread::sleep_for(milliseconds(5));
      }
    }
    expect_lost(1, milliseconds(12000), "shutdown", [] { shutdown(); });
  });
}

TEST(Faults, BackwardNamesTheWorkerThatIsLost) {
  run_workers(2, {1}, 1, [](int rank) {
    if (rank == 1) std::this_thread::sleep_for(std::chrono::hours(1));
    autograd::context context;
    const at::Tensor x = at::ones({2}).set_requires_grad(true);
    const at::Tensor y = rpc_sync<at::Tensor>(1, "twice", {x});
    expect_lost(1, milliseconds(3000), "the call that kills it", [] { rpc_sync(1, "die"); });
    expect_lost(1, milliseconds(3000), "backward", [&] { autograd::backward(context.id(), {y.sum()}); });
    shutdown(false);
  });
}

// At any moment of a training loop, whoever it is.
TEST(Faults, WorkersKilledAtRandomMomentsAreNamed) {
  constexpr int kWorkers = 3;
  for (int seed = 0; seed < 8; ++seed) {
    const int lost = seed % kWorkers, after = 5 + 37 * seed % 60;
    run_workers(kWorkers, {lost}, 1, [=](int rank) {
      std::thread killer;
      if (rank == lost) {
        killer = std::thread([after] {
          std::this_thread::sleep_for(milliseconds(after));
          ::raise(SIGKILL);
        });
      }
      std::string text;
      const auto end = Clock::now() + milliseconds(8000);
      while (text.empty()) {
        TORCH_CHECK(Clock::now() < end, "nobody noticed");
        try {
          autograd::context context;
          const at::Tensor x = at::ones({8}).set_requires_grad(true);
          const RRefPtr there = remote((rank + 1) % kWorkers, "twice", {x});
          const at::Tensor y = rpc_sync<at::Tensor>((rank + 2) % kWorkers, "value_of", {there});
          autograd::backward(context.id(), {y.sum()});
          TORCH_CHECK(at::equal(autograd::get_gradients(context.id()).at(x), at::full({8}, 2.0)), "a wrong gradient");
        } catch (const c10::DistNetworkError& e) {
          text = e.msg();
        }
      }
      // Without the first worker others leave as soon as they notice, and may be missed, too.
      TORCH_CHECK(lost == 0 || text.find("worker \"" + name_of(lost) + "\"") != std::string::npos, "not named: ", text);
      expect_lost(lost, milliseconds(8000), "shutdown", [] { shutdown(); });
    });
  }
}

// A worker that leaves on its own: what waits for it fails, what it waits for, too.
TEST(Faults, AWorkerThatLeavesAtOnce) {
  run_workers(2, {}, 1, [](int rank) {
    if (rank == 1) {
      const FuturePtr waiting = rpc_async(0, "sleep", {300}, 0);
      std::this_thread::sleep_for(milliseconds(100));
      shutdown(false);
      TORCH_CHECK(waiting->hasError(), "a call outlived the agent");
      return;
    }
    std::this_thread::sleep_for(milliseconds(1000));
    expect_lost(1, milliseconds(3000), "a call", [] { rpc_sync(1, "nothing"); });
    expect_lost(1, milliseconds(5000), "shutdown", [] { shutdown(); });
  });
}

}  // namespace
}  // namespace torch::distributed::rpc
