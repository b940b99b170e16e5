#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "c10/core/device_activity.h"
#include "c10/cuda/device.h"
#include "c10/cuda/guard.h"
#include "c10/cuda/launch_test_kernel.h"
#include "c10/cuda/profiler/activity_source.h"
#include "c10/cuda/testing.h"
#include "c10/testing/message_of.h"
#ifdef KD_CUDA_ON_HOST
#include "tests/cuda_on_host/cupti/standin.h"
#endif

namespace c10::cuda {
namespace {

using c10::testing::message_of;
using testing::in_all_orders;

DeviceActivitySource& source() {
  return *device_activity_source(kCUDA);
}

uint64_t now_ns() {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
}

struct Range {
  explicit Range(uint64_t number) : number(number) { source().push_range(number); }
  ~Range() { source().pop_range(number); }
  uint64_t number;
};

// Two lists of floats on the current device.
struct Floats {
  explicit Floats(int64_t n) : n(n) {
    C10_CUDA_CHECK(cudaMalloc(reinterpret_cast<void**>(&x), static_cast<size_t>(n) * 8));
  }
  ~Floats() { C10_CUDA_CHECK_WARN(cudaFree(x)); }
  void add() const { scale_and_add(2, x, x + n, n, 64, getCurrentCUDAStream()); }
  int64_t n;
  float* x = nullptr;
};

std::vector<DeviceActivity> of_kind(const std::vector<DeviceActivity>& all, ActivityKind kind) {
  std::vector<DeviceActivity> found;
  std::copy_if(all.begin(), all.end(), std::back_inserter(found), [&](const auto& one) { return one.kind == kind; });
  return found;
}

std::string detail(const DeviceActivity& one, const std::string& name) {
  for (const auto& [key, value] : one.details) {
    if (key == name) return value;
  }
  return "";
}

const DeviceActivity* call_of(const std::vector<DeviceActivity>& all, const DeviceActivity& work) {
  for (const DeviceActivity& one : all) {
    if (one.kind == ActivityKind::kCall && one.correlation == work.correlation) return &one;
  }
  return nullptr;
}

void in_profiles(const std::function<void()>& body) {
  in_all_orders([&] {
#ifdef KD_CUDA_ON_HOST
    cupti_standin::reset();
#else
    if (!source().start()) GTEST_SKIP() << "no CUPTI";
    source().stop();
#endif
    body();
#ifdef KD_CUDA_ON_HOST
    EXPECT_EQ(cupti_standin::misuse(), "");
    EXPECT_EQ(cupti_standin::enabled_kinds(), 0u);
    EXPECT_EQ(cupti_standin::lent_buffers(), 0u);
    EXPECT_EQ(cupti_standin::open_ranges(), 0u);
#endif
    EXPECT_EQ(profiler::buffer_bytes_in_use(), 0u);
  });
}

TEST(Profiler, TellsOfWorkAndOfTheCallsThatAskedForIt) {
  in_profiles([] {
    const Floats floats(256);
    const CUDAStream stream = getStreamFromPool();
    const CUDAStreamGuard guard(stream);
    std::vector<float> host(256, 1.0f);
    const uint64_t before = now_ns();
    ASSERT_TRUE(source().start());
    {
      const Range outer(11);
      C10_CUDA_CHECK(cudaMemsetAsync(floats.x, 0, 2048, stream));
      {
        const Range inner(12);
        floats.add();
      }
      C10_CUDA_CHECK(cudaMemcpyAsync(host.data(), floats.x + 256, 1024, cudaMemcpyDeviceToHost, stream));
      C10_CUDA_CHECK(cudaStreamSynchronize(stream));
    }
    floats.add();  // nobody waits for it but the profile
    const std::vector<DeviceActivity> found = source().stop();
    const uint64_t after = now_ns();

    const auto kernels = of_kind(found, ActivityKind::kKernel);
    ASSERT_EQ(kernels.size(), 2u);
    EXPECT_NE(kernels[0].name.find("scale_and_add"), std::string::npos) << kernels[0].name;
    EXPECT_EQ(kernels[0].range + kernels[1].range, 12u) << "the second was launched outside";
    for (const DeviceActivity& kernel : kernels) {
      EXPECT_EQ(kernel.device, Device(kCUDA, 0));
      EXPECT_EQ(detail(kernel, "block"), "[64, 1, 1]");
      EXPECT_EQ(detail(kernel, "grid").front(), '[');
      EXPECT_NE(detail(kernel, "registers per thread"), "");
      EXPECT_NE(detail(kernel, "shared memory"), "");
      EXPECT_EQ(detail(kernel, "graph id"), "");
      EXPECT_EQ(kernel.resource, kernels[0].resource);
      // The device's clock and ours agree to some microseconds.
      EXPECT_GT(kernel.start_ns + 100'000, before);
      EXPECT_LT(kernel.end_ns, after + 100'000);
      EXPECT_GT(kernel.end_ns, kernel.start_ns);
      const DeviceActivity* call = call_of(found, kernel);
      ASSERT_NE(call, nullptr);
      EXPECT_EQ(call->name.find("cudaLaunchKernel"), 0u) << call->name;
      EXPECT_EQ(call->name.find("_v"), std::string::npos) << call->name;
      EXPECT_EQ(call->range, kernel.range);
      EXPECT_EQ(call->resource, static_cast<int64_t>(::gettid()));
      EXPECT_TRUE(call->device.is_cpu());
      EXPECT_LE(call->start_ns, kernel.start_ns + 100'000);
    }
    const auto copies = of_kind(found, ActivityKind::kCopy), sets = of_kind(found, ActivityKind::kSet);
    ASSERT_EQ(copies.size(), 1u);
    EXPECT_EQ(copies[0].name, "Memcpy DtoH (Device -> Pageable)");
    EXPECT_EQ(copies[0].bytes, 1024u);
    EXPECT_EQ(copies[0].range, 11u);
    ASSERT_EQ(sets.size(), 1u);
    EXPECT_EQ(sets[0].name, "Memset (Device)");
    EXPECT_EQ(sets[0].bytes, 2048u);
    EXPECT_EQ(sets[0].resource, kernels[0].resource);
    const auto waits = of_kind(found, ActivityKind::kWait);
    ASSERT_EQ(std::count_if(waits.begin(), waits.end(), [](const auto& w) { return w.name == "Stream Sync"; }), 1);
    EXPECT_TRUE(std::all_of(waits.begin(), waits.end(), [](const auto& w) { return w.device == Device(kCUDA, 0); }));
    const auto calls = of_kind(found, ActivityKind::kCall);
    EXPECT_TRUE(std::none_of(calls.begin(), calls.end(), [](const auto& c) {
      return c.name == "cudaGetDevice" || c.name == "cudaDeviceSynchronize";
    })) << "calls that only ask, and the profile's own";
    EXPECT_FALSE(of_kind(found, ActivityKind::kOverhead).empty());
  });
}

TEST(Profiler, ThreadsHaveTheirOwnRanges) {
  in_profiles([] {
    const Floats floats(64);
    ASSERT_TRUE(source().start());
    std::map<uint64_t, int64_t> threads;  // by range
    std::mutex mutex;
    std::vector<std::thread> running;
    for (uint64_t i = 1; i <= 4; ++i) {
      running.emplace_back([&, i] {
        const CUDAStreamGuard guard(getStreamFromPool());
        {
          const std::lock_guard lock(mutex);
          threads[100 * i] = ::gettid();
          threads[100 * i + 1] = ::gettid();
        }
        for (int n = 0; n < 5; ++n) {
          const Range outer(100 * i);
          floats.add();
          const Range inner(100 * i + 1);
          floats.add();
        }
        getCurrentCUDAStream().synchronize();
      });
    }
    for (std::thread& thread : running) thread.join();
    const std::vector<DeviceActivity> found = source().stop();
    const auto kernels = of_kind(found, ActivityKind::kKernel);
    ASSERT_EQ(kernels.size(), 40u);
    std::map<uint64_t, int> counts;
    std::set<int64_t> streams;
    for (const DeviceActivity& kernel : kernels) {
      ++counts[kernel.range];
      streams.insert(kernel.resource);
      const DeviceActivity* call = call_of(found, kernel);
      ASSERT_NE(call, nullptr);
      EXPECT_EQ(call->resource, threads.at(kernel.range));
    }
    EXPECT_EQ(counts.size(), 8u);
    for (const auto& [range, count] : counts) EXPECT_EQ(count, 5) << range;
    EXPECT_EQ(streams.size(), 4u);
  });
}

TEST(Profiler, GoesOnAndOffAndOn) {
  in_profiles([] {
    const Floats floats(64);
    source().push_range(7);  // nobody collects
    ASSERT_TRUE(source().start());
    EXPECT_NE(message_of([] { source().start(); }).find("one profile at a time"), std::string::npos);
    source().pop_range(7);
    source().push_range(8);
    floats.add();
    EXPECT_EQ(of_kind(source().stop(), ActivityKind::kKernel).size(), 1u);
    source().pop_range(8);
    floats.add();
    EXPECT_TRUE(source().stop().empty());
    ASSERT_TRUE(source().start());
    floats.add();
    floats.add();
    const auto kernels = of_kind(source().stop(), ActivityKind::kKernel);
    ASSERT_EQ(kernels.size(), 2u);
    EXPECT_EQ(kernels[0].range, 0u);
  });
}

TEST(Profiler, ARangeMayEndInAnotherThread) {
  in_profiles([] {
    const Floats floats(64);
    ASSERT_TRUE(source().start());
    source().push_range(20);
    source().push_range(21);
    std::thread([] { source().pop_range(21); }).join();
    source().pop_range(20);
    floats.add();
    const auto kernels = of_kind(source().stop(), ActivityKind::kKernel);
    ASSERT_EQ(kernels.size(), 1u);
    EXPECT_EQ(kernels[0].range, 0u);
  });
}

TEST(Profiler, GraphsTellTheirNodes) {
  in_profiles([] {
    const Floats floats(64);
    const CUDAStream stream = getStreamFromPool();
    const CUDAStreamGuard guard(stream);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    C10_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    floats.add();
    C10_CUDA_CHECK(cudaMemsetAsync(floats.x, 0, 256, stream));
    floats.add();
    C10_CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
    C10_CUDA_CHECK(cudaGraphInstantiate(&exec, graph, 0));
    ASSERT_TRUE(source().start());
    for (uint64_t replay = 1; replay <= 3; ++replay) {
      const Range range(replay);
      C10_CUDA_CHECK(cudaGraphLaunch(exec, stream));
    }
    const std::vector<DeviceActivity> found = source().stop();
    const auto kernels = of_kind(found, ActivityKind::kKernel);
    ASSERT_EQ(kernels.size(), 6u);
    std::map<uint64_t, int> counts;
    std::set<std::string> nodes;
    for (const DeviceActivity& kernel : kernels) {
      ++counts[kernel.range];
      EXPECT_NE(detail(kernel, "graph id"), "");
      EXPECT_EQ(detail(kernel, "graph id"), detail(kernels[0], "graph id"));
      nodes.insert(detail(kernel, "graph node id"));
      const DeviceActivity* call = call_of(found, kernel);
      ASSERT_NE(call, nullptr);
      EXPECT_EQ(call->name, "cudaGraphLaunch");
    }
    EXPECT_EQ(counts, (std::map<uint64_t, int>{{1, 2}, {2, 2}, {3, 2}}));
    EXPECT_EQ(nodes.size(), 2u);
    EXPECT_EQ(of_kind(found, ActivityKind::kSet).size(), 3u);
    C10_CUDA_CHECK(cudaGraphExecDestroy(exec));
    C10_CUDA_CHECK(cudaGraphDestroy(graph));
  });
}

TEST(Profiler, EndsInTheMiddleOfACapture) {
  in_profiles([] {
    const Floats floats(64);
    const CUDAStream stream = getStreamFromPool();
    const CUDAStreamGuard guard(stream);
    ASSERT_TRUE(source().start());
    C10_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    floats.add();
    const testing::Warnings warnings;
    source().stop();
    ASSERT_EQ(warnings.texts.size(), 1u);
    EXPECT_NE(warnings.texts[0].find("its stream is captured"), std::string::npos) << warnings.texts[0];
    cudaGraph_t graph = nullptr;
    C10_CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
    C10_CUDA_CHECK(cudaGraphDestroy(graph));
  });
}

TEST(Profiler, BuffersComeBackInAnyOrderAndMayRunOut) {
  in_profiles([] {
    const Floats floats(64);
    EXPECT_THROW(profiler::set_buffer_limits({.buffer_bytes = 10, .total_bytes = 100}), ValueError);
    profiler::set_buffer_limits({.buffer_bytes = 2048, .total_bytes = size_t{1} << 24});
    {
      const testing::Warnings warnings;
      ASSERT_TRUE(source().start());
      for (uint64_t i = 1; i <= 40; ++i) {
        const Range range(i);
        floats.add();
      }
      const std::vector<DeviceActivity> found = source().stop();
      std::set<uint64_t> ranges;
      for (const DeviceActivity& kernel : of_kind(found, ActivityKind::kKernel)) ranges.insert(kernel.range);
      EXPECT_EQ(ranges.size(), 40u);
      EXPECT_TRUE(warnings.texts.empty()) << warnings.texts[0];
    }
#ifdef KD_CUDA_ON_HOST
    profiler::set_buffer_limits({.buffer_bytes = 2048, .total_bytes = 2 * 2048});
    const testing::Warnings warnings;
    ASSERT_TRUE(source().start());
    for (uint64_t i = 1; i <= 40; ++i) floats.add();
    const size_t kept = of_kind(source().stop(), ActivityKind::kKernel).size();
    EXPECT_LT(kept, 40u);
    ASSERT_EQ(warnings.texts.size(), 1u);
    EXPECT_NE(warnings.texts[0].find("records were dropped, as no buffer was left"), std::string::npos)
        << warnings.texts[0];
#endif
  });
}

#ifdef KD_CUDA_ON_HOST
void profile_once() {
  const Floats floats(64);
  const bool started = source().start();
  {
    const Range range(1);
    floats.add();
  }
  source().stop();
  if (!started) EXPECT_EQ(cupti_standin::enabled_kinds(), 0u);
}

TEST(Profiler, EachCallOfCuptiFails) {
  // A profile makes some forty calls.
  for (int64_t n = 0; n < 45; ++n) {
    testing::in_own_process([n] {
      cuda_standin::reset();
      cupti_standin::reset({.fail_call = n});
      {
        const testing::Warnings warnings;
        profile_once();
        if (cupti_standin::failed_call().empty()) {
          EXPECT_TRUE(warnings.texts.empty());
          EXPECT_GT(n, 35);
          return;
        } else {
          ASSERT_EQ(warnings.texts.size(), 1u) << cupti_standin::failed_call();
          EXPECT_NE(
              warnings.texts[0].find(cupti_standin::failed_call() + " failed: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"),
              std::string::npos)
              << warnings.texts[0];
        }
      }
      // What could not be disabled or flushed is made good by the next profile.
      const testing::Warnings warnings;
      ASSERT_TRUE(source().start());
      {
        const Floats floats(64);
        floats.add();
      }
      EXPECT_EQ(of_kind(source().stop(), ActivityKind::kKernel).size(), 1u);
      EXPECT_TRUE(warnings.texts.empty());
      EXPECT_EQ(cupti_standin::misuse(), "");
      EXPECT_EQ(cupti_standin::enabled_kinds(), 0u);
      EXPECT_EQ(cupti_standin::lent_buffers(), 0u);
      EXPECT_EQ(profiler::buffer_bytes_in_use(), 0u);
    });
  }
}

TEST(Profiler, EachCallOfCudaFails) {
  testing::with_each_call_failing([] {
    cupti_standin::reset();
    const testing::Warnings warnings;
    try {
      profile_once();
    } catch (...) {
      source().stop();
      throw;
    }
    EXPECT_EQ(cupti_standin::enabled_kinds(), 0u);
  });
}
#endif

}  // namespace
}  // namespace c10::cuda
