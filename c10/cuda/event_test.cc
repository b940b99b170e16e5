#include "c10/cuda/event.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

#include "c10/cuda/capture_mode.h"
#include "c10/cuda/device.h"
#include "c10/cuda/event_handle.h"
#include "c10/cuda/guard.h"
#include "c10/cuda/testing.h"
#include "c10/testing/message_of.h"

namespace c10::cuda {
namespace {

using at::cuda::CUDAEvent;
using c10::testing::message_of;
using testing::in_all_orders;

DeviceIndex last_device() {
  return static_cast<DeviceIndex>(device_count() - 1);
}

struct Memory {
  explicit Memory(DeviceIndex device) {
    const CUDAGuard guard(device);
    C10_CUDA_CHECK(cudaMalloc(&data, 4096));
  }
  ~Memory() { C10_CUDA_CHECK_WARN(cudaFree(data)); }
  void* data = nullptr;
};

TEST(CudaEvent, IsMadeWhenItIsRecorded) {
  in_all_orders([] {
    CUDAEvent event;
    EXPECT_FALSE(event.isCreated());
    EXPECT_EQ(event.device(), std::nullopt);
    EXPECT_EQ(event.device_index(), -1);
    EXPECT_TRUE(event.query());
    event.synchronize();
    event.block(getDefaultCUDAStream());
    const CUDAStream stream = getStreamFromPool(false, last_device());
    event.record(stream);
    EXPECT_TRUE(event.isCreated());
    EXPECT_EQ(event.device(), Device(kCUDA, last_device()));
    EXPECT_EQ(current_device(), 0);
    event.synchronize();
    EXPECT_TRUE(event.query());
    if (last_device() != 0) {
      EXPECT_THROW(event.record(getDefaultCUDAStream(0)), c10::Error);
    }
    const cudaEvent_t handle = event;
    event.recordOnce(stream);
    EXPECT_EQ(event.event(), handle);
    CUDAEvent moved = std::move(event);
    EXPECT_EQ(moved.event(), handle);
    EXPECT_FALSE(event.isCreated());  // NOLINT(bugprone-use-after-move): what a move leaves is promised
    CUDAEvent assigned;
    assigned = std::move(moved);
    EXPECT_EQ(assigned.event(), handle);
    EXPECT_TRUE(CUDAEvent() < assigned);
    CUDAEvent current;
    current.record();
    EXPECT_EQ(current.device_index(), 0);
  });
}

// A chain over streams of two devices: each step reads what the one before wrote.
TEST(CudaEvent, OrdersStreamsOfTwoDevices) {
  in_all_orders([] {
    const DeviceIndex last = last_device();
    const Memory a(0), b(last), c(0);
    const CUDAStream first = getStreamFromPool(false, 0), second = getStreamFromPool(false, last),
                     third = getStreamFromPool(false, 0);
    C10_CUDA_CHECK(cudaMemsetAsync(a.data, 3, 4096, first));
    CUDAEvent written;
    written.record(first);
    written.block(second);
    {
      const CUDAGuard guard(last);
      C10_CUDA_CHECK(cudaMemcpyPeerAsync(b.data, last, a.data, 0, 4096, second));
    }
    CUDAEvent copied;
    copied.record(second);
    copied.block(third);
    C10_CUDA_CHECK(cudaMemcpyPeerAsync(c.data, 0, b.data, last, 4096, third));
    third.synchronize();
    unsigned char values[4096];
    C10_CUDA_CHECK(cudaMemcpy(values, c.data, 4096, cudaMemcpyDefault));
    for (const unsigned char value : values) ASSERT_EQ(value, 3);
    EXPECT_TRUE(written.query() && copied.query());
  });
}

TEST(CudaEvent, IsAskedWithoutWaiting) {
  in_all_orders([] {
    const Memory memory(0);
    const CUDAStream stream = getStreamFromPool();
    C10_CUDA_CHECK(cudaMemsetAsync(memory.data, 1, 4096, stream));
    CUDAEvent event;
    event.record(stream);
    if (testing::nothing_runs_unasked()) {
      EXPECT_FALSE(event.query());
      EXPECT_EQ(last_launch_status(), cudaSuccess);
    }
    event.synchronize();
    EXPECT_TRUE(event.query());
  });
}

TEST(CudaEvent, TakesTimes) {
  in_all_orders([] {
    CUDAEvent first(cudaEventDefault), second(cudaEventDefault), untimed;
    EXPECT_EQ(message_of<ValueError>([&] { first.elapsed_time(second); }),
              "Both events must be recorded before calculating elapsed time.");
    EXPECT_EQ(message_of<ValueError>([&] { untimed.elapsed_time(second); }),
              "Both events must be created with argument 'enable_timing=True'.");
    const Memory memory(0);
    const CUDAStream stream = getStreamFromPool();
    first.record(stream);
    C10_CUDA_CHECK(cudaMemsetAsync(memory.data, 1, 4096, stream));
    second.record(stream);
    if (testing::nothing_runs_unasked()) {
      EXPECT_EQ(message_of([&] { first.elapsed_time(second); }),
                "Both events must be completed before calculating elapsed time.");
    }
    second.synchronize();
    EXPECT_GE(first.elapsed_time(second), 0.0f);
    if (last_device() != 0) {
      CUDAEvent elsewhere(cudaEventDefault);
      elsewhere.record(getDefaultCUDAStream(last_device()));
      elsewhere.synchronize();
      EXPECT_THROW(first.elapsed_time(elsewhere), c10::Error);
    }
  });
}

#ifdef KD_CUDA_ON_HOST
// An external event is a node of the graph: each replay records it, and who is outside can wait for it.
TEST(CudaEvent, MayBeANodeOfAGraph) {
  in_all_orders([] {
    const Memory memory(0);
    const CUDAStream stream = getStreamFromPool();
    CUDAEvent event(cudaEventDisableTiming | cudaEventExternal);
    cudaGraph_t graph = nullptr;
    C10_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    C10_CUDA_CHECK(cudaMemsetAsync(memory.data, 4, 4096, stream));
    {
      const CUDAStreamCaptureModeGuard relaxed(cudaStreamCaptureModeRelaxed);
      event.record(stream);
      event.block(stream);
    }
    C10_CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
    EXPECT_TRUE(event.query());
    cudaGraphExec_t exec = nullptr;
    C10_CUDA_CHECK(cudaGraphInstantiate(&exec, graph, 0));
    C10_CUDA_CHECK(cudaGraphLaunch(exec, stream));
    event.synchronize();
    unsigned char value = 0;
    const CUDAStream other = getStreamFromPool();
    C10_CUDA_CHECK(cudaMemcpyAsync(&value, memory.data, 1, cudaMemcpyDefault, other));
    other.synchronize();
    EXPECT_EQ(value, 4);
    stream.synchronize();
    C10_CUDA_CHECK(cudaGraphExecDestroy(exec));
    C10_CUDA_CHECK(cudaGraphDestroy(graph));
  });
}
#endif

TEST(CudaEvent, OfThePoolAreUsedAgain) {
  in_all_orders([] {
    cudaEvent_t handle;
    {
      PooledEvent event(0);
      handle = event.event();
      const PooledEvent other(0);
      EXPECT_NE(other.event(), handle);
      const CUDAStream stream = getStreamFromPool();
      event.record(stream);
      event.block(getDefaultCUDAStream());
      stream.synchronize();
      EXPECT_TRUE(event.query());
      PooledEvent moved = std::move(event);
      EXPECT_EQ(moved.event(), handle);
    }
    std::set<cudaEvent_t> again;
    std::vector<PooledEvent> events;
    for (int i = 0; i < 2; ++i) again.insert(events.emplace_back(0).event());
    EXPECT_TRUE(again.contains(handle));
    if (last_device() != 0) {
      const PooledEvent elsewhere(last_device());
      EXPECT_EQ(elsewhere.device_index(), last_device());
    }
    EXPECT_EQ(current_device(), 0);
  });
}

TEST(CudaEvent, FailsCleanly) {
  testing::with_each_call_failing([] {
    CUDAEvent first(cudaEventDefault), second(cudaEventDefault);
    const CUDAStream stream = getStreamFromPool(false, last_device());
    first.record(stream);
    second.record(stream);
    second.block(getDefaultCUDAStream(0));
    second.synchronize();
    EXPECT_TRUE(second.query());
    EXPECT_GE(first.elapsed_time(second), 0.0f);
    PooledEvent pooled(0);
    pooled.record(getDefaultCUDAStream(0));
  });
}

}  // namespace
}  // namespace c10::cuda
