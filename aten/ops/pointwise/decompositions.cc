#include "aten/ops/pointwise/decompositions.h"

#include <cmath>

#include "aten/ops/binary/ops.h"
#include "aten/ops/shared/decomposing.h"
#include "aten/ops/unary/ops.h"

namespace at::decompositions {
namespace {

// From the nearer end, which is exact at both.
Tensor from_start(const Tensor& start, const Tensor& end, const Tensor& weight) {
  return at::add(start, at::mul(weight, at::sub(end, start)));
}
Tensor from_end(const Tensor& start, const Tensor& end, const Tensor& rest) {
  return at::sub(end, at::mul(at::sub(end, start), rest));
}

}  // namespace

Tensor addcdiv(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value) {
  return in_wide(
      promoted_type({self, tensor1, tensor2}),
      [&](const Tensor& x, const Tensor& a, const Tensor& b) { return at::add(x, at::div(at::mul(a, value), b)); },
      self, tensor1, tensor2);
}

Tensor addcmul(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value) {
  const ScalarType type = promoted_type({self, tensor1, tensor2});
  const Scalar factor = isIntegralType(type, true) ? Scalar(value.toLong()) : value;
  return in_wide(
      type,
      [&](const Tensor& x, const Tensor& a, const Tensor& b) { return at::add(x, at::mul(at::mul(a, factor), b)); },
      self, tensor1, tensor2);
}

Tensor clamp_max(const Tensor& self, const Scalar& max) {
  return at::clamp(self, std::nullopt, max);
}
Tensor clamp_max(const Tensor& self, const Tensor& max) {
  return at::clamp(self, std::optional<Tensor>(), max);
}
Tensor clamp_min(const Tensor& self, const Scalar& min) {
  return at::clamp(self, min, std::nullopt);
}
Tensor clamp_min(const Tensor& self, const Tensor& min) {
  return at::clamp(self, min, std::optional<Tensor>());
}

Tensor lerp(const Tensor& self, const Tensor& end, const Tensor& weight) {
  return in_wide(
      promoted_type({self, end, weight}),
      [](const Tensor& x, const Tensor& y, const Tensor& w) {
        const Tensor rest = at::sub(at::scalar_tensor(1, w.options()), w);
        return at::where(at::lt(at::abs(w), 0.5), from_start(x, y, w), from_end(x, y, rest));
      },
      self, end, weight);
}
Tensor lerp(const Tensor& self, const Tensor& end, const Scalar& weight) {
  const bool complex = weight.isComplex();
  const c10::complex<double> rest = c10::complex<double>(1) - weight.toComplexDouble();
  return in_wide(
      promoted_type({self, end}),
      [&](const Tensor& x, const Tensor& y) {
        const auto number = [&](const Scalar& s) { return at::scalar_tensor(s, x.options()); };
        const c10::complex<double> w = weight.toComplexDouble();
        if (std::hypot(w.real(), w.imag()) < 0.5) return from_start(x, y, number(weight));
        return from_end(x, y, number(complex ? Scalar(rest) : Scalar(rest.real())));
      },
      self, end);
}

}  // namespace at::decompositions
