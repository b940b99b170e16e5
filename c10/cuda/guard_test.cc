#include "c10/cuda/guard.h"

#include <gtest/gtest.h>

#include "c10/core/device_guard.h"
#include "c10/core/event.h"
#include "c10/core/stream_guard.h"
#include "c10/cuda/device.h"
#include "c10/cuda/testing.h"
#include "c10/memory/allocator.h"
#include "c10/testing/message_of.h"

namespace c10::cuda {
namespace {

using c10::testing::message_of;
using testing::in_all_orders;

DeviceIndex last_device() {
  return static_cast<DeviceIndex>(device_count() - 1);
}

TEST(CudaGuard, SetsADeviceForAScope) {
  in_all_orders([] {
    const DeviceIndex last = last_device();
    {
      CUDAGuard guard(last);
      EXPECT_EQ(current_device(), last);
      EXPECT_EQ(guard.original_device(), Device(kCUDA, 0));
      EXPECT_EQ(guard.current_device(), Device(kCUDA, last));
      guard.set_index(0);
      EXPECT_EQ(current_device(), 0);
      guard.set_device(Device(kCUDA, last));
      guard.reset_device(Device(kCUDA, last));
      EXPECT_EQ(current_device(), last);
      const CUDAGuard inner(Device(kCUDA, 0));
      EXPECT_EQ(current_device(), 0);
    }
    EXPECT_EQ(current_device(), 0);
    EXPECT_EQ(message_of([] { CUDAGuard(Device(kCPU)); }), "expected a CUDA device, got cpu");
    EXPECT_THROW(CUDAGuard(Device(kCUDA, 100)), c10::AcceleratorError);
    EXPECT_EQ(current_device(), 0);
  });
}

TEST(CudaGuard, OptionalDoesNothingWithoutADevice) {
  in_all_orders([] {
    const DeviceIndex last = last_device();
    {
      OptionalCUDAGuard guard;
      EXPECT_EQ(guard.current_device(), std::nullopt);
      guard.set_index(last);
      EXPECT_EQ(current_device(), last);
      EXPECT_EQ(guard.original_device(), Device(kCUDA, 0));
      guard.reset();
      EXPECT_EQ(current_device(), 0);
      guard.reset_device(Device(kCUDA, last));
      guard.set_device(Device(kCUDA, last));
    }
    EXPECT_EQ(current_device(), 0);
    const OptionalCUDAGuard by_device(std::optional(Device(kCUDA, last)));
    EXPECT_EQ(by_device.current_device(), Device(kCUDA, last));
    const OptionalCUDAGuard by_index(std::optional(DeviceIndex{0}));
    EXPECT_EQ(by_index.current_device(), Device(kCUDA, 0));
    const OptionalCUDAGuard none{std::optional<Device>()};
    EXPECT_EQ(current_device(), 0);
  });
}

TEST(CudaGuard, SetsStreams) {
  in_all_orders([] {
    const DeviceIndex last = last_device();
    const CUDAStream first = getStreamFromPool(false, 0), second = getStreamFromPool(false, last);
    {
      CUDAStreamGuard guard(second);
      EXPECT_EQ(current_device(), last);
      EXPECT_EQ(getCurrentCUDAStream(), second);
      EXPECT_EQ(guard.original_stream(), getDefaultCUDAStream(last));
      EXPECT_EQ(guard.current_stream(), second);
      EXPECT_EQ(guard.original_device(), Device(kCUDA, 0));
      EXPECT_EQ(guard.current_device(), Device(kCUDA, last));
      guard.reset_stream(first);
      EXPECT_EQ(current_device(), 0);
      EXPECT_EQ(getCurrentCUDAStream(last), last == 0 ? first : getDefaultCUDAStream(last));
    }
    EXPECT_EQ(getCurrentCUDAStream(0), getDefaultCUDAStream(0));
    {
      OptionalCUDAStreamGuard guard;
      EXPECT_EQ(guard.original_stream(), std::nullopt);
      guard.reset_stream(first);
      EXPECT_EQ(guard.original_stream(), getDefaultCUDAStream(0));
      EXPECT_EQ(guard.current_stream(), first);
      guard.reset();
      EXPECT_EQ(getCurrentCUDAStream(), getDefaultCUDAStream());
      const OptionalCUDAStreamGuard given(std::optional<Stream>{second});
      EXPECT_EQ(getCurrentCUDAStream(), second);
    }
    {
      const CUDAMultiStreamGuard guard(std::vector<CUDAStream>{second, first});
      EXPECT_EQ(getCurrentCUDAStream(0), first);
      EXPECT_EQ(getCurrentCUDAStream(last), last == 0 ? first : second);
      EXPECT_EQ(current_device(), 0);
    }
    EXPECT_EQ(getCurrentCUDAStream(last), getDefaultCUDAStream(last));
    EXPECT_THROW(CUDAStreamGuard(Stream(Stream::DEFAULT, Device(kCPU))), c10::Error);
  });
}

// What the core's own guards, streams and events do with CUDA devices.
TEST(CudaGuard, ServesTheCore) {
  in_all_orders([] {
    const DeviceIndex last = last_device();
    const c10::impl::DeviceGuardImplInterface& cuda = *c10::impl::getDeviceGuardImpl(kCUDA);
    EXPECT_EQ(cuda.type(), kCUDA);
    EXPECT_EQ(cuda.deviceCount(), device_count());
    {
      const DeviceGuard guard(Device(kCUDA, last));
      EXPECT_EQ(cuda.getDevice(), Device(kCUDA, last));
      const DeviceGuard inner("cuda");
      EXPECT_EQ(inner.current_device(), Device(kCUDA, last));
    }
    EXPECT_EQ(current_device(), 0);
    const Stream stream = cuda.getStreamFromGlobalPool(Device(kCUDA, last), true);
    EXPECT_EQ(CUDAStream(cuda.getNewStream(Device(kCUDA, 0), 0)).device_index(), 0);
    EXPECT_EQ(cuda.getDefaultStream(Device(kCUDA, last)), getDefaultCUDAStream(last).unwrap());
    EXPECT_EQ(stream.native_handle(), CUDAStream(stream).stream());
    {
      const StreamGuard guard(stream);
      EXPECT_EQ(cuda.getStream(Device(kCUDA, last)), stream);
    }
    Event first(kCUDA, EventFlag::BACKEND_DEFAULT), second(kCUDA, EventFlag::BACKEND_DEFAULT);
    EXPECT_TRUE(first.query());
    first.record(stream);
    second.record(stream);
    const Stream other = getStreamFromPool(false, 0);
    second.block(other);
    second.synchronize();
    EXPECT_TRUE(first.query() && second.query());
    EXPECT_GE(first.elapsedTime(second), 0);
    EXPECT_EQ(second.device(), Device(kCUDA, last));
    if (last != 0) {
      EXPECT_THROW(second.record(other), c10::Error);
    }
    stream.synchronize();
    EXPECT_TRUE(stream.query());
    cuda.synchronizeDevice(last);
    cuda.synchronizeDevice(-1);
    EXPECT_EQ(current_device(), 0);
    cuda.uncheckedSetDevice(Device(kCUDA, 100));  // a warning at most
    EXPECT_EQ(current_device(), 0);
    cuda.setDevice(Device(kCUDA, last));
    EXPECT_EQ(cuda.exchangeDevice(Device(kCUDA, 0)), Device(kCUDA, last));
  });
}

int g_recorded = 0;

TEST(CudaGuard, RecordsMemoryOnStreams) {
  in_all_orders([] {
    const c10::impl::DeviceGuardImplInterface& cuda = *c10::impl::getDeviceGuardImpl(kCUDA);
    const DataPtr data(&g_recorded, Device(kCUDA, 0));
    set_record_stream(nullptr);
    EXPECT_THROW(cuda.recordDataPtrOnStream(data, getDefaultCUDAStream()), c10::NotImplementedError);
    set_record_stream([](const DataPtr& recorded, CUDAStream stream) {
      if (recorded.get() == &g_recorded && stream == getDefaultCUDAStream()) ++g_recorded;
    });
    cuda.recordDataPtrOnStream(data, getDefaultCUDAStream());
    EXPECT_EQ(g_recorded, 1);
    EXPECT_THROW(cuda.recordDataPtrOnStream(data, Stream(Stream::DEFAULT, Device(kCPU))), c10::Error);
  });
}

TEST(CudaGuard, FailsCleanly) {
  testing::with_each_call_failing([] {
    const DeviceIndex last = static_cast<DeviceIndex>(device_count_ensure_non_zero() - 1);
    const CUDAGuard guard(last);
    Event event(kCUDA);
    event.record(getStreamFromPool(false, 0));
    event.block(getDefaultCUDAStream());
    event.synchronize();
  });
  testing::in_all_orders([] { EXPECT_EQ(current_device(), 0); });
}

}  // namespace
}  // namespace c10::cuda
