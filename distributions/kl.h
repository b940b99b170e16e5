// Kullback-Leibler divergences.
#pragma once

#include <functional>

#include "distributions/distribution.h"

// clang-format off
// Pairs of classes of numbers, categories and probabilities that have a formula.
#define KD_KL_FORMULAS(X) \
  X(Bernoulli, Bernoulli) X(Binomial, Binomial) X(Categorical, Categorical) X(OneHotCategorical, OneHotCategorical) \
  X(Dirichlet, Dirichlet) X(Cauchy, Cauchy) X(Geometric, Geometric) X(HalfNormal, HalfNormal) X(Poisson, Poisson) \
  X(Bernoulli, Poisson) X(Beta, Beta) X(Beta, ContinuousBernoulli) X(Beta, Exponential) X(Beta, Gamma) \
  X(Beta, Normal) X(Beta, Uniform) X(ContinuousBernoulli, ContinuousBernoulli) X(ContinuousBernoulli, Exponential) \
  X(ContinuousBernoulli, Normal) X(ContinuousBernoulli, Uniform) X(Exponential, Exponential) X(Exponential, Gamma) \
  X(Exponential, Gumbel) X(Exponential, Normal) X(Gamma, Exponential) X(Gamma, Gamma) X(Gamma, Gumbel) \
  X(Gamma, Normal) X(Gumbel, Gumbel) X(Gumbel, Normal) X(Laplace, Laplace) X(Laplace, Normal) X(Normal, Gumbel) \
  X(Normal, Laplace) X(Normal, Normal) X(Pareto, Exponential) X(Pareto, Gamma) X(Pareto, Normal) X(Pareto, Pareto) \
  X(Uniform, Beta) X(Uniform, ContinuousBernoulli) X(Uniform, Exponential) X(Uniform, Gamma) X(Uniform, Gumbel) \
  X(Uniform, Normal) X(Uniform, Pareto) X(Uniform, Uniform)
// Pairs where p has values that q cannot have, whatever the parameters.
#define KD_KL_INFINITE(X) \
  X(Poisson, Bernoulli) X(Poisson, Binomial) X(Beta, Pareto) X(ContinuousBernoulli, Pareto) X(Exponential, Beta) \
  X(Exponential, ContinuousBernoulli) X(Exponential, Pareto) X(Exponential, Uniform) X(Gamma, Beta) \
  X(Gamma, ContinuousBernoulli) X(Gamma, Pareto) X(Gamma, Uniform) X(Gumbel, Beta) X(Gumbel, ContinuousBernoulli) \
  X(Gumbel, Exponential) X(Gumbel, Gamma) X(Gumbel, Pareto) X(Gumbel, Uniform) X(Laplace, Beta) \
  X(Laplace, ContinuousBernoulli) X(Laplace, Exponential) X(Laplace, Gamma) X(Laplace, Pareto) X(Laplace, Uniform) \
  X(Normal, Beta) X(Normal, ContinuousBernoulli) X(Normal, Exponential) X(Normal, Gamma) X(Normal, Pareto) \
  X(Normal, Uniform) X(Pareto, Beta) X(Pareto, ContinuousBernoulli) X(Pareto, Uniform)
// Pairs that need linear algebra.
#define KD_KL_MULTIVARIATE(X) \
  X(MultivariateNormal, MultivariateNormal) X(MultivariateNormal, LowRankMultivariateNormal) \
  X(LowRankMultivariateNormal, MultivariateNormal) X(LowRankMultivariateNormal, LowRankMultivariateNormal)
// clang-format on

