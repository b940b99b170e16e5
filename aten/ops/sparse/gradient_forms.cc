// Gradients that are sparse tensors: of rows that are named, of what was made dense.
#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/composite/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/shared/arguments.h"
#include "aten/ops/shared/bags.h"
#include "aten/ops/sort/ops.h"
#include "aten/ops/sparse/kernels.h"
#include "aten/ops/sparse/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/sparse/compressed_tensor_impl.h"

namespace at::native {

Tensor embedding_sparse_backward(const Tensor& grad, const Tensor& indices, int64_t num_weights, int64_t padding_idx,
                                 bool scale_grad_by_freq) {
  TORCH_CHECK(!scale_grad_by_freq, "embedding_backward: scale_grad_by_freq not supported with sparse gradients");
  TORCH_CHECK(grad.dim() == indices.dim() + 1 && grad.numel() == indices.numel() * grad.size(-1),
              "embedding_sparse_backward: expected grad with the sizes of indices, ", indices.sizes(),
              ", and one more, but got ", grad.sizes());
  const int64_t width = grad.size(-1);
  Tensor places = at::reshape(indices, {1, indices.numel()});
  if (places.scalar_type() != kLong) places = at::to(places, kLong);
  Tensor values = at::reshape(grad, {indices.numel(), width});
  if (padding_idx >= 0) {
    const Tensor kept = at::reshape(at::nonzero(at::ne(at::select(places, 0, 0), padding_idx)), {-1});
    places = at::index_select(places, 1, kept);
    values = at::index_select(values, 0, kept);
  }
  return at::sparse_coo_tensor(places, values, {num_weights, width});
}

Tensor to_dense_backward(const Tensor& grad, const Tensor& input, std::optional<bool> masked_grad) {
  const Layout layout = input.layout();
  TORCH_CHECK(grad.sizes() == input.sizes(), "to_dense_backward: expected grad of the size of input, ", input.sizes(),
              ", but got ", grad.sizes());
  if (layout == Layout::Strided) return grad;
  const Tensor own = at::detach(input);
  if (masked_grad.value_or(true)) return at::sparse_mask(grad, layout == Layout::Sparse ? at::coalesce(own) : own);
  if (layout == Layout::Sparse) return at::to_sparse(grad, at::sparse_dim(own));
  const int64_t dense_dim = at::dense_dim(own);
  if (!SparseCsrTensorImpl::is_blocked(layout)) return at::to_sparse(grad, layout, OptionalIntArrayRef(), dense_dim);
  const std::array<int64_t, 2> block = sparse::compressed_impl_of("to_dense_backward", own).block();
  return at::to_sparse(grad, layout, IntArrayRef(block), dense_dim);
}

Tensor embedding_backward(const Tensor& grad, const Tensor& indices, int64_t num_weights, int64_t padding_idx,
                          bool scale_grad_by_freq, bool sparse) {
  return sparse ? at::embedding_sparse_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq)
                : at::embedding_dense_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq);
}

Tensor embedding_bag_sparse_backward(const Tensor& grad, const Tensor& indices, const Tensor&, const Tensor& offset2bag,
                                     const Tensor& bag_size, int64_t num_weights, bool scale_grad_by_freq, int64_t mode,
                                     const std::optional<Tensor>& per_sample_weights, int64_t padding_idx) {
  constexpr const char* kName = "_embedding_bag_sparse_backward";
  TORCH_CHECK(mode == 0 || mode == 1, kName, ": expected mode 0 (sum) or 1 (mean), but got ", mode);
  TORCH_CHECK(grad.dim() == 2 && indices.dim() == 1 && offset2bag.numel() == indices.numel(), kName,
              ": expected a matrix and as many bags as indices, but got ", grad.sizes(), ", ", offset2bag.sizes(),
              " and ", indices.sizes());
  Tensor rows = at::index_select(grad, 0, offset2bag);
  const auto column = [&](const Tensor& t) { return at::unsqueeze(at::to(t, grad.scalar_type()), 1); };
  if (mode == 1) rows = at::div(rows, column(at::index_select(bag_size, 0, offset2bag)));
  if (given(per_sample_weights)) {
    TORCH_CHECK(mode == 0, kName, ": per_sample_weights only supported with mode='sum'");
    rows = at::mul(rows, at::unsqueeze(*per_sample_weights, 1));
  }
  return at::embedding_backward(rows, indices, num_weights, padding_idx, scale_grad_by_freq, true);
}

Tensor embedding_bag_backward(const Tensor& grad, const Tensor& indices, const Tensor& offsets,
                              const Tensor& offset2bag, const Tensor& bag_size, const Tensor& maximum_indices,
                              int64_t num_weights, bool scale_grad_by_freq, int64_t mode, bool sparse,
                              const std::optional<Tensor>& per_sample_weights, int64_t padding_idx) {
  const Tensor bags = bags_of("_embedding_bag_backward", offset2bag, indices, offsets);
  return sparse ? at::_embedding_bag_sparse_backward(grad, indices, offsets, bags, bag_size, num_weights,
                                                     scale_grad_by_freq, mode, per_sample_weights, padding_idx)
                : at::_embedding_bag_dense_backward(grad, indices, bags, bag_size, maximum_indices, num_weights,
                                                    scale_grad_by_freq, mode, per_sample_weights, padding_idx);
}

}  // namespace at::native
