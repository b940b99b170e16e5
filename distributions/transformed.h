// Distributions that are others transformed, and relaxations of discrete ones.
#pragma once

#include "distributions/composed.h"
#include "distributions/detail.h"

namespace torch::distributions {

struct LogNormalImpl final : TransformedDistributionImpl {
  explicit LogNormalImpl(const Distribution& normal);
  static constexpr Kind kKind{"LogNormal", &TransformedDistributionImpl::kKind};
  const Kind& kind() const override { return kKind; }
  std::vector<ParameterInfo> parameters() const override;
  Tensor mean() const override;
  Tensor mode() const override;
  Tensor variance() const override;
  Tensor entropy() const override;
  Constraint support() const override { return constraints::positive(); }
  const Tensor& loc() const;
  const Tensor& scale() const;

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;
};

/// exp of a Normal(loc, scale).
struct LogNormal : Holder<LogNormalImpl> {
  LogNormal() = default;
  LogNormal(const TensorOrNumber& loc, const TensorOrNumber& scale, ValidateArgs validate_args = {});
};

struct HalfNormalImpl final : TransformedDistributionImpl {
  explicit HalfNormalImpl(const Distribution& normal);
  static constexpr Kind kKind{"HalfNormal", &TransformedDistributionImpl::kKind};
  const Kind& kind() const override { return kKind; }
  std::vector<ParameterInfo> parameters() const override;
  Tensor mean() const override;
  Tensor mode() const override;
  Tensor variance() const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor cdf(const Tensor& value) const override;
  Tensor icdf(const Tensor& value) const override;
  Tensor entropy() const override;
  Constraint support() const override { return constraints::nonnegative(); }
  const Tensor& scale() const;

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;
};

/// |x| of a Normal(0, scale).
struct HalfNormal : Holder<HalfNormalImpl> {
  HalfNormal() = default;
  explicit HalfNormal(const TensorOrNumber& scale, ValidateArgs validate_args = {});
};

struct HalfCauchyImpl final : TransformedDistributionImpl {
  explicit HalfCauchyImpl(const Distribution& cauchy);
  static constexpr Kind kKind{"HalfCauchy", &TransformedDistributionImpl::kKind};
  const Kind& kind() const override { return kKind; }
  std::vector<ParameterInfo> parameters() const override;
  Tensor mean() const override;
  Tensor mode() const override;
  Tensor variance() const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor cdf(const Tensor& value) const override;
  Tensor icdf(const Tensor& value) const override;
  Tensor entropy() const override;
  Constraint support() const override { return constraints::nonnegative(); }
  const Tensor& scale() const;

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;
};

/// |x| of a Cauchy(0, scale). Mean and variance are infinite.
struct HalfCauchy : Holder<HalfCauchyImpl> {
  HalfCauchy() = default;
  explicit HalfCauchy(const TensorOrNumber& scale, ValidateArgs validate_args = {});
};

struct LogisticNormalImpl final : TransformedDistributionImpl {
  explicit LogisticNormalImpl(const Distribution& base);
  static constexpr Kind kKind{"LogisticNormal", &TransformedDistributionImpl::kKind};
  const Kind& kind() const override { return kKind; }
  std::vector<ParameterInfo> parameters() const override;
  Constraint support() const override { return constraints::simplex(); }
  const Tensor& loc() const;
  const Tensor& scale() const;

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;
};

/// Probabilities of K + 1 categories: StickBreakingTransform of a normal vector. loc and scale: [*, K].
struct LogisticNormal : Holder<LogisticNormalImpl> {
  LogisticNormal() = default;
  LogisticNormal(const TensorOrNumber& loc, const TensorOrNumber& scale, ValidateArgs validate_args = {});
};

struct GumbelImpl final : TransformedDistributionImpl {
  GumbelImpl(const Tensor& loc, const Tensor& scale);
  static constexpr Kind kKind{"Gumbel", &TransformedDistributionImpl::kKind};
  const Kind& kind() const override { return kKind; }
  std::vector<ParameterInfo> parameters() const override;
  Tensor mean() const override;
  Tensor mode() const override;
  Tensor variance() const override;
  Tensor stddev() const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;
  Constraint support() const override { return constraints::real(); }

