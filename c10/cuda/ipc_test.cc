#include "c10/cuda/ipc.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "c10/cuda/device.h"
#include "c10/cuda/event.h"
#include "c10/cuda/guard.h"
#include "c10/cuda/testing.h"
#include "c10/testing/message_of.h"

namespace c10::cuda {
namespace {

using testing::in_all_orders;

int g_freed = 0;

DataPtr device_memory(size_t bytes, DeviceIndex device) {
  const CUDAGuard guard(device);
  void* data = nullptr;
  C10_CUDA_CHECK(cudaMalloc(&data, bytes));
  const auto free = [](void* memory) {
    ++g_freed;
    C10_CUDA_CHECK_WARN(cudaFree(memory));
  };
  return {data, data, free, Device(kCUDA, device)};
}

TEST(Ipc, RefusesWhatCannotBeSent) {
  in_all_orders([] {
    const CUDAStream stream = getDefaultCUDAStream(0);
    int on_host = 0;
    EXPECT_THROW(ipc::send(DataPtr(&on_host, Device(kCPU)), &on_host, 4, stream), Error);
    DataPtr data = device_memory(64, 0);
    char* base = static_cast<char*>(data.get());
    EXPECT_THROW(ipc::send(DataPtr(base, data.device()), base + 1, 4, stream), Error);
    EXPECT_THROW(ipc::send(DataPtr(base, data.device()), nullptr, 4, stream), Error);
    EXPECT_THROW(ipc::send(DataPtr(base, data.device()), base, 4, stream, 0), Error);
    if (device_count() > 1) {
      EXPECT_THROW(ipc::send(DataPtr(base, data.device()), base, 4, getDefaultCUDAStream(1)), Error);
    }
    EXPECT_EQ(ipc::collect(), 0u);
    ipc::MemoryHandle handle{};
    handle.offset = -1;
    EXPECT_THROW(ipc::receive(handle), Error);
  });
}

#ifdef KD_CUDA_ON_HOST
// On a device a process cannot open its own memory; the stand-in lets it, as it knows one process only.
TEST(Ipc, SendsMemoryAndKeepsItUntilItIsLetGo) {
  in_all_orders([] {
    const auto device = static_cast<DeviceIndex>(device_count() - 1);
    const CUDAStream stream = getStreamFromPool(false, device);
    DataPtr data = device_memory(8192, device);
    char* const base = static_cast<char*>(data.get());
    {
      const CUDAGuard guard(device);
      C10_CUDA_CHECK(cudaMemsetAsync(base, 6, 8192, stream));
    }
    // A tensor in the middle of its allocation.
    g_freed = 0;
    DataPtr part(base + 4096, data.release_context(), data.get_deleter(), data.device());
    const ipc::MemoryHandle handle = ipc::send(std::move(part), base, 4096, stream, /*receivers=*/2);
    EXPECT_EQ(handle.offset, 4096);
    EXPECT_EQ(handle.bytes, 4096u);
    ipc::MemoryHandle elsewhere = handle;
    elsewhere.device.bytes[0] ^= 1;
    EXPECT_THROW(ipc::receive(elsewhere), Error);
    DataPtr first = ipc::receive(handle), second = ipc::receive(handle);
    EXPECT_EQ(first.device(), Device(kCUDA, device));
    EXPECT_EQ(first.get(), second.get()) << "what is open is not opened again";
    unsigned char values[4096];
    {
      const CUDAGuard guard(device);
      const CUDAStream current = getCurrentCUDAStream();
      C10_CUDA_CHECK(cudaMemcpyAsync(values, first.get(), 4096, cudaMemcpyDefault, current));
      current.synchronize();
    }
    for (const unsigned char value : values) ASSERT_EQ(value, 6);
    EXPECT_EQ(ipc::collect(), 1u);
    first.clear();
    EXPECT_EQ(ipc::collect(), 1u);
    second.clear();
    EXPECT_EQ(g_freed, 0);
    EXPECT_EQ(ipc::collect(), 0u);
    EXPECT_EQ(g_freed, 1);
    EXPECT_THROW(ipc::receive(handle), Error) << "it is gone";
    EXPECT_EQ(current_device(), 0);
  });
}

TEST(Ipc, SendsEvents) {
  in_all_orders([] {
    at::cuda::CUDAEvent event(cudaEventDisableTiming | cudaEventInterprocess);
    cudaIpcEventHandle_t handle;
    event.ipc_handle(&handle);
    EXPECT_TRUE(event.isCreated());
    event.record();
    at::cuda::CUDAEvent other(0, &handle);
    EXPECT_EQ(other.device(), Device(kCUDA, 0));
    other.block(getStreamFromPool());
    other.synchronize();
    EXPECT_TRUE(other.query());
    EXPECT_THROW(at::cuda::CUDAEvent(0, nullptr), Error);
    EXPECT_THROW(event.ipc_handle(nullptr), Error);
  });
}

TEST(Ipc, FailsCleanly) {
  testing::with_each_call_failing([] {
    const auto device = static_cast<DeviceIndex>(device_count_ensure_non_zero() - 1);
    DataPtr data = device_memory(4096, device);
    const void* base = data.get();
    const ipc::MemoryHandle handle = ipc::send(std::move(data), base, 4096, getDefaultCUDAStream(device));
    DataPtr received;
    try {
      received = ipc::receive(handle);
    } catch (const AcceleratorError&) {
      received = ipc::receive(handle);  // nothing was taken
    }
    EXPECT_EQ(ipc::collect(), 1u);
    received.clear();
    EXPECT_EQ(ipc::collect(), 0u);
  });
}
#endif

}  // namespace
}  // namespace c10::cuda
