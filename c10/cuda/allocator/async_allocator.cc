// backend:cudaMallocAsync: CUDA's own stream-ordered allocator, one default pool a device.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <limits>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "c10/cuda/allocator/backends.h"
#include "c10/cuda/allocator/blocks.h"
#include "c10/cuda/allocator/device_allocator.h"
#include "c10/cuda/device.h"
#include "c10/cuda/exception.h"
#include "c10/cuda/guard.h"
#include "c10/cuda/stream.h"
#include "c10/util/exception.h"

namespace c10::cuda::CUDACachingAllocator {
namespace {

struct Allocation {
  size_t size;
  DeviceIndex device;
  cudaStream_t stream;
  std::vector<StreamUse> uses;
  bool captured = false;  // by a graph, to which the memory belongs
  bool deleted = false;   // but not yet freed
};

struct Device {
  cudaMemPool_t pool = nullptr;
  cudaStream_t free_stream = nullptr;  // where frees wait for several streams, so that no stream of the program does
  size_t used = 0;
  size_t limit = std::numeric_limits<size_t>::max();
  double fraction = 1;
};

bool is_capturing(cudaStream_t stream) {
  // The legacy default stream cannot capture, and must not be asked while another one does.
  if (stream == nullptr) return false;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  C10_CUDA_CHECK(cudaStreamIsCapturing(stream, &status));
  return status != cudaStreamCaptureStatusNone;
}

[[noreturn]] void meaningless(const char* function) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, function, " is not meaningful with backend:cudaMallocAsync");
}

class AsyncAllocator final : public CUDAAllocator {
 public:
  DataPtr allocate(size_t n) override { return allocate_data(*this, n); }
  DeleterFnPtr raw_deleter() const override { return raw_deleter_of_current(); }
  void copy_data(void* dest, const void* src, size_t count) const override { copy_on_current_stream(dest, src, count); }

  void* raw_alloc(size_t nbytes) override {
    const DeviceIndex device = current_device();
    return allocate_on(device, nbytes, nbytes == 0 ? nullptr : getCurrentCUDAStream(device).stream());
  }
  void* raw_alloc_with_stream(size_t nbytes, cudaStream_t stream) override {
    return allocate_on(current_device(), nbytes, stream);
  }

  void raw_delete(void* ptr) override {
    if (ptr == nullptr) return;
    std::lock_guard lock(mutex_);
    const auto it = allocations_.find(ptr);
    TORCH_CHECK(it != allocations_.end(), "raw_delete: ", ptr, " is no allocation of the CUDA allocator");
    Allocation& allocation = it->second;
    TORCH_CHECK(!allocation.deleted, "raw_delete: ", ptr, " was deleted before");
    allocation.deleted = true;
    deferred_.push_back(ptr);
    // Memory from outside of a graph cannot be freed in it.
    if (captures_ > 0 && !allocation.captured) return;
    try {
      free_last_deferred();
    } catch (const c10::Error&) {
      // The next allocation tries again.
    }
  }

  void recordStream(const DataPtr& ptr, CUDAStream stream) override {
    if (ptr.get() == nullptr || ptr.get_deleter() != raw_deleter()) return;
    std::lock_guard lock(mutex_);
    const auto it = allocations_.find(ptr.get());
    TORCH_CHECK(it != allocations_.end(), "recordStream: ", ptr.get(), " is no allocation of the CUDA allocator");
    const StreamUse use{stream.device_index(), stream.stream()};
    Allocation& allocation = it->second;
    if (use == StreamUse{allocation.device, allocation.stream}) return;
    if (std::find(allocation.uses.begin(), allocation.uses.end(), use) == allocation.uses.end())
      allocation.uses.push_back(use);
  }

  void init(int device_count) override {
    TORCH_CHECK(device_count >= 0 && device_count <= cuda::device_count(), "init: there are ",
                static_cast<int>(cuda::device_count()), " CUDA devices, not ", device_count);
    std::lock_guard lock(mutex_);
    for (int device = 0; device < device_count; ++device) at(static_cast<DeviceIndex>(device));
    initialized_ = true;
  }
  bool initialized() override {
    std::lock_guard lock(mutex_);
    return initialized_;
  }

