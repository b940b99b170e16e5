#include "aten/ops/loss/decompositions.h"

#include "aten/ops/binary/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/scan/ops.h"
#include "aten/ops/shared/decomposing.h"
#include "aten/ops/unary/ops.h"

namespace at::decompositions {
namespace {

bool given(const std::optional<Tensor>& t) {
  return t.has_value() && t->defined();
}

// ln(1 + e^-x), without overflow.
Tensor ln_1p_exp_neg(const Tensor& x) {
  return at::add(at::log1p(at::exp(at::neg(at::abs(x)))), at::clamp(at::neg(x), 0));
}

// f(self - target), reduced.
template <class F>
Tensor of_difference(const Tensor& self, const Tensor& target, int64_t reduction, const F& f) {
  return in_wide(
      promoted_type({self, target}),
      [&](const Tensor& x, const Tensor& t) { return reduced(f(at::sub(x, t)), reduction); }, self, target);
}

// Of each target its class and its weight, in the dtype in which self is computed; targets to be ignored are of class 0
// and weigh 0.
struct Targets {
  int64_t dim;     // of the classes in self
  Tensor place;    // [..., 1, ...], in self
  Tensor weights;  // of target's sizes

  Targets(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight, int64_t ignore_index)
      : dim(self.dim() == 1 ? 0 : 1) {
    const Tensor type = cast(target, ScalarType::Long), valid = at::ne(type, ignore_index);
    place = at::unsqueeze(kept_where(valid, type, 0), dim);
    const ScalarType compute = toOpMathType(self.scalar_type());
    if (!given(weight)) {
      weights = cast(valid, compute);
      return;
    }
    const Tensor each = at::expand(along(cast(*weight, compute), dim, self.dim()), self.sizes());
    weights = kept_where(valid, at::squeeze(at::gather(each, dim, place), dim), 0);
  }
};

}  // namespace

Tensor mse_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  return of_difference(self, target, reduction, [](const Tensor& d) { return at::mul(d, d); });
}

Tensor smooth_l1_loss(const Tensor& self, const Tensor& target, int64_t reduction, double beta) {
  TORCH_CHECK(beta >= 0, "smooth_l1_loss(): expected a beta of at least 0, but got ", beta);
  return of_difference(self, target, reduction, [&](const Tensor& difference) {
    const Tensor d = at::abs(difference);
    if (beta == 0) return d;
    return at::where(at::lt(d, beta), at::mul(at::mul(d, d), 0.5 / beta), at::sub(d, 0.5 * beta));
  });
}

Tensor huber_loss(const Tensor& self, const Tensor& target, int64_t reduction, double delta) {
  TORCH_CHECK(delta > 0, "huber_loss(): expected a delta above 0, but got ", delta);
  return of_difference(self, target, reduction, [&](const Tensor& difference) {
    const Tensor d = at::abs(difference);
    return at::where(at::le(d, delta), at::mul(at::mul(d, d), 0.5), at::mul(at::sub(d, 0.5 * delta), delta));
  });
}

Tensor soft_margin_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  return in_wide(
      promoted_type({self, target}),
      [&](const Tensor& x, const Tensor& t) { return reduced(ln_1p_exp_neg(at::mul(x, t)), reduction); }, self, target);
}

std::tuple<Tensor, Tensor> multilabel_margin_loss_forward(const Tensor& self, const Tensor& target, int64_t reduction) {
  const bool batched = self.dim() == 2;
  TORCH_CHECK(self.dim() <= 2 && self.sizes() == target.sizes(),
              "multilabel_margin_loss(): expected target of the size of self, ", self.sizes(), ", but got ",
              target.sizes());
  const Tensor x = widened(batched ? self : at::reshape(self, {1, self.numel()})), zero = at::full_like(x, 0);
  const Tensor label = at::reshape(target, x.sizes());
  // The first negative label ends a list.
  const Tensor valid = at::eq(at::cumsum(cast(at::lt(label, 0), ScalarType::Long), 1), 0);
  const Tensor place = kept_where(valid, label, 0), counted = cast(valid, x.scalar_type());
  const Tensor others = cast(at::eq(at::scatter_add(zero, 1, place, counted), 0), x.scalar_type());
  const Tensor margin = at::sub(at::unsqueeze(x, 1), at::unsqueeze(at::sub(at::gather(x, 1, place), 1), 2));
  const Tensor pairs = at::mul(at::unsqueeze(counted, 2), at::unsqueeze(others, 1));
  const Tensor loss = at::div(at::sum(at::mul(at::clamp(margin, 0), pairs), IntArrayRef{1, 2}), x.size(1));
  const Tensor result = cast(reduced(loss, reduction), self.scalar_type());
  const Tensor is_target = cast(at::reshape(at::sub(at::full_like(x, 1), others), target.sizes()), self.scalar_type());
  return {batched || reduction != Reduction::None ? result : at::reshape(result, {}), is_target};
}

