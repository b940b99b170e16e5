#include "distributions/composed.h"

#include <algorithm>

#include "aten/ops/binary/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/softmax/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "distributions/detail.h"

namespace torch::distributions {
namespace {

using detail::joined;
using detail::sum_rightmost;

int64_t dims(const std::vector<int64_t>& shape) {
  return static_cast<int64_t>(shape.size());
}
std::vector<int64_t> first(IntArrayRef shape, int64_t n) {
  return shape.slice(0, n).vec();
}
std::vector<int64_t> after(IntArrayRef shape, int64_t n) {
  return shape.slice(n).vec();
}

}  // namespace

// --- Independent ---

IndependentImpl::IndependentImpl(const Distribution& base_dist, int64_t reinterpreted_batch_ndims)
    : DistributionImpl(first(base_dist.batch_shape(), dims(base_dist.batch_shape()) - reinterpreted_batch_ndims),
                       joined(after(base_dist.batch_shape(), dims(base_dist.batch_shape()) - reinterpreted_batch_ndims),
                              base_dist.event_shape())),
      base_dist(base_dist),
      reinterpreted_batch_ndims(reinterpreted_batch_ndims) {}

Independent::Independent(const Distribution& base_distribution, int64_t reinterpreted_batch_ndims,
                         ValidateArgs validate_args) {
  TORCH_CHECK_VALUE(
      0 <= reinterpreted_batch_ndims && reinterpreted_batch_ndims <= dims(base_distribution.batch_shape()),
      "Independent: reinterpreted_batch_ndims is ", reinterpreted_batch_ndims, ", but the batch has ",
      base_distribution.batch_shape().size(), " dimensions");
  hold(detail::make<IndependentImpl>(validate_args, base_distribution, reinterpreted_batch_ndims));
}

Constraint IndependentImpl::support() const {
  const Constraint support = base_dist.support();
  return reinterpreted_batch_ndims ? constraints::independent(support, reinterpreted_batch_ndims) : support;
}
Tensor IndependentImpl::log_prob(const Tensor& value) const {
  return sum_rightmost(base_dist.log_prob(value), reinterpreted_batch_ndims);
}
Tensor IndependentImpl::enumerate_support(bool expand) const {
  TORCH_CHECK_NOT_IMPLEMENTED(reinterpreted_batch_ndims == 0,
                              "Independent: values of several dimensions cannot be listed");
  return base_dist.enumerate_support(expand);
}
Tensor IndependentImpl::entropy() const {
  return sum_rightmost(base_dist.entropy(), reinterpreted_batch_ndims);
}
std::string IndependentImpl::repr() const {
  return "Independent(" + base_dist.repr() + ", " + std::to_string(reinterpreted_batch_ndims) + ")";
}
std::shared_ptr<DistributionImpl> IndependentImpl::expanded(IntArrayRef batch_shape) const {
  return std::make_shared<IndependentImpl>(
      base_dist.expand(joined(batch_shape, first(event_shape(), reinterpreted_batch_ndims))),
      reinterpreted_batch_ndims);
}

// --- TransformedDistribution ---

// The base as the transforms need it, and the shapes that they make of its shapes.
struct TransformedDistributionImpl::Parts {
  Distribution base;
  std::vector<int64_t> batch_shape, event_shape;

