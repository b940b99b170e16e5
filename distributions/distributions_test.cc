// What recordings do not cover: derivatives against difference quotients, moments of samples, formulas against
// integrals, classes of the user's own, errors.
#include "distributions/distributions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <sstream>
#include <thread>

#include "aten/core/tensor_literal.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/linalg/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/autograd.h"
#include "autograd/gradcheck/gradcheck.h"
#include "c10/core/cpu_generator.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"

namespace torch::distributions {
namespace {

using autograd::variable_list;

Tensor doubles(std::initializer_list<double> values) {
  return at::tensor(values, at::kDouble);
}
double number(const Tensor& t) {
  return t.item<double>();
}
void expect_near(const Tensor& got, const Tensor& wanted, double tolerance, const std::string& what = "") {
  ASSERT_EQ(got.sizes(), wanted.sizes()) << what;
  EXPECT_LE(number(at::max(at::abs(got - wanted)).to(at::kDouble)), tolerance) << what;
}
std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const c10::Error& error) {
    return error.what();
  }
  return "";
}

// Ways to make a distribution of double parameters.
struct Maker {
  const char* name;
  std::function<Distribution(const variable_list&)> make;
  variable_list parameters;
};

const variable_list kLocScale = {doubles({0.3, -1.2}), doubles({0.7, 1.9})};
const variable_list kTwoPositive = {doubles({0.6, 2.3}), doubles({1.4, 0.8})};
Tensor some_matrix() {
  return at::reshape(doubles({1.1, 0, 0, 0.4, 0.9, 0, -0.3, 0.5, 1.3}), {3, 3});
}
Tensor some_covariance(const Tensor& a) {
  return at::matmul(a, a.mT()) + 0.5 * at::eye(3, a.options());
}

#define MAKE(Name, ...) [](const variable_list& v) -> Distribution { return Name(__VA_ARGS__); }

const std::vector<Maker>& continuous() {
  static const std::vector<Maker> all = {
      {"Normal", MAKE(Normal, v[0], v[1]), kLocScale},
      {"Laplace", MAKE(Laplace, v[0], v[1]), kLocScale},
      {"Cauchy", MAKE(Cauchy, v[0], v[1]), kLocScale},
      {"Uniform", MAKE(Uniform, v[0], v[0] + v[1]), kLocScale},
      {"StudentT", MAKE(StudentT, v[1] + 4, v[0], v[1]), kLocScale},
      {"Exponential", MAKE(Exponential, v[0]), {kTwoPositive[0]}},
      {"Gamma", MAKE(Gamma, v[0], v[1]), kTwoPositive},
      {"Chi2", MAKE(Chi2, v[0]), {kTwoPositive[0]}},
      {"Beta", MAKE(Beta, v[0], v[1]), kTwoPositive},
      {"Dirichlet", MAKE(Dirichlet, at::stack({v[0], v[1], v[0] + v[1]}, -1)), kTwoPositive},
      {"FisherSnedecor", MAKE(FisherSnedecor, v[0] + 2, v[1] + 9), kTwoPositive},
      {"ContinuousBernoulli", MAKE(ContinuousBernoulli, {}, v[0]), {doubles({-1.4, 0.9})}},
      {"GeneralizedPareto", MAKE(GeneralizedPareto, v[0], v[1], 0.2 * v[0]), kLocScale},
      {"LogNormal", MAKE(LogNormal, v[0], 0.5 * v[1]), kLocScale},
      {"HalfNormal", MAKE(HalfNormal, v[0]), {kTwoPositive[0]}},
      {"HalfCauchy", MAKE(HalfCauchy, v[0]), {kTwoPositive[0]}},
      {"Gumbel", MAKE(Gumbel, v[0], v[1]), kLocScale},
      {"Pareto", MAKE(Pareto, v[0], v[1] + 8), kTwoPositive},
      {"Weibull", MAKE(Weibull, v[0], v[1]), kTwoPositive},
      {"Kumaraswamy", MAKE(Kumaraswamy, v[0], v[1]), kTwoPositive},
      {"InverseGamma", MAKE(InverseGamma, v[0] + 6, v[1]), kTwoPositive},
      {"LogisticNormal", MAKE(LogisticNormal, v[0], v[1]), kLocScale},
      {"RelaxedBernoulli", MAKE(RelaxedBernoulli, at::sum(v[1]), {}, v[0]), kLocScale},
      {"RelaxedOneHotCategorical", MAKE(RelaxedOneHotCategorical, at::sum(v[1]), {}, v[0]), kLocScale},
      {"MultivariateNormal",
       MAKE(MultivariateNormal, v[0], some_covariance(v[1])),
       {doubles({0.2, -1, 0.4}), some_matrix()}},
      {"MultivariateNormal of a precision",
       MAKE(MultivariateNormal, v[0], {}, some_covariance(v[1])),
       {doubles({0.2, -1, 0.4}), some_matrix()}},
      {"LowRankMultivariateNormal",
       MAKE(LowRankMultivariateNormal, v[0], v[1], at::exp(v[0])),
       {doubles({0.2, -1, 0.4}), at::narrow(some_matrix(), -1, 0, 2)}},
      {"Independent", MAKE(Independent, Normal(v[0], v[1]), 1), kLocScale},
      {"MixtureSameFamily", MAKE(MixtureSameFamily, Categorical({}, v[0]), Normal(v[0], v[1])), kLocScale},
      {"TransformedDistribution",
       MAKE(TransformedDistribution, Normal(v[0], v[1]), {TanhTransform(), AffineTransform(1.0, -2.0)}), kLocScale},
      {"Wishart", MAKE(Wishart, at::exp(v[0]) + 4, some_covariance(v[1])), {doubles({0.3, 0.9}), some_matrix()}},
      {"VonMises", MAKE(VonMises, v[0], v[1]), kLocScale},
      {"LKJCholesky", MAKE(LKJCholesky, 3, v[0]), {kTwoPositive[0]}},
  };
  return all;
}

