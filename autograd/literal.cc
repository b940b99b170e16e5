#include "aten/core/tensor_literal.h"
#include "autograd/leaf.h"

namespace torch {

at::Tensor tensor(detail::TensorDataContainer data, const c10::TensorOptions& options) {
  return autograd::detail::leaf(data.convert_to_tensor(options.requires_grad(std::nullopt)), options);
}

}  // namespace torch
