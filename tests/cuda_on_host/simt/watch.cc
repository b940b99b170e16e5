#include "tests/cuda_on_host/simt/watch.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/cuda_on_host/simt/counts.h"
#include "tests/cuda_on_host/simt/fiber.h"
#include "tests/cuda_on_host/simt/instructions.h"
#include "tests/cuda_on_host/simt/simt.h"

extern "C" char __start_simt_shared[] __attribute__((weak));
extern "C" char __stop_simt_shared[] __attribute__((weak));
extern "C" char __executable_start[] __attribute__((weak));
extern "C" char _end[] __attribute__((weak));

namespace simt {

void fail_launch(const std::string& what);  // of the executor

namespace watch {
namespace {

// Other threads' code is not the kernel's, though it may be reported while one runs.
thread_local bool g_active = false;

// Time goes on by one whenever something orders accesses: those before have at most the time of that event.
using Time = uint32_t;

struct Mark {
  Time time;
  uint32_t block;
  uint32_t code;  // distance from the executable's start
  uint16_t thread;
  uint8_t bytes;  // of the word, a bit each
  bool is_atomic;
};
// The last write, the last read, and the last read by another thread than that one's.
struct Word {
  Mark write, read, other_read;
};

constexpr uintptr_t kPageBytes = 4096, kWordBytes = 4;
constexpr size_t kMostPages = 4096;  // what is beyond them is not watched
struct Page {
  std::array<Word, kPageBytes / kWordBytes> words;
  Bounds bounds;
  Time asked = 0;  // when the bounds were
};

struct LaneClocks {
  // Up to when a lane has seen the accesses of another.
  std::array<std::array<Time, 32>, 32> seen;
};

struct {
  Time now = 1;
  Time grid_began = 1, block_began = 1, last_barrier = 1;
  Time acquired = 0;                             // the block's last atomic operation
  std::unordered_map<uint32_t, Time> published;  // a block's last fence
  std::vector<LaneClocks> warps;
  uint32_t block = 0;
  uintptr_t shared_begin = 0, shared_end = 0;  // dynamic shared memory

