#include "aten/ops/reduce/decompositions.h"

#include <cmath>

#include "aten/ops/binary/ops.h"
#include "aten/ops/shared/decomposing.h"
#include "aten/ops/unary/ops.h"

namespace at::decompositions {
namespace {

// By bool, which all dtypes have a conversion to.
Tensor is_zero(const Tensor& self) {
  return at::logical_not(cast(self, ScalarType::Bool));
}

// Bool, and uint8 for uint8.
Tensor none_of(const Tensor& zeros, const Tensor& self) {
  return cast(at::logical_not(zeros), self.scalar_type() == ScalarType::Byte ? ScalarType::Byte : ScalarType::Bool);
}

// Of `type`, or of its parts where that is complex.
Tensor norm_of(const Tensor& self, const std::optional<Scalar>& p, IntArrayRef dim, bool keepdim, ScalarType type) {
  const Tensor x = at::abs(cast(self, toOpMathType(type)));
  const double order = p.has_value() ? p->toDouble() : 2;
  const auto sum = [&](const Tensor& t) { return at::sum(t, dim, keepdim); };
  const auto norm = [&] {
    if (order == 0) return sum(cast(at::ne(x, 0), x.scalar_type()));
    if (order == 1 || x.numel() == 0) return sum(x);
    if (order == 2) return at::sqrt(sum(at::mul(x, x)));
    if (std::isinf(order)) return order > 0 ? at::amax(x, dim, keepdim) : at::amin(x, dim, keepdim);
    return at::pow(sum(at::pow(x, order)), 1 / order);
  };
  return cast(norm(), toRealValueType(type));
}

}  // namespace

Tensor all(const Tensor& self) {
  return none_of(at::any(is_zero(self)), self);
}
Tensor all(const Tensor& self, int64_t dim, bool keepdim) {
  return none_of(at::any(is_zero(self), dim, keepdim), self);
}
Tensor all(const Tensor& self, OptionalIntArrayRef dim, bool keepdim) {
  return none_of(at::any(is_zero(self), dim, keepdim), self);
}

std::tuple<Tensor, Tensor> aminmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  const IntArrayRef dims = dim.has_value() ? IntArrayRef(*dim) : IntArrayRef();
  return {at::amin(self, dims, keepdim), at::amax(self, dims, keepdim)};
}

Tensor count_nonzero(const Tensor& self, IntArrayRef dim) {
  return at::sum(at::ne(self, 0), dim);
}
Tensor count_nonzero(const Tensor& self, std::optional<int64_t> dim) {
  return decompositions::count_nonzero(self, dim.has_value() ? IntArrayRef(*dim) : IntArrayRef());
}

Tensor logsumexp(const Tensor& self, IntArrayRef dim, bool keepdim) {
  return in_wide(
      to_floating(self.scalar_type()),
      [&](const Tensor& x) {
        if (x.is_complex() || x.numel() == 0) return at::log(at::sum(at::exp(x), dim, keepdim));
        const Tensor largest = at::amax(x, dim, true),
                     finite = at::where(at::isinf(largest), at::scalar_tensor(0, x.options()), largest);
        const Tensor rest = at::log(at::sum(at::exp(at::sub(x, finite)), dim, keepdim));
        return at::add(rest, keepdim ? finite : at::reshape(finite, rest.sizes()));
      },
      self);
}

Tensor nansum(const Tensor& self, OptionalIntArrayRef dim, bool keepdim, std::optional<ScalarType> dtype) {
  return at::sum(at::where(at::isnan(self), at::scalar_tensor(0, self.options()), self), dim, keepdim, dtype);
}

Tensor norm(const Tensor& self, const Scalar& p) {
  return norm_of(self, p, {}, false, self.scalar_type());
}
Tensor norm(const Tensor& self, const std::optional<Scalar>& p, ScalarType dtype) {
  return norm_of(self, p, {}, false, dtype);
}
Tensor norm(const Tensor& self, const std::optional<Scalar>& p, IntArrayRef dim, bool keepdim) {
  return norm_of(self, p, dim, keepdim, self.scalar_type());
}
Tensor norm(const Tensor& self, const std::optional<Scalar>& p, IntArrayRef dim, bool keepdim, ScalarType dtype) {
  return norm_of(self, p, dim, keepdim, dtype);
}

Tensor std_of(const Tensor& self, OptionalIntArrayRef dim, const std::optional<Scalar>& correction, bool keepdim) {
  return cast(at::sqrt(at::var(widened(self), dim, correction, keepdim)), toRealValueType(self.scalar_type()));
}
std::tuple<Tensor, Tensor> std_mean(const Tensor& self, OptionalIntArrayRef dim,
                                    const std::optional<Scalar>& correction, bool keepdim) {
  return {std_of(self, dim, correction, keepdim), at::mean(self, dim, keepdim)};
}

Tensor sum(const Tensor& self, std::optional<ScalarType> dtype) {
  return at::sum(self, IntArrayRef(), false, dtype);
}

Tensor trace(const Tensor& self) {
  return decompositions::sum(at::diagonal(self), std::nullopt);
}

}  // namespace at::decompositions
