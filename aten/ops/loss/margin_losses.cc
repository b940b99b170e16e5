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
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/scan/ops.h"
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

}  // namespace

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

}  // namespace

// sum over targets j (up to the first -1) and i that are none of max(0, 1 - x[j] + x[i]) / C
std::tuple<Tensor, Tensor> multilabel_margin_loss_forward(const Tensor& self, const Tensor& target, int64_t reduction,
                                                          bool on_cpu) {
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
  if (on_cpu && (x.scalar_type() == ScalarType::Float || x.scalar_type() == ScalarType::Double) && x.numel() > 0) {
    return multilabel_margin_loss_on_cpu(self, x, y, reduction);
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
