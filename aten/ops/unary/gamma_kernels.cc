// polygamma, mvlgamma, i0.
#include "aten/core/tensor.h"
#include "aten/core/tensor_spec.h"
#include "aten/cpu/pointwise.h"
#include "aten/cpu/special/loops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/unary/kernels.h"
#include "aten/ops/unary/ops.h"

namespace at::native {

namespace loops = cpu::special::loops;

TensorSpec unary_float_real_meta(const Tensor& self) {
  TORCH_CHECK_NOT_IMPLEMENTED(!self.is_complex(), "the function is not implemented for complex tensors, got ",
                              self.scalar_type());
  return pointwise::result_spec({self}, pointwise::to_floating(self.scalar_type()));
}
TensorSpec polygamma_meta(int64_t n, const Tensor& self) {
  TORCH_CHECK(n >= 0, "polygamma(n, x) does not support negative n.");
  return unary_float_real_meta(self);
}
TensorSpec mvlgamma_meta(const Tensor& self, int64_t p) {
  TORCH_CHECK(p >= 1, "p has to be greater than or equal to 1");
  TORCH_CHECK(p <= 65536, "mvlgamma: expected p of at most 65536, but got ", p);
  return unary_float_real_meta(self);
}
void polygamma_kernel(int64_t n, const Tensor& self, Tensor& out) {
  alignas(64) const int64_t context[8] = {n};
  pointwise::run("polygamma", loops::polygamma, out.scalar_type(), context, out, {self});
}
void mvlgamma_kernel(const Tensor& self, int64_t p, Tensor& out) {
  alignas(64) const int64_t context[8] = {p};
  pointwise::run("mvlgamma", loops::mvlgamma, out.scalar_type(), context, out, {self});
}
void i0_kernel(const Tensor& self, Tensor& out) {
  pointwise::run("i0", loops::i0, out.scalar_type(), nullptr, out, {self});
}

Tensor& polygamma_inplace(Tensor& self, int64_t n) {
  const Tensor result = at::polygamma(n, self);
  TORCH_CHECK(result.scalar_type() == self.scalar_type(), "result type ", result.scalar_type(),
              " can't be cast to the desired output type ", self.scalar_type());
  return at::copy_(self, result);
}

}  // namespace at::native
