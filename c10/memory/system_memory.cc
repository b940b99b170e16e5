#include "c10/memory/system_memory.h"

#include <sys/mman.h>

#include <string>

#include "c10/memory/cpu_allocator.h"
#include "c10/util/exception.h"

namespace c10::memory_internal {

constinit Counters g_counters{};

namespace {

constexpr size_t kHugePage = size_t{2} << 20;

std::string bytes_text(int64_t bytes) {
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  int unit = 0;
  // Two decimals without floating-point formatting.
  int64_t whole = bytes, hundredths = 0;
  while (whole >= 1024 && unit < 6) {
    hundredths = (whole % 1024) * 100 / 1024;
    whole /= 1024;
    ++unit;
  }
  if (unit == 0) return c10::str(bytes, " bytes");
  const char decimals[] = {'.', static_cast<char>('0' + hundredths / 10), static_cast<char>('0' + hundredths % 10), ' ', '\0'};
  return c10::str(whole, decimals, kUnits[unit - 1]);
}

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

void* obtain_pages(size_t bytes, Refusal* why) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (attempt == 1 && trim_large_cache(0) == 0) break;
    if (!reserve(bytes)) {
      *why = Refusal::kLimit;
      continue;
    }
    if (void* pages = map_pages(bytes)) {
      add(g_counters.system_allocations, 1);
      return pages;
    }
    unreserve(bytes);
    *why = Refusal::kSystem;
  }
  return nullptr;
}

void throw_out_of_memory(size_t size, Refusal why) {
  add(g_counters.out_of_memory, 1);
  std::string readable;
  if (size >= 1024 && size <= (size_t{1} << 62)) readable = c10::str(" (", bytes_text(static_cast<int64_t>(size)), ")");
  std::string reason;
  switch (why) {
    case Refusal::kLimit:
      reason = c10::str(". The process may hold at most ", bytes_text(get(g_counters.limit)), " (set_cpu_memory_limit)");
      break;
    case Refusal::kSystem: reason = ". Error code 12 (Cannot allocate memory): the system refused"; break;
    case Refusal::kSize: reason = ", more than any machine can address"; break;
    case Refusal::kInjected: reason = ". The failure was asked for with fail_nth_cpu_allocation"; break;
  }
  TORCH_CHECK_WITH(OutOfMemoryError, false, "DefaultCPUAllocator: can't allocate memory: you tried to allocate ", size, " bytes",
                   readable, reason, "; ", bytes_text(allocated_now()), " are in use, ",
                   bytes_text(get(g_counters.reserved)), " are reserved.");
}

}  // namespace c10::memory_internal
