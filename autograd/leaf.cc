#include "autograd/leaf.h"

#include <utility>

namespace torch::autograd::detail {

at::Tensor leaf(at::Tensor fresh, const at::TensorOptions& options) {
  if (options.requires_grad()) fresh.set_requires_grad(true);
  return fresh;
}

}  // namespace torch::autograd::detail
