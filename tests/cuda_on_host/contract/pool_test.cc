// Memory in the order of streams.
#include "tests/cuda_on_host/contract/contract.h"
#include "tests/cuda_on_host/contract/kernels.h"

namespace {

KD_CONTRACT(CudaPool);

constexpr int64_t kCount = 1000;
constexpr size_t kBytes = kCount * sizeof(int);

uint64_t attribute(cudaMemPool_t pool, cudaMemPoolAttr which) {
  uint64_t value = 0;
  EXPECT_OK(cudaMemPoolGetAttribute(pool, which, &value));
  return value;
}

cudaMemPool_t new_pool() {
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, 0};
  cudaMemPool_t pool = nullptr;
  EXPECT_OK(cudaMemPoolCreate(&pool, &properties));
  return pool;
}

TEST_P(CudaPool, MemoryCanBeUsedInTheOrderOfItsStream) {
  cudaStream_t stream = new_stream();
  void *a = nullptr, *b = nullptr;
  std::vector<int> host(kCount);
  for (int round = 0; round < 3; ++round) {
    ASSERT_OK(cudaMallocAsync(&a, kBytes, stream));
    ASSERT_OK(cudaMallocAsync(&b, kBytes, stream));
    EXPECT_OK(contract::set(static_cast<int*>(a), round, kCount, stream));
    EXPECT_OK(contract::add(static_cast<int*>(b), static_cast<int*>(a), static_cast<int*>(a), kCount, stream));
    EXPECT_OK(cudaFreeAsync(a, stream));
    EXPECT_OK(cudaMemcpyAsync(host.data(), b, kBytes, cudaMemcpyDeviceToHost, stream));
    EXPECT_OK(cudaFreeAsync(b, stream));
    EXPECT_EQ(host, std::vector<int>(kCount, 2 * round));
  }
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_OK(cudaStreamDestroy(stream));
}

TEST_P(CudaPool, MemoryCanBeUsedElsewhereBehindAnEvent) {
  cudaStream_t stream = new_stream(), other = new_stream();
  cudaEvent_t made = new_event(), used = new_event();
  void* a = nullptr;
  int value = 0;
  ASSERT_OK(cudaMallocAsync(&a, kBytes, stream));
  EXPECT_OK(cudaEventRecord(made, stream));
  EXPECT_OK(cudaStreamWaitEvent(other, made, 0));
  EXPECT_OK(contract::set(static_cast<int*>(a), 6, kCount, other));
  EXPECT_OK(cudaMemcpyAsync(&value, a, 4, cudaMemcpyDeviceToHost, other));
  EXPECT_OK(cudaEventRecord(used, other));
  EXPECT_OK(cudaStreamWaitEvent(stream, used, 0));
  EXPECT_OK(cudaFreeAsync(a, stream));
  EXPECT_EQ(value, 6);
  EXPECT_OK(cudaStreamSynchronize(stream));
  for (cudaStream_t one : {stream, other}) EXPECT_OK(cudaStreamDestroy(one));
  for (cudaEvent_t event : {made, used}) EXPECT_OK(cudaEventDestroy(event));
}

TEST_P(CudaPool, MemoryIsReleasedByCudaFreeToo) {
  cudaStream_t stream = new_stream();
  void* a = nullptr;
  ASSERT_OK(cudaMallocAsync(&a, kBytes, stream));
  EXPECT_OK(cudaMemsetAsync(a, 0, kBytes, stream));
  EXPECT_OK(cudaFree(a));
  EXPECT_OK(cudaStreamDestroy(stream));
}

TEST_P(CudaPool, OnlyMemoryOfPoolsIsReleasedInOrder) {
  misuses();
  int* a = device_ints(10);
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFreeAsync(a, nullptr));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaGetLastError());
  EXPECT_OK(cudaFree(a));
}

TEST_P(CudaPool, TooMuchIsRefused) {
  size_t free = 0, total = 0;
  ASSERT_OK(cudaMemGetInfo(&free, &total));
  void* a = nullptr;
  EXPECT_CUDA(cudaErrorMemoryAllocation, cudaMallocAsync(&a, total * 2, nullptr));
  EXPECT_CUDA(cudaErrorMemoryAllocation, cudaGetLastError());
}

