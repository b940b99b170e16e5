#pragma once

#include "aten/core/tensor_base.h"

namespace c10 {
using at::maybe_wrap_dim;
}  // namespace c10
