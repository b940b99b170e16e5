#include <cuda_runtime_api.h>

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>

#include "c10/cuda/allocator/backends.h"
#include "c10/cuda/allocator/device_allocator.h"
#include "c10/cuda/device.h"
#include "c10/cuda/exception.h"
#include "c10/cuda/guard.h"
#include "c10/cuda/ipc.h"
#include "c10/cuda/peer_access.h"
#include "c10/cuda/stream.h"
#include "c10/util/env.h"
#include "c10/util/exception.h"

namespace c10::cuda::CUDACachingAllocator {
namespace {

// What other processes have let go is memory.
struct CollectSent final : FreeMemoryCallback {
  bool Execute() override {
    const size_t before = ipc::pending();
    return ipc::collect() < before;
  }
};
[[maybe_unused]] const bool g_collects_sent = [] {
  register_free_memory_callback(std::make_unique<CollectSent>());
  return true;
}();

class NativeAllocator final : public CUDAAllocator {
 public:
  NativeAllocator() : enabled_(!forced_off()) {}

  // --- memory ---
  DataPtr allocate(size_t n) override {
    const DeviceIndex device = current_device();
    void* const data = n == 0 ? nullptr : allocate_on(device, n, getCurrentCUDAStream(device).stream());
    return DataPtr(data, data, raw_deleter_of_current(), Device(DeviceType::CUDA, device));
  }
  DeleterFnPtr raw_deleter() const override { return raw_deleter_of_current(); }
  void copy_data(void* dest, const void* src, size_t count) const override { copy_on_current_stream(dest, src, count); }

  void* raw_alloc(size_t nbytes) override {
    if (nbytes == 0) return nullptr;
    const DeviceIndex device = current_device();
    return allocate_on(device, nbytes, getCurrentCUDAStream(device).stream());
  }
  void* raw_alloc_with_stream(size_t nbytes, cudaStream_t stream) override {
    if (nbytes == 0) return nullptr;
    return allocate_on(current_device(), nbytes, stream);
  }
  void raw_delete(void* ptr) override {
    if (ptr == nullptr) return;
    Block* const block = live_.remove(ptr);
    TORCH_CHECK(block != nullptr, "raw_delete: ", ptr, " is no allocation of the CUDA allocator");
    of(block).free(block);
  }
  void recordStream(const DataPtr& ptr, CUDAStream stream) override {
    // What others own is theirs to keep.
    if (ptr.get() == nullptr || ptr.get_deleter() != raw_deleter()) return;
    Block* const block = live_.find(ptr.get());
    TORCH_CHECK(block != nullptr, "recordStream: ", ptr.get(), " is no allocation of the CUDA allocator");
    of(block).record_stream(block, {stream.device_index(), stream.stream()});
  }

  // --- devices ---
  void init(int device_count) override {
    TORCH_CHECK(device_count >= 0 && device_count <= cuda::device_count(), "init: there are ",
                static_cast<int>(cuda::device_count()), " CUDA devices, not ", device_count);
    for (int device = 0; device < device_count; ++device) at(static_cast<DeviceIndex>(device));
    is_initialized_.store(true);
  }
  bool initialized() override { return is_initialized_.load(); }
  double getMemoryFraction(DeviceIndex device) override { return checked(device).memory_fraction(); }
  void setMemoryFraction(double fraction, DeviceIndex device) override {
    TORCH_CHECK_VALUE(fraction >= 0 && fraction <= 1, "setMemoryFraction: the fraction must be between 0 and 1, got ",
                      fraction);
    checked(device).set_memory_fraction(fraction);
  }
  void emptyCache(MempoolId_t mempool_id) override {
    for_each([&](DeviceAllocator& device) { device.empty_cache(mempool_id); });
  }
  void enable(bool value) override { enabled_.store(value); }
  bool isEnabled() const override { return enabled_.load(std::memory_order_relaxed); }
  void cacheInfo(DeviceIndex device, size_t* largestBlock) override { checked(device).cache_info(largestBlock); }
  void* getBaseAllocation(void* ptr, size_t* size) override {
    Block* const block = existing(ptr, "getBaseAllocation");
    return of(block).base_allocation(block, size);
  }
  DeviceStats getDeviceStats(DeviceIndex device) override { return checked(device).stats(); }
  void resetAccumulatedStats(DeviceIndex device) override { checked(device).reset_accumulated_stats(); }
  void resetPeakStats(DeviceIndex device) override { checked(device).reset_peak_stats(); }

