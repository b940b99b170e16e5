#pragma once

#include <cstddef>
#include <cstdint>

#include "c10/util/exception.h"

// Intel's devices, which this library does not have. What would use one throws c10::Error.
namespace torch::xpu {

inline size_t device_count() { return 0; }
inline bool is_available() { return false; }

// Ignored where there is no device.
inline void manual_seed(uint64_t) {}
inline void manual_seed_all(uint64_t) {}

[[noreturn]] inline void synchronize(int64_t /*device_index*/) { TORCH_CHECK(false, "No XPU devices are available"); }

}  // namespace torch::xpu
