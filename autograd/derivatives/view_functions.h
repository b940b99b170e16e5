#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "aten/core/tensor.h"

// Gradients of views, copies and shape operators.
namespace torch::autograd::generated {

using namespace at;

Tensor as_strided_grad(
    const Tensor& grad,
    IntArrayRef self_sizes,
    IntArrayRef self_strides,
    int64_t self_offset,
    IntArrayRef size,
    IntArrayRef stride,
    std::optional<int64_t> storage_offset);
// Back to a shape of as many elements.
Tensor reshape_grad(const Tensor& grad, IntArrayRef sizes);
Tensor permute_grad(const Tensor& grad, IntArrayRef dims);
// Zeros of `sizes` with the gradient in the part that the view showed.
Tensor select_grad(const Tensor& grad, IntArrayRef sizes, int64_t dim, int64_t index);
Tensor slice_grad(
    const Tensor& grad,
    IntArrayRef sizes,
    int64_t dim,
    std::optional<int64_t> start,
    std::optional<int64_t> end,
    int64_t step);
Tensor diagonal_grad(const Tensor& grad, IntArrayRef sizes, int64_t offset, int64_t dim1, int64_t dim2);
// From one gradient a part (undefined: zeros); `count` parts of lengths that add up to sizes[dim].
Tensor split_grad(
    const Tensor* grads, IntArrayRef sizes, int64_t split_size, int64_t dim, const TensorOptions& options);
Tensor split_with_sizes_grad(
    const Tensor* grads, IntArrayRef sizes, IntArrayRef split_sizes, int64_t dim, const TensorOptions& options);
Tensor unbind_grad(const std::vector<Tensor>& grads, int64_t dim);
Tensor repeat_grad(const Tensor& grad, IntArrayRef repeats, IntArrayRef sizes);
Tensor view_as_complex_grad(const Tensor& grad);
Tensor view_as_real_grad(const Tensor& grad);
Tensor constant_pad_grad(const Tensor& grad, IntArrayRef pad);
Tensor dropout_grad(const Tensor& grad, const Tensor& mask, double p, std::optional<bool> train);

}  // namespace torch::autograd::generated
