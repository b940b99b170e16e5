#include "aten/core/tensor.h"
#include "c10/core/generator.h"

namespace at {

void Generator::set_state(const Tensor& new_state) {
  TORCH_CHECK_TYPE(new_state.defined(), "RNG state must be a torch.ByteTensor, but got an undefined tensor");
  checked()->set_state(*new_state.unsafeGetTensorImpl());
}

Tensor Generator::get_state() const {
  return Tensor(checked()->get_state());
}

}  // namespace at
