#pragma once

#include "aten/cuda/reduce/reduce_call.h"

namespace at::cuda {

/// The exclusive or of elements of int64, as uint64.
ReduceLaunchers exclusive_or(ScalarType dtype, const cpu::ReduceParams& params);

}  // namespace at::cuda
