#include "distributions/distribution.h"

#include <atomic>
#include <ostream>

#include "aten/core/tensor.h"
#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/loss/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/softmax/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/autograd.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "distributions/detail.h"
#include "utils/repr/repr.h"

namespace torch::distributions {
namespace detail {

double tiny_of(const Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kDouble:
      return 0x1p-1022;
    case at::kHalf:
      return 0x1p-14;
    default:
      return 0x1p-126;
  }
}

Tensor sum_rightmost(const Tensor& value, int64_t dims) {
  if (dims == 0) return value;
  return at::sum(at::flatten(value, value.dim() - dims), {-1});
}

Tensor clamp_probs(const Tensor& probs) {
  const double epsilon = epsilon_of(probs);
  return at::clamp(probs, epsilon, 1 - epsilon);
}

Tensor probs_to_logits(const Tensor& probs, bool is_binary) {
  const Tensor clamped = clamp_probs(probs);
  return is_binary ? at::log(clamped) - at::log1p(-clamped) : at::log(clamped);
}

Tensor logits_to_probs(const Tensor& logits, bool is_binary) {
  return is_binary ? at::sigmoid(logits) : at::softmax(logits, -1);
}

Tensor cross_entropy_with_logits(const Tensor& logits, const Tensor& value) {
  const std::vector<Tensor> both = at::broadcast_tensors({logits, value});
  return at::binary_cross_entropy_with_logits(both[0], both[1], {}, {}, at::Reduction::None);
}

Tensor standard_normal(IntArrayRef sizes, const at::TensorOptions& options) {
  return at::empty(sizes, options).normal_();
}

Tensor full_of(const Tensor& like, double value) {
  return at::full_like(like, value);
}

TensorOrNumber product_of(const TensorOrNumber& a, const TensorOrNumber& b) {
  if (a.is_number() && b.is_number()) return a.number().toLong() * b.number().toLong();
  if (a.is_number()) return at::mul(b.tensor(), a.number());
  return b.is_number() ? at::mul(a.tensor(), b.number()) : at::mul(a.tensor(), b.tensor());
}

int64_t product(IntArrayRef sizes) {
  int64_t all = 1;
  for (int64_t size : sizes) all *= size;
  return all;
}

std::vector<int64_t> joined(IntArrayRef a, IntArrayRef b) {
  std::vector<int64_t> all = a.vec();
  all.insert(all.end(), b.begin(), b.end());
  return all;
}
std::vector<int64_t> joined(IntArrayRef a, IntArrayRef b, IntArrayRef c) {
  return joined(joined(a, b), c);
}

std::string tuple_text(IntArrayRef sizes) {
  std::string text = "(";
  for (size_t i = 0; i < sizes.size(); ++i) text += (i ? ", " : "") + std::to_string(sizes[i]);
  return text + (sizes.size() == 1 ? ",)" : ")");
}

Tensor Lazy::get(const std::function<Tensor()>& compute) const {
  Tensor value = peek();
  if (value.defined()) return value;
  {
    c10::AutoGradMode recording(true);
    value = compute();
  }
  // What another thread has computed meanwhile counts.
  std::lock_guard lock(mutex_);
  if (!value_.defined()) value_ = std::move(value);
  return value_;
}

Tensor Lazy::peek() const {
  std::lock_guard lock(mutex_);
  return value_;
}

ProbsOrLogits::ProbsOrLogits(Tensor parameter, bool is_probs, bool is_binary)
    : probs_(is_probs ? parameter : Tensor()),
      logits_(is_probs ? Tensor() : parameter),
      is_probs_(is_probs),
      is_binary_(is_binary) {}

ProbsOrLogits ProbsOrLogits::of(const char* distribution, const TensorOrNumber& probs, const TensorOrNumber& logits) {
  TORCH_CHECK_VALUE(static_cast<bool>(probs) != static_cast<bool>(logits), distribution,
                    ": either probs or logits must be given, and not both");
  return {broadcast_all({probs ? probs : logits})[0], static_cast<bool>(probs), /*is_binary=*/true};
}

Tensor ProbsOrLogits::probs() const {
  return probs_.get([this] { return logits_to_probs(logits_.peek(), is_binary_); });
}
Tensor ProbsOrLogits::logits() const {
  return logits_.get([this] { return probs_to_logits(probs_.peek(), is_binary_); });
}
ProbsOrLogits ProbsOrLogits::expand(IntArrayRef sizes) const {
  const Tensor probs = probs_.peek(), logits = logits_.peek();
  return {*this, probs.defined() ? at::expand(probs, sizes) : probs,
          logits.defined() ? at::expand(logits, sizes) : logits};
}

void finish(DistributionImpl& impl, ValidateArgs validate_args) {
  impl.set_validate_args(validate_args.value_or(Distribution::default_validate_args()));
  impl.check_parameters();
}

}  // namespace detail

namespace {
std::atomic<bool> validates_by_default{true};
}

void Distribution::set_default_validate_args(bool validate) {
  validates_by_default = validate;
}
bool Distribution::default_validate_args() {
  return validates_by_default;
}

void Distribution::check_kind(const Kind& kind) const {
  TORCH_CHECK_TYPE(impl_ != nullptr && impl_->kind().is(kind), "expected a ", kind.name, ", got ",
                   impl_ ? impl_->kind().name : "an empty distribution");
}

std::ostream& operator<<(std::ostream& stream, const Distribution& distribution) {
  return stream << distribution.repr();
}

