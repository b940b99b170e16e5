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
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/autograd.h"
#include "autograd/derivatives/pointwise_functions.h"
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

// a + b where either may be undefined.
Tensor plus(Tensor a, Tensor b) {
  if (!a.defined()) return b;
  if (!b.defined()) return a;
  return at::add(a, b);
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

Tensor mv_grad_matrix(const Tensor& grad, const Tensor& vector, const Scalar& scale) {
  return scale_grad(at::mul(at::unsqueeze(grad, 1), at::unsqueeze(conj_of(vector), 0)), scale);
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
    if (mask[0]) grad_input = at::mul(at::unsqueeze(grad, -1), conj_of(weight));
    if (mask[1]) {
      grad_weight = at::sum(
          at::reshape(at::mul(at::unsqueeze(grad, -1), conj_of(input)), {grad.numel(), in}), IntArrayRef{0});
    }
    if (mask[2]) grad_bias = at::sum(grad);
    return {std::move(grad_input), std::move(grad_weight), std::move(grad_bias)};
  }
  const int64_t out = weight.size(0);
  int64_t count = 1;
  for (int64_t d = 0; d + 1 < input.dim(); ++d) count *= input.size(d);
  const Tensor rows = at::reshape(grad, {count, out});
  if (mask[0]) grad_input = at::reshape(at::mm(rows, conj_of(weight)), input.sizes());
  if (mask[1]) {
    grad_weight = at::mm(
        at::transpose(rows, 0, 1), conj_of(at::reshape(input, {rows.size(0), in})));
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

std::tuple<Tensor, Tensor, Tensor> convolution_backward_grad(
    const Tensor* grads,
    const Tensor& grad_output,
    const Tensor& input,
    const Tensor& weight,
    IntArrayRef stride,
    IntArrayRef padding,
    IntArrayRef dilation,
    bool transposed,
    IntArrayRef output_padding,
    int64_t groups,
    std::array<bool, 3> mask) {
  const Tensor& to_input = grads[0];
  const Tensor& to_weight = grads[1];
  const Tensor& to_bias = grads[2];
  const auto convolve = [&](const Tensor& x, const Tensor& w) {
    return at::convolution(x, w, std::nullopt, stride, padding, dilation, transposed, output_padding, groups);
  };
  const auto backward_of = [&](const Tensor& x, const Tensor& w, bool for_input) {
    return at::convolution_backward(
        conj_of(grad_output), x, w, OptionalIntArrayRef(std::nullopt), stride, padding, dilation, transposed, output_padding, groups,
        std::array<bool, 3>{for_input, !for_input, false});
  };
  Tensor grad_grad_output, grad_input, grad_weight;
  if (mask[0]) {
    if (to_input.defined()) grad_grad_output = convolve(to_input, conj_of(weight));
    if (to_weight.defined()) grad_grad_output = plus(std::move(grad_grad_output), convolve(conj_of(input), to_weight));
    if (to_bias.defined()) {
      DimVector sizes(static_cast<size_t>(grad_output.dim()), 1);
      sizes[static_cast<size_t>(grad_output.dim() - weight.dim() + 1)] = to_bias.numel();
      const Tensor shown = at::expand(at::reshape(to_bias, sizes), grad_output.sizes());
      grad_grad_output = plus(std::move(grad_grad_output), shown);
    }
  }
  if (mask[1] && to_weight.defined()) grad_input = std::get<0>(backward_of(input, to_weight, true));
  if (mask[2] && to_input.defined()) grad_weight = std::get<1>(backward_of(to_input, weight, false));
  return {std::move(grad_grad_output), std::move(grad_input), std::move(grad_weight)};
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
