// The gradients of losses and distances, by composition: differentiable through what they call.
#include <cmath>

#include "aten/core/reduction.h"
#include "aten/core/tensor.h"
#include "aten/core/view.h"
#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/loss/kernels.h"
#include "aten/ops/loss/ops.h"
#include "aten/ops/loss/rows.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/scan/ops.h"
#include "aten/ops/shared/arguments.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

// What one of `count` losses contributes to the result.
Tensor share_of(const Tensor& grad, int64_t reduction, int64_t count) {
  TORCH_CHECK(reduction >= Reduction::None && reduction <= Reduction::Sum, reduction,
              " is not a valid value for reduction");
  return reduction == Reduction::Mean ? at::div(grad, Scalar(count)) : grad;
}

// The gradient of each row's loss, as a column.
Tensor rows_of(const char* op, const Tensor& grad, int64_t rows, int64_t reduction) {
  const Tensor share = share_of(grad, reduction, rows);
  TORCH_CHECK(share.numel() == (reduction == Reduction::None ? rows : 1), op, "(): expected grad_output with ",
              reduction == Reduction::None ? rows : 1, " elements, but got size ", grad.sizes());
  return at::reshape(share, {-1, 1});
}

}  // namespace

Tensor binary_cross_entropy_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target,
                                     const std::optional<Tensor>& weight, int64_t reduction) {
  TORCH_CHECK(target.numel() == self.numel(), "binary_cross_entropy_backward: expected a target of size ", self.sizes(),
              ", but got ", target.sizes());
  const Tensor slope = at::clamp_min(at::mul(self, at::rsub(self, Scalar(1))), Scalar(1e-12));
  Tensor grad = share_of(grad_output, reduction, self.numel());
  if (given(weight)) grad = at::mul(grad, *weight);
  const Tensor in_shape = target.sizes() == self.sizes() ? target : at::reshape(target, self.sizes());
  return at::mul(grad, at::div(at::sub(self, in_shape), slope));
}

// -t s(-t x) with the logistic function s
Tensor soft_margin_loss_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target,
                                 int64_t reduction) {
  const Tensor opposite = at::neg(target);
  const Tensor slope = at::mul(opposite, at::sigmoid(at::mul(opposite, self)));
  return at::mul(share_of(grad_output, reduction, slope.numel()), slope);
}

// With z[i] = margin - x[y] + x[i] above 0 for i != y: p z[i]^(p - 1) weight[y] / C for i, and minus their sum for y.
Tensor multi_margin_loss_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target, const Scalar& p,
                                  const Scalar& margin, const std::optional<Tensor>& weight, int64_t reduction) {
  const MarginRows rows = margin_rows("multi_margin_loss_backward", self, target, p, margin, weight);
  const Tensor z = at::clamp_min(rows.differences, Scalar(0));
  const Tensor above = at::to(at::gt(z, Scalar(0)), z.scalar_type());
  Tensor slope = at::scatter(rows.squared ? at::mul(z, Scalar(2)) : above, 1, rows.target, Scalar(0));
  if (rows.weight.defined()) slope = at::mul(slope, rows.weight);
  slope = at::scatter(slope, 1, rows.target, at::neg(at::sum(slope, IntArrayRef{1}, true)));
  const Tensor grad = rows_of("multi_margin_loss_backward", grad_output, z.size(0), reduction);
  return at::reshape(at::mul(at::div(slope, Scalar(z.size(1))), grad), self.sizes());
}

// For each target j and each class i that is none, where 1 - x[j] + x[i] is above 0: 1 / C for i, and minus that for j.
Tensor multilabel_margin_loss_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target,
                                       int64_t reduction, const Tensor& is_target) {
  const LabelRows rows = label_rows("multilabel_margin_loss_backward", self, target);
  TORCH_CHECK(is_target.sizes() == self.sizes(), "multilabel_margin_loss_backward: expected is_target of size ",
              self.sizes(), ", but got ", is_target.sizes());
  const Tensor others = at::rsub(at::to(at::reshape(is_target, rows.x.sizes()), rows.x.scalar_type()), Scalar(1));
  const Tensor counted = at::mul(at::unsqueeze(rows.valid, 2), at::unsqueeze(others, 1));
  const Tensor above = at::mul(at::to(at::gt(rows.differences, Scalar(0)), rows.x.scalar_type()), counted);
  const Tensor slope =
      at::scatter_add(at::sum(above, IntArrayRef{1}), 1, rows.target, at::neg(at::sum(above, IntArrayRef{2})));
  const Tensor grad = rows_of("multilabel_margin_loss_backward", grad_output, rows.x.size(0), reduction);
  return at::reshape(at::mul(at::div(slope, Scalar(rows.x.size(1))), grad), self.sizes());
}

