// Device memory that is kept for reuse. A block belongs to the stream that it was allocated for and is given out again
// on that stream without waiting; a stream that uses a block of another says so with recordStream.
//
//   void* p = c10::cuda::CUDACachingAllocator::raw_alloc(bytes);  // for the current stream of the current device
//   c10::cuda::CUDACachingAllocator::raw_delete(p);
//
// What is configured by PYTORCH_CUDA_ALLOC_CONF stands in allocator_config.h.
#pragma once

#include <driver_types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "c10/core/device.h"
#include "c10/cuda/stat.h"
#include "c10/macros/macros.h"
#include "c10/memory/allocator.h"

namespace c10 {

using CaptureId_t = unsigned long long;
/// A pool of memory apart from the common one; {0, 0} is the common one. The first number is that of graphs, the second
/// that of programs' own pools; one of them is 0.
using MempoolId_t = std::pair<CaptureId_t, CaptureId_t>;

struct MempoolIdHash {
  size_t operator()(const MempoolId_t& id) const noexcept {
    return static_cast<size_t>(id.first != 0 ? id.first * 2 : id.second * 2 + 1);
  }
};

/// What was going on when memory was allocated or freed: a stack, or what a recorder of the program puts there.
struct GatheredContext {
  virtual ~GatheredContext() = default;
};

namespace CachingAllocator {

enum struct StatType : uint64_t { AGGREGATE = 0, SMALL_POOL = 1, LARGE_POOL = 2, NUM_TYPES = 3 };
using StatTypes = std::array<bool, static_cast<size_t>(StatType::NUM_TYPES)>;
/// Indexed by StatType.
using StatArray = std::array<Stat, static_cast<size_t>(StatType::NUM_TYPES)>;

}  // namespace CachingAllocator

namespace CachingDeviceAllocator {

/// One device's statistics.
struct DeviceStats {
  /// Requests of the program; segments taken from CUDA; blocks that are in use or wait for a stream; free parts of
  /// segments that are partly in use, which cannot be given back.
  CachingAllocator::StatArray allocation;
  CachingAllocator::StatArray segment;
  CachingAllocator::StatArray active;
  CachingAllocator::StatArray inactive_split;
  /// The same in bytes, and what was asked for before rounding.
  CachingAllocator::StatArray allocated_bytes;
  CachingAllocator::StatArray reserved_bytes;
  CachingAllocator::StatArray active_bytes;
  CachingAllocator::StatArray inactive_split_bytes;
  CachingAllocator::StatArray requested_bytes;
  /// Allocations that succeeded only after the cache was given back, and that failed.
  int64_t num_alloc_retries = 0;
  int64_t num_ooms = 0;
  /// Blocks and segments of max_split_size or more.
  CachingAllocator::Stat oversize_allocations;
  CachingAllocator::Stat oversize_segments;
  /// How often all streams were waited for, and calls to CUDA that took and gave back memory.
  int64_t num_sync_all_streams = 0;
  int64_t num_device_alloc = 0;
  int64_t num_device_free = 0;
  /// In bytes; -1 where it is unlimited.
  int64_t max_split_size = 0;
};

}  // namespace CachingDeviceAllocator
}  // namespace c10

