// Conjugate transposes, differentiable through what they call.
#include "aten/core/tensor.h"
#include "aten/ops/unary/kernels.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/ops/view/transpose_last_two.h"

namespace at::native {

Tensor m_adjoint(const Tensor& self) {
  const Tensor transposed = transpose_last_two("mH", self);
  return self.is_complex() ? at::conj(transposed) : transposed;
}

Tensor matrix_h(const Tensor& self) {
  TORCH_CHECK(
      self.dim() == 0 || self.dim() == 2,
      "tensor.H is only supported on matrices (2-D tensors). Got ", self.dim(), "-D tensor.");
  if (self.dim() == 0) KD_WARN_DEPRECATION_ONCE("Tensor.H is deprecated on 0-D tensors. Consider using x.conj().");
  const Tensor transposed = self.dim() == 0 ? self : at::transpose(self, 0, 1);
  return self.is_complex() ? at::conj(transposed) : transposed;
}

Tensor adjoint(const Tensor& self) {
  TORCH_CHECK(self.dim() != 1, "adjoint: expected a matrix or a batch of matrices, got a 1-D tensor");
  if (self.dim() == 0) return self.is_complex() ? at::conj(self) : self;
  return m_adjoint(self);
}

}  // namespace at::native
