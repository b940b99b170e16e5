// One device's memory: its segments, its free blocks, and those that wait for streams.
#pragma once

#include <driver_types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "c10/cuda/allocator/blocks.h"
#include "c10/cuda/allocator/events.h"
#include "c10/cuda/allocator/expandable_segment.h"
#include "c10/cuda/allocator/history.h"
#include "c10/cuda/allocator_config.h"
#include "c10/cuda/caching_allocator.h"

namespace c10::cuda::CUDACachingAllocator {

class DeviceAllocator {
 public:
  DeviceAllocator(c10::DeviceIndex device, History& history);
  DeviceAllocator(const DeviceAllocator&) = delete;
  DeviceAllocator& operator=(const DeviceAllocator&) = delete;

  /// A block of at least `requested` bytes, more than 0. Without `cached` it is a segment of its own, which goes back
  /// to CUDA when it is freed. Throws OutOfMemoryError.
  Block* allocate(size_t requested, cudaStream_t stream, bool cached);
  /// Throws nothing for errors of streams: what could not be asked of them is asked again by the next allocation, which
  /// reports it.
  void free(Block* block);
  void record_stream(Block* block, StreamUse use);
  void empty_cache(MempoolId_t id);

  void set_memory_fraction(double fraction);
  double memory_fraction();
  void cache_info(size_t* largest);
  void* base_allocation(Block* block, size_t* size);
  bool is_expandable(const Block* block);
  void add_peer(c10::DeviceIndex peer);

  DeviceStats stats();
  void reset_accumulated_stats();
  void reset_peak_stats();
  void append_segments(MempoolId_t id, std::vector<SegmentInfo>& to);
  /// The oldest first.
  std::vector<TraceEntry> trace();
  void record_snapshot();
  /// Empties the trace and sets how many entries it keeps.
  void limit_trace(size_t entries, bool clear);

  void begin_pool(MempoolId_t id, std::function<bool(cudaStream_t)> filter);
  void end_pool(MempoolId_t id);
  void release_pool(MempoolId_t id);
  int pool_use_count(MempoolId_t id);
  void create_or_use_pool(MempoolId_t id, CUDAAllocator* segments_from);
  void set_use_on_oom(MempoolId_t id);
  void set_no_split(MempoolId_t id);
  bool has_exactly(MempoolId_t id, const std::unordered_set<void*>& expected);
  std::shared_ptr<AllocatorState> checkpoint(MempoolId_t id);
  /// What is freed and allocated goes through the functions, which keep the table of live blocks.
  void restore(const AllocatorState& state, const std::function<void(Block*)>& freed,
               const std::function<void(Block*)>& allocated);

 private:
  using Lock = std::unique_lock<std::mutex>;
  using Context = std::shared_ptr<GatheredContext>;
  struct Request {
    size_t requested;
    size_t size;          // rounded
    size_t segment_size;  // of a new segment for it
    cudaStream_t stream;
    BlockPool* pool;
    bool cached;
  };
  struct Region {
    MempoolId_t id;
    std::function<bool(cudaStream_t)> filter;
  };
  struct Waiting {
    Event event;
    Block* block;
  };
  struct WaitingStream {
    StreamUse use;
    std::deque<Waiting> blocks;
  };

  // device_allocator.cc: requests and blocks
  Request make_request(size_t requested, cudaStream_t stream, bool cached);
  BlockPool& pool_for(size_t size, cudaStream_t stream);
  Block* take_free(const Request& request);
  bool should_split(const Block& block, const Request& request) const;
  Block* hand_out(Block* block, const Request& request, Context context, bool always_split = false);
  Block* take_spare();
  void keep_spare(Block* block);
  void link_behind(Block* block, Block* next);
  void free_block(Block* block, const Context& context);
  void join(Block* first, Block* second);
  void insert_events(Block* block);
  void insert_deferred_events();
  void process_events();
  void finish_events();
  void event_happened(Waiting& waiting);

  // device_allocator_segments.cc: memory from CUDA and back
  Block* obtain(const Request& request, Lock& lock, const Context& context);
  Block* new_segment(const Request& request, Lock& lock, const Context& context);
  Block* grow_expandable(const Request& request, const Context& context);
  static size_t free_size(const Block* block);
  Block* find_growing(const Request& request);
  void release_segment(Block* block, const Context& context);
  void release_if_unmapped(Block* block);
  void unmap_block(Block* block, const Context& context);
  void release_free(BlockPool& pool, const Context& context);
  void release_cached(MempoolId_t id, const Context& context);
  bool release_oversize(const Request& request, const Context& context);
  void collect_garbage(const Context& context);
  void erase_if_unused(PrivatePool* pool);
  [[noreturn]] void out_of_memory(const Request& request, Lock& lock, const Context& context);
  size_t total_memory();
  size_t allowed_memory();
  void remember_segment(Block* block, const Context& context);

  // device_allocator_state.cc: what is known about it
  Context gather(RecordContext level) const { return history_.gather(level); }
  void record(TraceEntry::Action action, const void* address, size_t size, cudaStream_t stream, MempoolId_t pool,
              const Context& context) {
    if (history_.is_watched()) record_watched(action, reinterpret_cast<size_t>(address), size, stream, pool, context);
  }
  void record_watched(TraceEntry::Action action, size_t address, size_t size, cudaStream_t stream, MempoolId_t pool,
                      const Context& context);
  PrivatePool& existing_pool(MempoolId_t id, const char* function);
  void use_pool(MempoolId_t id, CUDAAllocator* segments_from);
  void adjust(StatArray& stat, const BlockPool& pool, int64_t by);

  const c10::DeviceIndex device_;
  History& history_;
  std::mutex mutex_;

  BlockPool large_{false, nullptr};
  BlockPool small_{true, nullptr};
  std::map<MempoolId_t, std::unique_ptr<PrivatePool>> private_pools_;
  std::vector<Region> regions_;          // whose allocations come from private pools; the last one that fits
  std::unordered_set<Block*> segments_;  // first blocks
  std::vector<std::unique_ptr<ExpandableSegment>> expandable_segments_;
  std::vector<c10::DeviceIndex> peers_;
  std::unique_ptr<Block> spare_;

  EventPool events_;
  std::list<WaitingStream> waiting_;
  std::vector<Block*> deferred_;  // freed, with streams that are not asked yet

  DeviceStats stats_;
  size_t reserved_ = 0;  // bytes taken from CUDA
  double fraction_ = 1;
  Ring<TraceEntry> trace_;
};

/// "20.00 MiB"
std::string format_size(uint64_t bytes);

}  // namespace c10::cuda::CUDACachingAllocator