namespace {

// The derivative of ||d||_p by d, where the norm is `distance` (0: the norm of nothing, which has none).
Tensor norm_slope(const Tensor& d, double p, const Tensor& distance) {
  if (p == 0) return at::zeros_like(d);
  if (p == 1) return at::sgn(d);
  if (std::isinf(p)) return at::mul(at::sgn(d), at::eq(at::abs(d), distance));
  const Tensor none = at::eq(distance, Scalar(0));
  if (p == 2) return at::masked_fill(at::div(d, distance), none, Scalar(0));
  const Tensor powers = at::mul(at::sgn(d), at::pow(at::abs(d), Scalar(p - 1)));
  const Tensor slope = at::div(powers, at::pow(distance, Scalar(p - 1)));
  return at::masked_fill(slope, p < 1 ? at::logical_or(none, at::eq(d, Scalar(0))) : none, Scalar(0));
}

}  // namespace

Tensor cdist_backward(const Tensor& grad_output, const Tensor& x1, const Tensor& x2, double p, const Tensor& cdist) {
  TORCH_CHECK(x1.dim() >= 2 && x2.dim() >= 2 && x1.size(-1) == x2.size(-1),
              "_cdist_backward: expected matrices with the same number of columns, but got ", x1.sizes(), " and ",
              x2.sizes());
  TORCH_CHECK(p >= 0, "_cdist_backward: expected p that is not negative, but got ", p);
  DimVector sizes = broadcast_shapes(x1.sizes().slice(0, static_cast<size_t>(x1.dim() - 2)),
                                     x2.sizes().slice(0, static_cast<size_t>(x2.dim() - 2)));
  DimVector distances = sizes;
  distances.push_back(x1.size(-2));
  distances.push_back(x2.size(-2));
  TORCH_CHECK(grad_output.sizes() == IntArrayRef(distances) && cdist.sizes() == IntArrayRef(distances),
              "_cdist_backward: expected grad_output and cdist of size ", IntArrayRef(distances), ", but got ",
              grad_output.sizes(), " and ", cdist.sizes());
  sizes.push_back(x1.size(-2));
  sizes.push_back(x1.size(-1));
  const Tensor differences = at::sub(at::unsqueeze(at::expand(x1, sizes), -2), at::unsqueeze(x2, -3));
  const Tensor slope = norm_slope(differences, p, at::unsqueeze(cdist, -1));
  return at::sum(at::mul(slope, at::unsqueeze(grad_output, -1)), IntArrayRef{-2});
}

Tensor pdist_backward(const Tensor& grad_output, const Tensor& self, double p, const Tensor& pdist) {
  TORCH_CHECK(self.dim() == 2, "_pdist_backward: expected a matrix, but got size ", self.sizes());
  TORCH_CHECK(p >= 0, "_pdist_backward: expected p that is not negative, but got ", p);
  const int64_t n = self.size(0), count = (n == 0 ? 0 : c10::checked_numel({n, n - 1})) / 2;
  TORCH_CHECK(grad_output.dim() == 1 && grad_output.size(0) == count && pdist.sizes() == grad_output.sizes(),
              "_pdist_backward: expected grad_output and pdist of ", count, " elements, but got ", grad_output.sizes(),
              " and ", pdist.sizes());
  const Tensor pairs = at::triu_indices(n, n, 1, TensorOptions(kLong).device(self.device()));
  const Tensor first = at::select(pairs, 0, 0), second = at::select(pairs, 0, 1);
  const Tensor differences = at::sub(at::index_select(self, 0, first), at::index_select(self, 0, second));
  const Tensor grad = at::mul(norm_slope(differences, p, at::unsqueeze(pdist, 1)), at::unsqueeze(grad_output, 1));
  return at::index_add(at::index_add(at::zeros_like(self), 0, first, grad), 0, second, grad, Scalar(-1));
}

}  // namespace at::native
