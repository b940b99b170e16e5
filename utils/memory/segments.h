// What allocators of devices hold in large pieces, of which blocks are parts: CUDA's, through
// //utils/profiler:cuda_memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "c10/core/device.h"

namespace torch::memory {

/// A part of a segment: in use, freed and waiting for a stream (active alone), or free.
struct SegmentBlock {
  uintptr_t address = 0;
  size_t bytes = 0;
  size_t requested_bytes = 0;
  bool is_allocated = false;
  bool is_active = false;
};

/// Memory that an allocator took from the device in one piece.
struct Segment {
  c10::Device device = c10::Device(c10::DeviceType::CPU);
  uintptr_t address = 0;
  size_t bytes = 0;
  int64_t stream = 0;
  bool is_large = false;
  bool is_expandable = false;
  /// Of graphs and of MemPool; (0, 0): all others'.
  std::pair<int64_t, int64_t> pool{0, 0};
  /// Without gaps, by address.
  std::vector<SegmentBlock> blocks;
};

namespace detail {

struct SegmentEvent {
  const char* action;  ///< static: "segment_alloc"
  c10::Device device;
  uintptr_t address;
  size_t bytes;
  int64_t stream;
};

/// The segments that there are now; null where no such allocator is linked.
extern std::vector<Segment> (*segments)();
/// Told of segments that come and go; null while no history is recorded.
extern std::atomic<void (*)(const SegmentEvent&)> segment_listener;

}  // namespace detail
}  // namespace torch::memory
