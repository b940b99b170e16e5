// Every call of CUDA fails once, one after the other: what fails says so by its type, nothing is lost, and what follows
// works.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "c10/cuda/allocator/testing.h"
#include "c10/cuda/device.h"
#include "c10/cuda/guard.h"
#include "c10/cuda/stream.h"
#include "c10/util/exception.h"

namespace c10::cuda::CUDACachingAllocator {
namespace {

using Program = std::function<void(std::vector<DataPtr>& blocks, cudaStream_t own, cudaStream_t other)>;

class AllocatorFailures : public AllocatorTest {
 protected:
  // Runs `program` with the n-th call failing, for every n that it has. It owns its blocks and frees them however it
  // ends.
  void fail_each_call(const char* settings, cudaError_t with, const Program& program, size_t memory = 96 * kMiB) {
    int errors = 0;
    for (int64_t n = 0; n < 2000; ++n) {
      begin({});
      setAllocatorSettings(settings);
      const auto calls_of_streams = [&](int64_t fail_call) {
        cuda_standin::reset({.memory_bytes = memory, .protect = false, .fail_call = fail_call, .fail_with = with});
        return std::make_pair(std::make_unique<TestStream>(), std::make_unique<TestStream>());
      };
      calls_of_streams(-1);
      const auto before = static_cast<int64_t>(cuda_standin::calls()) - 2;  // they were destroyed, too
      auto streams = calls_of_streams(before + n);
      std::vector<DataPtr> blocks;
      try {
        program(blocks, *streams.first, *streams.second);
      } catch (const c10::AcceleratorError& error) {
        EXPECT_EQ(error.get_error_code(), with) << error.what();
        ++errors;
      } catch (const c10::OutOfMemoryError& error) {
        EXPECT_EQ(with, cudaErrorMemoryAllocation) << error.what();
        ++errors;
      }
      blocks.clear();
      EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess) << cuda_standin::failed_call();
      const std::string failed = cuda_standin::failed_call();
      if (failed.empty()) {  // it has no such call, the next one has
        EXPECT_EQ(cudaGetLastError(), cudaSuccess);
        EXPECT_THROW((void)cuda::current_device(), c10::AcceleratorError);
        streams = {};
        EXPECT_GT(errors, 0);
        return;
      }
      // What follows works, and nothing is left.
      raw_delete(raw_alloc(512));
      {
        const CUDAGuard guard(1);
        raw_delete(raw_alloc(kMiB));
      }
      EXPECT_EQ(cuda_standin::misuse(), "") << n << " " << failed;
      emptyCache();
      streams = {};
      end();
      if (HasFailure()) {
        ADD_FAILURE() << "call " << n << ", " << failed;
        return;
      }
    }
    FAIL() << "the program does not end";
  }
};

void use(std::vector<DataPtr>& blocks, size_t size, cudaStream_t stream) {
  void* const data = raw_alloc_with_stream(size, stream);
  blocks.emplace_back(data, data, GetAllocator(kCUDA)->raw_deleter(), Device(kCUDA, 0));
}

void ordinary(std::vector<DataPtr>& blocks, cudaStream_t own, cudaStream_t other) {
  blocks.push_back(GetAllocator(kCUDA)->allocate(1000));
  use(blocks, 4 * kMiB, own);
  use(blocks, 512, own);
  recordStream(blocks.back(), getStreamFromExternal(other, 0));
  C10_CUDA_CHECK(cudaMemsetAsync(blocks.back().get(), 1, 512, other));
  blocks.pop_back();
  use(blocks, 512, own);
  {
    const CUDAGuard guard(1);
    blocks.push_back(GetAllocator(kCUDA)->allocate(20));
  }
  use(blocks, 60 * kMiB, own);
  blocks.pop_back();
  use(blocks, 70 * kMiB, own);  // needs the cache
  blocks.clear();
  C10_CUDA_CHECK(cudaStreamSynchronize(other));
  emptyCache();
}

TEST_F(AllocatorFailures, OfOrdinaryPrograms) {
  for (const cudaError_t error : {cudaErrorMemoryAllocation, cudaErrorInvalidValue})
    for (const char* settings :
         {"", "release_lock_on_cudamalloc:True", "max_split_size_mb:32", "garbage_collection_threshold:0.1"})
      fail_each_call(settings, error, ordinary);
}

// Of small pieces: the stand-in fills the memory that it maps.
void growing(std::vector<DataPtr>& blocks, cudaStream_t own, cudaStream_t other) {
  blocks.push_back(GetAllocator(kCUDA)->allocate(1000));
  for (int i = 0; i < 2; ++i) use(blocks, kMiB, other);
  recordStream(blocks.back(), getStreamFromExternal(own, 0));
  blocks.resize(1);
  for (int i = 0; i < 3; ++i) use(blocks, 900 * kKiB, own);
  blocks.pop_back();
  for (int i = 0; i < 3; ++i) use(blocks, kMiB, own);  // needs what the other stream has cached
  blocks.clear();
  emptyCache();
}

TEST_F(AllocatorFailures, OfExpandableSegments) {
  begin({.memory_bytes = 8 * kMiB});
  setAllocatorSettings("expandable_segments:True");
  {
    const TestStream own, other;
    std::vector<DataPtr> blocks;
    growing(blocks, own, other);
    EXPECT_EQ(getDeviceStats(0).num_alloc_retries, 1);
  }
  for (const cudaError_t error : {cudaErrorMemoryAllocation, cudaErrorInvalidValue})
    fail_each_call("expandable_segments:True", error, growing, 8 * kMiB);
}

TEST_F(AllocatorFailures, OfUncachedMemory) {
  fail_each_call("", cudaErrorInvalidValue, [](std::vector<DataPtr>& blocks, cudaStream_t own, cudaStream_t other) {
    enable(false);
    ordinary(blocks, own, other);
  });
}

TEST_F(AllocatorFailures, OfPools) {
  for (const cudaError_t error : {cudaErrorMemoryAllocation, cudaErrorInvalidValue}) {
    fail_each_call("", error, [](std::vector<DataPtr>& blocks, cudaStream_t own, cudaStream_t) {
      MemPool pool;
      {
        const MemPoolContext context(&pool);
        use(blocks, 512, own);
        use(blocks, 30 * kMiB, own);
      }
      use(blocks, 50 * kMiB, own);
    });
  }
}

TEST_F(AllocatorFailures, OfCaptures) {
  fail_each_call("", cudaErrorInvalidValue, [](std::vector<DataPtr>& blocks, cudaStream_t own, cudaStream_t) {
    cudaGraph_t graph = nullptr;
    const MempoolId_t id = MemPool::graph_pool_handle(false);
    beginAllocateToPool(0, id, [own](cudaStream_t stream) { return stream == own; });
    C10_CUDA_IGNORE_ERROR(cudaStreamBeginCapture(own, cudaStreamCaptureModeGlobal));
    try {
      use(blocks, 512, own);
      C10_CUDA_CHECK(cudaMemsetAsync(blocks.back().get(), 1, 512, own));
    } catch (...) {
      (void)cudaStreamEndCapture(own, &graph);
      (void)cudaGetLastError();
      if (graph != nullptr) (void)cudaGraphDestroy(graph);
      endAllocateToPool(0, id);
      releasePool(0, id);
      throw;
    }
    endAllocateToPool(0, id);
    releasePool(0, id);
    const cudaError_t status = cudaStreamEndCapture(own, &graph);
    if (graph != nullptr && cudaGraphDestroy(graph) != cudaSuccess) (void)cudaGraphDestroy(graph);
    if (status != cudaSuccess && cudaStreamEndCapture(own, &graph) == cudaSuccess) (void)cudaGraphDestroy(graph);
    (void)cudaGetLastError();
  });
}

}  // namespace
}  // namespace c10::cuda::CUDACachingAllocator
