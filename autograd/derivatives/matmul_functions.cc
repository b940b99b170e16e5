#include "autograd/derivatives/matmul_functions.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "aten/ops/attention/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/conv/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/sparse/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/autograd.h"
#include "autograd/derivatives/pointwise_functions.h"
#include "autograd/engine/forward_grad.h"
#include "c10/core/grad_mode.h"

namespace torch::autograd::generated {
namespace {

// The conjugate transpose of the last two dimensions.
Tensor adjoint_of(const Tensor& t) {
  return conj_of(at::transpose(t, -2, -1));
}

Tensor product(const Tensor& a, const Tensor& b) {
  return a.dim() == 2 ? at::mm(a, b) : at::bmm(a, b);
}

}  // namespace

Tensor matmul_grad_left(const Tensor& grad, const Tensor& right, const Scalar& scale) {
  return scale_grad(product(grad, adjoint_of(right)), scale);
}

Tensor matmul_grad_right(const Tensor& grad, const Tensor& left, const Scalar& scale) {
  return scale_grad(product(adjoint_of(left), grad), scale);
}

Tensor addbmm_grad_left(const Tensor& grad, const Tensor& right, const Scalar& scale) {
  const Tensor all = at::expand(grad, {right.size(0), grad.size(0), grad.size(1)});
  return scale_grad(at::bmm(all, adjoint_of(right)), scale);
}

Tensor addbmm_grad_right(const Tensor& grad, const Tensor& left, const Scalar& scale) {
  const Tensor all = at::expand(grad, {left.size(0), grad.size(0), grad.size(1)});
  return scale_grad(at::bmm(adjoint_of(left), all), scale);
}

namespace {
// A vector in coordinates may stand for a dense one.
Tensor dense_vector(const Tensor& t) {
  return C10_LIKELY(t.layout() == kStrided) ? t : at::to_dense(t);
}
}  // namespace

Tensor mv_grad_matrix(const Tensor& grad, const Tensor& vector, const Scalar& scale) {
  return scale_grad(at::mul(at::unsqueeze(grad, 1), at::unsqueeze(conj_of(dense_vector(vector)), 0)), scale);
}

Tensor mv_grad_vector(const Tensor& grad, const Tensor& matrix, const Scalar& scale) {
  return scale_grad(at::mv(adjoint_of(matrix), grad), scale);
}

Tensor outer_grad_left(const Tensor& grad, const Tensor& right, const Scalar& scale) {
  return scale_grad(at::mv(grad, conj_of(at::to(right, grad.scalar_type()))), scale);
}

Tensor outer_grad_right(const Tensor& grad, const Tensor& left, const Scalar& scale) {
  return scale_grad(at::mv(at::transpose(grad, 0, 1), conj_of(at::to(left, grad.scalar_type()))), scale);
}

std::tuple<Tensor, Tensor, Tensor> linear_grad(
    const Tensor& grad, const Tensor& input, const Tensor& weight, std::array<bool, 3> mask) {
  Tensor grad_input, grad_weight, grad_bias;
  // One matrix of rows: (..., in) is (rows, in), (..., out) is (rows, out).
  const int64_t in = input.size(-1);
  if (weight.dim() == 1) {
    if (mask[0]) grad_input = at::mul(at::unsqueeze(grad, -1), conj_of(dense_vector(weight)));
    if (mask[1]) {
      grad_weight = input.layout() != kStrided
          ? at::mv(conj_of(at::transpose(input, 0, 1)), grad)
          : at::sum(at::reshape(at::mul(at::unsqueeze(grad, -1), conj_of(input)), {grad.numel(), in}), IntArrayRef{0});
    }
    if (mask[2]) grad_bias = at::sum(grad);
    return {std::move(grad_input), std::move(grad_weight), std::move(grad_bias)};
  }
  const int64_t out = weight.size(0);
  int64_t count = 1;
  for (int64_t d = 0; d + 1 < input.dim(); ++d) count *= input.size(d);
  // Sparse tensors are not reshaped.
  const bool flat = input.dim() == 2;
  const Tensor rows = flat ? grad : at::reshape(grad, {count, out});
  if (mask[0]) {
    grad_input = at::mm(rows, conj_of(weight));
    if (!flat) grad_input = at::reshape(grad_input, input.sizes());
  }
  if (mask[1]) {
    const Tensor matrix = flat ? input : input.dim() == 1 ? at::unsqueeze(input, 0) : at::reshape(input, {count, in});
    if (mask[2] && rows.is_cuda() && rows.layout() == kStrided && matrix.layout() == kStrided && !is_differentiated()) {
      std::tie(grad_weight, grad_bias) = at::_fused_linear_parameters_backward(rows, conj_of(matrix));
      return {std::move(grad_input), std::move(grad_weight), std::move(grad_bias)};
    }
    // Of two sparse factors the product has the layout of the first, and is to have that of the transposed weight.
    grad_weight = rows.layout() == kStrided ? at::mm(at::transpose(rows, 0, 1), conj_of(matrix))
                                            : at::transpose(at::mm(conj_of(at::transpose(matrix, 0, 1)), rows), 0, 1);
  }
  if (mask[2]) grad_bias = at::sum(rows, IntArrayRef{0});
  return {std::move(grad_input), std::move(grad_weight), std::move(grad_bias)};
}

Tensor cross_grad_self(const Tensor& grad, const Tensor& other, std::optional<int64_t> dim) {
  return at::cross(conj_of(other), grad, dim);
}

Tensor cross_grad_other(const Tensor& grad, const Tensor& self, std::optional<int64_t> dim) {
  return at::cross(grad, conj_of(self), dim);
}

std::tuple<Tensor, Tensor, Tensor> convolution_grad(
    const Tensor& grad,
    const Tensor& input,
    const Tensor& weight,
    const Tensor& bias,
    IntArrayRef stride,
    IntArrayRef padding,
    IntArrayRef dilation,
    bool transposed,
    IntArrayRef output_padding,
    int64_t groups,
    std::array<bool, 3> mask) {
  const OptionalIntArrayRef bias_sizes =
      bias.defined() ? OptionalIntArrayRef(bias.sizes()) : OptionalIntArrayRef(std::nullopt);
  return at::convolution_backward(
      grad, conj_of(input), conj_of(weight), bias_sizes, stride, padding, dilation, transposed, output_padding, groups, mask);
}

Tensor max_pool_backward_grad(const Tensor& grad, const Tensor& indices, int64_t dims) {
  DimVector flat(grad.sizes().begin(), grad.sizes().end() - dims);
  flat.push_back(-1);
  DimVector flat_indices(indices.sizes().begin(), indices.sizes().end() - dims);
  flat_indices.push_back(-1);
  if (grad.numel() == 0 || indices.numel() == 0) return at::zeros_like(indices, grad.options());
  return at::reshape(
      at::gather(at::reshape(grad, flat), -1, at::reshape(indices, flat_indices)), indices.sizes());
}

}  // namespace torch::autograd::generated
