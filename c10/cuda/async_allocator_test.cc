// backend:cudaMallocAsync, which a process chooses once.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <random>

#include "c10/cuda/allocator_config.h"
#include "c10/cuda/caching_allocator.h"
#include "c10/cuda/exception.h"
#include "c10/cuda/guard.h"
#include "c10/cuda/memory.h"
#include "c10/cuda/stream.h"
#include "c10/util/exception.h"
#include "tests/cuda_on_host/runtime/standin.h"

namespace c10::cuda::CUDACachingAllocator {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

class Environment final : public ::testing::Environment {
  void SetUp() override { ::setenv("PYTORCH_CUDA_ALLOC_CONF", "backend:cudaMallocAsync,max_split_size_mb:100", 1); }
};
[[maybe_unused]] const auto* const g_environment = ::testing::AddGlobalTestEnvironment(new Environment);

// The allocator keeps the pools that the devices have, so the process starts once.
void start() {
  static const bool is_started = [] {
    cuda_standin::reset({.memory_bytes = 64 * kMiB, .execution = cuda_standin::Execution::kRandom, .seed = 5});
    return true;
  }();
  EXPECT_TRUE(is_started);
  EXPECT_EQ(name(), "cudaMallocAsync");
  EXPECT_EQ(torch::cuda::get_allocator_backend(), "cudaMallocAsync");
}

void record(void* data, CUDAStream stream) {
  recordStream(DataPtr(data, nullptr, GetAllocator(kCUDA)->raw_deleter(), Device(kCUDA, stream.device_index())),
               stream);
}

TEST(AsyncAllocator, AllocatesAndCounts) {
  start();
  EXPECT_FALSE(get()->initialized());
  EXPECT_EQ(raw_alloc(0), nullptr);
  void* a = raw_alloc(1000);
  EXPECT_TRUE(get()->initialized());
  EXPECT_GE(torch::cuda::memory_allocated(), 1000);
  EXPECT_GE(torch::cuda::memory_reserved(), 1000);
  size_t size = 0;
  EXPECT_EQ(getBaseAllocation(a, &size), a);
  EXPECT_EQ(size, 1000u);
  void* b = nullptr;
  {
    const CUDAGuard guard(1);
    b = raw_alloc(3 * kMiB);
  }
  EXPECT_GE(torch::cuda::memory_allocated(1), 3 << 20);
  raw_delete(a);
  raw_delete(b);
  C10_CUDA_CHECK(cudaDeviceSynchronize());
  emptyCache();
  EXPECT_EQ(torch::cuda::memory_allocated(), 0);
  EXPECT_EQ(torch::cuda::memory_reserved(), 0);
  EXPECT_GE(torch::cuda::max_memory_allocated(), 1000);
  torch::cuda::reset_peak_memory_stats();
  EXPECT_EQ(torch::cuda::max_memory_allocated(), 0);
  size_t largest = 0;
  cacheInfo(0, &largest);
  EXPECT_EQ(largest, 64 * kMiB);
  EXPECT_EQ(cuda_standin::misuse(), "");
}

TEST(AsyncAllocator, FreesWaitForTheStreamsThatUseTheMemory) {
  start();
  const std::array<CUDAStream, 3> streams = {getStreamFromPool(), getStreamFromPool(), getStreamFromPool()};
  cudaEvent_t written = nullptr;
  C10_CUDA_CHECK(cudaEventCreateWithFlags(&written, cudaEventDisableTiming));
  constexpr size_t kSteps = 300, kBytes = 64;
  unsigned char* seen = nullptr;
  C10_CUDA_CHECK(cudaMallocHost(reinterpret_cast<void**>(&seen), kSteps * kBytes));
  std::mt19937 random(1);
  for (size_t step = 0; step < kSteps; ++step) {
    const CUDAStream writer = streams[random() % 3], reader = streams[random() % 3];
    void* p = raw_alloc_with_stream(kBytes, writer.stream());
    C10_CUDA_CHECK(cudaMemsetAsync(p, static_cast<int>(step % 255 + 1), kBytes, writer));
    C10_CUDA_CHECK(cudaEventRecord(written, writer));
    C10_CUDA_CHECK(cudaStreamWaitEvent(reader, written, 0));
    C10_CUDA_CHECK(cudaMemcpyAsync(seen + step * kBytes, p, kBytes, cudaMemcpyDeviceToHost, reader));
    record(p, reader);
    raw_delete(p);
  }
  C10_CUDA_CHECK(cudaDeviceSynchronize());
  for (size_t step = 0; step < kSteps; ++step)
    for (size_t i = 0; i < kBytes; ++i) ASSERT_EQ(seen[step * kBytes + i], step % 255 + 1) << step;
  C10_CUDA_CHECK(cudaFreeHost(seen));
  C10_CUDA_CHECK(cudaEventDestroy(written));
  emptyCache();
  EXPECT_EQ(torch::cuda::memory_allocated(), 0);
  EXPECT_EQ(cuda_standin::live().events, 0u);
  EXPECT_EQ(cuda_standin::misuse(), "");
}

TEST(AsyncAllocator, MemoryRunsOut) {
  start();
  static int64_t asked = 0;
  attachOutOfMemoryObserver([](int64_t, size_t bytes, size_t, size_t) { asked = static_cast<int64_t>(bytes); });
  void* a = raw_alloc(40 * kMiB);
  try {
    raw_alloc(30 * kMiB);
    ADD_FAILURE();
  } catch (const c10::OutOfMemoryError& error) {
    EXPECT_TRUE(
        error.msg().starts_with("CUDA out of memory. Tried to allocate 30.00 MiB. GPU 0 has a total capacity of "
                                "64.00 MiB of which 24.00 MiB is free."))
        << error.msg();
  }
  EXPECT_EQ(asked, 30 << 20);
  EXPECT_EQ(getDeviceStats(0).num_ooms, 1);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  raw_delete(a);
  C10_CUDA_CHECK(cudaDeviceSynchronize());
  setMemoryFraction(0.25, 0);
  EXPECT_EQ(getMemoryFraction(0), 0.25);
  EXPECT_THROW(raw_alloc(17 * kMiB), c10::OutOfMemoryError);
  raw_delete(raw_alloc(16 * kMiB));
  setMemoryFraction(1, 0);
  EXPECT_THROW(setMemoryFraction(2, 0), c10::ValueError);
}

TEST(AsyncAllocator, CapturesOwnTheirMemory) {
  start();
  const CUDAStream stream = getStreamFromPool();
  const CUDAStream other = getStreamFromPool();
  void* before = raw_alloc_with_stream(512, stream.stream());
  beginAllocateToPool(0, {1, 0}, [](cudaStream_t) { return true; });
  C10_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  void* inside = raw_alloc_with_stream(512, stream.stream());
  C10_CUDA_CHECK(cudaMemsetAsync(inside, 1, 512, stream));
  raw_delete(inside);
  void* after = raw_alloc_with_stream(1024, stream.stream());
  C10_CUDA_CHECK(cudaMemsetAsync(after, 1, 1024, stream));
  raw_delete(before);  // not in the graph
  cudaGraph_t graph = nullptr;
  C10_CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
  endAllocateToPool(0, {1, 0});
  EXPECT_THROW(endAllocateToPool(0, {1, 0}), c10::Error);
  raw_delete(after);  // the graph's
  raw_delete(raw_alloc_with_stream(512, other.stream()));
  size_t size = 0;
  EXPECT_THROW(getBaseAllocation(before, &size), c10::Error);
  C10_CUDA_CHECK(cudaGraphDestroy(graph));
  C10_CUDA_CHECK(cudaDeviceSynchronize());
  emptyCache();
  EXPECT_EQ(cuda_standin::misuse(), "");
}

TEST(AsyncAllocator, WhatItCannotSaysSo) {
  start();
  EXPECT_THROW(snapshot(), c10::NotImplementedError);
  EXPECT_THROW(recordHistory(true, nullptr, 1, RecordContext::NEVER), c10::NotImplementedError);
  EXPECT_THROW(getCheckpointState(0, {1, 0}), c10::NotImplementedError);
  EXPECT_THROW(getPoolUseCount(0, {1, 0}), c10::NotImplementedError);
  EXPECT_THROW(shareIpcHandle(nullptr), c10::NotImplementedError);
  EXPECT_THROW(getDeviceStats(7), c10::Error);
  int on_host = 0;
  EXPECT_THROW(raw_delete(&on_host), c10::Error);
  void* a = raw_alloc(512);
  raw_delete(a);
  EXPECT_THROW(raw_delete(a), c10::Error);
  EXPECT_THROW(setAllocatorSettings("backend:native"), c10::Error);
}

TEST(AsyncAllocator, PeersReachItsMemory) {
  start();
  void* a = raw_alloc(256);
  const CUDAGuard guard(1);
  const CUDAStream stream = getStreamFromPool();
  enablePeerAccess(1, 0);
  {
    const CUDAGuard at_memory(0);
    C10_CUDA_CHECK(cudaDeviceSynchronize());
  }
  C10_CUDA_CHECK(cudaMemsetAsync(a, 4, 256, stream));
  C10_CUDA_CHECK(cudaStreamSynchronize(stream));
  raw_delete(a);
  EXPECT_EQ(cuda_standin::misuse(), "");
}

}  // namespace
}  // namespace c10::cuda::CUDACachingAllocator
