// Handles of libraries that one thread at a time may use.
#pragma once

#include <mutex>
#include <vector>

#include "c10/core/device.h"
#include "c10/cuda/device.h"
#include "c10/cuda/stream.h"
#include "c10/util/exception.h"

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

/// The calling thread's handle of the current device, on its current stream, by set_stream(handle, stream).
template <class Handle, Handle (*make)(), class SetStream>
Handle current_handle(const char* library, const SetStream& set_stream) {
  const c10::DeviceIndex device = c10::cuda::current_device();
  TORCH_CHECK(device < C10_COMPILE_TIME_MAX_GPUS, library, ": no more than ", C10_COMPILE_TIME_MAX_GPUS,
              " devices are supported");
  c10::cuda::SetTargetDevice();
  const Handle handle = handle_of_thread<Handle, make>(device);
  const cudaStream_t stream = c10::cuda::getCurrentCUDAStream();
  set_stream(handle, stream);
  return handle;
}

}  // namespace at::cuda
