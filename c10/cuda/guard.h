// The current CUDA device and streams of a thread, changed for a scope.
//
//   const c10::cuda::CUDAGuard guard(tensor.device());
#pragma once

#include <optional>

#include "c10/core/device.h"
#include "c10/core/stream_guard.h"
#include "c10/cuda/guard_impl.h"
#include "c10/cuda/stream.h"

namespace c10::cuda {

/// Makes a CUDA device the calling thread's current one until the end of the scope. Throws c10::Error for other
/// devices.
class CUDAGuard {
 public:
  CUDAGuard() = delete;
  explicit CUDAGuard(DeviceIndex device_index) : guard_(Device(DeviceType::CUDA, device_index)) {}
  explicit CUDAGuard(Device device) : guard_(device) {}
  CUDAGuard(const CUDAGuard&) = delete;
  CUDAGuard& operator=(const CUDAGuard&) = delete;

  void set_device(Device device) { guard_.set_device(device); }
  void reset_device(Device device) { guard_.reset_device(device); }
  void set_index(DeviceIndex device_index) { guard_.set_index(device_index); }
  Device original_device() const { return guard_.original_device(); }
  Device current_device() const { return guard_.current_device(); }

 private:
  c10::impl::InlineDeviceGuard<impl::CUDAGuardImpl> guard_;
};

/// A CUDAGuard that may have no device: then it does nothing.
class OptionalCUDAGuard {
 public:
  OptionalCUDAGuard() = default;
  explicit OptionalCUDAGuard(std::optional<Device> device) : guard_(device) {}
  explicit OptionalCUDAGuard(std::optional<DeviceIndex> device_index) {
    if (device_index.has_value()) guard_.set_index(*device_index);
  }
  OptionalCUDAGuard(const OptionalCUDAGuard&) = delete;
  OptionalCUDAGuard& operator=(const OptionalCUDAGuard&) = delete;

  void set_device(Device device) { guard_.set_device(device); }
  void reset_device(Device device) { guard_.reset_device(device); }
  void set_index(DeviceIndex device_index) { guard_.set_index(device_index); }
  std::optional<Device> original_device() const { return guard_.original_device(); }
  std::optional<Device> current_device() const { return guard_.current_device(); }
  /// Goes back to the original device now.
  void reset() { guard_.reset(); }

 private:
  c10::impl::InlineOptionalDeviceGuard<impl::CUDAGuardImpl> guard_;
};

/// Makes a stream the current one of its device, and its device the current one, until the end of the scope.
class CUDAStreamGuard {
 public:
  CUDAStreamGuard() = delete;
  explicit CUDAStreamGuard(Stream stream) : guard_(stream) {}
  CUDAStreamGuard(const CUDAStreamGuard&) = delete;
  CUDAStreamGuard& operator=(const CUDAStreamGuard&) = delete;

  /// Another stream, on another device too: the first device's stream is restored then.
  void reset_stream(Stream stream) { guard_.reset_stream(stream); }
  CUDAStream original_stream() const { return CUDAStream(CUDAStream::UNCHECKED, guard_.original_stream()); }
  CUDAStream current_stream() const { return CUDAStream(CUDAStream::UNCHECKED, guard_.current_stream()); }
  Device original_device() const { return guard_.original_device(); }
  Device current_device() const { return guard_.current_device(); }

 private:
  c10::impl::InlineStreamGuard<impl::CUDAGuardImpl> guard_;
};

/// A CUDAStreamGuard that may have no stream: then it does nothing.
class OptionalCUDAStreamGuard {
 public:
  OptionalCUDAStreamGuard() = default;
  explicit OptionalCUDAStreamGuard(Stream stream) : guard_(stream) {}
  explicit OptionalCUDAStreamGuard(std::optional<Stream> stream) : guard_(stream) {}
  OptionalCUDAStreamGuard(const OptionalCUDAStreamGuard&) = delete;
  OptionalCUDAStreamGuard& operator=(const OptionalCUDAStreamGuard&) = delete;

  void reset_stream(Stream stream) { guard_.reset_stream(stream); }
  std::optional<CUDAStream> original_stream() const { return cuda_stream(guard_.original_stream()); }
  std::optional<CUDAStream> current_stream() const { return cuda_stream(guard_.current_stream()); }
  /// Restores stream and device now.
  void reset() { guard_.reset(); }

 private:
  static std::optional<CUDAStream> cuda_stream(std::optional<Stream> stream) {
    return stream.has_value() ? std::optional(CUDAStream(CUDAStream::UNCHECKED, *stream)) : std::nullopt;
  }

  c10::impl::InlineOptionalStreamGuard<impl::CUDAGuardImpl> guard_;
};

/// Sets the current streams of several devices, at most one each; the current device stays as it is.
class CUDAMultiStreamGuard {
 public:
  explicit CUDAMultiStreamGuard(ArrayRef<CUDAStream> streams) : guard_(unwrap(streams)) {}
  CUDAMultiStreamGuard(const CUDAMultiStreamGuard&) = delete;
  CUDAMultiStreamGuard& operator=(const CUDAMultiStreamGuard&) = delete;

 private:
  static SmallVector<Stream, 4> unwrap(ArrayRef<CUDAStream> streams) {
    SmallVector<Stream, 4> unwrapped;
    for (const CUDAStream& stream : streams) unwrapped.push_back(stream.unwrap());
    return unwrapped;
  }

  c10::impl::InlineMultiStreamGuard<impl::CUDAGuardImpl> guard_;
};

/// A guard for what gives things back: where the device cannot be set, that is done on the current one.
class ReleaseGuard {
 public:
  explicit ReleaseGuard(DeviceIndex device_index) noexcept {
    try {
      guard_.set_index(device_index);
    } catch (...) {  // the call behind it needs no device, or fails by itself
    }
  }

 private:
  OptionalCUDAGuard guard_;
};

}  // namespace c10::cuda

namespace at::cuda {
using c10::cuda::CUDAGuard;
using c10::cuda::CUDAMultiStreamGuard;
using c10::cuda::CUDAStreamGuard;
using c10::cuda::OptionalCUDAGuard;
using c10::cuda::OptionalCUDAStreamGuard;
}  // namespace at::cuda