  double getMemoryFraction(DeviceIndex device) override {
    std::lock_guard lock(mutex_);
    return checked(device).fraction;
  }
  void setMemoryFraction(double fraction, DeviceIndex device) override {
    TORCH_CHECK_VALUE(fraction >= 0 && fraction <= 1, "setMemoryFraction: the fraction must be between 0 and 1, got ",
                      fraction);
    std::lock_guard lock(mutex_);
    set_fraction(checked(device), device, fraction);
  }

  void emptyCache(MempoolId_t) override {
    std::lock_guard lock(mutex_);
    if (captures_ > 0) return;
    while (!deferred_.empty()) free_last_deferred();
    events_.clear();
    for (size_t index = 0; index < devices_.size(); ++index) {
      if (devices_[index].pool == nullptr) continue;
      const CUDAGuard guard(static_cast<DeviceIndex>(index));
      C10_CUDA_CHECK(cudaDeviceSynchronize());
      C10_CUDA_CHECK(cudaMemPoolTrimTo(devices_[index].pool, 0));
    }
  }
  void enable(bool) override {}
  bool isEnabled() const override { return true; }
  void cacheInfo(DeviceIndex device, size_t* largestBlock) override {
    // What the pool would give at once cannot be known; what the device has is a lower bound.
    std::lock_guard lock(mutex_);
    checked(device);
    const CUDAGuard guard(device);
    size_t free = 0, total = 0;
    C10_CUDA_CHECK(cudaMemGetInfo(&free, &total));
    *largestBlock = std::max(*largestBlock, free);
  }
  void* getBaseAllocation(void* ptr, size_t* size) override {
    std::lock_guard lock(mutex_);
    const auto it = allocations_.find(ptr);
    TORCH_CHECK(it != allocations_.end(), "getBaseAllocation: ", ptr, " is no allocation of the CUDA allocator");
    if (size != nullptr) *size = it->second.size;
    return ptr;
  }

  DeviceStats getDeviceStats(DeviceIndex device) override {
    std::lock_guard lock(mutex_);
    const Device& of = checked(device);
    const auto value = [&](cudaMemPoolAttr attribute) {
      uint64_t bytes = 0;
      C10_CUDA_CHECK(cudaMemPoolGetAttribute(of.pool, attribute, &bytes));
      return static_cast<int64_t>(bytes);
    };
    DeviceStats stats;
    const auto all = static_cast<size_t>(StatType::AGGREGATE);
    stats.allocated_bytes[all].current = value(cudaMemPoolAttrUsedMemCurrent);
    stats.allocated_bytes[all].peak = value(cudaMemPoolAttrUsedMemHigh);
    stats.reserved_bytes[all].current = value(cudaMemPoolAttrReservedMemCurrent);
    stats.reserved_bytes[all].peak = value(cudaMemPoolAttrReservedMemHigh);
    stats.active_bytes[all] = stats.allocated_bytes[all];
    stats.num_ooms = num_ooms_;
    stats.max_split_size = -1;
    return stats;
  }
  void resetAccumulatedStats(DeviceIndex device) override {
    TORCH_WARN_ONCE("resetAccumulatedStats has no effect with backend:cudaMallocAsync, which accumulates nothing");
    std::lock_guard lock(mutex_);
    checked(device);
  }
  void resetPeakStats(DeviceIndex device) override {
    std::lock_guard lock(mutex_);
    uint64_t zero = 0;
    const Device& of = checked(device);
    C10_CUDA_CHECK(cudaMemPoolSetAttribute(of.pool, cudaMemPoolAttrReservedMemHigh, &zero));
    C10_CUDA_CHECK(cudaMemPoolSetAttribute(of.pool, cudaMemPoolAttrUsedMemHigh, &zero));
  }
  SnapshotInfo snapshot(MempoolId_t) override { meaningless("snapshot"); }

