#include "distributions/kl.h"

#include <limits>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/autograd.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "c10/util/warning.h"
#include "distributions/composed.h"
#include "distributions/detail.h"
#include "distributions/multivariate_algebra.h"

namespace torch::distributions {
namespace detail {

Tensor infinite(const DistributionImpl& p, const DistributionImpl& q, const Tensor& like) {
  return at::full(broadcast_sizes(p.batch_shape(), q.batch_shape()), std::numeric_limits<double>::infinity(),
                  like.options());
}

}  // namespace detail

namespace {

// --- divergences of what is made of other distributions ---

Tensor kl(const IndependentImpl& p, const IndependentImpl& q) {
  TORCH_CHECK_NOT_IMPLEMENTED(p.reinterpreted_batch_ndims == q.reinterpreted_batch_ndims,
                              "kl_divergence: Independent distributions with ", p.reinterpreted_batch_ndims, " and ",
                              q.reinterpreted_batch_ndims, " reinterpreted dimensions have no formula");
  return detail::sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims);
}

Tensor kl(const TransformedDistributionImpl& p, const TransformedDistributionImpl& q) {
  TORCH_CHECK_NOT_IMPLEMENTED(p.transforms == q.transforms && p.event_shape() == q.event_shape(),
                              "kl_divergence: ", p.kind().name, " and ", q.kind().name,
                              " have different transforms or events, for which there is no formula");
  const size_t more = p.event_shape().size() - p.base_dist.event_shape().size();
  return detail::sum_rightmost(kl_divergence(p.base_dist, q.base_dist), static_cast<int64_t>(more));
}

// F(q) - F(p) - <q - p, grad F(p)>, a Bregman divergence of the log-normalizer (Nielsen and Nock 2010).
Tensor kl(const ExponentialFamilyImpl& p, const ExponentialFamilyImpl& q) {
  TORCH_CHECK_NOT_IMPLEMENTED(&p.kind() == &q.kind(), "kl_divergence: no formula for ", p.kind().name, " and ",
                              q.kind().name);
  c10::AutoGradMode recording(true);
  std::vector<Tensor> of_p;
  for (const Tensor& parameter : p.natural_params())
    of_p.push_back(parameter.requires_grad() ? parameter : parameter.detach().requires_grad_());
  const std::vector<Tensor> of_q = q.natural_params();
  const Tensor normalizer = p.log_normalizer(of_p);
  const std::vector<Tensor> gradients =
      autograd::grad({at::sum(normalizer)}, of_p, {}, /*retain_graph=*/std::nullopt, /*create_graph=*/true);
  Tensor result = q.log_normalizer(of_q) - normalizer;
  const int64_t batch_dims = result.dim();
  for (size_t i = 0; i < of_p.size(); ++i) {
    const Tensor term = (of_q[i] - of_p[i]) * gradients[i];
    result = result - detail::sum_rightmost(term, term.dim() - batch_dims);
  }
  return result;
}

constexpr detail::KlRule kComposed[] = {
    detail::kl_rule<IndependentImpl, IndependentImpl, kl>(),
    detail::kl_rule<TransformedDistributionImpl, TransformedDistributionImpl, kl>(),
    detail::kl_rule<ExponentialFamilyImpl, ExponentialFamilyImpl, kl>(),
};

// --- which formula ---

// Formulas of the program.
struct Registered {
  const Kind *p, *q;
  KlFunction function;
};

struct Registry {
  std::mutex mutex;
  std::vector<Registered> rules;
};

Registry& registry() {
  static Registry all;
  return all;
}

// How many steps a class is from one that it is a special case of.
int distance(const Kind& kind, const Kind& base) {
  int steps = 0;
  for (const Kind* one = &kind; one != &base; one = one->base) ++steps;
  return steps;
}

// The formula nearest by p and then by q, and the one nearest the other way round. Of two for the same pair, the first.
class Nearest {
 public:
  Nearest(const Kind& p, const Kind& q) : p_(p), q_(q) {}
  // A formula is a Registered or a KlRule, and outlives this.
  template <class Rule>
  void consider(const Rule& rule) {
    if (!p_.is(*rule.p) || !q_.is(*rule.q)) return;
    const int by_p = distance(p_, *rule.p), by_q = distance(q_, *rule.q);
    const auto take = [&](Found& found, std::pair<int, int> steps) {
      if (found.p && found.steps <= steps) return;
      found = {rule.p, rule.q, steps, nullptr, nullptr};
      if constexpr (std::is_same_v<Rule, Registered>) {
        found.registered = &rule.function;
      } else {
        found.known = rule.function;
      }
    };
    take(left_, {by_p, by_q});
    take(right_, {by_q, by_p});
  }
  KlFunction function() const {
    TORCH_CHECK_NOT_IMPLEMENTED(left_.p, "kl_divergence: no formula for ", p_.name, " and ", q_.name);
    if (left_.p != right_.p || left_.q != right_.q)
      TORCH_WARN("kl_divergence: of ", p_.name, " and ", q_.name, " two formulas are as near; that of ", left_.p->name,
                 " and ", left_.q->name, " is taken, not that of ", right_.p->name, " and ", right_.q->name);
    if (left_.registered) return *left_.registered;
    return [known = left_.known](const Distribution& p, const Distribution& q) { return known(p.impl(), q.impl()); };
  }

 private:
  struct Found {
    const Kind *p = nullptr, *q = nullptr;
    std::pair<int, int> steps;
    const KlFunction* registered = nullptr;
    Tensor (*known)(const DistributionImpl& p, const DistributionImpl& q) = nullptr;
  };
  const Kind &p_, &q_;
  Found left_, right_;
};

}  // namespace

Tensor detail::kl_divergence_by(const KlRules* rules, size_t count, const Distribution& p, const Distribution& q) {
  Nearest nearest(p.impl().kind(), q.impl().kind());
  KlFunction function;
  {
    std::lock_guard lock(registry().mutex);
    for (const Registered& rule : registry().rules) nearest.consider(rule);
    for (size_t i = 0; i < count; ++i) {
      for (size_t k = 0; k < rules[i].count; ++k) nearest.consider(rules[i].first[k]);
    }
    function = nearest.function();
  }
  return function(p, q);
}

Tensor kl_divergence(const Distribution& p, const Distribution& q) {
  const detail::KlRules all[] = {
      {kComposed, std::size(kComposed)}, detail::kl_rules_univariate(), detail::kl_rules_multivariate()};
  return detail::kl_divergence_by(all, std::size(all), p, q);
}

void register_kl(const Kind& p, const Kind& q, KlFunction function) {
  std::lock_guard lock(registry().mutex);
  for (Registered& rule : registry().rules) {
    if (rule.p == &p && rule.q == &q) {
      rule.function = std::move(function);
      return;
    }
  }
  registry().rules.push_back({&p, &q, std::move(function)});
}

}  // namespace torch::distributions
