#include "c10/cuda/event_handle.h"

#include <mutex>
#include <utility>
#include <vector>

#include "c10/cuda/device.h"
#include "c10/cuda/guard.h"

namespace c10::cuda {
namespace {

// The events that nobody uses, by device. Never destroyed: memory may come back when the program ends.
struct EventPool {
  std::mutex mutex;
  std::vector<cudaEvent_t> free[C10_COMPILE_TIME_MAX_GPUS];
};
EventPool& pool() {
  static EventPool* events = new EventPool;
  return *events;
}

}  // namespace

cudaEvent_t create_event(DeviceIndex device, unsigned flags) {
  const CUDAGuard guard(device);
  cudaEvent_t event = nullptr;
  C10_CUDA_CHECK(cudaEventCreateWithFlags(&event, flags));
  return event;
}

void destroy_event(cudaEvent_t event, DeviceIndex device) noexcept {
  const ReleaseGuard guard(device);  // so that the call makes no context elsewhere
  try {
    C10_CUDA_CHECK_WARN(cudaEventDestroy(event));
  } catch (...) {  // a warning handler's
  }
}

void record_event(cudaEvent_t event, const CUDAStream& stream, unsigned flags) {
  const CUDAGuard guard(stream.device_index());
  C10_CUDA_CHECK(cudaEventRecordWithFlags(event, stream, flags));
}

void block_on_event(cudaEvent_t event, const CUDAStream& stream, unsigned flags) {
  const CUDAGuard guard(stream.device_index());
  C10_CUDA_CHECK(cudaStreamWaitEvent(stream, event, flags));
}

bool query_event(cudaEvent_t event) {
  const cudaError_t status = C10_CUDA_ERROR_HANDLED(cudaEventQuery(event));
  if (status == cudaErrorNotReady) {
    C10_CUDA_CLEAR_ERROR();
    return false;
  }
  check_status(status, "cudaEventQuery");
  return true;
}

void synchronize_event(cudaEvent_t event) {
  C10_CUDA_CHECK(cudaEventSynchronize(event));
}

float event_elapsed_time(cudaEvent_t first, cudaEvent_t second, DeviceIndex device) {
  const CUDAGuard guard(device);
  float milliseconds = 0;
  C10_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, first, second));
  return milliseconds;
}

PooledEvent::PooledEvent(DeviceIndex device) : event_(nullptr), device_(device) {
  {
    EventPool& events = pool();
    std::lock_guard lock(events.mutex);
    auto& free = events.free[device];
    if (!free.empty()) {
      event_ = free.back();
      free.pop_back();
    }
  }
  if (event_ == nullptr) event_ = create_event(device, cudaEventDisableTiming);
}

PooledEvent::PooledEvent(PooledEvent&& other) noexcept
    : event_(std::exchange(other.event_, nullptr)), device_(other.device_) {}

PooledEvent& PooledEvent::operator=(PooledEvent&& other) noexcept {
  std::swap(event_, other.event_);
  std::swap(device_, other.device_);
  return *this;
}

PooledEvent::~PooledEvent() {
  if (event_ == nullptr) return;
  EventPool& events = pool();
  std::lock_guard lock(events.mutex);
  events.free[device_].push_back(event_);
}

void empty_event_pool() noexcept {
  EventPool& events = pool();
  std::lock_guard lock(events.mutex);
  for (DeviceIndex device = 0; device < C10_COMPILE_TIME_MAX_GPUS; ++device) {
    for (const cudaEvent_t event : std::exchange(events.free[device], {})) destroy_event(event, device);
  }
}

}  // namespace c10::cuda
