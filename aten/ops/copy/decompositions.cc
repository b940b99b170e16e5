#include "aten/ops/copy/decompositions.h"

#include "aten/ops/shared/decomposing.h"

namespace at::decompositions {

Tensor fill(const Tensor& self, const Scalar& value) {
  return at::full_like(self, value);
}
Tensor fill(const Tensor& self, const Tensor& value) {
  TORCH_CHECK(value.dim() == 0, "fill(): expected value to have no dimensions, but got ", value.dim());
  return at::copy(self, value);
}

Tensor zero(const Tensor& self) {
  return at::full_like(self, 0);
}

}  // namespace at::decompositions
