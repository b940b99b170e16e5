#pragma once

#include "aten/core/tensor.h"

// Gradients of the family "copy".
namespace torch::autograd::generated {

using namespace at;

Tensor roll_grad(const Tensor& grad, IntArrayRef shifts, IntArrayRef dims);
Tensor fill_diagonal_grad(const Tensor& grad, bool wrap);

}  // namespace torch::autograd::generated
