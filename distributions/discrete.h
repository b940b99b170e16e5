// Distributions of integers: Bernoulli, Binomial, Geometric, NegativeBinomial, Poisson, and categories.
#pragma once

#include "distributions/detail.h"
#include "distributions/distribution.h"

namespace torch::distributions {

struct BernoulliImpl final : ExponentialFamilyImpl {
  explicit BernoulliImpl(const detail::ProbsOrLogits& parameter);
  static constexpr Kind kKind{"Bernoulli", &ExponentialFamilyImpl::kKind};
  const Kind& kind() const override { return kKind; }
  std::vector<ParameterInfo> parameters() const override;
  Tensor mean() const override;
  Tensor mode() const override;
  Tensor variance() const override;
  Tensor sample(IntArrayRef sample_shape) const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;
  bool has_enumerate_support() const override { return true; }
  Tensor enumerate_support(bool expand) const override;
  std::vector<Tensor> natural_params() const override;
  Tensor log_normalizer(const std::vector<Tensor>& natural_params) const override;
  double mean_carrier_measure() const override { return 0; }
  Constraint support() const override { return constraints::boolean(); }
  Tensor probs() const { return parameter_.probs(); }
  Tensor logits() const { return parameter_.logits(); }

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;

 private:
  const detail::ProbsOrLogits parameter_;
};

/// 1 with probability p, else 0, of one of `probs` (p) and `logits` (log(p / (1 - p))): Bernoulli(0.3), Bernoulli({},
/// logits). The mode of p = 1/2 is not a number.
struct Bernoulli : Holder<BernoulliImpl> {
  Bernoulli() = default;
  explicit Bernoulli(const TensorOrNumber& probs, const TensorOrNumber& logits = {}, ValidateArgs validate_args = {});
};

struct BinomialImpl final : DistributionImpl {
  BinomialImpl(const Tensor& total_count, const detail::ProbsOrLogits& parameter);
  static constexpr Kind kKind{"Binomial", &DistributionImpl::kKind};
  const Kind& kind() const override { return kKind; }
  std::vector<ParameterInfo> parameters() const override;
  Constraint support() const override;
  Tensor mean() const override;
  Tensor mode() const override;
  Tensor variance() const override;
  Tensor sample(IntArrayRef sample_shape) const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;
  bool has_enumerate_support() const override { return true; }
  Tensor enumerate_support(bool expand) const override;
  Tensor probs() const { return parameter_.probs(); }
  Tensor logits() const { return parameter_.logits(); }

  const Tensor total_count;

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;

 private:
  const detail::ProbsOrLogits parameter_;
};

/// How many of total_count trials succeed, each with probability p: of one of `probs` and `logits`, as for Bernoulli.
/// entropy() and enumerate_support() throw NotImplementedError for different counts in a batch.
struct Binomial : Holder<BinomialImpl> {
  Binomial() = default;
  explicit Binomial(const TensorOrNumber& total_count, const TensorOrNumber& probs = {},
                    const TensorOrNumber& logits = {}, ValidateArgs validate_args = {});
};

struct GeometricImpl final : DistributionImpl {
  explicit GeometricImpl(const detail::ProbsOrLogits& parameter);
  static constexpr Kind kKind{"Geometric", &DistributionImpl::kKind};
  const Kind& kind() const override { return kKind; }
  std::vector<ParameterInfo> parameters() const override;
  Tensor mean() const override;
  Tensor mode() const override;
  Tensor variance() const override;
  Tensor sample(IntArrayRef sample_shape) const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;
  Constraint support() const override { return constraints::nonnegative_integer(); }
  Tensor probs() const { return parameter_.probs(); }
  Tensor logits() const { return parameter_.logits(); }

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;

 private:
  const detail::ProbsOrLogits parameter_;
};

/// How many trials fail before the first that succeeds, each with probability p: p (1 - p)^x; of one of `probs`, in (0,
/// 1], and `logits`.
struct Geometric : Holder<GeometricImpl> {
  Geometric() = default;
  explicit Geometric(const TensorOrNumber& probs, const TensorOrNumber& logits = {}, ValidateArgs validate_args = {});
};

struct NegativeBinomialImpl final : DistributionImpl {
  NegativeBinomialImpl(const Tensor& total_count, const detail::ProbsOrLogits& parameter);
  static constexpr Kind kKind{"NegativeBinomial", &DistributionImpl::kKind};
  const Kind& kind() const override { return kKind; }
  std::vector<ParameterInfo> parameters() const override;
  Tensor mean() const override;
  Tensor mode() const override;
  Tensor variance() const override;
  Tensor sample(IntArrayRef sample_shape) const override;
  Tensor log_prob(const Tensor& value) const override;
  Constraint support() const override { return constraints::nonnegative_integer(); }
  Tensor probs() const { return parameter_.probs(); }
  Tensor logits() const { return parameter_.logits(); }

  const Tensor total_count;

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;

