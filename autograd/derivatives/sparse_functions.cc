#include "autograd/derivatives/sparse_functions.h"

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/sparse/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/derivatives/pointwise_functions.h"

namespace torch::autograd::generated {
namespace {

bool is_sparse(const Tensor& t) {
  return t.layout() != kStrided;
}

// Without a history, and where it is in coordinates with each place named once: what a gradient has places of.
Tensor places_of(const Tensor& t) {
  return t.layout() == kSparse ? at::coalesce(t.detach()) : t.detach();
}

Tensor adjoint_of(const Tensor& t) {
  const Tensor transposed = at::transpose(t, 0, 1);
  return t.is_complex() ? at::conj_physical(transposed) : transposed;
}

// The blocks of a tensor in the layout BSR or BSC.
std::vector<int64_t> block_of(const Tensor& t) {
  const Tensor values = at::values(t.detach());
  return {values.size(-2 - at::dense_dim(t)), values.size(-1 - at::dense_dim(t))};
}

// scale * left @ right, at the places of `like` where that is sparse.
Tensor product_like(const Tensor& like, const Tensor& left, const Tensor& right, const Scalar& scale) {
  if (!is_sparse(like)) return scale_grad(at::mm(left, right), scale);
  const Tensor places = places_of(like);
  if (is_sparse(left) || is_sparse(right) || (like.layout() != kSparse && like.layout() != kSparseCsr)) {
    return at::sparse_mask(scale_grad(at::mm(left, right), scale), places);
  }
  const bool rows = like.layout() == kSparseCsr;
  const Tensor sampled =
      scale_grad(at::sparse_sampled_addmm(rows ? places : at::to_sparse_csr(places), left, right, 0), scale);
  if (rows) return sampled;
  return at::sparse_coo_tensor(at::indices(places), at::values(sampled), like.sizes(), TensorOptions(), true);
}

}  // namespace

Tensor sparse_constructor_values_grad(const Tensor& grad, const Tensor& indices, IntArrayRef values_size) {
  const int64_t rows = indices.size(0), nnz = indices.size(1);
  if (!is_sparse(grad)) {
    if (rows == 0) return at::expand(grad, values_size);
    // An expanded gradient is not laid out: it is read at its one index.
    Tensor part = grad;
    c10::List<std::optional<Tensor>> places;
    for (int64_t d = 0; d < rows; ++d) {
      const Tensor row = at::select(indices, 0, d);
      const bool repeats = grad.size(d) > 1 && grad.stride(d) == 0;
      if (repeats) part = at::narrow(part, d, 0, 1);
      places.push_back(repeats ? at::zeros_like(row) : row);
    }
    return at::index(part, places);
  }
  const Tensor elements = at::coalesce(grad.layout() == kSparse ? grad : at::to_sparse(grad));
  if (at::sparse_dim(elements) != rows) return sparse_constructor_values_grad(at::to_dense(grad), indices, values_size);
  // Of each place the number of its element, from 1 on: 0 where the gradient has none.
  const IntArrayRef sizes = grad.sizes().slice(0, static_cast<size_t>(rows));
  const Tensor count = at::arange(1, at::_nnz(elements) + 1, indices.options());
  const Tensor numbers =
      at::sparse_mask(at::sparse_coo_tensor(at::indices(elements.detach()), count, sizes, TensorOptions(), true),
                      at::sparse_coo_tensor(indices, at::zeros({nnz}, indices.options()), sizes));
  const Tensor values = at::values(elements);
  DimVector none(values.sizes().begin(), values.sizes().end());
  none[0] = 1;
  return at::index_select(at::cat({at::zeros(none, values.options()), values}, 0), 0, at::_values(numbers));
}

Tensor sparse_values_grad(const Tensor& grad, const Tensor& self) {
  if (self.layout() == kSparse)
    return at::sparse_coo_tensor(at::_indices(self), grad, self.sizes(), TensorOptions(), true);
  const bool rows = self.layout() == kSparseCsr || self.layout() == kSparseBsr;
  return at::_sparse_compressed_tensor_unsafe(rows ? at::crow_indices(self) : at::ccol_indices(self),
                                              rows ? at::col_indices(self) : at::row_indices(self), grad, self.sizes(),
                                              TensorOptions().layout(self.layout()));
}

Tensor to_sparse_grad(const Tensor& grad, const Tensor& self) {
  const bool blocked = self.layout() == kSparseBsr || self.layout() == kSparseBsc;
  if (grad.layout() == self.layout() && (!blocked || block_of(grad) == block_of(self))) return grad;
  if (!is_sparse(self)) return at::to_dense(grad);
  // Converted from one sparse layout to another: the places stay.
  return at::sparse_mask(is_sparse(grad) && grad.layout() != kSparse ? at::to_sparse(grad) : grad, places_of(self));
}

Tensor sparse_mask_grad(const Tensor& grad, const Tensor& mask, const Tensor& self) {
  const Tensor places = places_of(mask);
  Tensor own = at::sparse_mask(grad, places);
  if (mask.layout() == kSparse && at::_nnz(mask) != at::_nnz(places)) {
    // An element of self stands in the result as often as the mask names its place.
    const Tensor ones = at::ones(at::_values(mask).sizes(), grad.options().layout(kStrided));
    own = at::mul(own, at::coalesce(at::sparse_coo_tensor(at::_indices(mask), ones, mask.sizes())));
  }
  return to_sparse_grad(own, self);
}

Tensor sparse_mm_grad_left(const Tensor& grad, const Tensor& left, const Tensor& right, const Scalar& alpha) {
  return product_like(left, grad, adjoint_of(right), alpha);
}

Tensor sparse_mm_grad_right(const Tensor& grad, const Tensor& left, const Tensor& right, const Scalar& alpha) {
  return product_like(right, adjoint_of(left), grad, alpha);
}

Tensor sampled_grad_left(const Tensor& grad, const Tensor& self, const Tensor& right, const Scalar& alpha) {
  return scale_grad(at::mm(at::sparse_mask(grad, self.detach()), adjoint_of(right)), alpha);
}

Tensor sampled_grad_right(const Tensor& grad, const Tensor& self, const Tensor& left, const Scalar& alpha) {
  return scale_grad(at::mm(adjoint_of(left), at::sparse_mask(grad, self.detach())), alpha);
}

Tensor compressed_values_grad(const Tensor& grad, const Tensor& result) {
  return at::values(at::sparse_mask(grad, result.detach()));
}

Tensor spdiags_grad(const Tensor& grad, const Tensor& offsets, IntArrayRef sizes) {
  // The diagonals' own elements, numbered, say where each stands in the matrix.
  int64_t numel = 1;
  for (const int64_t size : sizes) numel *= size;
  const Tensor numbers = at::reshape(at::arange(numel, TensorOptions().dtype(kLong)), sizes);
  const Tensor places = at::_spdiags(numbers, offsets, grad.sizes());
  const Tensor elements = at::_values(at::sparse_mask(grad, places));
  const Tensor zeros = at::zeros({numel}, grad.options().layout(kStrided));
  return at::reshape(at::index_add(zeros, 0, at::_values(places), elements), sizes);
}

Tensor sparse_broadcast_grad(const Tensor& grad, IntArrayRef sizes) {
  const int64_t lead = grad.dim() - static_cast<int64_t>(sizes.size());
  std::vector<int64_t> added, grown;
  for (int64_t d = 0; d < lead; ++d) added.push_back(d);
  Tensor result = added.empty() ? grad : at::sum(grad, added);
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 1 && grad.size(static_cast<int64_t>(d) + lead) != 1) grown.push_back(static_cast<int64_t>(d));
  }
  return grown.empty() ? result : at::sum(result, grown, true);
}

}  // namespace torch::autograd::generated