namespace torch::distributions {

struct BernoulliImpl;
struct BetaImpl;
struct BinomialImpl;
struct CategoricalImpl;
struct CauchyImpl;
struct ContinuousBernoulliImpl;
struct DirichletImpl;
struct ExponentialImpl;
struct GammaImpl;
struct GeometricImpl;
struct GumbelImpl;
struct HalfNormalImpl;
struct LaplaceImpl;
struct LowRankMultivariateNormalImpl;
struct MultivariateNormalImpl;
struct NormalImpl;
struct OneHotCategoricalImpl;
struct ParetoImpl;
struct PoissonImpl;
struct UniformImpl;

namespace detail {

// A formula of this library: static, so that no table is made at the start of a program.
struct KlRule {
  const Kind* p;
  const Kind* q;
  Tensor (*function)(const DistributionImpl& p, const DistributionImpl& q);
};
struct KlRules {
  const KlRule* first;
  size_t count;
};
// The divergence by the nearest of these and of registered formulas.
Tensor kl_divergence_by(const KlRules* rules, size_t count, const Distribution& p, const Distribution& q);
KlRules kl_rules_univariate();
KlRules kl_rules_multivariate();
/// Infinity of the sizes that the two batches broadcast to.
Tensor infinite(const DistributionImpl& p, const DistributionImpl& q, const Tensor& like);

template <class P, class Q, Tensor (*function)(const P&, const Q&)>
constexpr KlRule kl_rule() {
  return {&P::kKind, &Q::kKind, [](const DistributionImpl& p, const DistributionImpl& q) {
            return function(static_cast<const P&>(p), static_cast<const Q&>(q));
          }};
}

// The formula of exactly these two classes.
template <class P, class Q>
struct KlFormula {
  static constexpr bool value = false;
};
#define KD_DECLARE_KL_FORMULA(P, Q)                            \
  template <>                                                  \
  struct KlFormula<P##Impl, Q##Impl> {                         \
    static constexpr bool value = true;                        \
    static Tensor compute(const P##Impl& p, const Q##Impl& q); \
    template <class P_ = P##Impl, class Q_ = Q##Impl>          \
    static constexpr KlRule rule() {                           \
      return kl_rule<P_, Q_, &KlFormula::compute>();           \
    }                                                          \
  };
KD_KL_FORMULAS(KD_DECLARE_KL_FORMULA)
KD_KL_INFINITE(KD_DECLARE_KL_FORMULA)
KD_KL_MULTIVARIATE(KD_DECLARE_KL_FORMULA)
#undef KD_DECLARE_KL_FORMULA

}  // namespace detail

/// KL(p || q) = E_p[log p(x) - log q(x)] in nats, of sizes batch_shape: a formula that is known for the pair of
/// classes, that of its nearest special case. Infinite where p gives values that q cannot. Throws NotImplementedError
/// for a pair without a formula, ValueError for events of different sizes.
///
///     kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0));       // 0.5
///
/// Where the classes are not known before the program runs, and where they have no formula of their own in kl.h, the
/// program links the formulas of all pairs.
Tensor kl_divergence(const Distribution& p, const Distribution& q);
/// The same where the types say which formula: the program links that one alone. What register_kl added for the pair,
/// or for special cases of it, goes first here, too.
template <class P, class Q>
requires(detail::KlFormula<typename P::Impl, typename Q::Impl>::value) Tensor kl_divergence(const P& p, const Q& q) {
  static constexpr detail::KlRule kRule = detail::KlFormula<typename P::Impl, typename Q::Impl>::rule();
  static constexpr detail::KlRules kRules[] = {{&kRule, 1}};
  return detail::kl_divergence_by(kRules, 1, p, q);
}

using KlFunction = std::function<Tensor(const Distribution& p, const Distribution& q)>;

/// Adds a formula for two classes, and what is derived from them where nothing nearer is known. Replaces the pair's
/// own.
void register_kl(const Kind& p, const Kind& q, KlFunction function);

///     register_kl<Normal, Cauchy>([](const Normal& p, const Cauchy& q) { return ...; });
template <class P, class Q, class F>
void register_kl(F function) {
  register_kl(P::Impl::kKind, Q::Impl::kKind,
              [function](const Distribution& p, const Distribution& q) { return function(p.as<P>(), q.as<Q>()); });
}

}  // namespace torch::distributions