const std::vector<Maker>& discrete() {
  static const Tensor p = doubles({0.3, 0.8});
  static const std::vector<Maker> all = {
      {"Bernoulli", MAKE(Bernoulli, v[0]), {p}},
      {"Binomial", MAKE(Binomial, 7, v[0]), {p}},
      {"Geometric", MAKE(Geometric, v[0]), {p}},
      {"NegativeBinomial", MAKE(NegativeBinomial, 2.5, v[0]), {p}},
      {"Poisson", MAKE(Poisson, 4 * v[0]), {p}},
      {"Categorical", MAKE(Categorical, at::stack({v[0], 1 - v[0]}, -1)), {p}},
      {"OneHotCategorical", MAKE(OneHotCategorical, at::stack({v[0], 1 - v[0]}, -1)), {p}},
      {"Multinomial", MAKE(Multinomial, 6, at::stack({v[0], 1 - v[0]}, -1)), {p}},
  };
  return all;
}
#undef MAKE

variable_list leaves(const variable_list& of) {
  variable_list all;
  for (const Tensor& t : of) all.push_back(t.detach().clone().requires_grad_());
  return all;
}

TEST(Distributions, LogProbHasItsDerivatives) {
  for (const std::vector<Maker>* makers : {&continuous(), &discrete()}) {
    for (const Maker& maker : *makers) {
      at::manual_seed(3);
      const Distribution one = maker.make(maker.parameters);
      Tensor value = one.sample();
      variable_list inputs = leaves(maker.parameters);
      const std::string name = maker.name;
      // By values inside a manifold no difference quotient can be taken.
      const bool free = makers == &continuous() && name != "Wishart" && name != "LKJCholesky" && name != "Dirichlet" &&
                        name != "LogisticNormal" && name != "RelaxedOneHotCategorical";
      if (free) inputs.push_back(value.requires_grad_());
      const auto result = autograd::gradcheck(
          [&](const variable_list& v) -> variable_list { return {maker.make(v).log_prob(free ? v.back() : value)}; },
          inputs);
      EXPECT_TRUE(result) << name << ": " << result.message;
    }
  }
}

TEST(Distributions, EntropyHasItsDerivatives) {
  for (const Maker& maker : continuous()) {
    Tensor entropy;
    try {
      entropy = maker.make(maker.parameters).entropy();
    } catch (const c10::NotImplementedError&) {
      continue;
    }
    const auto result = autograd::gradcheck(
        [&](const variable_list& v) -> variable_list { return {maker.make(v).entropy()}; }, leaves(maker.parameters));
    EXPECT_TRUE(result) << maker.name << ": " << result.message;
  }
}

// Those whose samples are smooth functions of fixed noise: the same seed gives the same noise.
TEST(Distributions, SamplesHaveTheirDerivatives) {
  int checked = 0;
  for (const Maker& maker : continuous()) {
    const Distribution one = maker.make(maker.parameters);
    const std::string name = maker.name;
    const bool implicit = one.is<Gamma>() || one.is<Beta>() || one.is<Dirichlet>() || one.is<InverseGamma>() ||
                          name == "FisherSnedecor" || name == "StudentT" || name == "Wishart";
    if (!one.has_rsample() || implicit) continue;
    const auto result = autograd::gradcheck(
        [&](const variable_list& v) -> variable_list {
          at::manual_seed(11);
          return {maker.make(v).rsample({2})};
        },
        leaves(maker.parameters));
    EXPECT_TRUE(result) << name << ": " << result.message;
    ++checked;
  }
  EXPECT_GE(checked, 20);
}

// Those of matrices, in the matrix: their noise does not depend on it.
TEST(Distributions, MatrixSamplesHaveTheirDerivatives) {
  const auto result = autograd::gradcheck(
      [](const variable_list& v) -> variable_list {
        at::manual_seed(12);
        return {Wishart(5.5, some_covariance(v[0])).rsample({2})};
      },
      leaves({some_matrix()}));
  EXPECT_TRUE(result) << result.message;
}

// dx/da = -(dF/da) / p(x) of the distribution function F: what a sample must do so that its rank stays.
TEST(Distributions, GammaSamplesKeepTheirRank) {
  const Tensor concentration = doubles({0.3, 0.9, 2.5, 12, 700}).requires_grad_();
  at::manual_seed(5);
  const Tensor x = Gamma(concentration, 1.0).rsample();
  const Tensor slope = autograd::grad({at::sum(x)}, {concentration})[0];
  const double step = 1e-4;
  c10::NoGradGuard no_grad;
  const Gamma above(concentration + step, 1.0), below(concentration - step, 1.0), at_it(concentration, 1.0);
  const Tensor wanted = -(above.cdf(x) - below.cdf(x)) / (2 * step) / at::exp(at_it.log_prob(x));
  expect_near(slope / wanted, at::ones_like(wanted), 1e-5);
}

