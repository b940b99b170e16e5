#include "distributions/gamma.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "aten/ops/binary/ops.h"
#include "aten/ops/composite/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/special/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"
#include "distributions/detail.h"

namespace torch::distributions {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<int64_t> without_last(const Tensor& tensor) {
  return tensor.sizes().slice(0, tensor.dim() - 1).vec();
}

}  // namespace

// --- Exponential ---

ExponentialImpl::ExponentialImpl(const Tensor& rate) : ExponentialFamilyImpl(rate.sizes().vec(), {}), rate(rate) {}

Exponential::Exponential(const TensorOrNumber& rate, ValidateArgs validate_args) {
  hold(detail::make<ExponentialImpl>(validate_args, broadcast_all({rate})[0]));
}

std::vector<ParameterInfo> ExponentialImpl::parameters() const {
  return {{"rate", constraints::positive(), rate}};
}
Constraint ExponentialImpl::support() const {
  return constraints::nonnegative();
}
Tensor ExponentialImpl::mean() const {
  return at::reciprocal(rate);
}
Tensor ExponentialImpl::mode() const {
  return at::zeros_like(rate);
}
Tensor ExponentialImpl::variance() const {
  return at::pow(rate, -2);
}
Tensor ExponentialImpl::stddev() const {
  return at::reciprocal(rate);
}
Tensor ExponentialImpl::rsample(IntArrayRef sample_shape) const {
  return at::empty(extended_shape(sample_shape), rate.options()).exponential_() / rate;
}
Tensor ExponentialImpl::log_prob(const Tensor& value) const {
  check_value(value);
  return at::log(rate) - rate * value;
}
Tensor ExponentialImpl::cdf(const Tensor& value) const {
  check_value(value);
  return 1 - at::exp(-rate * value);
}
Tensor ExponentialImpl::icdf(const Tensor& value) const {
  return -at::log1p(-value) / rate;
}
Tensor ExponentialImpl::entropy() const {
  return 1 - at::log(rate);
}
std::vector<Tensor> ExponentialImpl::natural_params() const {
  return {-rate};
}
Tensor ExponentialImpl::log_normalizer(const std::vector<Tensor>& t) const {
  return -at::log(-t[0]);
}
std::shared_ptr<DistributionImpl> ExponentialImpl::expanded(IntArrayRef batch_shape) const {
  return std::make_shared<ExponentialImpl>(at::expand(rate, batch_shape));
}

// --- Gamma, Chi2 ---

GammaImpl::GammaImpl(const Tensor& concentration, const Tensor& rate)
    : ExponentialFamilyImpl(concentration.sizes().vec(), {}), concentration(concentration), rate(rate) {}

Gamma::Gamma(const TensorOrNumber& concentration, const TensorOrNumber& rate, ValidateArgs validate_args) {
  const std::vector<Tensor> all = broadcast_all({concentration, rate});
  hold(detail::make<GammaImpl>(validate_args, all[0], all[1]));
}

std::vector<ParameterInfo> GammaImpl::parameters() const {
  return {{"concentration", constraints::positive(), concentration}, {"rate", constraints::positive(), rate}};
}
Constraint GammaImpl::support() const {
  return constraints::nonnegative();
}
Tensor GammaImpl::mean() const {
  return concentration / rate;
}
Tensor GammaImpl::mode() const {
  return at::clamp((concentration - 1) / rate, 0);
}
Tensor GammaImpl::variance() const {
  return concentration / at::pow(rate, 2);
}
Tensor GammaImpl::rsample(IntArrayRef sample_shape) const {
  const std::vector<int64_t> shape = extended_shape(sample_shape);
  const Tensor value = at::_standard_gamma(at::expand(concentration, shape)) / at::expand(rate, shape);
  // Only the number is moved away from 0: the gradient stays.
  value.detach().clamp_(detail::tiny_of(value));
  return value;
}
Tensor GammaImpl::log_prob(const Tensor& value) const {
  check_value(value);
  const Tensor x = at::to(value, rate.device(), rate.scalar_type());
  return at::xlogy(concentration, rate) + at::xlogy(concentration - 1, x) - rate * x - at::lgamma(concentration);
}
Tensor GammaImpl::cdf(const Tensor& value) const {
  check_value(value);
  return at::special_gammainc(concentration, rate * value);
}
Tensor GammaImpl::entropy() const {
  return concentration - at::log(rate) + at::lgamma(concentration) + (1.0 - concentration) * at::digamma(concentration);
}
std::vector<Tensor> GammaImpl::natural_params() const {
  return {concentration - 1, -rate};
}
Tensor GammaImpl::log_normalizer(const std::vector<Tensor>& t) const {
  return at::lgamma(t[0] + 1) + (t[0] + 1) * at::log(-at::reciprocal(t[1]));
}
std::shared_ptr<DistributionImpl> GammaImpl::expanded(IntArrayRef batch_shape) const {
  return std::make_shared<GammaImpl>(at::expand(concentration, batch_shape), at::expand(rate, batch_shape));
}

