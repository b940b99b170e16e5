#include "aten/ops/special/decompositions.h"

#include <cmath>
#include <limits>

#include "aten/ops/binary/ops.h"
#include "aten/ops/shared/decomposing.h"
#include "aten/ops/special/ops.h"
#include "aten/ops/unary/ops.h"

namespace at::decompositions {
namespace {

Tensor with_log1p(ScalarType type, const Tensor& factor, const Tensor& other) {
  return times_logarithm([](const Tensor& y) { return at::log1p(y); }, type, factor, other);
}

}  // namespace

Tensor special_entr(const Tensor& self) {
  return in_wide(
      to_floating(self.scalar_type()),
      [](const Tensor& x) {
        const auto number = [&](double value) { return at::scalar_tensor(value, x.options()); };
        const Tensor outside = at::where(at::eq(x, 0), number(0), number(-std::numeric_limits<double>::infinity()));
        return at::where(at::isnan(x), x, at::where(at::gt(x, 0), at::neg(at::mul(x, at::log(x))), outside));
      },
      self);
}

Tensor special_log_ndtr(const Tensor& self) {
  return in_wide(
      to_floating(self.scalar_type()),
      [](const Tensor& x) {
        const Tensor t = at::mul(x, M_SQRT1_2);
        const Tensor tail = at::sub(at::log(at::mul(at::special_erfcx(at::neg(t)), 0.5)), at::mul(t, t));
        return at::where(at::lt(x, -1), tail, at::log1p(at::mul(at::erfc(t), -0.5)));
      },
      self);
}

Tensor special_xlog1py(const Tensor& self, const Tensor& other) {
  return with_log1p(promoted_type({self, other}), self, other);
}
Tensor special_xlog1py(const Scalar& self, const Tensor& other) {
  return with_log1p(promoted_type({self, other}), at::scalar_tensor(self, other.options().dtype(kDouble)), other);
}
Tensor special_xlog1py(const Tensor& self, const Scalar& other) {
  return with_log1p(promoted_type({self, other}), self, at::scalar_tensor(other, self.options().dtype(kDouble)));
}

}  // namespace at::decompositions