namespace c10::cuda {

using c10::CaptureId_t;
using c10::MempoolId_t;
using c10::MempoolIdHash;
class CUDAStream;

/// Called where no cached block fits, before more memory is taken from CUDA: it may free what it holds, and says
/// whether it did. Must not throw.
///
///   struct DropPlans final : c10::FreeMemoryCallback { bool Execute() override { return plans.drop(); } };
///   REGISTER_FREE_MEMORY_CALLBACK("plans", DropPlans);
class FreeMemoryCallback {
 public:
  virtual ~FreeMemoryCallback() = default;
  virtual bool Execute() = 0;
};
void register_free_memory_callback(std::unique_ptr<FreeMemoryCallback> callback);

namespace CUDACachingAllocator {

using c10::GatheredContext;
using c10::CachingAllocator::Stat;
using c10::CachingAllocator::StatArray;
using c10::CachingAllocator::StatType;
using c10::CachingAllocator::StatTypes;
using c10::CachingDeviceAllocator::DeviceStats;

/// Requests of up to 1 MiB come from segments of 2 MiB, those below 10 MiB from segments of 20 MiB.
inline constexpr size_t kMinBlockSize = 512;
inline constexpr size_t kSmallSize = size_t{1} << 20;
inline constexpr size_t kSmallBuffer = size_t{2} << 20;
inline constexpr size_t kLargeBuffer = size_t{20} << 20;
inline constexpr size_t kMinLargeAlloc = size_t{10} << 20;
inline constexpr size_t kRoundLarge = size_t{2} << 20;

using CreateContextFn = std::shared_ptr<GatheredContext> (*)();

/// The stack of the calling thread, as recordHistory takes it: a StackContext.
std::shared_ptr<GatheredContext> gather_stack();
struct StackContext final : GatheredContext {
  std::vector<void*> frames;
  /// One line a frame, as c10::describe_frames.
  std::string text() const;
};

/// A part of a segment, in a snapshot.
struct BlockInfo {
  size_t size = 0;
  size_t requested_size = 0;
  int32_t gc_counter = 0;
  bool allocated = false;
  /// In use, or freed and waiting for a stream.
  bool active = false;
  std::shared_ptr<GatheredContext> context_when_allocated;
};

/// Memory taken from CUDA in one piece, in a snapshot.
struct SegmentInfo {
  c10::DeviceIndex device = 0;
  size_t address = 0;
  size_t total_size = 0;
  size_t requested_size = 0;
  size_t allocated_size = 0;
  size_t active_size = 0;
  cudaStream_t stream = nullptr;
  bool is_large = false;
  bool is_expandable = false;
  MempoolId_t owner_private_pool_id = {0, 0};
  std::vector<BlockInfo> blocks;
  std::shared_ptr<GatheredContext> context_when_allocated;
};

/// The blocks of a pool at one time, for setCheckpointPoolState.
struct AllocatorState {
  virtual ~AllocatorState() = default;
};

union trace_time_ {
  int64_t t_;         // microseconds since 1970
  int64_t approx_t_;  // the same
};

/// An event of the allocator's history.
struct TraceEntry {
  enum Action {
    ALLOC,
    FREE_REQUESTED,
    FREE_COMPLETED,  // usable again: at once, or when the streams that used it are done
    SEGMENT_ALLOC,
    SEGMENT_FREE,
    SEGMENT_MAP,  // of an expandable segment
    SEGMENT_UNMAP,
    SNAPSHOT,
    OOM,  // addr is the memory that CUDA says is free
    USER_DEFINED
  };
  Action action_ = ALLOC;
  c10::DeviceIndex device_ = 0;
  size_t addr_ = 0;
  std::shared_ptr<GatheredContext> context_;
  cudaStream_t stream_ = nullptr;
  size_t size_ = 0;
  MempoolId_t mempool_ = {0, 0};
  trace_time_ time_{};
  std::string compile_context_;
  std::string user_metadata_;
};
/// "alloc", "free_requested", ... as in files.
const char* action_name(TraceEntry::Action action);

/// What recordAnnotation was given, with "stage" and the like as its keys.
struct AnnotationEntry {
  c10::DeviceIndex device_ = 0;
  trace_time_ time_{};
  std::vector<std::pair<std::string, std::string>> metadata_;
};

struct AllocatorConfigInfo {
  double garbage_collection_threshold = 0;
  size_t max_split_size = 0;
  size_t pinned_num_register_threads = 0;
  bool expandable_segments = false;
  bool release_lock_on_malloc = false;
  bool pinned_use_host_register = false;
  std::string last_allocator_settings;
  std::vector<size_t> roundup_power2_divisions;
};

struct SnapshotInfo {
  std::vector<SegmentInfo> segments;
  /// By device, the oldest first.
  std::vector<std::vector<TraceEntry>> device_traces;
  std::vector<AnnotationEntry> external_annotations;
  AllocatorConfigInfo config_metadata;
};

/// What setCheckpointPoolState did: pointers that are no longer allocated, and new allocations whose owner is the
/// caller.
struct CheckpointDelta {
  std::vector<void*> ptrs_freed;
  std::vector<c10::DataPtr> dataptrs_allocd;
};

/// For which events a context is recorded: none, memory that is in use, allocations in the history too, frees too.
enum struct RecordContext { NEVER = 0, STATE = 1, ALLOC = 2, ALL = 3 };

using OutOfMemoryObserver =
    std::function<void(int64_t device, size_t allocated, size_t device_total, size_t device_free)>;
using AllocatorTraceTracker = std::function<void(const TraceEntry&)>;

/// Memory for another process: `offset` bytes into what `handle` opens.
struct ShareableHandle {
  ptrdiff_t offset = 0;
  std::string handle;
};

/// What a CUDA allocator is. Unless they say otherwise, functions may be called from any thread, throw c10::Error for
/// bad arguments before anything changes, and for a failing CUDA call with its text.
class CUDAAllocator : public c10::Allocator {
 public:
  /// `nbytes` for the current stream of the current device; null for 0. Throws OutOfMemoryError.
  virtual void* raw_alloc(size_t nbytes) = 0;
  virtual void* raw_alloc_with_stream(size_t nbytes, cudaStream_t stream) = 0;
  /// Takes back what one of the above gave; null is nothing.
  virtual void raw_delete(void* ptr) = 0;
  /// Called before the first allocation; called again, it looks for further devices.
  virtual void init(int device_count) = 0;
  virtual bool initialized() = 0;
  virtual double getMemoryFraction(c10::DeviceIndex device) = 0;
  /// Limits what is taken from CUDA to this part (0 to 1) of the device's memory.
  virtual void setMemoryFraction(double fraction, c10::DeviceIndex device) = 0;
  /// Gives cached memory back to CUDA: of all devices, or of one pool.
  virtual void emptyCache(MempoolId_t mempool_id = {0, 0}) = 0;
  /// Switched off, blocks are given back to CUDA when they are freed.
  virtual void enable(bool value) = 0;
  virtual bool isEnabled() const = 0;
  /// The size of the largest block that needs no call to CUDA, or that CUDA has, whichever is larger.
  virtual void cacheInfo(c10::DeviceIndex device, size_t* largestBlock) = 0;
  /// The start of the segment that `ptr` lies in, and its size.
  virtual void* getBaseAllocation(void* ptr, size_t* size) = 0;
  /// The memory is used by `stream`, too: freed, it is not given out again before what is now on that stream is done.
  /// Ignored for null and for memory of other owners.
  virtual void recordStream(const c10::DataPtr& ptr, CUDAStream stream) = 0;
  virtual DeviceStats getDeviceStats(c10::DeviceIndex device) = 0;
  virtual void resetAccumulatedStats(c10::DeviceIndex device) = 0;
  virtual void resetPeakStats(c10::DeviceIndex device) = 0;
  /// All segments by address, or those of one pool; the traces of all devices.
  virtual SnapshotInfo snapshot(MempoolId_t mempool_id = {0, 0}) = 0;

