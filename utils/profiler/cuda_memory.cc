// Tells profiles and histories of memory what CUDA's caching allocator gives and takes back.
#include <array>
#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "c10/cuda/caching_allocator.h"
#include "c10/memory/allocation_observer.h"
#include "c10/util/exception.h"
#include "utils/memory/segments.h"

namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

std::array<std::atomic<int64_t>, 64> g_allocated;

c10::Device device_of(int index) {
  return c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(index));
}

void report(const allocator::TraceEntry& entry) {
  using Entry = allocator::TraceEntry;
  const bool is_of_segment = entry.action_ == Entry::SEGMENT_ALLOC || entry.action_ == Entry::SEGMENT_FREE ||
                             entry.action_ == Entry::SEGMENT_MAP || entry.action_ == Entry::SEGMENT_UNMAP;
  if (is_of_segment) {
    if (auto* const listener = torch::memory::detail::segment_listener.load()) {
      listener({allocator::action_name(entry.action_), device_of(entry.device_), entry.addr_, entry.size_,
                static_cast<int64_t>(reinterpret_cast<uintptr_t>(entry.stream_))});
    }
    return;
  }
  const bool is_allocation = entry.action_ == allocator::TraceEntry::ALLOC;
  if (!is_allocation && entry.action_ != allocator::TraceEntry::FREE_REQUESTED) return;
  const auto device = static_cast<size_t>(entry.device_);
  const int64_t bytes = is_allocation ? static_cast<int64_t>(entry.size_) : -static_cast<int64_t>(entry.size_);
  const int64_t total = g_allocated[device % g_allocated.size()].fetch_add(bytes) + bytes;
  c10::reportMemoryUsageToProfiler(reinterpret_cast<void*>(entry.addr_), bytes,
                                   total > 0 ? static_cast<size_t>(total) : 0, 0,
                                   device_of(entry.device_));
}

std::vector<torch::memory::Segment> segments() {
  std::vector<torch::memory::Segment> all;
  for (const allocator::SegmentInfo& info : allocator::snapshot().segments) {
    torch::memory::Segment segment;
    segment.device = device_of(info.device);
    segment.address = info.address;
    segment.bytes = info.total_size;
    segment.stream = static_cast<int64_t>(reinterpret_cast<uintptr_t>(info.stream));
    segment.is_large = info.is_large;
    segment.is_expandable = info.is_expandable;
    segment.pool = {static_cast<int64_t>(info.owner_private_pool_id.first),
                    static_cast<int64_t>(info.owner_private_pool_id.second)};
    uintptr_t address = info.address;
    for (const allocator::BlockInfo& block : info.blocks) {
      segment.blocks.push_back({address, block.size, block.requested_size, block.allocated, block.active});
      address += block.size;
    }
    all.push_back(std::move(segment));
  }
  return all;
}

void attach() {
  try {
    allocator::attachAllocatorTraceTracker(&report);
    torch::memory::detail::segments = &segments;
  } catch (const c10::NotImplementedError& e) {
    TORCH_WARN("the memory of CUDA devices will not be in profiles: ", e.msg());
  }
}

[[maybe_unused]] const bool g_registered = (c10::on_first_allocation_observer(&attach), true);

}  // namespace
