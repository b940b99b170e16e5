#include "aten/ops/binary/decompositions.h"

#include <cmath>

#include "aten/ops/binary/ops.h"
#include "aten/ops/shared/decomposing.h"
#include "aten/ops/unary/ops.h"

namespace at::decompositions {
namespace {

Tensor with_log(ScalarType type, const Tensor& factor, const Tensor& other) {
  return times_logarithm([](const Tensor& y) { return at::log(y); }, type, factor, other);
}

// The logarithm of base^a + base^b.
Tensor log_of_sum(ScalarType type, const Tensor& self, const Tensor& other, double ln_base) {
  return in_wide(
      type,
      [&](const Tensor& a, const Tensor& b) {
        const Tensor high = at::maximum(a, b), distance = at::mul(at::sub(at::minimum(a, b), high), ln_base);
        const Tensor sum = at::add(high, at::div(at::log1p(at::exp(distance)), ln_base));
        return at::where(at::logical_and(at::isinf(a), at::eq(a, b)), a, sum);
      },
      self, other);
}

// The larger number is that of the larger real part.
Tensor log_of_complex_sum(const Tensor& a, const Tensor& b) {
  const Tensor x = at::real(a), y = at::real(b), first = at::ge(x, y);
  const Tensor high = at::where(first, a, b), low = at::where(first, b, a), largest = at::real(high);
  const Tensor sum = at::add(high, at::log(at::add(at::exp(at::sub(low, high)), 1)));
  const Tensor at_infinity = at::where(at::lt(largest, 0), high, at::log(at::add(at::exp(high), at::exp(low))));
  return at::where(at::logical_and(at::isinf(largest), at::eq(x, y)), at_infinity, sum);
}

}  // namespace

Tensor floor_divide(const Tensor& self, const Tensor& other) {
  return at::div(self, other, "floor");
}
Tensor floor_divide(const Tensor& self, const Scalar& other) {
  return at::div(self, other, "floor");
}

Tensor heaviside(const Tensor& self, const Tensor& values) {
  return at::where(at::eq(self, 0), values, cast(at::gt(self, 0), values.scalar_type()));
}

Tensor logaddexp(const Tensor& self, const Tensor& other) {
  const ScalarType type = promoted_type({self, other});
  return isComplexType(type) ? in_wide(type, log_of_complex_sum, self, other) : log_of_sum(type, self, other, 1);
}
Tensor logaddexp2(const Tensor& self, const Tensor& other) {
  return log_of_sum(promoted_type({self, other}), self, other, M_LN2);
}

Tensor rsub(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  return at::sub(other, self, alpha);
}
Tensor rsub(const Tensor& self, const Scalar& other, const Scalar& alpha) {
  return at::sub(at::scalar_tensor(other, self.options().dtype(promoted_type({self, other}))), self, alpha);
}

Tensor xlogy(const Tensor& self, const Tensor& other) {
  return with_log(promoted_type({self, other}), self, other);
}
Tensor xlogy(const Scalar& self, const Tensor& other) {
  return with_log(promoted_type({self, other}), at::scalar_tensor(self, other.options().dtype(kDouble)), other);
}
Tensor xlogy(const Tensor& self, const Scalar& other) {
  return with_log(promoted_type({self, other}), self, at::scalar_tensor(other, self.options().dtype(kDouble)));
}

}  // namespace at::decompositions
