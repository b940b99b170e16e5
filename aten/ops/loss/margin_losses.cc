// Distances and the losses of margins, by composition: differentiable through what they call.
#include <limits>

#include "aten/core/reduction.h"
#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/loss/kernels.h"
#include "aten/ops/loss/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/scan/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

Tensor reduced(const Tensor& loss, int64_t reduction) {
  TORCH_CHECK(reduction >= Reduction::None && reduction <= Reduction::Sum, reduction,
              " is not a valid value for reduction");
  return reduction == Reduction::Mean ? at::mean(loss) : reduction == Reduction::Sum ? at::sum(loss) : loss;
}

// self as [N, C].
Tensor as_batch(const char* op, const Tensor& self) {
  TORCH_CHECK(self.dim() <= 2 && (self.dim() < 2 || self.size(1) > 0) && (self.dim() != 1 || self.size(0) > 0), op,
              "(): expected non-empty vector or matrix with optional 0-dim batch size, but got: ", self.sizes());
  TORCH_CHECK_NOT_IMPLEMENTED(isFloatingType(self.scalar_type()), "\"", op, "\" not implemented for '",
                              self.scalar_type(), "'");
  return self.dim() == 2 ? self : at::reshape(self, {1, self.numel()});
}

}  // namespace

// ||x1[i] - x2[j]||_p for all pairs of rows.
Tensor cdist(const Tensor& x1, const Tensor& x2, double p, std::optional<int64_t> compute_mode) {
  TORCH_CHECK(isFloatingType(x1.scalar_type()),
              "cdist only supports floating-point dtypes, X1 got: ", x1.scalar_type());
  TORCH_CHECK(isFloatingType(x2.scalar_type()),
              "cdist only supports floating-point dtypes, X2 got: ", x2.scalar_type());
  TORCH_CHECK(x1.dim() >= 2, "cdist only supports at least 2D tensors, X1 got: ", x1.dim(), "D");
  TORCH_CHECK(x2.dim() >= 2, "cdist only supports at least 2D tensors, X2 got: ", x2.dim(), "D");
  TORCH_CHECK(x1.size(-1) == x2.size(-1), "X1 and X2 must have the same number of columns. X1: ", x1.size(-1),
              " X2: ", x2.size(-1));
  TORCH_CHECK(p >= 0, "cdist only supports non-negative p values");
  TORCH_CHECK(!compute_mode.has_value() || (*compute_mode >= 0 && *compute_mode <= 2),
              "possible modes: None, 1, 2, but was: ", compute_mode.value_or(0));
  const Tensor differences = at::sub(at::unsqueeze(x1, -2), at::unsqueeze(x2, -3));
  // Of no columns all distances are zero, whatever the norm.
  if (x1.size(-1) == 0) return at::sum(differences, IntArrayRef{-1});
  return at::norm(differences, Scalar(p), IntArrayRef{-1});
}

Tensor euclidean_dist(const Tensor& x1, const Tensor& x2) {
  return at::cdist(x1, x2, 2, std::nullopt);
}

// The distances of all pairs of rows, i < j.
Tensor pdist(const Tensor& self, double p) {
  TORCH_CHECK(self.dim() == 2, "pdist only supports 2D tensors, got: ", self.dim(), "D");
  TORCH_CHECK(isFloatingType(self.scalar_type()), "pdist only supports floating-point dtypes");
  TORCH_CHECK(p >= 0, "pdist only supports non-negative p values");
  const int64_t n = self.size(0);
  const Tensor pairs = at::triu_indices(n, n, 1, TensorOptions(kLong).device(self.device()));
  const Tensor differences =
      at::sub(at::index_select(self, 0, at::select(pairs, 0, 0)), at::index_select(self, 0, at::select(pairs, 0, 1)));
  if (self.size(1) == 0 || n <= 1) return at::sum(differences, IntArrayRef{1});
  return at::norm(differences, Scalar(p), IntArrayRef{1});
}