  // --- pools ---
  /// From now on allocations for streams that `filter` accepts come from the pool, which is made if it does not exist.
  /// The pool is used once more until releasePool. While work is captured into graphs the filter says which streams
  /// take part.
  virtual void beginAllocateToPool(c10::DeviceIndex device, MempoolId_t mempool_id,
                                   std::function<bool(cudaStream_t)> filter) = 0;
  virtual void endAllocateToPool(c10::DeviceIndex device, MempoolId_t mempool_id) = 0;
  /// One user less. The pool's memory keeps its addresses until the last one is gone.
  virtual void releasePool(c10::DeviceIndex device, MempoolId_t mempool_id) = 0;
  virtual int getPoolUseCount(c10::DeviceIndex device, MempoolId_t mempool_id);
  /// One user more. A pool that is made now takes its segments from `allocator`, null: from CUDA.
  virtual void createOrIncrefPool(c10::DeviceIndex device, MempoolId_t mempool_id, CUDAAllocator* allocator = nullptr);
  /// When memory runs out, any allocation may take free memory of this pool.
  virtual void setUseOnOOM(c10::DeviceIndex device, MempoolId_t mempool_id);
  /// Every allocation of this pool has a segment of its own.
  virtual void setNoSplit(c10::DeviceIndex device, MempoolId_t mempool_id);
  /// Whether the allocations of the pool are exactly these.
  virtual bool checkPoolLiveAllocations(c10::DeviceIndex device, MempoolId_t mempool_id,
                                        const std::unordered_set<void*>& expected_live_allocations);
  virtual std::shared_ptr<AllocatorState> getCheckpointState(c10::DeviceIndex device, MempoolId_t id) = 0;
  /// Frees and allocates until the pool's blocks are as they were.
  virtual CheckpointDelta setCheckpointPoolState(c10::DeviceIndex device, std::shared_ptr<AllocatorState> state) = 0;

