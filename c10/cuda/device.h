// The CUDA devices of the process, their properties, and the current device of a thread.
//
// A thread starts on device 0. Where a device has no context yet, MaybeSetDevice and MaybeExchangeDevice only note it
// as the thread's target: guards go back to a device that nobody has used without making a context there, which costs
// hundreds of megabytes. current_device() answers with the target; the first use (SetTargetDevice, set_device, the
// current stream) makes it real.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "c10/core/device.h"
#include "c10/cuda/exception.h"
#include "c10/cuda/macros.h"
#include "c10/cuda/sync_debug_mode.h"

namespace c10::cuda {

/// The number of CUDA devices, asked for once; 0 without a driver or without a device. Never throws; other failures are
/// a warning.
DeviceIndex device_count() noexcept;
/// The same; throws c10::Error "No CUDA GPUs are available" instead of answering 0.
DeviceIndex device_count_ensure_non_zero();

/// The calling thread's device. Throws c10::Error where there is none ("No CUDA GPUs are available").
DeviceIndex current_device();
/// Makes `device` the calling thread's device; throws c10::Error where it does not exist. `force` asks the driver even
/// if the device is the current one.
void set_device(DeviceIndex device, bool force = false);
/// Waits until all work submitted to the current device is done. Nobody does that without meaning it: it is no
/// synchronizing call for warn_or_error_on_sync().
void device_synchronize();

/// The statuses of the same without checks: a count of 0 is a success only where the driver says so.
cudaError_t GetDeviceCount(int* dev_count);
cudaError_t GetDevice(DeviceIndex* device);
cudaError_t SetDevice(DeviceIndex device, bool force = false);
/// Sets a device that has a context; notes another one as the thread's target.
cudaError_t MaybeSetDevice(DeviceIndex device);
/// For guards: MaybeSetDevice, and where that fails a warning, and the device is the thread's target all the same.
void RestoreDevice(DeviceIndex device) noexcept;
/// Sets a device and returns the one that was current.
DeviceIndex ExchangeDevice(DeviceIndex device);
DeviceIndex MaybeExchangeDevice(DeviceIndex device);
/// Sets the thread's target, if there is one.
void SetTargetDevice();

/// Whether the process has a context on a device: whether work there costs no start.
bool hasPrimaryContext(DeviceIndex device_index);
/// A device with a context: the current one where it has one, else the first.
std::optional<DeviceIndex> getDeviceIndexWithPrimaryContext();

/// Warns of, or refuses, a call that waits for the device, where set_sync_debug_mode() asks for it.
void warn_or_error_on_sync();

/// Copies and waits for the copy; `stream_synchronize` only waits. Both count as synchronizing calls
/// (warn_or_error_on_sync).
void memcpy_and_sync(void* dst, const void* src, int64_t nbytes, cudaMemcpyKind kind, cudaStream_t stream);
void stream_synchronize(cudaStream_t stream);

}  // namespace c10::cuda

namespace at::cuda {

/// How many devices there are; whether there are any.
inline int64_t getNumGPUs() {
  return c10::cuda::device_count();
}
inline bool is_available() {
  return c10::cuda::device_count() > 0;
}

/// What the driver says of a device, read once a device; of the current one. The pointers stay valid. Throws c10::Error
/// for a device that does not exist; -1 is the current one.
cudaDeviceProp* getDeviceProperties(c10::DeviceIndex device);
cudaDeviceProp* getCurrentDeviceProperties();
/// Threads in a warp of the current device.
int warp_size();
/// Whether kernels of `device` can reach memory of `peer_device`: of two different devices, both existing.
bool canDeviceAccessPeer(c10::DeviceIndex device, c10::DeviceIndex peer_device);

/// "NVIDIA H100 PCIe"; compute capability, {9, 0}; "GPU-" and the UUID's hexadecimal digits. -1 is the current device.
std::string get_device_name(c10::DeviceIndex device = -1);
std::pair<int, int> get_device_capability(c10::DeviceIndex device = -1);
std::string get_device_uuid(c10::DeviceIndex device = -1);
/// The device that memory is on. Throws c10::Error for memory of the host.
c10::Device getDeviceFromPtr(const void* data);

/// {free, total} bytes of a device's memory, as the driver counts them for all processes.
std::pair<size_t, size_t> mem_get_info(c10::DeviceIndex device = -1);

}  // namespace at::cuda
