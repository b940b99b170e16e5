// ContinuousBernoulli, VonMises and GeneralizedPareto.
#pragma once

#include <utility>

#include "distributions/detail.h"
#include "distributions/distribution.h"

namespace torch::distributions {

struct ContinuousBernoulliImpl final : ExponentialFamilyImpl {
  ContinuousBernoulliImpl(const Tensor& parameter, bool is_probs, std::pair<double, double> lims);
  static constexpr Kind kKind{"ContinuousBernoulli", &ExponentialFamilyImpl::kKind};
  const Kind& kind() const override { return kKind; }
  std::vector<ParameterInfo> parameters() const override;
  bool has_rsample() const override { return true; }
  Tensor mean() const override;
  Tensor variance() const override;
  Tensor stddev() const override;
  Tensor rsample(IntArrayRef sample_shape) const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor cdf(const Tensor& value) const override;
  Tensor icdf(const Tensor& value) const override;
  Tensor entropy() const override;
  std::vector<Tensor> natural_params() const override;
  Tensor log_normalizer(const std::vector<Tensor>& natural_params) const override;
  double mean_carrier_measure() const override { return 0; }
  Constraint support() const override { return constraints::unit_interval(); }
  Tensor probs() const;
  Tensor logits() const;
  /// The logarithm of the density's constant.
  Tensor log_constant() const;

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;

 private:
  Tensor is_stable() const;
  Tensor stable_probs() const;

  const detail::Lazy probs_, logits_;
  const bool is_probs_;
  const std::pair<double, double> lims_;
};

/// p^x (1 - p)^(1 - x) times a constant of p, in [0, 1] (Loaiza-Ganem and Cunningham 2019), of one of `probs` (p, in
/// (0, 1)) and `logits` (log(p / (1 - p))). Between `lims` Taylor expansions around p = 1/2 take the place of the
/// formulas, which cancel there.
struct ContinuousBernoulli : Holder<ContinuousBernoulliImpl> {
  ContinuousBernoulli() = default;
  explicit ContinuousBernoulli(const TensorOrNumber& probs, const TensorOrNumber& logits = {},
                               std::pair<double, double> lims = {0.499, 0.501}, ValidateArgs validate_args = {});
};

struct VonMisesImpl final : DistributionImpl {
  VonMisesImpl(const Tensor& loc, const Tensor& concentration);
  static constexpr Kind kKind{"VonMises", &DistributionImpl::kKind};
  const Kind& kind() const override { return kKind; }
  std::vector<ParameterInfo> parameters() const override;
  Tensor sample(IntArrayRef sample_shape) const override;
  Tensor mean() const override;
  Tensor mode() const override;
  Tensor variance() const override;
  Tensor log_prob(const Tensor& value) const override;
  Constraint support() const override { return constraints::real(); }

  const Tensor loc, concentration;

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;
};

/// exp(concentration cos(x - loc)) / (2 pi I0(concentration)) of angles x in [-pi, pi), concentration > 0. Samples are
/// drawn by rejection (Best and Fisher 1979), in double; variance() is the circular one.
struct VonMises : Holder<VonMisesImpl> {
  VonMises() = default;
  VonMises(const TensorOrNumber& loc, const TensorOrNumber& concentration, ValidateArgs validate_args = {});
};

struct GeneralizedParetoImpl final : DistributionImpl {
  GeneralizedParetoImpl(const Tensor& loc, const Tensor& scale, const Tensor& concentration);
  static constexpr Kind kKind{"GeneralizedPareto", &DistributionImpl::kKind};
  const Kind& kind() const override { return kKind; }
  std::vector<ParameterInfo> parameters() const override;
  Constraint support() const override;
  bool has_rsample() const override { return true; }
  Tensor mean() const override;
  Tensor mode() const override;
  Tensor variance() const override;
  Tensor rsample(IntArrayRef sample_shape) const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor cdf(const Tensor& value) const override;
  Tensor icdf(const Tensor& value) const override;
  Tensor entropy() const override;
  Tensor log_survival_function(const Tensor& value) const;
  Tensor log_cdf(const Tensor& value) const;

  const Tensor loc, scale, concentration;

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;
};

/// The tail above loc: P(X > x) = (1 + c (x - loc) / scale)^(-1 / c) with the concentration c, exp(-(x - loc) / scale)
/// for c = 0; scale > 0. Above loc, and for c < 0 below loc - scale / c.
struct GeneralizedPareto : Holder<GeneralizedParetoImpl> {
  GeneralizedPareto() = default;
  GeneralizedPareto(const TensorOrNumber& loc, const TensorOrNumber& scale, const TensorOrNumber& concentration,
                    ValidateArgs validate_args = {});
};

}  // namespace torch::distributions
