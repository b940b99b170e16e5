#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>

// What the allocators of this folder share: the account of memory obtained from the system, the limits, pages, the error.
// Private to c10/memory. Everything is constant-initialised and trivially destructible, so that it works before main and
// after the destructors of statics have run.

namespace c10::memory_internal {

/// A mutex for scopes: `Lock lock(mutex);`.
class Lock {
 public:
  explicit Lock(pthread_mutex_t& mutex) noexcept : mutex_(mutex) { pthread_mutex_lock(&mutex_); }
  ~Lock() { pthread_mutex_unlock(&mutex_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

inline constexpr int64_t kCacheLimitUnset = -2;      // the environment will be asked
inline constexpr int64_t kCacheLimitAutomatic = -1;  // cache_bound chooses

/// Process-wide counters; all accesses are atomic and relaxed.
struct Counters {
  int64_t small_out;         // bytes that the central pool has given to threads
  int64_t small_in_threads;  // of these, bytes that rest in threads' lists, as published
  int64_t small_obtained;    // bytes of the central pool's spans
  int64_t large_out;         // bytes that callers hold in blocks over kMaxSmallSize
  int64_t large_cached;
  int64_t freed_to_malloc;   // bytes of blocks that went back to malloc, since malloc_trim
  int64_t reserved;
  int64_t peak_reserved;
  int64_t peak_allocated;
  int64_t allocations;
  int64_t system_allocations;
  int64_t out_of_memory;
  int64_t limit;             // 0: none
  int64_t cache_limit = kCacheLimitUnset;  // what large_cached may be
  int64_t system_limit;      // what the system lets this process use; 0: not read yet
};
extern Counters g_counters;

inline int64_t get(const int64_t& x) { return __atomic_load_n(&x, __ATOMIC_RELAXED); }
inline int64_t add(int64_t& x, int64_t y) { return __atomic_add_fetch(&x, y, __ATOMIC_RELAXED); }
inline void raise_to(int64_t& x, int64_t y) {
  int64_t old = get(x);
  while (old < y && !__atomic_compare_exchange_n(&x, &old, y, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

inline int64_t allocated_now() {
  return get(g_counters.small_out) - get(g_counters.small_in_threads) + get(g_counters.large_out);
}
inline void note_peak() { raise_to(g_counters.peak_allocated, allocated_now()); }

/// Why memory was refused.
enum class Refusal { kLimit, kSystem, kSize, kInjected };

/// Books `bytes` as obtained; false, and nothing booked, if that would pass the limit.
bool reserve(size_t bytes);
void unreserve(size_t bytes);

/// Pages, of which the first is aligned to 2 MiB and marked for huge pages if `bytes` is at least 2 MiB; null if the system
/// refuses. Not booked.
void* map_pages(size_t bytes);
void unmap_pages(void* pages, size_t bytes);

/// Obtains memory by `from_system` and books it; null where that fails. Cached memory is given back first where the limits of
/// the system are near (system_limits.h), and all of it before giving up.
void* obtain(size_t bytes, void* (*from_system)(size_t), Refusal* why);

/// What the cache may hold while callers hold `in_use` bytes.
int64_t cache_bound(int64_t in_use);

/// The least limit of the system, read if need be.
int64_t system_limit();

[[noreturn]] void throw_out_of_memory(size_t size, Refusal why);

/// Frees cached large blocks until at most `keep` bytes are cached; returns the bytes freed.
int64_t trim_large_cache(int64_t keep);

/// The same, and has malloc return to the system what it got from that.
int64_t give_back(int64_t keep);

/// Takes and returns all locks of the folder, around fork().
void lock_large();
void unlock_large();
void lock_limits();
void unlock_limits();

/// Publishes the calling thread's statistics and, if `give_back`, hands its lists to the central pool.
void publish_thread(bool give_back);

}  // namespace c10::memory_internal
