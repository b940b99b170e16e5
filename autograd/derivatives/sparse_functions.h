#pragma once
// Formulas of sparse tensors, and of operators whose gradient may be one.

#include "aten/core/tensor.h"

namespace torch::autograd::generated {
using namespace at;

// Of the values that a sparse tensor was made of: the elements of its gradient, sparse or dense, at its places.
Tensor sparse_constructor_values_grad(const Tensor& grad, const Tensor& indices, IntArrayRef values_size);
// Of a coalesced sparse tensor by its values.
Tensor sparse_values_grad(const Tensor& grad, const Tensor& self);
Tensor to_sparse_grad(const Tensor& grad, const Tensor& self);
Tensor sparse_mask_grad(const Tensor& grad, const Tensor& mask, const Tensor& self);
// Of alpha * left @ right, where the gradient of a sparse matrix has its places.
Tensor sparse_mm_grad_left(const Tensor& grad, const Tensor& left, const Tensor& right, const Scalar& alpha);
Tensor sparse_mm_grad_right(const Tensor& grad, const Tensor& left, const Tensor& right, const Scalar& alpha);

// Of alpha * mat1 @ mat2 at the places of the CSR matrix `self`.
Tensor sampled_grad_left(const Tensor& grad, const Tensor& self, const Tensor& right, const Scalar& alpha);
Tensor sampled_grad_right(const Tensor& grad, const Tensor& self, const Tensor& left, const Scalar& alpha);
// Of the values that the compressed tensor `result` was made of.
Tensor compressed_values_grad(const Tensor& grad, const Tensor& result);
Tensor spdiags_grad(const Tensor& grad, const Tensor& offsets, IntArrayRef sizes);
Tensor sparse_broadcast_grad(const Tensor& grad, IntArrayRef sizes);

}  // namespace torch::autograd::generated
