#pragma once
// Formulas of sampling at a grid.

#include <tuple>

#include "aten/core/tensor.h"

namespace torch::autograd::generated {
using namespace at;

// The derivative of grid_sampler_2d_backward and grid_sampler_3d_backward with respect to (grad_output, input, grid).
// Of the two `grads` either may be undefined.
std::tuple<Tensor, Tensor, Tensor> grid_sampler_backward_grad(const Tensor* grads, const Tensor& grad_output,
                                                              const Tensor& input, const Tensor& grid,
                                                              int64_t interpolation_mode, int64_t padding_mode,
                                                              bool align_corners);

}  // namespace torch::autograd::generated
