// What mT and mH share.
#pragma once

#include "aten/core/tensor.h"
#include "aten/ops/view/ops.h"
#include "c10/util/warning.h"

namespace at::native {

inline Tensor transpose_last_two(const char* name, const Tensor& self) {
  if (self.dim() == 0) {
    KD_WARN_DEPRECATION_ONCE("Tensor.", name, " is deprecated on 0-D tensors. It gives the tensor itself; consider using x or x.conj().");
    return self;
  }
  TORCH_CHECK(
      self.dim() >= 2, "tensor.", name, " is only supported on matrices or batches of matrices. Got ", self.dim(),
      "-D tensor.");
  return at::transpose(self, -2, -1);
}

}  // namespace at::native
