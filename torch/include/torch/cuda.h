#pragma once

#include <cstdint>

#include "c10/cuda/device.h"
#include "c10/util/exception.h"

namespace torch::cuda {

// The number of CUDA devices: 0 in a build without --config=cuda.
inline c10::DeviceIndex device_count() { return c10::cuda::device_count(); }

// Whether a tensor can be put on a CUDA device:
//     torch::Device device(torch::cuda::is_available() ? torch::kCUDA : torch::kCPU);
inline bool is_available() { return device_count() > 0; }

inline bool cudnn_is_available() { return false; }

// Ignored where there is no device, as documented; no operator draws random numbers on a device yet.
inline void manual_seed(uint64_t) {}
inline void manual_seed_all(uint64_t) {}

// Waits for the work of a device (-1: the current one). Throws c10::Error where there is none.
inline void synchronize(int64_t device_index = -1) {
  TORCH_CHECK(is_available(), "No CUDA GPUs are available");
  const c10::DeviceIndex before = c10::cuda::current_device();
  if (device_index >= 0) c10::cuda::set_device(static_cast<c10::DeviceIndex>(device_index));
  c10::cuda::device_synchronize();
  c10::cuda::set_device(before);
}

}  // namespace torch::cuda
