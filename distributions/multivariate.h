// MultivariateNormal, LowRankMultivariateNormal, Wishart and LKJCholesky: vectors and matrices.
#pragma once

#include "distributions/detail.h"
#include "distributions/distribution.h"

namespace torch::distributions {

namespace detail {

/// A positive definite matrix as it was given: itself, its inverse, or its Cholesky factor. The others follow when they
/// are asked for.
class CovarianceMatrix {
 public:
  /// One of three. Throws ValueError where none or several are given, or it is no matrix.
  static CovarianceMatrix of(const char* distribution, const Tensor& covariance_matrix, const Tensor& precision_matrix,
                             const Tensor& scale_tril);
  CovarianceMatrix(const CovarianceMatrix& other)
      : CovarianceMatrix(other, other.covariance_.peek(), other.precision_.peek(), other.scale_tril_.peek()) {}

  Tensor covariance_matrix() const;
  Tensor precision_matrix() const;
  /// L with L L^T the covariance matrix.
  Tensor scale_tril() const;
  /// The same of the given matrix, which may have fewer batch dimensions.
  Tensor factor() const;
  CovarianceMatrix expand(IntArrayRef batch_shape) const;
  /// The sizes without the two of the matrix, and how many rows it has.
  std::vector<int64_t> batch_shape() const;
  int64_t rows() const { return given_.size(-1); }
  std::vector<ParameterInfo> parameters() const;

 private:
  CovarianceMatrix(Tensor covariance, Tensor precision, Tensor scale_tril);
  // The same matrix, with other batch dimensions.
  CovarianceMatrix(const CovarianceMatrix& same, Tensor covariance, Tensor precision, Tensor scale_tril);
  // One of those that are known.
  Tensor known() const;
  Tensor compute_factor() const;

  const Lazy covariance_, precision_, scale_tril_, factor_;
  const Tensor given_;  // with the batch dimensions that it came with
  const bool is_precision_;
};

}  // namespace detail

struct MultivariateNormalImpl final : DistributionImpl {
  MultivariateNormalImpl(const Tensor& loc, const detail::CovarianceMatrix& matrix);
  static constexpr Kind kKind{"MultivariateNormal", &DistributionImpl::kKind};
  const Kind& kind() const override { return kKind; }
  std::vector<ParameterInfo> parameters() const override;
  bool has_rsample() const override { return true; }
  Tensor mean() const override;
  Tensor mode() const override;
  Tensor variance() const override;
  Tensor rsample(IntArrayRef sample_shape) const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;
  Constraint support() const override { return constraints::real_vector(); }
  Tensor covariance_matrix() const { return matrix_.covariance_matrix(); }
  Tensor precision_matrix() const { return matrix_.precision_matrix(); }
  Tensor scale_tril() const { return matrix_.scale_tril(); }
  /// L of the given matrix, which may have fewer batch dimensions.
  Tensor factor() const { return matrix_.factor(); }

  const Tensor loc;

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;

 private:
  const detail::CovarianceMatrix matrix_;
};

/// Normal vectors with the mean loc [*, D], of one of `covariance_matrix`, `precision_matrix` (its inverse) and
/// `scale_tril`, a lower triangular L with a positive diagonal and L L^T the covariance; each [*, D, D]. scale_tril is
/// computed from the other two, and cheapest.
///
///     MultivariateNormal normal(torch::zeros({2}), torch::eye(2));
///     MultivariateNormal other(loc, {}, {}, factor);
struct MultivariateNormal : Holder<MultivariateNormalImpl> {
  MultivariateNormal() = default;
  explicit MultivariateNormal(const Tensor& loc, const Tensor& covariance_matrix = {},
                              const Tensor& precision_matrix = {}, const Tensor& scale_tril = {},
                              ValidateArgs validate_args = {});
};

struct LowRankMultivariateNormalImpl final : DistributionImpl {
  LowRankMultivariateNormalImpl(const Tensor& loc, const Tensor& cov_factor, const Tensor& cov_diag,
                                const Tensor& small_factor, const Tensor& small_diag);
  static constexpr Kind kKind{"LowRankMultivariateNormal", &DistributionImpl::kKind};
  const Kind& kind() const override { return kKind; }
  std::vector<ParameterInfo> parameters() const override;
  bool has_rsample() const override { return true; }
  Tensor mean() const override;
  Tensor mode() const override;
  Tensor variance() const override;
  Tensor rsample(IntArrayRef sample_shape) const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;
  Constraint support() const override { return constraints::real_vector(); }
  Tensor covariance_matrix() const;
  Tensor precision_matrix() const;
  Tensor scale_tril() const;
  /// W and d as given, which may have fewer batch dimensions, and the Cholesky factor of 1 + W^T diag(1 / d) W.
  Tensor given_factor() const { return small_factor_; }
  Tensor given_diag() const { return small_diag_; }
  Tensor capacitance_tril() const;
  /// log |covariance|
  Tensor log_determinant() const;

