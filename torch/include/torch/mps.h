#pragma once

#include <cstdint>

#include "c10/util/exception.h"

// Apple's devices, which this library does not have. What would use one throws c10::Error.
namespace torch::mps {

inline bool is_available() { return false; }

// Ignored where there is no device.
inline void manual_seed(uint64_t) {}

[[noreturn]] inline void synchronize() { TORCH_CHECK(false, "torch.mps is not available"); }
[[noreturn]] inline void commit() { synchronize(); }

}  // namespace torch::mps
