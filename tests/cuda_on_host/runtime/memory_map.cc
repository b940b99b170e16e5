// Address space and pages: where memory of devices and pinned memory lie, and when they can be touched.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "tests/cuda_on_host/runtime/state.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#endif
#endif
#ifndef ASAN_POISON_MEMORY_REGION
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

namespace cuda_standin {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kArena = size_t{1} << 36;
constexpr size_t kPattern = size_t{8} << 20;
constexpr size_t kAlignment = 256;  // what cudaMalloc promises at least

struct Arena {
  char* begin;
  char* end;
};
struct Space {
  std::vector<Arena> arenas;  // never given back, so that no address is used twice
  char* next = nullptr;
};
Space& space() {
  static auto* const one = new Space;
  return *one;
}

[[noreturn]] void die(const char* what) {
  std::perror(what);
  std::abort();
}

// A file of 0xFF. Memory begins as a private image of it, so that pages which nobody touches cost nothing.
int pattern_file() {
  static const int file = [] {
    const int made = memfd_create("cuda_standin", MFD_CLOEXEC);
    if (made < 0 || ftruncate(made, kPattern) != 0) die("cuda_standin: memfd_create");
    void* mapped = mmap(nullptr, kPattern, PROT_READ | PROT_WRITE, MAP_SHARED, made, 0);
    if (mapped == MAP_FAILED) die("cuda_standin: mmap");
    std::memset(mapped, 0xFF, kPattern);
    munmap(mapped, kPattern);
    return made;
  }();
  return file;
}

size_t round_up(size_t bytes, size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// What runs now, for the message of a fault.
const char* running = nullptr;

void say(const char* text) {
  if (write(STDERR_FILENO, text, std::strlen(text)) < 0) std::abort();
}

// Says what a program did to device memory before it dies of it.
struct sigaction previous_action;
void on_fault(int number, siginfo_t* info, void*) {
  if (was_given(info->si_addr)) {
    char text[300];
    const Allocation* memory = find_memory(info->si_addr);
    if (memory) {
      std::snprintf(text, sizeof text, "cuda_standin: access to %p, in %zu bytes of device %d from %p on, by ",
                    info->si_addr, memory->bytes, memory->device, static_cast<void*>(memory->start));
    } else {
      std::snprintf(text, sizeof text,
                    "cuda_standin: access to %p, device memory that was released or ends before it, by ",
                    info->si_addr);
    }
    say(text);
    say(running ? running : "host code");
    say(running ? ", which ran then\n" : "\n");
  }
  sigaction(number, &previous_action, nullptr);  // the access is tried again, and meets what was there before
}

void catch_faults() {
  static const bool done = [] {
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    return sigaction(SIGSEGV, &action, &previous_action) == 0;
  }();
  (void)done;
}

bool is_open(const Allocation& memory, Devices devices) {
  if (memory.on_host()) return true;
  if (!memory.usable) return false;
  if (!state().options.protect) return true;
  for (int i = 0; i < state().options.devices; ++i) {
    if ((devices & bit(i)) && accessible_from(memory, i)) return true;
  }
  return false;
}

int protection(const Allocation& memory, Devices devices) {
  return is_open(memory, devices) ? PROT_READ | PROT_WRITE : PROT_NONE;
}

void set_open(Devices devices) {
  const Devices before = std::exchange(state().open, devices);
  if (before == devices || !state().options.protect) return;
  for (const auto& [start, memory] : state().memory) {
    if (!memory.on_host() && is_open(memory, before) != is_open(memory, devices)) update_protection(memory);
  }
}

}  // namespace

char* reserve_pages(size_t bytes, size_t alignment) {
  catch_faults();
  Space& s = space();
  const size_t needed = round_up(bytes, kPage) + kPage + alignment;
  if (s.arenas.empty() || static_cast<size_t>(s.arenas.back().end - s.next) < needed) {
    const size_t size = std::max(kArena, round_up(needed, kPage));
    void* mapped = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    s.next = static_cast<char*>(mapped);
    s.arenas.push_back({s.next, s.next + size});
  }
  char* const start =
      reinterpret_cast<char*>(round_up(reinterpret_cast<uintptr_t>(s.next), std::max(alignment, kPage)));
  s.next = start + round_up(bytes, kPage) + kPage;
  return start;
}

void map_pages(char* pages, size_t bytes, int protection) {
  for (size_t done = 0; done < bytes; done += kPattern) {
    const size_t part = std::min(kPattern, bytes - done);
    if (mmap(pages + done, part, protection, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, pattern_file(), 0) == MAP_FAILED)
      die("cuda_standin: mmap");
  }
}

void unmap_pages(char* pages, size_t bytes) {
  if (mmap(pages, bytes, PROT_NONE, MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED)
    die("cuda_standin: mmap");
}

Allocation& new_memory(MemoryKind kind, int device, size_t bytes) {
  // It ends at a page that stays closed, as near as its alignment lets it.
  const size_t block = round_up(std::max<size_t>(bytes, 1), kAlignment);
  Allocation memory;
  memory.id = state().next_id++;
  memory.kind = kind;
  memory.device = device;
  memory.bytes = bytes;
  memory.page_bytes = round_up(block, kPage);
  memory.pages = reserve_pages(memory.page_bytes, kPage);
  if (!memory.pages) die("cuda_standin: mmap");
  memory.start = memory.pages + memory.page_bytes - block;
  memory.usable = kind != MemoryKind::kPool;
  map_pages(memory.pages, memory.page_bytes, protection(memory, state().open));
  ASAN_POISON_MEMORY_REGION(memory.pages, memory.page_bytes);
  ASAN_UNPOISON_MEMORY_REGION(memory.start, memory.bytes);
  if (!memory.on_host()) device_state(device).used += block;
  char* const start = memory.start;
  return state().memory.emplace(start, std::move(memory)).first->second;
}

void delete_memory(Allocation& memory) {
  if (memory.kind == MemoryKind::kDevice || memory.kind == MemoryKind::kPool) {
    device_state(memory.device).used -= round_up(std::max<size_t>(memory.bytes, 1), kAlignment);
  }
  if (memory.kind != MemoryKind::kRegistered) unmap_pages(memory.pages, memory.page_bytes);
  char* const start = memory.start;
  state().memory.erase(start);
}

void share_memory(Allocation& memory) {
  const int file = memfd_create("cuda_standin_memory", MFD_CLOEXEC);
  if (file < 0) die("cuda_standin: memfd_create");
  memory.shared = std::make_shared<SharedFile>(file, memory.page_bytes, false);
  if (mprotect(memory.pages, memory.page_bytes, PROT_READ) != 0) die("cuda_standin: mprotect");
  const auto offset = static_cast<size_t>(memory.start - memory.pages);
  for (size_t done = 0; done < memory.bytes;) {
    const ssize_t part = pwrite(file, memory.start + done, memory.bytes - done, static_cast<off_t>(offset + done));
    if (part <= 0) die("cuda_standin: pwrite");
    done += static_cast<size_t>(part);
  }
  if (mmap(memory.pages, memory.page_bytes, protection(memory, state().open), MAP_SHARED | MAP_FIXED, file, 0) ==
      MAP_FAILED)
    die("cuda_standin: mmap");
}

Allocation& import_memory(std::shared_ptr<SharedFile> file, int device, size_t bytes) {
  Allocation memory;
  memory.id = state().next_id++;
  memory.kind = MemoryKind::kImported;
  memory.device = device;
  memory.bytes = bytes;
  memory.page_bytes = file->bytes();
  memory.pages = reserve_pages(memory.page_bytes, kPage);
  if (!memory.pages) die("cuda_standin: mmap");
  memory.start = memory.pages + memory.page_bytes - round_up(std::max<size_t>(bytes, 1), kAlignment);
  if (mmap(memory.pages, memory.page_bytes, protection(memory, state().open), MAP_SHARED | MAP_FIXED, file->file(),
           0) == MAP_FAILED)
    die("cuda_standin: mmap");
  ASAN_POISON_MEMORY_REGION(memory.pages, memory.page_bytes);
  ASAN_UNPOISON_MEMORY_REGION(memory.start, memory.bytes);
  memory.shared = std::move(file);
  char* const start = memory.start;
  return state().memory.emplace(start, std::move(memory)).first->second;
}

void update_protection(const Allocation& memory) {
  if (mprotect(memory.pages, memory.page_bytes, protection(memory, state().open)) != 0) die("cuda_standin: mprotect");
}

void open_memory(Devices devices) {
  set_open(devices);
}

void set_running(const char* name) {
  running = name;
}

void close_memory() {
  set_open(0);
}

void clear_memory() {
  close_memory();
  while (!state().memory.empty()) delete_memory(state().memory.begin()->second);
}

size_t free_bytes(int device) {
  const size_t total = state().options.memory_bytes, used = device_state(device).used + kept_bytes(device);
  return total > used ? total - used : 0;
}

Allocation* find_memory(const void* pointer) {
  auto* const address = static_cast<char*>(const_cast<void*>(pointer));
  auto it = state().memory.upper_bound(address);
  if (it == state().memory.begin()) return nullptr;
  Allocation& memory = (--it)->second;
  return address < memory.start + std::max<size_t>(memory.bytes, 1) ? &memory : nullptr;
}

bool accessible_from(const Allocation& memory, int device) {
  if (memory.on_host()) return true;
  if (memory.kind == MemoryKind::kMapped) {
    return std::find(memory.accessible_from.begin(), memory.accessible_from.end(), device) !=
           memory.accessible_from.end();
  }
  if (memory.device == device) return true;
  if (memory.kind == MemoryKind::kPool) {
    const Pool* pool = state().pools.find(memory.pool);
    return pool && pool->peers.contains(device);
  }
  return device_state(device).peers.contains(memory.device);
}

bool accessible(const void* pointer, size_t bytes, int device) {
  const char* at = static_cast<const char*>(pointer);
  const char* const end = at + std::max<size_t>(bytes, 1);
  while (at < end) {
    const Allocation* memory = find_memory(at);
    if (!memory || !accessible_from(*memory, device)) return false;
    at = memory->start + std::max<size_t>(memory->bytes, 1);
  }
  return true;
}

bool was_given(const void* pointer) {
  const char* const address = static_cast<const char*>(pointer);
  return std::any_of(space().arenas.begin(), space().arenas.end(),
                     [&](const Arena& arena) { return address >= arena.begin && address < arena.end; });
}

Held hold(const void* pointer) {
  const Allocation* memory = find_memory(pointer);
  return {pointer, memory ? memory->id : 0};
}

void check_held(const Held& held, const std::string& name) {
  if (held.id == 0) return;
  const Allocation* memory = find_memory(held.pointer);
  if (!memory || memory->id != held.id) {
    throw DeviceError{cudaErrorIllegalAddress, name + ": runs when its memory has been released"};
  }
  if (!memory->usable)
    throw DeviceError{cudaErrorIllegalAddress,
                      name + ": runs outside the turns of its memory's allocation and release"};
}

cudaError_t check_range(const void* pointer, size_t bytes, const char* call) {
  const char* at = static_cast<const char*>(pointer);
  const char* const end = at + bytes;
  const Allocation* memory = find_memory(at);
  if (!memory) {
    if (!was_given(at)) return cudaSuccess;
    add_misuse(std::string(call) + ": an address of memory that is not allocated");
    return cudaErrorInvalidValue;
  }
  while (at < end) {
    if (!memory) {
      add_misuse(std::string(call) + ": a range that ends behind its memory");
      return cudaErrorInvalidValue;
    }
    at = memory->start + std::max<size_t>(memory->bytes, 1);
    memory = at < end ? find_memory(at) : nullptr;
  }
  return cudaSuccess;
}

}  // namespace cuda_standin
