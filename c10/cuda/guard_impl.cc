#include "c10/cuda/guard_impl.h"

#include <atomic>

#include "c10/cuda/device.h"
#include "c10/cuda/event_handle.h"
#include "c10/cuda/guard.h"
#include "c10/cuda/stream.h"
#include "c10/util/exception.h"

namespace c10::cuda {
namespace {

constinit std::atomic<void (*)(const DataPtr&, CUDAStream)> g_record_stream{nullptr};

DeviceIndex index_of(Device device) {
  TORCH_CHECK(device.is_cuda(), "expected a CUDA device, got ", device);
  return device.index();
}

}  // namespace

void set_record_stream(void (*record)(const DataPtr&, CUDAStream)) {
  g_record_stream.store(record);
}

namespace impl {

CUDAGuardImpl::CUDAGuardImpl(DeviceType type) {
  index_of(Device(type));
}

Device CUDAGuardImpl::exchangeDevice(Device device) const {
  const DeviceIndex index = index_of(device);
  return Device(DeviceType::CUDA, index < 0 ? current_device() : ExchangeDevice(index));
}

Device CUDAGuardImpl::getDevice() const {
  return Device(DeviceType::CUDA, current_device());
}

void CUDAGuardImpl::setDevice(Device device) const {
  const DeviceIndex index = index_of(device);
  if (index >= 0) C10_CUDA_CHECK(SetDevice(index));
}

void CUDAGuardImpl::uncheckedSetDevice(Device device) const noexcept {
  RestoreDevice(device.index());
}

DeviceIndex CUDAGuardImpl::deviceCount() const noexcept {
  return device_count();
}

void CUDAGuardImpl::synchronizeDevice(DeviceIndex device_index) const {
  const OptionalCUDAGuard guard(device_index >= 0 ? std::optional(device_index) : std::nullopt);
  device_synchronize();
}

Stream CUDAGuardImpl::getStream(Device device) const {
  return getCurrentCUDAStream(index_of(device));
}
Stream CUDAGuardImpl::getDefaultStream(Device device) const {
  return getDefaultCUDAStream(index_of(device));
}
Stream CUDAGuardImpl::getStreamFromGlobalPool(Device device, bool isHighPriority) const {
  return getStreamFromPool(isHighPriority, index_of(device));
}
Stream CUDAGuardImpl::getNewStream(Device device, int priority) const {
  return getStreamFromPool(priority, index_of(device));
}

Stream CUDAGuardImpl::exchangeStream(Stream stream) const {
  const CUDAStream next(stream);
  const CUDAStream before = getCurrentCUDAStream(next.device_index());
  setCurrentCUDAStream(next);
  return before;
}

bool CUDAGuardImpl::queryStream(const Stream& stream) const {
  return CUDAStream(stream).query();
}
void CUDAGuardImpl::synchronizeStream(const Stream& stream) const {
  CUDAStream(stream).synchronize();
}
void* CUDAGuardImpl::getStreamNativeHandle(const Stream& stream) const {
  return CUDAStream(stream).stream();
}

void CUDAGuardImpl::destroyEvent(void* event, DeviceIndex device_index) const noexcept {
  if (event != nullptr) destroy_event(static_cast<cudaEvent_t>(event), device_index);
}

void CUDAGuardImpl::record(void** event, const Stream& stream, DeviceIndex device_index, EventFlag flag) const {
  const CUDAStream on(stream);
  TORCH_CHECK(device_index == -1 || device_index == on.device_index(), "Event::record: the event is of device ",
              static_cast<int>(device_index), " and cannot be recorded on ", stream);
  if (*event == nullptr) {
    *event =
        create_event(on.device_index(), flag == EventFlag::BACKEND_DEFAULT ? cudaEventDefault : cudaEventDisableTiming);
  }
  record_event(static_cast<cudaEvent_t>(*event), on);
}

void CUDAGuardImpl::block(void* event, const Stream& stream) const {
  if (event != nullptr) block_on_event(static_cast<cudaEvent_t>(event), CUDAStream(stream));
}
bool CUDAGuardImpl::queryEvent(void* event) const {
  return event == nullptr || query_event(static_cast<cudaEvent_t>(event));
}
void CUDAGuardImpl::synchronizeEvent(void* event) const {
  if (event != nullptr) synchronize_event(static_cast<cudaEvent_t>(event));
}
double CUDAGuardImpl::elapsedTime(void* first, void* second, DeviceIndex device_index) const {
  TORCH_CHECK(first != nullptr && second != nullptr, "Both events must be recorded before calculating elapsed time.");
  return event_elapsed_time(static_cast<cudaEvent_t>(first), static_cast<cudaEvent_t>(second), device_index);
}

void CUDAGuardImpl::recordDataPtrOnStream(const DataPtr& data, const Stream& stream) const {
  const CUDAStream on(stream);
  const auto record = g_record_stream.load();
  TORCH_CHECK_NOT_IMPLEMENTED(record != nullptr, "no allocator of CUDA memory is linked that can record streams");
  record(data, on);
}

}  // namespace impl
}  // namespace c10::cuda
