#include "aten/ops/softmax/decompositions.h"

#include "aten/ops/binary/ops.h"
#include "aten/ops/shared/decomposing.h"
#include "aten/ops/softmax/ops.h"
#include "aten/ops/unary/ops.h"

namespace at::decompositions {

Tensor softmax(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  return at::_softmax(cast(self, dtype.value_or(self.scalar_type())), dim, false);
}
Tensor log_softmax(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  return at::_log_softmax(cast(self, dtype.value_or(self.scalar_type())), dim, false);
}

Tensor _softmax_backward_data(const Tensor& grad_output, const Tensor& output, int64_t dim, ScalarType input_dtype) {
  const Tensor grad = widened(grad_output), y = widened(output), part = at::mul(grad, y);
  return cast(at::sub(part, at::mul(y, at::sum(part, IntArrayRef(dim), true))), input_dtype);
}

Tensor _log_softmax_backward_data(const Tensor& grad_output, const Tensor& output, int64_t dim,
                                  ScalarType input_dtype) {
  const Tensor grad = widened(grad_output);
  return cast(at::sub(grad, at::mul(at::exp(widened(output)), at::sum(grad, IntArrayRef(dim), true))), input_dtype);
}

}  // namespace at::decompositions
