#include "autograd/derivatives/sparse_functions.h"

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/sparse/ops.h"
#include "aten/ops/view/ops.h"

namespace torch::autograd::generated {
namespace {

bool is_sparse(const Tensor& t) {
  return t.layout() == kSparse;
}

}  // namespace

Tensor sparse_constructor_values_grad(const Tensor& grad, const Tensor& indices, IntArrayRef values_size) {
  // The places of a dense tensor, as one number each.
  const Tensor dense = is_sparse(grad) ? at::to_dense(grad) : grad;
  const int64_t rows = indices.size(0);
  DimVector flat{1};
  for (int64_t d = 0; d < dense.dim(); ++d) {
    if (d < rows) {
      flat[0] *= dense.size(d);
    } else {
      flat.push_back(dense.size(d));
    }
  }
  Tensor places = at::zeros({indices.size(1)}, indices.options());
  for (int64_t d = 0; d < rows; ++d) places = at::add(at::mul(places, dense.size(d)), at::select(indices, 0, d));
  return at::reshape(at::index_select(at::reshape(dense, flat), 0, places), values_size);
}

Tensor sparse_values_grad(const Tensor& grad, const Tensor& self) {
  return at::sparse_coo_tensor(at::_indices(self), grad, self.sizes(), TensorOptions(), true);
}

Tensor to_dense_grad(const Tensor& grad, const Tensor& self, std::optional<bool> masked_grad) {
  if (!is_sparse(self)) return grad;
  if (masked_grad.value_or(true)) return at::sparse_mask(grad, at::coalesce(self.detach()));
  return at::to_sparse(grad, at::sparse_dim(self));
}

Tensor to_sparse_grad(const Tensor& grad, const Tensor& self) {
  return is_sparse(grad) && !is_sparse(self) ? at::to_dense(grad) : grad;
}

Tensor sparse_mask_grad(const Tensor& grad, const Tensor& self) {
  return to_sparse_grad(grad, self);
}

Tensor sparse_mm_grad_left(const Tensor& grad, const Tensor& left, const Tensor& right, const Scalar& alpha) {
  const Tensor right_dense = is_sparse(right) ? at::to_dense(right) : right;
  const Tensor product = at::mul(at::mm(is_sparse(grad) ? at::to_dense(grad) : grad, at::t(right_dense)), alpha);
  return is_sparse(left) ? at::sparse_mask(product, at::coalesce(left.detach())) : product;
}

Tensor sparse_mm_grad_right(const Tensor& grad, const Tensor& left, const Tensor& right, const Scalar& alpha) {
  const Tensor left_dense = is_sparse(left) ? at::to_dense(left) : left;
  const Tensor product = at::mul(at::mm(at::t(left_dense), is_sparse(grad) ? at::to_dense(grad) : grad), alpha);
  return is_sparse(right) ? at::sparse_mask(product, at::coalesce(right.detach())) : product;
}

Tensor embedding_grad(const Tensor& grad, const Tensor& indices, int64_t rows, int64_t padding_idx,
                      bool scale_grad_by_freq, bool sparse) {
  if (!sparse) return at::embedding_dense_backward(grad, indices, rows, padding_idx, scale_grad_by_freq);
  TORCH_CHECK(!scale_grad_by_freq, "embedding_backward: scale_grad_by_freq not supported with sparse gradients");
  const int64_t width = grad.size(-1);
  Tensor places = at::reshape(indices, {1, -1});
  if (places.scalar_type() != kLong) places = at::to(places, kLong);
  Tensor values = at::reshape(grad, {-1, width});
  if (padding_idx >= 0) {
    const Tensor kept = at::reshape(at::nonzero(at::ne(at::select(places, 0, 0), padding_idx)), {-1});
    places = at::index_select(places, 1, kept);
    values = at::index_select(values, 0, kept);
  }
  return at::sparse_coo_tensor(places, values, {rows, width});
}

}  // namespace torch::autograd::generated
