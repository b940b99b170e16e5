// What the callables share.
#pragma once

#include "aten/core/tensor.h"

namespace torch::onnx {

/// From 0 on. Throws IndexError for one that x does not have.
int64_t axis_of(const at::Tensor& x, int64_t axis);

/// Throws ValueError where int64_t does not hold it.
int64_t product(c10::IntArrayRef sizes);

}  // namespace torch::onnx