TEST(Distributions, BetaSamplesKeepTheirRank) {
  // F(x) = x^a of Beta(a, 1)
  const Tensor a = doubles({0.4, 1, 3.5}).requires_grad_();
  at::manual_seed(6);
  const Tensor x = Beta(a, 1.0).rsample({4});
  const Tensor slope = autograd::grad({at::sum(x)}, {a})[0];
  c10::NoGradGuard no_grad;
  expect_near(slope, at::sum(-x * at::log(x) / a, {0}), 1e-9);
}

// E[f(x)] has the derivative of the integral: through the scale mixture of StudentT and FisherSnedecor too.
TEST(Distributions, ImplicitSamplesMoveTheMean) {
  const Tensor df = at::full({20000}, 7.0, at::kDouble).requires_grad_();
  at::manual_seed(1);
  const Tensor t = StudentT(df, 0.0, 1.0).rsample();
  // Var = df / (df - 2), with the derivative -2 / (df - 2)^2
  EXPECT_NEAR(number(at::sum(autograd::grad({at::mean(at::pow(t, 2))}, {df})[0])), -2.0 / 25, 0.03);
  const Tensor f = FisherSnedecor(5.0 * at::ones_like(df), df).rsample();
  // Mean = df2 / (df2 - 2)
  EXPECT_NEAR(number(at::sum(autograd::grad({at::mean(f)}, {df})[0])), -2.0 / 25, 0.03);
}

TEST(Distributions, SamplesHaveTheirMoments) {
  constexpr int64_t kSamples = 40000;
  int checked = 0;
  for (const std::vector<Maker>* makers : {&continuous(), &discrete()}) {
    for (const Maker& maker : *makers) {
      c10::NoGradGuard no_grad;
      const Distribution one = maker.make(maker.parameters);
      const std::string name = maker.name;
      if (name == "Cauchy" || name == "HalfCauchy" || name == "Categorical" || name == "VonMises") continue;
      Tensor mean, variance;
      try {
        mean = one.mean();
        variance = one.variance();
      } catch (const c10::NotImplementedError&) {
        continue;
      }
      at::manual_seed(7);
      const int64_t n = name == "Wishart" ? 4000 : kSamples;
      const Tensor x = one.sample({n}).to(at::kDouble);
      const Tensor spread = at::sqrt(variance / static_cast<double>(n));
      EXPECT_LE(number(at::max(at::abs(at::mean(x, {0}) - mean) / spread)), 5) << name;
      const Tensor ratio = at::mean(at::pow(x - mean, 2), {0}) / variance;
      EXPECT_LE(number(at::max(at::abs(ratio - 1))), 0.2) << name;
      EXPECT_TRUE(at::all(one.support().check(x)).item<bool>()) << name;
      ++checked;
    }
  }
  EXPECT_GE(checked, 30);
  // The circular mean and variance of angles.
  at::manual_seed(8);
  const VonMises angles(0.5, 2.0);
  const Tensor x = angles.sample({20000}).to(at::kDouble);
  const Tensor s = at::mean(at::sin(x)), c = at::mean(at::cos(x));
  EXPECT_NEAR(number(at::atan2(s, c)), 0.5, 0.03);
  EXPECT_NEAR(1 - std::hypot(number(s), number(c)), number(angles.variance().to(at::kDouble)), 0.02);
}

// Densities integrate to 1, -E[log p] is the entropy, the slope of the distribution function is the density, and its
// inverse its inverse.
TEST(Distributions, DensitiesFitTheirFunctions) {
  for (const Maker& maker : continuous()) {
    const Distribution one = maker.make(maker.parameters);
    if (!one.event_shape().empty() || one.batch_shape().empty()) continue;
    const Tensor u = at::reshape(doubles({0.05, 0.3, 0.6, 0.97}), {4, 1});
    Tensor x;
    try {
      x = one.icdf(u).detach();
    } catch (const c10::NotImplementedError&) {
      continue;
    }
    x.requires_grad_();
    const Tensor p = one.cdf(x);
    expect_near(p.detach(), at::expand(u, {4, 2}), 1e-6, maker.name);
    const Tensor slope = autograd::grad({at::sum(p)}, {x})[0];
    const Tensor density = at::exp(one.log_prob(x)).detach();
    expect_near(slope / density, at::ones_like(slope), 1e-6, maker.name);
  }
  for (const Maker& maker : continuous()) {
    c10::NoGradGuard no_grad;
    const Distribution one = maker.make(maker.parameters);
    try {
      const Tensor entropy = one.entropy();
      at::manual_seed(2);
      const int64_t n = std::string(maker.name) == "Wishart" ? 2000 : 20000;
      const Tensor estimate = -at::mean(one.log_prob(one.sample({n})), {0});
      expect_near(entropy, estimate, 0.12, maker.name);
    } catch (const c10::NotImplementedError&) {
    }
  }
}

TEST(Distributions, MassesSumToOne) {
  for (const Maker& maker : discrete()) {
    c10::NoGradGuard no_grad;
    const Distribution one = maker.make(maker.parameters);
    Tensor values;
    if (one.has_enumerate_support()) {
      values = one.enumerate_support();
      EXPECT_TRUE(at::all(one.support().check(values)).item<bool>()) << maker.name;
    } else if (one.event_shape().empty()) {
      values = at::expand(at::reshape(at::arange(200, at::kDouble), {200, 1}), {200, 2});
    } else {
      continue;
    }
    expect_near(at::sum(at::exp(one.log_prob(values)), {0}), at::ones({2}, at::kDouble), 1e-9, maker.name);
  }
  // Counts of three categories.
  const Multinomial counts(3, doubles({0.2, 0.5, 0.3}));
  double sum = 0, entropy = 0;
  for (int i = 0; i <= 3; ++i) {
    for (int j = 0; i + j <= 3; ++j) {
      const double log_p = number(counts.log_prob(doubles({double(i), double(j), double(3 - i - j)})));
      sum += std::exp(log_p);
      entropy -= std::exp(log_p) * log_p;
    }
  }
  EXPECT_NEAR(sum, 1, 1e-12);
  EXPECT_NEAR(number(counts.entropy()), entropy, 1e-9);
}

