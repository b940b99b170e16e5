#include "c10/cuda/allocator/blocks.h"

#include <utility>

#include "c10/util/exception.h"

namespace c10::cuda::CUDACachingAllocator {

std::unique_ptr<Block> make_block() {
  auto block = std::make_unique<Block>();
  FreeBlocks blocks;
  block->node = blocks.extract(blocks.insert(FreeBlock{}).first);
  return block;
}

void BlockPool::insert(Block* block) {
  block->searches_at_free = searches;
  if (!block->mapped) {
    unmapped.insert(block);
    return;
  }
  block->node.value() = as_free(block);
  blocks.insert(std::move(block->node));
}

void BlockPool::remove(Block* block) {
  if (!block->mapped) {
    unmapped.erase(block);
  } else {
    block->node = blocks.extract(as_free(block));
  }
}

void LiveBlocks::Shard::place(Slot slot) {
  size_t index = home_of(slot.address);
  while (slots_[index].block != nullptr) index = (index + 1) & (slots_.size() - 1);
  slots_[index] = slot;
}

void LiveBlocks::Shard::insert(Block* block) {
  std::lock_guard lock(mutex_);
  if ((count_ + 1) * 2 > slots_.size()) {
    std::vector<Slot> before(slots_.size() * 2);
    before.swap(slots_);
    for (const Slot& slot : before)
      if (slot.block != nullptr) place(slot);
  }
  place({block->ptr, block});
  ++count_;
}

Block* LiveBlocks::Shard::find(const void* address, bool remove) {
  std::lock_guard lock(mutex_);
  for (size_t index = home_of(address); slots_[index].block != nullptr; index = (index + 1) & (slots_.size() - 1)) {
    if (slots_[index].address != address) continue;
    Block* const block = slots_[index].block;
    if (remove) close_gap(index);
    return block;
  }
  return nullptr;
}

// Moves those behind an emptied slot that would not be found any more.
void LiveBlocks::Shard::close_gap(size_t gap) {
  const size_t mask = slots_.size() - 1;
  for (size_t index = (gap + 1) & mask; slots_[index].block != nullptr; index = (index + 1) & mask) {
    const size_t home = home_of(slots_[index].address);
    if (((index - home) & mask) >= ((index - gap) & mask)) {
      slots_[gap] = slots_[index];
      gap = index;
    }
  }
  slots_[gap] = Slot{};
  --count_;
}

}  // namespace c10::cuda::CUDACachingAllocator
