#pragma once

#include <cstddef>
#include <cstdint>

// Small blocks from a list of the calling thread.
//
// `small_alloc` and `small_free` serve blocks of up to kMaxSmallSize bytes from per-thread lists, one a size class, without
// an atomic operation: tensors, storages, graph nodes and the data of small tensors all come from here. Every block is
// aligned to 64 bytes. The caller gives the size back when it frees a block (sized delete), so that no header is needed.
//
//   void* p = c10::small_alloc(sizeof(Node));
//   ...
//   c10::small_free(p, sizeof(Node));      // in any thread; the same size as was asked for
//
// - Size classes are 64-byte steps up to 1 KiB and then four a doubling up to 8 KiB. A larger size goes on to the caching
//   allocator of cpu_allocator.h.
// - A block freed by another thread than the one that made it joins the freeing thread's list. A list that has grown past
//   its bound hands a batch to a central pool, where any thread's empty list is filled again. A thread that ends gives all
//   its lists to the pool; blocks that are freed after that (by destructors of other thread-local objects or of statics)
//   go to the pool directly.
// - Statistics are kept per thread and published when a list is filled or emptied.
// - With AddressSanitizer, ThreadSanitizer or MemorySanitizer nothing is cached: each block is one of malloc's, so that a
//   use after free or past the end is found, and a size that differs from the one asked for aborts.
//
// Errors: `small_alloc` throws c10::OutOfMemoryError where the system or the limit (set_memory_limit) refuses, and changes
// nothing then.

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define C10_SANITIZED_ALLOCATION 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define C10_SANITIZED_ALLOCATION 1
#endif
#endif
#ifndef C10_SANITIZED_ALLOCATION
#define C10_SANITIZED_ALLOCATION 0
#endif

namespace c10 {

/// Every block of the CPU allocators is aligned to this many bytes.
inline constexpr size_t kBlockAlignment = 64;
/// Sizes up to this one are served by the thread's own lists.
inline constexpr size_t kMaxSmallSize = 8192;
inline constexpr unsigned kSmallClasses = 28;

namespace memory_internal {

struct ClassTable {
  uint16_t size[kSmallClasses];            // bytes of a block of each class
  uint8_t of[kMaxSmallSize / 64 + 1];      // class by the size in 64-byte units, rounded up
};

constexpr ClassTable make_class_table() {
  ClassTable t{};
  unsigned c = 0;
  for (unsigned units = 1; units <= 16; ++units) t.size[c++] = static_cast<uint16_t>(units * 64);
  for (unsigned base = 1024; base < kMaxSmallSize; base *= 2)
    for (unsigned quarter = 1; quarter <= 4; ++quarter) t.size[c++] = static_cast<uint16_t>(base + base / 4 * quarter);
  unsigned k = 0;
  for (unsigned units = 0; units <= kMaxSmallSize / 64; ++units) {
    while (t.size[k] < units * 64) ++k;
    t.of[units] = static_cast<uint8_t>(k);
  }
  return t;
}

inline constexpr ClassTable kClassTable = make_class_table();

constexpr unsigned small_class(size_t size) {
  const size_t units = (size + 63) / 64;
  if (size <= 1024) return static_cast<unsigned>(units - (units != 0));
  return kClassTable.of[units];
}

struct FreeBlock {
  FreeBlock* next;
};

/// The free blocks of one class that belong to one thread. `room` is how many more the list may take.
struct FreeList {
  FreeBlock* head;
  int64_t room;
};

/// The calling thread's state: constant-initialised and trivially destructible, so that reaching it costs no guard.
/// `budget` counts down with every allocation; at zero the slow path publishes statistics, and an armed failure fires.
struct ThreadFront {
  int64_t budget;
  int64_t budget_start;  // what `budget` was when statistics were published last
  bool fail_armed;       // the allocation that finds `budget` at zero fails
  uint8_t phase;         // 0: not yet used, 1: in use, 2: the thread has ended
  FreeList list[kSmallClasses];
};

extern __thread ThreadFront t_front __attribute__((tls_model("initial-exec")));

void* small_alloc_slow(size_t size);
void small_free_slow(void* block, size_t size) noexcept;

}  // namespace memory_internal

/// A block of at least `size` bytes, aligned to 64. A size of zero gives a block too. Its contents are not defined.
inline void* small_alloc(size_t size) {
#if !C10_SANITIZED_ALLOCATION
  if (__builtin_expect(size <= kMaxSmallSize, 1)) {
    memory_internal::ThreadFront& front = memory_internal::t_front;
    memory_internal::FreeList& list = front.list[memory_internal::small_class(size)];
    memory_internal::FreeBlock* block = list.head;
    if (__builtin_expect(block != nullptr && front.budget > 0, 1)) {
      --front.budget;
      list.head = block->next;
      ++list.room;
      return block;
    }
  }
#endif
  return memory_internal::small_alloc_slow(size);
}

/// Gives back a block of `small_alloc(size)`. A null pointer is ignored.
inline void small_free(void* block, size_t size) noexcept {
#if !C10_SANITIZED_ALLOCATION
  if (__builtin_expect(size <= kMaxSmallSize && block != nullptr, 1)) {
    memory_internal::FreeList& list = memory_internal::t_front.list[memory_internal::small_class(size)];
    if (__builtin_expect(list.room > 0, 1)) {
      --list.room;
      memory_internal::FreeBlock* free_block = static_cast<memory_internal::FreeBlock*>(block);
      free_block->next = list.head;
      list.head = free_block;
      return;
    }
  }
#endif
  memory_internal::small_free_slow(block, size);
}

}  // namespace c10
