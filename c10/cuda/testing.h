// Tests of what a process keeps: each case runs in a process of its own. On the host it runs in every order of
// execution, and with each call to CUDA failing in turn.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "c10/cuda/caching_allocator.h"
#include "c10/cuda/device.h"
#include "c10/cuda/event_handle.h"
#include "c10/cuda/host_allocator.h"
#include "c10/util/exception.h"
#include "c10/util/warning.h"

#ifdef KD_CUDA_ON_HOST
#include "tests/cuda_on_host/runtime/standin.h"
#endif

// Of programs that count what they run (tests/cuda_on_host/coverage.sh).
extern "C" __attribute__((weak)) int __llvm_profile_write_file();

namespace c10::cuda::testing {

/// The texts of a thread's warnings while it lives.
struct Warnings final : WarningHandler {
  Warnings() : guard(this) {}
  using WarningHandler::process;
  void process(const Warning& warning) override { texts.push_back(warning.msg()); }
  std::vector<std::string> texts;
  WarningUtils::WarningHandlerGuard guard;
};

/// Runs `body` in a process of its own; its failures are the test's. The calling process must not have called CUDA.
inline void in_own_process(const std::function<void()>& body) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const ::testing::TestResult& result = *::testing::UnitTest::GetInstance()->current_test_info()->result();
    const int before = result.total_part_count();
    try {
      body();
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
#ifdef KD_CUDA_ON_HOST
      EXPECT_EQ(cuda_standin::misuse(), "");
#endif
    }
    bool failed = false;
    for (int i = before; i < result.total_part_count(); ++i) failed |= result.GetTestPartResult(i).failed();
    std::fflush(stdout);
    if (__llvm_profile_write_file != nullptr) __llvm_profile_write_file();
    ::_exit(failed ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the case's process ended with status " << status;
}

/// Gives back what the library keeps for reuse.
inline void empty_caches() {
  CUDACachingAllocator::emptyCache();
  at::cuda::CachingHostAllocator_emptyCache();
  empty_event_pool();
}

#ifdef KD_CUDA_ON_HOST

inline cuda_standin::Execution g_execution = cuda_standin::Execution::kEager;
/// Whether work of streams waits until somebody waits for it.
inline bool nothing_runs_unasked() {
  return g_execution == cuda_standin::Execution::kLazy;
}

/// What is alive but streams, which pools keep; "" for nothing.
inline std::string leaks_but_streams() {
  const cuda_standin::Live live = cuda_standin::live();
  std::string text;
  const auto add = [&](const char* kind, size_t count) {
    if (count != 0) text += str(kind, ": ", count, "\n");
  };
  add("allocations", live.allocations);
  add("pinned", live.pinned);
  add("registered", live.registered);
  add("events", live.events);
  add("graphs", live.graphs + live.execs);
  return text;
}

/// Runs `body` in each order of execution, each time in a process of its own. Nothing may leak or be misused.
inline void in_all_orders(const std::function<void()>& body, cuda_standin::Options options = {}) {
  using cuda_standin::Execution;
  for (const Execution execution : {Execution::kEager, Execution::kLazy, Execution::kRandom}) {
    for (uint64_t seed = 0; seed < (execution == Execution::kRandom ? 5u : 1u); ++seed) {
      SCOPED_TRACE(str("execution ", static_cast<int>(execution), ", seed ", seed));
      options.execution = execution;
      options.seed = seed;
      in_own_process([&] {
        g_execution = execution;
        cuda_standin::reset(options);
        body();
        empty_caches();
        EXPECT_EQ(cuda_standin::misuse(), "");
        EXPECT_EQ(leaks_but_streams(), "");
      });
    }
  }
}

/// Runs `body`, which passes, once for each of its calls to CUDA, which fails: it ends, or throws a c10::Error that
/// names the failure. Nothing leaks, and `body` passes when it is run again in the same process.
inline void with_each_call_failing(const std::function<void()>& body) {
  auto* calls = static_cast<uint64_t*>(
      ::mmap(nullptr, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(calls, MAP_FAILED);
  in_own_process([&] {
    cuda_standin::reset();
    body();
    *calls = cuda_standin::calls();
  });
  ASSERT_GT(*calls, 0u);
  for (int64_t n = 0; n < static_cast<int64_t>(*calls); ++n) {
    in_own_process([&] {
      SCOPED_TRACE(str("call ", n, " fails"));
      cuda_standin::reset({.fail_call = n, .fail_releases = false});
      try {
        body();
      } catch (const AcceleratorError& e) {
        EXPECT_EQ(e.get_error_code(), cudaErrorMemoryAllocation);
        EXPECT_NE(e.msg().find("CUDA error: out of memory"), std::string::npos) << e.msg();
      } catch (const OutOfMemoryError& e) {
        EXPECT_NE(e.msg().find("CUDA error: out of memory"), std::string::npos) << e.msg();
      } catch (const Error& e) {
        // The first call asks how many devices there are, and its failure is no device.
        EXPECT_EQ(e.msg(), "No CUDA GPUs are available");
        EXPECT_EQ(cuda_standin::failed_call(), "cudaGetDeviceCount");
        return;
      }
      if (cuda_standin::failed_call() == "cudaGetDeviceCount") return;
      EXPECT_EQ(last_launch_status(), cudaSuccess) << "an error is reported once: " << cuda_standin::failed_call();
      body();
      empty_caches();
      EXPECT_EQ(cuda_standin::misuse(), "");
      EXPECT_EQ(leaks_but_streams(), "");
    });
  }
  ::munmap(calls, sizeof(uint64_t));
}

#else

inline bool nothing_runs_unasked() {
  return false;
}

inline void in_all_orders(const std::function<void()>& body) {
  in_own_process([&] {
    if (device_count() == 0) GTEST_SKIP() << "no CUDA device";
    body();
    empty_caches();
  });
}
inline void with_each_call_failing(const std::function<void()>& body) {
  in_all_orders(body);
}

#endif

}  // namespace c10::cuda::testing