  // --- other processes and devices ---
  virtual ShareableHandle shareIpcHandle(void* ptr) = 0;
  virtual std::shared_ptr<void> getIpcDevPtr(std::string handle) = 0;
  /// Lets `dev` read and write what `dev_to_access` has.
  virtual void enablePeerAccess(c10::DeviceIndex dev, c10::DeviceIndex dev_to_access) = 0;
  virtual cudaError_t memcpyAsync(void* dst, int dst_device, const void* src, int src_device, size_t count,
                                  cudaStream_t stream, bool p2p_enabled) = 0;

  // --- history ---
  virtual bool isHistoryEnabled();
  /// Starts or ends recording. Of events the last `alloc_trace_max_entries` a device are kept; `context_recorder` is
  /// called for those that `when` names.
  virtual void recordHistory(bool enabled, CreateContextFn context_recorder, size_t alloc_trace_max_entries,
                             RecordContext when, bool clearHistory = false) = 0;
  virtual void recordAnnotation(const std::vector<std::pair<std::string, std::string>>& /*metadata*/) {}
  virtual void pushCompileContext(std::string& /*context*/) {}
  virtual void popCompileContext() {}
  virtual void setUserMetadata(const std::string& /*metadata*/) {}
  virtual std::string getUserMetadata() { return {}; }
  /// Called before OutOfMemoryError is thrown, without a lock.
  virtual void attachOutOfMemoryObserver(OutOfMemoryObserver observer) = 0;
  /// Called for each event, under the device's lock: it must not allocate or free device memory.
  virtual void attachAllocatorTraceTracker(AllocatorTraceTracker tracker) = 0;

