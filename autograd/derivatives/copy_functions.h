#pragma once

#include "aten/core/tensor.h"

// Gradients of the family "copy".
namespace torch::autograd::generated {

using namespace at;

// The gradient on the device that the argument is on; the engine gives it the argument's dtype.
Tensor grad_on(const Tensor& grad, Device device);
Tensor roll_grad(const Tensor& grad, IntArrayRef shifts, IntArrayRef dims);
Tensor fill_diagonal_grad(const Tensor& grad, bool wrap);

}  // namespace torch::autograd::generated
