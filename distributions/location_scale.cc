#include "distributions/location_scale.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "distributions/detail.h"

namespace torch::distributions {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace

// --- Normal ---

NormalImpl::NormalImpl(const Tensor& loc, const Tensor& scale)
    : ExponentialFamilyImpl(loc.sizes().vec(), {}), loc(loc), scale(scale) {}

Normal::Normal(const TensorOrNumber& loc, const TensorOrNumber& scale, ValidateArgs validate_args) {
  const std::vector<Tensor> all = broadcast_all({loc, scale});
  hold(detail::make<NormalImpl>(validate_args, all[0], all[1]));
}

std::vector<ParameterInfo> NormalImpl::parameters() const {
  return {{"loc", constraints::real(), loc}, {"scale", constraints::positive(), scale}};
}
Tensor NormalImpl::variance() const {
  return at::pow(scale, 2);
}
Tensor NormalImpl::sample(IntArrayRef sample_shape) const {
  c10::NoGradGuard no_grad;
  const std::vector<int64_t> shape = extended_shape(sample_shape);
  return at::normal(at::expand(loc, shape), at::expand(scale, shape));
}
Tensor NormalImpl::rsample(IntArrayRef sample_shape) const {
  return loc + detail::standard_normal(extended_shape(sample_shape), loc.options()) * scale;
}
Tensor NormalImpl::log_prob(const Tensor& value) const {
  check_value(value);
  return -at::pow(value - loc, 2) / (2 * variance()) - at::log(scale) - std::log(2 * std::numbers::pi) / 2;
}
Tensor NormalImpl::cdf(const Tensor& value) const {
  check_value(value);
  return 0.5 * (1 + at::erf((value - loc) * at::reciprocal(scale) / std::numbers::sqrt2));
}
Tensor NormalImpl::icdf(const Tensor& value) const {
  return loc + scale * at::erfinv(2 * value - 1) * std::numbers::sqrt2;
}
Tensor NormalImpl::entropy() const {
  return 0.5 + 0.5 * std::log(2 * std::numbers::pi) + at::log(scale);
}
std::vector<Tensor> NormalImpl::natural_params() const {
  const Tensor precision = at::reciprocal(at::pow(scale, 2));
  return {loc * precision, -0.5 * precision};
}
Tensor NormalImpl::log_normalizer(const std::vector<Tensor>& t) const {
  return -0.25 * at::pow(t[0], 2) / t[1] + 0.5 * at::log(-std::numbers::pi / t[1]);
}
std::shared_ptr<DistributionImpl> NormalImpl::expanded(IntArrayRef batch_shape) const {
  return std::make_shared<NormalImpl>(at::expand(loc, batch_shape), at::expand(scale, batch_shape));
}

// --- Laplace ---

LaplaceImpl::LaplaceImpl(const Tensor& loc, const Tensor& scale)
    : DistributionImpl(loc.sizes().vec(), {}), loc(loc), scale(scale) {}

Laplace::Laplace(const TensorOrNumber& loc, const TensorOrNumber& scale, ValidateArgs validate_args) {
  const std::vector<Tensor> all = broadcast_all({loc, scale});
  hold(detail::make<LaplaceImpl>(validate_args, all[0], all[1]));
}

std::vector<ParameterInfo> LaplaceImpl::parameters() const {
  return {{"loc", constraints::real(), loc}, {"scale", constraints::positive(), scale}};
}
Tensor LaplaceImpl::variance() const {
  return 2 * at::pow(scale, 2);
}
Tensor LaplaceImpl::stddev() const {
  return std::numbers::sqrt2 * scale;
}
Tensor LaplaceImpl::rsample(IntArrayRef sample_shape) const {
  const Tensor u = at::empty(extended_shape(sample_shape), loc.options()).uniform_(detail::epsilon_of(loc) - 1, 1);
  return loc - scale * at::sign(u) * at::log1p(-at::abs(u));
}
Tensor LaplaceImpl::log_prob(const Tensor& value) const {
  check_value(value);
  return -at::log(2 * scale) - at::abs(value - loc) / scale;
}
Tensor LaplaceImpl::cdf(const Tensor& value) const {
  check_value(value);
  return 0.5 - 0.5 * at::sign(value - loc) * at::expm1(-at::abs(value - loc) / scale);
}
Tensor LaplaceImpl::icdf(const Tensor& value) const {
  const Tensor term = value - 0.5;
  return loc - scale * at::sign(term) * at::log1p(-2 * at::abs(term));
}
Tensor LaplaceImpl::entropy() const {
  return 1 + at::log(2 * scale);
}
std::shared_ptr<DistributionImpl> LaplaceImpl::expanded(IntArrayRef batch_shape) const {
  return std::make_shared<LaplaceImpl>(at::expand(loc, batch_shape), at::expand(scale, batch_shape));
}

// --- Cauchy ---

CauchyImpl::CauchyImpl(const Tensor& loc, const Tensor& scale)
    : DistributionImpl(loc.sizes().vec(), {}), loc(loc), scale(scale) {}

Cauchy::Cauchy(const TensorOrNumber& loc, const TensorOrNumber& scale, ValidateArgs validate_args) {
  const std::vector<Tensor> all = broadcast_all({loc, scale});
  hold(detail::make<CauchyImpl>(validate_args, all[0], all[1]));
}

std::vector<ParameterInfo> CauchyImpl::parameters() const {
  return {{"loc", constraints::real(), loc}, {"scale", constraints::positive(), scale}};
}
Tensor CauchyImpl::mean() const {
  return at::full(batch_shape(), kNaN, loc.options());
}
Tensor CauchyImpl::variance() const {
  return at::full(batch_shape(), kInfinity, loc.options());
}
Tensor CauchyImpl::rsample(IntArrayRef sample_shape) const {
  return loc + at::empty(extended_shape(sample_shape), loc.options()).cauchy_() * scale;
}
Tensor CauchyImpl::log_prob(const Tensor& value) const {
  check_value(value);
  return -std::log(std::numbers::pi) - at::log(scale) - at::log1p(at::pow((value - loc) / scale, 2));
}
Tensor CauchyImpl::cdf(const Tensor& value) const {
  check_value(value);
  return at::atan((value - loc) / scale) / std::numbers::pi + 0.5;
}
Tensor CauchyImpl::icdf(const Tensor& value) const {
  return at::tan(std::numbers::pi * (value - 0.5)) * scale + loc;
}
Tensor CauchyImpl::entropy() const {
  return std::log(4 * std::numbers::pi) + at::log(scale);
}
std::shared_ptr<DistributionImpl> CauchyImpl::expanded(IntArrayRef batch_shape) const {
  return std::make_shared<CauchyImpl>(at::expand(loc, batch_shape), at::expand(scale, batch_shape));
}

// --- Uniform ---

UniformImpl::UniformImpl(const Tensor& low, const Tensor& high)
    : DistributionImpl(low.sizes().vec(), {}), low(low), high(high) {}

Uniform::Uniform(const TensorOrNumber& low, const TensorOrNumber& high, ValidateArgs validate_args) {
  const std::vector<Tensor> all = broadcast_all({low, high});
  hold(detail::make<UniformImpl>(validate_args, all[0], all[1]));
}

std::vector<ParameterInfo> UniformImpl::parameters() const {
  return {{"low", constraints::less_than(high), low}, {"high", constraints::greater_than(low), high}};
}
Tensor UniformImpl::mean() const {
  return (high + low) / 2;
}
Tensor UniformImpl::mode() const {
  return kNaN * high;
}
Tensor UniformImpl::stddev() const {
  return (high - low) / std::sqrt(12.0);
}
Tensor UniformImpl::variance() const {
  return at::pow(high - low, 2) / 12;
}
Tensor UniformImpl::rsample(IntArrayRef sample_shape) const {
  return low + at::rand(extended_shape(sample_shape), low.options()) * (high - low);
}
Tensor UniformImpl::log_prob(const Tensor& value) const {
  check_value(value);
  const Tensor inside = at::logical_and(at::le(low, value), at::gt(high, value)).to(low.scalar_type());
  return at::log(inside) - at::log(high - low);
}
Tensor UniformImpl::cdf(const Tensor& value) const {
  check_value(value);
  return at::clamp((value - low) / (high - low), 0, 1);
}
Tensor UniformImpl::icdf(const Tensor& value) const {
  return value * (high - low) + low;
}
Tensor UniformImpl::entropy() const {
  return at::log(high - low);
}
std::shared_ptr<DistributionImpl> UniformImpl::expanded(IntArrayRef batch_shape) const {
  return std::make_shared<UniformImpl>(at::expand(low, batch_shape), at::expand(high, batch_shape));
}

}  // namespace torch::distributions
