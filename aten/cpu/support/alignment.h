#pragma once

#include <cstdint>

namespace at::cpu {

// Whether elements of `item` bytes at `p` may be read through a pointer to their type. Memory that the library made always is
// aligned; that of from_blob need not be, and is read by copies of bytes.
inline bool is_aligned(const void* p, int64_t item) {
  return (reinterpret_cast<uintptr_t>(p) & (static_cast<uintptr_t>(item) - 1)) == 0;
}

}  // namespace at::cpu
