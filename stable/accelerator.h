#pragma once

#include <cstdint>
#include <memory>

#include "c10/core/accelerator.h"
#include "c10/core/device_guard.h"
#include "c10/core/stream.h"
#include "stable/device.h"
#include "stable/shim.h"

/// The accelerator's devices and streams. All of it throws c10::Error where the program has no accelerator.
namespace torch::stable::accelerator {

using DeleterFnPtr = void (*)(void*);
using StreamId = int64_t;

/// Makes a device current while it lives.
class DeviceGuard {
 public:
  explicit DeviceGuard(DeviceIndex device_index)
      : guard_(c10::Device(*at::getAccelerator(true), static_cast<c10::DeviceIndex>(device_index))) {}
  DeviceGuard(const DeviceGuard&) = delete;
  void set_index(DeviceIndex device_index) { guard_.set_index(static_cast<c10::DeviceIndex>(device_index)); }

 private:
  c10::DeviceGuard guard_;
};

/// A stream: a counted handle.
class Stream {
 public:
  Stream() = default;
  /// Takes the handle over.
  explicit Stream(StreamHandle stream) : stream_(reinterpret_cast<c10::Stream*>(stream)) {}
  explicit Stream(c10::Stream stream) : stream_(std::make_shared<c10::Stream>(stream)) {}
  StreamId id() const { return stream_->id(); }
  /// What the backend's own interface calls it (a cudaStream_t).
  void* nativeHandle() const { return stream_->native_handle(); }

 private:
  std::shared_ptr<c10::Stream> stream_;
};

inline Stream getCurrentStream(DeviceIndex device_index) {
  return Stream(at::accelerator::getCurrentStream(static_cast<c10::DeviceIndex>(device_index)));
}
inline DeviceIndex getCurrentDeviceIndex() { return at::accelerator::getDeviceIndex(); }

}  // namespace torch::stable::accelerator
