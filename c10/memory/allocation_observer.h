// Seeing what is allocated: how profiles and snapshots learn of memory. While nobody observes, nothing is slower.
#pragma once

#include <cstddef>
#include <cstdint>

#include "c10/core/device.h"

namespace c10 {

/// Told of every block that an allocator gives and takes back, in the thread that asks for it. May be called by several
/// threads at once; must not allocate through the allocator it observes.
///
///   struct Peak final : c10::AllocationObserver { ... };
///   c10::add_allocation_observer(&peak);
///   ...
///   c10::remove_allocation_observer(&peak);
class AllocationObserver {
 public:
  virtual ~AllocationObserver() = default;
  /// `bytes` at `data` are in use from now on. `total` is what is, of all blocks that began while somebody observed.
  virtual void allocated(const void* data, size_t bytes, size_t total, Device device) noexcept = 0;
  /// They no longer are. Not called for blocks that began while nobody observed: their sizes are not known.
  virtual void freed(const void* data, size_t bytes, size_t total, Device device) noexcept = 0;
};

/// Observes the CPU's allocator (whichever is set then) until it is taken away again. Storages that lie behind their
/// own headers otherwise have memory apart meanwhile.
void add_allocation_observer(AllocationObserver* observer);
/// Waits for calls of the observer in other threads. Unknown ones are ignored.
void remove_allocation_observer(AllocationObserver* observer);

/// Whether anybody observes.
bool memoryProfilingEnabled();
/// For allocators of other devices: tells the observers that `alloc_size` bytes (negative: freed) at `ptr` were given,
/// of `total_allocated` then. Cheap while nobody observes.
void reportMemoryUsageToProfiler(void* ptr, int64_t alloc_size, size_t total_allocated, size_t total_reserved,
                                 Device device);

/// `attach` is called once, when somebody observes for the first time (or now, if that was before): a backend has its
/// allocator call reportMemoryUsageToProfiler from then on.
void on_first_allocation_observer(void (*attach)());

}  // namespace c10
