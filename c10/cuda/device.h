#pragma once

#include <cstdint>

#include "c10/core/device.h"

namespace c10::cuda {

// The number of CUDA devices; 0 without a driver, without a device, and in a build without --config=cuda. Never throws.
DeviceIndex device_count() noexcept;

// The calling thread's device. Throws c10::Error where there is none ("No CUDA GPUs are available").
DeviceIndex current_device();

// Makes `device` the calling thread's device. Throws c10::Error where it does not exist.
void set_device(DeviceIndex device);

// Waits until all work submitted to the current device is done.
void device_synchronize();

}  // namespace c10::cuda
