#include "aten/core/tensor.h"
#include "aten/core/tensor_spec.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/reduce/kernels.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {

// Of complex numbers from the largest real part of those that are reduced together, in steps of other operators.
void logsumexp_cuda(const Tensor& self, IntArrayRef dim, bool keepdim, Tensor& out) {
  if (!self.is_complex()) return logsumexp_cpu(self, dim, keepdim, out);
  if (out.numel() == 0) return;
  const Tensor x = at::to(self, ScalarType::ComplexDouble);
  Tensor result;
  if (x.numel() == 0) {
    result = at::log(at::sum(x, dim, true));
  } else {
    const Tensor largest = at::amax(at::select(at::view_as_real(x), -1, 0), dim, true);
    const Tensor top = at::masked_fill(largest, at::isinf(largest), 0);
    result = at::add(at::log(at::sum(at::exp(at::sub(x, top)), dim, true)), top);
  }
  at::copy_(out, at::view(result, out.sizes()));
}

}  // namespace at::native