TEST(Distributions, AnExpandedOneIsTheSame) {
  for (const std::vector<Maker>* makers : {&continuous(), &discrete()}) {
    for (const Maker& maker : *makers) {
      c10::NoGradGuard no_grad;
      const Distribution one = maker.make(maker.parameters);
      std::vector<int64_t> shape = one.batch_shape();
      shape.insert(shape.begin(), 3);
      const Distribution wide = one.expand(shape);
      EXPECT_EQ(wide.batch_shape(), shape) << maker.name;
      EXPECT_EQ(wide.event_shape(), one.event_shape()) << maker.name;
      EXPECT_EQ(&wide.impl().kind(), &one.impl().kind()) << maker.name;
      at::manual_seed(4);
      const Tensor x = wide.sample({2});
      expect_near(wide.log_prob(x), one.log_prob(x), 1e-12, maker.name);
    }
  }
}

TEST(Distributions, BadArgumentsAreNamed) {
  EXPECT_THROW(Normal(0.0, -1.0), c10::ValueError);
  const std::string text = message_of([] { Normal(doubles({0, 0}), doubles({1, -1})); });
  for (const char* part : {"Normal(loc: torch.Size([2])", "parameter scale", "GreaterThan(lower_bound=0.0)", "-1."})
    EXPECT_NE(text.find(part), std::string::npos) << text;
  const Normal normal(doubles({0, 0, 0}), 1.0);
  EXPECT_NE(message_of([&] { normal.log_prob(doubles({0, NAN, 0})); }).find("support Real()"), std::string::npos);
  EXPECT_THROW(normal.log_prob(doubles({0, 0})), c10::ValueError);
  EXPECT_THROW(Dirichlet(at::ones({2, 3})).log_prob(at::full({4}, 0.25)), c10::ValueError);
  EXPECT_THROW(Dirichlet(at::ones({3})).log_prob(at::full({3}, 0.25)), c10::ValueError);
  EXPECT_THROW(Normal(at::zeros({3}), at::ones({2})), c10::Error);
  EXPECT_THROW(Bernoulli({}, {}), c10::ValueError);
  EXPECT_THROW(Bernoulli(0.5, 0.0), c10::ValueError);
  EXPECT_THROW(ContinuousBernoulli(2.0), c10::ValueError);
  EXPECT_THROW(Geometric(0.0), c10::ValueError);
  EXPECT_THROW(Categorical(at::scalar_tensor(0.5)), c10::ValueError);
  EXPECT_THROW(MultivariateNormal(at::zeros({2})), c10::ValueError);
  EXPECT_THROW(MultivariateNormal(at::zeros({2}), at::eye(2), at::eye(2)), c10::ValueError);
  EXPECT_THROW(MultivariateNormal(at::zeros({2}), -at::eye(2)), c10::ValueError);
  EXPECT_THROW(MultivariateNormal(at::zeros({2}), -at::eye(2), {}, {}, false), c10::LinAlgError);
  EXPECT_THROW(LowRankMultivariateNormal(at::zeros({3}), at::ones({2, 1}), at::ones({3})), c10::ValueError);
  EXPECT_THROW(Wishart(0.5, at::eye(2)), c10::ValueError);
  EXPECT_THROW(LKJCholesky(1), c10::ValueError);
  EXPECT_THROW(Independent(Normal(0.0, 1.0), 1), c10::ValueError);
  EXPECT_THROW(TransformedDistribution(Normal(0.0, 1.0), {StickBreakingTransform()}), c10::ValueError);
  EXPECT_THROW(MixtureSameFamily(Categorical(at::ones({3})), Normal(at::zeros({2}), 1.0)), c10::ValueError);
  EXPECT_THROW(MixtureSameFamily(Categorical(at::ones({3})), Normal(0.0, 1.0)), c10::ValueError);
  EXPECT_THROW(Multinomial(-1, at::ones({2})), c10::ValueError);
  EXPECT_THROW(normal.expand({2}), c10::Error);
  EXPECT_THROW(Bernoulli(0.3).rsample(), c10::NotImplementedError);
  EXPECT_THROW(normal.enumerate_support(), c10::NotImplementedError);
  EXPECT_THROW(normal.expand({2, 3}).as<Laplace>(), c10::TypeError);
  EXPECT_THROW(Distribution().sample(), c10::Error);
  EXPECT_THROW(Normal()->mean(), c10::Error);
  EXPECT_THROW(Transform()(at::ones({1})), c10::Error);
  EXPECT_THROW(Constraint().check(at::ones({1})), c10::Error);
  EXPECT_THROW(constraints::dependent().check(at::ones({1})), c10::ValueError);
  EXPECT_THROW(biject_to(constraints::boolean()), c10::NotImplementedError);
}

TEST(Distributions, ValidationCanBeSwitchedOff) {
  const Normal quiet(0.0, -1.0, /*validate_args=*/false);
  EXPECT_TRUE(std::isnan(quiet.log_prob(at::scalar_tensor(NAN)).item<float>()));
  Distribution::set_default_validate_args(false);
  const Normal by_default(0.0, -1.0);
  EXPECT_THROW(Normal(0.0, -1.0, true), c10::ValueError);
  Distribution::set_default_validate_args(true);
  EXPECT_THROW(Normal(0.0, -1.0), c10::ValueError);
  EXPECT_FALSE(by_default.expand({2})->validates_args());
}