  // Graphs own what is allocated while they are captured; there are no pools to choose.
  void beginAllocateToPool(DeviceIndex device, MempoolId_t, std::function<bool(cudaStream_t)>) override {
    std::lock_guard lock(mutex_);
    checked(device);
    ++captures_;
  }
  void endAllocateToPool(DeviceIndex, MempoolId_t) override {
    std::lock_guard lock(mutex_);
    TORCH_CHECK(captures_ > 0, "endAllocateToPool: no allocations go to a pool");
    --captures_;
  }
  void releasePool(DeviceIndex, MempoolId_t) override {}
  std::shared_ptr<AllocatorState> getCheckpointState(DeviceIndex, MempoolId_t) override {
    meaningless("getCheckpointState");
  }
  CheckpointDelta setCheckpointPoolState(DeviceIndex, std::shared_ptr<AllocatorState>) override {
    meaningless("setCheckpointPoolState");
  }

  ShareableHandle shareIpcHandle(void*) override {
    TORCH_CHECK_NOT_IMPLEMENTED(false, "memory of backend:cudaMallocAsync cannot be shared with other processes");
  }
  std::shared_ptr<void> getIpcDevPtr(std::string) override {
    TORCH_CHECK_NOT_IMPLEMENTED(false, "memory of backend:cudaMallocAsync cannot be shared with other processes");
  }
  void enablePeerAccess(DeviceIndex dev, DeviceIndex dev_to_access) override {
    std::lock_guard lock(mutex_);
    checked(dev);
    cudaMemAccessDesc access{};
    access.location.type = cudaMemLocationTypeDevice;
    access.location.id = dev;
    access.flags = cudaMemAccessFlagsProtReadWrite;
    C10_CUDA_CHECK(cudaMemPoolSetAccess(checked(dev_to_access).pool, &access, 1));
  }
  cudaError_t memcpyAsync(void* dst, int dst_device, const void* src, int src_device, size_t count, cudaStream_t stream,
                          bool p2p_enabled) override {
    return copy_between_devices(dst, dst_device, src, src_device, count, stream, p2p_enabled);
  }
  void recordHistory(bool, CreateContextFn, size_t, RecordContext, bool) override { meaningless("recordHistory"); }
  void attachOutOfMemoryObserver(OutOfMemoryObserver observer) override {
    TORCH_CHECK(observer != nullptr, "attachOutOfMemoryObserver: expected a function");
    std::lock_guard lock(mutex_);
    observers_.push_back(std::move(observer));
  }
  void attachAllocatorTraceTracker(AllocatorTraceTracker) override { meaningless("attachAllocatorTraceTracker"); }
  std::string name() override { return "cudaMallocAsync"; }

 private:
  void set_fraction(Device& device, DeviceIndex index, double fraction) {
    const CUDAGuard guard(index);
    size_t free = 0, total = 0;
    C10_CUDA_CHECK(cudaMemGetInfo(&free, &total));
    device.fraction = fraction;
    device.limit =
        fraction >= 1 ? std::numeric_limits<size_t>::max() : static_cast<size_t>(fraction * static_cast<double>(total));
  }

