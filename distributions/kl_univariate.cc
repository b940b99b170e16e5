// Divergences of distributions of numbers, and of categories and probabilities.
#include <cmath>
#include <limits>
#include <numbers>

#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"
#include "distributions/continuous.h"
#include "distributions/discrete.h"
#include "distributions/gamma.h"
#include "distributions/kl.h"
#include "distributions/location_scale.h"
#include "distributions/transformed.h"

namespace torch::distributions {
namespace {

using std::numbers::egamma;
using std::numbers::pi;

using B = BetaImpl;
using C = ContinuousBernoulliImpl;
using E = ExponentialImpl;
using G = GammaImpl;
using U = GumbelImpl;
using N = NormalImpl;
using P = ParetoImpl;
using L = LaplaceImpl;
using R = UniformImpl;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor x_log_x(const Tensor& x) {
  return at::xlogy(x, x);
}
// The divergence where `outside` does not hold: there p has values that q cannot have.
Tensor finite_where_not(const Tensor& outside, const Tensor& divergence) {
  return at::where(outside, kInfinity, divergence);
}

// Of a parameter of p, for its dtype and device.
Tensor any_parameter(const DistributionImpl& p) {
  for (const ParameterInfo& parameter : p.parameters()) {
    if (parameter.value.defined()) return parameter.value;
  }
  return {};
}

// p has values outside q's support, whatever the parameters.
template <class P_, class Q_>
Tensor never(const P_& p, const Q_& q) {
  return detail::infinite(p, q, any_parameter(p));
}

// --- the same class ---

Tensor kl(const BernoulliImpl& p, const BernoulliImpl& q) {
  const Tensor a = p.probs(), b = q.probs();
  const Tensor one = a * (at::softplus(-q.logits()) - at::softplus(-p.logits()));
  const Tensor zero = (1 - a) * (at::softplus(q.logits()) - at::softplus(p.logits()));
  return at::where(at::eq(a, 0), 0.0, at::where(at::eq(b, 0), kInfinity, one)) +
         at::where(at::eq(a, 1), 0.0, at::where(at::eq(b, 1), kInfinity, zero));
}

Tensor kl(const BinomialImpl& p, const BinomialImpl& q) {
  TORCH_CHECK_NOT_IMPLEMENTED(!at::any(at::lt(p.total_count, q.total_count)).item<bool>(),
                              "kl_divergence: of two Binomial distributions the first may not have the smaller count");
  const Tensor divergence =
      p.total_count * (p.probs() * (p.logits() - q.logits()) + at::log1p(-p.probs()) - at::log1p(-q.probs()));
  return finite_where_not(at::gt(p.total_count, q.total_count), divergence);
}

Tensor kl(const CategoricalImpl& p, const CategoricalImpl& q) {
  const Tensor a = p.probs();
  const Tensor terms = a * (p.logits() - q.logits());
  return at::sum(at::where(at::eq(a, 0), 0.0, at::where(at::eq(q.probs(), 0), kInfinity, terms)), {-1});
}

Tensor kl(const OneHotCategoricalImpl& p, const OneHotCategoricalImpl& q) {
  return kl(*p.categorical.operator->(), *q.categorical.operator->());
}

Tensor kl(const C& p, const C& q) {
  return p.mean() * (p.logits() - q.logits()) + p.log_constant() + at::log1p(-p.probs()) - q.log_constant() -
         at::log1p(-q.probs());
}

Tensor kl(const DirichletImpl& p, const DirichletImpl& q) {
  const Tensor &a = p.concentration, &b = q.concentration;
  const Tensor sum = at::sum(a, {-1}, /*keepdim=*/true);
  const Tensor normalizers =
      at::lgamma(at::squeeze(sum, -1)) - at::lgamma(at::sum(b, {-1})) - at::sum(at::lgamma(a) - at::lgamma(b), {-1});
  return normalizers + at::sum((a - b) * (at::digamma(a) - at::digamma(sum)), {-1});
}

Tensor kl(const B& p, const B& q) {
  const Tensor a1 = p.concentration1(), a0 = p.concentration0(), b1 = q.concentration1(), b0 = q.concentration0();
  const Tensor a = a1 + a0, b = b1 + b0;
  return at::lgamma(b1) + at::lgamma(b0) + at::lgamma(a) - (at::lgamma(a1) + at::lgamma(a0) + at::lgamma(b)) +
         (a1 - b1) * at::digamma(a1) + (a0 - b0) * at::digamma(a0) + (b - a) * at::digamma(a);
}

Tensor kl(const CauchyImpl& p, const CauchyImpl& q) {
  const Tensor sum = at::pow(p.scale + q.scale, 2) + at::pow(p.loc - q.loc, 2);
  return at::log(sum) - at::log(4 * p.scale * q.scale);
}

Tensor kl(const E& p, const E& q) {
  const Tensor ratio = q.rate / p.rate;
  return -at::log(ratio) + ratio - 1;
}

Tensor kl(const G& p, const G& q) {
  return q.concentration * at::log(p.rate / q.rate) + at::lgamma(q.concentration) - at::lgamma(p.concentration) +
         (p.concentration - q.concentration) * at::digamma(p.concentration) +
         (q.rate - p.rate) * (p.concentration / p.rate);
}

Tensor kl(const GeometricImpl& p, const GeometricImpl& q) {
  return -p.entropy() - at::log1p(-q.probs()) / p.probs() - q.logits();
}

Tensor kl(const U& p, const U& q) {
  const Tensor ratio = p.scale / q.scale, from = p.loc / q.scale, to = q.loc / q.scale;
  return -at::log(ratio) - to + from + ratio * egamma + at::exp(to + at::lgamma(1 + ratio) - from) - (1 + egamma);
}

Tensor kl(const L& p, const L& q) {
  const Tensor ratio = p.scale / q.scale, apart = at::abs(p.loc - q.loc);
  return -at::log(ratio) + apart / q.scale + ratio * at::exp(-apart / p.scale) - 1;
}

Tensor kl(const N& p, const N& q) {
  const Tensor ratio = at::pow(p.scale / q.scale, 2);
  return 0.5 * (ratio + at::pow((p.loc - q.loc) / q.scale, 2) - 1 - at::log(ratio));
}

Tensor kl(const HalfNormalImpl& p, const HalfNormalImpl& q) {
  return kl(static_cast<const N&>(p.base_dist.impl()), static_cast<const N&>(q.base_dist.impl()));
}

Tensor kl(const P& p, const P& q) {
  const Tensor ratio = q.alpha / p.alpha;
  return finite_where_not(at::lt(p.scale, q.scale), q.alpha * at::log(p.scale / q.scale) - at::log(ratio) + ratio - 1);
}

Tensor kl(const PoissonImpl& p, const PoissonImpl& q) {
  return p.rate * (at::log(p.rate) - at::log(q.rate)) - (p.rate - q.rate);
}

Tensor kl(const R& p, const R& q) {
  const Tensor outside = at::logical_or(at::gt(q.low, p.low), at::lt(q.high, p.high));
  return finite_where_not(outside, at::log((q.high - q.low) / (p.high - p.low)));
}

// --- different classes: -H(p) - E_p[log q] ---

Tensor kl(const BernoulliImpl& p, const PoissonImpl& q) {
  return -p.entropy() - (p.probs() * at::log(q.rate) - q.rate);
}

Tensor kl(const B& p, const C& q) {
  return -p.entropy() - p.mean() * q.logits() - at::log1p(-q.probs()) - q.log_constant();
}
Tensor kl(const B& p, const E& q) {
  return -p.entropy() - at::log(q.rate) + q.rate * p.mean();
}
Tensor kl(const B& p, const G& q) {
  const Tensor a = p.concentration1(), sum = a + p.concentration0();
  return -p.entropy() + at::lgamma(q.concentration) - q.concentration * at::log(q.rate) -
         (q.concentration - 1) * (at::digamma(a) - at::digamma(sum)) + q.rate * a / sum;
}

// E_p[-log q] of a normal q and the first two moments of p.
Tensor normal_cross_entropy(const N& q, const Tensor& mean, const Tensor& variance) {
  const Tensor squared = variance + at::pow(mean - q.loc, 2);
  return 0.5 * std::log(2 * pi) + at::log(q.scale) + squared / (2 * at::pow(q.scale, 2));
}
template <class P_>
Tensor kl(const P_& p, const N& q) {
  return -p.entropy() + normal_cross_entropy(q, p.mean(), p.variance());
}

// log(high - low) - H(p) where p lies between the bounds.
template <class P_>
Tensor kl(const P_& p, const R& q) {
  const Tensor outside = at::logical_or(at::gt(q.low, 0), at::lt(q.high, 1));
  return finite_where_not(outside, -p.entropy() + at::log(q.high - q.low));
}

Tensor kl(const C& p, const E& q) {
  return -p.entropy() - at::log(q.rate) + q.rate * p.mean();
}

Tensor kl(const E& p, const G& q) {
  const Tensor ratio = q.rate / p.rate;
  return -q.concentration * at::log(ratio) + ratio + at::lgamma(q.concentration) + q.concentration * egamma -
         (1 + egamma);
}
Tensor kl(const E& p, const U& q) {
  const Tensor product = p.rate * q.scale, to = q.loc / q.scale;
  return at::log(product) - 1 - to + at::exp(to) * product / (product + 1) + at::reciprocal(product);
}

Tensor kl(const G& p, const E& q) {
  return -p.entropy() - at::log(q.rate) + q.rate * p.concentration / p.rate;
}
Tensor kl(const G& p, const U& q) {
  const Tensor product = p.rate * q.scale, to = q.loc / q.scale;
  const Tensor& c = p.concentration;
  return (c - 1) * at::digamma(c) - at::lgamma(c) - c + at::log(product) + c / product +
         at::exp(to) * at::pow(1 + at::reciprocal(product), -c) - to;
}

Tensor kl(const N& p, const U& q) {
  const Tensor from = p.loc / q.scale, to = q.loc / q.scale, ratio = at::pow(p.scale / q.scale, 2);
  return -0.5 * at::log(ratio) + from - to + at::exp(-from + 0.5 * ratio + to) - 0.5 * (1 + std::log(2 * pi));
}
Tensor kl(const N& p, const L& q) {
  const Tensor apart = p.loc - q.loc, scaled = apart / p.scale;
  const Tensor distance =
      std::sqrt(2 / pi) * p.scale * at::exp(-0.5 * at::pow(scaled, 2)) + apart * at::erf(std::sqrt(0.5) * scaled);
  return -at::log(p.scale / q.scale) + distance / q.scale - 0.5 * (1 + std::log(0.5 * pi));
}

Tensor kl(const P& p, const E& q) {
  const Tensor product = p.scale * q.rate;
  const Tensor divergence =
      at::log(p.alpha / product) - at::reciprocal(p.alpha) + p.alpha * product / (p.alpha - 1) - 1;
  return finite_where_not(at::le(p.alpha, 1), divergence);
}
Tensor kl(const P& p, const G& q) {
  const Tensor log_mean = at::log(p.scale) + at::reciprocal(p.alpha);
  const Tensor divergence = at::log(p.alpha) - log_mean + at::lgamma(q.concentration) -
                            q.concentration * at::log(q.rate) + (1 - q.concentration) * log_mean +
                            q.rate * p.alpha * p.scale / (p.alpha - 1) - 1;
  return finite_where_not(at::le(p.alpha, 1), divergence);
}
Tensor kl(const P& p, const N& q) {
  const Tensor mean = p.alpha * p.scale / (p.alpha - 1);
  const Tensor variance = at::pow(p.scale / (p.alpha - 1), 2) * p.alpha / (p.alpha - 2);
  return finite_where_not(at::le(p.alpha, 2), -p.entropy() + normal_cross_entropy(q, mean, variance));
}

Tensor kl(const R& p, const B& q) {
  const Tensor width = p.high - p.low;
  const Tensor log_mean = (x_log_x(p.high) - x_log_x(p.low) - width) / width;
  const Tensor other_log_mean = (x_log_x(1 - p.low) - x_log_x(1 - p.high) - width) / width;
  const Tensor c1 = q.concentration1(), c0 = q.concentration0();
  const Tensor divergence = at::lgamma(c1) + at::lgamma(c0) - at::lgamma(c1 + c0) - at::log(width) -
                            (c1 - 1) * log_mean - (c0 - 1) * other_log_mean;
  return finite_where_not(at::logical_or(at::gt(p.high, 1), at::lt(p.low, 0)), divergence);
}
Tensor kl(const R& p, const C& q) {
  const Tensor divergence = -p.entropy() - p.mean() * q.logits() - at::log1p(-q.probs()) - q.log_constant();
  return finite_where_not(at::logical_or(at::gt(p.high, 1), at::lt(p.low, 0)), divergence);
}
Tensor kl(const R& p, const E& q) {
  return finite_where_not(at::lt(p.low, 0), q.rate * (p.high + p.low) / 2 - at::log((p.high - p.low) * q.rate));
}
Tensor kl(const R& p, const G& q) {
  const Tensor width = p.high - p.low;
  const Tensor log_mean = (x_log_x(p.high) - x_log_x(p.low) - width) / width;
  const Tensor divergence = -at::log(width) + at::lgamma(q.concentration) - q.concentration * at::log(q.rate) +
                            (1 - q.concentration) * log_mean + q.rate * (p.high + p.low) / 2;
  return finite_where_not(at::lt(p.low, 0), divergence);
}
Tensor kl(const R& p, const U& q) {
  const Tensor ratio = q.scale / (p.high - p.low);
  const Tensor high = (p.high - q.loc) / q.scale, low = (p.low - q.loc) / q.scale;
  return at::log(ratio) + 0.5 * (high + low) - ratio * (at::exp(-high) - at::exp(-low));
}
Tensor kl(const R& p, const P& q) {
  const Tensor width = p.high - p.low;
  const Tensor log_mean = (x_log_x(p.high) - x_log_x(p.low) - width) / width;
  const Tensor divergence = log_mean * (q.alpha + 1) - at::log(q.alpha * at::pow(q.scale, q.alpha) * width);
  return finite_where_not(at::lt(p.low, q.scale), divergence);
}

}  // namespace

#define KD_DEFINE_KL_FORMULA(P, Q)                                                          \
  Tensor detail::KlFormula<P##Impl, Q##Impl>::compute(const P##Impl& p, const Q##Impl& q) { \
    return kl(p, q);                                                                        \
  }
KD_KL_FORMULAS(KD_DEFINE_KL_FORMULA)
#define KD_DEFINE_KL_INFINITE(P, Q)                                                         \
  Tensor detail::KlFormula<P##Impl, Q##Impl>::compute(const P##Impl& p, const Q##Impl& q) { \
    return never(p, q);                                                                     \
  }
KD_KL_INFINITE(KD_DEFINE_KL_INFINITE)

namespace {

#define KD_KL_RULE(P, Q) detail::KlFormula<P##Impl, Q##Impl>::rule(),
constexpr detail::KlRule kRules[] = {KD_KL_FORMULAS(KD_KL_RULE) KD_KL_INFINITE(KD_KL_RULE)};
// Of PyTorch's 87 the others are those of multivariate normal distributions and of what kl.cc composes.
static_assert(std::size(kRules) == 80);

}  // namespace

detail::KlRules detail::kl_rules_univariate() {
  return {kRules, std::size(kRules)};
}

}  // namespace torch::distributions
