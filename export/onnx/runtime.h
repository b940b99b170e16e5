// What the callables share.
#pragma once

#include "aten/core/tensor.h"

namespace torch::onnx {

/// From 0 on. Throws IndexError for one that x does not have.
int64_t axis_of(const at::Tensor& x, int64_t axis);

}  // namespace torch::onnx
