#include "c10/cuda/event.h"

#include <utility>

#include "c10/cuda/capture_mode.h"
#include "c10/cuda/event_handle.h"
#include "c10/cuda/exception.h"
#include "c10/cuda/guard.h"
#include "c10/util/exception.h"

namespace c10::cuda {
namespace {

bool is_captured(const CUDAStream& stream) {
  return capture_status(stream) == CaptureStatus::Active;
}

}  // namespace

CUDAEvent::CUDAEvent(DeviceIndex device_index, const cudaIpcEventHandle_t* handle)
    : flags_(cudaEventDisableTiming | cudaEventInterprocess), device_index_(device_index), was_recorded_(true) {
  TORCH_CHECK(handle != nullptr, "CUDAEvent: expected another process's event handle, got null");
  const CUDAGuard guard(device_index);
  C10_CUDA_CHECK(cudaIpcOpenEventHandle(&event_, *handle));
}

CUDAEvent::~CUDAEvent() {
  if (isCreated()) destroy_event(event_, device_index_);
}

bool CUDAEvent::query() const {
  return !isCreated() || query_event(event_);
}

void CUDAEvent::record(const CUDAStream& stream) {
  if (!isCreated()) create(stream.device_index());
  TORCH_CHECK(device_index_ == stream.device_index(), "CUDAEvent::record: the event is of device ",
              static_cast<int>(device_index_), " and cannot be recorded on ", stream.unwrap());
  const bool as_node = external_ && is_captured(stream);
  record_event(event_, stream, as_node ? cudaEventRecordExternal : cudaEventRecordDefault);
  was_recorded_ = true;
}

void CUDAEvent::block(const CUDAStream& stream) const {
  if (!isCreated()) return;
  const bool as_node = external_ && is_captured(stream);
  block_on_event(event_, stream, as_node ? cudaEventWaitExternal : cudaEventWaitDefault);
}

float CUDAEvent::elapsed_time(const CUDAEvent& other) const {
  TORCH_CHECK_VALUE((flags_ & cudaEventDisableTiming) == 0 && (other.flags_ & cudaEventDisableTiming) == 0,
                    "Both events must be created with argument 'enable_timing=True'.");
  TORCH_CHECK_VALUE(was_recorded_ && other.was_recorded_,
                    "Both events must be recorded before calculating elapsed time.");
  TORCH_CHECK(device_index_ == other.device_index_, "CUDAEvent::elapsed_time: the events are of devices ",
              static_cast<int>(device_index_), " and ", static_cast<int>(other.device_index_));
  TORCH_CHECK(query() && other.query(), "Both events must be completed before calculating elapsed time.");
  return event_elapsed_time(event_, other.event_, device_index_);
}

void CUDAEvent::synchronize() const {
  if (isCreated()) synchronize_event(event_);
}

void CUDAEvent::ipc_handle(cudaIpcEventHandle_t* handle) {
  TORCH_CHECK(handle != nullptr, "CUDAEvent::ipc_handle: there is no place for the handle");
  if (!isCreated()) create(getCurrentCUDAStream().device_index());
  const CUDAGuard guard(device_index_);
  C10_CUDA_CHECK(cudaIpcGetEventHandle(handle, event_));
}

void CUDAEvent::create(DeviceIndex device_index) {
  event_ = create_event(device_index, flags_);
  device_index_ = device_index;
}

void CUDAEvent::swap(CUDAEvent& other) noexcept {
  std::swap(event_, other.event_);
  std::swap(flags_, other.flags_);
  std::swap(device_index_, other.device_index_);
  std::swap(was_recorded_, other.was_recorded_);
  std::swap(external_, other.external_);
}

}  // namespace c10::cuda
