// Programs called with tensors.
#pragma once

#include "aten/core/tensor.h"

namespace torch::aot {

/// The input as a dense CPU tensor. Throws ValueError that names it for another dtype, device or number of dimensions.
at::Tensor dense_input(const char* program, const char* name, const at::Tensor& t, at::ScalarType dtype, int64_t dims);
/// Throws ValueError that names the input where its sizes are others.
void check_sizes(const char* program, const char* name, const at::Tensor& t, at::IntArrayRef sizes);
/// A program has changed the dense form of an input: the input, too, where that is another tensor.
void copy_back(const at::Tensor& input, const at::Tensor& dense);
at::Tensor new_output(at::IntArrayRef sizes, at::ScalarType dtype);

}  // namespace torch::aot
