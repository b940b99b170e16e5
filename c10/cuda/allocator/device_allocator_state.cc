#include <cuda_runtime_api.h>

#include <algorithm>

#include "c10/cuda/allocator/device_allocator.h"
#include "c10/cuda/exception.h"
#include "c10/cuda/guard.h"
#include "c10/util/exception.h"

namespace c10::cuda::CUDACachingAllocator {
namespace {

// The blocks of a private pool at one time: of each segment the mapped blocks from its start on.
struct PoolState final : AllocatorState {
  struct Part {
    char* ptr;
    size_t size;
    size_t requested_size;
    bool allocated;
  };
  MempoolId_t id{0, 0};
  std::vector<std::vector<Part>> segments;
};

void for_each_stat(DeviceStats& stats, void (Stat::*change)()) {
  for (StatArray* array :
       {&stats.allocation, &stats.segment, &stats.active, &stats.inactive_split, &stats.allocated_bytes,
        &stats.reserved_bytes, &stats.active_bytes, &stats.inactive_split_bytes, &stats.requested_bytes})
    for (Stat& stat : *array) (stat.*change)();
  (stats.oversize_allocations.*change)();
  (stats.oversize_segments.*change)();
}

}  // namespace

// --- what it gives account of ---

void DeviceAllocator::record_watched(TraceEntry::Action action, size_t address, size_t size, cudaStream_t stream,
                                     MempoolId_t pool, const Context& context) {
  const RecordContext needed = action == TraceEntry::FREE_REQUESTED || action == TraceEntry::FREE_COMPLETED
                                   ? RecordContext::ALL
                                   : RecordContext::ALLOC;
  TraceEntry entry;
  entry.action_ = action;
  entry.device_ = device_;
  entry.addr_ = address;
  if (history_.when() >= needed) entry.context_ = context;
  entry.stream_ = stream;
  entry.size_ = size;
  entry.mempool_ = pool;
  entry.time_.t_ = microseconds_since_1970();
  if (!History::compile_contexts().empty()) entry.compile_context_ = History::compile_contexts().back();
  entry.user_metadata_ = History::user_metadata();
  history_.notify(entry);
  if (history_.is_enabled()) trace_.push(std::move(entry));
}

void DeviceAllocator::record_snapshot() {
  Lock lock(mutex_);
  record(TraceEntry::SNAPSHOT, nullptr, 0, nullptr, {0, 0}, nullptr);
}

std::vector<TraceEntry> DeviceAllocator::trace() {
  Lock lock(mutex_);
  return trace_.in_order();
}

void DeviceAllocator::limit_trace(size_t entries, bool clear) {
  Lock lock(mutex_);
  if (clear) trace_.clear();
  trace_.set_limit(entries);
}

DeviceStats DeviceAllocator::stats() {
  Lock lock(mutex_);
  DeviceStats stats = stats_;
  stats.max_split_size = static_cast<int64_t>(allocator_settings().max_split_size);
  return stats;
}

void DeviceAllocator::reset_accumulated_stats() {
  Lock lock(mutex_);
  for_each_stat(stats_, &Stat::reset_accumulated);
  stats_.num_alloc_retries = stats_.num_ooms = stats_.num_sync_all_streams = 0;
  stats_.num_device_alloc = stats_.num_device_free = 0;
}

void DeviceAllocator::reset_peak_stats() {
  Lock lock(mutex_);
  for_each_stat(stats_, &Stat::reset_peak);
}

// An expandable segment appears as the runs of it that have memory.
void DeviceAllocator::append_segments(MempoolId_t id, std::vector<SegmentInfo>& to) {
  Lock lock(mutex_);
  const bool all = id == MempoolId_t{0, 0};
  for (const Block* start : segments_) {
    if (!all && start->pool->id() != id) continue;
    bool continues = false;
    for (const Block* block = start; block != nullptr; block = block->next) {
      if (!block->mapped) {
        continues = false;
        continue;
      }
      if (!continues) {
        SegmentInfo& segment = to.emplace_back();
        segment.device = device_;
        segment.address = reinterpret_cast<size_t>(block->ptr);
        segment.stream = block->stream;
        segment.is_large = !block->pool->is_small;
        segment.is_expandable = block->expandable_segment != nullptr;
        segment.owner_private_pool_id = block->pool->id();
        segment.context_when_allocated = block->context_when_segment_allocated;
        continues = true;
      }
      SegmentInfo& segment = to.back();
      BlockInfo& info = segment.blocks.emplace_back();
      info.size = block->size;
      info.requested_size = block->requested_size;
      info.allocated = block->allocated;
      info.active = !block->is_free();
      info.gc_counter = info.active ? 0 : static_cast<int32_t>(block->pool->searches - block->searches_at_free);
      info.context_when_allocated = block->context_when_allocated;
      segment.total_size += block->size;
      segment.requested_size += block->requested_size;
      if (info.allocated) segment.allocated_size += block->size;
      if (info.active) segment.active_size += block->size;
    }
  }
}

void DeviceAllocator::cache_info(size_t* largest) {
  if (*largest == 0) {
    const CUDAGuard guard(device_);
    size_t total = 0;
    C10_CUDA_CHECK(cudaMemGetInfo(largest, &total));
  }
  Lock lock(mutex_);
  const auto look = [&](const BlockPool& pool) {
    for (const FreeBlock& free : pool.blocks) *largest = std::max(*largest, free.size);
  };
  look(large_);
  look(small_);
  for (const auto& [id, pool] : private_pools_) {
    look(pool->large_blocks);
    look(pool->small_blocks);
  }
}

void* DeviceAllocator::base_allocation(Block* block, size_t* size) {
  Lock lock(mutex_);
  while (block->previous != nullptr && block->previous->mapped) block = block->previous;
  if (size != nullptr) {
    *size = 0;
    for (const Block* part = block; part != nullptr && part->mapped; part = part->next) *size += part->size;
  }
  return block->ptr;
}

bool DeviceAllocator::is_expandable(const Block* block) {
  Lock lock(mutex_);
  return block->expandable_segment != nullptr;
}

// --- settings and pools ---

void DeviceAllocator::set_memory_fraction(double fraction) {
  Lock lock(mutex_);
  fraction_ = fraction;
}

double DeviceAllocator::memory_fraction() {
  Lock lock(mutex_);
  return std::min(fraction_, allocator_settings().per_process_memory_fraction);
}

void DeviceAllocator::empty_cache(MempoolId_t id) {
  const Context context = gather(RecordContext::ALL);
  const CUDAGuard guard(device_);
  Lock lock(mutex_);
  release_cached(id, context);
}

void DeviceAllocator::add_peer(c10::DeviceIndex peer) {
  Lock lock(mutex_);
  if (std::find(peers_.begin(), peers_.end(), peer) != peers_.end()) return;
  for (const auto& segment : expandable_segments_) segment->add_peer(peer);
  peers_.push_back(peer);
}

PrivatePool& DeviceAllocator::existing_pool(MempoolId_t id, const char* function) {
  const auto it = private_pools_.find(id);
  TORCH_CHECK(it != private_pools_.end(), function, ": there is no pool {", id.first, ", ", id.second,
              "} of CUDA device ", static_cast<int>(device_));
  return *it->second;
}

// The caller holds the lock.
void DeviceAllocator::use_pool(MempoolId_t id, CUDAAllocator* segments_from) {
  TORCH_CHECK((id.first == 0) != (id.second == 0), "{", id.first, ", ", id.second,
              "} is no pool's id: one of its numbers is 0");
  const auto [it, is_new] = private_pools_.try_emplace(id);
  if (is_new) {
    it->second = std::make_unique<PrivatePool>(id, segments_from);
  } else {
    TORCH_CHECK(segments_from == nullptr || segments_from == it->second->allocator,
                "createOrIncrefPool: the pool takes its memory from another allocator");
    ++it->second->use_count;
  }
}

void DeviceAllocator::create_or_use_pool(MempoolId_t id, CUDAAllocator* segments_from) {
  Lock lock(mutex_);
  use_pool(id, segments_from);
}

void DeviceAllocator::begin_pool(MempoolId_t id, std::function<bool(cudaStream_t)> filter) {
  TORCH_CHECK(filter != nullptr, "beginAllocateToPool: expected a function that accepts streams");
  Lock lock(mutex_);
  for (const Region& region : regions_)
    TORCH_CHECK(region.id != id, "beginAllocateToPool: allocations go to pool {", id.first, ", ", id.second,
                "} already");
  regions_.reserve(regions_.size() + 1);
  use_pool(id, nullptr);
  regions_.push_back({id, std::move(filter)});
}

void DeviceAllocator::end_pool(MempoolId_t id) {
  Lock lock(mutex_);
  const auto it = std::find_if(regions_.begin(), regions_.end(), [&](const Region& region) { return region.id == id; });
  TORCH_CHECK(it != regions_.end(), "endAllocateToPool: no allocations go to pool {", id.first, ", ", id.second, "}");
  regions_.erase(it);
}

void DeviceAllocator::release_pool(MempoolId_t id) {
  Lock lock(mutex_);
  PrivatePool& pool = existing_pool(id, "releasePool");
  TORCH_CHECK(pool.use_count > 0, "releasePool: pool {", id.first, ", ", id.second, "} has no user");
  --pool.use_count;
  erase_if_unused(&pool);
}

int DeviceAllocator::pool_use_count(MempoolId_t id) {
  Lock lock(mutex_);
  const auto it = private_pools_.find(id);
  return it == private_pools_.end() ? 0 : it->second->use_count;
}

void DeviceAllocator::set_use_on_oom(MempoolId_t id) {
  Lock lock(mutex_);
  existing_pool(id, "setUseOnOOM").use_on_oom = true;
}

void DeviceAllocator::set_no_split(MempoolId_t id) {
  Lock lock(mutex_);
  existing_pool(id, "setNoSplit").no_split = true;
}

bool DeviceAllocator::has_exactly(MempoolId_t id, const std::unordered_set<void*>& expected) {
  Lock lock(mutex_);
  existing_pool(id, "checkPoolLiveAllocations");
  size_t found = 0;
  for (const Block* start : segments_) {
    for (const Block* block = start; block != nullptr && start->pool->id() == id; block = block->next) {
      if (!block->allocated) continue;
      if (!expected.contains(block->ptr)) return false;
      ++found;
    }
  }
  return found == expected.size();
}

// --- checkpoints ---

std::shared_ptr<AllocatorState> DeviceAllocator::checkpoint(MempoolId_t id) {
  Lock lock(mutex_);
  if (regions_.empty()) insert_deferred_events();
  auto state = std::make_shared<PoolState>();
  state->id = id;
  existing_pool(id, "getCheckpointState");
  for (const Block* start : segments_) {
    if (start->pool->id() != id) continue;
    auto& parts = state->segments.emplace_back();
    for (const Block* block = start; block != nullptr && block->mapped; block = block->next)
      parts.push_back({block->ptr, block->size, block->requested_size, block->allocated});
  }
  return state;
}

void DeviceAllocator::restore(const AllocatorState& given, const std::function<void(Block*)>& freed,
                              const std::function<void(Block*)>& allocated) {
  const auto* state = dynamic_cast<const PoolState*>(&given);
  TORCH_CHECK(state != nullptr, "setCheckpointPoolState: expected what getCheckpointState returned");
  Lock lock(mutex_);
  existing_pool(state->id, "setCheckpointPoolState");
  std::vector<std::pair<Block*, const std::vector<PoolState::Part>*>> targets;
  for (const auto& parts : state->segments) {
    if (parts.empty()) continue;
    const auto start = std::find_if(segments_.begin(), segments_.end(),
                                    [&](const Block* block) { return block->ptr == parts.front().ptr; });
    size_t there = 0, wanted = 0;
    if (start != segments_.end())
      for (const Block* block = *start; block != nullptr && block->mapped; block = block->next) there += block->size;
    for (const PoolState::Part& part : parts) wanted += part.size;
    TORCH_CHECK(start != segments_.end() && (*start)->pool->id() == state->id && there >= wanted,
                "setCheckpointPoolState: a segment of the checkpoint is gone");
    targets.emplace_back(*start, &parts);
  }
  std::vector<Block*> live;
  for (Block* start : segments_) {
    for (Block* block = start; block != nullptr && start->pool->id() == state->id; block = block->next) {
      TORCH_CHECK(block->event_count == 0 && block->stream_uses.empty(),
                  "setCheckpointPoolState: memory of the pool is in use by other streams");
      if (block->allocated) live.push_back(block);
    }
  }
  for (Block* block : live) {
    freed(block);
    block->allocated = false;
    adjust(stats_.allocation, *block->pool, -1);
    adjust(stats_.allocated_bytes, *block->pool, -static_cast<int64_t>(block->size));
    free_block(block, nullptr);
  }
  for (const auto& [start, parts] : targets) {
    // Every segment is one free block now, but that an expandable one may have more behind it.
    Block* block = start;
    std::vector<Block*> unused;
    for (const PoolState::Part& part : *parts) {
      block->pool->remove(block);
      const Request request{part.requested_size, part.size, part.size, block->stream, block->pool, true};
      block = hand_out(block, request, nullptr, /*always_split=*/true);
      (part.allocated ? allocated(block) : unused.push_back(block));
      block = block->next;
    }
    for (Block* gap : unused) {
      gap->allocated = false;
      adjust(stats_.allocation, *gap->pool, -1);
      adjust(stats_.allocated_bytes, *gap->pool, -static_cast<int64_t>(gap->size));
      free_block(gap, nullptr);
    }
  }
}

}  // namespace c10::cuda::CUDACachingAllocator