TEST(Distributions, NumbersTakeTheTensorsDtype) {
  EXPECT_EQ(Normal(0.0, 1.0).sample().scalar_type(), at::kFloat);
  EXPECT_EQ(Normal(0, doubles({1})).sample().scalar_type(), at::kDouble);
  EXPECT_EQ(Normal(0.3, 2).repr(), "Normal(loc: 0.30000001192092896, scale: 2.0)");
  EXPECT_EQ(Categorical(at::ones({2})).sample({3}).scalar_type(), at::kLong);
  EXPECT_EQ(Binomial(3, doubles({0.5})).sample().scalar_type(), at::kDouble);
}

// --- divergences ---

// Those of samples of p, where q allows all of them.
TEST(Kl, AgreesWithSamples) {
  const std::vector<std::pair<Distribution, Distribution>> pairs = {
      {Normal(0.3, 0.7), Normal(-0.2, 1.1)},
      {Normal(0.3, 0.7), Laplace(0.1, 0.8)},
      {Normal(0.3, 0.7), Gumbel(0.1, 0.9)},
      {Laplace(0.3, 0.7), Laplace(-0.2, 1.1)},
      {Laplace(0.3, 0.7), Normal(-0.2, 1.1)},
      {Gumbel(0.3, 0.7), Gumbel(-0.2, 1.1)},
      {Gumbel(0.3, 0.7), Normal(-0.2, 1.4)},
      {Cauchy(0.3, 0.7), Cauchy(-0.2, 1.1)},
      {Gamma(2.0, 1.5), Gamma(1.2, 0.8)},
      {Gamma(2.0, 1.5), Exponential(0.8)},
      {Gamma(2.0, 1.5), Normal(1.0, 1.2)},
      {Gamma(2.0, 1.5), Gumbel(1.0, 1.2)},
      {Chi2(3.0), Chi2(5.0)},
      {Exponential(1.5), Exponential(0.8)},
      {Exponential(1.5), Gamma(1.2, 0.8)},
      {Exponential(1.5), Gumbel(0.5, 0.8)},
      {Exponential(1.5), Normal(0.5, 0.8)},
      {Beta(2.0, 3.0), Beta(1.5, 1.2)},
      {Beta(2.0, 3.0), ContinuousBernoulli(0.3)},
      {Beta(2.0, 3.0), Exponential(1.5)},
      {Beta(2.0, 3.0), Gamma(1.5, 2.0)},
      {Beta(2.0, 3.0), Normal(0.4, 0.3)},
      {Beta(2.0, 3.0), Uniform(-0.5, 1.5)},
      {ContinuousBernoulli(0.2), ContinuousBernoulli(0.6)},
      {ContinuousBernoulli(0.2), Exponential(1.5)},
      {ContinuousBernoulli(0.2), Normal(0.4, 0.5)},
      {ContinuousBernoulli(0.2), Uniform(-0.5, 1.5)},
      {Pareto(1.5, 4.0), Pareto(1.2, 3.0)},
      {Pareto(1.5, 6.0), Exponential(0.8)},
      {Pareto(1.5, 6.0), Gamma(2.0, 0.8)},
      {Pareto(1.5, 8.0), Normal(1.6, 0.8)},
      {Uniform(0.2, 0.8), Beta(1.5, 1.2)},
      {Uniform(0.2, 0.8), ContinuousBernoulli(0.3)},
      {Uniform(0.2, 0.8), Exponential(1.5)},
      {Uniform(0.2, 0.8), Gamma(1.5, 2.0)},
      {Uniform(0.2, 0.8), Gumbel(0.3, 0.5)},
      {Uniform(0.2, 0.8), Normal(0.3, 0.5)},
      {Uniform(0.2, 0.8), Pareto(0.1, 1.5)},
      {Uniform(0.2, 0.8), Uniform(0.0, 1.0)},
      {Bernoulli(0.3), Bernoulli(0.6)},
      {Bernoulli(0.3), Poisson(0.6)},
      {Poisson(3.0), Poisson(2.2)},
      {Binomial(5, 0.3), Binomial(5, 0.5)},
      {Geometric(0.3), Geometric(0.5)},
      {HalfNormal(1.0), HalfNormal(1.5)},
      {LogNormal(0.3, 0.7), LogNormal(-0.2, 1.1)},
      {Dirichlet(at::tensor({1.5, 2.0, 3.0})), Dirichlet(at::tensor({1.0, 2.5, 1.2}))},
      {Categorical(at::tensor({0.2, 0.5, 0.3})), Categorical(at::tensor({0.4, 0.3, 0.3}))},
      {OneHotCategorical(at::tensor({0.2, 0.5, 0.3})), OneHotCategorical(at::tensor({0.4, 0.3, 0.3}))},
      {Independent(Normal(at::zeros({2}), 1.0), 1), Independent(Normal(at::ones({2}), 1.5), 1)},
      {MultivariateNormal(at::zeros({2}), at::eye(2)), MultivariateNormal(at::ones({2}), 2 * at::eye(2))},
      {MultivariateNormal(at::zeros({2}), at::eye(2)),
       LowRankMultivariateNormal(at::ones({2}), at::ones({2, 1}), at::ones({2}))},
      {LowRankMultivariateNormal(at::ones({2}), at::ones({2, 1}), at::ones({2})),
       MultivariateNormal(at::zeros({2}), 2 * at::eye(2))},
      {LowRankMultivariateNormal(at::ones({2}), at::ones({2, 1}), at::ones({2})),
       LowRankMultivariateNormal(at::zeros({2}), -at::ones({2, 2}), 0.5 * at::ones({2}))},
      {Wishart(5.0, at::eye(2)), Wishart(6.0, 1.3 * at::eye(2))},
  };
  c10::NoGradGuard no_grad;
  for (const auto& [p, q] : pairs) {
    const std::string name = p.repr() + " and " + q.repr();
    at::manual_seed(9);
    const Tensor x = p.sample({p.is<Wishart>() ? 3000 : 20000});
    const Tensor terms = (p.log_prob(x) - q.log_prob(x)).to(at::kDouble);
    const double spread = number(at::std(terms)) / std::sqrt(static_cast<double>(x.size(0)));
    EXPECT_NEAR(kl_divergence(p, q).item<double>(), number(at::mean(terms)), 5 * spread + 1e-5) << name;
  }
}