TEST_P(CudaPool, CountsWhatItGives) {
  cudaMemPool_t pool = new_pool();
  cudaStream_t stream = new_stream();
  EXPECT_EQ(attribute(pool, cudaMemPoolAttrUsedMemCurrent), 0u);
  void* a = nullptr;
  ASSERT_OK(cudaMallocFromPoolAsync(&a, size_t{8} << 20, pool, stream));
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_GE(attribute(pool, cudaMemPoolAttrUsedMemCurrent), uint64_t{8} << 20);
  EXPECT_GE(attribute(pool, cudaMemPoolAttrReservedMemCurrent), attribute(pool, cudaMemPoolAttrUsedMemCurrent));
  EXPECT_OK(cudaFreeAsync(a, stream));
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(attribute(pool, cudaMemPoolAttrUsedMemCurrent), 0u);
  EXPECT_EQ(attribute(pool, cudaMemPoolAttrReservedMemCurrent), 0u);  // nothing is kept by default
  EXPECT_GE(attribute(pool, cudaMemPoolAttrUsedMemHigh), uint64_t{8} << 20);
  uint64_t value = 1;
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &value));
  value = 0;
  EXPECT_OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &value));
  EXPECT_EQ(attribute(pool, cudaMemPoolAttrUsedMemHigh), 0u);
  EXPECT_CUDA(cudaErrorInvalidValue, cudaGetLastError());
  EXPECT_OK(cudaMemPoolDestroy(pool));
  EXPECT_OK(cudaStreamDestroy(stream));
}

TEST_P(CudaPool, KeepsMemoryUpToItsThreshold) {
  cudaMemPool_t pool = new_pool();
  cudaStream_t stream = new_stream();
  uint64_t threshold = UINT64_MAX;
  EXPECT_OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  EXPECT_EQ(attribute(pool, cudaMemPoolAttrReleaseThreshold), UINT64_MAX);
  void* a = nullptr;
  ASSERT_OK(cudaMallocFromPoolAsync(&a, size_t{8} << 20, pool, stream));
  EXPECT_OK(cudaFreeAsync(a, stream));
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_GE(attribute(pool, cudaMemPoolAttrReservedMemCurrent), uint64_t{8} << 20);
  EXPECT_OK(cudaMemPoolTrimTo(pool, 0));
  EXPECT_EQ(attribute(pool, cudaMemPoolAttrReservedMemCurrent), 0u);
  EXPECT_OK(cudaMemPoolDestroy(pool));
  EXPECT_OK(cudaStreamDestroy(stream));
}

TEST_P(CudaPool, IsTheDevicesByDefaultOrByChoice) {
  cudaMemPool_t standard = nullptr, current = nullptr, pool = new_pool();
  EXPECT_OK(cudaDeviceGetDefaultMemPool(&standard, 0));
  EXPECT_OK(cudaDeviceGetMemPool(&current, 0));
  EXPECT_EQ(current, standard);
  EXPECT_OK(cudaDeviceSetMemPool(0, pool));
  EXPECT_OK(cudaDeviceGetMemPool(&current, 0));
  EXPECT_EQ(current, pool);
  void* a = nullptr;
  ASSERT_OK(cudaMallocAsync(&a, kBytes, nullptr));
  EXPECT_GT(attribute(pool, cudaMemPoolAttrUsedMemCurrent), 0u);
  EXPECT_OK(cudaFreeAsync(a, nullptr));
  EXPECT_OK(cudaStreamSynchronize(nullptr));
  EXPECT_OK(cudaMemPoolDestroy(pool));  // the device goes back to its own
  EXPECT_OK(cudaDeviceGetMemPool(&current, 0));
  EXPECT_EQ(current, standard);
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemPoolDestroy(standard));
  (void)cudaGetLastError();
}