  SnapshotInfo snapshot(MempoolId_t mempool_id) override {
    SnapshotInfo result;
    for (DeviceIndex index = 0; index < device_count(); ++index) {
      std::vector<TraceEntry>& trace = result.device_traces.emplace_back();
      DeviceAllocator* const made = devices_[static_cast<size_t>(index)].load();
      if (made == nullptr) continue;
      made->append_segments(mempool_id, result.segments);
      trace = made->trace();
      made->record_snapshot();
    }
    std::sort(result.segments.begin(), result.segments.end(), [](const SegmentInfo& a, const SegmentInfo& b) {
      return a.device != b.device ? a.device < b.device : a.address < b.address;
    });
    result.external_annotations = history_.annotations();
    const AllocatorSettings& settings = allocator_settings();
    AllocatorConfigInfo& config = result.config_metadata;
    config.garbage_collection_threshold = settings.garbage_collection_threshold;
    config.max_split_size = settings.max_split_size;
    config.pinned_num_register_threads = settings.pinned_num_register_threads;
    config.expandable_segments = settings.expandable_segments;
    config.release_lock_on_malloc = settings.release_lock_on_cudamalloc;
    config.pinned_use_host_register = settings.pinned_use_cuda_host_register;
    config.last_allocator_settings = settings.text;
    config.roundup_power2_divisions = CUDAAllocatorConfig::roundup_power2_divisions();
    return result;
  }

  // --- pools ---
  void beginAllocateToPool(DeviceIndex device, MempoolId_t id, std::function<bool(cudaStream_t)> filter) override {
    checked(device).begin_pool(id, std::move(filter));
  }
  void endAllocateToPool(DeviceIndex device, MempoolId_t id) override { checked(device).end_pool(id); }
  void releasePool(DeviceIndex device, MempoolId_t id) override { checked(device).release_pool(id); }
  int getPoolUseCount(DeviceIndex device, MempoolId_t id) override { return checked(device).pool_use_count(id); }
  void createOrIncrefPool(DeviceIndex device, MempoolId_t id, CUDAAllocator* segments_from) override {
    checked(device).create_or_use_pool(id, segments_from == this ? nullptr : segments_from);
  }
  void setUseOnOOM(DeviceIndex device, MempoolId_t id) override { checked(device).set_use_on_oom(id); }
  void setNoSplit(DeviceIndex device, MempoolId_t id) override { checked(device).set_no_split(id); }
  bool checkPoolLiveAllocations(DeviceIndex device, MempoolId_t id,
                                const std::unordered_set<void*>& expected) override {
    return checked(device).has_exactly(id, expected);
  }
  std::shared_ptr<AllocatorState> getCheckpointState(DeviceIndex device, MempoolId_t id) override {
    return checked(device).checkpoint(id);
  }
  CheckpointDelta setCheckpointPoolState(DeviceIndex device, std::shared_ptr<AllocatorState> state) override {
    TORCH_CHECK(state != nullptr, "setCheckpointPoolState: expected a checkpoint");
    CheckpointDelta delta;
    checked(device).restore(
        *state,
        [&](Block* freed) {
          live_.remove(freed->ptr);
          delta.ptrs_freed.push_back(freed->ptr);
        },
        [&](Block* block) {
          live_.insert(block);
          delta.dataptrs_allocd.emplace_back(block->ptr, block->ptr, raw_deleter(), Device(DeviceType::CUDA, device));
        });
    return delta;
  }

  // --- other processes and devices ---
  ShareableHandle shareIpcHandle(void* ptr) override {
    Block* const block = existing(ptr, "shareIpcHandle");
    TORCH_CHECK_NOT_IMPLEMENTED(!of(block).is_expandable(block),
                                "memory of expandable segments cannot be shared with other processes");
    void* const base = of(block).base_allocation(block, nullptr);
    cudaIpcMemHandle_t handle;
    C10_CUDA_CHECK(cudaIpcGetMemHandle(&handle, base));
    return {static_cast<char*>(ptr) - static_cast<char*>(base),
            std::string(reinterpret_cast<const char*>(&handle), sizeof(handle))};
  }
  std::shared_ptr<void> getIpcDevPtr(std::string handle) override {
    cudaIpcMemHandle_t bytes;
    TORCH_CHECK(handle.size() == sizeof(bytes), "getIpcDevPtr: expected a handle of ", sizeof(bytes), " bytes, got ",
                handle.size());
    std::memcpy(&bytes, handle.data(), sizeof(bytes));
    return ipc::open_memory(current_device(), bytes);
  }

