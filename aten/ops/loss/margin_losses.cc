// The losses of margins, by composition: differentiable through what they call.
#include <algorithm>
#include <vector>

#include "aten/core/empty.h"
#include "aten/core/reduction.h"
#include "aten/core/tensor.h"
#include "aten/cpu/rows/rows.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/loss/kernels.h"
#include "aten/ops/loss/ops.h"
#include "aten/ops/loss/rows.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/scan/ops.h"
#include "aten/ops/shared/value_checks.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/parallel/parallel.h"

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

// The targets of as many rows, each a class.
Tensor checked_target(const char* op, const Tensor& self, const Tensor& x, const Tensor& target) {
  TORCH_CHECK(target.dim() <= 1 && target.numel() == x.size(0), op,
              ": target tensor should be 1-D with size equal to the number of input samples (batch size). "
              "Expected target size [",
              x.size(0), "], but got ", target.sizes(), ". Input has shape ", self.sizes(), ".");
  TORCH_CHECK(target.scalar_type() == kLong, "expected scalar type Long but found ", target.scalar_type());
  const Tensor y = at::reshape(target, {x.size(0), 1});
  TORCH_CHECK(y.numel() == 0 || holds(at::logical_and(at::ge(y, Scalar(0)), at::lt(y, Scalar(x.size(1))))),
              "target out of range");
  return y;
}

}  // namespace

MarginRows margin_rows(const char* op, const Tensor& self, const Tensor& target, const Scalar& p, const Scalar& margin,
                       const std::optional<Tensor>& weight) {
  TORCH_CHECK(!p.isComplex() && !margin.isComplex(), op, ": p and margin must be real");
  const double power = p.toDouble();
  TORCH_CHECK(power == 1 || power == 2, op, ": only p == 1 and p == 2 supported");
  const Tensor x = as_batch(op, self);
  MarginRows rows;
  rows.target = checked_target(op, self, x, target);
  rows.differences = at::add(at::sub(x, at::gather(x, 1, rows.target)), margin);
  rows.squared = power == 2;
  if (weight.has_value() && weight->defined()) {
    TORCH_CHECK(weight->dim() <= 1 && weight->numel() == x.size(1), "inconsistent weight size, expected ", x.size(1),
                " but got ", weight->sizes());
    rows.weight = at::reshape(at::index_select(*weight, 0, at::reshape(rows.target, {-1})), {x.size(0), 1});
  }
  return rows;
}

// sum over i != y of max(0, margin - x[y] + x[i])^p weight[y] / C
Tensor multi_margin_loss(const Tensor& self, const Tensor& target, const Scalar& p, const Scalar& margin,
                         const std::optional<Tensor>& weight, int64_t reduction) {
  const MarginRows rows = margin_rows("multi_margin_loss", self, target, p, margin, weight);
  Tensor z = at::clamp_min(rows.differences, Scalar(0));
  if (rows.squared) z = at::square(z);
  if (rows.weight.defined()) z = at::mul(z, rows.weight);
  const Tensor loss = at::div(at::sum(at::scatter(z, 1, rows.target, Scalar(0)), IntArrayRef{1}), Scalar(z.size(1)));
  const Tensor result = reduced(loss, reduction);
  return self.dim() < 2 && reduction == Reduction::None ? at::reshape(result, target.sizes()) : result;
}