TEST_P(CudaPool, GivesAccessToOtherDevices) {
  cudaMemPool_t pool = new_pool();
  cudaMemAccessFlags flags = cudaMemAccessFlagsProtNone;
  cudaMemLocation here{cudaMemLocationTypeDevice, 0};
  EXPECT_OK(cudaMemPoolGetAccess(&flags, pool, &here));
  EXPECT_EQ(flags, cudaMemAccessFlagsProtReadWrite);
  if (devices_ > 1) {
    cudaMemLocation there{cudaMemLocationTypeDevice, 1};
    EXPECT_OK(cudaMemPoolGetAccess(&flags, pool, &there));
    EXPECT_EQ(flags, cudaMemAccessFlagsProtNone);
    int can = 0;
    EXPECT_OK(cudaDeviceCanAccessPeer(&can, 1, 0));
    const cudaMemAccessDesc grant{there, cudaMemAccessFlagsProtReadWrite};
    if (can) {
      EXPECT_OK(cudaMemPoolSetAccess(pool, &grant, 1));
      EXPECT_OK(cudaMemPoolGetAccess(&flags, pool, &there));
      EXPECT_EQ(flags, cudaMemAccessFlagsProtReadWrite);
    }
  }
  EXPECT_OK(cudaMemPoolDestroy(pool));
}

TEST_P(CudaPool, GraphsAllocateAndRelease) {
  cudaStream_t stream = new_stream();
  int* result = device_ints(1);
  ASSERT_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  void* a = nullptr;
  EXPECT_OK(cudaMallocAsync(&a, kBytes, stream));
  EXPECT_OK(contract::set(static_cast<int*>(a), 3, kCount, stream));
  EXPECT_OK(contract::add(result, static_cast<int*>(a), static_cast<int*>(a), 1, stream));
  EXPECT_OK(cudaFreeAsync(a, stream));
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr, second = nullptr;
  ASSERT_OK(cudaStreamEndCapture(stream, &graph));
  ASSERT_OK(cudaGraphInstantiate(&exec, graph, 0));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaGraphInstantiate(&second, graph, 0));  // one at a time
  (void)cudaGetLastError();
  for (int i = 0; i < 3; ++i) EXPECT_OK(cudaGraphLaunch(exec, stream));
  EXPECT_EQ(contents(result, 1), std::vector<int>{6});
  EXPECT_OK(cudaGraphExecDestroy(exec));
  EXPECT_OK(cudaGraphDestroy(graph));
  EXPECT_OK(cudaStreamDestroy(stream));
  EXPECT_OK(cudaFree(result));
}

TEST_P(CudaPool, WhatAGraphLeavesIsReleasedBeforeItsNextLaunch) {
  cudaStream_t stream = new_stream();
  for (bool automatic : {false, true}) {
    ASSERT_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    void* a = nullptr;
    EXPECT_OK(cudaMallocAsync(&a, kBytes, stream));
    EXPECT_OK(contract::set(static_cast<int*>(a), 3, kCount, stream));
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    ASSERT_OK(cudaStreamEndCapture(stream, &graph));
    ASSERT_OK(cudaGraphInstantiate(&exec, graph, automatic ? cudaGraphInstantiateFlagAutoFreeOnLaunch : 0));
    EXPECT_OK(cudaGraphLaunch(exec, stream));
    EXPECT_EQ(contents(static_cast<int*>(a), 1), std::vector<int>{3});
    if (automatic) {
      EXPECT_OK(cudaGraphLaunch(exec, stream));
    } else {
      EXPECT_CUDA(cudaErrorInvalidValue, cudaGraphLaunch(exec, stream));
      EXPECT_OK(cudaFreeAsync(a, stream));
      EXPECT_OK(cudaGraphLaunch(exec, stream));
    }
    EXPECT_OK(cudaFreeAsync(a, stream));
    EXPECT_OK(cudaStreamSynchronize(stream));
    EXPECT_OK(cudaGraphExecDestroy(exec));
    EXPECT_OK(cudaGraphDestroy(graph));
  }
  (void)cudaGetLastError();
  EXPECT_OK(cudaStreamDestroy(stream));
}

}  // namespace
