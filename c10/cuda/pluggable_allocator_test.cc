#include "c10/cuda/pluggable_allocator.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "c10/cuda/caching_allocator.h"
#include "c10/cuda/exception.h"
#include "c10/cuda/memory.h"
#include "c10/cuda/stream.h"
#include "c10/cuda/testing.h"
#include "c10/util/exception.h"
#include "tests/cuda_on_host/runtime/standin.h"

namespace torch::cuda::CUDAPluggableAllocator {
namespace {

namespace native = c10::cuda::CUDACachingAllocator;

std::map<void*, size_t> g_given;
int g_freed = 0;

void* give(size_t size, int device, cudaStream_t) {
  void* data = nullptr;
  if (device != 0 || cudaMalloc(&data, size) != cudaSuccess) {
    (void)cudaGetLastError();
    return nullptr;
  }
  g_given[data] = size;
  return data;
}
void take(void* data, size_t size, int device, cudaStream_t) {
  EXPECT_EQ(g_given.at(data), size);
  EXPECT_EQ(device, 0);
  g_given.erase(data);
  ++g_freed;
  EXPECT_EQ(cudaFree(data), cudaSuccess);
}

// --- what a process takes from its environment; before the tests that choose an allocator ---

using c10::cuda::testing::in_own_process;

TEST(AllocatorEnvironment, SwitchesCachingOff) {
  in_own_process([] {
    ::setenv("PYTORCH_NO_CUDA_MEMORY_CACHING", "1", 1);
    EXPECT_FALSE(native::isEnabled());
    void* const a = native::raw_alloc(1000);
    EXPECT_EQ(cuda_standin::live().device_bytes, 1000u);
    native::raw_delete(a);
    EXPECT_EQ(cuda_standin::live_allocations(), 0u);
  });
  in_own_process([] {
    ::setenv("PYTORCH_NO_CUDA_MEMORY_CACHING", "0", 1);
    EXPECT_TRUE(native::isEnabled());
  });
}

TEST(AllocatorEnvironment, SetsOptions) {
  in_own_process([] {
    ::setenv("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True", 1);
    native::raw_delete(native::raw_alloc(1000));
    EXPECT_TRUE(native::snapshot().segments.at(0).is_expandable);
    EXPECT_EQ(native::snapshot().config_metadata.last_allocator_settings, "expandable_segments:True");
  });
  in_own_process([] {
    ::setenv("PYTORCH_ALLOC_CONF", "expandable_segment:True", 1);
    EXPECT_THROW(native::get(), c10::ValueError);
    EXPECT_THROW(c10::GetAllocator(c10::kCUDA)->allocate(1), c10::ValueError);
  });
}

// The allocator of a program cannot be changed twice, so the order of what is tested is that of one program.
TEST(PluggableAllocator, ServesPoolsAndThenTheProgram) {
  cuda_standin::reset({.devices = 2, .memory_bytes = size_t{64} << 20});
  EXPECT_THROW(createCustomAllocator(nullptr, take), c10::Error);
  EXPECT_THROW(loadCustomAllocator("/no/such/library.so", "a", "b"), c10::Error);
  EXPECT_THROW(loadCustomAllocator("libm.so.6", "cos", "no_such_function"), c10::Error);
  EXPECT_NE(loadCustomAllocator("libm.so.6", "cos", "sin"), nullptr);
  EXPECT_EQ(getCurrentAllocator(), nullptr);

  const auto allocator = createCustomAllocator(give, take);
  EXPECT_EQ(allocator->name(), "pluggable");
  EXPECT_FALSE(allocator->initialized());
  EXPECT_THROW(changeCurrentAllocator(nullptr), c10::Error);
  auto& own = dynamic_cast<CUDAPluggableAllocator&>(*allocator);
  changeCurrentAllocator(allocator);
  EXPECT_EQ(getCurrentAllocator(), allocator);
  EXPECT_EQ(native::get(), allocator.get());
  EXPECT_EQ(torch::cuda::get_allocator_backend(), "pluggable");
  {
    const c10::DataPtr data = c10::GetAllocator(c10::kCUDA)->allocate(1000);
    EXPECT_EQ(g_given.at(data.get()), 1000u);
    EXPECT_EQ(data.device(), c10::Device(c10::kCUDA, 0));
  }
  EXPECT_TRUE(g_given.empty());
  EXPECT_EQ(g_freed, 1);
  EXPECT_TRUE(allocator->initialized());
  EXPECT_THROW(changeCurrentAllocator(createCustomAllocator(give, take)), c10::Error);
  EXPECT_EQ(getCurrentAllocator(), allocator);

  EXPECT_EQ(native::raw_alloc(0), nullptr);
  void* const a = native::raw_alloc(10);
  EXPECT_EQ(native::getBaseAllocation(a, nullptr), a);
  EXPECT_THROW(native::raw_alloc(size_t{1} << 40), c10::OutOfMemoryError);
  int on_host = 0;
  EXPECT_THROW(native::raw_delete(&on_host), c10::Error);

  // Functions that it was not given.
  EXPECT_THROW(native::getDeviceStats(0), c10::NotImplementedError);
  EXPECT_THROW(native::snapshot(), c10::NotImplementedError);
  EXPECT_THROW(native::setMemoryFraction(0.5, 0), c10::NotImplementedError);
  EXPECT_THROW(native::getPoolUseCount(0, {1, 0}), c10::NotImplementedError);
  EXPECT_THROW(c10::cuda::MemPool pool, c10::NotImplementedError);
  native::emptyCache();

  // And those that it was.
  std::string called;
  own.set_init_fn([&](int count) { called += "init " + std::to_string(count) + ";"; });
  own.set_reset_fn([&] { called += "reset;"; });
  own.set_memory_fraction_fn(
      [&](double fraction, int device) { called += fraction == 0.5 && device == 1 ? "fraction;" : "?"; });
  own.set_base_alloc_fn([&](void* p, size_t* size) {
    *size = 7;
    return p;
  });
  own.set_record_stream_fn(
      [&](void* p, cudaStream_t stream) { called += p == a && stream == nullptr ? "record;" : "?"; });
  own.set_begin_allocate_to_pool([&](int, c10::MempoolId_t, std::function<bool(cudaStream_t)>) { called += "begin;"; });
  own.set_end_allocate_to_pool_fn([&](int, c10::MempoolId_t) { called += "end;"; });
  own.set_release_pool([&](int, c10::MempoolId_t) { called += "release;"; });
  native::init(2);
  native::emptyCache();
  native::setMemoryFraction(0.5, 1);
  size_t size = 0;
  EXPECT_EQ(native::getBaseAllocation(a, &size), a);
  EXPECT_EQ(size, 7u);
  native::recordStream(c10::DataPtr(a, c10::Device(c10::kCUDA, 0)), c10::cuda::getDefaultCUDAStream(0));
  native::beginAllocateToPool(0, {1, 0}, [](cudaStream_t) { return true; });
  native::endAllocateToPool(0, {1, 0});
  native::releasePool(0, {1, 0});
  EXPECT_EQ(called, "init 2;reset;fraction;record;begin;end;release;");
  native::raw_delete(a);
  EXPECT_EQ(cuda_standin::live_allocations(), 0u);
  EXPECT_EQ(cuda_standin::misuse(), "");
}

}  // namespace
}  // namespace torch::cuda::CUDAPluggableAllocator
