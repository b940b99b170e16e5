#include "utils/serialize/counting_allocator.h"

#include <malloc.h>

#include <cstdlib>
#include <new>

namespace torch::serialize::testing {
namespace {
thread_local AllocationCounts counts;

void* counted(size_t bytes) {
  void* p = std::malloc(bytes == 0 ? 1 : bytes);
  if (p == nullptr) throw std::bad_alloc();
  counts.live += malloc_usable_size(p);
  if (counts.live > counts.peak) counts.peak = counts.live;
  if (bytes > counts.largest) counts.largest = bytes;
  return p;
}

void release(void* p) {
  if (p == nullptr) return;
  counts.live -= malloc_usable_size(p);
  std::free(p);
}
}  // namespace

AllocationCounts allocation_counts() { return counts; }

size_t reset_allocation_counts() {
  counts.peak = counts.live;
  counts.largest = 0;
  return counts.live;
}

}  // namespace torch::serialize::testing

void* operator new(size_t bytes) { return torch::serialize::testing::counted(bytes); }
void* operator new[](size_t bytes) { return torch::serialize::testing::counted(bytes); }
void operator delete(void* p) noexcept { torch::serialize::testing::release(p); }
void operator delete[](void* p) noexcept { torch::serialize::testing::release(p); }
void operator delete(void* p, size_t) noexcept { torch::serialize::testing::release(p); }
void operator delete[](void* p, size_t) noexcept { torch::serialize::testing::release(p); }
