#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "c10/memory/small_object.h"

// The caching CPU allocator: memory for the data of tensors.
//
// Blocks are aligned to 64 bytes and rounded up to size classes. Blocks of up to 8 KiB come from the calling thread's lists
// (small_object.h), those up to 1 MiB from malloc and a cache, larger ones from the system directly, aligned to 2 MiB and
// marked for huge pages, because first touch then costs a quarter. What is freed is kept warm for the next block of its
// class, within the bound of set_cpu_cache_limit.
//
// The cache respects the limits that the system sets to this process: those of its memory control groups (versions 1 and
// 2) and of all their ancestors, RLIMIT_AS and RLIMIT_DATA, and the machine's memory. Cached blocks go back to the system
// - where cached and used blocks together would pass three quarters of the tightest limit,
// - where less than an eighth of it (at most 1 GiB) is left, whoever used the rest: measured about 64 times on the way to it,
// - and all of them before a request fails.
// What is in use is not bounded by this; see set_cpu_memory_limit.
//
// Limits and statistics are process-wide. `reserved` is what was obtained from the system and not given back; it is what
// the limit bounds. `allocated` is what callers hold; blocks resting in the lists of *other* threads count as allocated until those
// threads publish, so a reading is exact for the calling thread and late by at most about 2 MiB for each other one.

namespace c10 {

namespace memory_internal {
void* large_alloc(size_t size);
void large_free(void* block, size_t size) noexcept;
/// For tests: the system's limits are read from files below `root` from now on; "" is the machine's own.
void set_system_root(const char* root);
}  // namespace memory_internal

/// A block of at least `size` bytes, aligned to 64, contents not defined. Throws c10::OutOfMemoryError.
inline void* cpu_alloc(size_t size) { return small_alloc(size); }

/// Gives back a block of `cpu_alloc(size)`, in any thread. A null pointer is ignored.
inline void cpu_free(void* block, size_t size) noexcept { small_free(block, size); }

/// A reading of the allocator, in bytes and counts since the process began.
struct CPUMemoryStats {
  int64_t allocated_bytes = 0;   ///< held by callers, rounded up to size classes
  int64_t peak_allocated_bytes = 0;  ///< the highest `allocated_bytes` seen when a thread published
  int64_t cached_bytes = 0;      ///< kept for re-use
  int64_t reserved_bytes = 0;    ///< obtained from the system and not given back
  int64_t peak_reserved_bytes = 0;
  int64_t allocations = 0;       ///< calls that gave a block
  int64_t system_allocations = 0;  ///< of these, how many had to ask the system
  int64_t out_of_memory = 0;     ///< calls that threw
};

/// Statistics of the whole process; publishes the calling thread's own first.
CPUMemoryStats cpu_memory_stats();

/// Sets the peaks to what is held now.
void reset_peak_cpu_memory_stats();

/// Bounds `reserved_bytes` for the whole process; 0 (the default) means no bound. Memory already held stays valid: a limit
/// below it only makes further requests to the system fail. Before a request fails, the cache is emptied.
/// Throws c10::ValueError for a negative number.
void set_cpu_memory_limit(int64_t bytes);
int64_t cpu_memory_limit();

/// Bounds `cached_bytes` of blocks over 8 KiB; gives back what is over the bound. 0 caches nothing. Without a number, which is
/// how a process begins, the cache holds at most the larger of 1 GiB and what is in use, and at most a quarter of
/// cpu_system_memory_limit(). The environment variable KINDLING_CPU_CACHE_LIMIT ("268435456", "256M", "2 GiB") sets the bound
/// of a process that does not call this; what is no number of bytes there is a c10::ValueError of the first allocation.
/// Throws c10::ValueError for a negative number.
///
///   c10::set_cpu_cache_limit(int64_t{256} << 20);
void set_cpu_cache_limit(std::optional<int64_t> bytes);

/// The bound in force now.
int64_t cpu_cache_limit();

/// The tightest limit that the system sets to this process's memory, in bytes, as read last; INT64_MAX where there is none.
int64_t cpu_system_memory_limit();

/// Gives cached blocks over 8 KiB back to the system and the calling thread's small blocks to the central pool. Returns the
/// bytes given back to the system.
int64_t empty_cpu_cache();

/// For tests: the n-th allocation (counted from 1) that the calling thread makes from now on throws
/// c10::OutOfMemoryError, once. 0 disarms.
///
///   for (int64_t n = 1; ; ++n) {
///     c10::fail_nth_cpu_allocation(n);
///     try { f(); break; } catch (const c10::OutOfMemoryError&) { /* state must be intact */ }
///   }
///   c10::fail_nth_cpu_allocation(0);
void fail_nth_cpu_allocation(int64_t n);

}  // namespace c10