TEST(Kl, InfiniteWhereValuesAreMissing) {
  EXPECT_EQ(kl_divergence(Normal(0.0, 1.0), Exponential(1.0)).item<float>(), INFINITY);
  EXPECT_EQ(kl_divergence(Uniform(0.0, 2.0), Uniform(0.0, 1.0)).item<float>(), INFINITY);
  EXPECT_EQ(kl_divergence(Poisson(1.0), Binomial(3, 0.5)).item<float>(), INFINITY);
  // A batch against one: the sizes that they broadcast to.
  EXPECT_EQ(kl_divergence(Normal(at::zeros({1}), 1.0), Pareto(at::ones({3}), 1.0)).sizes(), at::IntArrayRef({3}));
  EXPECT_EQ(kl_divergence(Bernoulli(0.0), Bernoulli(0.0)).item<float>(), 0);
  EXPECT_THROW(kl_divergence(Normal(0.0, 1.0), Cauchy(0.0, 1.0)), c10::NotImplementedError);
  EXPECT_THROW(
      kl_divergence(MultivariateNormal(at::zeros({2}), at::eye(2)), MultivariateNormal(at::zeros({3}), at::eye(3))),
      c10::ValueError);
}

// A distribution of a program's own: an exponential one by its natural parameter.
struct DecayImpl final : ExponentialFamilyImpl {
  explicit DecayImpl(const Tensor& rate) : ExponentialFamilyImpl(rate.sizes().vec(), {}), rate(rate) {}
  static constexpr Kind kKind{"Decay", &ExponentialFamilyImpl::kKind};
  const Kind& kind() const override { return kKind; }
  std::vector<ParameterInfo> parameters() const override { return {{"rate", constraints::positive(), rate}}; }
  Constraint support() const override { return constraints::nonnegative(); }
  Tensor entropy() const override { return entropy_by_normalizer(); }
  std::vector<Tensor> natural_params() const override { return {-rate}; }
  Tensor log_normalizer(const std::vector<Tensor>& t) const override { return -at::log(-t[0]); }
  double mean_carrier_measure() const override { return 0; }
  const Tensor rate;
};
struct Decay : Holder<DecayImpl> {
  Decay() = default;
  explicit Decay(const Tensor& rate, ValidateArgs validate_args = {}) {
    hold(detail::make<DecayImpl>(validate_args, rate));
  }
};

TEST(Kl, ClassesOfTheUsersOwn) {
  const Tensor a = doubles({0.7}).requires_grad_(), b = doubles({1.9});
  const Exponential known(a), other(b);
  const Tensor divergence = kl_divergence(Decay(a), Decay(b)), wanted = kl_divergence(known, other);
  expect_near(divergence, wanted, 1e-12);
  expect_near(autograd::grad({divergence}, {a})[0], autograd::grad({wanted}, {a})[0], 1e-12);
  expect_near(Decay(a).entropy(), known.entropy(), 1e-12);
  EXPECT_THROW(Decay(-b), c10::ValueError);
  EXPECT_THROW(kl_divergence(Decay(a), known), c10::NotImplementedError);
  register_kl<Decay, Exponential>(
      [](const Decay& p, const Exponential& q) { return kl_divergence(Exponential(p->rate), q); });
  expect_near(kl_divergence(Decay(a), other), wanted, 1e-12);
}

// Types that say which formula give what the classes of the running program give, whatever a program registered.
TEST(Kl, StaticTypesChooseAsClassesDo) {
  const Uniform p(0.0, 1.0);
  const Pareto q(2.0, 1.0);
  EXPECT_EQ(kl_divergence(p, q).item<float>(), INFINITY);
  register_kl<Uniform, Pareto>([](const Uniform&, const Pareto&) { return at::full({}, 3.0); });
  EXPECT_EQ(kl_divergence(p, q).item<float>(), 3);
  EXPECT_EQ(kl_divergence(static_cast<const Distribution&>(p), q).item<float>(), 3);
  EXPECT_THROW(kl_divergence(Normal(), Normal(0.0, 1.0)), c10::Error);
  const Chi2 chi2(2.0);
  expect_near(kl_divergence(chi2.as<Gamma>(), Gamma(1.5, 0.7)), kl_divergence(chi2, Gamma(1.5, 0.7)), 0);
}

