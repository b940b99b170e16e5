// torch::cuda: what programs ask of CUDA devices, wherever they are built. Without a CUDA backend there are no devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "c10/core/device.h"
#include "c10/core/stream.h"

namespace torch::cuda {

/// The number of CUDA devices: 0 without a device, a driver, or the backend (--config=cuda). Never throws.
c10::DeviceIndex device_count() noexcept;

/// Whether a tensor can be put on a CUDA device:
///     torch::Device device(torch::cuda::is_available() ? torch::kCUDA : torch::kCPU);
inline bool is_available() noexcept {
  return device_count() > 0;
}

/// Whether there is a device whose convolutions cuDNN computes.
bool cudnn_is_available() noexcept;

/// Whether CUDA was started, by init() or by a first use.
bool is_initialized();

// All below throw c10::Error "No CUDA GPUs are available" where there are none, unless they say otherwise, and
// c10::Error for a device that does not exist. An index of -1 is the current device.

void init();

/// Seeds the current device's generator, or all devices'. Ignored where there are none.
void manual_seed(uint64_t seed);
void manual_seed_all(uint64_t seed);

/// The same with a seed of the operating system's, one for all devices.
void seed();
void seed_all();
/// The current device's generator's seed.
uint64_t initial_seed();

/// Waits for all work of a device.
void synchronize(int64_t device_index = -1);

/// The calling thread's device.
c10::DeviceIndex current_device();
void set_device(c10::DeviceIndex device);

/// "NVIDIA H100 PCIe"
std::string get_device_name(c10::DeviceIndex device = -1);
/// Major and minor number of the compute capability: {9, 0}.
std::pair<int, int> get_device_capability(c10::DeviceIndex device = -1);
/// {free, total} bytes of a device's memory, over all processes.
std::pair<size_t, size_t> mem_get_info(c10::DeviceIndex device = -1);
/// Whether kernels of `device` can reach the memory of `peer_device`.
bool can_device_access_peer(c10::DeviceIndex device, c10::DeviceIndex peer_device);

/// Gives back memory that was sent to other processes and that they have let go.
void ipc_collect();

/// What a call does that waits for the device: 0 or "default" nothing, 1 or "warn" a warning, 2 or "error" a
/// c10::Error. Works without a device, too. Throws c10::Error for another mode.
void set_sync_debug_mode(int debug_mode);
void set_sync_debug_mode(std::string_view debug_mode);
int get_sync_debug_mode();

/// The calling thread's current stream of a device, and the device's default one.
c10::Stream current_stream(c10::DeviceIndex device = -1);
c10::Stream default_stream(c10::DeviceIndex device = -1);
/// A stream of a pool; a lower number is a higher priority.
c10::Stream stream_from_pool(int priority = 0, c10::DeviceIndex device = -1);
/// Makes a stream the calling thread's current one, and its device the current device.
void set_stream(c10::Stream stream);

/// Names for profiles of NVIDIA's tools. Without a backend, or without a tool that listens, they do nothing.
namespace nvtx {

/// An instant.
void mark(const std::string& message);
/// A range of the calling thread: push and pop nest and give the depth from 0 on; negative where there is none.
int range_push(const std::string& message);
int range_pop();
/// A range that may begin and end anywhere.
uint64_t range_start(const std::string& message);
void range_end(uint64_t range_id);

/// A range for a scope.
class Range {
 public:
  explicit Range(const std::string& message) { range_push(message); }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
  ~Range() { range_pop(); }
};

}  // namespace nvtx
}  // namespace torch::cuda