void DistributionImpl::not_implemented(const char* what) const {
  TORCH_CHECK_NOT_IMPLEMENTED(false, kind().name, " has no ", what);
  __builtin_unreachable();
}

Tensor DistributionImpl::mean() const {
  not_implemented("mean");
}
Tensor DistributionImpl::mode() const {
  not_implemented("mode");
}
Tensor DistributionImpl::variance() const {
  not_implemented("variance");
}
Tensor DistributionImpl::stddev() const {
  return at::sqrt(variance());
}
Tensor DistributionImpl::sample(IntArrayRef sample_shape) const {
  c10::NoGradGuard no_grad;
  return rsample(sample_shape);
}
Tensor DistributionImpl::rsample(IntArrayRef) const {
  not_implemented("rsample");
}
Tensor DistributionImpl::log_prob(const Tensor&) const {
  not_implemented("log_prob");
}
Tensor DistributionImpl::cdf(const Tensor&) const {
  not_implemented("cdf");
}
Tensor DistributionImpl::icdf(const Tensor&) const {
  not_implemented("icdf");
}
Tensor DistributionImpl::enumerate_support(bool) const {
  not_implemented("enumerate_support");
}
Tensor DistributionImpl::entropy() const {
  not_implemented("entropy");
}
Tensor DistributionImpl::perplexity() const {
  return at::exp(entropy());
}
std::shared_ptr<DistributionImpl> DistributionImpl::expanded(IntArrayRef) const {
  not_implemented("expand");
}

Distribution DistributionImpl::expand(IntArrayRef batch_shape) const {
  std::shared_ptr<DistributionImpl> other = expanded(batch_shape);
  other->set_validate_args(validate_args_);
  return Distribution(std::move(other));
}

std::string DistributionImpl::repr() const {
  std::string text = std::string(kind().name) + "(";
  bool first = true;
  for (const ParameterInfo& parameter : parameters()) {
    if (!parameter.is_shown || !parameter.value.defined()) continue;
    const Tensor& value = parameter.value;
    text += (first ? "" : ", ") + std::string(parameter.name) + ": " +
            (value.numel() == 1 ? detail::formatted(value) : torch::repr(value.sizes()));
    first = false;
  }
  return text + ")";
}

std::vector<int64_t> DistributionImpl::extended_shape(IntArrayRef sample_shape) const {
  return detail::joined(sample_shape, batch_shape_, event_shape_);
}

void DistributionImpl::check_parameters() const {
  if (!validate_args_) return;
  for (const ParameterInfo& parameter : parameters()) {
    if (!parameter.value.defined() || parameter.constraint.is_dependent()) continue;
    TORCH_CHECK_VALUE(at::all(parameter.constraint.check(parameter.value)).item<bool>(), repr(), ": parameter ",
                      parameter.name, " of shape ", detail::tuple_text(parameter.value.sizes()),
                      " must satisfy the constraint ", parameter.constraint.repr(), ", but is\n",
                      detail::formatted(parameter.value));
  }
}

void DistributionImpl::check_value(const Tensor& value) const {
  if (!validate_args_) return;
  const int64_t events = static_cast<int64_t>(event_shape_.size());
  TORCH_CHECK_VALUE(value.dim() >= events && value.sizes().slice(value.dim() - events) == IntArrayRef(event_shape_),
                    repr(), ": the last sizes of a value must be the event's, ", torch::repr(event_shape_),
                    ", got a value of ", torch::repr(value.sizes()));
  const std::vector<int64_t> expected = detail::joined(batch_shape_, event_shape_);
  for (size_t i = 1; i <= std::min(expected.size(), value.sizes().size()); ++i) {
    const int64_t got = value.size(-static_cast<int64_t>(i)), wanted = expected[expected.size() - i];
    TORCH_CHECK_VALUE(got == wanted || got == 1 || wanted == 1, repr(), ": a value of ", torch::repr(value.sizes()),
                      " does not broadcast with batch and event, ", torch::repr(expected));
  }
  const Constraint inside = support();
  TORCH_CHECK_VALUE(at::all(inside.check(value)).item<bool>(), repr(), ": a value of shape ",
                    detail::tuple_text(value.sizes()), " must lie in the support ", inside.repr(), ", but is\n",
                    detail::formatted(value));
}

std::vector<Tensor> ExponentialFamilyImpl::natural_params() const {
  not_implemented("natural parameters");
}
Tensor ExponentialFamilyImpl::log_normalizer(const std::vector<Tensor>&) const {
  not_implemented("log-normalizer");
}
double ExponentialFamilyImpl::mean_carrier_measure() const {
  not_implemented("mean carrier measure");
}

Tensor ExponentialFamilyImpl::entropy_by_normalizer() const {
  c10::AutoGradMode recording(true);
  const double carrier = mean_carrier_measure();
  std::vector<Tensor> natural;
  for (const Tensor& parameter : natural_params())
    natural.push_back(parameter.requires_grad() ? parameter : parameter.detach().requires_grad_());
  const Tensor normalizer = log_normalizer(natural);
  const std::vector<Tensor> gradients =
      autograd::grad({at::sum(normalizer)}, natural, {}, /*retain_graph=*/std::nullopt, /*create_graph=*/true);
  Tensor result = normalizer - carrier;
  const int64_t batch_dims = static_cast<int64_t>(batch_shape().size());
  for (size_t i = 0; i < natural.size(); ++i)
    result = result - detail::sum_rightmost(natural[i] * gradients[i], natural[i].dim() - batch_dims);
  return result;
}

}  // namespace torch::distributions
