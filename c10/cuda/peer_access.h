// Kernels and copies of one device on the memory of another.
#pragma once

#include "c10/core/device.h"

namespace c10::cuda {

/// Whether kernels of `dev` can reach the memory of `dev_to_access`; if they can, they may from now on. Answered once a
/// pair; true for a device itself. Throws c10::Error for devices that do not exist.
bool get_p2p_access(DeviceIndex dev, DeviceIndex dev_to_access);

/// Lets `dev` reach what `dev_to_access` has, of plain allocations: get_p2p_access calls it once a pair.
void enable_peer_access(DeviceIndex dev, DeviceIndex dev_to_access);

/// What get_p2p_access calls instead: an allocator that maps memory itself registers its own before main, which also
/// calls the above.
void set_enable_peer_access(void (*enable)(DeviceIndex dev, DeviceIndex dev_to_access));

}  // namespace c10::cuda

namespace at::cuda {
using c10::cuda::get_p2p_access;
}
