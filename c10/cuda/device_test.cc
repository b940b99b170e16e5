#include "c10/cuda/device.h"

#include <gtest/gtest.h>

#include <thread>

#include "c10/cuda/testing.h"
#include "c10/testing/message_of.h"
#include "c10/util/exception.h"

namespace c10::cuda {
namespace {

using c10::testing::message_of;
using testing::in_all_orders;

TEST(CudaDevice, CountsAndSetsThem) {
  in_all_orders([] {
    const DeviceIndex count = device_count();
    ASSERT_GE(count, 1);
    EXPECT_EQ(device_count_ensure_non_zero(), count);
    EXPECT_EQ(at::cuda::getNumGPUs(), count);
    EXPECT_TRUE(at::cuda::is_available());
    const auto last = static_cast<DeviceIndex>(count - 1);
    set_device(last);
    EXPECT_EQ(current_device(), last);
    EXPECT_EQ(message_of([&] { set_device(count); }),
              str("set_device: there is no CUDA device ", static_cast<int>(count), " among ", static_cast<int>(count)));
    EXPECT_THROW(set_device(-1), c10::Error);
    EXPECT_THROW((void)SetDevice(-1), c10::Error);
    EXPECT_THROW((void)MaybeSetDevice(-1), c10::Error);
    EXPECT_EQ(current_device(), last);
    EXPECT_EQ(ExchangeDevice(0), last);
    EXPECT_EQ(MaybeExchangeDevice(last), 0);
    EXPECT_EQ(current_device(), last);
    SetTargetDevice();
    int device = -1;
    C10_CUDA_CHECK(cudaGetDevice(&device));
    EXPECT_EQ(device, last);
    set_device(0, /*force=*/true);
    EXPECT_EQ(current_device(), 0);
    device_synchronize();
  });
}

TEST(CudaDevice, IsTheThreadsOwn) {
  in_all_orders([] {
    const auto last = static_cast<DeviceIndex>(device_count() - 1);
    set_device(last);
    std::thread([] { EXPECT_EQ(current_device(), 0); }).join();
    std::thread([] { set_device(0); }).join();
    EXPECT_EQ(current_device(), last);
  });
}

TEST(CudaDevice, KnowsPropertiesOnce) {
  in_all_orders([] {
    cudaDeviceProp* properties = at::cuda::getDeviceProperties(0);
    EXPECT_EQ(at::cuda::getCurrentDeviceProperties(), properties);
    EXPECT_EQ(at::cuda::getDeviceProperties(-1), properties);
    EXPECT_GT(properties->multiProcessorCount, 0);
    EXPECT_EQ(at::cuda::warp_size(), 32);
    EXPECT_EQ(at::cuda::get_device_name(), properties->name);
    EXPECT_EQ(at::cuda::get_device_capability(0), std::pair(properties->major, properties->minor));
    const std::string uuid = at::cuda::get_device_uuid();
    EXPECT_EQ(uuid.size(), 40u) << uuid;
    EXPECT_EQ(uuid.find("GPU-"), 0u);
    EXPECT_EQ(uuid[12], '-');
    EXPECT_EQ(uuid[27], '-');
    EXPECT_THROW(at::cuda::getDeviceProperties(device_count()), c10::Error);
    EXPECT_THROW(at::cuda::getDeviceProperties(-2), c10::Error);
  });
}

TEST(CudaDevice, CountsMemory) {
  in_all_orders([] {
    const auto last = static_cast<DeviceIndex>(device_count() - 1);
    const auto [free, total] = at::cuda::mem_get_info(last);
    EXPECT_GT(free, 0u);
    EXPECT_LE(free, total);
    EXPECT_EQ(current_device(), 0);
    set_device(0);
    void* memory = nullptr;
    C10_CUDA_CHECK(cudaMalloc(&memory, 4 << 20));
    EXPECT_LE(at::cuda::mem_get_info(0).first + (4 << 20), total);
    C10_CUDA_CHECK(cudaFree(memory));
    EXPECT_THROW(at::cuda::mem_get_info(100), c10::Error);
  });
}

TEST(CudaDevice, HasContextsWhereItWasUsed) {
  in_all_orders([] {
    const auto last = static_cast<DeviceIndex>(device_count() - 1);
    set_device(0, /*force=*/true);
    EXPECT_TRUE(hasPrimaryContext(0));
    EXPECT_EQ(getDeviceIndexWithPrimaryContext(), DeviceIndex{0});
    EXPECT_THROW(hasPrimaryContext(100), c10::Error);
    std::thread([last] {
      set_device(last, /*force=*/true);
      EXPECT_TRUE(hasPrimaryContext(last));
      EXPECT_EQ(getDeviceIndexWithPrimaryContext(), last);
    }).join();
  });
}

// Who comes back to a device that nobody uses makes no context there.
TEST(CudaDevice, MakesNoContextOnTheWayBack) {
  in_all_orders([] {
    const auto last = static_cast<DeviceIndex>(device_count() - 1);
    if (last == 0) return;
    EXPECT_EQ(getDeviceIndexWithPrimaryContext(), std::nullopt);
    EXPECT_EQ(ExchangeDevice(last), 0);
    EXPECT_EQ(MaybeExchangeDevice(0), last);
    EXPECT_FALSE(hasPrimaryContext(0));
    EXPECT_EQ(current_device(), 0);
    int device = -1;
    C10_CUDA_CHECK(cudaGetDevice(&device));
    EXPECT_EQ(device, last);
    // The thread's device is 0 all the same, and work on it goes there.
    EXPECT_EQ(ExchangeDevice(0), 0);
    EXPECT_TRUE(hasPrimaryContext(0));
    C10_CUDA_CHECK(cudaGetDevice(&device));
    EXPECT_EQ(device, 0);
    // With a context there is nothing to avoid.
    set_device(last);
    EXPECT_EQ(MaybeExchangeDevice(0), last);
    C10_CUDA_CHECK(cudaGetDevice(&device));
    EXPECT_EQ(device, 0);
  });
}

TEST(CudaDevice, IsRestored) {
  in_all_orders([] {
    const auto last = static_cast<DeviceIndex>(device_count() - 1);
    set_device(last);
    RestoreDevice(0);
    EXPECT_EQ(current_device(), 0);
    SetTargetDevice();
    int device = -1;
    C10_CUDA_CHECK(cudaGetDevice(&device));
    EXPECT_EQ(device, 0);
    RestoreDevice(100);  // nothing
    RestoreDevice(-1);
    EXPECT_EQ(current_device(), 0);
  });
}

TEST(CudaDevice, WarnsOfOrRefusesWaiting) {
  in_all_orders([] {
    const testing::Warnings warnings;
    stream_synchronize(nullptr);
    EXPECT_TRUE(warnings.texts.empty());
    warning_state().set_sync_debug_mode(SyncDebugMode::L_WARN);
    device_synchronize();
    EXPECT_TRUE(warnings.texts.empty());
    stream_synchronize(nullptr);
    EXPECT_EQ(warnings.texts, std::vector<std::string>{"called a synchronizing CUDA operation"});
    warning_state().set_sync_debug_mode(SyncDebugMode::L_ERROR);
    int from = 1, to = 0;
    EXPECT_EQ(message_of([&] { memcpy_and_sync(&to, &from, sizeof(int), cudaMemcpyHostToHost, nullptr); }),
              "called a synchronizing CUDA operation");
    EXPECT_EQ(to, 0);
    warning_state().set_sync_debug_mode(SyncDebugMode::L_DISABLED);
    memcpy_and_sync(&to, &from, sizeof(int), cudaMemcpyHostToHost, nullptr);
    EXPECT_EQ(to, 1);
    EXPECT_THROW(memcpy_and_sync(&to, &from, -1, cudaMemcpyHostToHost, nullptr), c10::Error);
  });
}

#ifdef KD_CUDA_ON_HOST
TEST(CudaDevice, SaysThatThereIsNone) {
  testing::in_own_process([] {
    cuda_standin::reset({.devices = 0});
    EXPECT_EQ(device_count(), 0);
    EXPECT_FALSE(at::cuda::is_available());
    for (const auto& f : std::initializer_list<std::function<void()>>{
             [] { current_device(); }, [] { set_device(0); }, [] { device_synchronize(); }, [] { ExchangeDevice(0); },
             [] { device_count_ensure_non_zero(); }, [] { at::cuda::getDeviceProperties(0); },
             [] { at::cuda::mem_get_info(); }}) {
      EXPECT_EQ(message_of(f), "No CUDA GPUs are available");
    }
    EXPECT_EQ(getDeviceIndexWithPrimaryContext(), std::nullopt);
    EXPECT_EQ(last_launch_status(), cudaSuccess);
  });
}
#endif

TEST(CudaDevice, FailsCleanly) {
  testing::with_each_call_failing([] {
    const auto last = static_cast<DeviceIndex>(device_count_ensure_non_zero() - 1);
    set_device(last);
    EXPECT_EQ(ExchangeDevice(0), last);
    at::cuda::get_device_name(last);
    at::cuda::mem_get_info(last);
    EXPECT_EQ(current_device(), 0);
    device_synchronize();
  });
}

}  // namespace
}  // namespace c10::cuda
