#pragma once

#include "aten/cpu/elementwise.h"

namespace at::cpu {

/// data: out, condition (bytes), a, b: out = condition ? a : b, for items of 1, 2, 4, 8 or 16 bytes.
ElementLoop select_loop(int64_t item_size);

}  // namespace at::cpu
