// A program for libtorch that uses its paths and names of CUDA.
#include <ATen/cuda/ATenCUDAGeneral.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAContextLight.h>
#include <ATen/cuda/CUDADevice.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAUtils.h>
#include <ATen/cuda/CachingHostAllocator.h>
#include <ATen/cuda/Exceptions.h>
#include <ATen/cuda/PeerToPeerAccess.h>
#include <ATen/cuda/PinnedMemoryAllocator.h>
#include <ATen/cuda/detail/KernelUtils.h>
#include <ATen/cudnn/Handle.h>
#include <ATen/cudnn/Handles.h>
#include <c10/cuda/CUDAAllocatorConfig.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGraphsC10Utils.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAMacros.h>
#include <c10/cuda/CUDAMiscFunctions.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/cuda/PeerToPeerAccess.h>
#include <c10/cuda/impl/CUDAGuardImpl.h>
#include <c10/cuda/impl/cuda_cmake_macros.h>
#include <gtest/gtest.h>

#include <cstring>
#include <type_traits>

#include "c10/cuda/testing.h"

namespace {

struct Buffer {
  Buffer(size_t bytes, cudaStream_t stream) {
    AT_CUDA_CHECK(cudaMalloc(&data, bytes));
    C10_CUDA_CHECK(cudaMemsetAsync(data, 1, bytes, stream));
  }
  ~Buffer() { C10_CUDA_CHECK_WARN(cudaFree(data)); }
  void* data = nullptr;
};

static_assert(std::is_same_v<decltype(at::native::getCudnnHandle()), cudnnHandle_t>);

TEST(CudaIncludePaths, GiveTheNames) {
  c10::cuda::testing::in_all_orders([] {
    const int count = static_cast<int>(at::cuda::getNumGPUs());
    EXPECT_EQ(at::globalContext().hasCUDA(), count > 0);
    EXPECT_EQ(at::getNumGPUs(), static_cast<size_t>(count));
    const auto device = static_cast<c10::DeviceIndex>(count - 1);
    const at::cuda::OptionalCUDAGuard optional_guard(at::Device(c10::kCUDA, device));
    const c10::cuda::CUDAGuard device_guard(device);
    cudaDeviceProp* properties = at::cuda::getCurrentDeviceProperties();
    EXPECT_EQ(properties->warpSize, at::cuda::warp_size());

    at::cuda::CUDAStream side = at::cuda::getStreamFromPool(/*isHighPriority=*/true);
    const Buffer buffer(1024, side);
    at::cuda::CUDAEvent ready;
    ready.record(side);
    ready.block(at::cuda::getCurrentCUDAStream());
    {
      const c10::cuda::CUDAStreamGuard stream_guard(side);
      cudaStream_t stream = at::cuda::getCurrentCUDAStream();
      EXPECT_EQ(stream, side.stream());
    }
    c10::DataPtr pinned = at::cuda::getPinnedMemoryAllocator()->allocate(1024);
    cudaStream_t stream = c10::cuda::getCurrentCUDAStream(device).stream();
    AT_CUDA_CHECK(cudaMemcpyAsync(pinned.get(), buffer.data, 1024, cudaMemcpyDeviceToHost, stream));
    EXPECT_TRUE(at::cuda::CachingHostAllocator_recordEvent(pinned.get(), pinned.get_context(),
                                                           c10::cuda::getCurrentCUDAStream()));
    c10::cuda::stream_synchronize(stream);
    EXPECT_EQ(static_cast<char*>(pinned.get())[1023], 1);
    EXPECT_EQ(at::cuda::getDeviceFromPtr(buffer.data), at::Device(c10::kCUDA, device));
    EXPECT_TRUE(at::cuda::check_device({}));
    EXPECT_EQ(at::cuda::detail::GET_BLOCKS(1025), 2);
    EXPECT_EQ(c10::cuda::currentStreamCaptureStatusMayInitCtx(), c10::cuda::CaptureStatus::None);
    EXPECT_EQ(c10::cuda::MaybeSetDevice(device), cudaSuccess);
    c10::cuda::impl::CUDAGuardImpl implementation(c10::kCUDA);
    EXPECT_EQ(implementation.deviceCount(), count);
    EXPECT_THROW(c10::cuda::impl::CUDAGuardImpl{c10::kCPU}, c10::Error);
    try {
      AT_CUDA_CHECK(cudaErrorInvalidValue);
      ADD_FAILURE();
    } catch (const c10::CUDAError& e) {
      EXPECT_NE(std::strstr(e.what(), "CUDA error: invalid argument"), nullptr);
    }
    EXPECT_GE(C10_COMPILE_TIME_MAX_GPUS, count);
    c10::DataPtr memory = at::cuda::getCUDADeviceAllocator()->allocate(100);
    c10::cuda::CUDACachingAllocator::recordStream(memory, side);
    void* const raw = c10::cuda::CUDACachingAllocator::raw_alloc(100);
    EXPECT_EQ(c10::cuda::CUDACachingAllocator::getDeviceStats(device).allocation[0].current, 2);
    c10::cuda::CUDACachingAllocator::raw_delete(raw);
    EXPECT_FALSE(c10::cuda::CUDACachingAllocator::CUDAAllocatorConfig::expandable_segments());
    memory.clear();
    c10::cuda::CUDACachingAllocator::emptyCache();
  });
}

}  // namespace
