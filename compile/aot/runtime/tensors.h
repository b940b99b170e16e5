// Tensors over a program's memory, for kernels that take tensors.
#pragma once

#include "aten/core/tensor.h"

namespace torch::aot {

/// Over memory that outlives it.
at::Tensor tensor_at(const void* data, at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType dtype);

/// Other memory under a tensor of tensor_at().
void move_to(const at::Tensor& tensor, const void* data);

/// Other sizes; nothing is allocated where it has as many dimensions as before, at most five.
void set_sizes(const at::Tensor& tensor, at::IntArrayRef sizes, at::IntArrayRef strides);

}  // namespace torch::aot