  Device& at(DeviceIndex index) {
    Device& device = devices_[static_cast<size_t>(index)];
    if (device.pool != nullptr) return device;
    const CUDAGuard guard(index);
    Device made;
    C10_CUDA_CHECK(cudaDeviceGetDefaultMemPool(&made.pool, index));
    // What is free stays in the pool until emptyCache.
    uint64_t threshold = std::numeric_limits<uint64_t>::max();
    C10_CUDA_CHECK(cudaMemPoolSetAttribute(made.pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    set_fraction(made, index, CUDAAllocatorConfig::per_process_memory_fraction());
    made.free_stream = getStreamFromPool(false, index).stream();
    return device = made;
  }
  Device& checked(DeviceIndex device) {
    const DeviceIndex count = device_count_ensure_non_zero();
    TORCH_CHECK(device >= 0 && device < count, "Allocator not initialized for device ", static_cast<int>(device),
                ": there are ", static_cast<int>(count), " CUDA devices");
    return at(device);
  }

  void* allocate_on(DeviceIndex index, size_t size, cudaStream_t stream) {
    if (size == 0) return nullptr;
    std::unique_lock lock(mutex_);
    initialized_ = true;
    Device& device = at(index);
    while (captures_ == 0 && !deferred_.empty()) free_last_deferred();
    const CUDAGuard guard(index);
    const bool captured = captures_ > 0 && is_capturing(stream);
    void* data = nullptr;
    cudaError_t status = cudaErrorMemoryAllocation;
    if (size <= device.limit && device.used <= device.limit - size) {
      status = C10_CUDA_ERROR_HANDLED(cudaMallocAsync(&data, size, stream));
      if (status == cudaErrorMemoryAllocation) C10_CUDA_CLEAR_ERROR();
    }
    if (status == cudaErrorMemoryAllocation) out_of_memory(device, index, size, lock);
    C10_CUDA_CHECK(status);
    device.used += size;
    allocations_[data] = {size, index, stream, {}, captured};
    return data;
  }

  [[noreturn]] void out_of_memory(const Device& device, DeviceIndex index, size_t size,
                                  std::unique_lock<std::mutex>& lock) {
    size_t free = 0, total = 0;
    C10_CUDA_CHECK(cudaMemGetInfo(&free, &total));
    ++num_ooms_;
    const auto observers = observers_;
    const size_t used = device.used;
    const size_t limit = std::min(device.limit, total);
    lock.unlock();
    for (const auto& observer : observers) observer(index, size, limit, free);
    TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory. Tried to allocate ", format_size(size), ". GPU ",
                     static_cast<int>(index), " has a total capacity of ", format_size(total), " of which ",
                     format_size(free), " is free. ", format_size(limit), " allowed; ", format_size(used),
                     " is allocated by PyTorch with backend:cudaMallocAsync.");
  }

  void free_last_deferred() {
    void* const ptr = deferred_.back();
    const auto it = allocations_.find(ptr);
    give_back(ptr, it->second);
    devices_[static_cast<size_t>(it->second.device)].used -= it->second.size;
    allocations_.erase(it);
    deferred_.pop_back();
  }

  // Frees behind all work that uses the memory. Throws before anything is freed.
  void give_back(void* ptr, const Allocation& allocation) {
    if (allocation.captured && captures_ == 0) return;  // the graph frees it when it is launched again, or goes
    const CUDAGuard guard(allocation.device);
    if (allocation.uses.empty()) {
      C10_CUDA_CHECK(cudaFreeAsync(ptr, allocation.stream));
      return;
    }
    // In a graph another stream would have to join it again.
    cudaStream_t last =
        allocation.captured ? allocation.stream : devices_[static_cast<size_t>(allocation.device)].free_stream;
    if (!allocation.captured) wait_for(last, {allocation.device, allocation.stream});
    for (const StreamUse& use : allocation.uses) wait_for(last, use);
    C10_CUDA_CHECK(cudaFreeAsync(ptr, last));
  }

  void wait_for(cudaStream_t waiting, const StreamUse& use) {
    Event event = events_.record(use.device, use.stream);
    const cudaError_t status = C10_CUDA_ERROR_HANDLED(cudaStreamWaitEvent(waiting, event.get(), 0));
    // The wait is for what was recorded: the event may be recorded again at once.
    events_.give_back(std::move(event));
    C10_CUDA_CHECK(status);
  }

  std::mutex mutex_;
  std::array<Device, C10_COMPILE_TIME_MAX_GPUS> devices_;
  std::unordered_map<void*, Allocation> allocations_;
  std::vector<void*> deferred_;
  EventPool events_;
  std::vector<OutOfMemoryObserver> observers_;
  int captures_ = 0;
  int64_t num_ooms_ = 0;
  bool initialized_ = false;
};

}  // namespace

CUDAAllocator* make_async_allocator() {
  return new AsyncAllocator;
}

}  // namespace c10::cuda::CUDACachingAllocator