  void enablePeerAccess(DeviceIndex dev, DeviceIndex dev_to_access) override {
    DeviceAllocator& accessed = checked(dev_to_access);
    checked(dev);
    if (dev == dev_to_access) return;
    cuda::enable_peer_access(dev, dev_to_access);
    accessed.add_peer(dev);
  }
  cudaError_t memcpyAsync(void* dst, int dst_device, const void* src, int src_device, size_t count, cudaStream_t stream,
                          bool p2p_enabled) override {
    return copy_between_devices(dst, dst_device, src, src_device, count, stream, p2p_enabled);
  }

  // --- history ---
  bool isHistoryEnabled() override { return history_.is_enabled(); }
  void recordHistory(bool enabled, CreateContextFn recorder, size_t max_entries, RecordContext when,
                     bool clear) override {
    TORCH_CHECK(!enabled || when == RecordContext::NEVER || recorder != nullptr,
                "recordHistory: expected a function that records contexts");
    std::lock_guard lock(making_);
    trace_limit_ = max_entries;
    for (auto& device : devices_)
      if (DeviceAllocator* const made = device.load()) made->limit_trace(max_entries, clear);
    history_.configure(enabled, recorder, max_entries, when, clear);
  }
  void recordAnnotation(const std::vector<std::pair<std::string, std::string>>& metadata) override {
    if (history_.is_enabled()) history_.annotate(current_device(), metadata);
  }
  void pushCompileContext(std::string& context) override { History::compile_contexts().push_back(context); }
  void popCompileContext() override {
    TORCH_CHECK(!History::compile_contexts().empty(), "popCompileContext: there is none");
    History::compile_contexts().pop_back();
  }
  void setUserMetadata(const std::string& metadata) override { History::user_metadata() = metadata; }
  std::string getUserMetadata() override { return History::user_metadata(); }
  void attachOutOfMemoryObserver(OutOfMemoryObserver observer) override {
    TORCH_CHECK(observer != nullptr, "attachOutOfMemoryObserver: expected a function");
    history_.observe_out_of_memory(std::move(observer));
  }
  void attachAllocatorTraceTracker(AllocatorTraceTracker tracker) override {
    TORCH_CHECK(tracker != nullptr, "attachAllocatorTraceTracker: expected a function");
    history_.watch(std::move(tracker));
  }
  std::string name() override { return "native"; }

 private:
  static bool forced_off() {
    const auto off = c10::utils::get_env("PYTORCH_NO_CUDA_MEMORY_CACHING");
    return off.has_value() && !off->empty() && *off != "0";
  }

  void* allocate_on(DeviceIndex device, size_t nbytes, cudaStream_t stream) {
    if (!is_initialized_.load(std::memory_order_relaxed)) is_initialized_.store(true);
    Block* const block = at(device).allocate(nbytes, stream, isEnabled());
    try {
      live_.insert(block);
    } catch (...) {
      at(device).free(block);
      throw;
    }
    return block->ptr;
  }

  Block* existing(const void* ptr, const char* function) {
    Block* const block = live_.find(ptr);
    TORCH_CHECK(block != nullptr, function, ": ", ptr, " is no allocation of the CUDA allocator");
    return block;
  }

  // The allocator of a device that exists.
  DeviceAllocator& at(DeviceIndex device) {
    if (DeviceAllocator* const made = devices_[static_cast<size_t>(device)].load(std::memory_order_acquire)) [[likely]]
      return *made;
    std::lock_guard lock(making_);
    auto& slot = devices_[static_cast<size_t>(device)];
    if (slot.load() == nullptr) {
      auto made = std::make_unique<DeviceAllocator>(device, history_);
      made->limit_trace(trace_limit_, false);
      slot.store(made.release(), std::memory_order_release);
    }
    return *slot.load();
  }
  DeviceAllocator& of(const Block* block) { return at(block->device); }
  DeviceAllocator& checked(DeviceIndex device) {
    const DeviceIndex count = device_count_ensure_non_zero();
    TORCH_CHECK(device >= 0 && device < count, "Allocator not initialized for device ", static_cast<int>(device),
                ": there are ", static_cast<int>(count), " CUDA devices");
    return at(device);
  }
  template <class Visit>
  void for_each(const Visit& visit) {
    for (auto& device : devices_)
      if (DeviceAllocator* const made = device.load()) visit(*made);
  }

  History history_;
  LiveBlocks live_;
  // Made when they are first used and never destroyed: streams and blocks may outlive everything.
  std::array<std::atomic<DeviceAllocator*>, C10_COMPILE_TIME_MAX_GPUS> devices_{};
  std::mutex making_;
  size_t trace_limit_ = 0;
  std::atomic<bool> enabled_;
  std::atomic<bool> is_initialized_{false};
};

}  // namespace

CUDAAllocator* make_native_allocator() {
  return new NativeAllocator;
}

}  // namespace c10::cuda::CUDACachingAllocator