// Halves of integers are of floating point.
Chi2Impl::Chi2Impl(const Tensor& df) : GammaImpl(0.5 * df, at::full_like(0.5 * df, 0.5)) {}

Chi2::Chi2(const TensorOrNumber& df, ValidateArgs validate_args) {
  hold(detail::make<Chi2Impl>(validate_args, broadcast_all({df})[0]));
}

std::vector<ParameterInfo> Chi2Impl::parameters() const {
  return {{"df", constraints::positive(), df(), /*is_shown=*/false}};
}
std::shared_ptr<DistributionImpl> Chi2Impl::expanded(IntArrayRef batch_shape) const {
  return std::make_shared<Chi2Impl>(at::expand(df(), batch_shape));
}

// --- Dirichlet, Beta ---

DirichletImpl::DirichletImpl(const Tensor& concentration)
    : ExponentialFamilyImpl(without_last(concentration), {concentration.size(-1)}), concentration(concentration) {}

Dirichlet::Dirichlet(const Tensor& concentration, ValidateArgs validate_args) {
  TORCH_CHECK_VALUE(concentration.dim() >= 1, "Dirichlet: concentration must have one dimension or more, got none");
  hold(detail::make<DirichletImpl>(validate_args, concentration));
}

std::vector<ParameterInfo> DirichletImpl::parameters() const {
  return {{"concentration", constraints::independent(constraints::positive(), 1), concentration}};
}
Constraint DirichletImpl::support() const {
  return constraints::simplex();
}
Tensor DirichletImpl::mean() const {
  return concentration / at::sum(concentration, {-1}, /*keepdim=*/true);
}
Tensor DirichletImpl::mode() const {
  const Tensor above = at::clamp(concentration - 1, 0);
  const Tensor inside = above / at::sum(above, {-1}, true);
  // Where every concentration is below 1, the density is highest in the corners: one of them.
  const Tensor corner = at::one_hot(at::argmax(inside, -1), concentration.size(-1)).to(inside.scalar_type());
  return at::where(at::all(at::lt(concentration, 1), -1, true), corner, inside);
}
Tensor DirichletImpl::variance() const {
  const Tensor total = at::sum(concentration, {-1}, true);
  return concentration * (total - concentration) / (at::pow(total, 2) * (total + 1));
}
Tensor DirichletImpl::rsample(IntArrayRef sample_shape) const {
  return at::_sample_dirichlet(at::expand(concentration, extended_shape(sample_shape)));
}
Tensor DirichletImpl::log_prob(const Tensor& value) const {
  check_value(value);
  return at::sum(at::xlogy(concentration - 1, value), {-1}) + at::lgamma(at::sum(concentration, {-1})) -
         at::sum(at::lgamma(concentration), {-1});
}
Tensor DirichletImpl::entropy() const {
  const Tensor total = at::sum(concentration, {-1});
  return at::sum(at::lgamma(concentration), {-1}) - at::lgamma(total) -
         (static_cast<double>(concentration.size(-1)) - total) * at::digamma(total) -
         at::sum((concentration - 1) * at::digamma(concentration), {-1});
}
std::vector<Tensor> DirichletImpl::natural_params() const {
  return {concentration};
}
Tensor DirichletImpl::log_normalizer(const std::vector<Tensor>& t) const {
  return at::sum(at::lgamma(t[0]), {-1}) - at::lgamma(at::sum(t[0], {-1}));
}
std::shared_ptr<DistributionImpl> DirichletImpl::expanded(IntArrayRef batch_shape) const {
  return std::make_shared<DirichletImpl>(at::expand(concentration, detail::joined(batch_shape, event_shape())));
}