namespace {

// One row: what its targets are, and its loss.
template <class T>
double multilabel_row(const T* x, const int64_t* y, int64_t classes, T* is_target, T* others, T* terms) {
  std::fill(is_target, is_target + classes, T(0));
  int64_t targets = 0;
  for (; targets < classes && y[targets] >= 0; ++targets) is_target[y[targets]] = T(1);
  int64_t count = 0;
  for (int64_t i = 0; i < classes; ++i) {
    others[count] = x[i];
    count += is_target[i] == T(0);
  }
  double sum = 0;
  for (int64_t j = 0; j < targets; ++j) {
    const T base = T(1) - x[y[j]];
    // z < 0 is 0; NaN stays.
    for (int64_t i = 0; i < count; ++i) {
      const T z = base + others[i];
      terms[i] = z < T(0) ? T(0) : z;
    }
    sum += cpu::row_sum(terms, count);
  }
  return sum / static_cast<double>(classes);
}

std::tuple<Tensor, Tensor> multilabel_margin_loss_on_cpu(const Tensor& self, const Tensor& x, const Tensor& target,
                                                         int64_t reduction) {
  const int64_t rows = x.size(0), classes = x.size(1);
  const Tensor from = dense(x), y = dense(target);
  const Tensor is_target = fresh(empty_contiguous(self.sizes(), self.scalar_type()));
  const Tensor loss = fresh(empty_contiguous({rows}, self.scalar_type()));
  cpu::visit_float_double(self.scalar_type(), "multilabel_margin_loss", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* rows_of_x = static_cast<const T*>(from.const_data_ptr());
    const int64_t* targets = static_cast<const int64_t*>(y.const_data_ptr());
    T *losses = static_cast<T*>(loss.mutable_data_ptr()), *marks = static_cast<T*>(is_target.mutable_data_ptr());
    at::parallel_for(
        0, rows, std::max<int64_t>(1, 8192 / std::max<int64_t>(classes * classes, 1)), [&](int64_t begin, int64_t end) {
          std::vector<T> scratch(static_cast<size_t>(2 * classes));
          for (int64_t r = begin; r < end; ++r) {
            const int64_t at = r * classes;
            losses[r] = static_cast<T>(multilabel_row(rows_of_x + at, targets + at, classes, marks + at, scratch.data(),
                                                      scratch.data() + classes));
          }
        });
  });
  const Tensor result = reduced(loss, reduction);
  return {self.dim() < 2 && reduction == Reduction::None ? at::reshape(result, {}) : result, is_target};
}

// Lists of classes as self has them, as rows.
Tensor checked_labels(const char* op, const Tensor& self, const Tensor& x, const Tensor& target) {
  TORCH_CHECK(target.sizes() == self.sizes(), "inconsistent target size: ", target.sizes(),
              " for input of size: ", self.sizes());
  TORCH_CHECK(target.scalar_type() == kLong, "expected scalar type Long but found ", target.scalar_type());
  const Tensor y = at::reshape(target, x.sizes());
  TORCH_CHECK(y.numel() == 0 || holds(at::logical_and(at::ge(y, Scalar(-1)), at::lt(y, Scalar(x.size(1))))), op,
              ": argument #2 'target' is out of range");
  return y;
}

LabelRows rows_of_labels(const Tensor& x, const Tensor& y) {
  LabelRows rows{x, at::clamp_min(y, Scalar(0)), at::cumprod(at::to(at::ge(y, Scalar(0)), x.scalar_type()), 1),
                 Tensor()};
  const Tensor of_targets = at::unsqueeze(at::gather(x, 1, rows.target), 2);
  rows.differences = at::add(at::sub(at::unsqueeze(x, 1), of_targets), Scalar(1));
  return rows;
}

}  // namespace

LabelRows label_rows(const char* op, const Tensor& self, const Tensor& target) {
  const Tensor x = as_batch(op, self);
  return rows_of_labels(x, checked_labels(op, self, x, target));
}

// sum over targets j (up to the first -1) and i that are none of max(0, 1 - x[j] + x[i]) / C
std::tuple<Tensor, Tensor> multilabel_margin_loss_forward(const Tensor& self, const Tensor& target, int64_t reduction,
                                                          bool on_cpu) {
  const Tensor x = as_batch("multilabel_margin_loss", self);
  const Tensor y = checked_labels("multilabel_margin_loss", self, x, target);
  if (on_cpu && (x.scalar_type() == ScalarType::Float || x.scalar_type() == ScalarType::Double) && x.numel() > 0) {
    return multilabel_margin_loss_on_cpu(self, x, y, reduction);
  }
  const LabelRows rows = rows_of_labels(x, y);
  const Tensor named = at::scatter_add(at::zeros_like(x), 1, rows.target, rows.valid);
  const Tensor is_target = at::to(at::gt(named, Scalar(0)), x.scalar_type());
  const Tensor counts = at::mul(at::unsqueeze(rows.valid, 2), at::unsqueeze(at::rsub(is_target, Scalar(1)), 1));
  const Tensor z = at::clamp_min(rows.differences, Scalar(0));
  const Tensor loss = at::div(at::sum(at::mul(z, counts), IntArrayRef{1, 2}), Scalar(x.size(1)));
  const Tensor result = reduced(loss, reduction);
  return {self.dim() < 2 && reduction == Reduction::None ? at::reshape(result, {}) : result,
          at::reshape(is_target, self.sizes())};
}
Tensor multilabel_margin_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  return std::get<0>(at::multilabel_margin_loss_forward(self, target, reduction));
}

}  // namespace at::native
