#include "aten/ops/matmul/decompositions.h"

#include "aten/ops/binary/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/shared/decomposing.h"
#include "aten/ops/unary/ops.h"
#include "c10/util/accumulate.h"

namespace at::decompositions {
namespace {

bool is_one(const Scalar& s) {
  return s.toComplexDouble() == c10::complex<double>(1);
}

Tensor scaled(const Tensor& t, const Scalar& factor) {
  return is_one(factor) ? t : at::mul(t, factor);
}

// beta * self + alpha * product; a beta of 0 hides what self holds.
Tensor with_product(const Tensor& self, const Scalar& beta, const Tensor& product, const Scalar& alpha) {
  const Tensor added = scaled(product, alpha);
  return beta.toComplexDouble() == c10::complex<double>(0) ? added : at::add(scaled(self, beta), added);
}

}  // namespace

Tensor addr(const Tensor& self, const Tensor& vec1, const Tensor& vec2, const Scalar& beta, const Scalar& alpha) {
  const ScalarType type = promoteTypes(self.scalar_type(), promoteTypes(vec1.scalar_type(), vec2.scalar_type()));
  const Tensor column = at::unsqueeze(vec1, 1);
  if (type == ScalarType::Bool) {
    const Tensor product =
        at::logical_and(at::logical_and(column, vec2), at::scalar_tensor(alpha.toBool(), self.options()));
    return at::logical_or(at::logical_and(self, at::scalar_tensor(beta.toBool(), self.options())), product);
  }
  return in_wide(
      type,
      [&](const Tensor& s, const Tensor& x, const Tensor& y) { return with_product(s, beta, at::mul(x, y), alpha); },
      self, column, vec2);
}

Tensor baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
               const Scalar& alpha) {
  return in_wide(
      self.scalar_type(),
      [&](const Tensor& s, const Tensor& x, const Tensor& y) { return with_product(s, beta, at::bmm(x, y), alpha); },
      self, batch1, batch2);
}

Tensor dot(const Tensor& self, const Tensor& tensor) {
  return at::reshape(at::mm(at::unsqueeze(self, 0), at::unsqueeze(tensor, 1)), {});
}

Tensor linear(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias) {
  const bool biased = bias.has_value() && bias->defined();
  if (weight.dim() != 2 || input.dim() == 0) {
    const Tensor product = at::matmul(input, weight);
    return biased ? at::add(product, *bias) : product;
  }
  const int64_t width = weight.size(1), rows = c10::multiply_integers(input.sizes().slice(0, static_cast<size_t>(input.dim()) - 1));
  const Tensor matrix = input.dim() == 2 ? input : at::reshape(input, {rows, width});
  const Tensor columns = at::permute(weight, {1, 0});
  const bool by_column = biased && bias->dim() == 1 && input.dim() <= 2;
  const Tensor product = by_column ? at::addmm(*bias, matrix, columns) : at::mm(matrix, columns);
  std::vector<int64_t> sizes = input.sizes().vec();
  sizes.back() = weight.size(0);
  const Tensor result = input.dim() == 2 ? product : at::reshape(product, sizes);
  return biased && !by_column ? at::add(result, *bias) : result;
}

Tensor vdot(const Tensor& self, const Tensor& other) {
  return decompositions::dot(self.is_complex() ? at::conj_physical(self) : self, other);
}

Tensor mv(const Tensor& self, const Tensor& vec) {
  return at::squeeze(at::mm(self, at::unsqueeze(vec, 1)), 1);
}

}  // namespace at::decompositions