// Elements outside [0, 1] give NaN: what throws for them is the kernel, which reads them.
Tensor binary_cross_entropy(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight,
                            int64_t reduction) {
  TORCH_CHECK(self.numel() == target.numel(), "binary_cross_entropy(): expected target of the size of self, ",
              self.sizes(), ", but got ", target.sizes());
  const auto loss = [&](const Tensor& x, const Tensor& t) {
    const Tensor no = at::clamp(at::log1p(at::neg(x)), -100), yes = at::clamp(at::log(x), -100);
    const Tensor each = at::sub(at::mul(at::sub(t, 1), no), at::mul(t, yes));
    return reduced(given(weight) ? at::mul(each, cast(*weight, each.scalar_type())) : each, reduction);
  };
  return in_wide(self.scalar_type(), loss, self, target);
}

Tensor binary_cross_entropy_with_logits(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight,
                                        const std::optional<Tensor>& pos_weight, int64_t reduction) {
  TORCH_CHECK_VALUE(self.sizes() == target.sizes(), "Target size (", target.sizes(),
                    ") must be the same as input size (", self.sizes(), ")");
  const ScalarType type = promoted_type({self, target});
  const auto loss = [&](const Tensor& x, const Tensor& t) {
    const Tensor tail = ln_1p_exp_neg(x);
    Tensor each = tail;
    if (given(pos_weight)) {
      each = at::mul(tail, at::add(at::mul(at::sub(cast(*pos_weight, toOpMathType(type)), 1), t), 1));
    }
    each = at::sub(each, at::mul(at::sub(t, 1), x));
    return reduced(given(weight) ? at::mul(each, cast(*weight, toOpMathType(type))) : each, reduction);
  };
  return in_wide(type, loss, self, target);
}

std::tuple<Tensor, Tensor> nll_loss_forward(const Tensor& self, const Tensor& target,
                                            const std::optional<Tensor>& weight, int64_t reduction,
                                            int64_t ignore_index) {
  const Targets targets(self, target, weight, ignore_index);
  const ScalarType type = self.scalar_type();
  const Tensor chosen = at::squeeze(at::gather(widened(self), targets.dim, targets.place), targets.dim);
  const Tensor loss =
      at::neg(kept_where(at::ne(cast(target, ScalarType::Long), ignore_index), at::mul(chosen, targets.weights), 0));
  if (reduction == Reduction::None) return {cast(loss, type), at::scalar_tensor(0, self.options())};
  const Tensor sum = at::sum(loss, IntArrayRef()), total = at::sum(targets.weights, IntArrayRef());
  return {cast(reduction == Reduction::Mean ? at::div(sum, total) : sum, type), cast(total, type)};
}

Tensor nll_loss_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target,
                         const std::optional<Tensor>& weight, int64_t reduction, int64_t ignore_index,
                         const Tensor& total_weight) {
  const Targets targets(self, target, weight, ignore_index);
  Tensor grad = widened(grad_output);
  if (reduction == Reduction::Mean) grad = at::div(grad, widened(total_weight));
  const Tensor each =
      kept_where(at::ne(cast(target, ScalarType::Long), ignore_index), at::neg(at::mul(targets.weights, grad)), 0);
  return at::scatter(at::full_like(self, 0), targets.dim, targets.place,
                     at::unsqueeze(cast(each, self.scalar_type()), targets.dim));
}

}  // namespace at::decompositions
