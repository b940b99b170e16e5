#include "c10/cuda/allocator/device_allocator.h"

#include <cuda_runtime_api.h>

#include <algorithm>

#include "c10/cuda/exception.h"
#include "c10/cuda/guard.h"
#include "c10/util/exception.h"

namespace c10::cuda::CUDACachingAllocator {
namespace {

size_t round_size(size_t size, const AllocatorSettings& settings) {
  if (size < kMinBlockSize) return kMinBlockSize;
  const size_t divisions = settings.divisions_for(size);
  if (divisions > 1 && size > kMinBlockSize * divisions) return roundup_to_power2_division(size, divisions);
  return (size + kMinBlockSize - 1) / kMinBlockSize * kMinBlockSize;
}

size_t segment_size_for(size_t size) {
  if (size <= kSmallSize) return kSmallBuffer;
  if (size < kMinLargeAlloc) return kLargeBuffer;
  return (size + kRoundLarge - 1) / kRoundLarge * kRoundLarge;
}

// What a block of an expandable segment can grow to.
size_t size_with_growth(const Block& block) {
  return block.size + (block.next != nullptr && !block.next->mapped ? block.next->size : 0);
}

}  // namespace

DeviceAllocator::DeviceAllocator(c10::DeviceIndex device, History& history) : device_(device), history_(history) {}

void DeviceAllocator::adjust(StatArray& stat, const BlockPool& pool, int64_t by) {
  for (const StatType type : {StatType::AGGREGATE, pool.stat_type()}) {
    Stat& one = stat[static_cast<size_t>(type)];
    if (by >= 0) {
      one.increase(static_cast<size_t>(by));
    } else {
      one.decrease(static_cast<size_t>(-by));
    }
  }
}

// --- allocation ---

BlockPool& DeviceAllocator::pool_for(size_t size, cudaStream_t stream) {
  const bool is_small = size <= kSmallSize;
  for (auto region = regions_.rbegin(); region != regions_.rend(); ++region) {
    if (!region->filter(stream)) continue;
    PrivatePool& pool = *private_pools_.at(region->id);
    return is_small ? pool.small_blocks : pool.large_blocks;
  }
  return is_small ? small_ : large_;
}

DeviceAllocator::Request DeviceAllocator::make_request(size_t requested, cudaStream_t stream, bool cached) {
  if (!cached) return {requested, requested, requested, stream, requested <= kSmallSize ? &small_ : &large_, false};
  const size_t size = round_size(requested, allocator_settings());
  return {requested, size, segment_size_for(size), stream, &pool_for(size, stream), true};
}

Block* DeviceAllocator::allocate(size_t requested, cudaStream_t stream, bool cached) {
  constexpr size_t kExabyte = size_t{1} << 60;
  TORCH_CHECK_WITH(OutOfMemoryError, requested < kExabyte,
                   "CUDA out of memory. Tried to allocate more than 1EB memory.");
  const Context context = gather(RecordContext::STATE);
  Lock lock(mutex_);
  process_events();
  if (spare_ == nullptr) spare_ = make_block();
  const Request request = make_request(requested, stream, cached);
  Block* block = cached ? take_free(request) : nullptr;
  if (block == nullptr) [[unlikely]]
    block = obtain(request, lock, context);
  return hand_out(block, request, context);
}

// The best fit among the free blocks, taken out of its pool; null where none fits.
Block* DeviceAllocator::take_free(const Request& request) {
  BlockPool& pool = *request.pool;
  ++pool.searches;
  const FreeBlock wanted = smallest_free(request.stream, request.size);
  auto it = pool.blocks.lower_bound(wanted);
  if (it == pool.blocks.end() || it->stream != wanted.stream) return nullptr;
  if (it->block->expandable_segment != nullptr) {
    // The end of a segment that can grow is kept for what needs it.
    for (auto next = std::next(it); next != pool.blocks.end() && next->stream == wanted.stream &&
                                    size_with_growth(*next->block) < size_with_growth(*it->block);
         ++next)
      it = next;
  }
  Block* const block = it->block;
  const AllocatorSettings& settings = allocator_settings();
  if (request.size < settings.max_split_size) {
    if (block->size >= settings.max_split_size) return nullptr;
  } else if (block->size - request.size >= settings.max_non_split_rounding_size) {
    return nullptr;
  }
  block->node = pool.blocks.extract(it);
  return block;
}

bool DeviceAllocator::should_split(const Block& block, const Request& request) const {
  if (!request.cached || (request.pool->owner != nullptr && request.pool->owner->no_split)) return false;
  const size_t rest = block.size - request.size;
  if (request.pool->is_small || block.expandable_segment != nullptr) return rest >= kMinBlockSize;
  return request.size < allocator_settings().max_split_size && rest > kSmallSize;
}

Block* DeviceAllocator::take_spare() {
  if (spare_ == nullptr) return make_block().release();
  return spare_.release();
}

void DeviceAllocator::keep_spare(Block* block) {
  block->context_when_allocated = nullptr;
  block->context_when_segment_allocated = nullptr;
  block->stream_uses.clear();
  block->expandable_segment = nullptr;
  block->event_count = 0;
  block->allocated = block->uncached = false;
  block->mapped = true;
  spare_.reset(block);
}

// Chains `next`, a new block, behind `block`, of whose segment it becomes a part.
void DeviceAllocator::link_behind(Block* block, Block* next) {
  next->device = block->device;
  next->stream = block->stream;
  next->pool = block->pool;
  next->expandable_segment = block->expandable_segment;
  next->context_when_segment_allocated = block->context_when_segment_allocated;
  next->requested_size = 0;
  next->previous = block;
  next->next = block->next;
  if (next->next != nullptr) next->next->previous = next;
  block->next = next;
}

// Makes `block`, which is in no pool, the answer to a request. Needs the spare block.
Block* DeviceAllocator::hand_out(Block* block, const Request& request, Context context, bool always_split) {
  BlockPool& pool = *block->pool;
  const bool counts_as_split = block->is_split() && block->expandable_segment == nullptr;
  if (always_split ? block->size > request.size : should_split(*block, request)) {
    Block* const rest = take_spare();
    link_behind(block, rest);
    rest->ptr = block->ptr + request.size;
    rest->size = block->size - request.size;
    block->size = request.size;
    pool.insert(rest);
    if (counts_as_split) {
      adjust(stats_.inactive_split_bytes, pool, -static_cast<int64_t>(block->size));
    } else if (block->expandable_segment == nullptr) {
      adjust(stats_.inactive_split, pool, 1);
      adjust(stats_.inactive_split_bytes, pool, static_cast<int64_t>(rest->size));
    }
  } else if (counts_as_split) {
    adjust(stats_.inactive_split, pool, -1);
    adjust(stats_.inactive_split_bytes, pool, -static_cast<int64_t>(block->size));
  }
  block->allocated = true;
  block->requested_size = request.requested;
  block->uncached = !request.cached;
  const auto size = static_cast<int64_t>(block->size);
  adjust(stats_.allocation, pool, 1);
  adjust(stats_.allocated_bytes, pool, size);
  adjust(stats_.active, pool, 1);
  adjust(stats_.active_bytes, pool, size);
  adjust(stats_.requested_bytes, pool, static_cast<int64_t>(request.requested));
  if (block->size >= allocator_settings().max_split_size) stats_.oversize_allocations.increase(1);
  record(TraceEntry::ALLOC, block->ptr, request.requested, block->stream, pool.id(), context);
  if (context != nullptr || block->context_when_allocated != nullptr)
    block->context_when_allocated = std::move(context);
  return block;
}

// --- release ---

void DeviceAllocator::record_stream(Block* block, StreamUse use) {
  Lock lock(mutex_);
  if (use.stream == block->stream && use.device == block->device) return;
  auto& uses = block->stream_uses;
  if (std::find(uses.begin(), uses.end(), use) == uses.end()) uses.push_back(use);
}

void DeviceAllocator::free(Block* block) {
  const Context context = gather(RecordContext::ALL);
  Lock lock(mutex_);
  block->allocated = false;
  adjust(stats_.allocation, *block->pool, -1);
  adjust(stats_.allocated_bytes, *block->pool, -static_cast<int64_t>(block->size));
  if (block->size >= allocator_settings().max_split_size) stats_.oversize_allocations.decrease(1);
  record(TraceEntry::FREE_REQUESTED, block->ptr, block->requested_size, block->stream, block->pool->id(),
         context != nullptr ? context : block->context_when_allocated);
  if (block->stream_uses.empty()) {
    free_block(block, context);
    return;
  }
  deferred_.push_back(block);
  if (!regions_.empty()) return;
  try {
    insert_deferred_events();
  } catch (const c10::Error&) {
    // The block stays where it is; the next allocation asks again.
  }
}

// Joins two free blocks, of which the first is followed by the second; neither is in a pool. The second is gone then,
// so that the first block of a segment stays the first.
void DeviceAllocator::join(Block* first, Block* second) {
  first->size += second->size;
  first->next = second->next;
  if (first->next != nullptr) first->next->previous = first;
  keep_spare(second);
}

// Puts a block that nothing uses any more into its pool, joined with its free neighbours.
void DeviceAllocator::free_block(Block* block, const Context& context) {
  BlockPool& pool = *block->pool;
  record(TraceEntry::FREE_COMPLETED, block->ptr, block->requested_size, block->stream, pool.id(),
         context != nullptr ? context : block->context_when_allocated);
  if (block->context_when_allocated != nullptr) block->context_when_allocated = nullptr;
  adjust(stats_.active, pool, -1);
  adjust(stats_.active_bytes, pool, -static_cast<int64_t>(block->size));
  adjust(stats_.requested_bytes, pool, -static_cast<int64_t>(block->requested_size));
  block->requested_size = 0;

  const bool is_expandable = block->expandable_segment != nullptr;
  int64_t splits = 0, split_bytes = 0;
  const auto joins = [&](Block* neighbour) {
    if (neighbour == nullptr || !neighbour->is_free() || !neighbour->mapped) return false;
    pool.remove(neighbour);
    splits -= 1;
    split_bytes -= static_cast<int64_t>(neighbour->size);
    return true;
  };
  if (joins(block->next)) join(block, block->next);
  if (Block* const previous = block->previous; joins(previous)) {
    join(previous, block);
    block = previous;
  }
  pool.insert(block);
  if (block->is_split()) {
    splits += 1;
    split_bytes += static_cast<int64_t>(block->size);
  }
  if (!is_expandable && splits != 0) adjust(stats_.inactive_split, pool, splits);
  if (!is_expandable && split_bytes != 0) adjust(stats_.inactive_split_bytes, pool, split_bytes);
  if (block->uncached) {
    block->uncached = false;
    try {
      release_segment(block, context);
    } catch (const c10::Error&) {
      // It is a cached block then, and emptyCache gives it back.
    }
  }
}

// --- blocks that wait for streams ---

void DeviceAllocator::insert_events(Block* block) {
  std::vector<Event> events;
  events.reserve(block->stream_uses.size());
  try {
    for (const StreamUse& use : block->stream_uses) events.push_back(events_.record(use.device, use.stream));
  } catch (...) {
    for (Event& event : events) events_.give_back(std::move(event));
    throw;
  }
  for (size_t i = 0; i < events.size(); ++i) {
    const StreamUse& use = block->stream_uses[i];
    auto stream = std::find_if(waiting_.begin(), waiting_.end(), [&](const auto& one) { return one.use == use; });
    if (stream == waiting_.end()) stream = waiting_.insert(waiting_.end(), WaitingStream{use, {}});
    stream->blocks.push_back({std::move(events[i]), block});
    ++block->event_count;
  }
  block->stream_uses.clear();
}

void DeviceAllocator::insert_deferred_events() {
  while (!deferred_.empty()) {
    insert_events(deferred_.back());
    deferred_.pop_back();
  }
}

void DeviceAllocator::event_happened(Waiting& waiting) {
  events_.give_back(std::move(waiting.event));
  if (--waiting.block->event_count == 0) free_block(waiting.block, nullptr);
}

// Frees what no stream uses any more. While work is captured nothing is asked of streams.
void DeviceAllocator::process_events() {
  if (waiting_.empty() && deferred_.empty()) [[likely]]
    return;
  if (!regions_.empty()) return;
  insert_deferred_events();
  for (auto& [use, queue] : waiting_) {
    while (!queue.empty()) {
      const cudaError_t status = C10_CUDA_ERROR_HANDLED(cudaEventQuery(queue.front().event.get()));
      if (status == cudaErrorNotReady) {
        C10_CUDA_CLEAR_ERROR();
        break;
      }
      C10_CUDA_CHECK(status);
      event_happened(queue.front());
      queue.pop_front();
    }
  }
  std::erase_if(waiting_, [](const auto& one) { return one.blocks.empty(); });
}

// The same, but waits for all of them.
void DeviceAllocator::finish_events() {
  if (!regions_.empty()) return;
  ++stats_.num_sync_all_streams;
  insert_deferred_events();
  for (auto& [use, queue] : waiting_) {
    while (!queue.empty()) {
      C10_CUDA_CHECK(cudaEventSynchronize(queue.front().event.get()));
      event_happened(queue.front());
      queue.pop_front();
    }
  }
  waiting_.clear();
  events_.clear();
}

}  // namespace c10::cuda::CUDACachingAllocator
