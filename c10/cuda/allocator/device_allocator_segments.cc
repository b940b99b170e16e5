#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "c10/cuda/allocator/callbacks.h"
#include "c10/cuda/allocator/device_allocator.h"
#include "c10/cuda/capture_mode.h"
#include "c10/cuda/exception.h"
#include "c10/cuda/guard.h"
#include "c10/util/exception.h"
#include "c10/util/scope_exit.h"

namespace c10::cuda::CUDACachingAllocator {

std::string format_size(uint64_t bytes) {
  constexpr std::array<const char*, 3> kUnits = {"KiB", "MiB", "GiB"};
  if (bytes < 1024) return std::to_string(bytes) + " bytes";
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  std::array<char, 40> text;
  std::snprintf(text.data(), text.size(), "%.2f %s", value, kUnits[unit]);
  return text.data();
}

size_t DeviceAllocator::total_memory() {
  size_t free = 0, total = 0;
  C10_CUDA_CHECK(cudaMemGetInfo(&free, &total));
  return total;
}

// What may be taken from CUDA in all.
size_t DeviceAllocator::allowed_memory() {
  const double fraction = std::min(fraction_, allocator_settings().per_process_memory_fraction);
  if (fraction >= 1) return AllocatorSettings::kUnlimited;
  return static_cast<size_t>(fraction * static_cast<double>(total_memory()));
}

// What happens where no free block fits: the ways to get one, from the cheapest on.
Block* DeviceAllocator::obtain(const Request& request, Lock& lock, const Context& context) {
  const CUDAGuard guard(device_);
  const CUDAStreamCaptureModeGuard relaxed(cudaStreamCaptureModeRelaxed);
  // The lock is given up at times; a pool stays while it has a segment.
  PrivatePool* const owner = request.pool->owner;
  if (owner != nullptr) ++owner->segments;
  const auto unpin = c10::make_scope_exit([&] {
    if (owner == nullptr) return;
    --owner->segments;
    erase_if_unused(owner);
  });
  if (request.cached && has_free_memory_callbacks()) {
    bool freed = false;
    {
      lock.unlock();  // they free memory
      const auto relock = c10::make_scope_exit([&] { lock.lock(); });
      freed = run_free_memory_callbacks();
    }
    if (Block* block = freed ? take_free(request) : nullptr) return block;
  }
  collect_garbage(context);
  Block* block = new_segment(request, lock, context);
  if (block == nullptr && release_oversize(request, context)) block = new_segment(request, lock, context);
  if (block == nullptr) {
    ++stats_.num_alloc_retries;
    release_cached({0, 0}, context);
    // What came back from other streams may do.
    if (request.cached) block = take_free(request);
    if (block == nullptr) block = new_segment(request, lock, context);
  }
  if (block == nullptr && request.cached && request.pool->owner == nullptr) {
    for (auto& [id, pool] : private_pools_) {
      if (!pool->use_on_oom) continue;
      Request elsewhere = request;
      elsewhere.pool = request.pool->is_small ? &pool->small_blocks : &pool->large_blocks;
      if ((block = take_free(elsewhere)) != nullptr) break;
    }
  }
  if (block == nullptr) out_of_memory(request, lock, context);
  return block;
}

void DeviceAllocator::remember_segment(Block* block, const Context& context) {
  const BlockPool& pool = *block->pool;
  segments_.insert(block);
  block->context_when_segment_allocated = context;
  adjust(stats_.segment, pool, 1);
  if (block->size >= allocator_settings().max_split_size && block->expandable_segment == nullptr)
    stats_.oversize_segments.increase(1);
}

// A block that is a whole new segment, or the new end of an expandable one; null where there is not enough memory.
Block* DeviceAllocator::new_segment(const Request& request, Lock& lock, const Context& context) {
  const AllocatorSettings& settings = allocator_settings();
  PrivatePool* const owner = request.pool->owner;
  // Programs' own pools have no expandable segments.
  const bool expands = settings.expandable_segments && request.cached &&
                       (owner == nullptr || (owner->id.second == 0 && owner->allocator == nullptr));
  if (expands && ExpandableSegment::is_supported()) return grow_expandable(request, context);
  if (expands) TORCH_WARN_ONCE("expandable_segments: the CUDA driver lacks virtual memory; segments do not expand");

  if (request.segment_size > allowed_memory() || reserved_ > allowed_memory() - request.segment_size) return nullptr;
  std::unique_ptr<Block> block = make_block();
  segments_.reserve(segments_.size() + 1);
  // Counted before the lock may be given up, so that pool and limit hold.
  reserved_ += request.segment_size;
  if (owner != nullptr) ++owner->segments;
  auto undo = c10::make_scope_exit([&] {
    reserved_ -= request.segment_size;
    if (owner != nullptr) --owner->segments;
  });
  void* address = nullptr;
  if (owner != nullptr && owner->allocator != nullptr) {
    try {
      address = owner->allocator->raw_alloc_with_stream(request.segment_size, request.stream);
    } catch (const c10::OutOfMemoryError&) {
    }
    if (address == nullptr) return nullptr;
  } else {
    if (settings.release_lock_on_cudamalloc) lock.unlock();
    const cudaError_t status = C10_CUDA_ERROR_HANDLED(cudaMalloc(&address, request.segment_size));
    if (!lock.owns_lock()) lock.lock();
    if (status == cudaErrorMemoryAllocation) {
      C10_CUDA_CLEAR_ERROR();
      return nullptr;
    }
    if (status != cudaSuccess) throw_cuda_error(status, "cudaMalloc", __FILE__, __LINE__);
  }
  undo.release();

  block->ptr = static_cast<char*>(address);
  block->size = request.segment_size;
  block->device = device_;
  block->stream = request.stream;
  block->pool = request.pool;
  ++stats_.num_device_alloc;
  adjust(stats_.reserved_bytes, *request.pool, static_cast<int64_t>(block->size));
  remember_segment(block.get(), context);
  record(TraceEntry::SEGMENT_ALLOC, block->ptr, block->size, block->stream, request.pool->id(), context);
  return block.release();
}

// --- expandable segments ---

size_t DeviceAllocator::free_size(const Block* block) {
  return block != nullptr && block->mapped && block->is_free() ? block->size : 0;
}

// Addresses of one of the stream's segments that have room for the request, with the free blocks around them.
Block* DeviceAllocator::find_growing(const Request& request) {
  for (Block* block : request.pool->unmapped) {
    if (block->stream != request.stream) continue;
    if (free_size(block->previous) + block->size + free_size(block->next) >= request.size) return block;
  }
  const size_t piece = request.pool->is_small ? kSmallBuffer : kLargeBuffer;
  const size_t total = total_memory();
  std::unique_ptr<Block> block = make_block();
  segments_.reserve(segments_.size() + 1);
  // More addresses than memory: pieces come and go, and holes are not moved.
  auto segment =
      std::make_unique<ExpandableSegment>(device_, piece, std::max(total + total / 8, request.size + piece), peers_);
  block->ptr = segment->address();
  block->size = segment->address_bytes();
  block->device = device_;
  block->stream = request.stream;
  block->pool = request.pool;
  block->expandable_segment = segment.get();
  block->mapped = false;
  request.pool->insert(block.get());
  expandable_segments_.push_back(std::move(segment));
  if (request.pool->owner != nullptr) ++request.pool->owner->segments;
  remember_segment(block.get(), nullptr);
  return block.release();
}

Block* DeviceAllocator::grow_expandable(const Request& request, const Context& context) {
  BlockPool& pool = *request.pool;
  Block* block = find_growing(request);
  ExpandableSegment& segment = *block->expandable_segment;
  Block* const previous = block->previous != nullptr && block->previous->is_free() ? block->previous : nullptr;
  const size_t in_front = free_size(previous);
  const size_t bytes = std::min(segment.round_up(request.size - std::min(in_front, request.size)), block->size);
  const bool leaves_rest = bytes < block->size;
  const size_t allowed = allowed_memory();
  std::unique_ptr<Block> rest = leaves_rest ? make_block() : nullptr;
  const bool fits = bytes <= allowed && reserved_ <= allowed - bytes;
  auto undo = c10::make_scope_exit([&] { release_if_unmapped(block); });
  if (!fits || !segment.map({block->ptr, bytes})) return nullptr;
  undo.release();

  pool.remove(block);
  block->mapped = true;
  if (leaves_rest) {
    link_behind(block, rest.get());
    rest->mapped = false;
    rest->ptr = block->ptr + bytes;
    rest->size = block->size - bytes;
    block->size = bytes;
    pool.insert(rest.release());
  }
  if (block->context_when_segment_allocated == nullptr) block->context_when_segment_allocated = context;
  reserved_ += bytes;
  ++stats_.num_device_alloc;
  adjust(stats_.reserved_bytes, pool, static_cast<int64_t>(bytes));
  record(TraceEntry::SEGMENT_MAP, block->ptr, bytes, block->stream, pool.id(), context);
  if (Block* const next = block->next; next != nullptr && next->mapped && next->is_free()) {
    pool.remove(next);
    join(block, next);
  }
  if (previous != nullptr) {
    pool.remove(previous);
    join(previous, block);
    block = previous;
  }
  return block;
}

// Gives the addresses back of a segment to which nothing is mapped.
void DeviceAllocator::release_if_unmapped(Block* block) {
  if (block->is_split() || block->mapped) return;
  BlockPool& pool = *block->pool;
  pool.remove(block);
  segments_.erase(block);
  std::erase_if(expandable_segments_, [&](const auto& one) { return one.get() == block->expandable_segment; });
  adjust(stats_.segment, pool, -1);
  if (pool.owner != nullptr) --pool.owner->segments;
  delete block;
}

// Takes back the memory of the whole pieces of a free block.
void DeviceAllocator::unmap_block(Block* block, const Context& context) {
  BlockPool& pool = *block->pool;
  ExpandableSegment& segment = *block->expandable_segment;
  ExpandableSegment::Range range = segment.pieces_within(block->ptr, block->size);
  if (range.bytes == 0) return;
  std::unique_ptr<Block> behind = make_block(), middle = make_block();
  // Unlike cudaFree the driver does not wait for who uses the memory. That of a graph is used on the streams of its
  // replays.
  C10_CUDA_CHECK(pool.owner != nullptr ? cudaDeviceSynchronize() : cudaStreamSynchronize(block->stream));
  range = segment.unmap(range);
  reserved_ -= range.bytes;
  ++stats_.num_device_free;
  adjust(stats_.reserved_bytes, pool, -static_cast<int64_t>(range.bytes));
  record(TraceEntry::SEGMENT_UNMAP, range.begin, range.bytes, block->stream, pool.id(), context);

  pool.remove(block);
  const size_t in_front = static_cast<size_t>(range.begin - block->ptr);
  if (const size_t rest = block->size - in_front - range.bytes; rest > 0) {
    link_behind(block, behind.get());
    behind->ptr = range.begin + range.bytes;
    behind->size = rest;
    pool.insert(behind.release());
  }
  Block* hole = block;
  if (in_front > 0) {
    hole = middle.release();
    link_behind(block, hole);
    block->size = in_front;
    pool.insert(block);
  }
  hole->ptr = range.begin;
  hole->size = range.bytes;
  hole->mapped = false;
  if (Block* const next = hole->next; next != nullptr && !next->mapped) {
    pool.remove(next);
    join(hole, next);
  }
  if (Block* const previous = hole->previous; previous != nullptr && !previous->mapped) {
    pool.remove(previous);
    join(previous, hole);
    hole = previous;
  }
  pool.insert(hole);
  release_if_unmapped(hole);
}

// --- giving memory back ---

// Gives a free block that is a whole segment back to CUDA. Where that fails nothing has changed.
void DeviceAllocator::release_segment(Block* block, const Context& context) {
  BlockPool& pool = *block->pool;
  {
    const CUDAStreamCaptureModeGuard relaxed(cudaStreamCaptureModeRelaxed);
    if (pool.owner != nullptr && pool.owner->allocator != nullptr) {
      pool.owner->allocator->raw_delete(block->ptr);
    } else {
      std::lock_guard free_lock(*getFreeMutex());
      C10_CUDA_CHECK(cudaFree(block->ptr));
    }
  }
  ++stats_.num_device_free;
  reserved_ -= block->size;
  adjust(stats_.reserved_bytes, pool, -static_cast<int64_t>(block->size));
  adjust(stats_.segment, pool, -1);
  if (block->size >= allocator_settings().max_split_size) stats_.oversize_segments.decrease(1);
  record(TraceEntry::SEGMENT_FREE, block->ptr, block->size, block->stream, pool.id(),
         context != nullptr ? context : block->context_when_segment_allocated);
  if (pool.owner != nullptr) --pool.owner->segments;
  pool.remove(block);
  segments_.erase(block);
  delete block;
}

// Gives back what is free of a pool. An expandable segment must wait for its stream, which may take part in a capture.
void DeviceAllocator::release_free(BlockPool& pool, const Context& context) {
  std::vector<Block*> whole, expandable;
  for (const FreeBlock& free : pool.blocks) {
    Block* const block = free.block;
    if (block->expandable_segment != nullptr) {
      expandable.push_back(block);
    } else if (!block->is_split()) {
      whole.push_back(block);
    }
  }
  for (Block* block : whole) release_segment(block, context);
  if (!regions_.empty()) return;
  for (Block* block : expandable) unmap_block(block, context);
}

void DeviceAllocator::erase_if_unused(PrivatePool* pool) {
  if (pool->use_count == 0 && pool->segments == 0) private_pools_.erase(pool->id);
}

// Gives back what is free and not promised to anybody: the common pools', and that of private pools without users.
void DeviceAllocator::release_cached(MempoolId_t id, const Context& context) {
  finish_events();
  const bool all = id == MempoolId_t{0, 0};
  if (all) {
    release_free(large_, context);
    release_free(small_, context);
  }
  for (auto it = private_pools_.begin(); it != private_pools_.end();) {
    PrivatePool& pool = *(it++)->second;
    if (pool.use_count > 0 || !(all || pool.id == id)) continue;
    release_free(pool.large_blocks, context);
    release_free(pool.small_blocks, context);
    erase_if_unused(&pool);
  }
}

// Blocks of max_split_size or more are used for requests of about their size only: one that suffices, else the largest
// ones together, make room for another.
bool DeviceAllocator::release_oversize(const Request& request, const Context& context) {
  const size_t oversize = allocator_settings().max_split_size;
  BlockPool& pool = *request.pool;
  if (oversize == AllocatorSettings::kUnlimited || pool.owner != nullptr) return false;
  const size_t wanted = std::max(request.size, oversize);
  std::vector<Block*> chosen;
  size_t sum = 0;
  const auto choose = [&](Block* block) {
    if (block->is_split() || block->expandable_segment != nullptr) return;
    chosen.push_back(block);
    sum += block->size;
  };
  const FreeBlock smallest = smallest_free(request.stream, wanted);
  auto it = pool.blocks.lower_bound(smallest);
  for (auto enough = it; enough != pool.blocks.end() && enough->stream == smallest.stream && sum < wanted; ++enough)
    choose(enough->block);
  while (sum < wanted && it != pool.blocks.begin()) {
    --it;
    if (it->stream != smallest.stream || it->size < oversize) break;
    choose(it->block);
  }
  if (sum < wanted) return false;
  for (Block* block : chosen) release_segment(block, context);
  return true;
}

// Beyond the threshold gives back whole free segments, those that were not used for longest first, until it is kept.
void DeviceAllocator::collect_garbage(const Context& context) {
  const double threshold = allocator_settings().garbage_collection_threshold;
  if (threshold <= 0) return;
  const size_t limit = static_cast<size_t>(threshold * static_cast<double>(std::min(allowed_memory(), total_memory())));
  if (reserved_ <= limit) return;
  std::vector<Block*> candidates;
  for (const FreeBlock& free : large_.blocks)
    if (!free.block->is_split() && free.block->expandable_segment == nullptr) candidates.push_back(free.block);
  std::sort(candidates.begin(), candidates.end(),
            [](const Block* a, const Block* b) { return a->searches_at_free < b->searches_at_free; });
  for (Block* block : candidates) {
    if (reserved_ <= limit) return;
    release_segment(block, context);
  }
}

void DeviceAllocator::out_of_memory(const Request& request, Lock& lock, const Context& context) {
  size_t free = 0, total = 0;
  C10_CUDA_CHECK(cudaMemGetInfo(&free, &total));
  const size_t size = request.segment_size;
  record(TraceEntry::OOM, reinterpret_cast<const void*>(free), size, request.stream, request.pool->id(), context);
  ++stats_.num_ooms;
  const auto current = [](const StatArray& stat) {
    return static_cast<uint64_t>(stat[static_cast<size_t>(StatType::AGGREGATE)].current);
  };
  const uint64_t allocated = current(stats_.allocated_bytes);
  const uint64_t reserved = current(stats_.reserved_bytes);
  uint64_t in_private_pools = 0;
  for (const Block* start : segments_)
    for (const Block* block = start; start->pool->owner != nullptr && block != nullptr; block = block->next)
      if (block->mapped) in_private_pools += block->size;
  const size_t allowed = allowed_memory();
  const std::string limit =
      allowed == AllocatorSettings::kUnlimited ? std::string() : format_size(allowed) + " allowed; ";
  const std::string pools = in_private_pools == 0 ? std::string()
                                                  : " with " + format_size(in_private_pools) +
                                                        " allocated in private pools (e.g., CUDA Graphs),";
  {
    lock.unlock();
    const auto relock = c10::make_scope_exit([&] { lock.lock(); });
    history_.notify_out_of_memory(device_, size, allowed == AllocatorSettings::kUnlimited ? total : allowed, free);
  }
  TORCH_CHECK_WITH(
      OutOfMemoryError, false, "CUDA out of memory. Tried to allocate ", format_size(size), ". GPU ",
      static_cast<int>(device_), " has a total capacity of ", format_size(total), " of which ", format_size(free),
      " is free. ", limit, "Of the allocated memory ", format_size(allocated), " is allocated by PyTorch,", pools,
      " and ", format_size(reserved - allocated),
      " is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting "
      "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory "
      "Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)");
}

}  // namespace c10::cuda::CUDACachingAllocator
