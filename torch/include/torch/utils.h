#pragma once

#include "aten/core/interop.h"
#include "aten/core/record_function.h"
#include "aten/ops/reduce/ops.h"
#include "c10/core/cpu_generator.h"
#include "c10/core/grad_mode.h"

namespace torch {

/// Whether both are undefined, or both are defined and equal.
inline bool equal_if_defined(const at::Tensor& t1, const at::Tensor& t2) {
  return t1.defined() == t2.defined() && (!t1.defined() || at::equal(t1, t2));
}

}  // namespace torch