// Against PyTorch 2.15.
TEST(Distributions, EdgesOfParametersAndDtypes) {
  EXPECT_EQ(number(Geometric(1.0).log_prob(at::zeros({}))), 0);
  EXPECT_EQ(number(Geometric(1.0).log_prob(at::ones({}))), -INFINITY);
  const Chi2 chi2(at::ones({}, at::kLong));
  EXPECT_EQ(number(chi2.mean()), 1);
  EXPECT_EQ(chi2.log_prob(at::ones({})).scalar_type(), at::kFloat);
  EXPECT_NEAR(number(chi2.log_prob(at::ones({}))), -1.4189385, 1e-6);
  EXPECT_TRUE(std::isnan(number(Kumaraswamy(at::ones({}, at::kLong), 2).mode())));
  // A cdf without a derivative by the concentration throws in backward.
  const Tensor below = Gamma(at::ones({}).requires_grad_(), 1.0).cdf(at::ones({}));
  EXPECT_NEAR(number(below.detach()), 1 - std::exp(-1.0), 1e-6);
  EXPECT_THROW(below.backward(), c10::NotImplementedError);
  // Values come in the dtype of the parameters.
  EXPECT_EQ(Gamma(1.0, 1.0).log_prob(at::ones({}, at::kDouble)).scalar_type(), at::kFloat);
  EXPECT_EQ(HalfCauchy(1.0).log_prob(at::ones({}, at::kDouble)).scalar_type(), at::kFloat);
}

TEST(Kl, EntropyFollowsFromTheNormalizer) {
  const Normal normal(kLocScale[0], kLocScale[1]);
  const Gamma gamma(kTwoPositive[0], kTwoPositive[1]);
  const Exponential exponential(kTwoPositive[0]);
  expect_near(normal->entropy_by_normalizer(), normal.entropy(), 1e-9);
  expect_near(gamma->entropy_by_normalizer(), gamma.entropy(), 1e-9);
  expect_near(exponential->entropy_by_normalizer(), exponential.entropy(), 1e-9);
  const ContinuousBernoulli bernoulli(doubles({0.2, 0.6}));
  expect_near(bernoulli->entropy_by_normalizer(), bernoulli.entropy(), 1e-9);
}

// --- transforms ---

TEST(Transforms, DeterminantsAreThoseOfTheJacobian) {
  const Tensor x = doubles({0.4, -0.7, 1.1});
  struct Case {
    Transform transform;
    bool drops_last;  // of y, which follows from the others
  };
  for (const Case& one :
       {Case{StickBreakingTransform(), true}, Case{IndependentTransform(TanhTransform(), 1), false},
        Case{AffineTransform(1.0, doubles({2, -3, 0.5}), 1), false},
        Case{ComposeTransform({IndependentTransform(SoftplusTransform(), 1), StickBreakingTransform()}), true}}) {
    const auto free_part = [&](const Tensor& v) {
      const Tensor y = one.transform(v);
      return one.drops_last ? at::narrow(y, -1, 0, y.size(-1) - 1) : y;
    };
    Tensor leaf = x.clone().requires_grad_();
    const Tensor y = free_part(leaf);
    std::vector<Tensor> rows;
    for (int64_t i = 0; i < y.size(0); ++i) rows.push_back(autograd::grad({at::select(y, 0, i)}, {leaf}, {}, true)[0]);
    const Tensor wanted = std::get<1>(at::linalg_slogdet(at::stack(rows)));
    expect_near(one.transform.log_abs_det_jacobian(x, one.transform(x)), wanted, 1e-9, one.transform.repr());
    expect_near(one.transform.inv()(one.transform(x)), x, 1e-9, one.transform.repr());
  }
  // Of a correlation's Cholesky factor the elements below the diagonal are free.
  Tensor leaf = x.clone().requires_grad_();
  const CorrCholeskyTransform corr;
  const Tensor factor = corr(leaf);
  std::vector<Tensor> rows;
  for (const auto& [i, j] : {std::pair(1, 0), std::pair(2, 0), std::pair(2, 1)})
    rows.push_back(autograd::grad({at::select(at::select(factor, 0, i), 0, j)}, {leaf}, {}, true)[0]);
  expect_near(corr.log_abs_det_jacobian(x, factor.detach()), std::get<1>(at::linalg_slogdet(at::stack(rows))), 1e-9);
}

TEST(Transforms, KeepTheLastPair) {
  const Tensor x = doubles({0.4});
  const Transform cached = ExpTransform(1), plain = ExpTransform();
  EXPECT_TRUE(cached.inv()(cached(x)).is_same(x));
  EXPECT_FALSE(plain.inv()(plain(x)).is_same(x));
  EXPECT_TRUE(plain.with_cache().inv()(plain(x)).defined());
  const Transform composed = ComposeTransform({ExpTransform(), AffineTransform(0, 2)}, 1);
  EXPECT_TRUE(composed.inv().inv()(x).is_same(composed.inv().inv()(x)));
  EXPECT_THROW(ExpTransform(2), c10::ValueError);
  EXPECT_TRUE(ExpTransform() == ExpTransform() && AffineTransform(0, 1) == AffineTransform(0.0, at::ones({2})));
  EXPECT_FALSE(AffineTransform(0, 1) == AffineTransform(0, 2));
  EXPECT_TRUE(plain.inv().inv() == plain);
  EXPECT_EQ(plain.inv().repr(), "_InverseTransform(ExpTransform())");
}

