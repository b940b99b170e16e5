// The parts of memory that the allocator hands out, and where it finds them.
#pragma once

#include <driver_types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "c10/core/device.h"
#include "c10/cuda/caching_allocator.h"

namespace c10::cuda::CUDACachingAllocator {

struct Block;
struct BlockPool;
struct PrivatePool;
class ExpandableSegment;

/// A stream beside the block's own that uses it.
struct StreamUse {
  c10::DeviceIndex device;
  cudaStream_t stream;
  bool operator==(const StreamUse&) const = default;
};

/// A free block as its pool finds it: by stream, size, address, of which the first that is not less than a request is
/// the best fit. The keys stand beside the pointer, so that a search touches no other block.
struct FreeBlock {
  uintptr_t stream = 0;
  size_t size = 0;
  uintptr_t address = 0;
  Block* block = nullptr;

  bool operator<(const FreeBlock& other) const {
    if (stream != other.stream) return stream < other.stream;
    if (size != other.size) return size < other.size;
    return address < other.address;
  }
};
using FreeBlocks = std::set<FreeBlock>;
struct ByAddress {
  bool operator()(const Block* a, const Block* b) const;
};

/// A part of a segment; the parts of one segment are chained in the order of their addresses.
struct Block {
  char* ptr = nullptr;
  size_t size = 0;
  size_t requested_size = 0;
  cudaStream_t stream = nullptr;
  BlockPool* pool = nullptr;
  Block* previous = nullptr;
  Block* next = nullptr;
  ExpandableSegment* expandable_segment = nullptr;
  FreeBlocks::node_type node;  // of the pool's set, while the block is not in it: nothing is allocated to put it there
  std::vector<StreamUse> stream_uses;
  std::shared_ptr<GatheredContext> context_when_allocated;
  std::shared_ptr<GatheredContext> context_when_segment_allocated;
  int64_t searches_at_free = 0;  // of the pool
  int event_count = 0;           // events that must happen before it is free
  c10::DeviceIndex device = -1;
  bool allocated = false;
  bool mapped = true;     // false: addresses of an expandable segment without memory
  bool uncached = false;  // goes back to CUDA when it is freed

  bool is_split() const { return previous != nullptr || next != nullptr; }
  bool is_free() const { return !allocated && event_count == 0 && stream_uses.empty(); }
};

/// A block with a node. Throws std::bad_alloc.
std::unique_ptr<Block> make_block();

/// Where a pool keeps the block while it is free.
inline FreeBlock as_free(Block* block) {
  return {reinterpret_cast<uintptr_t>(block->stream), block->size, reinterpret_cast<uintptr_t>(block->ptr), block};
}
inline FreeBlock smallest_free(cudaStream_t stream, size_t size) {
  return {reinterpret_cast<uintptr_t>(stream), size, 0, nullptr};
}
inline bool ByAddress::operator()(const Block* a, const Block* b) const {
  if (a->stream != b->stream) return reinterpret_cast<uintptr_t>(a->stream) < reinterpret_cast<uintptr_t>(b->stream);
  return reinterpret_cast<uintptr_t>(a->ptr) < reinterpret_cast<uintptr_t>(b->ptr);
}

/// The free blocks of one kind.
struct BlockPool {
  BlockPool(bool small, PrivatePool* private_pool) : is_small(small), owner(private_pool) {}

  FreeBlocks blocks;
  std::set<Block*, ByAddress> unmapped;
  const bool is_small;
  PrivatePool* const owner;  // null: the common pools
  int64_t searches = 0;

  void insert(Block* block);
  void remove(Block* block);
  MempoolId_t id() const;
  StatType stat_type() const { return is_small ? StatType::SMALL_POOL : StatType::LARGE_POOL; }
};

/// Memory apart from the common pools.
struct PrivatePool {
  PrivatePool(MempoolId_t pool_id, CUDAAllocator* segments_from)
      : id(pool_id), allocator(segments_from), large_blocks(false, this), small_blocks(true, this) {}

  const MempoolId_t id;
  CUDAAllocator* const allocator;  // of its segments, null: CUDA
  int use_count = 1;
  int segments = 0;
  bool use_on_oom = false;
  bool no_split = false;
  BlockPool large_blocks;
  BlockPool small_blocks;
};

inline MempoolId_t BlockPool::id() const {
  return owner != nullptr ? owner->id : MempoolId_t{0, 0};
}

/// The blocks that are allocated, by address, for all devices.
class LiveBlocks {
 public:
  /// Throws std::bad_alloc, and changes nothing then.
  void insert(Block* block) { shard_of(block->ptr).insert(block); }
  /// Null for an address that is none of a block.
  Block* find(const void* address) { return shard_of(address).find(address, false); }
  Block* remove(const void* address) { return shard_of(address).find(address, true); }

 private:
  // Open addressing with linear probing; at most half full.
  class alignas(64) Shard {
   public:
    void insert(Block* block);
    Block* find(const void* address, bool remove);

   private:
    struct Slot {
      const void* address = nullptr;
      Block* block = nullptr;
    };
    size_t home_of(const void* address) const { return hash(address) & (slots_.size() - 1); }
    void place(Slot slot);
    void close_gap(size_t index);

    std::mutex mutex_;
    std::vector<Slot> slots_ = std::vector<Slot>(64);
    size_t count_ = 0;
  };
  static size_t hash(const void* address) {
    // Addresses are multiples of 512.
    return static_cast<size_t>((reinterpret_cast<uintptr_t>(address) >> 9) * 0x9e3779b97f4a7c15u >> 20);
  }
  Shard& shard_of(const void* address) { return shards_[hash(address) >> 36 & (kShards - 1)]; }

  static constexpr size_t kShards = 16;
  std::array<Shard, kShards> shards_;
};

}  // namespace c10::cuda::CUDACachingAllocator