BetaImpl::BetaImpl(const Dirichlet& dirichlet)
    : ExponentialFamilyImpl(dirichlet.batch_shape(), {}), dirichlet(dirichlet) {}

Beta::Beta(const TensorOrNumber& concentration1, const TensorOrNumber& concentration0, ValidateArgs validate_args) {
  const Dirichlet both(at::stack(broadcast_all({concentration1, concentration0}), -1), validate_args);
  hold(detail::make<BetaImpl>(validate_args, both));
}

Tensor BetaImpl::concentration1() const {
  return at::select(dirichlet->concentration, -1, 0);
}
Tensor BetaImpl::concentration0() const {
  return at::select(dirichlet->concentration, -1, 1);
}
std::vector<ParameterInfo> BetaImpl::parameters() const {
  return {{"concentration1", constraints::positive(), concentration1(), /*is_shown=*/false},
          {"concentration0", constraints::positive(), concentration0(), /*is_shown=*/false}};
}
Tensor BetaImpl::mean() const {
  return concentration1() / (concentration1() + concentration0());
}
Tensor BetaImpl::mode() const {
  return at::select(dirichlet.mode(), -1, 0);
}
Tensor BetaImpl::variance() const {
  const Tensor total = concentration1() + concentration0();
  return concentration1() * concentration0() / (at::pow(total, 2) * (total + 1));
}
Tensor BetaImpl::rsample(IntArrayRef sample_shape) const {
  return at::select(dirichlet.rsample(sample_shape), -1, 0);
}
Tensor BetaImpl::log_prob(const Tensor& value) const {
  check_value(value);
  return dirichlet.log_prob(at::stack({value, 1.0 - value}, -1));
}
Tensor BetaImpl::entropy() const {
  return dirichlet.entropy();
}
std::vector<Tensor> BetaImpl::natural_params() const {
  return {concentration1(), concentration0()};
}
Tensor BetaImpl::log_normalizer(const std::vector<Tensor>& t) const {
  return at::lgamma(t[0]) + at::lgamma(t[1]) - at::lgamma(t[0] + t[1]);
}
std::shared_ptr<DistributionImpl> BetaImpl::expanded(IntArrayRef batch_shape) const {
  return std::make_shared<BetaImpl>(dirichlet.expand(batch_shape).as<Dirichlet>());
}

// --- FisherSnedecor ---

FisherSnedecorImpl::FisherSnedecorImpl(const Tensor& df1, const Tensor& df2)
    : DistributionImpl(df1.sizes().vec(), {}), df1(df1), df2(df2) {}

FisherSnedecor::FisherSnedecor(const TensorOrNumber& df1, const TensorOrNumber& df2, ValidateArgs validate_args) {
  const std::vector<Tensor> all = broadcast_all({df1, df2});
  hold(detail::make<FisherSnedecorImpl>(validate_args, all[0], all[1]));
}

