// What programs ask of the memory of CUDA devices, by the names of torch.cuda and torch.cuda.memory. Where a function
// takes a device, -1 is the current one.
//
//   torch::cuda::memory::_record_memory_history();
//   run();
//   torch::cuda::memory::_dump_snapshot("run.json");
#pragma once

#include <driver_types.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "c10/core/device.h"
#include "c10/cuda/caching_allocator.h"

namespace torch::cuda {

/// The device's statistics under their documented names: "allocated_bytes.all.current", "num_ooms", ... What counts
/// requests stands under "allocation" and under "allocated".
std::map<std::string, int64_t> memory_stats(c10::DeviceIndex device = -1);
/// Bytes in use by the program, and the most since reset_peak_memory_stats.
int64_t memory_allocated(c10::DeviceIndex device = -1);
int64_t max_memory_allocated(c10::DeviceIndex device = -1);
/// Bytes taken from CUDA.
int64_t memory_reserved(c10::DeviceIndex device = -1);
int64_t max_memory_reserved(c10::DeviceIndex device = -1);
void reset_peak_memory_stats(c10::DeviceIndex device = -1);
void reset_accumulated_memory_stats(c10::DeviceIndex device = -1);

/// A table of the statistics; `abbreviated` leaves out what is of each pool.
std::string memory_summary(c10::DeviceIndex device = -1, bool abbreviated = false);

/// Gives cached memory back to CUDA.
void empty_cache();
/// Limits what a device's allocator takes to a part, 0 to 1, of the device's memory.
void set_per_process_memory_fraction(double fraction, c10::DeviceIndex device = -1);
double get_per_process_memory_fraction(c10::DeviceIndex device = -1);

/// All segments, or those of one pool.
std::vector<c10::cuda::CUDACachingAllocator::SegmentInfo> memory_snapshot(c10::MempoolId_t mempool_id = {0, 0});

/// "native", "cudaMallocAsync" or "pluggable".
std::string get_allocator_backend();

/// Memory for other libraries; give it back with caching_allocator_delete. Without a stream it is for the device's
/// current one.
void* caching_allocator_alloc(size_t size, c10::DeviceIndex device = -1,
                              std::optional<cudaStream_t> stream = std::nullopt);
void caching_allocator_delete(void* ptr);
/// Switched off, memory goes back to CUDA when it is freed.
void caching_allocator_enable(bool value = true);

using c10::cuda::MemPool;
/// Allocations of the thread come from the pool while it lives.
using use_mem_pool = c10::cuda::MemPoolContext;

namespace memory {

using cuda::caching_allocator_alloc;
using cuda::caching_allocator_delete;
using cuda::caching_allocator_enable;
using cuda::empty_cache;
using cuda::get_allocator_backend;
using cuda::get_per_process_memory_fraction;
using cuda::max_memory_allocated;
using cuda::max_memory_reserved;
using cuda::memory_allocated;
using cuda::memory_reserved;
using cuda::memory_snapshot;
using cuda::memory_stats;
using cuda::memory_summary;
using cuda::MemPool;
using cuda::reset_accumulated_memory_stats;
using cuda::reset_peak_memory_stats;
using cuda::set_per_process_memory_fraction;
using cuda::use_mem_pool;

/// Starts recording: `enabled` "state" of memory that is in use, "all" also the last `max_entries` events a device;
/// nothing ends it. The stack is recorded of allocations of memory that is in use ("state"), of the history's
/// allocations too ("alloc"), of frees too
/// ("all"), or nothing. Throws c10::ValueError for another word.
void _record_memory_history(std::optional<std::string_view> enabled = "all",
                            std::optional<std::string_view> context = "all",
                            size_t max_entries = std::numeric_limits<int64_t>::max());
c10::cuda::CUDACachingAllocator::SnapshotInfo _snapshot();
/// Writes a snapshot as JSON, with the keys of PyTorch's snapshots.
void _dump_snapshot(const std::string& filename = "dump_snapshot.json");

}  // namespace memory
}  // namespace torch::cuda
