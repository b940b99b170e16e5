// Handles of libraries that one thread at a time may use.
#pragma once

#include <mutex>
#include <vector>

#include "c10/core/device.h"
#include "c10/cuda/device.h"

namespace at::cuda {

/// The calling thread's handle of a device, which must be the current one: from make() at the first call, unless a
/// thread that has ended left one. Handles stay until the process ends.
template <class Handle, Handle (*make)()>
Handle handle_of_thread(c10::DeviceIndex device) {
  struct Shared {
    std::mutex mutex;
    std::vector<Handle> free[C10_COMPILE_TIME_MAX_GPUS];
  };
  static Shared* const shared = new Shared;  // outlives threads
  struct Mine {
    Handle of_device[C10_COMPILE_TIME_MAX_GPUS] = {};

    Mine() = default;
    Mine(const Mine&) = delete;
    Mine& operator=(const Mine&) = delete;
    ~Mine() {
      const std::lock_guard lock(shared->mutex);
      for (int i = 0; i < C10_COMPILE_TIME_MAX_GPUS; ++i) {
        if (of_device[i] != Handle{}) shared->free[i].push_back(of_device[i]);
      }
    }
  };
  static thread_local Mine mine;
  Handle& handle = mine.of_device[device];
  if (handle != Handle{}) return handle;
  const std::lock_guard lock(shared->mutex);
  std::vector<Handle>& free = shared->free[device];
  if (free.empty()) return handle = make();
  handle = free.back();
  free.pop_back();
  return handle;
}

}  // namespace at::cuda