// sum over i != y of max(0, margin - x[y] + x[i])^p weight[y] / C
Tensor multi_margin_loss(const Tensor& self, const Tensor& target, const Scalar& p, const Scalar& margin,
                         const std::optional<Tensor>& weight, int64_t reduction) {
  TORCH_CHECK(!p.isComplex() && !margin.isComplex(), "multi_margin_loss: p and margin must be real");
  const double power = p.toDouble();
  TORCH_CHECK(power == 1 || power == 2, "multi_margin_loss: only p == 1 and p == 2 supported");
  const Tensor x = as_batch("multi_margin_loss", self);
  TORCH_CHECK(target.dim() <= 1 && target.numel() == x.size(0),
              "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch size). "
              "Expected target size [", x.size(0), "], but got ", target.sizes(), ". Input has shape ", self.sizes(), ".");
  TORCH_CHECK(target.scalar_type() == kLong, "expected scalar type Long but found ", target.scalar_type());
  const int64_t classes = x.size(1);
  const Tensor y = at::reshape(target, {x.size(0), 1});
  if (y.numel() > 0) {
    TORCH_CHECK(at::item(at::all(at::logical_and(at::ge(y, Scalar(0)), at::lt(y, Scalar(classes))))).toBool(),
                "target out of range");
  }
  Tensor z = at::clamp_min(at::add(at::sub(x, at::gather(x, 1, y)), margin), Scalar(0));
  if (power == 2) z = at::square(z);
  if (weight.has_value() && weight->defined()) {
    TORCH_CHECK(weight->dim() <= 1 && weight->numel() == classes, "inconsistent weight size, expected ", classes,
                " but got ", weight->sizes());
    z = at::mul(z, at::reshape(at::index_select(*weight, 0, at::reshape(y, {-1})), {x.size(0), 1}));
  }
  const Tensor loss = at::div(at::sum(at::scatter(z, 1, y, Scalar(0)), IntArrayRef{1}), Scalar(classes));
  const Tensor result = reduced(loss, reduction);
  return self.dim() < 2 && reduction == Reduction::None ? at::reshape(result, target.sizes()) : result;
}

// sum over targets j (up to the first -1) and i that are none of max(0, 1 - x[j] + x[i]) / C
std::tuple<Tensor, Tensor> multilabel_margin_loss_forward(const Tensor& self, const Tensor& target, int64_t reduction) {
  const Tensor x = as_batch("multilabel_margin_loss", self);
  TORCH_CHECK(target.sizes() == self.sizes(), "inconsistent target size: ", target.sizes(),
              " for input of size: ", self.sizes());
  TORCH_CHECK(target.scalar_type() == kLong, "expected scalar type Long but found ", target.scalar_type());
  const int64_t classes = x.size(1);
  const Tensor y = at::reshape(target, x.sizes());
  if (y.numel() > 0) {
    TORCH_CHECK(at::item(at::all(at::logical_and(at::ge(y, Scalar(-1)), at::lt(y, Scalar(classes))))).toBool(),
                "multilabel_margin_loss: target is out of range");
  }
  const auto number = [&](const Tensor& mask) { return at::to(mask, x.scalar_type()); };
  // 1 up to the first -1 of each row.
  const Tensor valid = at::cumprod(number(at::ge(y, Scalar(0))), 1);
  const Tensor at_least_zero = at::clamp_min(y, Scalar(0));
  const Tensor is_target = number(at::gt(at::scatter_add(at::zeros_like(x), 1, at_least_zero, valid), Scalar(0)));
  const Tensor of_targets = at::unsqueeze(at::gather(x, 1, at_least_zero), 2);
  const Tensor z = at::clamp_min(at::add(at::sub(at::unsqueeze(x, 1), of_targets), Scalar(1)), Scalar(0));
  const Tensor counts = at::mul(at::unsqueeze(valid, 2), at::unsqueeze(at::rsub(is_target, Scalar(1)), 1));
  const Tensor loss = at::div(at::sum(at::mul(z, counts), IntArrayRef{1, 2}), Scalar(classes));
  const Tensor result = reduced(loss, reduction);
  return {self.dim() < 2 && reduction == Reduction::None ? at::reshape(result, {}) : result,
          at::reshape(is_target, self.sizes())};
}
Tensor multilabel_margin_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  return std::get<0>(at::multilabel_margin_loss_forward(self, target, reduction));
}

}  // namespace at::native
