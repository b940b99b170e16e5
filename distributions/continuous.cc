#include "distributions/continuous.h"

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
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"

namespace torch::distributions {
namespace {

using std::numbers::pi;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace

// --- ContinuousBernoulli ---

ContinuousBernoulliImpl::ContinuousBernoulliImpl(const Tensor& parameter, bool is_probs, std::pair<double, double> lims)
    : ExponentialFamilyImpl(parameter.sizes().vec(), {}),
      probs_(is_probs ? parameter : Tensor()),
      logits_(is_probs ? Tensor() : parameter),
      is_probs_(is_probs),
      lims_(lims) {}

ContinuousBernoulli::ContinuousBernoulli(const TensorOrNumber& probs, const TensorOrNumber& logits,
                                         std::pair<double, double> lims, ValidateArgs validate_args) {
  TORCH_CHECK_VALUE(static_cast<bool>(probs) != static_cast<bool>(logits),
                    "ContinuousBernoulli: either probs or logits must be given, and not both");
  Tensor parameter = broadcast_all({probs ? probs : logits})[0];
  if (probs) {
    // Before they are moved away from 0 and 1, where the density has no logarithm.
    if (validate_args.value_or(Distribution::default_validate_args()))
      TORCH_CHECK_VALUE(at::all(constraints::unit_interval().check(parameter)).item<bool>(),
                        "ContinuousBernoulli: parameter probs of shape ", detail::tuple_text(parameter.sizes()),
                        " must satisfy the constraint ", constraints::unit_interval().repr(), ", but is\n",
                        detail::formatted(parameter));
    parameter = detail::clamp_probs(parameter);
  }
  hold(detail::make<ContinuousBernoulliImpl>(validate_args, parameter, static_cast<bool>(probs), lims));
}

std::vector<ParameterInfo> ContinuousBernoulliImpl::parameters() const {
  return {{"probs", constraints::unit_interval(), probs_.peek()}, {"logits", constraints::real(), logits_.peek()}};
}
Tensor ContinuousBernoulliImpl::probs() const {
  return probs_.get([this] { return detail::clamp_probs(detail::logits_to_probs(logits_.peek(), true)); });
}
Tensor ContinuousBernoulliImpl::logits() const {
  return logits_.get([this] { return detail::probs_to_logits(probs_.peek(), true); });
}
Tensor ContinuousBernoulliImpl::is_stable() const {
  return at::logical_or(at::le(probs(), lims_.first), at::gt(probs(), lims_.second));
}
Tensor ContinuousBernoulliImpl::stable_probs() const {
  return at::where(is_stable(), probs(), at::full_like(probs(), lims_.first));
}
// The logarithm of 2 atanh(1 - 2 p) / (1 - 2 p).
Tensor ContinuousBernoulliImpl::log_constant() const {
  const Tensor p = stable_probs();
  // Each logarithm of what is positive on its side of 1/2.
  const Tensor below = at::where(at::le(p, 0.5), p, at::zeros_like(p));
  const Tensor above = at::where(at::ge(p, 0.5), p, at::ones_like(p));
  const Tensor exact = at::log(at::abs(at::log1p(-p) - at::log(p))) -
                       at::where(at::le(p, 0.5), at::log1p(-2.0 * below), at::log(2.0 * above - 1.0));
  const Tensor x = at::pow(probs() - 0.5, 2);
  const Tensor taylor = std::log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x;
  return at::where(is_stable(), exact, taylor);
}
Tensor ContinuousBernoulliImpl::mean() const {
  const Tensor p = stable_probs();
  const Tensor exact = p / (2.0 * p - 1.0) + 1.0 / (at::log1p(-p) - at::log(p));
  const Tensor x = probs() - 0.5;
  return at::where(is_stable(), exact, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * at::pow(x, 2)) * x);
}
Tensor ContinuousBernoulliImpl::variance() const {
  const Tensor p = stable_probs();
  const Tensor exact = p * (p - 1.0) / at::pow(1.0 - 2.0 * p, 2) + 1.0 / at::pow(at::log1p(-p) - at::log(p), 2);
  const Tensor x = at::pow(probs() - 0.5, 2);
  return at::where(is_stable(), exact, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x);
}
Tensor ContinuousBernoulliImpl::stddev() const {
  return at::sqrt(variance());
}
Tensor ContinuousBernoulliImpl::rsample(IntArrayRef sample_shape) const {
  return icdf(at::rand(extended_shape(sample_shape), probs().options()));
}
Tensor ContinuousBernoulliImpl::log_prob(const Tensor& value) const {
  check_value(value);
  return -detail::cross_entropy_with_logits(logits(), value) + log_constant();
}
Tensor ContinuousBernoulliImpl::cdf(const Tensor& value) const {
  check_value(value);
  const Tensor p = stable_probs();
  const Tensor exact = (at::pow(p, value) * at::pow(1.0 - p, 1.0 - value) + p - 1.0) / (2.0 * p - 1.0);
  const Tensor inside = at::where(is_stable(), exact, value);
  return at::where(at::le(value, 0.0), at::zeros_like(inside),
                   at::where(at::ge(value, 1.0), at::ones_like(inside), inside));
}
Tensor ContinuousBernoulliImpl::icdf(const Tensor& value) const {
  const Tensor p = stable_probs();
  const Tensor exact = (at::log1p(-p + value * (2.0 * p - 1.0)) - at::log1p(-p)) / (at::log(p) - at::log1p(-p));
  return at::where(is_stable(), exact, value);
}
Tensor ContinuousBernoulliImpl::entropy() const {
  const Tensor log0 = at::log1p(-probs()), log1 = at::log(probs());
  return mean() * (log0 - log1) - log_constant() - log0;
}
std::vector<Tensor> ContinuousBernoulliImpl::natural_params() const {
  return {logits()};
}
Tensor ContinuousBernoulliImpl::log_normalizer(const std::vector<Tensor>& t) const {
  // log((exp(t) - 1) / t), by its expansion near 0
  const Tensor& x = t[0];
  const Tensor stable = at::logical_or(at::le(x, lims_.first - 0.5), at::gt(x, lims_.second - 0.5));
  const Tensor cut = at::where(stable, x, at::full_like(x, lims_.first - 0.5));
  const Tensor exact = at::log(at::abs(at::expm1(cut))) - at::log(at::abs(cut));
  const Tensor taylor = 0.5 * x + at::pow(x, 2) / 24.0 - at::pow(x, 4) / 2880.0;
  return at::where(stable, exact, taylor);
}
std::shared_ptr<DistributionImpl> ContinuousBernoulliImpl::expanded(IntArrayRef batch_shape) const {
  const Tensor& parameter = is_probs_ ? probs_.peek() : logits_.peek();
  return std::make_shared<ContinuousBernoulliImpl>(at::expand(parameter, batch_shape), is_probs_, lims_);
}

// --- VonMises ---

namespace {

// log I0 and log I1 of positive numbers by the polynomials 9.8.1 to 9.8.4 of Abramowitz and Stegun.
template <size_t N>
Tensor polynomial(const Tensor& x, const double (&coefficients)[N]) {
  Tensor value = at::full_like(x, coefficients[N - 1]);
  for (size_t i = N - 1; i-- > 0;) value = coefficients[i] + x * value;
  return value;
}

constexpr double kSmall0[] = {1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.360768e-1, 0.45813e-2};
constexpr double kLarge0[] = {0.39894228,    0.1328592e-1, 0.225319e-2,   -0.157565e-2, 0.916281e-2,
                              -0.2057706e-1, 0.2635537e-1, -0.1647633e-1, 0.392377e-2};
constexpr double kSmall1[] = {0.5, 0.87890594, 0.51498869, 0.15084934, 0.2658733e-1, 0.301532e-2, 0.32411e-3};
constexpr double kLarge1[] = {0.39894228,   -0.3988024e-1, -0.362018e-2, 0.163801e-2, -0.1031555e-1,
                              0.2282967e-1, -0.2895312e-1, 0.1787654e-1, -0.420059e-2};

Tensor log_bessel(const Tensor& x, int order) {
  const Tensor y = at::pow(x / 3.75, 2), z = 3.75 / x;
  const Tensor small = order == 0 ? at::log(polynomial(y, kSmall0)) : at::log(at::abs(x) * polynomial(y, kSmall1));
  const Tensor large = x - 0.5 * at::log(x) + at::log(order == 0 ? polynomial(z, kLarge0) : polynomial(z, kLarge1));
  return at::where(at::lt(x, 3.75), small, large);
}

}  // namespace

VonMisesImpl::VonMisesImpl(const Tensor& loc, const Tensor& concentration)
    : DistributionImpl(loc.sizes().vec(), {}), loc(loc), concentration(concentration) {}

VonMises::VonMises(const TensorOrNumber& loc, const TensorOrNumber& concentration, ValidateArgs validate_args) {
  const std::vector<Tensor> all = broadcast_all({loc, concentration});
  hold(detail::make<VonMisesImpl>(validate_args, all[0], all[1]));
}

std::vector<ParameterInfo> VonMisesImpl::parameters() const {
  return {{"loc", constraints::real(), loc}, {"concentration", constraints::positive(), concentration}};
}
Tensor VonMisesImpl::mean() const {
  return loc;
}
Tensor VonMisesImpl::mode() const {
  return loc;
}
Tensor VonMisesImpl::variance() const {
  return 1 - at::exp(log_bessel(concentration, 1) - log_bessel(concentration, 0));
}
Tensor VonMisesImpl::log_prob(const Tensor& value) const {
  check_value(value);
  return concentration * at::cos(value - loc) - std::log(2 * pi) - log_bessel(concentration, 0);
}
Tensor VonMisesImpl::sample(IntArrayRef sample_shape) const {
  c10::NoGradGuard no_grad;
  const std::vector<int64_t> shape = extended_shape(sample_shape);
  const Tensor k = concentration.to(at::kDouble);
  // Of the wrapped Cauchy density that is proposed from; its series where concentrations are small.
  const Tensor tau = 1 + at::sqrt(1 + 4 * at::pow(k, 2));
  const Tensor rho = (tau - at::sqrt(2 * tau)) / (2 * k);
  const Tensor r = at::where(at::lt(k, 1e-5), 1 / k + k, (1 + at::pow(rho, 2)) / (2 * rho));
  Tensor angle = at::empty(shape, k.options());
  Tensor done = at::zeros(shape, k.options().dtype(at::kBool));
  while (!at::all(done).item<bool>()) {
    const std::vector<Tensor> u = at::unbind(at::rand(detail::joined({3}, shape), k.options()), 0);
    const Tensor z = at::cos(pi * u[0]);
    const Tensor f = (1 + r * z) / (r + z);
    const Tensor c = k * (r - f);
    const Tensor accepted = at::logical_or(at::gt(c * (2 - c) - u[1], 0), at::ge(at::log(c / u[1]) + 1 - c, 0));
    angle = at::where(accepted, at::sign(u[2] - 0.5) * at::acos(f), angle);
    done = at::logical_or(done, accepted);
  }
  return (at::remainder(angle + pi + loc.to(at::kDouble), 2 * pi) - pi).to(loc.scalar_type());
}
std::shared_ptr<DistributionImpl> VonMisesImpl::expanded(IntArrayRef batch_shape) const {
  return std::make_shared<VonMisesImpl>(at::expand(loc, batch_shape), at::expand(concentration, batch_shape));
}

// --- GeneralizedPareto ---

GeneralizedParetoImpl::GeneralizedParetoImpl(const Tensor& loc, const Tensor& scale, const Tensor& concentration)
    : DistributionImpl(loc.sizes().vec(), {}), loc(loc), scale(scale), concentration(concentration) {}

GeneralizedPareto::GeneralizedPareto(const TensorOrNumber& loc, const TensorOrNumber& scale,
                                     const TensorOrNumber& concentration, ValidateArgs validate_args) {
  const std::vector<Tensor> all = broadcast_all({loc, scale, concentration});
  hold(detail::make<GeneralizedParetoImpl>(validate_args, all[0], all[1], all[2]));
}

namespace {

Tensor is_zero(const Tensor& concentration) {
  return at::isclose(concentration, at::zeros_like(concentration));
}
// What may be divided by.
Tensor divisible(const Tensor& concentration) {
  return at::where(is_zero(concentration), at::ones_like(concentration), concentration);
}

}  // namespace

std::vector<ParameterInfo> GeneralizedParetoImpl::parameters() const {
  return {{"loc", constraints::real(), loc},
          {"scale", constraints::positive(), scale},
          {"concentration", constraints::real(), concentration}};
}
Constraint GeneralizedParetoImpl::support() const {
  const Tensor upper = at::where(at::lt(concentration, 0), loc - scale / concentration, kInfinity);
  return constraints::interval(loc, upper);
}
Tensor GeneralizedParetoImpl::log_survival_function(const Tensor& value) const {
  const Tensor z = (value - loc) / scale, c = divisible(concentration);
  return at::where(is_zero(concentration), -z, -at::log1p(c * z) / c);
}
Tensor GeneralizedParetoImpl::log_cdf(const Tensor& value) const {
  return at::log1p(-at::exp(log_survival_function(value)));
}
Tensor GeneralizedParetoImpl::mean() const {
  return at::where(at::lt(concentration, 1), loc + scale / (1 - concentration), kNaN);
}
Tensor GeneralizedParetoImpl::mode() const {
  return loc;
}
Tensor GeneralizedParetoImpl::variance() const {
  const Tensor finite = at::pow(scale, 2) / (at::pow(1 - concentration, 2) * (1 - 2 * concentration));
  return at::where(at::lt(concentration, 0.5), finite, kNaN);
}
Tensor GeneralizedParetoImpl::rsample(IntArrayRef sample_shape) const {
  return icdf(at::rand(extended_shape(sample_shape), loc.options()));
}
Tensor GeneralizedParetoImpl::log_prob(const Tensor& value) const {
  check_value(value);
  const Tensor z = (value - loc) / scale, c = divisible(concentration);
  return at::where(is_zero(concentration), -z, -(1 / c + 1) * at::log1p(c * z)) - at::log(scale);
}
Tensor GeneralizedParetoImpl::cdf(const Tensor& value) const {
  check_value(value);
  return at::exp(log_cdf(value));
}
Tensor GeneralizedParetoImpl::icdf(const Tensor& value) const {
  const Tensor log_left = at::log1p(-value), c = divisible(concentration);
  return at::where(is_zero(concentration), loc - scale * log_left, loc + scale * at::expm1(-c * log_left) / c);
}
Tensor GeneralizedParetoImpl::entropy() const {
  return at::log(scale) + concentration + 1;
}
std::shared_ptr<DistributionImpl> GeneralizedParetoImpl::expanded(IntArrayRef batch_shape) const {
  return std::make_shared<GeneralizedParetoImpl>(at::expand(loc, batch_shape), at::expand(scale, batch_shape),
                                                 at::expand(concentration, batch_shape));
}

}  // namespace torch::distributions
