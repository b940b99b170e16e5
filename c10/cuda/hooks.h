// What a program may ask of CUDA devices without CUDA's headers: the backend registers its answers where it is linked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "c10/core/accelerator.h"
#include "c10/core/device.h"

namespace c10::cuda {

/// What the toolkit brings and the program may be linked with.
enum class Library : uint8_t { kRuntime, kCuBLASLt, kCuDNN, kCuSOLVER, kCount };

/// An index of -1 is the current device.
struct CUDAHooks : at::AcceleratorHooksInterface {
  /// Whether init() was called or something made a context on a device.
  virtual bool isInitialized() const = 0;
  virtual std::string deviceName(DeviceIndex device) const = 0;
  virtual std::pair<int, int> deviceCapability(DeviceIndex device) const = 0;
  /// {free, total} bytes.
  virtual std::pair<size_t, size_t> memoryInfo(DeviceIndex device) const = 0;
  virtual bool canDeviceAccessPeer(DeviceIndex device, DeviceIndex peer) const = 0;
  /// Whether work that is put on the calling thread's current stream is captured into a graph.
  virtual bool isCurrentStreamCapturing() const = 0;
  /// Gives back memory that other processes have let go.
  virtual void ipcCollect() const = 0;
  /// Names in profiles: a range's depth or number, as c10/cuda/nvtx.h says.
  virtual void nvtxMark(const char* message) const = 0;
  virtual int nvtxRangePush(const char* message) const = 0;
  virtual int nvtxRangePop() const = 0;
  virtual uint64_t nvtxRangeStart(const char* message) const = 0;
  virtual void nvtxRangeEnd(uint64_t range) const = 0;
  /// The version of a library as it numbers itself; 0 where nothing in the program uses it.
  virtual int64_t libraryVersion(Library library) const = 0;
};

/// Null where no CUDA backend is linked.
inline const CUDAHooks* registered_hooks() {
  return static_cast<const CUDAHooks*>(at::detail::acceleratorHooks(DeviceType::CUDA));
}

/// The same without a backend, too.
inline int64_t library_version(Library library) {
  const CUDAHooks* const hooks = registered_hooks();
  return hooks != nullptr ? hooks->libraryVersion(library) : 0;
}

}  // namespace c10::cuda
