#include "c10/cuda/stream.h"

#include <gtest/gtest.h>

#include <barrier>
#include <set>
#include <sstream>
#include <thread>
#include <unordered_set>
#include <vector>

#include "c10/cuda/device.h"
#include "c10/cuda/guard.h"
#include "c10/cuda/testing.h"
#include "c10/testing/message_of.h"

namespace c10::cuda {
namespace {

using c10::testing::message_of;
using testing::in_all_orders;

DeviceIndex last_device() {
  return static_cast<DeviceIndex>(device_count() - 1);
}

TEST(CudaStream, OfPoolsComeInTurn) {
  in_all_orders([] {
    std::vector<CUDAStream> first;
    for (int i = 0; i < 32; ++i) first.push_back(getStreamFromPool());
    std::set<cudaStream_t> handles;
    for (const CUDAStream& stream : first) {
      EXPECT_EQ(stream.device_index(), 0);
      EXPECT_LT(stream.id(), 0);
      handles.insert(stream.stream());
    }
    EXPECT_EQ(handles.size(), 32u);
    EXPECT_FALSE(handles.contains(nullptr));
    for (int i = 0; i < 32; ++i) EXPECT_EQ(getStreamFromPool(), first[static_cast<size_t>(i)]);
    const CUDAStream high = getStreamFromPool(/*isHighPriority=*/true);
    EXPECT_FALSE(handles.contains(high.stream()));
    const CUDAStream other = getStreamFromPool(false, last_device());
    EXPECT_EQ(other.device_index(), last_device());
    if (last_device() != 0) {
      EXPECT_FALSE(handles.contains(other.stream()));
    }
    EXPECT_EQ(current_device(), 0);
    EXPECT_THROW(getStreamFromPool(false, 100), c10::Error);
    EXPECT_THROW(getStreamFromPool(false, -2), c10::Error);
  });
}

TEST(CudaStream, HavePriorities) {
  in_all_orders([] {
    const auto [least, greatest] = CUDAStream::priority_range();
    EXPECT_EQ(least, 0);
    EXPECT_LE(greatest, 0);
    EXPECT_GE(greatest, -3);
    for (int priority = greatest - 2; priority < 3; ++priority) {
      EXPECT_EQ(getStreamFromPool(priority).priority(), std::min(std::max(priority, greatest), 0)) << priority;
    }
    EXPECT_EQ(getStreamFromPool(std::numeric_limits<int>::min()).priority(), greatest);
    EXPECT_EQ(getStreamFromPool(std::numeric_limits<int>::max()).priority(), 0);
    EXPECT_EQ(getStreamFromPool(true).priority(), greatest);
    EXPECT_EQ(getStreamFromPool(false).priority(), 0);
    EXPECT_EQ(getDefaultCUDAStream().priority(), 0);
  });
}

TEST(CudaStream, AreValues) {
  in_all_orders([] {
    const CUDAStream stream = getStreamFromPool(-1, last_device());
    const StreamData3 data = stream.pack3();
    EXPECT_EQ(CUDAStream::unpack3(data.stream_id, data.device_index, data.device_type), stream);
    EXPECT_EQ(CUDAStream(Stream::unpack(stream.unwrap().pack())), stream);
    const Stream plain = stream;
    EXPECT_EQ(CUDAStream(plain), stream);
    EXPECT_EQ(static_cast<cudaStream_t>(stream), stream.stream());
    EXPECT_EQ(stream.device(), Device(kCUDA, last_device()));
    EXPECT_EQ(stream.device_type(), kCUDA);
    EXPECT_NE(stream, getDefaultCUDAStream(last_device()));
    EXPECT_TRUE((std::unordered_set<CUDAStream>{stream}.contains(CUDAStream(plain))));
    std::ostringstream text, expected;
    text << stream;
    expected << plain;
    EXPECT_EQ(text.str(), expected.str());
    EXPECT_EQ(message_of([] { CUDAStream(Stream(Stream::DEFAULT, Device(kCPU))); }),
              "CUDAStream: expected a stream of a CUDA device, got one of cpu");
    // A stream of the pool that came by its number alone.
    set_device(0, /*force=*/true);
    const cudaStream_t handle = CUDAStream::unpack3(-30, last_device(), kCUDA).stream();
    int device = -1;
    C10_CUDA_CHECK(cudaStreamGetDevice(handle, &device));
    EXPECT_EQ(device, last_device());
  });
}

TEST(CudaStream, MayComeFromElsewhere) {
  in_all_orders([] {
    cudaStream_t handle = nullptr;
    C10_CUDA_CHECK(cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking));
    {
      const CUDAStream stream = getStreamFromExternal(handle, 0);
      EXPECT_EQ(stream.stream(), handle);
      EXPECT_EQ(stream.id(), reinterpret_cast<StreamId>(handle));
      const CUDAStreamGuard guard(stream);
      EXPECT_EQ(getCurrentCUDAStream(), stream);
      EXPECT_TRUE(stream.query());
    }
    C10_CUDA_CHECK(cudaStreamDestroy(handle));
    EXPECT_EQ(getStreamFromExternal(nullptr, 0), getDefaultCUDAStream(0));
    EXPECT_THROW(getStreamFromExternal(handle, 100), c10::Error);
  });
}

TEST(CudaStream, CurrentIsTheThreadsOwn) {
  in_all_orders([] {
    EXPECT_EQ(getCurrentCUDAStream(), getDefaultCUDAStream());
    EXPECT_EQ(getDefaultCUDAStream().stream(), nullptr);
    EXPECT_EQ(getDefaultCUDAStream().id(), 0);
    const CUDAStream mine = getStreamFromPool();
    setCurrentCUDAStream(mine);
    EXPECT_EQ(getCurrentCUDAStream(), mine);
    std::thread([&] {
      EXPECT_EQ(getCurrentCUDAStream(), getDefaultCUDAStream());
      setCurrentCUDAStream(getStreamFromPool());
    }).join();
    EXPECT_EQ(getCurrentCUDAStream(), mine);
    if (last_device() != 0) {
      EXPECT_EQ(getCurrentCUDAStream(last_device()), getDefaultCUDAStream(last_device()));
      const CUDAStream other = getStreamFromPool(false, last_device());
      setCurrentCUDAStream(other);
      EXPECT_EQ(getCurrentCUDAStream(last_device()), other);
      EXPECT_EQ(getCurrentCUDAStream(), mine);
      EXPECT_EQ(current_device(), 0);
    }
    EXPECT_THROW(getCurrentCUDAStream(100), c10::Error);
  });
}

// The default stream's handle means the driver's device: who asks for the current stream is on it.
TEST(CudaStream, CurrentOneIsOnTheThreadsDevice) {
  in_all_orders([] {
    ExchangeDevice(last_device());
    MaybeExchangeDevice(0);
    EXPECT_EQ(getCurrentCUDAStream().device_index(), 0);
    int device = -1;
    C10_CUDA_CHECK(cudaGetDevice(&device));
    EXPECT_EQ(device, 0);
  });
}

TEST(CudaStream, QueryAndSynchronize) {
  in_all_orders([] {
    const DeviceIndex device = last_device();
    const CUDAStream stream = getStreamFromPool(false, device);
    void* from = nullptr;
    void* to = nullptr;
    {
      const CUDAGuard guard(device);
      C10_CUDA_CHECK(cudaMalloc(&from, 4096));
      C10_CUDA_CHECK(cudaMalloc(&to, 4096));
      C10_CUDA_CHECK(cudaMemsetAsync(from, 7, 4096, stream));
      C10_CUDA_CHECK(cudaMemcpyAsync(to, from, 4096, cudaMemcpyDeviceToDevice, stream));
    }
    if (testing::nothing_runs_unasked()) {
      EXPECT_FALSE(stream.query());
      EXPECT_EQ(last_launch_status(), cudaSuccess);
    }
    stream.synchronize();
    EXPECT_TRUE(stream.query());
    unsigned char values[4096];
    C10_CUDA_CHECK(cudaMemcpy(values, to, 4096, cudaMemcpyDefault));
    for (const unsigned char value : values) ASSERT_EQ(value, 7);
    EXPECT_EQ(current_device(), 0);
    C10_CUDA_CHECK(cudaFree(from));
    C10_CUDA_CHECK(cudaFree(to));
    warning_state().set_sync_debug_mode(SyncDebugMode::L_ERROR);
    EXPECT_THROW(stream.synchronize(), c10::Error);
    EXPECT_TRUE(stream.query());
    warning_state().set_sync_debug_mode(SyncDebugMode::L_DISABLED);
  });
}

TEST(CudaStream, PoolsServeThreads) {
  testing::in_own_process([] {
#ifdef KD_CUDA_ON_HOST
    cuda_standin::reset();
#endif
    if (device_count() == 0) GTEST_SKIP() << "no CUDA device";
    std::vector<std::vector<CUDAStream>> got(8);
    std::vector<std::thread> threads;
    for (auto& mine : got) {
      threads.emplace_back([&mine] {
        for (int i = 0; i < 32; ++i) mine.push_back(getStreamFromPool(i % 2 == 0 ? 0 : -1));
        for (const CUDAStream& stream : mine) EXPECT_TRUE(stream.query());
      });
    }
    for (std::thread& thread : threads) thread.join();
    std::set<cudaStream_t> handles;
    for (const auto& mine : got) {
      for (const CUDAStream& stream : mine) handles.insert(stream.stream());
    }
    EXPECT_EQ(handles.size(), 64u);
    // Streams that nobody made yet, which all threads ask for at once.
    std::barrier start(8);
    threads.clear();
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&start] {
        for (int i = 0; i < 32; ++i) {
          start.arrive_and_wait();
          EXPECT_NE(CUDAStream::unpack3(-65 - i, 0, kCUDA).stream(), nullptr);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
#ifdef KD_CUDA_ON_HOST
    EXPECT_EQ(cuda_standin::live().streams, 96u);
#endif
  });
}

TEST(CudaStream, FailsCleanly) {
  testing::with_each_call_failing([] {
    const CUDAStream stream = getStreamFromPool(-2, last_device());
    stream.query();
    stream.synchronize();
    EXPECT_LE(stream.priority(), 0);
    const CUDAStreamGuard guard(stream);
    EXPECT_EQ(getCurrentCUDAStream(), stream);
  });
}

}  // namespace
}  // namespace c10::cuda
