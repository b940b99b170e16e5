// The family of Gamma: Exponential, Gamma, Chi2, Dirichlet, Beta, FisherSnedecor, StudentT.
#pragma once

#include "distributions/distribution.h"

namespace torch::distributions {

struct ExponentialImpl final : ExponentialFamilyImpl {
  explicit ExponentialImpl(const Tensor& rate);
  static constexpr Kind kKind{"Exponential", &ExponentialFamilyImpl::kKind};
  const Kind& kind() const override { return kKind; }
  std::vector<ParameterInfo> parameters() const override;
  Constraint support() const override;
  bool has_rsample() const override { return true; }
  Tensor mean() const override;
  Tensor mode() const override;
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

  const Tensor rate;

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;
};

/// rate exp(-rate x) for x >= 0, rate > 0.
struct Exponential : Holder<ExponentialImpl> {
  Exponential() = default;
  explicit Exponential(const TensorOrNumber& rate, ValidateArgs validate_args = {});
};

struct GammaImpl : ExponentialFamilyImpl {
  GammaImpl(const Tensor& concentration, const Tensor& rate);
  static constexpr Kind kKind{"Gamma", &ExponentialFamilyImpl::kKind};
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
  Tensor entropy() const override;
  std::vector<Tensor> natural_params() const override;
  Tensor log_normalizer(const std::vector<Tensor>& natural_params) const override;
  double mean_carrier_measure() const override { return 0; }

  const Tensor concentration, rate;

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;
};

/// rate^c x^(c - 1) exp(-rate x) / gamma(c) for x >= 0 and the concentration c; both parameters are positive. Gradients
/// of samples are implicit: of the distribution function at the sample.
struct Gamma : Holder<GammaImpl> {
  Gamma() = default;
  Gamma(const TensorOrNumber& concentration, const TensorOrNumber& rate, ValidateArgs validate_args = {});
};

struct Chi2Impl final : GammaImpl {
  explicit Chi2Impl(const Tensor& df);
  static constexpr Kind kKind{"Chi2", &GammaImpl::kKind};
  const Kind& kind() const override { return kKind; }
  std::vector<ParameterInfo> parameters() const override;
  Tensor df() const { return 2 * concentration; }

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;
};

/// The sum of df squared standard normal numbers: Gamma(df / 2, 1 / 2), df > 0.
struct Chi2 : Holder<Chi2Impl> {
  Chi2() = default;
  explicit Chi2(const TensorOrNumber& df, ValidateArgs validate_args = {});
};

struct DirichletImpl final : ExponentialFamilyImpl {
  explicit DirichletImpl(const Tensor& concentration);
  static constexpr Kind kKind{"Dirichlet", &ExponentialFamilyImpl::kKind};
  const Kind& kind() const override { return kKind; }
  std::vector<ParameterInfo> parameters() const override;
  Constraint support() const override;
  bool has_rsample() const override { return true; }
  Tensor mean() const override;
  Tensor mode() const override;
  Tensor variance() const override;
  Tensor rsample(IntArrayRef sample_shape) const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;
  std::vector<Tensor> natural_params() const override;
  Tensor log_normalizer(const std::vector<Tensor>& natural_params) const override;

  const Tensor concentration;

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;
};

/// Probabilities x of K categories, with density proportional to the product of x_i^(concentration_i - 1).
/// `concentration`:
/// [*, K], positive; the event is the last dimension.
struct Dirichlet : Holder<DirichletImpl> {
  Dirichlet() = default;
  explicit Dirichlet(const Tensor& concentration, ValidateArgs validate_args = {});
};

struct BetaImpl final : ExponentialFamilyImpl {
  explicit BetaImpl(const Dirichlet& dirichlet);
  static constexpr Kind kKind{"Beta", &ExponentialFamilyImpl::kKind};
  const Kind& kind() const override { return kKind; }
  std::vector<ParameterInfo> parameters() const override;
  bool has_rsample() const override { return true; }
  Tensor mean() const override;
  Tensor mode() const override;
  Tensor variance() const override;
  Tensor rsample(IntArrayRef sample_shape) const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;
  std::vector<Tensor> natural_params() const override;
  Tensor log_normalizer(const std::vector<Tensor>& natural_params) const override;
  Constraint support() const override { return constraints::unit_interval(); }
  Tensor concentration1() const;
  Tensor concentration0() const;

  const Dirichlet dirichlet;  // of concentration1 and concentration0

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;
};

/// x^(concentration1 - 1) (1 - x)^(concentration0 - 1) / B(concentration1, concentration0) in [0, 1], both positive.
struct Beta : Holder<BetaImpl> {
  Beta() = default;
  Beta(const TensorOrNumber& concentration1, const TensorOrNumber& concentration0, ValidateArgs validate_args = {});
};

struct FisherSnedecorImpl final : DistributionImpl {
  FisherSnedecorImpl(const Tensor& df1, const Tensor& df2);
  static constexpr Kind kKind{"FisherSnedecor", &DistributionImpl::kKind};
  const Kind& kind() const override { return kKind; }
  std::vector<ParameterInfo> parameters() const override;
  Constraint support() const override;
  bool has_rsample() const override { return true; }
  Tensor mean() const override;
  Tensor mode() const override;
  Tensor variance() const override;
  Tensor rsample(IntArrayRef sample_shape) const override;
  Tensor log_prob(const Tensor& value) const override;

  const Tensor df1, df2;

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;
};

/// (a / df1) / (b / df2) of independent a and b, Chi2(df1) and Chi2(df2); both positive. The mean is not a number for
/// df2 <= 2, the variance for df2 <= 4.
struct FisherSnedecor : Holder<FisherSnedecorImpl> {
  FisherSnedecor() = default;
  FisherSnedecor(const TensorOrNumber& df1, const TensorOrNumber& df2, ValidateArgs validate_args = {});
};

struct StudentTImpl final : DistributionImpl {
  StudentTImpl(const Tensor& df, const Tensor& loc, const Tensor& scale);
  static constexpr Kind kKind{"StudentT", &DistributionImpl::kKind};
  const Kind& kind() const override { return kKind; }
  std::vector<ParameterInfo> parameters() const override;
  Constraint support() const override;
  bool has_rsample() const override { return true; }
  Tensor mean() const override;
  Tensor mode() const override;
  Tensor variance() const override;
  Tensor rsample(IntArrayRef sample_shape) const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;

  const Tensor df, loc, scale;

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;
};

/// loc + scale * z / sqrt(v / df) of independent z, standard normal, and v, Chi2(df); df and scale are positive.
struct StudentT : Holder<StudentTImpl> {
  StudentT() = default;
  explicit StudentT(const TensorOrNumber& df, const TensorOrNumber& loc = 0.0, const TensorOrNumber& scale = 1.0,
                    ValidateArgs validate_args = {});
};

}  // namespace torch::distributions