  const Tensor loc, cov_factor, cov_diag;

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;

 private:
  const Tensor small_factor_, small_diag_;
  const detail::Lazy capacitance_tril_;
};

/// Normal vectors with the mean loc [*, D] and the covariance W W^T + diag(d) of W = cov_factor [*, D, R] and d =
/// cov_diag
/// [*, D], positive: of the cost of R x R matrices (Woodbury's identity).
struct LowRankMultivariateNormal : Holder<LowRankMultivariateNormalImpl> {
  LowRankMultivariateNormal() = default;
  LowRankMultivariateNormal(const Tensor& loc, const Tensor& cov_factor, const Tensor& cov_diag,
                            ValidateArgs validate_args = {});
};

struct WishartImpl final : ExponentialFamilyImpl {
  WishartImpl(const Tensor& df, const detail::CovarianceMatrix& matrix);
  static constexpr Kind kKind{"Wishart", &ExponentialFamilyImpl::kKind};
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
  double mean_carrier_measure() const override { return 0; }
  Constraint support() const override { return constraints::positive_definite(); }
  Tensor covariance_matrix() const { return matrix_.covariance_matrix(); }
  Tensor precision_matrix() const { return matrix_.precision_matrix(); }
  Tensor scale_tril() const { return matrix_.scale_tril(); }

  const Tensor df;

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;

 private:
  Tensor draw(IntArrayRef sample_shape) const;

  const detail::CovarianceMatrix matrix_;
};

/// The sum of x x^T of df normal vectors x, D numbers each: positive definite matrices. df > D - 1 need not be an
/// integer. Of one of `covariance_matrix`, `precision_matrix` and `scale_tril` as MultivariateNormal. Samples by
/// Bartlett's decomposition, each drawn a second time, as PyTorch does.
struct Wishart : Holder<WishartImpl> {
  Wishart() = default;
  explicit Wishart(const TensorOrNumber& df, const Tensor& covariance_matrix = {}, const Tensor& precision_matrix = {},
                   const Tensor& scale_tril = {}, ValidateArgs validate_args = {});
};

struct LKJCholeskyImpl final : DistributionImpl {
  LKJCholeskyImpl(int64_t dim, const Tensor& concentration);
  static constexpr Kind kKind{"LKJCholesky", &DistributionImpl::kKind};
  const Kind& kind() const override { return kKind; }
  std::vector<ParameterInfo> parameters() const override;
  Tensor sample(IntArrayRef sample_shape) const override;
  Tensor log_prob(const Tensor& value) const override;
  Constraint support() const override { return constraints::corr_cholesky(); }

  const int64_t dim;
  const Tensor concentration;

 protected:
  std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const override;
};

/// Cholesky factors L of dim x dim correlation matrices with density proportional to |L L^T|^(concentration - 1),
/// concentration > 0: uniform for 1. Samples by the onion method (Lewandowski, Kurowicka and Joe 2009). Throws
/// ValueError for dim < 2.
struct LKJCholesky : Holder<LKJCholeskyImpl> {
  LKJCholesky() = default;
  explicit LKJCholesky(int64_t dim, const TensorOrNumber& concentration = 1.0, ValidateArgs validate_args = {});
};

}  // namespace torch::distributions