  const Tensor loc, scale;

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;
};

/// The largest of many: P(X <= x) = exp(-exp(-(x - loc) / scale)), scale > 0.
struct Gumbel : Holder<GumbelImpl> {
  Gumbel() = default;
  Gumbel(const TensorOrNumber& loc, const TensorOrNumber& scale, ValidateArgs validate_args = {});
};

struct ParetoImpl final : TransformedDistributionImpl {
  ParetoImpl(const Distribution& exponential, const Tensor& scale, const Tensor& alpha);
  static constexpr Kind kKind{"Pareto", &TransformedDistributionImpl::kKind};
  const Kind& kind() const override { return kKind; }
  std::vector<ParameterInfo> parameters() const override;
  Tensor mean() const override;
  Tensor mode() const override;
  Tensor variance() const override;
  Tensor entropy() const override;
  Constraint support() const override { return constraints::greater_than_eq(scale); }

  const Tensor scale, alpha;

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;
};

/// P(X > x) = (scale / x)^alpha for x >= scale; both positive. The mean is infinite for alpha <= 1, the variance for
/// alpha <= 2.
struct Pareto : Holder<ParetoImpl> {
  Pareto() = default;
  Pareto(const TensorOrNumber& scale, const TensorOrNumber& alpha, ValidateArgs validate_args = {});
};

struct WeibullImpl final : TransformedDistributionImpl {
  WeibullImpl(const Tensor& scale, const Tensor& concentration);
  static constexpr Kind kKind{"Weibull", &TransformedDistributionImpl::kKind};
  const Kind& kind() const override { return kKind; }
  std::vector<ParameterInfo> parameters() const override;
  Tensor mean() const override;
  Tensor mode() const override;
  Tensor variance() const override;
  Tensor entropy() const override;
  Constraint support() const override { return constraints::positive(); }

  const Tensor scale, concentration;

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;
};

/// P(X > x) = exp(-(x / scale)^concentration) for x > 0; both positive.
struct Weibull : Holder<WeibullImpl> {
  Weibull() = default;
  Weibull(const TensorOrNumber& scale, const TensorOrNumber& concentration, ValidateArgs validate_args = {});
};

struct KumaraswamyImpl final : TransformedDistributionImpl {
  KumaraswamyImpl(const Tensor& concentration1, const Tensor& concentration0);
  static constexpr Kind kKind{"Kumaraswamy", &TransformedDistributionImpl::kKind};
  const Kind& kind() const override { return kKind; }
  std::vector<ParameterInfo> parameters() const override;
  Tensor mean() const override;
  Tensor mode() const override;
  Tensor variance() const override;
  Tensor entropy() const override;
  Constraint support() const override { return constraints::unit_interval(); }

  const Tensor concentration1, concentration0;

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;
};

/// P(X <= x) = 1 - (1 - x^concentration1)^concentration0 in [0, 1]; both positive. mode() is not a number, as in
/// PyTorch.
struct Kumaraswamy : Holder<KumaraswamyImpl> {
  Kumaraswamy() = default;
  Kumaraswamy(const TensorOrNumber& concentration1, const TensorOrNumber& concentration0,
              ValidateArgs validate_args = {});
};

struct InverseGammaImpl final : TransformedDistributionImpl {
  explicit InverseGammaImpl(const Distribution& gamma);
  static constexpr Kind kKind{"InverseGamma", &TransformedDistributionImpl::kKind};
  const Kind& kind() const override { return kKind; }
  std::vector<ParameterInfo> parameters() const override;
  Tensor mean() const override;
  Tensor mode() const override;
  Tensor variance() const override;
  Tensor entropy() const override;
  Constraint support() const override { return constraints::positive(); }
  const Tensor& concentration() const;
  const Tensor& rate() const;

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;
};

/// 1 / x of a Gamma(concentration, rate). The mean is infinite for a concentration <= 1, the variance for one <= 2.
struct InverseGamma : Holder<InverseGammaImpl> {
  InverseGamma() = default;
  InverseGamma(const TensorOrNumber& concentration, const TensorOrNumber& rate, ValidateArgs validate_args = {});
};

struct LogitRelaxedBernoulliImpl final : DistributionImpl {
  LogitRelaxedBernoulliImpl(const Tensor& temperature, const detail::ProbsOrLogits& parameter);
  static constexpr Kind kKind{"LogitRelaxedBernoulli", &DistributionImpl::kKind};
  const Kind& kind() const override { return kKind; }
  std::vector<ParameterInfo> parameters() const override;
  bool has_rsample() const override { return true; }
  Tensor rsample(IntArrayRef sample_shape) const override;
  Tensor log_prob(const Tensor& value) const override;
  Constraint support() const override { return constraints::real(); }
  Tensor probs() const { return parameter_.probs(); }
  Tensor logits() const { return parameter_.logits(); }

