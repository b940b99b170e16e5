#pragma once
// What kernels of several families ask of their arguments.

#include <optional>

#include "aten/core/tensor.h"

namespace at::native {

inline bool given(const std::optional<Tensor>& t) { return t.has_value() && t->defined(); }

}  // namespace at::native
