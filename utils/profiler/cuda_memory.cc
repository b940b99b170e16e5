// Tells profiles and histories of memory what CUDA's caching allocator gives and takes back.
#include <array>
#include <atomic>

#include "c10/cuda/caching_allocator.h"
#include "c10/memory/allocation_observer.h"
#include "c10/util/exception.h"

namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

std::array<std::atomic<int64_t>, 64> g_allocated;

void report(const allocator::TraceEntry& entry) {
  const bool is_allocation = entry.action_ == allocator::TraceEntry::ALLOC;
  if (!is_allocation && entry.action_ != allocator::TraceEntry::FREE_REQUESTED) return;
  const auto device = static_cast<size_t>(entry.device_);
  const int64_t bytes = is_allocation ? static_cast<int64_t>(entry.size_) : -static_cast<int64_t>(entry.size_);
  const int64_t total = g_allocated[device % g_allocated.size()].fetch_add(bytes) + bytes;
  c10::reportMemoryUsageToProfiler(reinterpret_cast<void*>(entry.addr_), bytes,
                                   total > 0 ? static_cast<size_t>(total) : 0, 0,
                                   c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(entry.device_)));
}

void attach() {
  try {
    allocator::attachAllocatorTraceTracker(&report);
  } catch (const c10::NotImplementedError& e) {
    TORCH_WARN("the memory of CUDA devices will not be in profiles: ", e.msg());
  }
}

[[maybe_unused]] const bool g_registered = (c10::on_first_allocation_observer(&attach), true);

}  // namespace
