#include "c10/cuda/host_allocator.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "c10/cuda/allocator_config.h"
#include "c10/cuda/device.h"
#include "c10/cuda/guard.h"
#include "c10/cuda/testing.h"
#include "c10/util/exception.h"

namespace c10::cuda {
namespace {

using at::cuda::CachingHostAllocator_emptyCache;
using at::cuda::CachingHostAllocator_getStats;
using at::cuda::CachingHostAllocator_recordEvent;
using at::cuda::getPinnedMemoryAllocator;
using at::cuda::HostAlloc;
using CUDACachingAllocator::setAllocatorSettings;
using testing::in_all_orders;

// Device memory for a scope.
struct Memory {
  explicit Memory(size_t bytes) { C10_CUDA_CHECK(cudaMalloc(&data, bytes)); }
  ~Memory() { C10_CUDA_CHECK_WARN(cudaFree(data)); }
  void* data = nullptr;
};

TEST(PinnedMemory, IsKeptBySizeClass) {
  in_all_orders([] {
    DataPtr first = HostAlloc(1000);
    void* const address = first.get();
    EXPECT_EQ(first.device(), Device(kCPU));
    EXPECT_TRUE(at::cuda::is_pinned_ptr(address));
    EXPECT_TRUE(at::cuda::is_pinned_ptr(static_cast<char*>(address) + 1023));
    std::memset(address, 1, 1000);
    first.clear();
    DataPtr larger = HostAlloc(1025);
    EXPECT_NE(larger.get(), address);
    DataPtr again = HostAlloc(513);
    EXPECT_EQ(again.get(), address);
    EXPECT_NE(HostAlloc(1024).get(), address);
    EXPECT_EQ(HostAlloc(0).get(), nullptr);
    void* raw = getPinnedMemoryAllocator()->raw_allocate(64);
    EXPECT_TRUE(at::cuda::is_pinned_ptr(raw));
    getPinnedMemoryAllocator()->raw_deallocate(raw);
    const DataPtr copy = getPinnedMemoryAllocator()->clone(raw, 1);
    EXPECT_NE(copy.get(), nullptr);
    int on_stack = 0;
    EXPECT_FALSE(at::cuda::is_pinned_ptr(&on_stack));
    EXPECT_FALSE(at::cuda::is_pinned_ptr(nullptr));
  });
}

TEST(PinnedMemory, WaitsForTheStreamsThatUseIt) {
  in_all_orders([] {
    constexpr size_t kBytes = 1 << 16;
    const Memory from(kBytes), to(kBytes);
    const CUDAStream stream = getStreamFromPool();
    C10_CUDA_CHECK(cudaMemsetAsync(from.data, 5, kBytes, stream));
    DataPtr staging = HostAlloc(kBytes);
    void* const address = staging.get();
    C10_CUDA_CHECK(cudaMemcpyAsync(address, from.data, kBytes, cudaMemcpyDefault, stream));
    C10_CUDA_CHECK(cudaMemcpyAsync(to.data, address, kBytes, cudaMemcpyDefault, stream));
    EXPECT_TRUE(CachingHostAllocator_recordEvent(address, staging.get_context(), stream));
    EXPECT_TRUE(CachingHostAllocator_recordEvent(address, nullptr, stream));
    staging.clear();
    // Whoever gets the block may write to it at once.
    for (int i = 0; i < 4; ++i) {
      const DataPtr other = HostAlloc(kBytes);
      if (testing::nothing_runs_unasked()) {
        EXPECT_NE(other.get(), address);
      }
      std::memset(other.get(), 9, kBytes);
    }
    stream.synchronize();
    std::vector<unsigned char> values(kBytes);
    C10_CUDA_CHECK(cudaMemcpy(values.data(), to.data, kBytes, cudaMemcpyDefault));
    for (const unsigned char value : values) ASSERT_EQ(value, 5);
    std::vector<DataPtr> all;
    bool came_back = false;
    for (int i = 0; i < 3; ++i) came_back |= all.emplace_back(HostAlloc(kBytes)).get() == address;
    EXPECT_TRUE(came_back);
  });
}

TEST(PinnedMemory, WaitsForStreamsOfAllDevices) {
  in_all_orders([] {
    const auto last = static_cast<DeviceIndex>(device_count() - 1);
    const CUDAStream near = getStreamFromPool(false, 0), far = getStreamFromPool(false, last);
    DataPtr block = HostAlloc(4096);
    void* const address = block.get();
    C10_CUDA_CHECK(cudaMemsetAsync(address, 1, 2048, near));
    {
      const CUDAGuard guard(last);
      C10_CUDA_CHECK(cudaMemsetAsync(static_cast<char*>(address) + 2048, 2, 2048, far));
    }
    EXPECT_TRUE(CachingHostAllocator_recordEvent(address, address, near));
    EXPECT_TRUE(CachingHostAllocator_recordEvent(address, address, far));
    block.clear();
    near.synchronize();
    if (testing::nothing_runs_unasked() && last != 0) {
      EXPECT_NE(HostAlloc(4096).get(), address);
    }
    far.synchronize();
    CachingHostAllocator_emptyCache();
    EXPECT_EQ(CachingHostAllocator_getStats().allocations.current, 0);
    EXPECT_EQ(current_device(), 0);
  });
}

TEST(PinnedMemory, IsNotRecordedForOthers) {
  in_all_orders([] {
    int on_stack = 0;
    EXPECT_FALSE(CachingHostAllocator_recordEvent(&on_stack, nullptr, getDefaultCUDAStream()));
    EXPECT_FALSE(CachingHostAllocator_recordEvent(nullptr, nullptr, getDefaultCUDAStream()));
    DataPtr block = HostAlloc(16);
    void* const address = block.get();
    EXPECT_THROW(getPinnedMemoryAllocator()->record_event(address, nullptr, Stream(Stream::DEFAULT, Device(kCPU))),
                 Error);
    block.clear();
    EXPECT_FALSE(CachingHostAllocator_recordEvent(address, address, getDefaultCUDAStream()));
  });
}

TEST(PinnedMemory, IsCounted) {
  in_all_orders([] {
    {
      const DataPtr first = HostAlloc(1000);
      DataPtr second = HostAlloc(2048);
      second.clear();
      const DataPtr again = HostAlloc(2000);
      const at::HostStats stats = CachingHostAllocator_getStats();
      EXPECT_EQ(stats.allocations.current, 2);
      EXPECT_EQ(stats.allocated_bytes.current, 3072);
      EXPECT_EQ(stats.active_requests.current, 2);
      EXPECT_EQ(stats.active_requests.allocated, 3);
      EXPECT_EQ(stats.active_bytes.current, 3072);
      EXPECT_EQ(stats.active_bytes.freed, 2048);
      EXPECT_EQ(stats.num_host_alloc, 2);
      EXPECT_EQ(stats.host_alloc_time.count, 2);
      EXPECT_GE(stats.host_alloc_time.max, stats.host_alloc_time.min);
    }
    CachingHostAllocator_emptyCache();
    at::HostStats stats = CachingHostAllocator_getStats();
    EXPECT_EQ(stats.allocations.current, 0);
    EXPECT_EQ(stats.allocations.peak, 2);
    EXPECT_EQ(stats.active_bytes.current, 0);
    EXPECT_EQ(stats.num_host_free, 2);
    at::cuda::CachingHostAllocator_resetPeakStats();
    at::cuda::CachingHostAllocator_resetAccumulatedStats();
    stats = CachingHostAllocator_getStats();
    EXPECT_EQ(stats.allocations.peak, 0);
    EXPECT_EQ(stats.allocated_bytes.allocated, 0);
    EXPECT_EQ(stats.num_host_alloc, 0);
    EXPECT_EQ(stats.host_free_time.count, 0);
  });
}

TEST(PinnedMemory, MayBeRegisteredPages) {
  in_all_orders([] {
    setAllocatorSettings("pinned_use_cuda_host_register:True,pinned_num_register_threads:4");
    DataPtr block = HostAlloc(100'000);
    EXPECT_TRUE(at::cuda::is_pinned_ptr(block.get()));
    EXPECT_EQ(static_cast<char*>(block.get())[99'999], 0);
#ifdef KD_CUDA_ON_HOST
    EXPECT_EQ(cuda_standin::live().registered, 1u);
    EXPECT_EQ(cuda_standin::live().pinned, 0u);
#endif
    const Memory memory(100'000);
    C10_CUDA_CHECK(cudaMemcpyAsync(memory.data, block.get(), 100'000, cudaMemcpyDefault, nullptr));
    C10_CUDA_CHECK(cudaStreamSynchronize(nullptr));
    setAllocatorSettings("");
    const DataPtr plain = HostAlloc(200'000);
    block.clear();
    CachingHostAllocator_emptyCache();
#ifdef KD_CUDA_ON_HOST
    EXPECT_EQ(cuda_standin::live().registered, 0u);
    EXPECT_EQ(cuda_standin::live().pinned, 1u);
#endif
  });
}

#ifdef KD_CUDA_ON_HOST
TEST(PinnedMemory, ObeysTheEnvironment) {
  testing::in_own_process([] {
    ASSERT_EQ(setenv("PYTORCH_CUDA_ALLOC_CONF", "pinned_use_cuda_host_register:True", 1), 0);
    cuda_standin::reset();
    const DataPtr block = HostAlloc(1000);
    EXPECT_EQ(cuda_standin::live().registered, 1u);
    EXPECT_EQ(cuda_standin::live().pinned, 0u);
  });
}
#endif

TEST(PinnedMemory, MayComeBackByAThread) {
  testing::in_own_process([] {
#ifdef KD_CUDA_ON_HOST
    cuda_standin::reset({.execution = cuda_standin::Execution::kEager});
#endif
    if (device_count() == 0) GTEST_SKIP() << "no CUDA device";
    setAllocatorSettings("pinned_use_background_threads:True");
    const CUDAStream stream = getStreamFromPool();
    DataPtr block = HostAlloc(4096);
    EXPECT_TRUE(CachingHostAllocator_recordEvent(block.get(), nullptr, stream));
    block.clear();
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (CachingHostAllocator_getStats().active_requests.current != 0) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "nobody looked at the event";
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
}

TEST(PinnedMemory, RunsOutWithAnError) {
  in_all_orders([] {
    EXPECT_THROW(HostAlloc(std::numeric_limits<size_t>::max()), OutOfMemoryError);
    EXPECT_THROW(HostAlloc((size_t{1} << 62) + 1), OutOfMemoryError);
    EXPECT_EQ(last_launch_status(), cudaSuccess);
    EXPECT_NE(HostAlloc(16).get(), nullptr);
  });
}

#ifdef KD_CUDA_ON_HOST
// CUDA has no memory until the cache is given back.
TEST(PinnedMemory, IsTriedAgain) {
  testing::in_own_process([] {
    cuda_standin::reset();
    ASSERT_GT(device_count(), 0);
    for (const bool registered : {false, true}) {
      setAllocatorSettings(registered ? "pinned_use_cuda_host_register:True" : "");
      const std::string call = registered ? "cudaHostRegister" : "cudaHostAlloc";
      bool found = false;
      for (int64_t n = 0; n < 40; ++n) {
        cuda_standin::reset({.fail_call = n, .fail_releases = false});
        try {
          EXPECT_NE(HostAlloc(64).get(), nullptr);
          EXPECT_EQ(last_launch_status(), cudaSuccess);
          found |= cuda_standin::failed_call() == call;
        } catch (const Error& e) {
          EXPECT_NE(cuda_standin::failed_call(), call) << e.what();
        }
        CachingHostAllocator_emptyCache();
      }
      EXPECT_TRUE(found) << call;
    }
  });
}

// The block of a graph belongs to it: each replay writes there.
TEST(PinnedMemory, OfCapturedWorkStays) {
  in_all_orders([] {
    const CUDAStream stream = getStreamFromPool();
    const Memory memory(4096);
    DataPtr block = HostAlloc(4096);
    void* const address = block.get();
    C10_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    C10_CUDA_CHECK(cudaMemcpyAsync(memory.data, address, 4096, cudaMemcpyDefault, stream));
    EXPECT_TRUE(CachingHostAllocator_recordEvent(address, nullptr, stream));
    block.clear();
    // Memory is made, and events of others are asked, in the middle of it.
    EXPECT_NE(HostAlloc(4096).get(), address);
    cudaGraph_t graph = nullptr;
    C10_CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
    C10_CUDA_CHECK(cudaGraphDestroy(graph));
    stream.synchronize();
    EXPECT_NE(HostAlloc(4096).get(), address);
    EXPECT_EQ(CachingHostAllocator_getStats().active_requests.current, 1);
    C10_CUDA_CHECK(cudaFreeHost(address));  // so that nothing is left at the end of the test
  });
}

// A block that another stream still reads or writes must not be given out: each carries its own tag, and every reader
// checks it.
TEST(PinnedMemory, KeepsTagsInRandomPrograms) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    testing::in_own_process([seed] {
      cuda_standin::reset({.execution = cuda_standin::Execution::kRandom, .seed = seed});
      std::mt19937 random(seed);
      constexpr size_t kBytes = 256;
      std::vector<CUDAStream> streams;
      for (int i = 0; i < 4; ++i) streams.push_back(getStreamFromPool(false, static_cast<DeviceIndex>(i % 2)));
      std::vector<DataPtr> held;
      std::vector<std::pair<DataPtr, unsigned char>> results;
      for (int step = 0; step < 60; ++step) {
        const CUDAStream stream = streams[random() % streams.size()];
        const CUDAGuard guard(stream.device_index());
        DataPtr from = HostAlloc(kBytes);
        const auto tag = static_cast<unsigned char>(step);
        std::memset(from.get(), tag, kBytes);
        void* memory = nullptr;
        C10_CUDA_CHECK(cudaMalloc(&memory, kBytes));
        C10_CUDA_CHECK(cudaMemcpyAsync(memory, from.get(), kBytes, cudaMemcpyDefault, stream));
        DataPtr result = HostAlloc(kBytes);
        C10_CUDA_CHECK(cudaMemcpyAsync(result.get(), memory, kBytes, cudaMemcpyDefault, stream));
        EXPECT_TRUE(CachingHostAllocator_recordEvent(from.get(), nullptr, stream));
        EXPECT_TRUE(CachingHostAllocator_recordEvent(result.get(), nullptr, stream));
        from.clear();
        if (random() % 4 == 0) {
          stream.synchronize();
          for (size_t i = 0; i < kBytes; ++i) ASSERT_EQ(static_cast<unsigned char*>(result.get())[i], tag) << step;
        }
        if (random() % 2 == 0) held.push_back(std::move(result));
        if (random() % 3 == 0) held.clear();
        if (random() % 16 == 0) CachingHostAllocator_emptyCache();
        C10_CUDA_CHECK(cudaFree(memory));
      }
      held.clear();
      for (const CUDAStream& stream : streams) stream.synchronize();
      testing::empty_caches();
      EXPECT_EQ(cuda_standin::misuse(), "");
      EXPECT_EQ(testing::leaks_but_streams(), "");
    });
  }
}
#endif

TEST(PinnedMemory, ServesThreads) {
  testing::in_own_process([] {
#ifdef KD_CUDA_ON_HOST
    cuda_standin::reset({.execution = cuda_standin::Execution::kRandom});
#endif
    if (device_count() == 0) GTEST_SKIP() << "no CUDA device";
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([t] {
        const CUDAStream stream = getStreamFromPool();
        for (int i = 0; i < 200; ++i) {
          DataPtr block = HostAlloc(static_cast<size_t>(64 << (i % 3)));
          std::memset(block.get(), t, 64);
          if (i % 2 == 0) {
            EXPECT_TRUE(CachingHostAllocator_recordEvent(block.get(), nullptr, stream));
          }
          if (i % 50 == 0) CachingHostAllocator_emptyCache();
          EXPECT_EQ(*static_cast<char*>(block.get()), t);
        }
        stream.synchronize();
      });
    }
    for (std::thread& thread : threads) thread.join();
    CachingHostAllocator_emptyCache();
    EXPECT_EQ(CachingHostAllocator_getStats().active_requests.current, 0);
    EXPECT_EQ(CachingHostAllocator_getStats().allocated_bytes.current, 0);
  });
}

TEST(PinnedMemory, FailsCleanly) {
  const auto use = [] {
    const auto last = static_cast<DeviceIndex>(device_count_ensure_non_zero() - 1);
    const CUDAStream stream = getStreamFromPool(false, last);
    DataPtr block = HostAlloc(4096);
    {
      const CUDAGuard guard(last);
      const Memory memory(4096);
      std::memset(block.get(), 7, 4096);
      C10_CUDA_CHECK(cudaMemcpyAsync(memory.data, block.get(), 4096, cudaMemcpyDefault, stream));
      EXPECT_TRUE(CachingHostAllocator_recordEvent(block.get(), nullptr, stream));
      block.clear();
      // Without an event, the block comes back when the stream is done.
      const DataPtr other = HostAlloc(4096);
      std::memset(other.get(), 8, 4096);
      unsigned char values[4096];
      C10_CUDA_CHECK(cudaMemcpyAsync(values, memory.data, 4096, cudaMemcpyDefault, stream));
      stream.synchronize();
      for (const unsigned char value : values) ASSERT_EQ(value, 7);
    }
    EXPECT_FALSE(at::cuda::is_pinned_ptr(&last));
    HostAlloc(4096).clear();
    CachingHostAllocator_emptyCache();
  };
  testing::with_each_call_failing(use);
  testing::with_each_call_failing([use] {
    setAllocatorSettings("pinned_use_cuda_host_register:True,pinned_num_register_threads:2");
    use();
  });
}

}  // namespace
}  // namespace c10::cuda
