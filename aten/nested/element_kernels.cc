// Nested tensors: what is computed element by element and has no entry that says so. Above autograd.
#include "aten/nested/element_wise.h"
#include "aten/nested/nested_parts.h"
#include "aten/ops/binary/kernels.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/index/kernels.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/random/kernels.h"
#include "aten/ops/random/ops.h"

namespace at::native {

Tensor dropout_nested(const Tensor& input, double p, bool train) {
  return nested::each_element(
      "dropout", [&](const Tensor& t) { return at::dropout(t, p, train); }, input);
}

Tensor masked_fill_scalar_nested(const Tensor& self, const Tensor& mask, const Scalar& value) {
  TORCH_CHECK(self.is_nested(), "masked_fill: a dense tensor has no mask that is nested");
  return nested::each_element(
      "masked_fill.Scalar", [&](const Tensor& t, const Tensor& m) { return at::masked_fill(t, m, value); }, self, mask);
}

Tensor isclose_nested(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  return nested::each_element(
      "isclose", [&](const Tensor& a, const Tensor& b) { return at::isclose(a, b, rtol, atol, equal_nan); }, self,
      other);
}

}  // namespace at::native
