#include "distributions/transformed.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"
#include "distributions/gamma.h"
#include "distributions/location_scale.h"

namespace torch::distributions {
namespace {

using std::numbers::egamma;
using std::numbers::pi;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// The implementation of a distribution that is known to be of a class.
template <class Impl>
const Impl& of(const Distribution& distribution) {
  return static_cast<const Impl&>(distribution.impl());
}

Constraint real() {
  return constraints::real();
}
Constraint positive() {
  return constraints::positive();
}

}  // namespace

// --- LogNormal ---

LogNormalImpl::LogNormalImpl(const Distribution& normal) : TransformedDistributionImpl(normal, {ExpTransform()}) {}

LogNormal::LogNormal(const TensorOrNumber& loc, const TensorOrNumber& scale, ValidateArgs validate_args) {
  hold(detail::make<LogNormalImpl>(validate_args, Normal(loc, scale, validate_args)));
}
const Tensor& LogNormalImpl::loc() const {
  return of<NormalImpl>(base_dist).loc;
}
const Tensor& LogNormalImpl::scale() const {
  return of<NormalImpl>(base_dist).scale;
}
std::vector<ParameterInfo> LogNormalImpl::parameters() const {
  return {{"loc", real(), loc(), false}, {"scale", positive(), scale(), false}};
}
Tensor LogNormalImpl::mean() const {
  return at::exp(loc() + at::pow(scale(), 2) / 2);
}
Tensor LogNormalImpl::mode() const {
  return at::exp(loc() - at::square(scale()));
}
Tensor LogNormalImpl::variance() const {
  const Tensor squared = at::pow(scale(), 2);
  return at::expm1(squared) * at::exp(2 * loc() + squared);
}
Tensor LogNormalImpl::entropy() const {
  return base_dist.entropy() + loc();
}
std::shared_ptr<DistributionImpl> LogNormalImpl::expanded(IntArrayRef batch_shape) const {
  return std::make_shared<LogNormalImpl>(base_dist.expand(batch_shape));
}

// --- HalfNormal, HalfCauchy ---

namespace {

// Twice the density of the base where values are not negative.
Tensor half_log_prob(const Distribution& base, const Tensor& value) {
  return at::where(at::ge(value, 0), base.log_prob(value) + std::log(2.0), -kInfinity);
}

}  // namespace

HalfNormalImpl::HalfNormalImpl(const Distribution& normal) : TransformedDistributionImpl(normal, {AbsTransform()}) {}

HalfNormal::HalfNormal(const TensorOrNumber& scale, ValidateArgs validate_args) {
  hold(detail::make<HalfNormalImpl>(validate_args, Normal(0, scale, /*validate_args=*/false)));
}
const Tensor& HalfNormalImpl::scale() const {
  return of<NormalImpl>(base_dist).scale;
}
std::vector<ParameterInfo> HalfNormalImpl::parameters() const {
  return {{"scale", positive(), scale(), false}};
}
Tensor HalfNormalImpl::mean() const {
  return scale() * std::sqrt(2 / pi);
}
Tensor HalfNormalImpl::mode() const {
  return at::zeros_like(scale());
}
Tensor HalfNormalImpl::variance() const {
  return at::pow(scale(), 2) * (1 - 2 / pi);
}
Tensor HalfNormalImpl::log_prob(const Tensor& value) const {
  check_value(value);
  return half_log_prob(base_dist, value);
}
Tensor HalfNormalImpl::cdf(const Tensor& value) const {
  check_value(value);
  return 2 * base_dist.cdf(value) - 1;
}
Tensor HalfNormalImpl::icdf(const Tensor& value) const {
  return base_dist.icdf((value + 1) / 2);
}
Tensor HalfNormalImpl::entropy() const {
  return base_dist.entropy() - std::log(2.0);
}
std::shared_ptr<DistributionImpl> HalfNormalImpl::expanded(IntArrayRef batch_shape) const {
  return std::make_shared<HalfNormalImpl>(base_dist.expand(batch_shape));
}

HalfCauchyImpl::HalfCauchyImpl(const Distribution& cauchy) : TransformedDistributionImpl(cauchy, {AbsTransform()}) {}

HalfCauchy::HalfCauchy(const TensorOrNumber& scale, ValidateArgs validate_args) {
  hold(detail::make<HalfCauchyImpl>(validate_args, Cauchy(0, scale, /*validate_args=*/false)));
}
const Tensor& HalfCauchyImpl::scale() const {
  return of<CauchyImpl>(base_dist).scale;
}
std::vector<ParameterInfo> HalfCauchyImpl::parameters() const {
  return {{"scale", positive(), scale(), false}};
}
Tensor HalfCauchyImpl::mean() const {
  return at::full(batch_shape(), kInfinity, scale().options());
}
Tensor HalfCauchyImpl::mode() const {
  return at::zeros_like(scale());
}
Tensor HalfCauchyImpl::variance() const {
  return base_dist.variance();
}
Tensor HalfCauchyImpl::log_prob(const Tensor& value) const {
  check_value(value);
  return half_log_prob(base_dist, at::to(value, scale().device(), scale().scalar_type()));
}
Tensor HalfCauchyImpl::cdf(const Tensor& value) const {
  check_value(value);
  return 2 * base_dist.cdf(value) - 1;
}
Tensor HalfCauchyImpl::icdf(const Tensor& value) const {
  return base_dist.icdf((value + 1) / 2);
}
Tensor HalfCauchyImpl::entropy() const {
  return base_dist.entropy() - std::log(2.0);
}
std::shared_ptr<DistributionImpl> HalfCauchyImpl::expanded(IntArrayRef batch_shape) const {
  return std::make_shared<HalfCauchyImpl>(base_dist.expand(batch_shape));
}

// --- LogisticNormal ---

LogisticNormalImpl::LogisticNormalImpl(const Distribution& base)
    : TransformedDistributionImpl(base, {StickBreakingTransform()}) {}

LogisticNormal::LogisticNormal(const TensorOrNumber& loc, const TensorOrNumber& scale, ValidateArgs validate_args) {
  const Normal base(loc, scale, validate_args);
  TORCH_CHECK_VALUE(!base.batch_shape().empty(), "LogisticNormal: loc and scale have no dimension");
  hold(detail::make<LogisticNormalImpl>(validate_args, base));
}
const Tensor& LogisticNormalImpl::loc() const {
  return of<NormalImpl>(of<IndependentImpl>(base_dist).base_dist).loc;
}
const Tensor& LogisticNormalImpl::scale() const {
  return of<NormalImpl>(of<IndependentImpl>(base_dist).base_dist).scale;
}
std::vector<ParameterInfo> LogisticNormalImpl::parameters() const {
  return {{"loc", real(), loc(), false}, {"scale", positive(), scale(), false}};
}
std::shared_ptr<DistributionImpl> LogisticNormalImpl::expanded(IntArrayRef batch_shape) const {
  return std::make_shared<LogisticNormalImpl>(base_dist.expand(batch_shape));
}

// --- Gumbel ---

namespace {

// Uniform numbers of which the logarithm of the logarithm is finite.
Distribution open_uniform(const Tensor& like) {
  return Uniform(at::full_like(like, detail::tiny_of(like)), at::full_like(like, 1 - detail::epsilon_of(like)),
                 /*validate_args=*/false);
}

}  // namespace

GumbelImpl::GumbelImpl(const Tensor& loc, const Tensor& scale)
    : TransformedDistributionImpl(open_uniform(loc), {ExpTransform().inv(), AffineTransform(0, -at::ones_like(scale)),
                                                      ExpTransform().inv(), AffineTransform(loc, -scale)}),
      loc(loc),
      scale(scale) {}

Gumbel::Gumbel(const TensorOrNumber& loc, const TensorOrNumber& scale, ValidateArgs validate_args) {
  const std::vector<Tensor> all = broadcast_all({loc, scale});
  hold(detail::make<GumbelImpl>(validate_args, all[0], all[1]));
}
std::vector<ParameterInfo> GumbelImpl::parameters() const {
  return {{"loc", real(), loc}, {"scale", positive(), scale}};
}
Tensor GumbelImpl::mean() const {
  return loc + scale * egamma;
}
Tensor GumbelImpl::mode() const {
  return loc;
}
Tensor GumbelImpl::stddev() const {
  return pi / std::sqrt(6.0) * scale;
}
Tensor GumbelImpl::variance() const {
  return at::pow(stddev(), 2);
}
Tensor GumbelImpl::log_prob(const Tensor& value) const {
  check_value(value);
  const Tensor y = (loc - value) / scale;
  return (y - at::exp(y)) - at::log(scale);
}
Tensor GumbelImpl::entropy() const {
  return at::log(scale) + (1 + egamma);
}
std::shared_ptr<DistributionImpl> GumbelImpl::expanded(IntArrayRef batch_shape) const {
  return std::make_shared<GumbelImpl>(at::expand(loc, batch_shape), at::expand(scale, batch_shape));
}

// --- Pareto ---

ParetoImpl::ParetoImpl(const Distribution& exponential, const Tensor& scale, const Tensor& alpha)
    : TransformedDistributionImpl(exponential, {ExpTransform(), AffineTransform(0, scale)}),
      scale(scale),
      alpha(alpha) {}

Pareto::Pareto(const TensorOrNumber& scale, const TensorOrNumber& alpha, ValidateArgs validate_args) {
  const std::vector<Tensor> all = broadcast_all({scale, alpha});
  hold(detail::make<ParetoImpl>(validate_args, Exponential(all[1], validate_args), all[0], all[1]));
}
std::vector<ParameterInfo> ParetoImpl::parameters() const {
  return {{"alpha", positive(), alpha}, {"scale", positive(), scale}};
}
Tensor ParetoImpl::mean() const {
  // Infinite where there is none.
  const Tensor a = at::clamp(alpha, 1);
  return a * scale / (a - 1);
}
Tensor ParetoImpl::mode() const {
  return scale;
}
Tensor ParetoImpl::variance() const {
  const Tensor a = at::clamp(alpha, 2);
  return at::pow(scale, 2) * a / (at::pow(a - 1, 2) * (a - 2));
}
Tensor ParetoImpl::entropy() const {
  return at::log(scale / alpha) + (1 + at::reciprocal(alpha));
}
std::shared_ptr<DistributionImpl> ParetoImpl::expanded(IntArrayRef batch_shape) const {
  const Tensor wider = at::expand(alpha, batch_shape);
  return std::make_shared<ParetoImpl>(base_dist.expand(batch_shape), at::expand(scale, batch_shape), wider);
}

// --- Weibull ---

WeibullImpl::WeibullImpl(const Tensor& scale, const Tensor& concentration)
    : TransformedDistributionImpl(Exponential(at::ones_like(scale), /*validate_args=*/false),
                                  {PowerTransform(at::reciprocal(concentration)), AffineTransform(0, scale)}),
      scale(scale),
      concentration(concentration) {}

Weibull::Weibull(const TensorOrNumber& scale, const TensorOrNumber& concentration, ValidateArgs validate_args) {
  const std::vector<Tensor> all = broadcast_all({scale, concentration});
  hold(detail::make<WeibullImpl>(validate_args, all[0], all[1]));
}
std::vector<ParameterInfo> WeibullImpl::parameters() const {
  return {{"scale", positive(), scale}, {"concentration", positive(), concentration}};
}
Tensor WeibullImpl::mean() const {
  return scale * at::exp(at::lgamma(1 + at::reciprocal(concentration)));
}
Tensor WeibullImpl::mode() const {
  return scale * at::pow((concentration - 1) / concentration, at::reciprocal(concentration));
}
Tensor WeibullImpl::variance() const {
  const Tensor inverse = at::reciprocal(concentration);
  return at::pow(scale, 2) * (at::exp(at::lgamma(1 + 2 * inverse)) - at::exp(2 * at::lgamma(1 + inverse)));
}
Tensor WeibullImpl::entropy() const {
  const Tensor inverse = at::reciprocal(concentration);
  return egamma * (1 - inverse) + at::log(scale * inverse) + 1;
}
std::shared_ptr<DistributionImpl> WeibullImpl::expanded(IntArrayRef batch_shape) const {
  return std::make_shared<WeibullImpl>(at::expand(scale, batch_shape), at::expand(concentration, batch_shape));
}

// --- Kumaraswamy ---

namespace {

Distribution unit_uniform(const Tensor& like) {
  return Uniform(at::zeros_like(like), at::ones_like(like), /*validate_args=*/false);
}

Tensor kumaraswamy_moment(const Tensor& a, const Tensor& b, double n) {
  const Tensor x = 1 + n / a;
  return b * at::exp(at::lgamma(x) + at::lgamma(b) - at::lgamma(x + b));
}

}  // namespace

KumaraswamyImpl::KumaraswamyImpl(const Tensor& concentration1, const Tensor& concentration0)
    : TransformedDistributionImpl(unit_uniform(concentration0),
                                  {PowerTransform(at::reciprocal(concentration0)), AffineTransform(1.0, -1.0),
                                   PowerTransform(at::reciprocal(concentration1))}),
      concentration1(concentration1),
      concentration0(concentration0) {}

Kumaraswamy::Kumaraswamy(const TensorOrNumber& concentration1, const TensorOrNumber& concentration0,
                         ValidateArgs validate_args) {
  const std::vector<Tensor> all = broadcast_all({concentration1, concentration0});
  hold(detail::make<KumaraswamyImpl>(validate_args, all[0], all[1]));
}
std::vector<ParameterInfo> KumaraswamyImpl::parameters() const {
  return {{"concentration1", positive(), concentration1}, {"concentration0", positive(), concentration0}};
}
Tensor KumaraswamyImpl::mean() const {
  return kumaraswamy_moment(concentration1, concentration0, 1);
}
Tensor KumaraswamyImpl::mode() const {
  return at::full_like(at::reciprocal(concentration1), kNaN);
}
Tensor KumaraswamyImpl::variance() const {
  return kumaraswamy_moment(concentration1, concentration0, 2) - at::pow(mean(), 2);
}
Tensor KumaraswamyImpl::entropy() const {
  const Tensor t1 = 1 - at::reciprocal(concentration1), t0 = 1 - at::reciprocal(concentration0);
  const Tensor harmonic = at::digamma(concentration0 + 1) + egamma;
  return t0 + t1 * harmonic - at::log(concentration1) - at::log(concentration0);
}
std::shared_ptr<DistributionImpl> KumaraswamyImpl::expanded(IntArrayRef batch_shape) const {
  return std::make_shared<KumaraswamyImpl>(at::expand(concentration1, batch_shape),
                                           at::expand(concentration0, batch_shape));
}

// --- InverseGamma ---

InverseGammaImpl::InverseGammaImpl(const Distribution& gamma)
    : TransformedDistributionImpl(gamma, {PowerTransform(-at::ones_like(of<GammaImpl>(gamma).rate))}) {}

InverseGamma::InverseGamma(const TensorOrNumber& concentration, const TensorOrNumber& rate,
                           ValidateArgs validate_args) {
  hold(detail::make<InverseGammaImpl>(validate_args, Gamma(concentration, rate, validate_args)));
}
const Tensor& InverseGammaImpl::concentration() const {
  return of<GammaImpl>(base_dist).concentration;
}
const Tensor& InverseGammaImpl::rate() const {
  return of<GammaImpl>(base_dist).rate;
}
std::vector<ParameterInfo> InverseGammaImpl::parameters() const {
  return {{"concentration", positive(), concentration(), false}, {"rate", positive(), rate(), false}};
}
Tensor InverseGammaImpl::mean() const {
  const Tensor& c = concentration();
  return at::where(at::gt(c, 1), rate() / (c - 1), kInfinity);
}
Tensor InverseGammaImpl::mode() const {
  return rate() / (concentration() + 1);
}
Tensor InverseGammaImpl::variance() const {
  const Tensor& c = concentration();
  return at::where(at::gt(c, 2), at::square(rate()) / (at::square(c - 1) * (c - 2)), kInfinity);
}
Tensor InverseGammaImpl::entropy() const {
  const Tensor& c = concentration();
  return c + at::log(rate()) + at::lgamma(c) - (1 + c) * at::digamma(c);
}
std::shared_ptr<DistributionImpl> InverseGammaImpl::expanded(IntArrayRef batch_shape) const {
  return std::make_shared<InverseGammaImpl>(base_dist.expand(batch_shape));
}

// --- relaxations ---

LogitRelaxedBernoulliImpl::LogitRelaxedBernoulliImpl(const Tensor& temperature, const detail::ProbsOrLogits& parameter)
    : DistributionImpl(parameter.sizes(), {}), temperature(temperature), parameter_(parameter) {}

namespace {

std::shared_ptr<LogitRelaxedBernoulliImpl> relaxed_bernoulli(const char* name, const TensorOrNumber& temperature,
                                                             const TensorOrNumber& probs, const TensorOrNumber& logits,
                                                             ValidateArgs validate_args) {
  const auto parameter = detail::ProbsOrLogits::of(name, probs, logits);
  return detail::make<LogitRelaxedBernoulliImpl>(validate_args, temperature.as_tensor(parameter.parameter().options()),
                                                 parameter);
}

std::vector<ParameterInfo> unshown(std::vector<ParameterInfo> parameters) {
  for (ParameterInfo& one : parameters) one.is_shown = false;
  return parameters;
}

}  // namespace

LogitRelaxedBernoulli::LogitRelaxedBernoulli(const TensorOrNumber& temperature, const TensorOrNumber& probs,
                                             const TensorOrNumber& logits, ValidateArgs validate_args) {
  hold(relaxed_bernoulli("LogitRelaxedBernoulli", temperature, probs, logits, validate_args));
}
std::vector<ParameterInfo> LogitRelaxedBernoulliImpl::parameters() const {
  return {{"probs", constraints::unit_interval(), parameter_.known_probs()},
          {"logits", real(), parameter_.known_logits()}};
}
Tensor LogitRelaxedBernoulliImpl::rsample(IntArrayRef sample_shape) const {
  const std::vector<int64_t> shape = extended_shape(sample_shape);
  const Tensor p = detail::clamp_probs(at::expand(probs(), shape));
  const Tensor u = detail::clamp_probs(at::rand(shape, p.options()));
  return (at::log(u) - at::log1p(-u) + at::log(p) - at::log1p(-p)) / temperature;
}
Tensor LogitRelaxedBernoulliImpl::log_prob(const Tensor& value) const {
  check_value(value);
  const Tensor difference = logits() - value * temperature;
  return at::log(temperature) + difference - 2 * at::log1p(at::exp(difference));
}
std::shared_ptr<DistributionImpl> LogitRelaxedBernoulliImpl::expanded(IntArrayRef batch_shape) const {
  return std::make_shared<LogitRelaxedBernoulliImpl>(temperature, parameter_.expand(batch_shape));
}

RelaxedBernoulliImpl::RelaxedBernoulliImpl(const Distribution& base)
    : TransformedDistributionImpl(base, {SigmoidTransform()}) {}

RelaxedBernoulli::RelaxedBernoulli(const TensorOrNumber& temperature, const TensorOrNumber& probs,
                                   const TensorOrNumber& logits, ValidateArgs validate_args) {
  const Distribution base(relaxed_bernoulli("RelaxedBernoulli", temperature, probs, logits, validate_args));
  hold(detail::make<RelaxedBernoulliImpl>(validate_args, base));
}
const Tensor& RelaxedBernoulliImpl::temperature() const {
  return of<LogitRelaxedBernoulliImpl>(base_dist).temperature;
}
Tensor RelaxedBernoulliImpl::probs() const {
  return of<LogitRelaxedBernoulliImpl>(base_dist).probs();
}
Tensor RelaxedBernoulliImpl::logits() const {
  return of<LogitRelaxedBernoulliImpl>(base_dist).logits();
}
std::vector<ParameterInfo> RelaxedBernoulliImpl::parameters() const {
  return unshown(base_dist.arg_constraints());
}
std::shared_ptr<DistributionImpl> RelaxedBernoulliImpl::expanded(IntArrayRef batch_shape) const {
  return std::make_shared<RelaxedBernoulliImpl>(base_dist.expand(batch_shape));
}

ExpRelaxedCategoricalImpl::ExpRelaxedCategoricalImpl(const Tensor& temperature, const Categorical& categorical)
    : DistributionImpl(categorical.batch_shape(), {categorical->num_events()}),
      categorical(categorical),
      temperature(temperature) {}

namespace {

std::shared_ptr<ExpRelaxedCategoricalImpl> relaxed_categorical(const TensorOrNumber& temperature, const Tensor& probs,
                                                               const Tensor& logits, ValidateArgs validate_args) {
  const Categorical categorical(probs, logits, validate_args);
  const Tensor& given = probs.defined() ? probs : logits;
  return detail::make<ExpRelaxedCategoricalImpl>(validate_args, temperature.as_tensor(given.options()), categorical);
}

}  // namespace

ExpRelaxedCategorical::ExpRelaxedCategorical(const TensorOrNumber& temperature, const Tensor& probs,
                                             const Tensor& logits, ValidateArgs validate_args) {
  hold(relaxed_categorical(temperature, probs, logits, validate_args));
}
std::vector<ParameterInfo> ExpRelaxedCategoricalImpl::parameters() const {
  return unshown(categorical.arg_constraints());
}
Tensor ExpRelaxedCategoricalImpl::rsample(IntArrayRef sample_shape) const {
  const std::vector<int64_t> shape = extended_shape(sample_shape);
  const Tensor scores_of = at::expand(logits(), shape);
  const Tensor u = detail::clamp_probs(at::rand(shape, scores_of.options()));
  const Tensor gumbels = -at::log(-at::log(u));
  const Tensor scores = (scores_of + gumbels) / temperature;
  return scores - at::logsumexp(scores, {-1}, /*keepdim=*/true);
}
Tensor ExpRelaxedCategoricalImpl::log_prob(const Tensor& value) const {
  check_value(value);
  const double k = static_cast<double>(categorical->num_events());
  const Tensor scores = logits() - value * temperature;
  return at::sum(scores - at::logsumexp(scores, {-1}, true), {-1}) + std::lgamma(k) + (k - 1) * at::log(temperature);
}
std::shared_ptr<DistributionImpl> ExpRelaxedCategoricalImpl::expanded(IntArrayRef batch_shape) const {
  return std::make_shared<ExpRelaxedCategoricalImpl>(temperature, categorical.expand(batch_shape).as<Categorical>());
}

RelaxedOneHotCategoricalImpl::RelaxedOneHotCategoricalImpl(const Distribution& base)
    : TransformedDistributionImpl(base, {ExpTransform()}) {}

RelaxedOneHotCategorical::RelaxedOneHotCategorical(const TensorOrNumber& temperature, const Tensor& probs,
                                                   const Tensor& logits, ValidateArgs validate_args) {
  const Distribution base(relaxed_categorical(temperature, probs, logits, validate_args));
  hold(detail::make<RelaxedOneHotCategoricalImpl>(validate_args, base));
}
const Tensor& RelaxedOneHotCategoricalImpl::temperature() const {
  return of<ExpRelaxedCategoricalImpl>(base_dist).temperature;
}
Tensor RelaxedOneHotCategoricalImpl::probs() const {
  return of<ExpRelaxedCategoricalImpl>(base_dist).probs();
}
Tensor RelaxedOneHotCategoricalImpl::logits() const {
  return of<ExpRelaxedCategoricalImpl>(base_dist).logits();
}
std::vector<ParameterInfo> RelaxedOneHotCategoricalImpl::parameters() const {
  return unshown(base_dist.arg_constraints());
}
std::shared_ptr<DistributionImpl> RelaxedOneHotCategoricalImpl::expanded(IntArrayRef batch_shape) const {
  return std::make_shared<RelaxedOneHotCategoricalImpl>(base_dist.expand(batch_shape));
}

}  // namespace torch::distributions
