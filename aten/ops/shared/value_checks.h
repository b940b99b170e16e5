#pragma once
// Checks of the elements of arguments.

#include "aten/core/tensor.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/reduce/ops.h"

namespace at::native {

// Whether a condition holds everywhere. On meta, where nothing is known of the elements, it is taken to.
inline bool holds(const Tensor& condition) {
  return condition.is_meta() || at::item(at::all(condition)).toBool();
}

}  // namespace at::native
