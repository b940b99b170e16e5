#pragma once

#include "aten/core/tensor.h"

namespace at::native {

/// The product of matrices whose sizes fit, in the order that takes the fewest multiplications. Defined in
/// //aten/ops/matmul.
Tensor multiply_chain(TensorList matrices);

}  // namespace at::native