 private:
  const detail::ProbsOrLogits parameter_;
};

/// How many trials succeed, each with probability p, before total_count fail; total_count >= 0 need not be an integer.
/// Of one of `probs`, in [0, 1), and `logits`. Samples are Poisson numbers of Gamma rates.
struct NegativeBinomial : Holder<NegativeBinomialImpl> {
  NegativeBinomial() = default;
  explicit NegativeBinomial(const TensorOrNumber& total_count, const TensorOrNumber& probs = {},
                            const TensorOrNumber& logits = {}, ValidateArgs validate_args = {});
};

struct PoissonImpl final : ExponentialFamilyImpl {
  explicit PoissonImpl(const Tensor& rate);
  static constexpr Kind kKind{"Poisson", &ExponentialFamilyImpl::kKind};
  const Kind& kind() const override { return kKind; }
  std::vector<ParameterInfo> parameters() const override;
  Tensor mean() const override;
  Tensor mode() const override;
  Tensor variance() const override;
  Tensor sample(IntArrayRef sample_shape) const override;
  Tensor log_prob(const Tensor& value) const override;
  std::vector<Tensor> natural_params() const override;
  Tensor log_normalizer(const std::vector<Tensor>& natural_params) const override;
  Constraint support() const override { return constraints::nonnegative_integer(); }

  const Tensor rate;

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;
};

/// rate^x exp(-rate) / x! for integers x >= 0, rate >= 0.
struct Poisson : Holder<PoissonImpl> {
  Poisson() = default;
  explicit Poisson(const TensorOrNumber& rate, ValidateArgs validate_args = {});
};

struct CategoricalImpl final : DistributionImpl {
  explicit CategoricalImpl(const detail::ProbsOrLogits& parameter);
  static constexpr Kind kKind{"Categorical", &DistributionImpl::kKind};
  const Kind& kind() const override { return kKind; }
  std::vector<ParameterInfo> parameters() const override;
  Constraint support() const override;
  Tensor mean() const override;
  Tensor mode() const override;
  Tensor variance() const override;
  Tensor sample(IntArrayRef sample_shape) const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;
  bool has_enumerate_support() const override { return true; }
  Tensor enumerate_support(bool expand) const override;
  Tensor probs() const { return parameter_.probs(); }
  Tensor logits() const { return parameter_.logits(); }
  /// K
  int64_t num_events() const { return parameter_.sizes().back(); }

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;

 private:
  const detail::ProbsOrLogits parameter_;
};

/// A category, 0 to K - 1 (int64), of one of `probs` [*, K], which are divided by their sum, and `logits` [*, K], whose
/// exp is. mean() and variance() are not a number.
///
///     Categorical({}, net(x)).sample();     // one category a row
struct Categorical : Holder<CategoricalImpl> {
  Categorical() = default;
  explicit Categorical(const Tensor& probs, const Tensor& logits = {}, ValidateArgs validate_args = {});
};

struct OneHotCategoricalImpl : DistributionImpl {
  explicit OneHotCategoricalImpl(const Categorical& categorical);
  static constexpr Kind kKind{"OneHotCategorical", &DistributionImpl::kKind};
  const Kind& kind() const override { return kKind; }
  std::vector<ParameterInfo> parameters() const override;
  Tensor mean() const override;
  Tensor mode() const override;
  Tensor variance() const override;
  Tensor sample(IntArrayRef sample_shape) const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;
  bool has_enumerate_support() const override { return true; }
  Tensor enumerate_support(bool expand) const override;
  Constraint support() const override { return constraints::one_hot(); }
  Tensor probs() const { return categorical->probs(); }
  Tensor logits() const { return categorical->logits(); }

  const Categorical categorical;

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;
};

/// A category as a vector of K numbers: 1 in its place, else 0. Arguments as Categorical's.
struct OneHotCategorical : Holder<OneHotCategoricalImpl> {
  OneHotCategorical() = default;
  explicit OneHotCategorical(const Tensor& probs, const Tensor& logits = {}, ValidateArgs validate_args = {});
};

struct OneHotCategoricalStraightThroughImpl final : OneHotCategoricalImpl {
  using OneHotCategoricalImpl::OneHotCategoricalImpl;
  static constexpr Kind kKind{"OneHotCategoricalStraightThrough", &OneHotCategoricalImpl::kKind};
  const Kind& kind() const override { return kKind; }
  bool has_rsample() const override { return true; }
  Tensor rsample(IntArrayRef sample_shape) const override;

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;
};

/// A OneHotCategorical whose samples have the gradient of their probabilities (Bengio et al. 2013).
struct OneHotCategoricalStraightThrough : Holder<OneHotCategoricalStraightThroughImpl> {
  OneHotCategoricalStraightThrough() = default;
  explicit OneHotCategoricalStraightThrough(const Tensor& probs, const Tensor& logits = {},
                                            ValidateArgs validate_args = {});
};

struct MultinomialImpl final : DistributionImpl {
  MultinomialImpl(int64_t total_count, const Categorical& categorical);
  static constexpr Kind kKind{"Multinomial", &DistributionImpl::kKind};
  const Kind& kind() const override { return kKind; }
  std::vector<ParameterInfo> parameters() const override;
  Constraint support() const override;
  Tensor mean() const override;
  Tensor variance() const override;
  Tensor sample(IntArrayRef sample_shape) const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;
  Tensor probs() const { return categorical->probs(); }
  Tensor logits() const { return categorical->logits(); }

  const int64_t total_count;
  const Categorical categorical;

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;
};

/// How often each of K categories comes in total_count draws: counts of the parameter's dtype. Arguments as
/// Categorical's. log_prob takes any total count.
struct Multinomial : Holder<MultinomialImpl> {
  Multinomial() = default;
  explicit Multinomial(int64_t total_count, const Tensor& probs = {}, const Tensor& logits = {},
                       ValidateArgs validate_args = {});
};

}  // namespace torch::distributions