  /// "native", "cudaMallocAsync", "pluggable".
  virtual std::string name() = 0;
};

/// The program's allocator: what PYTORCH_CUDA_ALLOC_CONF says, or the one of changeCurrentAllocator.
CUDAAllocator* get();
/// Puts another in its place. Throws c10::Error when the present one has been used.
void set(CUDAAllocator* allocator);

// The functions of get() by the names of programs.
inline void* raw_alloc(size_t nbytes) {
  return get()->raw_alloc(nbytes);
}
inline void* raw_alloc_with_stream(size_t nbytes, cudaStream_t stream) {
  return get()->raw_alloc_with_stream(nbytes, stream);
}
inline void raw_delete(void* ptr) {
  get()->raw_delete(ptr);
}
inline void init(int device_count) {
  get()->init(device_count);
}
inline double getMemoryFraction(c10::DeviceIndex device) {
  return get()->getMemoryFraction(device);
}
inline void setMemoryFraction(double fraction, c10::DeviceIndex device) {
  get()->setMemoryFraction(fraction, device);
}
inline void emptyCache(MempoolId_t mempool_id = {0, 0}) {
  get()->emptyCache(mempool_id);
}
inline void enable(bool value) {
  get()->enable(value);
}
inline bool isEnabled() {
  return get()->isEnabled();
}
inline void cacheInfo(c10::DeviceIndex device, size_t* largestBlock) {
  get()->cacheInfo(device, largestBlock);
}
inline void* getBaseAllocation(void* ptr, size_t* size) {
  return get()->getBaseAllocation(ptr, size);
}
void recordStream(const c10::DataPtr& ptr, CUDAStream stream);
inline DeviceStats getDeviceStats(c10::DeviceIndex device) {
  return get()->getDeviceStats(device);
}
inline void resetAccumulatedStats(c10::DeviceIndex device) {
  get()->resetAccumulatedStats(device);
}
inline void resetPeakStats(c10::DeviceIndex device) {
  get()->resetPeakStats(device);
}
inline SnapshotInfo snapshot(MempoolId_t mempool_id = {0, 0}) {
  return get()->snapshot(mempool_id);
}
inline std::shared_ptr<AllocatorState> getCheckpointState(c10::DeviceIndex device, MempoolId_t id) {
  return get()->getCheckpointState(device, id);
}
inline CheckpointDelta setCheckpointPoolState(c10::DeviceIndex device, std::shared_ptr<AllocatorState> state) {
  return get()->setCheckpointPoolState(device, std::move(state));
}
inline void beginAllocateToPool(c10::DeviceIndex device, MempoolId_t mempool_id,
                                std::function<bool(cudaStream_t)> filter) {
  get()->beginAllocateToPool(device, mempool_id, std::move(filter));
}
inline void endAllocateToPool(c10::DeviceIndex device, MempoolId_t mempool_id) {
  get()->endAllocateToPool(device, mempool_id);
}
inline void releasePool(c10::DeviceIndex device, MempoolId_t mempool_id) {
  get()->releasePool(device, mempool_id);
}
inline int getPoolUseCount(c10::DeviceIndex device, MempoolId_t mempool_id) {
  return get()->getPoolUseCount(device, mempool_id);
}
inline void createOrIncrefPool(c10::DeviceIndex device, MempoolId_t mempool_id, CUDAAllocator* allocator = nullptr) {
  get()->createOrIncrefPool(device, mempool_id, allocator);
}
inline void setUseOnOOM(c10::DeviceIndex device, MempoolId_t mempool_id) {
  get()->setUseOnOOM(device, mempool_id);
}
inline void setNoSplit(c10::DeviceIndex device, MempoolId_t mempool_id) {
  get()->setNoSplit(device, mempool_id);
}
inline bool checkPoolLiveAllocations(c10::DeviceIndex device, MempoolId_t mempool_id,
                                     const std::unordered_set<void*>& expected_live_allocations) {
  return get()->checkPoolLiveAllocations(device, mempool_id, expected_live_allocations);
}
inline ShareableHandle shareIpcHandle(void* ptr) {
  return get()->shareIpcHandle(ptr);
}
inline std::shared_ptr<void> getIpcDevPtr(std::string handle) {
  return get()->getIpcDevPtr(std::move(handle));
}
inline bool isHistoryEnabled() {
  return get()->isHistoryEnabled();
}
inline void recordHistory(bool enabled, CreateContextFn context_recorder, size_t alloc_trace_max_entries,
                          RecordContext when, bool clearHistory = false) {
  get()->recordHistory(enabled, context_recorder, alloc_trace_max_entries, when, clearHistory);
}
inline void recordAnnotation(const std::vector<std::pair<std::string, std::string>>& metadata) {
  get()->recordAnnotation(metadata);
}
inline void pushCompileContext(std::string& context) {
  get()->pushCompileContext(context);
}
inline void popCompileContext() {
  get()->popCompileContext();
}
inline void setUserMetadata(const std::string& metadata) {
  get()->setUserMetadata(metadata);
}
inline std::string getUserMetadata() {
  return get()->getUserMetadata();
}
inline void attachOutOfMemoryObserver(OutOfMemoryObserver observer) {
  get()->attachOutOfMemoryObserver(std::move(observer));
}
inline void attachAllocatorTraceTracker(AllocatorTraceTracker tracker) {
  get()->attachAllocatorTraceTracker(std::move(tracker));
}
inline void enablePeerAccess(c10::DeviceIndex dev, c10::DeviceIndex dev_to_access) {
  get()->enablePeerAccess(dev, dev_to_access);
}
inline cudaError_t memcpyAsync(void* dst, int dst_device, const void* src, int src_device, size_t count,
                               cudaStream_t stream, bool p2p_enabled) {
  return get()->memcpyAsync(dst, dst_device, src, src_device, count, stream, p2p_enabled);
}
inline std::string name() {
  return get()->name();
}

}  // namespace CUDACachingAllocator

/// A pool of memory of the current device: allocations between beginAllocateToPool and endAllocateToPool, or under a
/// MemPoolContext, come from it. Its memory goes back to CUDA when it is destroyed; of blocks that are in use then,
/// with the first emptyCache after they are freed.
struct MemPool {
  /// `allocator` provides segments, null: CUDA does. With `use_on_oom` any allocation may take free memory of the pool
  /// where there is no other; with `no_split` every allocation has a segment of its own.
  MemPool(CUDACachingAllocator::CUDAAllocator* allocator = nullptr, bool is_user_created = true,
          bool use_on_oom = false, bool no_split = false);
  MemPool(const MemPool&) = delete;
  MemPool(MemPool&&) = delete;
  MemPool& operator=(const MemPool&) = delete;
  MemPool& operator=(MemPool&&) = delete;
  ~MemPool();

