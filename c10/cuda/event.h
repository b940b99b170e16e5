// An event of a CUDA device.
#pragma once

#include <cuda_runtime_api.h>

#include <optional>

#include "c10/core/device.h"
#include "c10/cuda/stream.h"

namespace c10::cuda {

/// A flag of our own beside the runtime's: while a stream is captured, the event is recorded and waited for by nodes of
/// the graph, so that those outside can wait for it, rather than ordering the capture.
inline constexpr unsigned cudaEventExternal = 0x08;

/// A mark in a stream, made when it is first recorded, on that stream's device. Other streams wait for it with block(),
/// the calling thread with synchronize(). An event that was never recorded has happened. Movable only.
///
///   c10::cuda::CUDAEvent done;
///   done.record(producer);
///   done.block(consumer);
class CUDAEvent {
 public:
  CUDAEvent() noexcept = default;
  /// cudaEventDefault takes times, cudaEventInterprocess (with cudaEventDisableTiming) can go to other processes.
  explicit CUDAEvent(unsigned flags) noexcept
      : flags_(flags & ~cudaEventExternal), external_((flags & cudaEventExternal) != 0) {}
  /// Another process's event, from its ipc_handle().
  CUDAEvent(DeviceIndex device_index, const cudaIpcEventHandle_t* handle);
  CUDAEvent(const CUDAEvent&) = delete;
  CUDAEvent& operator=(const CUDAEvent&) = delete;
  CUDAEvent(CUDAEvent&& other) noexcept { swap(other); }
  CUDAEvent& operator=(CUDAEvent&& other) noexcept {
    swap(other);
    return *this;
  }
  ~CUDAEvent();

  operator cudaEvent_t() const { return event_; }
  bool operator<(const CUDAEvent& other) const { return event_ < other.event_; }

  bool isCreated() const { return event_ != nullptr; }
  /// Nothing before it is made.
  std::optional<Device> device() const {
    return isCreated() ? std::optional(Device(kCUDA, device_index_)) : std::nullopt;
  }
  /// -1 before it is made.
  DeviceIndex device_index() const { return device_index_; }
  cudaEvent_t event() const { return event_; }

  /// Whether the work in front of the event is done.
  bool query() const;
  /// Puts the mark behind the work that a stream has now: the current one of the current device, or another of the
  /// event's device. Recording again moves it.
  void record() { record(getCurrentCUDAStream()); }
  void record(const CUDAStream& stream);
  /// Does nothing for an event that was recorded before.
  void recordOnce(const CUDAStream& stream) {
    if (!was_recorded_) record(stream);
  }
  /// Work put on `stream`, of any device, from now on waits for the event.
  void block(const CUDAStream& stream) const;
  /// Milliseconds to `other`. Both must take times and have happened; c10::ValueError or c10::Error otherwise.
  float elapsed_time(const CUDAEvent& other) const;
  /// Waits until the event has happened.
  void synchronize() const;
  /// What another process makes the same event from: of an event with cudaEventInterprocess.
  void ipc_handle(cudaIpcEventHandle_t* handle);

 private:
  void create(DeviceIndex device_index);
  void swap(CUDAEvent& other) noexcept;

  cudaEvent_t event_ = nullptr;
  unsigned flags_ = cudaEventDisableTiming;
  DeviceIndex device_index_ = -1;
  bool was_recorded_ = false;
  bool external_ = false;
};

}  // namespace c10::cuda

namespace at::cuda {
using c10::cuda::CUDAEvent;
using c10::cuda::cudaEventExternal;
}  // namespace at::cuda
