// Numbers as tensors.
#pragma once

#include "aten/core/empty.h"
#include "aten/core/tensor.h"

namespace at {

namespace native {
using at::wrapped_scalar_tensor;
}

}  // namespace at

namespace c10 {

/// A tensor without dimensions of the number: double, int64_t, bool or complex<double>.
at::Tensor scalar_to_tensor(const Scalar& s, Device device = kCPU);

}  // namespace c10
