// What guards, streams and events of the core ask of CUDA devices.
#pragma once

#include "c10/core/device_guard_impl.h"

namespace c10::cuda {

class CUDAStream;

namespace impl {

struct CUDAGuardImpl final : c10::impl::DeviceGuardImplInterface {
  static constexpr DeviceType static_type = DeviceType::CUDA;

  CUDAGuardImpl() = default;
  /// Throws c10::Error for another type.
  explicit CUDAGuardImpl(DeviceType type);

  DeviceType type() const override { return DeviceType::CUDA; }
  Device exchangeDevice(Device device) const override;
  Device getDevice() const override;
  void setDevice(Device device) const override;
  /// Makes no context on a device that has none (c10/cuda/device.h).
  void uncheckedSetDevice(Device device) const noexcept override;
  DeviceIndex deviceCount() const noexcept override;
  void synchronizeDevice(DeviceIndex device_index) const override;

  Stream getStream(Device device) const override;
  Stream getDefaultStream(Device device) const override;
  Stream getStreamFromGlobalPool(Device device, bool isHighPriority = false) const override;
  Stream getNewStream(Device device, int priority = 0) const override;
  Stream exchangeStream(Stream stream) const override;
  bool queryStream(const Stream& stream) const override;
  void synchronizeStream(const Stream& stream) const override;
  void* getStreamNativeHandle(const Stream& stream) const override;

  void destroyEvent(void* event, DeviceIndex device_index) const noexcept override;
  void record(void** event, const Stream& stream, DeviceIndex device_index, EventFlag flag) const override;
  void block(void* event, const Stream& stream) const override;
  bool queryEvent(void* event) const override;
  void synchronizeEvent(void* event) const override;
  double elapsedTime(void* first, void* second, DeviceIndex device_index) const override;

  void recordDataPtrOnStream(const DataPtr& data, const Stream& stream) const override;
};

}  // namespace impl

/// What recordDataPtrOnStream does: the device's allocator registers its own before main. Without one it throws
/// c10::NotImplementedError.
void set_record_stream(void (*record)(const DataPtr& data, CUDAStream stream));

}  // namespace c10::cuda