  Parts(const Distribution& given, const std::vector<Transform>& transforms) : base(given) {
    const ComposeTransform all(transforms);
    const int64_t in_dims = all.domain().event_dim(), out_dims = all.codomain().event_dim();
    const std::vector<int64_t> shape = joined(given.batch_shape(), given.event_shape());
    TORCH_CHECK_VALUE(dims(shape) >= in_dims, "TransformedDistribution: the base must have ", in_dims,
                      " dimensions or more, got the sizes ", IntArrayRef(shape));
    const std::vector<int64_t> result = all.forward_shape(shape), needed = all.inverse_shape(result);
    if (needed != shape) base = base.expand(first(needed, dims(needed) - dims(base.event_shape())));
    const int64_t more = in_dims - dims(base.event_shape());
    if (more > 0) base = Independent(base, more);
    const int64_t events = out_dims + std::max<int64_t>(dims(base.event_shape()) - in_dims, 0);
    batch_shape = first(result, dims(result) - events);
    event_shape = after(result, dims(result) - events);
  }
};

TransformedDistributionImpl::TransformedDistributionImpl(const Distribution& base_dist,
                                                         std::vector<Transform> transforms)
    : TransformedDistributionImpl(Parts(base_dist, transforms), transforms) {}

TransformedDistributionImpl::TransformedDistributionImpl(Parts parts, std::vector<Transform> transforms)
    : DistributionImpl(std::move(parts.batch_shape), std::move(parts.event_shape)),
      base_dist(std::move(parts.base)),
      transforms(std::move(transforms)) {}

TransformedDistribution::TransformedDistribution(const Distribution& base_distribution,
                                                 std::vector<Transform> transforms, ValidateArgs validate_args) {
  hold(detail::make<TransformedDistributionImpl>(validate_args, base_distribution, std::move(transforms)));
}

Constraint TransformedDistributionImpl::support() const {
  if (transforms.empty()) return base_dist.support();
  const Constraint support = transforms.back().codomain();
  const int64_t more = dims(event_shape()) - support.event_dim();
  return more > 0 ? constraints::independent(support, more) : support;
}
Tensor TransformedDistributionImpl::transformed(Tensor x) const {
  for (const Transform& transform : transforms) x = transform(x);
  return x;
}
Tensor TransformedDistributionImpl::sample(IntArrayRef sample_shape) const {
  c10::NoGradGuard no_grad;
  return transformed(base_dist.sample(sample_shape));
}
Tensor TransformedDistributionImpl::rsample(IntArrayRef sample_shape) const {
  return transformed(base_dist.rsample(sample_shape));
}
Tensor TransformedDistributionImpl::log_prob(const Tensor& value) const {
  check_value(value);
  int64_t event_dims = dims(event_shape());
  Tensor y = value, determinants;
  for (auto transform = transforms.rbegin(); transform != transforms.rend(); ++transform) {
    const Tensor x = transform->impl().call_inverse(y);
    event_dims += transform->domain().event_dim() - transform->codomain().event_dim();
    const Tensor one =
        sum_rightmost(transform->log_abs_det_jacobian(x, y), event_dims - transform->domain().event_dim());
    determinants = determinants.defined() ? determinants + one : one;
    y = x;
  }
  const Tensor base = sum_rightmost(base_dist.log_prob(y), event_dims - dims(base_dist.event_shape()));
  return determinants.defined() ? base - determinants : base;
}
// Of a falling transform the other tail.
Tensor TransformedDistributionImpl::monotone(const Tensor& probability) const {
  TensorOrNumber sign = 1;
  for (const Transform& transform : transforms) sign = detail::product_of(sign, transform.sign());
  if (sign.is_tensor()) return sign.tensor() * (probability - 0.5) + 0.5;
  return sign.number().toLong() == 1 ? probability : sign.number() * (probability - 0.5) + 0.5;
}
Tensor TransformedDistributionImpl::cdf(const Tensor& value) const {
  Tensor x = value;
  for (auto transform = transforms.rbegin(); transform != transforms.rend(); ++transform)
    x = transform->impl().call_inverse(x);
  if (validates_args()) base_dist.impl().check_value(x);
  return monotone(base_dist.cdf(x));
}
Tensor TransformedDistributionImpl::icdf(const Tensor& value) const {
  return transformed(base_dist.icdf(monotone(value)));
}
Distribution TransformedDistributionImpl::expanded_base(IntArrayRef batch_shape) const {
  const std::vector<int64_t> shape = ComposeTransform(transforms).inverse_shape(joined(batch_shape, event_shape()));
  return base_dist.expand(first(shape, dims(shape) - dims(base_dist.event_shape())));
}
std::shared_ptr<DistributionImpl> TransformedDistributionImpl::expanded(IntArrayRef batch_shape) const {
  return std::make_shared<TransformedDistributionImpl>(expanded_base(batch_shape), transforms);
}

// --- MixtureSameFamily ---

namespace {

// What every component can give.
struct MixtureConstraint final : ConstraintImpl {
  explicit MixtureConstraint(Constraint base) : base(std::move(base)) {}
  Tensor check(const Tensor& value) const override {
    // All of them must allow it: each computes a density of it. The component is the dimension before the event.
    const Tensor each = base.check(at::unsqueeze(value, -1 - base.event_dim()));
    return at::all(each, -1);
  }
  bool is_discrete() const override { return base.is_discrete(); }
  int64_t event_dim() const override { return base.event_dim(); }
  std::string repr() const override { return "MixtureSameFamilyConstraint(" + base.repr() + ")"; }
  const Constraint base;
};

}  // namespace

MixtureSameFamilyImpl::MixtureSameFamilyImpl(const Categorical& mixture_distribution,
                                             const Distribution& component_distribution)
    : DistributionImpl(first(component_distribution.batch_shape(), dims(component_distribution.batch_shape()) - 1),
                       component_distribution.event_shape()),
      mixture_distribution(mixture_distribution),
      component_distribution(component_distribution) {}

MixtureSameFamily::MixtureSameFamily(const Categorical& mixture_distribution,
                                     const Distribution& component_distribution, ValidateArgs validate_args) {
  const std::vector<int64_t>& components = component_distribution.batch_shape();
  const std::vector<int64_t>& mixture = mixture_distribution.batch_shape();
  TORCH_CHECK_VALUE(!components.empty(), "MixtureSameFamily: the component distribution has no batch dimension");
  const std::vector<int64_t> batch = first(components, dims(components) - 1);
  bool fits = mixture.size() <= batch.size();
  for (size_t i = 1; fits && i <= mixture.size(); ++i) {
    const int64_t a = mixture[mixture.size() - i], b = batch[batch.size() - i];
    fits = a == b || a == 1 || b == 1;
  }
  TORCH_CHECK_VALUE(fits, "MixtureSameFamily: the batch shape of the mixture, ", IntArrayRef(mixture),
                    ", does not fit that of the components without its last dimension, ", IntArrayRef(batch));
  // As many logits as components; they are shown from now on.
  const int64_t categories = mixture_distribution->logits().size(-1);
  TORCH_CHECK_VALUE(categories == components.back(), "MixtureSameFamily: the mixture has ", categories,
                    " categories for ", components.back(), " components");
  hold(detail::make<MixtureSameFamilyImpl>(validate_args, mixture_distribution, component_distribution));
}

Constraint MixtureSameFamilyImpl::support() const {
  return Constraint(std::make_shared<MixtureConstraint>(component_distribution.support()));
}
Tensor MixtureSameFamilyImpl::pad(const Tensor& value) const {
  return at::unsqueeze(value, -1 - dims(event_shape()));
}
// Of the components, with a dimension for each of the event's.
Tensor MixtureSameFamilyImpl::weights() const {
  const Tensor probs = mixture_distribution->probs();
  return at::reshape(probs, joined(probs.sizes(), std::vector<int64_t>(event_shape().size(), 1)));
}
Tensor MixtureSameFamilyImpl::mean() const {
  return at::sum(weights() * component_distribution.mean(), {-1 - dims(event_shape())});
}
Tensor MixtureSameFamilyImpl::variance() const {
  // The law of total variance.
  const int64_t component = -1 - dims(event_shape());
  const Tensor within = at::sum(weights() * component_distribution.variance(), {component});
  return within + at::sum(weights() * at::pow(component_distribution.mean() - pad(mean()), 2), {component});
}
Tensor MixtureSameFamilyImpl::sample(IntArrayRef sample_shape) const {
  c10::NoGradGuard no_grad;
  const Tensor chosen = mixture_distribution.sample(sample_shape);
  const Tensor of_all = component_distribution.sample(sample_shape);
  const int64_t component = of_all.dim() - 1 - dims(event_shape());
  std::vector<int64_t> sizes = of_all.sizes().vec();
  sizes[component] = 1;
  const std::vector<int64_t> ones(event_shape().size() + 1, 1);
  const Tensor index = at::expand(at::reshape(chosen, joined(chosen.sizes(), ones)), sizes);
  return at::squeeze(at::gather(of_all, component, index), component);
}
Tensor MixtureSameFamilyImpl::log_prob(const Tensor& value) const {
  check_value(value);
  const Tensor each = component_distribution.log_prob(pad(value));
  return at::logsumexp(each + at::log_softmax(mixture_distribution->logits(), -1), {-1});
}
Tensor MixtureSameFamilyImpl::cdf(const Tensor& value) const {
  return at::sum(component_distribution.cdf(pad(value)) * mixture_distribution->probs(), {-1});
}
std::string MixtureSameFamilyImpl::repr() const {
  return "MixtureSameFamily(\n  " + mixture_distribution.repr() + ",\n  " + component_distribution.repr() + ")";
}
std::shared_ptr<DistributionImpl> MixtureSameFamilyImpl::expanded(IntArrayRef batch_shape) const {
  const Distribution components =
      component_distribution.expand(joined(batch_shape, {component_distribution.batch_shape().back()}));
  return std::make_shared<MixtureSameFamilyImpl>(mixture_distribution.expand(batch_shape).as<Categorical>(),
                                                 components);
}

}  // namespace torch::distributions
