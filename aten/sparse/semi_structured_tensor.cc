#include "aten/sparse/semi_structured_tensor.h"

#include <utility>

#include "aten/ops/binary/ops.h"
#include "aten/ops/sparse/ops.h"
#include "aten/ops/view/ops.h"

namespace torch::sparse {
namespace {

using at::Tensor;
using Sparse = SparseSemiStructuredTensor;
using Type = std::optional<at::ScalarType>;

Tensor from_left(const Tensor& dense, const Sparse& a, Type dtype) {
  return at::_semi_structured_mm_left(dense, a.values(), a.indices(), dtype);
}
Tensor from_right(const std::optional<Tensor>& bias, const Sparse& a, const Tensor& dense, Type dtype) {
  return at::_semi_structured_addmm(bias, a.values(), a.indices(), dense, 1, 1, dtype);
}

void check_matrix(const char* op, const Tensor& t) {
  TORCH_CHECK(t.dim() == 2, op, ": expected the dense factor to be a matrix, but got ", t.dim(), " dimensions");
}

Tensor with_addend(const Tensor& input, const Tensor& product, const at::Scalar& beta, const at::Scalar& alpha) {
  const Tensor addend = at::expand(input, product.sizes());
  return beta.equal(0) ? at::mul(product, alpha) : at::add(at::mul(addend, beta), product, alpha);
}

}  // namespace

Sparse::SparseSemiStructuredTensor(Tensor values, Tensor indices)
    : values_(std::move(values)), indices_(std::move(indices)) {
  TORCH_CHECK(values_.dim() == 2 && indices_.dim() == 2 && values_.size(0) == indices_.size(0),
              "SparseSemiStructuredTensor: expected values and indices to be matrices of as many rows, but got ",
              values_.sizes(), " and ", indices_.sizes());
  // Of no row: what an operator checks, and no more.
  at::_semi_structured_expand(at::narrow(values_, 0, 0, 0), at::narrow(indices_, 0, 0, 0));
}

int64_t Sparse::size(int64_t dim) const {
  TORCH_CHECK_INDEX(dim >= -2 && dim < 2, "SparseSemiStructuredTensor::size: expected a dimension in [-2, 1], but got ",
                    dim);
  if ((dim % 2 != 0) == transposed_) return values_.size(0);
  return values_.size(1) * 2;
}

Sparse Sparse::t() const {
  Sparse other = *this;
  other.transposed_ = !transposed_;
  return other;
}

Sparse Sparse::detach() const {
  Sparse other = *this;
  other.values_ = at::detach(values_);
  return other;
}

Tensor Sparse::to_dense() const {
  const Tensor matrix = at::_semi_structured_expand(values_, indices_);
  return transposed_ ? at::t(matrix) : matrix;
}

Sparse to_sparse_semi_structured(const Tensor& dense) {
  auto [values, indices] = at::_semi_structured_compress(dense);
  return {std::move(values), std::move(indices)};
}

Tensor mm(const Sparse& sparse, const Tensor& dense, Type dtype) {
  check_matrix("mm", dense);
  return sparse.is_transposed() ? at::t(from_left(at::t(dense), sparse, dtype))
                                : from_right(std::nullopt, sparse, dense, dtype);
}
Tensor mm(const Tensor& dense, const Sparse& sparse, Type dtype) {
  check_matrix("mm", dense);
  return sparse.is_transposed() ? at::t(from_right(std::nullopt, sparse, at::t(dense), dtype))
                                : from_left(dense, sparse, dtype);
}

Tensor addmm(const Tensor& input, const Tensor& dense, const Sparse& sparse, const at::Scalar& beta,
             const at::Scalar& alpha) {
  return with_addend(input, mm(dense, sparse), beta, alpha);
}
Tensor addmm(const Tensor& input, const Sparse& sparse, const Tensor& dense, const at::Scalar& beta,
             const at::Scalar& alpha) {
  return with_addend(input, mm(sparse, dense), beta, alpha);
}

Tensor linear(const Tensor& input, const Sparse& weight, const std::optional<Tensor>& bias, Type dtype) {
  TORCH_CHECK(input.dim() > 0, "linear: expected an input of at least 1 dimension, but got 0");
  at::DimVector sizes(input.sizes().begin(), input.sizes().end());
  int64_t count = 1;
  for (size_t d = 0; d + 1 < sizes.size(); ++d) count *= sizes[d];
  const Tensor rows = at::reshape(input, {count, sizes.back()});
  sizes.back() = weight.size(0);
  if (!weight.is_transposed()) return at::reshape(at::t(from_right(bias, weight, at::t(rows), dtype)), sizes);
  const Tensor product = at::reshape(from_left(rows, weight, dtype), sizes);
  return bias.has_value() && bias->defined() ? at::add(product, *bias) : product;
}

}  // namespace torch::sparse
