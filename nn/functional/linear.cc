#include "nn/functional/linear.h"

#include "aten/ops/matmul/ops.h"
#include "nn/functional/optional_tensor.h"

namespace torch::nn::functional {

Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  return at::linear(input, weight, nn::detail::if_defined(bias));
}
Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight, const Tensor& bias) {
  return at::bilinear(input1, input2, weight, nn::detail::if_defined(bias));
}

}  // namespace torch::nn::functional