  MempoolId_t id() const { return id_; }
  CUDACachingAllocator::CUDAAllocator* allocator() const { return allocator_; }
  /// 1, and one for each region that uses it.
  int use_count() const;
  c10::DeviceIndex device() const { return device_; }
  std::vector<CUDACachingAllocator::SegmentInfo> snapshot() const;
  /// A new pool's id: of programs' own, or of graphs.
  static MempoolId_t graph_pool_handle(bool is_user_created = true);

 private:
  CUDACachingAllocator::CUDAAllocator* allocator_;
  MempoolId_t id_;
  c10::DeviceIndex device_;
};

/// While it lives, what the calling thread allocates on the pool's device comes from the pool.
class MemPoolContext {
 public:
  explicit MemPoolContext(MemPool* pool);
  MemPoolContext(const MemPoolContext&) = delete;
  MemPoolContext& operator=(const MemPoolContext&) = delete;
  ~MemPoolContext();
  /// The calling thread's innermost; null where there is none.
  static MemPool* getActiveMemPool();

 private:
  MemPool* pool_;
  MemPool* before_;
};

}  // namespace c10::cuda

namespace c10 {
using cuda::FreeMemoryCallback;
}

/// Registers an object of `Callback` before main. `name` is for readers.
#define REGISTER_FREE_MEMORY_CALLBACK(name, Callback)                                        \
  [[maybe_unused]] static const bool C10_ANONYMOUS_VARIABLE(kd_free_memory_callback_) = [] { \
    ::c10::cuda::register_free_memory_callback(std::make_unique<Callback>());                \
    return true;                                                                             \
  }()

namespace at::cuda {
using c10::CaptureId_t;
using c10::MempoolId_t;
using c10::cuda::MemPool;
}  // namespace at::cuda
