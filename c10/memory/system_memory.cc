#include "c10/memory/system_memory.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <new>

#include "c10/memory/cpu_allocator.h"
#include "c10/memory/system_limits.h"
#include "c10/util/exception.h"

namespace c10::memory_internal {

constinit Counters g_counters{};

namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kGiB = int64_t{1} << 30;

constinit pthread_mutex_t g_limits_mutex = PTHREAD_MUTEX_INITIALIZER;
alignas(SystemLimits) char g_limits_memory[sizeof(SystemLimits)];
constinit SystemLimits* g_limits = nullptr;  // there, once it is read
constinit int64_t g_unmeasured = 0;          // bytes that may be obtained before the room is measured again

// A size for people, "1.50 GiB", without memory of its own.
class BytesText {
 public:
  explicit BytesText(int64_t bytes) {
    static constexpr char kUnits[][4] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    int unit = 0;
    int64_t whole = bytes, hundredths = 0;
    for (; whole >= 1024 && unit < 6; ++unit) {
      hundredths = whole % 1024 * 100 / 1024;
      whole /= 1024;
    }
    char* end = std::to_chars(text_, text_ + 20, whole).ptr;
    if (unit == 0) {
      std::memcpy(end, " bytes", 7);
      return;
    }
    *end++ = '.';
    *end++ = static_cast<char>('0' + hundredths / 10);
    *end++ = static_cast<char>('0' + hundredths % 10);
    *end++ = ' ';
    std::memcpy(end, kUnits[unit - 1], 4);
  }
  const char* text() const { return text_; }

 private:
  char text_[32];
};

}  // namespace

bool reserve(size_t bytes) {
  const int64_t limit = get(g_counters.limit);
  const int64_t now = add(g_counters.reserved, static_cast<int64_t>(bytes));
  if (limit > 0 && now > limit) {
    add(g_counters.reserved, -static_cast<int64_t>(bytes));
    return false;
  }
  raise_to(g_counters.peak_reserved, now);
  return true;
}

void unreserve(size_t bytes) { add(g_counters.reserved, -static_cast<int64_t>(bytes)); }

