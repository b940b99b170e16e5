// Allocators of device memory that are functions of a program.
//
//   auto allocator = torch::cuda::CUDAPluggableAllocator::createCustomAllocator(my_malloc, my_free);
//   torch::cuda::CUDAPluggableAllocator::changeCurrentAllocator(allocator);  // before the first allocation
//   c10::cuda::MemPool pool(allocator.get());                                // or for the segments of a pool only
#pragma once

#include <driver_types.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "c10/cuda/caching_allocator.h"

namespace torch::cuda::CUDAPluggableAllocator {

using c10::cuda::CUDACachingAllocator::CUDAAllocator;

/// void* my_malloc(size_t size, int device, cudaStream_t stream): null where there is no memory.
using MallocFuncType = void*(size_t, int, cudaStream_t);
/// void my_free(void* ptr, size_t size, int device, cudaStream_t stream)
using FreeFuncType = void(void*, size_t, int, cudaStream_t);

/// Memory by two functions. What needs another and was not given it throws c10::NotImplementedError; a missing
/// record_stream function means that frees wait for their stream themselves.
struct CUDAPluggableAllocator : CUDAAllocator {
  CUDAPluggableAllocator(std::function<MallocFuncType> alloc_fn, std::function<FreeFuncType> free_fn);

  void set_init_fn(std::function<void(int)> init_fn) { init_fn_ = std::move(init_fn); }
  void set_reset_fn(std::function<void()> reset_fn) { reset_fn_ = std::move(reset_fn); }
  void set_memory_fraction_fn(std::function<void(double, int)> fn) { memory_fraction_fn_ = std::move(fn); }
  void set_base_alloc_fn(std::function<void*(void*, size_t*)> fn) { base_alloc_fn_ = std::move(fn); }
  void set_record_stream_fn(std::function<void(void*, cudaStream_t)> fn) { record_stream_fn_ = std::move(fn); }
  void set_begin_allocate_to_pool(
      std::function<void(int, c10::MempoolId_t, std::function<bool(cudaStream_t)>)> capture_begin_fn) {
    begin_pool_fn_ = std::move(capture_begin_fn);
  }
  void set_end_allocate_to_pool_fn(std::function<void(int, c10::MempoolId_t)> fn) { end_pool_fn_ = std::move(fn); }
  void set_release_pool(std::function<void(int, c10::MempoolId_t)> fn) { release_pool_fn_ = std::move(fn); }

  /// `size` bytes of a device. Throws c10::OutOfMemoryError where the function gives null.
  void* malloc(size_t size, c10::DeviceIndex device, cudaStream_t stream);

  c10::DataPtr allocate(size_t size) override;
  c10::DeleterFnPtr raw_deleter() const override;
  void copy_data(void* dest, const void* src, size_t count) const override;
  void* raw_alloc(size_t nbytes) override;
  void* raw_alloc_with_stream(size_t nbytes, cudaStream_t stream) override;
  void raw_delete(void* ptr) override;
  void init(int device_count) override;
  bool initialized() override;
  double getMemoryFraction(c10::DeviceIndex device) override;
  void setMemoryFraction(double fraction, c10::DeviceIndex device) override;
  void emptyCache(c10::MempoolId_t mempool_id = {0, 0}) override;
  void enable(bool) override {}
  bool isEnabled() const override { return true; }
  void cacheInfo(c10::DeviceIndex device, size_t* largestBlock) override;
  void* getBaseAllocation(void* ptr, size_t* size) override;
  void recordStream(const c10::DataPtr& ptr, c10::cuda::CUDAStream stream) override;
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex device) override;
  void resetAccumulatedStats(c10::DeviceIndex device) override;
  void resetPeakStats(c10::DeviceIndex device) override;
  c10::cuda::CUDACachingAllocator::SnapshotInfo snapshot(c10::MempoolId_t mempool_id) override;
  void beginAllocateToPool(c10::DeviceIndex device, c10::MempoolId_t mempool_id,
                           std::function<bool(cudaStream_t)> filter) override;
  void endAllocateToPool(c10::DeviceIndex device, c10::MempoolId_t mempool_id) override;
  void releasePool(c10::DeviceIndex device, c10::MempoolId_t mempool_id) override;
  std::shared_ptr<c10::cuda::CUDACachingAllocator::AllocatorState> getCheckpointState(c10::DeviceIndex device,
                                                                                      c10::MempoolId_t id) override;
  c10::cuda::CUDACachingAllocator::CheckpointDelta setCheckpointPoolState(
      c10::DeviceIndex device, std::shared_ptr<c10::cuda::CUDACachingAllocator::AllocatorState> state) override;
  c10::cuda::CUDACachingAllocator::ShareableHandle shareIpcHandle(void* ptr) override;
  std::shared_ptr<void> getIpcDevPtr(std::string handle) override;
  void enablePeerAccess(c10::DeviceIndex dev, c10::DeviceIndex dev_to_access) override;
  cudaError_t memcpyAsync(void* dst, int dst_device, const void* src, int src_device, size_t count, cudaStream_t stream,
                          bool p2p_enabled) override;
  void recordHistory(bool enabled, c10::cuda::CUDACachingAllocator::CreateContextFn context_recorder,
                     size_t alloc_trace_max_entries, c10::cuda::CUDACachingAllocator::RecordContext when,
                     bool clearHistory) override;
  void attachOutOfMemoryObserver(c10::cuda::CUDACachingAllocator::OutOfMemoryObserver observer) override;
  void attachAllocatorTraceTracker(c10::cuda::CUDACachingAllocator::AllocatorTraceTracker tracker) override;
  std::string name() override { return "pluggable"; }

 protected:
  std::function<MallocFuncType> alloc_fn_;
  std::function<FreeFuncType> free_fn_;
  std::function<void(int)> init_fn_;
  std::function<void()> reset_fn_;
  std::function<void(double, int)> memory_fraction_fn_;
  std::function<void*(void*, size_t*)> base_alloc_fn_;
  std::function<void(void*, cudaStream_t)> record_stream_fn_;
  std::function<void(int, c10::MempoolId_t, std::function<bool(cudaStream_t)>)> begin_pool_fn_;
  std::function<void(int, c10::MempoolId_t)> end_pool_fn_;
  std::function<void(int, c10::MempoolId_t)> release_pool_fn_;

 private:
  struct Allocation {
    size_t size;
    c10::DeviceIndex device;
    cudaStream_t stream;
  };
  std::mutex mutex_;
  std::unordered_map<void*, Allocation> allocations_;
  bool initialized_ = false;
};

/// An allocator of two functions.
std::shared_ptr<CUDAAllocator> createCustomAllocator(std::function<MallocFuncType> alloc_fn,
                                                     std::function<FreeFuncType> free_fn);
/// The same, of functions of a shared library. Throws c10::Error where it cannot be opened or lacks one of them.
std::shared_ptr<CUDAAllocator> loadCustomAllocator(const std::string& path_to_so_file, const std::string& alloc_fn_name,
                                                   const std::string& free_fn_name);
/// The allocator of changeCurrentAllocator; null before.
std::shared_ptr<CUDAAllocator> getCurrentAllocator();
/// Makes it the program's allocator. Throws c10::Error where memory was allocated by the present one.
void changeCurrentAllocator(const std::shared_ptr<CUDAAllocator>& allocator);

}  // namespace torch::cuda::CUDAPluggableAllocator
