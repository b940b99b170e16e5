#pragma once
// Formulas of nested tensors.

#include <optional>
#include <vector>

#include "aten/core/tensor.h"

namespace torch::autograd::generated {
using namespace at;

// Of the tensors that a nested one was made of.
std::vector<Tensor> nested_list_grad(const Tensor& grad, size_t count);
// Of the buffer that a nested tensor shows: each part's gradient at its place, added where parts overlap.
Tensor nested_buffer_grad(const Tensor& grad, int64_t numel, const Tensor& nested_size, const Tensor& nested_strides,
                          const Tensor& offsets);
// Of a nested tensor by its buffer.
Tensor nested_values_grad(const Tensor& grad, const Tensor& self);
// By its parts.
Tensor nested_parts_grad(const std::vector<Tensor>& grads, const Tensor& self);
Tensor to_padded_grad(const Tensor& grad, const Tensor& self);
// Of values of these sizes that a jagged tensor shows: zero where there is no part.
Tensor jagged_view_grad(const Tensor& grad, IntArrayRef sizes, const Tensor& offsets,
                        const std::optional<Tensor>& lengths, int64_t ragged_idx);
// Of a jagged tensor by its values.
Tensor jagged_values_grad(const Tensor& grad, const Tensor& self);

}  // namespace torch::autograd::generated
