// Linear maps.
#pragma once

#include "aten/core/tensor.h"

namespace torch::nn::functional {

using at::Tensor;

// input [*, in] times weight^T [out, in], plus bias [out] if defined: [*, out].
Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias = {});
// x1 [*, in1], x2 [*, in2], weight [out, in1, in2]: out[*, k] = x1 weight[k] x2^T + bias[k].
Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight, const Tensor& bias = {});

}  // namespace torch::nn::functional
