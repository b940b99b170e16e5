// Events by the runtime's handle, each on its device: what CUDAEvent and the guards' events are made of.
#pragma once

#include <cuda_runtime_api.h>

#include "c10/core/device.h"
#include "c10/cuda/stream.h"

namespace c10::cuda {

cudaEvent_t create_event(DeviceIndex device, unsigned flags);
/// Warns where that fails.
void destroy_event(cudaEvent_t event, DeviceIndex device) noexcept;
/// On the stream's device, which must be the event's.
void record_event(cudaEvent_t event, const CUDAStream& stream, unsigned flags = cudaEventRecordDefault);
void block_on_event(cudaEvent_t event, const CUDAStream& stream, unsigned flags = cudaEventWaitDefault);
/// Whether the work in front of the event is done.
bool query_event(cudaEvent_t event);
/// Waits for it.
void synchronize_event(cudaEvent_t event);
/// Milliseconds between two events of one device that took times.
float event_elapsed_time(cudaEvent_t first, cudaEvent_t second, DeviceIndex device);

/// An event without timing of a pool shared by all, which takes it back: making events is dear, and some calls may not
/// make them. Movable only.
class PooledEvent {
 public:
  explicit PooledEvent(DeviceIndex device);
  PooledEvent(PooledEvent&& other) noexcept;
  PooledEvent& operator=(PooledEvent&& other) noexcept;
  ~PooledEvent();

  cudaEvent_t event() const { return event_; }
  DeviceIndex device_index() const { return device_; }
  void record(const CUDAStream& stream) { record_event(event_, stream); }
  void block(const CUDAStream& stream) const { block_on_event(event_, stream); }
  bool query() const { return query_event(event_); }

 private:
  cudaEvent_t event_;
  DeviceIndex device_;
};

/// Destroys the events that wait in the pool.
void empty_event_pool() noexcept;

}  // namespace c10::cuda
