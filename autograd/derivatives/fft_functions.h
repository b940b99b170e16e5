#pragma once

#include "aten/core/tensor.h"

// Gradients of the family "fft".
namespace torch::autograd::generated {

using namespace at;

Tensor fft_r2c_backward(const Tensor& grad, IntArrayRef dim, int64_t normalization, bool onesided, IntArrayRef sizes);
Tensor fft_c2r_backward(const Tensor& grad, IntArrayRef dim, int64_t normalization);

}  // namespace torch::autograd::generated
