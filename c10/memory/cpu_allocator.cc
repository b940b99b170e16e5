#include "c10/memory/cpu_allocator.h"

#include <cstdlib>

#include "c10/memory/system_memory.h"
#include "c10/util/exception.h"

namespace c10 {

namespace memory_internal {

#if C10_SANITIZED_ALLOCATION

int64_t trim_large_cache(int64_t) { return 0; }

#else

namespace {

// Classes of blocks over kMaxSmallSize: eight a doubling, from 8 KiB to 128 TiB.
constexpr int kFirstBit = 13;
constexpr int kLastBit = 47;
constexpr int kClasses = (kLastBit - kFirstBit) * 8;
constexpr size_t kMaxSize = size_t{1} << kLastBit;
constexpr size_t kMapFrom = size_t{1} << 20;

// For kMaxSmallSize < size <= kMaxSize.
int large_class(size_t size) {
  const int bit = 63 - __builtin_clzll(size - 1);
  return (bit - kFirstBit) * 8 + static_cast<int>(((size - 1) >> (bit - 3)) & 7);
}

constexpr size_t large_class_size(int c) {
  const int bit = c / 8 + kFirstBit;
  return (size_t{1} << bit) + (size_t{1} << (bit - 3)) * static_cast<size_t>(c % 8 + 1);
}

struct CachedBlock {
  CachedBlock* next;
};

struct LargeList {
  pthread_mutex_t mutex;
  CachedBlock* head;
  int64_t last_use;  // of g_clock; read without the lock to choose what to give back
};

constinit LargeList g_large[kClasses] = {};
constinit int64_t g_clock = 0;

void give_to_system(void* block, size_t size) {
  if (size >= kMapFrom) {
    unmap_pages(block, size);
  } else {
    std::free(block);
    add(g_counters.freed_to_malloc, static_cast<int64_t>(size));
  }
  unreserve(size);
}

int64_t release_class(int c, int64_t at_most) {
  const size_t size = large_class_size(c);
  int64_t released = 0;
  while (released < at_most) {
    CachedBlock* block;
    {
      Lock lock(g_large[c].mutex);
      block = g_large[c].head;
      if (block == nullptr) break;
      g_large[c].head = block->next;
    }
    add(g_counters.large_cached, -static_cast<int64_t>(size));
    give_to_system(block, size);
    released += static_cast<int64_t>(size);
  }
  return released;
}

void* obtain_block(size_t size, Refusal* why) {
  if (size >= kMapFrom) return obtain(size, &map_pages, why);
  return obtain(size, [](size_t n) { return std::aligned_alloc(kBlockAlignment, n); }, why);
}

}  // namespace

void* large_alloc(size_t size) {
  if (size > kMaxSize) throw_out_of_memory(size, Refusal::kSize);
  const int c = large_class(size);
  const int64_t bytes = static_cast<int64_t>(large_class_size(c));
  LargeList& list = g_large[c];
  void* block = nullptr;
  {
    Lock lock(list.mutex);
    __atomic_store_n(&list.last_use, add(g_clock, 1), __ATOMIC_RELAXED);
    if (list.head != nullptr) {
      block = list.head;
      list.head = list.head->next;
    }
  }
  if (block != nullptr) {
    add(g_counters.large_cached, -bytes);
  } else {
    Refusal why = Refusal::kSystem;
    block = obtain_block(static_cast<size_t>(bytes), &why);
    if (block == nullptr) throw_out_of_memory(size, why);
  }
  add(g_counters.large_out, bytes);
  note_peak();
  return block;
}

void large_free(void* block, size_t size) noexcept {
  const int c = large_class(size);
  const int64_t bytes = static_cast<int64_t>(large_class_size(c));
  const int64_t in_use = add(g_counters.large_out, -bytes);
  LargeList& list = g_large[c];
  CachedBlock* const cached = static_cast<CachedBlock*>(block);
  {
    Lock lock(list.mutex);
    __atomic_store_n(&list.last_use, add(g_clock, 1), __ATOMIC_RELAXED);
    cached->next = list.head;
    list.head = cached;
  }
  const int64_t bound = cache_bound(in_use);
  if (add(g_counters.large_cached, bytes) > bound) trim_large_cache(bound);
}

void lock_large() {
  for (LargeList& list : g_large) pthread_mutex_lock(&list.mutex);
}
void unlock_large() {
  for (LargeList& list : g_large) pthread_mutex_unlock(&list.mutex);
}

int64_t trim_large_cache(int64_t keep) {
  int64_t released = 0;
  while (true) {
    const int64_t excess = get(g_counters.large_cached) - keep;
    if (excess <= 0) break;
    // The class that was used least recently gives first.
    int oldest = -1;
    int64_t oldest_use = 0;
    for (int c = 0; c < kClasses; ++c) {
      const int64_t use = get(g_large[c].last_use);
      if (use == 0 || (oldest >= 0 && use >= oldest_use)) continue;
      Lock lock(g_large[c].mutex);
      if (g_large[c].head == nullptr) continue;
      oldest = c;
      oldest_use = use;
    }
    if (oldest < 0) break;
    released += release_class(oldest, excess);
  }
  return released;
}

#endif

}  // namespace memory_internal

using memory_internal::add;
using memory_internal::g_counters;
using memory_internal::get;

CPUMemoryStats cpu_memory_stats() {
  memory_internal::publish_thread(false);
  CPUMemoryStats stats;
  stats.allocated_bytes = memory_internal::allocated_now();
  memory_internal::note_peak();
  stats.peak_allocated_bytes = get(g_counters.peak_allocated);
  stats.cached_bytes =
      get(g_counters.large_cached) + get(g_counters.small_obtained) - get(g_counters.small_out) + get(g_counters.small_in_threads);
  stats.reserved_bytes = get(g_counters.reserved);
  stats.peak_reserved_bytes = get(g_counters.peak_reserved);
  stats.allocations = get(g_counters.allocations);
  stats.system_allocations = get(g_counters.system_allocations);
  stats.out_of_memory = get(g_counters.out_of_memory);
  return stats;
}

void reset_peak_cpu_memory_stats() {
  memory_internal::publish_thread(false);
  __atomic_store_n(&g_counters.peak_allocated, memory_internal::allocated_now(), __ATOMIC_RELAXED);
  __atomic_store_n(&g_counters.peak_reserved, get(g_counters.reserved), __ATOMIC_RELAXED);
}

void set_cpu_memory_limit(int64_t bytes) {
  TORCH_CHECK_VALUE(bytes >= 0, "set_cpu_memory_limit: expected a number of bytes that is not negative, but got ", bytes);
  __atomic_store_n(&g_counters.limit, bytes, __ATOMIC_RELAXED);
}

int64_t cpu_memory_limit() { return get(g_counters.limit); }

int64_t empty_cpu_cache() {
  memory_internal::publish_thread(true);
  return memory_internal::give_back(0);
}

void set_cpu_cache_limit(std::optional<int64_t> bytes) {
  TORCH_CHECK_VALUE(!bytes || *bytes >= 0, "set_cpu_cache_limit: expected a number of bytes that is not negative, but got ", *bytes);
  __atomic_store_n(&g_counters.cache_limit, bytes.value_or(memory_internal::kCacheLimitAutomatic), __ATOMIC_RELAXED);
  if (get(g_counters.large_cached) > cpu_cache_limit()) memory_internal::give_back(cpu_cache_limit());
}

int64_t cpu_cache_limit() {
  memory_internal::system_limit();
  return memory_internal::cache_bound(get(g_counters.large_out));
}

int64_t cpu_system_memory_limit() { return memory_internal::system_limit(); }

}  // namespace c10
