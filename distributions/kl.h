// Kullback-Leibler divergences.
#pragma once

#include <functional>

#include "distributions/distribution.h"

namespace torch::distributions {

/// KL(p || q) = E_p[log p(x) - log q(x)] in nats, of sizes batch_shape: a formula that is known for the pair of
/// classes, that of its nearest special case. Infinite where p gives values that q cannot. Throws NotImplementedError
/// for a pair without a formula, ValueError for events of different sizes.
///
///     kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0));       // 0.5
///
/// Programs that call it link the formulas of all pairs.
Tensor kl_divergence(const Distribution& p, const Distribution& q);

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
template <class P, class Q, Tensor (*function)(const P&, const Q&)>
constexpr KlRule kl_rule() {
  return {&P::kKind, &Q::kKind, [](const DistributionImpl& p, const DistributionImpl& q) {
            return function(static_cast<const P&>(p), static_cast<const Q&>(q));
          }};
}
KlRules kl_rules_univariate();
KlRules kl_rules_multivariate();

/// Infinity of the sizes that the two batches broadcast to.
Tensor infinite(const DistributionImpl& p, const DistributionImpl& q, const Tensor& like);

}  // namespace detail
}  // namespace torch::distributions