  const Tensor temperature;

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;

 private:
  const detail::ProbsOrLogits parameter_;
};

/// The logit of a RelaxedBernoulli.
struct LogitRelaxedBernoulli : Holder<LogitRelaxedBernoulliImpl> {
  LogitRelaxedBernoulli() = default;
  explicit LogitRelaxedBernoulli(const TensorOrNumber& temperature, const TensorOrNumber& probs,
                                 const TensorOrNumber& logits = {}, ValidateArgs validate_args = {});
};

struct RelaxedBernoulliImpl final : TransformedDistributionImpl {
  explicit RelaxedBernoulliImpl(const Distribution& base);
  static constexpr Kind kKind{"RelaxedBernoulli", &TransformedDistributionImpl::kKind};
  const Kind& kind() const override { return kKind; }
  std::vector<ParameterInfo> parameters() const override;
  Constraint support() const override { return constraints::unit_interval(); }
  const Tensor& temperature() const;
  Tensor probs() const;
  Tensor logits() const;

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;
};

/// A number in (0, 1) in place of a Bernoulli's 0 or 1, with gradients; the lower the temperature the nearer to it
/// (Maddison et al. 2017, Jang et al. 2017). Of one of `probs` and `logits`.
struct RelaxedBernoulli : Holder<RelaxedBernoulliImpl> {
  RelaxedBernoulli() = default;
  RelaxedBernoulli(const TensorOrNumber& temperature, const TensorOrNumber& probs, const TensorOrNumber& logits = {},
                   ValidateArgs validate_args = {});
};

struct ExpRelaxedCategoricalImpl final : DistributionImpl {
  ExpRelaxedCategoricalImpl(const Tensor& temperature, const Categorical& categorical);
  static constexpr Kind kKind{"ExpRelaxedCategorical", &DistributionImpl::kKind};
  const Kind& kind() const override { return kKind; }
  std::vector<ParameterInfo> parameters() const override;
  bool has_rsample() const override { return true; }
  Tensor rsample(IntArrayRef sample_shape) const override;
  Tensor log_prob(const Tensor& value) const override;
  Constraint support() const override { return constraints::real_vector(); }
  Tensor probs() const { return categorical->probs(); }
  Tensor logits() const { return categorical->logits(); }

  const Categorical categorical;

  const Tensor temperature;

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;
};

/// The logarithm of a RelaxedOneHotCategorical.
struct ExpRelaxedCategorical : Holder<ExpRelaxedCategoricalImpl> {
  ExpRelaxedCategorical() = default;
  ExpRelaxedCategorical(const TensorOrNumber& temperature, const Tensor& probs, const Tensor& logits = {},
                        ValidateArgs validate_args = {});
};

struct RelaxedOneHotCategoricalImpl final : TransformedDistributionImpl {
  explicit RelaxedOneHotCategoricalImpl(const Distribution& base);
  static constexpr Kind kKind{"RelaxedOneHotCategorical", &TransformedDistributionImpl::kKind};
  const Kind& kind() const override { return kKind; }
  std::vector<ParameterInfo> parameters() const override;
  Constraint support() const override { return constraints::simplex(); }
  const Tensor& temperature() const;
  Tensor probs() const;
  Tensor logits() const;

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;
};

/// Probabilities in place of a OneHotCategorical's vector, with gradients, as RelaxedBernoulli. Of one of `probs` and
/// `logits`.
struct RelaxedOneHotCategorical : Holder<RelaxedOneHotCategoricalImpl> {
  RelaxedOneHotCategorical() = default;
  RelaxedOneHotCategorical(const TensorOrNumber& temperature, const Tensor& probs, const Tensor& logits = {},
                           ValidateArgs validate_args = {});
};

}  // namespace torch::distributions
