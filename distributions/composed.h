// Distributions made of others: Independent, TransformedDistribution, MixtureSameFamily.
#pragma once

#include "distributions/discrete.h"
#include "distributions/distribution.h"
#include "distributions/transform.h"

namespace torch::distributions {

struct IndependentImpl final : DistributionImpl {
  IndependentImpl(const Distribution& base_dist, int64_t reinterpreted_batch_ndims);
  static constexpr Kind kKind{"Independent", &DistributionImpl::kKind};
  const Kind& kind() const override { return kKind; }
  std::vector<ParameterInfo> parameters() const override { return {}; }
  Constraint support() const override;
  bool has_rsample() const override { return base_dist.has_rsample(); }
  bool has_enumerate_support() const override {
    return reinterpreted_batch_ndims == 0 && base_dist.has_enumerate_support();
  }
  Tensor mean() const override { return base_dist.mean(); }
  Tensor mode() const override { return base_dist.mode(); }
  Tensor variance() const override { return base_dist.variance(); }
  Tensor stddev() const override { return base_dist.stddev(); }
  Tensor sample(IntArrayRef sample_shape) const override { return base_dist.sample(sample_shape); }
  Tensor rsample(IntArrayRef sample_shape) const override { return base_dist.rsample(sample_shape); }
  Tensor log_prob(const Tensor& value) const override;
  Tensor enumerate_support(bool expand) const override;
  Tensor entropy() const override;
  std::string repr() const override;

  const Distribution base_dist;
  const int64_t reinterpreted_batch_ndims;

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;
};

/// A distribution whose last `reinterpreted_batch_ndims` batch dimensions belong to the event: log_prob and entropy are
/// summed over them. Throws ValueError where the batch has fewer.
///
///     Independent(Normal(torch::zeros({5, 3}), 1.0), 1);      // five normal vectors of three numbers each
struct Independent : Holder<IndependentImpl> {
  Independent() = default;
  Independent(const Distribution& base_distribution, int64_t reinterpreted_batch_ndims,
              ValidateArgs validate_args = {});
};

struct TransformedDistributionImpl : DistributionImpl {
  /// `transforms` must fit the base: TransformedDistribution makes it so.
  TransformedDistributionImpl(const Distribution& base_dist, std::vector<Transform> transforms);
  static constexpr Kind kKind{"TransformedDistribution", &DistributionImpl::kKind};
  const Kind& kind() const override { return kKind; }
  std::vector<ParameterInfo> parameters() const override { return {}; }
  Constraint support() const override;
  bool has_rsample() const override { return base_dist.has_rsample(); }
  Tensor sample(IntArrayRef sample_shape) const override;
  Tensor rsample(IntArrayRef sample_shape) const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor cdf(const Tensor& value) const override;
  Tensor icdf(const Tensor& value) const override;

  const Distribution base_dist;
  const std::vector<Transform> transforms;

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;
  /// The base expanded, for what derives from this class.
  Distribution expanded_base(IntArrayRef batch_shape) const;

 private:
  struct Parts;
  TransformedDistributionImpl(Parts parts, std::vector<Transform> transforms);
  Tensor transformed(Tensor x) const;
  Tensor monotone(const Tensor& probability) const;
};

/// What transforms make of samples of a base distribution: log p(y) = log p(x) - log |dy/dx| with y = f(x). Batch
/// dimensions of the base that a transform takes together become part of the event. cdf and icdf need transforms with
/// signs. Throws ValueError for a base with fewer dimensions than the transforms take.
///
///     // logistic: a * sigmoid^-1(u) + b
///     TransformedDistribution logistic(Uniform(0.0, 1.0), {SigmoidTransform().inv(), AffineTransform(b, a)});
struct TransformedDistribution : Holder<TransformedDistributionImpl> {
  TransformedDistribution() = default;
  TransformedDistribution(const Distribution& base_distribution, std::vector<Transform> transforms,
                          ValidateArgs validate_args = {});
};

struct MixtureSameFamilyImpl final : DistributionImpl {
  MixtureSameFamilyImpl(const Categorical& mixture_distribution, const Distribution& component_distribution);
  static constexpr Kind kKind{"MixtureSameFamily", &DistributionImpl::kKind};
  const Kind& kind() const override { return kKind; }
  std::vector<ParameterInfo> parameters() const override { return {}; }
  Constraint support() const override;
  Tensor mean() const override;
  Tensor variance() const override;
  Tensor sample(IntArrayRef sample_shape) const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor cdf(const Tensor& value) const override;
  std::string repr() const override;

  const Categorical mixture_distribution;
  const Distribution component_distribution;

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;

 private:
  Tensor pad(const Tensor& value) const;
  Tensor weights() const;
};

/// A mixture: the last batch dimension of `component_distribution` are K components, of which `mixture_distribution`,
/// over K categories and with the rest of the batch, chooses one. Throws ValueError where the two do not fit.
///
///     // two peaks
///     MixtureSameFamily(Categorical(torch::ones({2})), Normal(torch::tensor({-1.0, 1.0}), 0.1));
struct MixtureSameFamily : Holder<MixtureSameFamilyImpl> {
  MixtureSameFamily() = default;
  MixtureSameFamily(const Categorical& mixture_distribution, const Distribution& component_distribution,
                    ValidateArgs validate_args = {});
};

}  // namespace torch::distributions
