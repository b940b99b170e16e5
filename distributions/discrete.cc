#include "distributions/discrete.h"

#include <cmath>
#include <limits>

#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/composite/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "distributions/gamma.h"

namespace torch::distributions {
namespace {

using detail::ProbsOrLogits;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<ParameterInfo> of_outcomes(const ProbsOrLogits& parameter,
                                       Constraint probs = constraints::unit_interval()) {
  return {{"probs", probs, parameter.known_probs()}, {"logits", constraints::real(), parameter.known_logits()}};
}

// 0, 1, ..., n - 1 along a dimension before the batch.
Tensor first_integers(int64_t n, IntArrayRef batch_shape, bool expand, const at::TensorOptions& options) {
  const Tensor values =
      at::reshape(at::arange(n, options), detail::joined({n}, std::vector<int64_t>(batch_shape.size(), 1)));
  return expand ? at::expand(values, detail::joined({n}, batch_shape)) : values;
}

// A count and a parameter of one shape; the count has the parameter's dtype.
std::pair<Tensor, ProbsOrLogits> with_count(const char* name, const TensorOrNumber& total_count,
                                            const TensorOrNumber& probs, const TensorOrNumber& logits) {
  const ProbsOrLogits one = ProbsOrLogits::of(name, probs, logits);
  const std::vector<Tensor> all = broadcast_all({one.parameter(), total_count});
  return {all[1].to(all[0].scalar_type()), ProbsOrLogits(all[0], one.is_probs(), /*is_binary=*/true)};
}

}  // namespace

// --- Bernoulli ---

BernoulliImpl::BernoulliImpl(const ProbsOrLogits& parameter)
    : ExponentialFamilyImpl(parameter.sizes(), {}), parameter_(parameter) {}

Bernoulli::Bernoulli(const TensorOrNumber& probs, const TensorOrNumber& logits, ValidateArgs validate_args) {
  hold(detail::make<BernoulliImpl>(validate_args, ProbsOrLogits::of("Bernoulli", probs, logits)));
}

std::vector<ParameterInfo> BernoulliImpl::parameters() const {
  return of_outcomes(parameter_);
}
Tensor BernoulliImpl::mean() const {
  return probs();
}
Tensor BernoulliImpl::mode() const {
  const Tensor p = probs();
  return at::where(at::eq(p, 0.5), kNaN, at::ge(p, 0.5).to(p.scalar_type()));
}
Tensor BernoulliImpl::variance() const {
  return probs() * (1 - probs());
}
Tensor BernoulliImpl::sample(IntArrayRef sample_shape) const {
  c10::NoGradGuard no_grad;
  return at::bernoulli(at::expand(probs(), extended_shape(sample_shape)));
}
Tensor BernoulliImpl::log_prob(const Tensor& value) const {
  check_value(value);
  return -detail::cross_entropy_with_logits(logits(), value);
}
Tensor BernoulliImpl::entropy() const {
  return detail::cross_entropy_with_logits(logits(), probs());
}
Tensor BernoulliImpl::enumerate_support(bool expand) const {
  return first_integers(2, batch_shape(), expand, parameter_.parameter().options());
}
std::vector<Tensor> BernoulliImpl::natural_params() const {
  return {logits()};
}
Tensor BernoulliImpl::log_normalizer(const std::vector<Tensor>& t) const {
  return at::log1p(at::exp(t[0]));
}
std::shared_ptr<DistributionImpl> BernoulliImpl::expanded(IntArrayRef batch_shape) const {
  return std::make_shared<BernoulliImpl>(parameter_.expand(batch_shape));
}

// --- Binomial ---

BinomialImpl::BinomialImpl(const Tensor& total_count, const ProbsOrLogits& parameter)
    : DistributionImpl(parameter.sizes(), {}), total_count(total_count), parameter_(parameter) {}

Binomial::Binomial(const TensorOrNumber& total_count, const TensorOrNumber& probs, const TensorOrNumber& logits,
                   ValidateArgs validate_args) {
  const auto [count, parameter] = with_count("Binomial", total_count, probs, logits);
  hold(detail::make<BinomialImpl>(validate_args, count, parameter));
}

std::vector<ParameterInfo> BinomialImpl::parameters() const {
  std::vector<ParameterInfo> all = of_outcomes(parameter_);
  all.insert(all.begin(), {"total_count", constraints::nonnegative_integer(), total_count});
  return all;
}
Constraint BinomialImpl::support() const {
  return constraints::integer_interval(0, total_count);
}
Tensor BinomialImpl::mean() const {
  return total_count * probs();
}
Tensor BinomialImpl::mode() const {
  return at::minimum(at::floor((total_count + 1) * probs()), total_count);
}
Tensor BinomialImpl::variance() const {
  return total_count * probs() * (1 - probs());
}
Tensor BinomialImpl::sample(IntArrayRef sample_shape) const {
  c10::NoGradGuard no_grad;
  const std::vector<int64_t> shape = extended_shape(sample_shape);
  return at::binomial(at::expand(total_count, shape), at::expand(probs(), shape));
}
Tensor BinomialImpl::log_prob(const Tensor& value) const {
  check_value(value);
  const Tensor& n = total_count;
  const Tensor z = logits();
  // log(1 + exp(z)) without overflow; the half of each side of max(z, 0) has the derivative 1/2 at 0.
  const Tensor above = (at::clamp(z, 0) + z - at::clamp(z, std::nullopt, 0)) / 2;
  const Tensor normalizer = n * above + n * at::log1p(at::exp(-at::abs(z))) - at::lgamma(n + 1);
  return value * z - at::lgamma(value + 1) - at::lgamma(n - value + 1) - normalizer;
}
Tensor BinomialImpl::entropy() const {
  const Tensor log_probs = log_prob(enumerate_support(/*expand=*/false));
  return -at::sum(at::exp(log_probs) * log_probs, {0});
}
Tensor BinomialImpl::enumerate_support(bool expand) const {
  const double most = at::max(total_count).item<double>();
  TORCH_CHECK_NOT_IMPLEMENTED(at::min(total_count).item<double>() == most,
                              "Binomial: values can be listed only where all total counts are the same");
  return first_integers(1 + static_cast<int64_t>(most), batch_shape(), expand, total_count.options());
}
std::shared_ptr<DistributionImpl> BinomialImpl::expanded(IntArrayRef batch_shape) const {
  return std::make_shared<BinomialImpl>(at::expand(total_count, batch_shape), parameter_.expand(batch_shape));
}

// --- Geometric ---

GeometricImpl::GeometricImpl(const ProbsOrLogits& parameter)
    : DistributionImpl(parameter.sizes(), {}), parameter_(parameter) {}

Geometric::Geometric(const TensorOrNumber& probs, const TensorOrNumber& logits, ValidateArgs validate_args) {
  const auto impl = detail::make<GeometricImpl>(validate_args, ProbsOrLogits::of("Geometric", probs, logits));
  if (impl->validates_args() && probs)
    TORCH_CHECK_VALUE(at::all(at::gt(impl->probs(), 0)).item<bool>(), impl->repr(),
                      ": parameter probs must be positive, but is\n", detail::formatted(impl->probs()));
  hold(impl);
}

std::vector<ParameterInfo> GeometricImpl::parameters() const {
  return of_outcomes(parameter_);
}
Tensor GeometricImpl::mean() const {
  return 1.0 / probs() - 1.0;
}
Tensor GeometricImpl::mode() const {
  return at::zeros_like(probs());
}
Tensor GeometricImpl::variance() const {
  return (1.0 / probs() - 1.0) / probs();
}
Tensor GeometricImpl::sample(IntArrayRef sample_shape) const {
  c10::NoGradGuard no_grad;
  const Tensor p = probs();
  const Tensor u = at::clamp(at::empty(extended_shape(sample_shape), p.options()).uniform_(), detail::tiny_of(p));
  return at::floor(at::log(u) / at::log1p(-p));
}
Tensor GeometricImpl::log_prob(const Tensor& value) const {
  check_value(value);
  // 0 * log(0) at value 0 of probability 1 is 0.
  const Tensor certain = at::logical_and(at::eq(probs(), 1), at::eq(value, 0));
  return value * at::log1p(-at::where(certain, 0.0, probs())) + at::log(probs());
}
Tensor GeometricImpl::entropy() const {
  return detail::cross_entropy_with_logits(logits(), probs()) / probs();
}
std::shared_ptr<DistributionImpl> GeometricImpl::expanded(IntArrayRef batch_shape) const {
  return std::make_shared<GeometricImpl>(parameter_.expand(batch_shape));
}

// --- NegativeBinomial ---

NegativeBinomialImpl::NegativeBinomialImpl(const Tensor& total_count, const ProbsOrLogits& parameter)
    : DistributionImpl(parameter.sizes(), {}), total_count(total_count), parameter_(parameter) {}

NegativeBinomial::NegativeBinomial(const TensorOrNumber& total_count, const TensorOrNumber& probs,
                                   const TensorOrNumber& logits, ValidateArgs validate_args) {
  const auto [count, parameter] = with_count("NegativeBinomial", total_count, probs, logits);
  hold(detail::make<NegativeBinomialImpl>(validate_args, count, parameter));
}

std::vector<ParameterInfo> NegativeBinomialImpl::parameters() const {
  std::vector<ParameterInfo> all = of_outcomes(parameter_, constraints::half_open_interval(0.0, 1.0));
  all.insert(all.begin(), {"total_count", constraints::greater_than_eq(0), total_count});
  return all;
}
Tensor NegativeBinomialImpl::mean() const {
  return total_count * at::exp(logits());
}
Tensor NegativeBinomialImpl::mode() const {
  return at::clamp(at::floor((total_count - 1) * at::exp(logits())), 0.0);
}
Tensor NegativeBinomialImpl::variance() const {
  return mean() / at::sigmoid(-logits());
}
Tensor NegativeBinomialImpl::sample(IntArrayRef sample_shape) const {
  c10::NoGradGuard no_grad;
  return at::poisson(GammaImpl(total_count, at::exp(-logits())).rsample(sample_shape));
}
Tensor NegativeBinomialImpl::log_prob(const Tensor& value) const {
  check_value(value);
  const Tensor& n = total_count;
  const Tensor unnormalized = n * at::log_sigmoid(-logits()) + value * at::log_sigmoid(logits());
  const Tensor constant = -at::lgamma(n + value) + at::lgamma(1.0 + value) + at::lgamma(n);
  return unnormalized - at::masked_fill(constant, at::eq(n + value, 0), 0.0);
}
std::shared_ptr<DistributionImpl> NegativeBinomialImpl::expanded(IntArrayRef batch_shape) const {
  return std::make_shared<NegativeBinomialImpl>(at::expand(total_count, batch_shape), parameter_.expand(batch_shape));
}

// --- Poisson ---

PoissonImpl::PoissonImpl(const Tensor& rate) : ExponentialFamilyImpl(rate.sizes().vec(), {}), rate(rate) {}

Poisson::Poisson(const TensorOrNumber& rate, ValidateArgs validate_args) {
  hold(detail::make<PoissonImpl>(validate_args, broadcast_all({rate})[0]));
}

std::vector<ParameterInfo> PoissonImpl::parameters() const {
  return {{"rate", constraints::nonnegative(), rate}};
}
Tensor PoissonImpl::mean() const {
  return rate;
}
Tensor PoissonImpl::mode() const {
  return at::floor(rate);
}
Tensor PoissonImpl::variance() const {
  return rate;
}
Tensor PoissonImpl::sample(IntArrayRef sample_shape) const {
  c10::NoGradGuard no_grad;
  return at::poisson(at::expand(rate, extended_shape(sample_shape)));
}
Tensor PoissonImpl::log_prob(const Tensor& value) const {
  check_value(value);
  return at::xlogy(value, rate) - rate - at::lgamma(value + 1);
}
std::vector<Tensor> PoissonImpl::natural_params() const {
  return {at::log(rate)};
}
Tensor PoissonImpl::log_normalizer(const std::vector<Tensor>& t) const {
  return at::exp(t[0]);
}
std::shared_ptr<DistributionImpl> PoissonImpl::expanded(IntArrayRef batch_shape) const {
  return std::make_shared<PoissonImpl>(at::expand(rate, batch_shape));
}

// --- Categorical ---

namespace {

std::vector<int64_t> all_but_last(std::vector<int64_t> sizes) {
  sizes.pop_back();
  return sizes;
}

// Probabilities with the sum 1, logits of such.
ProbsOrLogits of_categories(const char* name, const Tensor& probs, const Tensor& logits) {
  TORCH_CHECK_VALUE(probs.defined() != logits.defined(), name, ": either probs or logits must be given, and not both");
  const Tensor& given = probs.defined() ? probs : logits;
  TORCH_CHECK_VALUE(given.dim() >= 1, name, ": ", probs.defined() ? "probs" : "logits",
                    " must have one dimension or more, got none");
  if (probs.defined()) return {probs / at::sum(probs, {-1}, /*keepdim=*/true), true, /*is_binary=*/false};
  return {logits - at::logsumexp(logits, {-1}, /*keepdim=*/true), false, /*is_binary=*/false};
}

}  // namespace

CategoricalImpl::CategoricalImpl(const ProbsOrLogits& parameter)
    : DistributionImpl(all_but_last(parameter.sizes()), {}), parameter_(parameter) {}

Categorical::Categorical(const Tensor& probs, const Tensor& logits, ValidateArgs validate_args) {
  hold(detail::make<CategoricalImpl>(validate_args, of_categories("Categorical", probs, logits)));
}

std::vector<ParameterInfo> CategoricalImpl::parameters() const {
  return {{"probs", constraints::simplex(), parameter_.known_probs()},
          {"logits", constraints::real_vector(), parameter_.known_logits()}};
}
Constraint CategoricalImpl::support() const {
  return constraints::integer_interval(0, num_events() - 1);
}
Tensor CategoricalImpl::mean() const {
  return at::full(batch_shape(), kNaN, parameter_.parameter().options());
}
Tensor CategoricalImpl::mode() const {
  return at::argmax(probs(), -1);
}
Tensor CategoricalImpl::variance() const {
  return mean();
}
Tensor CategoricalImpl::sample(IntArrayRef sample_shape) const {
  c10::NoGradGuard no_grad;
  const Tensor rows = at::reshape(probs(), {-1, num_events()});
  const Tensor drawn = at::multinomial(rows, detail::product(sample_shape), /*replacement=*/true);
  return at::reshape(drawn.t(), extended_shape(sample_shape));
}
Tensor CategoricalImpl::log_prob(const Tensor& value) const {
  check_value(value);
  const std::vector<Tensor> both = at::broadcast_tensors({at::unsqueeze(value.to(at::kLong), -1), logits()});
  return at::squeeze(at::gather(both[1], -1, at::narrow(both[0], -1, 0, 1)), -1);
}
Tensor CategoricalImpl::entropy() const {
  // 0 times -inf shall be 0.
  const double least = logits().scalar_type() == at::kDouble ? std::numeric_limits<double>::lowest()
                                                             : std::numeric_limits<float>::lowest();
  return -at::sum(at::clamp(logits(), least) * probs(), {-1});
}
Tensor CategoricalImpl::enumerate_support(bool expand) const {
  return first_integers(num_events(), batch_shape(), expand, parameter_.parameter().options().dtype(at::kLong));
}
std::shared_ptr<DistributionImpl> CategoricalImpl::expanded(IntArrayRef batch_shape) const {
  return std::make_shared<CategoricalImpl>(parameter_.expand(detail::joined(batch_shape, {num_events()})));
}

// --- OneHotCategorical ---

namespace {

Tensor one_hot(const Tensor& categories, const Categorical& of) {
  return at::one_hot(categories, of->num_events()).to(of->probs().scalar_type());
}

}  // namespace

OneHotCategoricalImpl::OneHotCategoricalImpl(const Categorical& categorical)
    : DistributionImpl(categorical.batch_shape(), {categorical->num_events()}), categorical(categorical) {}

OneHotCategorical::OneHotCategorical(const Tensor& probs, const Tensor& logits, ValidateArgs validate_args) {
  hold(detail::make<OneHotCategoricalImpl>(validate_args, Categorical(probs, logits, validate_args)));
}

std::vector<ParameterInfo> OneHotCategoricalImpl::parameters() const {
  std::vector<ParameterInfo> all = categorical.arg_constraints();
  for (ParameterInfo& one : all) one.is_shown = false;
  return all;
}
Tensor OneHotCategoricalImpl::mean() const {
  return probs();
}
Tensor OneHotCategoricalImpl::mode() const {
  return one_hot(categorical.mode(), categorical);
}
Tensor OneHotCategoricalImpl::variance() const {
  return probs() * (1 - probs());
}
Tensor OneHotCategoricalImpl::sample(IntArrayRef sample_shape) const {
  c10::NoGradGuard no_grad;
  return one_hot(categorical.sample(sample_shape), categorical);
}
Tensor OneHotCategoricalImpl::log_prob(const Tensor& value) const {
  check_value(value);
  return categorical.log_prob(at::argmax(value, -1));
}
Tensor OneHotCategoricalImpl::entropy() const {
  return categorical.entropy();
}
Tensor OneHotCategoricalImpl::enumerate_support(bool expand) const {
  const int64_t n = categorical->num_events();
  const std::vector<int64_t> ones(batch_shape().size(), 1);
  const Tensor values = at::reshape(at::eye(n, probs().options()), detail::joined({n}, ones, {n}));
  return expand ? at::expand(values, detail::joined({n}, batch_shape(), {n})) : values;
}
std::shared_ptr<DistributionImpl> OneHotCategoricalImpl::expanded(IntArrayRef batch_shape) const {
  return std::make_shared<OneHotCategoricalImpl>(categorical.expand(batch_shape).as<Categorical>());
}

OneHotCategoricalStraightThrough::OneHotCategoricalStraightThrough(const Tensor& probs, const Tensor& logits,
                                                                   ValidateArgs validate_args) {
  hold(detail::make<OneHotCategoricalStraightThroughImpl>(validate_args, Categorical(probs, logits, validate_args)));
}
Tensor OneHotCategoricalStraightThroughImpl::rsample(IntArrayRef sample_shape) const {
  return sample(sample_shape) + (probs() - probs().detach());
}
std::shared_ptr<DistributionImpl> OneHotCategoricalStraightThroughImpl::expanded(IntArrayRef batch_shape) const {
  return std::make_shared<OneHotCategoricalStraightThroughImpl>(categorical.expand(batch_shape).as<Categorical>());
}

// --- Multinomial ---

MultinomialImpl::MultinomialImpl(int64_t total_count, const Categorical& categorical)
    : DistributionImpl(categorical.batch_shape(), {categorical->num_events()}),
      total_count(total_count),
      categorical(categorical) {}

Multinomial::Multinomial(int64_t total_count, const Tensor& probs, const Tensor& logits, ValidateArgs validate_args) {
  TORCH_CHECK_VALUE(total_count >= 0, "Multinomial: total_count is ", total_count, ", it may not be negative");
  hold(detail::make<MultinomialImpl>(validate_args, total_count, Categorical(probs, logits, validate_args)));
}

std::vector<ParameterInfo> MultinomialImpl::parameters() const {
  std::vector<ParameterInfo> all = categorical.arg_constraints();
  for (ParameterInfo& one : all) one.is_shown = false;
  return all;
}
Constraint MultinomialImpl::support() const {
  return constraints::multinomial(total_count);
}
Tensor MultinomialImpl::mean() const {
  return probs() * total_count;
}
Tensor MultinomialImpl::variance() const {
  return total_count * probs() * (1 - probs());
}
Tensor MultinomialImpl::sample(IntArrayRef sample_shape) const {
  c10::NoGradGuard no_grad;
  const Tensor drawn = at::movedim(categorical.sample(detail::joined({total_count}, sample_shape)), 0, -1);
  const Tensor counts = at::zeros(extended_shape(sample_shape), drawn.options());
  return at::scatter_add(counts, -1, drawn, at::ones_like(drawn)).to(probs().scalar_type());
}
Tensor MultinomialImpl::log_prob(const Tensor& value) const {
  check_value(value);
  const std::vector<Tensor> both = at::broadcast_tensors({logits(), value});
  // A category that cannot come and did not.
  const Tensor never = at::logical_and(at::eq(value, 0), at::eq(both[0], -kInfinity));
  const Tensor powers = at::sum(at::masked_fill(both[0], never, 0) * value, {-1});
  return at::lgamma(at::sum(both[1], {-1}) + 1) - at::sum(at::lgamma(both[1] + 1), {-1}) + powers;
}
Tensor MultinomialImpl::entropy() const {
  // How often one category comes is binomial.
  const BinomialImpl one(at::full_like(probs(), total_count), ProbsOrLogits(probs(), /*is_probs=*/true, true));
  const Tensor counts = at::narrow(one.enumerate_support(/*expand=*/false), 0, 1, total_count);
  const Tensor of_counts = at::exp(one.log_prob(counts)) * at::lgamma(counts + 1);
  return total_count * categorical.entropy() - std::lgamma(static_cast<double>(total_count) + 1) +
         at::sum(of_counts, {0, -1});
}
std::shared_ptr<DistributionImpl> MultinomialImpl::expanded(IntArrayRef batch_shape) const {
  return std::make_shared<MultinomialImpl>(total_count, categorical.expand(batch_shape).as<Categorical>());
}

}  // namespace torch::distributions
