// Where memory goes: a history of what was allocated, by whom, and what was held at the highest moment.
//
//   torch::memory::record_memory_history();
//   train_step();
//   const torch::memory::Snapshot snapshot = torch::memory::snapshot();
//   std::cout << snapshot.peak_table(10);
//   snapshot.save("memory.pickle");         // for https://pytorch.org/memory_viz
//   torch::memory::stop_memory_history();
//
// This is the memory of tensors on the CPU, and of devices whose allocators tell c10::reportMemoryUsageToProfiler.
// With //utils/profiler:cuda_memory these are CUDA's, too, with the segments that their blocks are in. CUDA's caching
// allocator has a history of its own besides: torch::cuda::memory (c10/cuda/memory.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "c10/core/device.h"
#include "c10/value/ivalue.h"
#include "utils/memory/segments.h"

namespace torch::memory {

struct HistoryOptions {
  /// Whether the calls that lead to an allocation are kept: some microseconds each.
  bool stacks = true;
  /// Of the trace; older events are dropped. The blocks in use are all kept.
  size_t max_entries = size_t{1} << 20;
};

/// Who asked for a block.
struct Origin {
  /// The innermost operator, node or range of the program: "aten::mm"; empty for none, and in threads that do not work
  /// for the one that records.
  std::string range;
  /// The calls, the innermost first; c10::describe_frames().
  std::vector<void*> frames;
};

/// Something in use.
struct Block {
  uintptr_t address = 0;
  size_t bytes = 0;
  c10::Device device = c10::Device(c10::DeviceType::CPU);
  std::shared_ptr<const Origin> origin;
};

/// What happened.
struct Event {
  bool is_free = false;
  /// Of the block; that of its allocation, where it is freed.
  Block block;
  /// Microseconds since 1970.
  int64_t time_us = 0;
  /// In use on the device afterwards.
  size_t total = 0;
  /// Of the allocator itself: "segment_alloc", "segment_free", "segment_map", "segment_unmap", and the segment is
  /// `block`; empty for a block that is allocated or freed.
  std::string action;
  int64_t stream = 0;
};

/// What one range held when most was in use.
struct PeakShare {
  std::string range;
  size_t bytes = 0;
  int64_t blocks = 0;
};

struct Snapshot {
  /// In use now, of what began while the history was recorded.
  std::vector<Block> blocks;
  std::vector<Event> events;
  /// Of CUDA's caching allocator, where //utils/profiler:cuda_memory is linked; they were there before, too.
  std::vector<Segment> segments;
  /// In use at the highest moment, on all devices together; it may lie before the oldest event.
  size_t peak_bytes = 0;
  /// Who held it, the largest first; their sum is peak_bytes.
  std::vector<PeakShare> peak_by_range;

  /// peak_by_range as text, at most `row_limit` rows (-1: all).
  std::string peak_table(int64_t row_limit = -1) const;
  /// As torch.cuda.memory._snapshot() gives it: "segments" and "device_traces". Where a device has no segments, each
  /// block is one of its own. The CPU is device 0; a device of another type follows with its index added to 1.
  c10::IValue to_value() const;
  /// As a pickle of that, which PyTorch's viewer and torch.cuda._memory_viz read. Throws Error where the file cannot be
  /// written.
  void save(const std::string& path) const;
};

/// Begins, and forgets what was recorded before. Throws Error where it is on.
void record_memory_history(const HistoryOptions& options = {});
/// Ends it; the last history stays readable. Nothing where it is not on.
void stop_memory_history();
bool is_recording_memory_history();
/// Of the history that is on, or of the last one.
Snapshot snapshot();
/// snapshot().save(path).
void dump_snapshot(const std::string& path);

}  // namespace torch::memory
