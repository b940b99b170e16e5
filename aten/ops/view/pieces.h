#pragma once

#include <cstdint>

#include "c10/util/exception.h"

namespace at::native {

// A dimension without elements, or a length of any size, can be cut into more pieces than a program can hold.
inline void check_piece_count(const char* op, int64_t count) {
  constexpr int64_t kMost = int64_t{1} << 24;
  TORCH_CHECK_VALUE(count <= kMost, op, "(): would give ", count, " tensors, more than the ", kMost, " that one call may return");
}

}  // namespace at::native
