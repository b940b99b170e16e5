// Normal, Laplace, Cauchy and Uniform: families of a place and a width.
#pragma once

#include "distributions/distribution.h"

namespace torch::distributions {

struct NormalImpl final : ExponentialFamilyImpl {
  NormalImpl(const Tensor& loc, const Tensor& scale);
  static constexpr Kind kKind{"Normal", &ExponentialFamilyImpl::kKind};
  const Kind& kind() const override { return kKind; }
  std::vector<ParameterInfo> parameters() const override;
  Constraint support() const override { return constraints::real(); }
  bool has_rsample() const override { return true; }
  Tensor mean() const override { return loc; }
  Tensor mode() const override { return loc; }
  Tensor variance() const override;
  Tensor stddev() const override { return scale; }
  Tensor sample(IntArrayRef sample_shape) const override;
  Tensor rsample(IntArrayRef sample_shape) const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor cdf(const Tensor& value) const override;
  Tensor icdf(const Tensor& value) const override;
  Tensor entropy() const override;
  std::vector<Tensor> natural_params() const override;
  Tensor log_normalizer(const std::vector<Tensor>& natural_params) const override;
  double mean_carrier_measure() const override { return 0; }

  const Tensor loc, scale;

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;
};

/// exp(-((x - loc) / scale)^2 / 2) / (scale sqrt(2 pi)): mean loc and standard deviation scale > 0.
///
///     Normal(0.0, 1.0).log_prob(torch::tensor(0.0));       // -0.9189
struct Normal : Holder<NormalImpl> {
  Normal() = default;
  Normal(const TensorOrNumber& loc, const TensorOrNumber& scale, ValidateArgs validate_args = {});
};

struct LaplaceImpl final : DistributionImpl {
  LaplaceImpl(const Tensor& loc, const Tensor& scale);
  static constexpr Kind kKind{"Laplace", &DistributionImpl::kKind};
  const Kind& kind() const override { return kKind; }
  std::vector<ParameterInfo> parameters() const override;
  Constraint support() const override { return constraints::real(); }
  bool has_rsample() const override { return true; }
  Tensor mean() const override { return loc; }
  Tensor mode() const override { return loc; }
  Tensor variance() const override;
  Tensor stddev() const override;
  Tensor rsample(IntArrayRef sample_shape) const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor cdf(const Tensor& value) const override;
  Tensor icdf(const Tensor& value) const override;
  Tensor entropy() const override;

  const Tensor loc, scale;

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;
};

/// exp(-|x - loc| / scale) / (2 scale), scale > 0.
struct Laplace : Holder<LaplaceImpl> {
  Laplace() = default;
  Laplace(const TensorOrNumber& loc, const TensorOrNumber& scale, ValidateArgs validate_args = {});
};

struct CauchyImpl final : DistributionImpl {
  CauchyImpl(const Tensor& loc, const Tensor& scale);
  static constexpr Kind kKind{"Cauchy", &DistributionImpl::kKind};
  const Kind& kind() const override { return kKind; }
  std::vector<ParameterInfo> parameters() const override;
  Constraint support() const override { return constraints::real(); }
  bool has_rsample() const override { return true; }
  Tensor mean() const override;
  Tensor mode() const override { return loc; }
  Tensor variance() const override;
  Tensor rsample(IntArrayRef sample_shape) const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor cdf(const Tensor& value) const override;
  Tensor icdf(const Tensor& value) const override;
  Tensor entropy() const override;

  const Tensor loc, scale;

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;
};

/// 1 / (pi scale (1 + ((x - loc) / scale)^2)), scale > 0. Its mean is not a number, its variance infinite.
struct Cauchy : Holder<CauchyImpl> {
  Cauchy() = default;
  Cauchy(const TensorOrNumber& loc, const TensorOrNumber& scale, ValidateArgs validate_args = {});
};

struct UniformImpl final : DistributionImpl {
  UniformImpl(const Tensor& low, const Tensor& high);
  static constexpr Kind kKind{"Uniform", &DistributionImpl::kKind};
  const Kind& kind() const override { return kKind; }
  std::vector<ParameterInfo> parameters() const override;
  Constraint support() const override { return constraints::interval(low, high); }
  bool has_rsample() const override { return true; }
  Tensor mean() const override;
  Tensor variance() const override;
  Tensor stddev() const override;
  Tensor mode() const override;
  Tensor rsample(IntArrayRef sample_shape) const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor cdf(const Tensor& value) const override;
  Tensor icdf(const Tensor& value) const override;
  Tensor entropy() const override;

  const Tensor low, high;

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;
};

/// 1 / (high - low) in [low, high), low < high. Every value is a mode: mode() is not a number.
struct Uniform : Holder<UniformImpl> {
  Uniform() = default;
  Uniform(const TensorOrNumber& low, const TensorOrNumber& high, ValidateArgs validate_args = {});
};

}  // namespace torch::distributions
