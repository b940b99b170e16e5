// Events that say when a stream no longer uses a block.
#pragma once

#include <driver_types.h>

#include <utility>
#include <vector>

#include "c10/core/device.h"

namespace c10::cuda::CUDACachingAllocator {

/// An event of a device, destroyed with its owner unless it went back to the pool.
class Event {
 public:
  /// Makes one. The device is current.
  explicit Event(c10::DeviceIndex device);
  Event(Event&& other) noexcept : device_(other.device_), event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(event_, other.event_);
    return *this;
  }
  ~Event();

  /// Throws where CUDA does not destroy it; it is still there then.
  void destroy();

  c10::DeviceIndex device() const { return device_; }
  cudaEvent_t get() const { return event_; }

 private:
  c10::DeviceIndex device_;
  cudaEvent_t event_ = nullptr;
};

/// Events that are not in use.
class EventPool {
 public:
  /// An event recorded behind what is on `stream` of `device` now.
  Event record(c10::DeviceIndex device, cudaStream_t stream);
  void give_back(Event event) { idle_.push_back(std::move(event)); }
  void clear() {
    for (; !idle_.empty(); idle_.pop_back()) idle_.back().destroy();
  }

 private:
  std::vector<Event> idle_;
};

}  // namespace c10::cuda::CUDACachingAllocator
