#include "c10/memory/small_object.h"

#include <cstdio>
#include <cstdlib>

#include "c10/memory/cpu_allocator.h"
#include "c10/memory/system_memory.h"

#if C10_SANITIZED_ALLOCATION
#include <sanitizer/allocator_interface.h>
#endif

namespace c10::memory_internal {

__thread ThreadFront t_front __attribute__((tls_model("initial-exec"))) = {};

namespace {

/// Allocations between two publications of a thread that never runs dry.
constexpr int64_t kBudget = 1 << 16;

// Counts one allocation. Only the slow paths come here with an empty budget.
void count_allocation(ThreadFront& front, size_t size) {
  if (front.budget == 0) {
    add(g_counters.allocations, front.budget_start);
    front.budget = front.budget_start = kBudget;
    if (front.fail_armed) {
      front.fail_armed = false;
      throw_out_of_memory(size, Refusal::kInjected);
    }
  }
  --front.budget;
}

void publish_count(ThreadFront& front) {
  add(g_counters.allocations, front.budget_start - front.budget);
  front.budget_start = front.budget;
}

}  // namespace

#if C10_SANITIZED_ALLOCATION

void* small_alloc_slow(size_t size) {
  ThreadFront& front = t_front;
  count_allocation(front, size);
  publish_count(front);
  // The sanitizers' allocators end the process above 1 TiB.
  if (size > (size_t{1} << 40) - (size_t{1} << 20)) throw_out_of_memory(size, Refusal::kSize);
  if (!reserve(size)) throw_out_of_memory(size, Refusal::kLimit);
  void* block = nullptr;
  if (posix_memalign(&block, kBlockAlignment, size == 0 ? 1 : size) != 0) {
    unreserve(size);
    throw_out_of_memory(size, Refusal::kSystem);
  }
  add(g_counters.system_allocations, 1);
  add(g_counters.large_out, static_cast<int64_t>(size));
  note_peak();
  return block;
}

void small_free_slow(void* block, size_t size) noexcept {
  if (block == nullptr) return;
  if (__sanitizer_get_allocated_size(block) != (size == 0 ? 1 : size)) {
    std::fprintf(stderr, "small_free: block %p has %zu bytes, but %zu were given\n", block,
                 __sanitizer_get_allocated_size(block), size);
    std::abort();
  }
  add(g_counters.large_out, -static_cast<int64_t>(size));
  unreserve(size);
  std::free(block);
}

void publish_thread(bool) { publish_count(t_front); }

#else

namespace {

/// A chain of free blocks on its way through the central pool; written into its first block.
struct Batch {
  FreeBlock* next;
  Batch* next_batch;
  int64_t count;
};

struct CentralList {
  pthread_mutex_t mutex;
  Batch* batches;
  char* span;      // memory of this class that no block was cut from yet
  char* span_end;
};

constinit CentralList g_central[kSmallClasses] = {};

constexpr size_t kSpanSize = size_t{64} << 10;
constexpr size_t kArenaSize = size_t{1} << 20;

struct Arena {
  pthread_mutex_t mutex;
  char* begin;
  char* end;
};
constinit Arena g_arena = {};

// How many blocks a thread's list may hold: up to 64 KiB, but at least 8 and at most 1024.
constexpr int64_t list_limit(unsigned c) {
  const int64_t n = 65536 / kClassTable.size[c];
  return n < 8 ? 8 : n > 1024 ? 1024 : n;
}
constexpr int64_t batch_size(unsigned c) { return list_limit(c) / 4; }

struct Published {
  int64_t blocks[kSmallClasses];
};
__thread Published t_published __attribute__((tls_model("initial-exec"))) = {};

int64_t blocks_in_list(const ThreadFront& front, unsigned c) {
  return front.phase == 1 ? list_limit(c) - front.list[c].room : 0;
}

void publish_class(const ThreadFront& front, unsigned c) {
  const int64_t blocks = blocks_in_list(front, c);
  add(g_counters.small_in_threads, (blocks - t_published.blocks[c]) * kClassTable.size[c]);
  t_published.blocks[c] = blocks;
}

void central_give(unsigned c, FreeBlock* first, int64_t count) {
  Batch* const batch = reinterpret_cast<Batch*>(first);
  batch->count = count;
  add(g_counters.small_out, -count * kClassTable.size[c]);
  CentralList& central = g_central[c];
  Lock lock(central.mutex);
  batch->next_batch = central.batches;
  central.batches = batch;
}

char* obtain_span(Refusal* why) {
  Lock lock(g_arena.mutex);
  if (g_arena.begin == g_arena.end) {
    size_t size = kArenaSize;
    void* pages = obtain(size, &map_pages, why);
    if (pages == nullptr) pages = obtain(size = kSpanSize, &map_pages, why);
    if (pages == nullptr) return nullptr;
    g_arena.begin = static_cast<char*>(pages);
    g_arena.end = g_arena.begin + size;
  }
  char* const span = g_arena.begin;
  g_arena.begin += kSpanSize;
  add(g_counters.small_obtained, kSpanSize);
  return span;
}

// A chain of up to `wanted` blocks, at least one; null, with the reason, where there is no memory.
FreeBlock* central_take(unsigned c, int64_t wanted, int64_t* count, Refusal* why) {
  const int64_t size = kClassTable.size[c];
  CentralList& central = g_central[c];
  FreeBlock* first = nullptr;
  {
    Lock lock(central.mutex);
    if (Batch* batch = central.batches) {
      central.batches = batch->next_batch;
      *count = batch->count;
      first = reinterpret_cast<FreeBlock*>(batch);
    } else {
      if (central.span_end - central.span < size) {
        char* const span = obtain_span(why);
        if (span == nullptr) return nullptr;
        central.span = span;
        central.span_end = span + kSpanSize;
      }
      const int64_t available = (central.span_end - central.span) / size;
      *count = available < wanted ? available : wanted;
      char* const begin = central.span;
      central.span += *count * size;
      for (int64_t i = 0; i < *count; ++i)
        reinterpret_cast<FreeBlock*>(begin + i * size)->next =
            i + 1 < *count ? reinterpret_cast<FreeBlock*>(begin + (i + 1) * size) : nullptr;
      first = reinterpret_cast<FreeBlock*>(begin);
    }
  }
  add(g_counters.small_out, *count * size);
  return first;
}

// Hands the first `count` blocks of a thread's list to the central pool.
void give_blocks(FreeList& list, unsigned c, int64_t count) {
  if (count == 0) return;
  FreeBlock* const first = list.head;
  FreeBlock* last = first;
  for (int64_t i = 1; i < count; ++i) last = last->next;
  list.head = last->next;
  last->next = nullptr;
  list.room += count;
  central_give(c, first, count);
}

// Gives the thread's lists back when it ends. A separate object, armed by the first slow call, so that the lists
// themselves need no destructor.
struct ExitHook {
  bool armed = false;
  ~ExitHook() {
    if (!armed) return;
    ThreadFront& front = t_front;
    publish_thread(true);
    front.phase = 2;
    for (FreeList& list : front.list) list.room = 0;
  }
};
thread_local ExitHook t_exit_hook;

// The locks in the order in which they are taken one inside the other, so that a forked child finds all lists whole and no
// lock held by a thread it does not have.
void before_fork() {
  for (CentralList& central : g_central) pthread_mutex_lock(&central.mutex);
  pthread_mutex_lock(&g_arena.mutex);
  lock_limits();
  lock_large();
}
void after_fork() {
  unlock_large();
  unlock_limits();
  pthread_mutex_unlock(&g_arena.mutex);
  for (CentralList& central : g_central) pthread_mutex_unlock(&central.mutex);
}
constinit int32_t g_fork_handled = 0;

void begin_thread(ThreadFront& front) {
  if (__atomic_exchange_n(&g_fork_handled, 1, __ATOMIC_RELAXED) == 0) pthread_atfork(&before_fork, &after_fork, &after_fork);
  t_exit_hook.armed = true;
  for (unsigned c = 0; c < kSmallClasses; ++c) front.list[c].room = list_limit(c);
  front.phase = 1;
}

}  // namespace

void* small_alloc_slow(size_t size) {
  ThreadFront& front = t_front;
  if (front.phase == 0) begin_thread(front);
  count_allocation(front, size);
  if (size > kMaxSmallSize) {
    publish_count(front);
    return large_alloc(size);
  }
  const unsigned c = small_class(size);
  FreeList& list = front.list[c];
  if (FreeBlock* block = list.head) {
    list.head = block->next;
    ++list.room;
    return block;
  }
  int64_t count = 0;
  Refusal why = Refusal::kSystem;
  FreeBlock* const block = central_take(c, front.phase == 1 ? batch_size(c) : 1, &count, &why);
  if (block == nullptr) throw_out_of_memory(size, why);
  if (front.phase == 1) {
    list.head = block->next;
    list.room = list_limit(c) - (count - 1);
    publish_class(front, c);
  } else if (count > 1) {
    central_give(c, block->next, count - 1);
  }
  publish_count(front);
  note_peak();
  return block;
}

void small_free_slow(void* block, size_t size) noexcept {
  if (block == nullptr) return;
  if (size > kMaxSmallSize) {
    large_free(block, size);
    return;
  }
  ThreadFront& front = t_front;
  if (front.phase == 0) begin_thread(front);
  const unsigned c = small_class(size);
  FreeBlock* const free_block = static_cast<FreeBlock*>(block);
  if (front.phase == 2) {
    free_block->next = nullptr;
    central_give(c, free_block, 1);
    return;
  }
  FreeList& list = front.list[c];
  if (list.room == 0) give_blocks(list, c, batch_size(c));
  --list.room;
  free_block->next = list.head;
  list.head = free_block;
  publish_class(front, c);
}

void publish_thread(bool give_back) {
  ThreadFront& front = t_front;
  publish_count(front);
  if (front.phase != 1) return;
  for (unsigned c = 0; c < kSmallClasses; ++c) {
    if (give_back) give_blocks(front.list[c], c, blocks_in_list(front, c));
    publish_class(front, c);
  }
}

#endif

}  // namespace c10::memory_internal

namespace c10 {

void fail_nth_cpu_allocation(int64_t n) {
  memory_internal::publish_thread(false);
  memory_internal::ThreadFront& front = memory_internal::t_front;
  front.fail_armed = n > 0;
  front.budget = front.budget_start = n > 0 ? n - 1 : 0;
}

}  // namespace c10