std::vector<ParameterInfo> FisherSnedecorImpl::parameters() const {
  return {{"df1", constraints::positive(), df1}, {"df2", constraints::positive(), df2}};
}
Constraint FisherSnedecorImpl::support() const {
  return constraints::positive();
}
Tensor FisherSnedecorImpl::mean() const {
  return at::where(at::le(df2, 2), kNaN, df2 / (df2 - 2));
}
Tensor FisherSnedecorImpl::mode() const {
  return at::where(at::le(df1, 2), kNaN, (df1 - 2) / df1 * df2 / (df2 + 2));
}
Tensor FisherSnedecorImpl::variance() const {
  const Tensor value = 2 * at::pow(df2, 2) * (df1 + df2 - 2) / (df1 * at::pow(df2 - 2, 2) * (df2 - 4));
  return at::where(at::le(df2, 4), kNaN, value);
}
Tensor FisherSnedecorImpl::rsample(IntArrayRef sample_shape) const {
  const Tensor above = GammaImpl(0.5 * df1, df1).rsample(sample_shape);
  const Tensor below = at::clamp(GammaImpl(0.5 * df2, df2).rsample(sample_shape), detail::tiny_of(df2));
  return at::clamp(above / below, detail::tiny_of(df2));
}
Tensor FisherSnedecorImpl::log_prob(const Tensor& value) const {
  check_value(value);
  const Tensor a = 0.5 * df1, b = 0.5 * df2, ratio = df1 / df2;
  return at::lgamma(a + b) - at::lgamma(a) - at::lgamma(b) + a * at::log(ratio) + (a - 1) * at::log(value) -
         (a + b) * at::log1p(ratio * value);
}
std::shared_ptr<DistributionImpl> FisherSnedecorImpl::expanded(IntArrayRef batch_shape) const {
  return std::make_shared<FisherSnedecorImpl>(at::expand(df1, batch_shape), at::expand(df2, batch_shape));
}

// --- StudentT ---

StudentTImpl::StudentTImpl(const Tensor& df, const Tensor& loc, const Tensor& scale)
    : DistributionImpl(df.sizes().vec(), {}), df(df), loc(loc), scale(scale) {}

StudentT::StudentT(const TensorOrNumber& df, const TensorOrNumber& loc, const TensorOrNumber& scale,
                   ValidateArgs validate_args) {
  const std::vector<Tensor> all = broadcast_all({df, loc, scale});
  hold(detail::make<StudentTImpl>(validate_args, all[0], all[1], all[2]));
}

std::vector<ParameterInfo> StudentTImpl::parameters() const {
  return {{"df", constraints::positive(), df},
          {"loc", constraints::real(), loc},
          {"scale", constraints::positive(), scale}};
}
Constraint StudentTImpl::support() const {
  return constraints::real();
}
Tensor StudentTImpl::mean() const {
  return at::where(at::le(df, 1), kNaN, loc);
}
Tensor StudentTImpl::mode() const {
  return loc;
}
Tensor StudentTImpl::variance() const {
  const Tensor finite = at::pow(scale, 2) * df / (df - 2);
  return at::where(at::gt(df, 2), finite, at::where(at::gt(df, 1), kInfinity, at::full_like(df, kNaN)));
}
Tensor StudentTImpl::rsample(IntArrayRef sample_shape) const {
  const Tensor z = detail::standard_normal(extended_shape(sample_shape), df.options());
  const Tensor v = Chi2Impl(df).rsample(sample_shape);
  return loc + scale * (z * at::rsqrt(v / df));
}
Tensor StudentTImpl::log_prob(const Tensor& value) const {
  check_value(value);
  const Tensor half = 0.5 * (df + 1), y = (value - loc) / scale;
  const Tensor normalizer =
      at::log(scale) + 0.5 * at::log(df) + 0.5 * std::log(std::numbers::pi) + at::lgamma(0.5 * df) - at::lgamma(half);
  return -half * at::log1p(at::pow(y, 2) / df) - normalizer;
}
Tensor StudentTImpl::entropy() const {
  const Tensor half = 0.5 * (df + 1);
  const Tensor log_beta = at::lgamma(0.5 * df) + std::lgamma(0.5) - at::lgamma(half);
  return at::log(scale) + half * (at::digamma(half) - at::digamma(0.5 * df)) + 0.5 * at::log(df) + log_beta;
}
std::shared_ptr<DistributionImpl> StudentTImpl::expanded(IntArrayRef batch_shape) const {
  return std::make_shared<StudentTImpl>(at::expand(df, batch_shape), at::expand(loc, batch_shape),
                                        at::expand(scale, batch_shape));
}

}  // namespace torch::distributions
