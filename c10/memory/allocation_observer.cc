#include "c10/memory/allocation_observer.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "c10/memory/allocator.h"

namespace c10 {
namespace {

struct Observers {
  std::shared_mutex mutex;
  std::vector<AllocationObserver*> list;
  std::atomic<bool> any{false};
  // Of backends that were not asked yet to tell of their memory.
  std::mutex attach_mutex;
  std::vector<void (*)()> attach;
  bool were_attached = false;
};
Observers& observers() {
  static Observers& instance = *new Observers;
  return instance;
}

template <class Call>
void tell(const Call& call) {
  Observers& all = observers();
  if (!all.any.load(std::memory_order_acquire)) return;
  const std::shared_lock lock(all.mutex);
  for (AllocationObserver* observer : all.list) call(*observer);
}

// Blocks that were given while somebody observed, by their addresses: a deleter gets only a pointer.
class ObservedBlocks {
 public:
  struct Block {
    size_t bytes;
    DeleterFnPtr deleter;
    void* context;
  };
  void add(void* data, Block block) {
    Part& part = part_of(data);
    const std::lock_guard lock(part.mutex);
    part.blocks.insert_or_assign(data, block);
  }
  Block take(void* data) {
    Part& part = part_of(data);
    const std::lock_guard lock(part.mutex);
    const auto found = part.blocks.find(data);
    const Block block = found->second;
    part.blocks.erase(found);
    return block;
  }

 private:
  struct Part {
    std::mutex mutex;
    std::unordered_map<void*, Block> blocks;
  };
  Part& part_of(void* data) { return parts_[reinterpret_cast<uintptr_t>(data) / 64 % parts_.size()]; }
  std::array<Part, 16> parts_;
};

// Puts `fresh` in place of the CPU's allocator and leaves its priority as it is: the lowest that is taken.
void replace_cpu_allocator(Allocator* fresh) {
  for (int priority = 0; priority <= 255 && GetCPUAllocator() != fresh; ++priority) {
    SetCPUAllocator(fresh, static_cast<unsigned char>(priority));
  }
}

class ObservedAllocator final : public Allocator {
 public:
  DataPtr allocate(size_t n) override {
    DataPtr data = base().allocate(n);
    if (data.get() == nullptr) return data;
    void* const pointer = data.get();
    const Device device = data.device();
    const DeleterFnPtr deleter = data.get_deleter();
    blocks_.add(pointer, {n, deleter, data.release_context()});
    const size_t total = total_.fetch_add(n) + n;
    tell([&](AllocationObserver& observer) { observer.allocated(pointer, n, total, device); });
    return DataPtr(pointer, pointer, &free_block, device);
  }
  DeleterFnPtr raw_deleter() const override { return &free_block; }
  void copy_data(void* dest, const void* src, size_t count) const override { base().copy_data(dest, src, count); }

  Allocator& base() const { return *base_.load(std::memory_order_acquire); }
  void set_base(Allocator* base) { base_.store(base, std::memory_order_release); }

  static ObservedAllocator& instance() {
    static ObservedAllocator& instance = *new ObservedAllocator;
    return instance;
  }

 private:
  static void free_block(void* data) {
    ObservedAllocator& self = instance();
    const ObservedBlocks::Block block = self.blocks_.take(data);
    const size_t total = self.total_.fetch_sub(block.bytes) - block.bytes;
    tell([&](AllocationObserver& observer) {
      observer.freed(data, block.bytes, total, Device(DeviceType::CPU));
    });
    if (block.context != nullptr && block.deleter != nullptr) block.deleter(block.context);
  }

  std::atomic<Allocator*> base_{nullptr};
  std::atomic<size_t> total_{0};
  ObservedBlocks blocks_;
};

}  // namespace

void on_first_allocation_observer(void (*attach)()) {
  Observers& all = observers();
  {
    const std::lock_guard lock(all.attach_mutex);
    if (!all.were_attached) {
      all.attach.push_back(attach);
      return;
    }
  }
  attach();
}

void add_allocation_observer(AllocationObserver* observer) {
  Observers& all = observers();
  std::vector<void (*)()> attach;
  {
    const std::lock_guard lock(all.attach_mutex);
    attach = std::exchange(all.attach, {});
    all.were_attached = true;
  }
  for (void (*const one)() : attach) one();
  const std::unique_lock lock(all.mutex);
  all.list.push_back(observer);
  all.any.store(true, std::memory_order_release);
  if (all.list.size() > 1) return;
  ObservedAllocator& observed = ObservedAllocator::instance();
  if (GetCPUAllocator() == &observed) return;
  observed.set_base(GetCPUAllocator());
  replace_cpu_allocator(&observed);
}

void remove_allocation_observer(AllocationObserver* observer) {
  Observers& all = observers();
  const std::unique_lock lock(all.mutex);
  const auto found = std::find(all.list.begin(), all.list.end(), observer);
  if (found == all.list.end()) return;
  all.list.erase(found);
  if (!all.list.empty()) return;
  all.any.store(false, std::memory_order_release);
  // A program that set its own meanwhile keeps it.
  ObservedAllocator& observed = ObservedAllocator::instance();
  if (GetCPUAllocator() == &observed) replace_cpu_allocator(&observed.base());
}

bool memoryProfilingEnabled() {
  return observers().any.load(std::memory_order_relaxed);
}

void reportMemoryUsageToProfiler(void* ptr, int64_t alloc_size, size_t total_allocated, size_t, Device device) {
  tell([&](AllocationObserver& observer) {
    if (alloc_size >= 0) {
      observer.allocated(ptr, static_cast<size_t>(alloc_size), total_allocated, device);
    } else {
      observer.freed(ptr, static_cast<size_t>(-alloc_size), total_allocated, device);
    }
  });
}

}  // namespace c10
