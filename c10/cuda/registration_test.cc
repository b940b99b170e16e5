#include "c10/cuda/registration.h"

#include <gtest/gtest.h>

#include <cstring>

#include "c10/core/accelerator.h"
#include "c10/core/cpu_generator.h"
#include "c10/cuda/device.h"
#include "c10/cuda/exception.h"
#include "c10/cuda/frontend.h"
#include "c10/cuda/host_allocator.h"
#include "c10/cuda/stream.h"
#include "c10/cuda/testing.h"
#include "c10/memory/allocator.h"
#include "c10/testing/message_of.h"
#include "c10/util/exception.h"

namespace c10::cuda {
namespace {

using c10::testing::message_of;
using testing::in_all_orders;

// The numbers of CPU generators, one a device.
const at::Generator& default_generator(DeviceIndex device) {
  static at::Generator all[] = {at::detail::createCPUGenerator(), at::detail::createCPUGenerator()};
  return all[device];
}

TEST(CudaRegistration, MakesCudaTheAccelerator) {
  in_all_orders([] {
    EXPECT_EQ(at::getAccelerator(true), kCUDA);
    const DeviceIndex count = device_count();
    const auto last = static_cast<DeviceIndex>(count - 1);
    EXPECT_EQ(at::accelerator::deviceCount(), count);
    at::accelerator::setDeviceIndex(last);
    EXPECT_EQ(at::accelerator::getDeviceIndex(), last);
    EXPECT_EQ(at::accelerator::exchangeDevice(0), last);
    EXPECT_EQ(at::accelerator::maybeExchangeDevice(0), 0);
    const Stream stream = getStreamFromPool(false, last);
    at::accelerator::setCurrentStream(stream);
    EXPECT_EQ(at::accelerator::getCurrentStream(last), stream);
    EXPECT_EQ(current_device(), last);
    at::accelerator::synchronizeDevice(0);
    EXPECT_EQ(torch::accelerator::current_stream(), stream);
    EXPECT_TRUE(torch::accelerator::is_available());
  });
}

#ifdef KD_CUDA_ON_HOST
TEST(CudaRegistration, IsNoAcceleratorWithoutADevice) {
  testing::in_own_process([] {
    cuda_standin::reset({.devices = 0});
    EXPECT_EQ(at::getAccelerator(), std::nullopt);
    EXPECT_EQ(message_of([] { at::getAccelerator(true); }), "Cannot access accelerator device when none is available.");
    EXPECT_EQ(at::accelerator::deviceCount(), 0);
    EXPECT_FALSE(torch::cuda::is_available() || torch::cuda::is_initialized());
    EXPECT_EQ(message_of([] { torch::cuda::init(); }), "No CUDA GPUs are available");
    EXPECT_EQ(message_of([] { at::detail::acceleratorHooks(kCUDA)->init(); }), "No CUDA GPUs are available");
    EXPECT_EQ(message_of([] { at::cuda::HostAlloc(1); }), "No CUDA GPUs are available");
    int on_stack = 0;
    EXPECT_FALSE(at::detail::acceleratorHooks(kCUDA)->isPinnedPtr(&on_stack));
  });
}
#endif

TEST(CudaRegistration, HasHooks) {
  in_all_orders([] {
    const at::AcceleratorHooksInterface* hooks = at::detail::acceleratorHooks(kCUDA);
    ASSERT_NE(hooks, nullptr);
    hooks->init();
    EXPECT_TRUE(hooks->isBuilt() && hooks->isAvailable());
    EXPECT_EQ(hooks->deviceCount(), device_count());
    const auto last = static_cast<DeviceIndex>(device_count() - 1);
    hooks->setCurrentDevice(last);
    EXPECT_EQ(hooks->getCurrentDevice(), last);
    EXPECT_EQ(hooks->exchangeDevice(0), last);
    EXPECT_EQ(hooks->maybeExchangeDevice(-1), -1);
    EXPECT_EQ(hooks->exchangeDevice(-1), -1);
    EXPECT_EQ(hooks->maybeExchangeDevice(0), 0);
    EXPECT_TRUE(hooks->hasPrimaryContext(0));

    const DataPtr pinned = at::getPinnedMemoryAllocator()->allocate(100);
    EXPECT_EQ(at::getPinnedMemoryAllocator(kCUDA), at::cuda::getCachingHostAllocator());
    EXPECT_TRUE(hooks->isPinnedPtr(pinned.get()));
    int on_stack = 0;
    EXPECT_FALSE(hooks->isPinnedPtr(&on_stack));

    hooks->setCurrentDevice(last);
    void* memory = nullptr;
    C10_CUDA_CHECK(cudaMalloc(&memory, 64));
    EXPECT_EQ(hooks->getDeviceFromPtr(memory), Device(kCUDA, last));
    EXPECT_FALSE(hooks->isPinnedPtr(memory));
    EXPECT_THROW(hooks->getDeviceFromPtr(&on_stack), Error);
    C10_CUDA_CHECK(cudaFree(memory));
  });
}

TEST(CudaRegistration, TakesGenerators) {
  in_all_orders([] {
    EXPECT_THROW(at::detail::getDefaultGenerator(Device(kCUDA, 0)), NotImplementedError);
    register_generators({&default_generator, [](DeviceIndex) { return at::detail::createCPUGenerator(); }});
    EXPECT_EQ(at::detail::getDefaultGenerator(Device(kCUDA)), default_generator(0));
    EXPECT_THROW(at::detail::getDefaultGenerator(Device(kCUDA, 100)), Error);
    EXPECT_NE(at::make_generator_for(Device(kCUDA, 0)), default_generator(0));
    const auto last = static_cast<DeviceIndex>(device_count() - 1);
    set_device(last);
    torch::cuda::manual_seed(5);
    EXPECT_EQ(default_generator(last).current_seed(), 5u);
    torch::cuda::manual_seed_all(6);
    EXPECT_EQ(default_generator(0).current_seed(), 6u);
    EXPECT_EQ(default_generator(last).current_seed(), 6u);
  });
}

TEST(CudaRegistration, ServesTheFrontend) {
  in_all_orders([] {
    EXPECT_TRUE(torch::cuda::is_available());
    const DeviceIndex count = torch::cuda::device_count();
    const auto last = static_cast<DeviceIndex>(count - 1);
    torch::cuda::init();
    EXPECT_TRUE(torch::cuda::is_initialized());
    torch::cuda::set_device(last);
    EXPECT_EQ(torch::cuda::current_device(), last);
    EXPECT_EQ(torch::cuda::get_device_name(), at::cuda::get_device_name(last));
    EXPECT_EQ(torch::cuda::get_device_capability(0), at::cuda::get_device_capability(0));
    EXPECT_EQ(torch::cuda::mem_get_info(0).second, at::cuda::mem_get_info(0).second);
    if (count > 1) {
      EXPECT_EQ(torch::cuda::can_device_access_peer(0, 1), at::cuda::canDeviceAccessPeer(0, 1));
    }
    torch::cuda::ipc_collect();
    torch::cuda::synchronize();
    torch::cuda::synchronize(0);
    EXPECT_EQ(message_of([&] { torch::cuda::synchronize(count); }),
              str("Device index out of range: ", static_cast<int>(count)));
    EXPECT_EQ(torch::cuda::current_device(), last);
    const Stream stream = torch::cuda::stream_from_pool(0, 0);
    torch::cuda::set_stream(stream);
    EXPECT_EQ(torch::cuda::current_device(), 0);
    EXPECT_EQ(torch::cuda::current_stream(), stream);
    EXPECT_EQ(torch::cuda::default_stream(last), getDefaultCUDAStream(last).unwrap());
    EXPECT_THROW(torch::cuda::set_stream(Stream(Stream::DEFAULT, Device(kCPU))), Error);
    torch::cuda::set_sync_debug_mode("error");
    torch::cuda::synchronize();
    EXPECT_THROW(stream.synchronize(), Error);
    torch::cuda::set_sync_debug_mode("default");
  });
}

}  // namespace
}  // namespace c10::cuda
