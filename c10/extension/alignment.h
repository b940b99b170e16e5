// How memory of this library is aligned, in bytes.
#pragma once

#include <cstddef>

namespace c10 {

/// Every tensor's.
inline constexpr size_t gAlignment = 64;
inline constexpr size_t gPagesize = 4096;
/// From this size on memory may lie in huge pages.
inline constexpr size_t gAlloc_threshold_thp = size_t{2} << 20;
/// Data that threads write apart from each other lies as far apart.
inline constexpr size_t hardware_destructive_interference_size = 64;

}  // namespace c10
