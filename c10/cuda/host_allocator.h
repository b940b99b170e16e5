// Pinned host memory, which devices read and write by themselves, kept for reuse: making it is dear.
//
//   c10::DataPtr staging = at::cuda::getPinnedMemoryAllocator()->allocate(bytes);
//   cudaMemcpyAsync(staging.get(), from, bytes, cudaMemcpyDefault, stream);
//   at::cuda::CachingHostAllocator_recordEvent(staging.get(), staging.get_context(), stream);
//
// Sizes are rounded up to powers of two, and a block serves requests of its size class only. A block that streams were
// recorded for is given out again when their work of the time of its release is done; nobody waits for that.
#pragma once

#include <cstddef>
#include <cstdint>

#include "c10/cuda/stat.h"
#include "c10/cuda/stream.h"
#include "c10/memory/allocator.h"

namespace at {

/// Blocks that were taken from CUDA, those in use or waiting for streams, the same in bytes, and the calls to CUDA with
/// the microseconds that they took.
struct HostStats {
  c10::CachingAllocator::Stat allocations;
  c10::CachingAllocator::Stat active_requests;
  c10::CachingAllocator::Stat allocated_bytes;
  c10::CachingAllocator::Stat active_bytes;
  c10::CachingAllocator::DurationStat host_alloc_time;
  c10::CachingAllocator::DurationStat host_free_time;
  int64_t num_host_alloc = 0;
  int64_t num_host_free = 0;
};

/// An allocator of pinned memory. All functions may be called from any thread.
struct HostAllocator : c10::Allocator {
  /// The block of `ctx`, the context of its DataPtr, or where that is null the one that starts at `ptr`, is used by
  /// work that `stream` has now. False for memory of others.
  virtual bool record_event(void* ptr, void* ctx, c10::Stream stream) = 0;
  /// Gives the free blocks back to CUDA.
  virtual void empty_cache() = 0;
  virtual HostStats get_stats() = 0;
  virtual void reset_accumulated_stats() = 0;
  virtual void reset_peak_stats() = 0;
};

}  // namespace at

namespace at::cuda {

/// The allocator of the options pinned_use_cuda_host_register, pinned_num_register_threads and
/// pinned_use_background_threads (c10/cuda/allocator_config.h) that are in force when memory is made: by mapping pages
/// first, with so many threads, and registering them then, which holds CUDA's lock for less time than making them in
/// one call; and with a thread of its own that looks which streams are done, rather than whoever asks for memory.
HostAllocator* getCachingHostAllocator();
inline HostAllocator* CachingHostAllocator_getAllocator() {
  return getCachingHostAllocator();
}
inline HostAllocator* getPinnedMemoryAllocator() {
  return getCachingHostAllocator();
}

/// `size` bytes of pinned memory. Throws c10::OutOfMemoryError.
inline c10::DataPtr HostAlloc(size_t size) {
  return getCachingHostAllocator()->allocate(size);
}

inline bool CachingHostAllocator_recordEvent(void* ptr, void* ctx, c10::cuda::CUDAStream stream) {
  return getCachingHostAllocator()->record_event(ptr, ctx, stream);
}
inline void CachingHostAllocator_emptyCache() {
  getCachingHostAllocator()->empty_cache();
}
inline HostStats CachingHostAllocator_getStats() {
  return getCachingHostAllocator()->get_stats();
}
inline void CachingHostAllocator_resetAccumulatedStats() {
  getCachingHostAllocator()->reset_accumulated_stats();
}
inline void CachingHostAllocator_resetPeakStats() {
  getCachingHostAllocator()->reset_peak_stats();
}

/// Whether memory is pinned, by whomever. False where no device was used yet.
bool is_pinned_ptr(const void* data);

}  // namespace at::cuda
