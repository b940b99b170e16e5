#include "aten/extension/scalar_ops.h"

#include "aten/ops/copy/ops.h"

namespace c10 {

at::Tensor scalar_to_tensor(const Scalar& s, Device device) {
  at::Tensor t = at::wrapped_scalar_tensor(s);
  t.unsafeGetTensorImpl()->set_wrapped_number(false);
  return device == Device(kCPU) ? t : at::_to_copy(t, t.options().device(device));
}

}  // namespace c10