void* map_pages(size_t bytes) {
  const bool huge = bytes >= kHugePage;
  const size_t extra = huge ? kHugePage : 0;
  void* const mapped = mmap(nullptr, bytes + extra, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  if (!huge) return mapped;
  char* const first = static_cast<char*>(mapped);
  const size_t head = (kHugePage - reinterpret_cast<uintptr_t>(first) % kHugePage) % kHugePage;
  if (head != 0) munmap(first, head);
  if (extra != head) munmap(first + head + bytes, extra - head);
  madvise(first + head, bytes, MADV_HUGEPAGE);
  return first + head;
}

void unmap_pages(void* pages, size_t bytes) { munmap(pages, bytes); }

namespace {

int64_t limit_within(int64_t x, int64_t least, int64_t most) { return x < least ? least : x > most ? most : x; }

void read_environment() {
  const char* const text = std::getenv("KINDLING_CPU_CACHE_LIMIT");
  const int64_t bytes = text == nullptr ? kCacheLimitAutomatic : parse_bytes(text);
  TORCH_CHECK_VALUE(text == nullptr || bytes >= 0, "KINDLING_CPU_CACHE_LIMIT is '", text,
                    "', which is no number of bytes such as 268435456 or 256M");
  // Somebody may have called set_cpu_cache_limit meanwhile; that wins.
  int64_t unset = kCacheLimitUnset;
  __atomic_compare_exchange_n(&g_counters.cache_limit, &unset, bytes, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

// Reads the limits and returns what is left below them.
int64_t measure_room() {
  if (get(g_counters.cache_limit) == kCacheLimitUnset) read_environment();
  Lock lock(g_limits_mutex);
  if (g_limits == nullptr) g_limits = new (g_limits_memory) SystemLimits;
  const SystemLimits::Reading reading = g_limits->read();
  __atomic_store_n(&g_counters.system_limit, reading.limit, __ATOMIC_RELAXED);
  __atomic_store_n(&g_unmeasured, limit_within(reading.limit / 64, kMiB, kGiB / 4), __ATOMIC_RELAXED);
  return reading.room;
}

// Gives cached memory back where `bytes` more would come near a limit of the system.
void make_room(int64_t bytes) {
  int64_t excess = 0;
  if (add(g_unmeasured, -bytes) < 0) {
    const int64_t room = measure_room();
    excess = bytes + limit_within(get(g_counters.system_limit) / 8, 0, kGiB) - room;
  }
  const int64_t limit = get(g_counters.system_limit);
  // A quarter of the limit is left for what this allocator does not see: code, malloc, other libraries.
  const int64_t over = get(g_counters.reserved) + bytes - (limit - limit / 4);
  if (limit != 0 && over > excess) excess = over;
  if (excess <= 0) return;
  const int64_t cached = get(g_counters.large_cached);
  if (cached > 0) give_back(cached > excess ? cached - excess : 0);
}

}  // namespace

void* obtain(size_t bytes, void* (*from_system)(size_t), Refusal* why) {
  make_room(static_cast<int64_t>(bytes));
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (attempt == 1 && give_back(0) == 0) break;
    if (!reserve(bytes)) {
      *why = Refusal::kLimit;
      continue;
    }
    if (void* memory = from_system(bytes)) {
      add(g_counters.system_allocations, 1);
      return memory;
    }
    unreserve(bytes);
    *why = Refusal::kSystem;
  }
  return nullptr;
}

int64_t cache_bound(int64_t in_use) {
  const int64_t set = get(g_counters.cache_limit);
  if (set >= 0) return set;
  const int64_t bound = in_use > kGiB ? in_use : kGiB;
  const int64_t share = get(g_counters.system_limit) / 4;
  return share != 0 && share < bound ? share : bound;
}

int64_t system_limit() {
  if (get(g_counters.system_limit) == 0) measure_room();
  return get(g_counters.system_limit);
}

void set_system_root(const char* root) {
  {
    Lock lock(g_limits_mutex);
    g_limits = new (g_limits_memory) SystemLimits(root);
  }
  measure_room();
}

void lock_limits() { pthread_mutex_lock(&g_limits_mutex); }
void unlock_limits() { pthread_mutex_unlock(&g_limits_mutex); }

int64_t give_back(int64_t keep) {
  const int64_t released = trim_large_cache(keep);
#if !C10_SANITIZED_ALLOCATION
  if (get(g_counters.freed_to_malloc) >= kMiB) {
    __atomic_store_n(&g_counters.freed_to_malloc, 0, __ATOMIC_RELAXED);
    malloc_trim(0);
  }
#endif
  return released;
}

void throw_out_of_memory(size_t size, Refusal why) {
  add(g_counters.out_of_memory, 1);
  const bool readable = size >= 1024 && size <= (size_t{1} << 62);
  const BytesText asked(readable ? static_cast<int64_t>(size) : 0), limit(get(g_counters.limit)), used(allocated_now()),
      reserved(get(g_counters.reserved));
  static constexpr const char* kReasons[] = {". The process may hold at most ",
                                             ". Error code 12 (Cannot allocate memory): the system refused",
                                             ", more than any machine can address",
                                             ". The failure was asked for with fail_nth_cpu_allocation"};
  const bool bounded = why == Refusal::kLimit;
  TORCH_CHECK_WITH(OutOfMemoryError, false, "DefaultCPUAllocator: can't allocate memory: you tried to allocate ", size, " bytes",
                   readable ? " (" : "", readable ? asked.text() : "", readable ? ")" : "", kReasons[static_cast<int>(why)],
                   bounded ? limit.text() : "", bounded ? " (set_cpu_memory_limit)" : "", "; ", used.text(),
                   " are in use, ", reserved.text(), " are reserved.");
}

}  // namespace c10::memory_internal