  Bounds (*bounds_of)(const void*) = nullptr;
  std::unordered_map<uintptr_t, std::unique_ptr<Page>> pages;
  struct {
    uintptr_t number = ~uintptr_t{0};
    Page* page = nullptr;
  } recent[64];
} g;

uint32_t linear_block() {
  return static_cast<uint32_t>(block_index.x + grid_size.x * (block_index.y + uint64_t{grid_size.y} * block_index.z));
}
uint16_t linear_thread() {
  return static_cast<uint16_t>(current->warp * 32 + current->lane);
}

Page* page_of(uintptr_t address) {
  const uintptr_t number = address / kPageBytes;
  auto& recent = g.recent[number % 64];
  if (recent.number != number) {
    const auto found = g.pages.find(number);
    if (found == g.pages.end() && g.pages.size() == kMostPages) return nullptr;
    auto& page = found != g.pages.end() ? found->second : g.pages[number];
    if (page == nullptr) page = std::make_unique<Page>();
    recent.number = number;
    recent.page = page.get();
  }
  return recent.page;
}

bool is_shared(uintptr_t address) {
  return (address >= g.shared_begin && address < g.shared_end) ||
         (address >= reinterpret_cast<uintptr_t>(__start_simt_shared) &&
          address < reinterpret_cast<uintptr_t>(__stop_simt_shared));
}

// Whether what `mark` says happened before everything that the current thread does now.
bool is_ordered(const Mark& mark, Time forgotten) {
  if (mark.time < forgotten) return true;
  if (mark.block == g.block) {
    if (mark.thread == linear_thread() || mark.time <= g.last_barrier) return true;
    if (mark.thread / 32 == current->warp && mark.time <= g.warps[current->warp].seen[current->lane][mark.thread % 32])
      return true;
  }
  const auto published = g.published.find(mark.block);
  return published != g.published.end() && mark.time <= published->second && published->second < g.acquired;
}

// The line of the kernel, or of what it calls, and not of the headers that stand in for a device.
std::string find_source_line(uint32_t code) {
  const void* address = __executable_start + code;
  Dl_info info{};
  if (dladdr(address, &info) == 0) return "an unknown place";
  const auto offset = static_cast<size_t>(static_cast<const char*>(address) - static_cast<const char*>(info.dli_fbase));
  char text[600];
  std::snprintf(text, sizeof text, "addr2line -i -e '%s' 0x%zx 2>/dev/null", info.dli_fname, offset - 1);
  std::string line;
  if (FILE* lines = popen(text, "r")) {
    while (std::fgets(text, sizeof text, lines) != nullptr) {
      line = text;
      if (line.find("simt/device.h:") == std::string::npos && line.find("c10/cuda/launch.h:") == std::string::npos)
        break;
    }
    pclose(lines);
  }
  if (const size_t end = line.find_first_of(" \n"); end != std::string::npos) line.resize(end);
  if (!line.empty() && line[0] != '?') return line;
  std::snprintf(text, sizeof text, "%s+0x%zx", info.dli_fname, offset);
  return text;
}

const std::string& source_line(uint32_t code) {
  static std::unordered_map<uint32_t, std::string> known;
  std::string& line = known[code];
  if (line.empty()) line = find_source_line(code);
  return line;
}

std::string who(uint32_t block, unsigned thread) {
  const auto point = [](unsigned i, dim3 size) {
    return "(" + std::to_string(i % size.x) + "," + std::to_string(i / size.x % size.y) + "," +
           std::to_string(i / size.x / size.y) + ")";
  };
  return "thread " + point(thread, block_size) + " of block " + point(block, grid_size);
}

std::string does(const Mark& mark, bool writes) {
  return mark.is_atomic ? "changes atomically" : writes ? "writes" : "reads";
}

void report(const Mark& before, bool wrote, const Mark& now, bool writes, uintptr_t address, bool shared) {
  char where[32];
  std::snprintf(where, sizeof where, "%#zx", static_cast<size_t>(address));
  fail_launch("race: " + who(now.block, now.thread) + " " + does(now, writes) + (shared ? " shared" : "") +
              " memory at " + where + " (" + source_line(now.code) + ") that " + who(before.block, before.thread) +
              " " + does(before, wrote) + " (" + source_line(before.code) + "), and nothing orders them");
}

void check_word(Word& word, const Mark& mark, bool writes, uintptr_t address, bool shared) {
  const Time forgotten = shared ? g.block_began : g.grid_began;
  const auto races = [&](const Mark& before) {
    return (before.bytes & mark.bytes) != 0 && !(before.is_atomic && mark.is_atomic) && !is_ordered(before, forgotten);
  };
  if (races(word.write)) return report(word.write, true, mark, writes, address, shared);
  if (writes) {
    if (races(word.read)) return report(word.read, false, mark, writes, address, shared);
    if (races(word.other_read)) return report(word.other_read, false, mark, writes, address, shared);
    word.write = mark;
    return;
  }
  if (word.read.block != mark.block || word.read.thread != mark.thread) word.other_read = word.read;
  word.read = mark;
}

bool is_programs(uintptr_t address) {
  return address >= reinterpret_cast<uintptr_t>(__executable_start) && address < reinterpret_cast<uintptr_t>(_end);
}

// Whether all of the access lies in memory that the device has.
bool check_bounds(Page& page, uintptr_t first, size_t bytes, const Mark& mark, bool writes) {
  if (page.asked != g.grid_began) {
    page.bounds = g.bounds_of(reinterpret_cast<const void*>(first));
    page.asked = g.grid_began;
  }
  if (page.bounds.is_known ? first >= page.bounds.begin && first + bytes <= page.bounds.end : is_programs(first))
    return true;
  char where[100];
  if (page.bounds.is_known) {
    std::snprintf(where, sizeof where, "%#zx, which leaves the %zu bytes from %#zx on", static_cast<size_t>(first),
                  static_cast<size_t>(page.bounds.end - page.bounds.begin), static_cast<size_t>(page.bounds.begin));
  } else {
    std::snprintf(where, sizeof where, "%#zx, which is no memory of the device", static_cast<size_t>(first));
  }
  fail_launch("bounds: " + who(mark.block, mark.thread) + " " + does(mark, writes) + " " + std::to_string(bytes) +
              " bytes at " + where + " (" + source_line(mark.code) + ")");
  return false;
}

void report_unfinished_copy(const Mark& mark, bool writes, uintptr_t address) {
  char where[32];
  std::snprintf(where, sizeof where, "%#zx", static_cast<size_t>(address));
  fail_launch("copy: " + who(mark.block, mark.thread) + " " + does(mark, writes) + " shared memory at " + where + " (" +
              source_line(mark.code) + ") that cp.async is still to write: the thread that copies has not waited");
}

void note_access(const void* pointer, size_t bytes, bool writes, bool is_atomic, const void* code) {
  const auto first = reinterpret_cast<uintptr_t>(pointer);
  const bool shared = is_shared(first);
  Mark mark{g.now,           g.block, static_cast<uint32_t>(static_cast<const char*>(code) - __executable_start),
            linear_thread(), 0,       is_atomic};
  if (shared && copies::is_any_pending() && copies::is_pending(pointer, bytes))
    return report_unfinished_copy(mark, writes, first);
  if (g.bounds_of != nullptr && !shared) {
    Page* page = page_of(first);
    if (page != nullptr && !check_bounds(*page, first, bytes, mark, writes)) return;
  }
  for (uintptr_t word = first / kWordBytes * kWordBytes; word < first + bytes; word += kWordBytes) {
    const unsigned from = word < first ? static_cast<unsigned>(first - word) : 0;
    const unsigned to = static_cast<unsigned>(std::min<uintptr_t>(kWordBytes, first + bytes - word));
    mark.bytes = static_cast<uint8_t>((0xFu << from) & (0xFu >> (kWordBytes - to)));
    if (Page* page = page_of(word)) check_word(page->words[word % kPageBytes / kWordBytes], mark, writes, word, shared);
  }
}

void access(const void* pointer, size_t bytes, bool writes, bool is_atomic, const void* code, bool is_vector = false) {
  if (!g_active || !options().watch) return;
  g_active = false;
  if (!Fiber::active()->owns(pointer)) {
    note_access(pointer, bytes, writes, is_atomic, code);
    const auto address = reinterpret_cast<uintptr_t>(pointer);
    const bool shared = is_shared(address);
    if (counts::is_on() && (shared || !is_programs(address))) {
      counts::note({address, bytes, code, current->warp, current->lane, writes, is_atomic, shared, is_vector});
    }
  }
  g_active = true;
}

}  // namespace

void set_active(bool active) {
  g_active = active;
}

void start_grid() {
  if (g.pages.size() == kMostPages) {
    g.pages.clear();
    for (auto& recent : g.recent) recent = {};
  }
  g.grid_began = ++g.now;
  g.published.clear();
}

void start_block(const void* dynamic_shared, size_t bytes) {
  g.block_began = ++g.now;
  g.block = linear_block();
  g.acquired = g.last_barrier = 0;
  g.warps.assign((block_size.x * block_size.y * block_size.z + 31) / 32, {});
  g.shared_begin = reinterpret_cast<uintptr_t>(dynamic_shared);
  g.shared_end = g.shared_begin + bytes;
}

void barrier() {
  g.last_barrier = g.now++;
}

void order_lanes(unsigned warp, unsigned mask) {
  auto& seen = g.warps[warp].seen;
  std::array<Time, 32> joined{};
  for (unsigned lane = 0; lane < 32; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    for (unsigned other = 0; other < 32; ++other) joined[other] = std::max(joined[other], seen[lane][other]);
  }
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (mask >> lane & 1) joined[lane] = g.now;
  }
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (mask >> lane & 1) seen[lane] = joined;
  }
  ++g.now;
}

