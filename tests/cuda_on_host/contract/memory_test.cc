// Memory of devices and pinned memory.
#include "tests/cuda_on_host/contract/contract.h"

namespace {

KD_CONTRACT(CudaMemory);

TEST_P(CudaMemory, IsAlignedAndBelongsToTheCurrentDevice) {
  for (int device = 0; device < devices_; ++device) {
    ASSERT_OK(cudaSetDevice(device));
    std::vector<void*> all;
    for (size_t bytes : {size_t{1}, size_t{3}, size_t{100}, size_t{5000}, size_t{3} << 20}) {
      void* pointer = nullptr;
      ASSERT_OK(cudaMalloc(&pointer, bytes));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(pointer) % 256, 0u);
      cudaPointerAttributes attributes;
      ASSERT_OK(cudaPointerGetAttributes(&attributes, static_cast<char*>(pointer) + bytes - 1));
      EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
      EXPECT_EQ(attributes.device, device);
      EXPECT_EQ(attributes.devicePointer, static_cast<char*>(pointer) + bytes - 1);
      EXPECT_EQ(attributes.hostPointer, nullptr);
      all.push_back(pointer);
    }
    ASSERT_OK(cudaSetDevice(0));  // memory may be released while another device is current
    for (void* pointer : all) EXPECT_OK(cudaFree(pointer));
  }
}

TEST_P(CudaMemory, ReleaseOfNothingIsNothing) {
  EXPECT_OK(cudaFree(nullptr));
  EXPECT_OK(cudaFreeHost(nullptr));
}

TEST_P(CudaMemory, IsReleasedOnceAndByItsStart) {
  misuses();
  int* pointer = device_ints(100);
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFree(pointer + 1));
  EXPECT_OK(cudaFree(pointer));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFree(pointer));
  int on_stack = 0;
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFree(&on_stack));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaGetLastError());
}

TEST_P(CudaMemory, TooMuchIsRefusedAndNothingIsLost) {
  size_t free = 0, total = 0;
  ASSERT_OK(cudaMemGetInfo(&free, &total));
  EXPECT_LE(free, total);
  void* pointer = &free;
  EXPECT_CUDA(cudaErrorMemoryAllocation, cudaMalloc(&pointer, total + (size_t{1} << 30)));
  EXPECT_CUDA(cudaErrorMemoryAllocation, cudaGetLastError());
  int* small = device_ints(10);
  EXPECT_OK(cudaFree(small));
}

TEST_P(CudaMemory, WhatIsAllocatedIsNotFree) {
  size_t before = 0, during = 0, after = 0, total = 0;
  ASSERT_OK(cudaMemGetInfo(&before, &total));
  void* pointer = nullptr;
  ASSERT_OK(cudaMalloc(&pointer, size_t{64} << 20));
  ASSERT_OK(cudaMemGetInfo(&during, &total));
  ASSERT_OK(cudaFree(pointer));
  ASSERT_OK(cudaMemGetInfo(&after, &total));
  EXPECT_LE(during + (size_t{64} << 20), before);
  EXPECT_EQ(after, before);
}

TEST_P(CudaMemory, PinnedMemoryHasTheSameAddressOnAllDevices) {
  int* pinned = pinned_ints(50);
  cudaPointerAttributes attributes;
  for (int device = 0; device < devices_; ++device) {
    ASSERT_OK(cudaSetDevice(device));
    ASSERT_OK(cudaPointerGetAttributes(&attributes, pinned + 7));
    EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
    EXPECT_EQ(attributes.hostPointer, pinned + 7);
    EXPECT_EQ(attributes.devicePointer, pinned + 7);
    void* on_device = nullptr;
    ASSERT_OK(cudaHostGetDevicePointer(&on_device, pinned, 0));
    EXPECT_EQ(on_device, pinned);
  }
  pinned[49] = 3;
  EXPECT_EQ(pinned[49], 3);
  EXPECT_OK(cudaFreeHost(pinned));
}

TEST_P(CudaMemory, FlagsOfPinnedMemoryCanBeAsked) {
  void* pointer = nullptr;
  ASSERT_OK(cudaHostAlloc(&pointer, 100, cudaHostAllocPortable | cudaHostAllocMapped));
  unsigned flags = 0;
  EXPECT_OK(cudaHostGetFlags(&flags, pointer));
  EXPECT_EQ(flags & (cudaHostAllocPortable | cudaHostAllocMapped), cudaHostAllocPortable | cudaHostAllocMapped);
  EXPECT_OK(cudaFreeHost(pointer));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaHostAlloc(&pointer, 100, 0x80));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaGetLastError());
}

TEST_P(CudaMemory, OfTheHostIsUnregistered) {
  std::vector<int> host(10);
  cudaPointerAttributes attributes;
  ASSERT_OK(cudaPointerGetAttributes(&attributes, host.data()));
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
}

TEST_P(CudaMemory, IsRegisteredOnce) {
  std::vector<char> host(8192 * 2);
  char* const start = host.data();
  EXPECT_CUDA(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(start));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaHostRegister(start, 0, cudaHostRegisterDefault));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaHostRegister(nullptr, 64, cudaHostRegisterDefault));
  ASSERT_OK(cudaHostRegister(start, 8192, cudaHostRegisterDefault));
  EXPECT_CUDA(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(start, 8192, cudaHostRegisterDefault));
  cudaPointerAttributes attributes;
  ASSERT_OK(cudaPointerGetAttributes(&attributes, start + 100));
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  EXPECT_OK(cudaHostUnregister(start));
  EXPECT_CUDA(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(start));
  ASSERT_OK(cudaPointerGetAttributes(&attributes, start + 100));
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
  (void)cudaGetLastError();
}

TEST_P(CudaMemory, ReleaseWaitsForTheDevice) {
  int *a = device_ints(64), *b = device_ints(64), *pinned = pinned_ints(64);
  cudaStream_t stream = new_stream();
  EXPECT_OK(cudaMemsetAsync(a, 0, 256, stream));
  EXPECT_OK(cudaMemcpyAsync(pinned, a, 256, cudaMemcpyDeviceToHost, stream));
  EXPECT_OK(cudaFree(b));
  EXPECT_EQ(pinned[63], 0);
  EXPECT_OK(cudaFree(a));
  EXPECT_OK(cudaFreeHost(pinned));
  EXPECT_OK(cudaStreamDestroy(stream));
}

TEST_P(CudaMemory, OfAnotherProcessIsOpenedByItsHandle) {
#ifndef KD_CUDA_ON_HOST
  GTEST_SKIP() << "on a device a process cannot open its own handles";
#else
  int* pointer = device_ints(100);
  cudaIpcMemHandle_t handle;
  ASSERT_OK(cudaIpcGetMemHandle(&handle, pointer));
  void* opened = nullptr;
  EXPECT_CUDA(cudaErrorInvalidValue, cudaIpcOpenMemHandle(&opened, handle, 0));
  ASSERT_OK(cudaIpcOpenMemHandle(&opened, handle, cudaIpcMemLazyEnablePeerAccess));
  EXPECT_OK(cudaIpcCloseMemHandle(opened));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaIpcCloseMemHandle(opened));
  EXPECT_OK(cudaFree(pointer));
  (void)cudaGetLastError();
#endif
}

}  // namespace