TEST(Transforms, Shapes) {
  const std::vector<int64_t> matrix = {4, 3, 3}, vector = {4, 3};
  EXPECT_EQ(CorrCholeskyTransform().forward_shape(vector), matrix);
  EXPECT_EQ(CorrCholeskyTransform().inverse_shape(matrix), vector);
  EXPECT_THROW(CorrCholeskyTransform().forward_shape({5}), c10::ValueError);
  EXPECT_THROW(StickBreakingTransform().forward_shape({}), c10::ValueError);
  EXPECT_THROW(ReshapeTransform({2, 3}, {5}), c10::ValueError);
  EXPECT_THROW(ReshapeTransform({2, 3}, {6}).forward_shape({3, 3}), c10::ValueError);
  EXPECT_THROW(CatTransform({ExpTransform()}, 0, {2})(at::ones({3})), c10::ValueError);
  const TransformedDistribution logistic(Uniform(at::zeros({2}), 1.0),
                                         {SigmoidTransform().inv(), AffineTransform(0.5, 2.0)});
  expect_near(logistic.cdf(at::tensor({0.5, 0.5})), at::full({2}, 0.5), 1e-6);
}

// A base that is smaller than what a transform makes of it is drawn as often as there are results.
TEST(Transforms, WidenTheBase) {
  const TransformedDistribution moved(Normal(0.0, 1.0), {AffineTransform(doubles({0, 10, 20}).to(at::kFloat), 2.0)});
  EXPECT_EQ(moved.batch_shape(), std::vector<int64_t>({3}));
  EXPECT_EQ(moved->base_dist.batch_shape(), std::vector<int64_t>({3}));
  at::manual_seed(1);
  const Tensor x = moved.sample({5});
  EXPECT_EQ(x.sizes(), at::IntArrayRef({5, 3}));
  const Tensor noise = moved->transforms[0].inv()(x);
  EXPECT_FALSE(at::any(at::eq(at::select(noise, 1, 0), at::select(noise, 1, 1))).item<bool>());
  const Normal same(doubles({0, 10, 20}).to(at::kFloat), 2.0);
  expect_near(moved.log_prob(x), same.log_prob(x), 1e-5);
  // Batch dimensions that belong together in a transform's event belong to the distribution's.
  const TransformedDistribution simplex(Normal(at::zeros({4, 2}), 1.0), {StickBreakingTransform()});
  EXPECT_EQ(simplex.batch_shape(), std::vector<int64_t>({4}));
  EXPECT_EQ(simplex.event_shape(), std::vector<int64_t>({3}));
  EXPECT_EQ(simplex.log_prob(simplex.sample({7})).sizes(), at::IntArrayRef({7, 4}));
  EXPECT_EQ(simplex.support().repr(), "Simplex()");
  std::ostringstream text;
  text << simplex;
  EXPECT_EQ(text.str(), "TransformedDistribution()");
}

struct Above final : ConstraintImpl {
  Tensor check(const Tensor& value) const override { return at::gt(value, 10); }
  std::string repr() const override { return "Above()"; }
};

TEST(ConstraintRegistry, TakesConstraintsOfTheUsersOwn) {
  const Constraint above(std::make_shared<Above>());
  EXPECT_THROW(biject_to(above), c10::NotImplementedError);
  biject_to.register_constraint<Above>([](const Above&) {
    return ComposeTransform({ExpTransform(), AffineTransform(10, 1)});
  });
  EXPECT_TRUE(at::all(above.check(biject_to(above)(doubles({-3, 0, 2})))).item<bool>());
  EXPECT_THROW(transform_to(above), c10::NotImplementedError);
  // Bounds that are tensors.
  const Uniform uniform(doubles({1, 2}), doubles({4, 3}));
  expect_near(transform_to(uniform.support())(doubles({0, 0})), doubles({2.5, 2.5}), 1e-9);
}

// The examples of docs/distributions.md.
TEST(Page, Examples) {
  Normal normal(torch::zeros({3}), 1.0);
  torch::Tensor x = normal.sample({100});
  torch::Tensor y = normal.rsample();
  torch::Tensor density = normal.log_prob(y);
  torch::Tensor width = normal->scale;
  EXPECT_EQ(x.sizes(), at::IntArrayRef({100, 3}));
  EXPECT_EQ(density.sizes(), width.sizes());

  EXPECT_THROW(Normal(0.0, -1.0), c10::ValueError);
  Normal quiet(0.0, -1.0, /*validate_args=*/false);

  TransformedDistribution logistic(Uniform(0.0, 1.0), {SigmoidTransform().inv(), AffineTransform(2.0, 0.5)});
  torch::Tensor scale = transform_to(constraints::positive())(torch::randn({3}));
  torch::Tensor nats = kl_divergence(Normal(0.0, 1.0), Normal(1.0, scale));
  EXPECT_EQ(nats.sizes(), scale.sizes());
  EXPECT_NEAR(logistic.cdf(at::scalar_tensor(2.0)).item<float>(), 0.5, 1e-6);
}

// What is computed when it is asked for is computed once, whoever asks.
TEST(Distributions, AskedFromSeveralThreads) {
  const MultivariateNormal normal(at::zeros({3}, at::kDouble), some_covariance(some_matrix()));
  std::vector<Tensor> found(8);
  std::vector<std::thread> threads;
  for (Tensor& one : found) threads.emplace_back([&] { one = normal->precision_matrix(); });
  for (std::thread& thread : threads) thread.join();
  for (const Tensor& one : found) EXPECT_TRUE(one.is_same(found[0]));
  expect_near(at::matmul(found[0], normal->covariance_matrix()), at::eye(3, at::kDouble), 1e-9);
  EXPECT_NE(normal.repr().find("precision_matrix"), std::string::npos);
}

}  // namespace
}  // namespace torch::distributions