void fence() {
  g.published[g.block] = g.now++;
}

void atomic(const void* address, size_t bytes, const void* code) {
  access(address, bytes, true, true, code);
  g.acquired = g.now++;
}
void load(const void* address, size_t bytes) {
  access(address, bytes, false, false, __builtin_return_address(0), true);
}
void store(const void* address, size_t bytes) {
  access(address, bytes, true, false, __builtin_return_address(0), true);
}

void arrived(const void* address, size_t bytes, const void* code) {
  if (options().watch) note_access(address, bytes, true, false, code);
}
bool is_shared_memory(const void* address) {
  return is_shared(reinterpret_cast<uintptr_t>(address));
}

// What the compiler calls.
extern "C" {
#define SIMT_ACCESS(bytes)                                             \
  void __sanitizer_cov_load##bytes(const void* address) {              \
    access(address, bytes, false, false, __builtin_return_address(0)); \
  }                                                                    \
  void __sanitizer_cov_store##bytes(const void* address) {             \
    access(address, bytes, true, false, __builtin_return_address(0));  \
  }
SIMT_ACCESS(1)
SIMT_ACCESS(2)
SIMT_ACCESS(4)
SIMT_ACCESS(8)
SIMT_ACCESS(16)
#undef SIMT_ACCESS
}

}  // namespace watch

void set_bounds_of(Bounds (*bounds_of)(const void*)) {
  watch::g.bounds_of = bounds_of;
}

}  // namespace simt
