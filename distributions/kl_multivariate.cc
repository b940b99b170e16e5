// Divergences of multivariate normal distributions.
#include "aten/ops/binary/ops.h"
#include "aten/ops/linalg/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"
#include "distributions/kl.h"
#include "distributions/multivariate.h"
#include "distributions/multivariate_algebra.h"

namespace torch::distributions {
namespace {

using detail::squared_distance;
using detail::times_vector;
using Full = MultivariateNormalImpl;
using LowRank = LowRankMultivariateNormalImpl;

Tensor sum_of_squares(const Tensor& matrix) {
  return at::sum(at::pow(matrix, 2), {-2, -1});
}

Tensor log_determinant(const Full& normal) {
  return 2 * detail::log_diagonal_sum(normal.factor());
}
Tensor log_determinant(const LowRank& normal) {
  return normal.log_determinant();
}

// The factor of Woodbury's identity: the inverse covariance is diag(1 / d) - A^T A.
Tensor correction(const LowRank& normal) {
  return at::linalg_solve_triangular(normal.capacitance_tril(),
                                     normal.given_factor().mT() / at::unsqueeze(normal.given_diag(), -2),
                                     /*upper=*/false);
}

// tr(S^-1 C C^T) of a normal's covariance S.
Tensor trace(const Full& normal, const Tensor& columns) {
  return sum_of_squares(at::linalg_solve_triangular(normal.factor(), columns, /*upper=*/false));
}
Tensor trace(const LowRank& normal, const Tensor& columns) {
  return sum_of_squares(columns / at::unsqueeze(at::sqrt(normal.given_diag()), -1)) -
         sum_of_squares(at::matmul(correction(normal), columns));
}
// The same of C = diag(sqrt(d)).
Tensor trace_of_diagonal(const Full& normal, const Tensor& diagonal) {
  return trace(normal, at::diag_embed(at::sqrt(diagonal)));
}
Tensor trace_of_diagonal(const LowRank& normal, const Tensor& diagonal) {
  return at::sum(diagonal / normal.given_diag(), {-1}) -
         sum_of_squares(correction(normal) * at::unsqueeze(at::sqrt(diagonal), -2));
}
// tr(S_q^-1 S_p)
template <class Q>
Tensor trace_of(const Q& q, const Full& p) {
  return trace(q, p.factor());
}
template <class Q>
Tensor trace_of(const Q& q, const LowRank& p) {
  return trace(q, p.given_factor()) + trace_of_diagonal(q, p.given_diag());
}

// (v - loc)^T S^-1 (v - loc)
Tensor distance(const Full& normal, const Tensor& difference) {
  return squared_distance(normal.factor(), difference);
}
Tensor distance(const LowRank& normal, const Tensor& difference) {
  return at::sum(at::pow(difference, 2) / normal.given_diag(), {-1}) -
         at::sum(at::pow(times_vector(correction(normal), difference), 2), {-1});
}

template <class P, class Q>
Tensor kl(const P& p, const Q& q) {
  TORCH_CHECK_VALUE(p.event_shape() == q.event_shape(), "kl_divergence: events of the sizes ",
                    IntArrayRef(p.event_shape()), " and ", IntArrayRef(q.event_shape()));
  const double n = static_cast<double>(p.event_shape()[0]);
  return 0.5 * (log_determinant(q) - log_determinant(p) + trace_of(q, p) + distance(q, q.loc - p.loc) - n);
}

}  // namespace

#define KD_DEFINE_KL_FORMULA(P, Q)                                                          \
  Tensor detail::KlFormula<P##Impl, Q##Impl>::compute(const P##Impl& p, const Q##Impl& q) { \
    return kl(p, q);                                                                        \
  }
KD_KL_MULTIVARIATE(KD_DEFINE_KL_FORMULA)

namespace {

#define KD_KL_RULE(P, Q) detail::KlFormula<P##Impl, Q##Impl>::rule(),
constexpr detail::KlRule kRules[] = {KD_KL_MULTIVARIATE(KD_KL_RULE)};

}  // namespace

detail::KlRules detail::kl_rules_multivariate() {
  return {kRules, std::size(kRules)};
}

}  // namespace torch::distributions
