#include "autograd/derivatives/copy_functions.h"

#include "aten/ops/copy/ops.h"
#include "aten/ops/rearrange/ops.h"

namespace torch::autograd::generated {

Tensor grad_on(const Tensor& grad, Device device) {
  return grad.device() == device ? grad : at::_to_copy(grad, TensorOptions().device(device));
}

Tensor roll_grad(const Tensor& grad, IntArrayRef shifts, IntArrayRef dims) {
  DimVector back;
  for (int64_t shift : shifts) back.push_back(-shift);
  return at::roll(grad, back, dims);
}

Tensor fill_diagonal_grad(const Tensor& grad, bool wrap) {
  Tensor result = at::clone(grad);
  return at::fill_diagonal_(result, 0, wrap);
}

}  // namespace torch::autograd::generated
