#include "distributions/kl.h"

#include <limits>
#include <mutex>
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

struct Registered {
  const Kind *p, *q;
  KlFunction function;
};

struct Registry {
  std::mutex mutex;
  std::vector<Registered> rules;

  Registry() {
    for (const detail::KlRules& rules : {detail::KlRules{kComposed, std::size(kComposed)},
                                         detail::kl_rules_univariate(), detail::kl_rules_multivariate()}) {
      for (size_t i = 0; i < rules.count; ++i) {
        const detail::KlRule& rule = rules.first[i];
        this->rules.push_back(
            {rule.p, rule.q, [function = rule.function](const Distribution& p, const Distribution& q) {
               return function(p.impl(), q.impl());
             }});
      }
    }
  }
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

}  // namespace

Tensor kl_divergence(const Distribution& p, const Distribution& q) {
  const Kind &of_p = p.impl().kind(), &of_q = q.impl().kind();
  KlFunction function;
  {
    std::lock_guard lock(registry().mutex);
    // Nearest by p and then by q, and the other way round.
    const Registered *left = nullptr, *right = nullptr;
    std::pair<int, int> left_distance, right_distance;
    for (const Registered& rule : registry().rules) {
      if (!of_p.is(*rule.p) || !of_q.is(*rule.q)) continue;
      const int by_p = distance(of_p, *rule.p), by_q = distance(of_q, *rule.q);
      if (!left || std::pair(by_p, by_q) < left_distance) left = &rule, left_distance = {by_p, by_q};
      if (!right || std::pair(by_q, by_p) < right_distance) right = &rule, right_distance = {by_q, by_p};
    }
    TORCH_CHECK_NOT_IMPLEMENTED(left, "kl_divergence: no formula for ", of_p.name, " and ", of_q.name);
    if (left != right)
      TORCH_WARN("kl_divergence: of ", of_p.name, " and ", of_q.name, " two formulas are as near; that of ",
                 left->p->name, " and ", left->q->name, " is taken, not that of ", right->p->name, " and ",
                 right->q->name);
    function = left->function;
  }
  return function(p, q);
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
