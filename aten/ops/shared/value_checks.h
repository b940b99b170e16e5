#pragma once
// Checks of the elements of arguments.

#include "aten/core/tensor.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/reduce/ops.h"

namespace at::native {

// Whether a condition holds everywhere. On meta, where nothing is known of the elements, and inside vmap, where each
// sample has its own, it is taken to.
inline bool holds(const Tensor& condition) {
  return condition.is_meta() || condition.key_set().has(DispatchKey::FuncTorchBatched) ||
         at::item(at::all(condition)).toBool();
}

}  // namespace at::native
