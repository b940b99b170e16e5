#include "distributions/multivariate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/linalg/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/rearrange/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "distributions/gamma.h"
#include "distributions/multivariate_algebra.h"

namespace torch::distributions {

using detail::joined;

namespace detail {

Tensor log_diagonal_sum(const Tensor& factor) {
  return at::sum(at::log(at::diagonal(factor, 0, -2, -1)), {-1});
}

Tensor times_vector(const Tensor& matrix, const Tensor& vector) {
  return at::squeeze(at::matmul(matrix, at::unsqueeze(vector, -1)), -1);
}

Tensor squared_distance(const Tensor& factor, const Tensor& vectors) {
  if (factor.dim() == 2) {
    // One factor for all vectors: they are its right-hand sides.
    const Tensor flat = at::reshape(vectors, {-1, vectors.size(-1)});
    const Tensor solved = at::linalg_solve_triangular(factor, flat.mT(), /*upper=*/false);
    return at::reshape(at::sum(at::pow(solved, 2), {0}), vectors.sizes().slice(0, vectors.dim() - 1));
  }
  const Tensor solved = at::linalg_solve_triangular(factor, at::unsqueeze(vectors, -1), /*upper=*/false);
  return at::sum(at::pow(solved, 2), {-2, -1});
}

std::vector<int64_t> broadcast_sizes(IntArrayRef a, IntArrayRef b) {
  std::vector<int64_t> longer = a.vec(), shorter = b.vec();
  if (longer.size() < shorter.size()) std::swap(longer, shorter);
  for (size_t i = 1; i <= shorter.size(); ++i) {
    int64_t& size = longer[longer.size() - i];
    const int64_t other = shorter[shorter.size() - i];
    TORCH_CHECK(size == other || size == 1 || other == 1, "batch shapes ", a, " and ", b, " do not broadcast");
    if (size == 1) size = other;
  }
  return longer;
}

// --- CovarianceMatrix ---

CovarianceMatrix CovarianceMatrix::of(const char* distribution, const Tensor& covariance_matrix,
                                      const Tensor& precision_matrix, const Tensor& scale_tril) {
  TORCH_CHECK_VALUE(covariance_matrix.defined() + precision_matrix.defined() + scale_tril.defined() == 1, distribution,
                    ": exactly one of covariance_matrix, precision_matrix and scale_tril must be given");
  CovarianceMatrix matrix(covariance_matrix, precision_matrix, scale_tril);
  TORCH_CHECK_VALUE(matrix.given_.dim() >= 2, distribution,
                    ": the matrix must have two dimensions or more, got the sizes ", matrix.given_.sizes());
  return matrix;
}
CovarianceMatrix::CovarianceMatrix(Tensor covariance, Tensor precision, Tensor scale_tril)
    : covariance_(covariance),
      precision_(precision),
      scale_tril_(scale_tril),
      factor_(scale_tril),
      given_(covariance.defined()  ? covariance
             : precision.defined() ? precision
                                   : scale_tril),
      is_precision_(precision.defined()) {}
CovarianceMatrix::CovarianceMatrix(const CovarianceMatrix& same, Tensor covariance, Tensor precision, Tensor scale_tril)
    : covariance_(std::move(covariance)),
      precision_(std::move(precision)),
      scale_tril_(std::move(scale_tril)),
      factor_(same.factor_.peek()),
      given_(same.given_),
      is_precision_(same.is_precision_) {}
Tensor CovarianceMatrix::known() const {
  const Tensor covariance = covariance_.peek(), precision = precision_.peek();
  return covariance.defined() ? covariance : precision.defined() ? precision : scale_tril_.peek();
}
std::vector<int64_t> CovarianceMatrix::batch_shape() const {
  const Tensor matrix = known();
  return matrix.sizes().slice(0, matrix.dim() - 2).vec();
}
Tensor CovarianceMatrix::factor() const {
  return factor_.get([this] { return compute_factor(); });
}
Tensor CovarianceMatrix::compute_factor() const {
  if (!is_precision_) return at::linalg_cholesky(given_);
  // With P = U U^T of an upper triangular U, L is the inverse of U^T.
  const Tensor flipped = at::linalg_cholesky(at::flip(given_, {-2, -1}));
  const Tensor transposed = at::flip(flipped, {-2, -1}).mT();
  const Tensor identity = at::eye(transposed.size(-1), transposed.options());
  return at::linalg_solve_triangular(transposed, identity, /*upper=*/false);
}
Tensor CovarianceMatrix::scale_tril() const {
  return scale_tril_.get([this] { return at::expand(factor(), known().sizes()); });
}
Tensor CovarianceMatrix::covariance_matrix() const {
  return covariance_.get([this] { return at::expand(at::matmul(factor(), factor().mT()), known().sizes()); });
}
Tensor CovarianceMatrix::precision_matrix() const {
  return precision_.get([this] { return at::expand(at::cholesky_inverse(factor()), known().sizes()); });
}
CovarianceMatrix CovarianceMatrix::expand(IntArrayRef batch_shape) const {
  const std::vector<int64_t> sizes = joined(batch_shape, {rows(), rows()});
  const auto wide = [&](const Tensor& matrix) { return matrix.defined() ? at::expand(matrix, sizes) : matrix; };
  return {*this, wide(covariance_.peek()), wide(precision_.peek()), wide(scale_tril_.peek())};
}
std::vector<ParameterInfo> CovarianceMatrix::parameters() const {
  return {{"covariance_matrix", constraints::positive_definite(), covariance_.peek()},
          {"precision_matrix", constraints::positive_definite(), precision_.peek()},
          {"scale_tril", constraints::lower_cholesky(), scale_tril_.peek()}};
}

}  // namespace detail

namespace {

using detail::CovarianceMatrix;
using detail::log_diagonal_sum;
using detail::squared_distance;
using detail::times_vector;
using std::numbers::pi;

std::vector<int64_t> without_last(const Tensor& tensor, int64_t dims = 1) {
  return tensor.sizes().slice(0, tensor.dim() - dims).vec();
}

}  // namespace

// --- MultivariateNormal ---

MultivariateNormalImpl::MultivariateNormalImpl(const Tensor& loc, const CovarianceMatrix& matrix)
    : DistributionImpl(without_last(loc), {loc.size(-1)}), loc(loc), matrix_(matrix) {}

MultivariateNormal::MultivariateNormal(const Tensor& loc, const Tensor& covariance_matrix,
                                       const Tensor& precision_matrix, const Tensor& scale_tril,
                                       ValidateArgs validate_args) {
  TORCH_CHECK_VALUE(loc.dim() >= 1, "MultivariateNormal: loc must have one dimension or more, got none");
  const auto matrix = CovarianceMatrix::of("MultivariateNormal", covariance_matrix, precision_matrix, scale_tril);
  const std::vector<int64_t> batch = detail::broadcast_sizes(matrix.batch_shape(), without_last(loc));
  const auto impl = detail::make<MultivariateNormalImpl>(validate_args, at::expand(loc, joined(batch, {loc.size(-1)})),
                                                         matrix.expand(batch));
  impl->factor();  // where there is none, the error comes now
  hold(impl);
}

std::vector<ParameterInfo> MultivariateNormalImpl::parameters() const {
  std::vector<ParameterInfo> all = matrix_.parameters();
  all.insert(all.begin(), {"loc", constraints::real_vector(), loc});
  return all;
}
Tensor MultivariateNormalImpl::mean() const {
  return loc;
}
Tensor MultivariateNormalImpl::mode() const {
  return loc;
}
Tensor MultivariateNormalImpl::variance() const {
  return at::expand(at::sum(at::pow(factor(), 2), {-1}), loc.sizes());
}
Tensor MultivariateNormalImpl::rsample(IntArrayRef sample_shape) const {
  return loc + times_vector(factor(), detail::standard_normal(extended_shape(sample_shape), loc.options()));
}
Tensor MultivariateNormalImpl::log_prob(const Tensor& value) const {
  check_value(value);
  const double constant = static_cast<double>(loc.size(-1)) * std::log(2 * pi);
  return -0.5 * (constant + squared_distance(factor(), value - loc)) - log_diagonal_sum(factor());
}
Tensor MultivariateNormalImpl::entropy() const {
  const double constant = 0.5 * static_cast<double>(loc.size(-1)) * (1 + std::log(2 * pi));
  return at::expand(constant + log_diagonal_sum(factor()), batch_shape());
}
std::shared_ptr<DistributionImpl> MultivariateNormalImpl::expanded(IntArrayRef batch_shape) const {
  return std::make_shared<MultivariateNormalImpl>(at::expand(loc, joined(batch_shape, event_shape())),
                                                  matrix_.expand(batch_shape));
}

// --- LowRankMultivariateNormal ---

LowRankMultivariateNormalImpl::LowRankMultivariateNormalImpl(const Tensor& loc, const Tensor& cov_factor,
                                                             const Tensor& cov_diag, const Tensor& small_factor,
                                                             const Tensor& small_diag)
    : DistributionImpl(without_last(loc), {loc.size(-1)}),
      loc(loc),
      cov_factor(cov_factor),
      cov_diag(cov_diag),
      small_factor_(small_factor),
      small_diag_(small_diag) {}

LowRankMultivariateNormal::LowRankMultivariateNormal(const Tensor& loc, const Tensor& cov_factor,
                                                     const Tensor& cov_diag, ValidateArgs validate_args) {
  const char* const name = "LowRankMultivariateNormal";
  TORCH_CHECK_VALUE(loc.dim() >= 1, name, ": loc must have one dimension or more, got none");
  const int64_t n = loc.size(-1);
  TORCH_CHECK_VALUE(cov_factor.dim() >= 2 && cov_factor.size(-2) == n, name, ": cov_factor must have the sizes [*, ", n,
                    ", R], got ", cov_factor.sizes());
  TORCH_CHECK_VALUE(cov_diag.dim() >= 1 && cov_diag.size(-1) == n, name, ": cov_diag must have the sizes [*, ", n,
                    "], got ", cov_diag.sizes());
  const std::vector<int64_t> batch = detail::broadcast_sizes(
      detail::broadcast_sizes(without_last(loc), without_last(cov_factor, 2)), without_last(cov_diag));
  hold(detail::make<LowRankMultivariateNormalImpl>(validate_args, at::expand(loc, joined(batch, {n})),
                                                   at::expand(cov_factor, joined(batch, {n, cov_factor.size(-1)})),
                                                   at::expand(cov_diag, joined(batch, {n})), cov_factor, cov_diag));
}

namespace {

// W^T diag(1 / d)
Tensor scaled_transpose(const LowRankMultivariateNormalImpl& normal) {
  return normal.given_factor().mT() / at::unsqueeze(normal.given_diag(), -2);
}

}  // namespace

std::vector<ParameterInfo> LowRankMultivariateNormalImpl::parameters() const {
  return {{"loc", constraints::real_vector(), loc},
          {"cov_factor", constraints::independent(constraints::real(), 2), cov_factor},
          {"cov_diag", constraints::independent(constraints::positive(), 1), cov_diag}};
}
Tensor LowRankMultivariateNormalImpl::capacitance_tril() const {
  return capacitance_tril_.get([this] {
    const Tensor gram = at::matmul(scaled_transpose(*this), small_factor_);
    return at::linalg_cholesky(gram + at::eye(gram.size(-1), gram.options()));
  });
}
Tensor LowRankMultivariateNormalImpl::log_determinant() const {
  return 2 * log_diagonal_sum(capacitance_tril()) + at::sum(at::log(small_diag_), {-1});
}
Tensor LowRankMultivariateNormalImpl::mean() const {
  return loc;
}
Tensor LowRankMultivariateNormalImpl::mode() const {
  return loc;
}
Tensor LowRankMultivariateNormalImpl::variance() const {
  return at::expand(at::sum(at::pow(small_factor_, 2), {-1}) + small_diag_, loc.sizes());
}
Tensor LowRankMultivariateNormalImpl::covariance_matrix() const {
  const Tensor matrix = at::matmul(small_factor_, small_factor_.mT()) + at::diag_embed(small_diag_);
  return at::expand(matrix, joined(loc.sizes(), event_shape()));
}
Tensor LowRankMultivariateNormalImpl::precision_matrix() const {
  const Tensor a = at::linalg_solve_triangular(capacitance_tril(), scaled_transpose(*this), /*upper=*/false);
  const Tensor matrix = at::diag_embed(at::reciprocal(small_diag_)) - at::matmul(a.mT(), a);
  return at::expand(matrix, joined(loc.sizes(), event_shape()));
}
Tensor LowRankMultivariateNormalImpl::scale_tril() const {
  const Tensor root = at::unsqueeze(at::sqrt(small_diag_), -1);
  const Tensor scaled = small_factor_ / root;
  const Tensor gram = at::matmul(scaled, scaled.mT()) + at::eye(loc.size(-1), loc.options());
  return at::expand(root * at::linalg_cholesky(gram), joined(loc.sizes(), event_shape()));
}
Tensor LowRankMultivariateNormalImpl::rsample(IntArrayRef sample_shape) const {
  const std::vector<int64_t> shape = extended_shape(sample_shape);
  std::vector<int64_t> of_factor = shape;
  of_factor.back() = cov_factor.size(-1);
  const Tensor shared = detail::standard_normal(of_factor, loc.options());
  const Tensor own = detail::standard_normal(shape, loc.options());
  return loc + times_vector(small_factor_, shared) + at::sqrt(small_diag_) * own;
}
Tensor LowRankMultivariateNormalImpl::log_prob(const Tensor& value) const {
  check_value(value);
  const Tensor difference = value - loc;
  const Tensor distance = at::sum(at::pow(difference, 2) / small_diag_, {-1}) -
                          squared_distance(capacitance_tril(), times_vector(scaled_transpose(*this), difference));
  return -0.5 * (static_cast<double>(loc.size(-1)) * std::log(2 * pi) + log_determinant() + distance);
}
Tensor LowRankMultivariateNormalImpl::entropy() const {
  const Tensor nats = 0.5 * (static_cast<double>(loc.size(-1)) * (1 + std::log(2 * pi)) + log_determinant());
  return at::expand(nats, batch_shape());
}
std::shared_ptr<DistributionImpl> LowRankMultivariateNormalImpl::expanded(IntArrayRef batch_shape) const {
  const std::vector<int64_t> sizes = joined(batch_shape, event_shape());
  return std::make_shared<LowRankMultivariateNormalImpl>(at::expand(loc, sizes),
                                                         at::expand(cov_factor, joined(sizes, {cov_factor.size(-1)})),
                                                         at::expand(cov_diag, sizes), small_factor_, small_diag_);
}

// --- Wishart ---

WishartImpl::WishartImpl(const Tensor& df, const CovarianceMatrix& matrix)
    : ExponentialFamilyImpl(df.sizes().vec(), {matrix.rows(), matrix.rows()}), df(df), matrix_(matrix) {}

Wishart::Wishart(const TensorOrNumber& df, const Tensor& covariance_matrix, const Tensor& precision_matrix,
                 const Tensor& scale_tril, ValidateArgs validate_args) {
  const auto matrix = CovarianceMatrix::of("Wishart", covariance_matrix, precision_matrix, scale_tril);
  const Tensor& given = covariance_matrix.defined()  ? covariance_matrix
                        : precision_matrix.defined() ? precision_matrix
                                                     : scale_tril;
  const Tensor degrees = df.as_tensor(given.options());
  const std::vector<int64_t> batch = detail::broadcast_sizes(matrix.batch_shape(), degrees.sizes());
  const int64_t d = matrix.rows();
  TORCH_CHECK_VALUE(!at::any(at::le(degrees, d - 1)).item<bool>(), "Wishart: df must be above ", d - 1,
                    ", the matrix's dimension less 1, but is ", df.text());
  const auto impl = detail::make<WishartImpl>(validate_args, at::expand(degrees, batch), matrix.expand(batch));
  if (at::any(at::lt(degrees, d)).item<bool>())
    TORCH_WARN("Wishart: with df below the matrix's dimension, ", d, ", samples are likely to be singular");
  hold(impl);
}

std::vector<ParameterInfo> WishartImpl::parameters() const {
  std::vector<ParameterInfo> all = matrix_.parameters();
  all.push_back({"df", constraints::greater_than(matrix_.rows() - 1), df});
  return all;
}

namespace {

// The derivative of log mvlgamma: the sum of digamma(x - i / 2).
Tensor multivariate_digamma(const Tensor& x, int64_t d) {
  const Tensor halves = at::div(at::arange(d, x.options()), 2);
  return at::sum(at::digamma(at::unsqueeze(x, -1) - halves), {-1});
}
Tensor for_matrices(const Tensor& number) {
  return at::unsqueeze(at::unsqueeze(number, -1), -1);
}

}  // namespace

Tensor WishartImpl::mean() const {
  return for_matrices(df) * covariance_matrix();
}
Tensor WishartImpl::mode() const {
  const Tensor factor = df - static_cast<double>(matrix_.rows()) - 1;
  return for_matrices(at::masked_fill(factor, at::le(factor, 0), std::nan(""))) * covariance_matrix();
}
Tensor WishartImpl::variance() const {
  const Tensor v = covariance_matrix(), diagonal = at::diagonal(v, 0, -2, -1);
  return for_matrices(df) * (at::pow(v, 2) + at::unsqueeze(diagonal, -1) * at::unsqueeze(diagonal, -2));
}
// A A^T with A = L N of Bartlett's N: the roots of Chi2 numbers on its diagonal, normal numbers below.
Tensor WishartImpl::draw(IntArrayRef sample_shape) const {
  const int64_t d = matrix_.rows();
  const Tensor degrees = at::unsqueeze(df, -1) - at::arange(d, df.options());
  const Tensor diagonal = at::sqrt(Chi2Impl(degrees).rsample(sample_shape));
  const std::vector<int64_t> shape = joined(sample_shape, batch_shape());
  const Tensor below = at::randn(joined(shape, {d * (d - 1) / 2}), df.options());
  const Tensor rows_and_columns = at::tril_indices(d, d, -1, df.options().dtype(at::kLong));
  const Tensor places =
      at::expand(at::select(rows_and_columns, 0, 0) * d + at::select(rows_and_columns, 0, 1), below.sizes());
  const Tensor noise = at::reshape(at::scatter(at::zeros(joined(shape, {d * d}), df.options()), -1, places, below),
                                   joined(shape, {d, d})) +
                       at::diag_embed(diagonal);
  const Tensor factor = at::matmul(matrix_.factor(), noise);
  return at::matmul(factor, factor.mT());
}
Tensor WishartImpl::rsample(IntArrayRef sample_shape) const {
  constexpr int kTries = 10;
  const int64_t batch_dims = static_cast<int64_t>(batch_shape().size());
  // Whether any matrix of the batch is positive definite, or any is not.
  const auto any_of_batch = [&](const Tensor& holds) {
    return batch_dims == 0 ? holds : at::any(at::flatten(holds, holds.dim() - batch_dims), -1);
  };
  const Tensor first = draw(sample_shape);
  Tensor sample = at::reshape(first, joined({-1}, batch_shape(), event_shape()));
  // PyTorch draws anew what is positive definite, and from then on what is not; numbers from a seed are to be the same.
  Tensor again = any_of_batch(support().check(sample.detach()));
  for (int i = 0; i < kTries && at::any(again).item<bool>(); ++i) {
    const Tensor drawn = draw({at::sum(again).item<int64_t>()});
    c10::List<std::optional<Tensor>> where;
    where.push_back(again);
    sample = at::index_put(sample, where, drawn);
    again = at::index_put(again, where, any_of_batch(at::logical_not(support().check(drawn.detach()))));
  }
  return at::reshape(sample, first.sizes());
}
Tensor WishartImpl::log_prob(const Tensor& value) const {
  check_value(value);
  const int64_t rows = matrix_.rows();
  const double d = static_cast<double>(rows);
  const Tensor factor = scale_tril();
  const Tensor trace = at::sum(at::diagonal(at::cholesky_solve(value, factor), 0, -2, -1), {-1});
  return -df * (d * std::log(2.0) / 2 + log_diagonal_sum(factor)) - at::mvlgamma(df / 2, rows) +
         (df - d - 1) / 2 * std::get<1>(at::linalg_slogdet(value)) - trace / 2;
}
Tensor WishartImpl::entropy() const {
  const int64_t rows = matrix_.rows();
  const double d = static_cast<double>(rows);
  return (d + 1) * (d * std::log(2.0) / 2 + log_diagonal_sum(scale_tril())) + at::mvlgamma(df / 2, rows) -
         (df - d - 1) / 2 * multivariate_digamma(df / 2, rows) + df * d / 2;
}
std::vector<Tensor> WishartImpl::natural_params() const {
  return {0.5 * df, -0.5 * precision_matrix()};
}
Tensor WishartImpl::log_normalizer(const std::vector<Tensor>& t) const {
  const int64_t rows = t[1].size(-1);
  const Tensor determinant = std::get<1>(at::linalg_slogdet(-2 * t[1]));
  return t[0] * (-determinant + static_cast<double>(rows) * std::log(2.0)) + at::mvlgamma(t[0], rows);
}
std::shared_ptr<DistributionImpl> WishartImpl::expanded(IntArrayRef batch_shape) const {
  return std::make_shared<WishartImpl>(at::expand(df, batch_shape), matrix_.expand(batch_shape));
}

// --- LKJCholesky ---

LKJCholeskyImpl::LKJCholeskyImpl(int64_t dim, const Tensor& concentration)
    : DistributionImpl(concentration.sizes().vec(), {dim, dim}), dim(dim), concentration(concentration) {}

LKJCholesky::LKJCholesky(int64_t dim, const TensorOrNumber& concentration, ValidateArgs validate_args) {
  TORCH_CHECK_VALUE(dim >= 2, "LKJCholesky: dim must be 2 or more, got ", dim);
  hold(detail::make<LKJCholeskyImpl>(validate_args, dim, broadcast_all({concentration})[0]));
}

std::vector<ParameterInfo> LKJCholeskyImpl::parameters() const {
  return {{"concentration", constraints::positive(), concentration}};
}
Tensor LKJCholeskyImpl::sample(IntArrayRef sample_shape) const {
  c10::NoGradGuard no_grad;
  // Of each row but the first: how long the part left of the diagonal is, squared, and its direction.
  const at::TensorOptions options = concentration.options();
  const Tensor offset = at::clamp(at::arange(-1, dim - 1, options), 0);
  const Tensor marginal = at::unsqueeze(concentration + 0.5 * static_cast<double>(dim - 2), -1);
  const std::vector<Tensor> both = at::broadcast_tensors({offset + 0.5, marginal - 0.5 * offset});
  const Tensor length = at::unsqueeze(Beta(both[0], both[1], /*validate_args=*/false).sample(sample_shape), -1);
  const Tensor normal = at::tril(at::randn(extended_shape(sample_shape), options), -1);
  const Tensor direction = normal / at::linalg_vector_norm(normal, 2, {-1}, /*keepdim=*/true);
  at::select(direction, -2, 0).zero_();
  const Tensor left = at::sqrt(length) * direction;
  const Tensor diagonal = at::sqrt(at::clamp(1 - at::sum(at::pow(left, 2), {-1}), detail::tiny_of(left)));
  return left + at::diag_embed(diagonal);
}
Tensor LKJCholeskyImpl::log_prob(const Tensor& value) const {
  check_value(value);
  const Tensor diagonal = at::narrow(at::diagonal(value, 0, -2, -1), -1, 1, dim - 1);
  const Tensor order = at::unsqueeze(2 * (concentration - 1), -1) + static_cast<double>(dim) -
                       at::arange(2, dim + 1, concentration.options());
  const int64_t below = dim - 1;
  const double n = static_cast<double>(below);
  const Tensor alpha = concentration + 0.5 * n;
  const Tensor normalizer = 0.5 * n * std::log(pi) + at::mvlgamma(alpha - 0.5, below) - n * at::lgamma(alpha);
  return at::sum(order * at::log(diagonal), {-1}) - normalizer;
}
std::shared_ptr<DistributionImpl> LKJCholeskyImpl::expanded(IntArrayRef batch_shape) const {
  return std::make_shared<LKJCholeskyImpl>(dim, at::expand(concentration, batch_shape));
}

}  // namespace torch::distributions
