#include "tests/recorded/distribution_values.h"

#include <functional>
#include <map>
#include <stdexcept>

#include "aten/ops/copy/ops.h"
#include "distributions/distributions.h"

namespace recorded {

namespace d = torch::distributions;
using at::Tensor;
using d::Distribution;
using d::TensorOrNumber;
using d::Transform;

namespace {

// A list of numbers, or of such lists.
void numbers_of(const Json& list, std::vector<float>& all, std::vector<int64_t>& sizes, size_t depth = 0) {
  if (!list.is_array()) return all.push_back(static_cast<float>(conformance::number(list)));
  if (sizes.size() <= depth) sizes.push_back(static_cast<int64_t>(list.size()));
  for (const Json& one : list) numbers_of(one, all, sizes, depth + 1);
}
Tensor literal(const Json& list) {
  std::vector<float> all;
  std::vector<int64_t> sizes;
  numbers_of(list, all, sizes);
  Tensor values = at::empty(sizes, at::kFloat);
  std::copy(all.begin(), all.end(), values.data_ptr<float>());
  return values;
}

}  // namespace

TensorOrNumber DistributionValues::value(const Json& config, const char* key) {
  if (!has(config, key)) return {};
  const Json& v = config.at(key);
  if (conformance::is_tensor(v)) {
    Tensor t = recordings_.tensor(v);
    if (!t.is_floating_point()) return t;
    t.requires_grad_();
    parameters_.push_back(t);
    return t;
  }
  if (v.is_array() || as_tensors_) return literal(v);
  if (v.is_number_integer()) return v.get<int64_t>();
  return conformance::number(v);
}

Tensor DistributionValues::tensor(const Json& config, const char* key) {
  const TensorOrNumber one = value(config, key);
  if (one.is_number()) throw std::runtime_error(std::string(key) + " is a number, not a tensor");
  return one.tensor();
}

std::vector<Transform> DistributionValues::transforms(const Json& list) {
  std::vector<Transform> all;
  for (const Json& one : list) all.push_back(transform(one));
  return all;
}

Distribution DistributionValues::distribution(const Json& spec) {
  return distribution(read(spec, "distribution").get<std::string>(), read(spec, "config"));
}

Distribution DistributionValues::distribution(const std::string& name, const Json& config) {
  const Distribution made_of = made(name, config);
  check_all_read(config, "config of " + name,
                 {"base_distribution", "mixture_distribution", "component_distribution", "transforms"});
  return made_of;
}

// One argument after another, so that parameters come in the order of PyTorch's arguments.
Distribution DistributionValues::made(const std::string& name, const Json& c) {
  const auto two = [&](const char* first, const char* second, auto make) -> Distribution {
    const TensorOrNumber a = value(c, first);
    const TensorOrNumber b = value(c, second);
    return make(a, b);
  };
  const auto categories = [&](auto make) -> Distribution {
    const Tensor probs = tensor(c, "probs");
    return make(probs, tensor(c, "logits"));
  };
  const auto outcomes = [&](auto make) { return two("probs", "logits", make); };
#define MAKES(Name) [&](const auto& a, const auto& b) { return d::Name(a, b); }
  static const Json none;
  if (name == "Normal") return two("loc", "scale", MAKES(Normal));
  if (name == "Laplace") return two("loc", "scale", MAKES(Laplace));
  if (name == "Cauchy") return two("loc", "scale", MAKES(Cauchy));
  if (name == "Gumbel") return two("loc", "scale", MAKES(Gumbel));
  if (name == "LogNormal") return two("loc", "scale", MAKES(LogNormal));
  if (name == "LogisticNormal") return two("loc", "scale", MAKES(LogisticNormal));
  if (name == "VonMises") return two("loc", "concentration", MAKES(VonMises));
  if (name == "Uniform") return two("low", "high", MAKES(Uniform));
  if (name == "Gamma") return two("concentration", "rate", MAKES(Gamma));
  if (name == "InverseGamma") return two("concentration", "rate", MAKES(InverseGamma));
  if (name == "Beta") return two("concentration1", "concentration0", MAKES(Beta));
  if (name == "Kumaraswamy") return two("concentration1", "concentration0", MAKES(Kumaraswamy));
  if (name == "FisherSnedecor") return two("df1", "df2", MAKES(FisherSnedecor));
  if (name == "Pareto") return two("scale", "alpha", MAKES(Pareto));
  if (name == "Weibull") return two("scale", "concentration", MAKES(Weibull));
  if (name == "Bernoulli") return outcomes(MAKES(Bernoulli));
  if (name == "ContinuousBernoulli") return outcomes(MAKES(ContinuousBernoulli));
  if (name == "Geometric") return outcomes(MAKES(Geometric));
  if (name == "Categorical") return categories(MAKES(Categorical));
  if (name == "OneHotCategorical") return categories(MAKES(OneHotCategorical));
  if (name == "OneHotCategoricalStraightThrough") return categories(MAKES(OneHotCategoricalStraightThrough));
#undef MAKES
  if (name == "Exponential") return d::Exponential(value(c, "rate"));
  if (name == "Poisson") return d::Poisson(value(c, "rate"));
  if (name == "Chi2") return d::Chi2(value(c, "df"));
  if (name == "HalfNormal") return d::HalfNormal(value(c, "scale"));
  if (name == "HalfCauchy") return d::HalfCauchy(value(c, "scale"));
  if (name == "Dirichlet") return d::Dirichlet(tensor(c, "concentration"));
  if (name == "GeneralizedPareto" || name == "StudentT") {
    const bool pareto = name == "GeneralizedPareto";
    const TensorOrNumber df = pareto ? TensorOrNumber() : value(c, "df");
    const TensorOrNumber loc = value(c, "loc"), scale = value(c, "scale");
    if (pareto) return d::GeneralizedPareto(loc, scale, value(c, "concentration"));
    return d::StudentT(df, loc ? loc : 0.0, scale ? scale : 1.0);
  }
  if (name == "Binomial" || name == "NegativeBinomial") {
    // A plain number stays one.
    const Json& plain = read(c, "total_count");
    const TensorOrNumber count =
        plain.is_number() ? TensorOrNumber(conformance::number(plain)) : value(c, "total_count");
    return outcomes([&](const auto& a, const auto& b) -> Distribution {
      if (name == "Binomial") return d::Binomial(count, a, b);
      return d::NegativeBinomial(count, a, b);
    });
  }
  if (name == "Multinomial") {
    const int64_t count = integer_of(c, "total_count", 1);
    return categories([&](const auto& a, const auto& b) { return d::Multinomial(count, a, b); });
  }
  if (name == "RelaxedBernoulli") {
    const TensorOrNumber temperature = value(c, "temperature");
    return outcomes([&](const auto& a, const auto& b) { return d::RelaxedBernoulli(temperature, a, b); });
  }
  if (name == "RelaxedOneHotCategorical") {
    const TensorOrNumber temperature = value(c, "temperature");
    return categories([&](const auto& a, const auto& b) { return d::RelaxedOneHotCategorical(temperature, a, b); });
  }
  if (name == "LKJCholesky") {
    const int64_t dim = integer_of(c, "dim", 0);
    const Json& plain = read(c, "concentration");
    return d::LKJCholesky(dim, plain.is_number() ? TensorOrNumber(plain.get<double>()) : value(c, "concentration"));
  }
  if (name == "MultivariateNormal" || name == "Wishart") {
    const bool normal = name == "MultivariateNormal";
    const TensorOrNumber first = value(c, normal ? "loc" : "df");
    const Tensor covariance = tensor(c, "covariance_matrix"), precision = tensor(c, "precision_matrix"),
                 factor = tensor(c, "scale_tril");
    if (normal) return d::MultivariateNormal(first.tensor(), covariance, precision, factor);
    return d::Wishart(first, covariance, precision, factor);
  }
  if (name == "LowRankMultivariateNormal") {
    const Tensor loc = tensor(c, "loc"), factor = tensor(c, "cov_factor");
    return d::LowRankMultivariateNormal(loc, factor, tensor(c, "cov_diag"));
  }
  if (name == "Independent") {
    const Distribution base = distribution(read(c, "base_distribution"));
    return d::Independent(base, integer_of(c, "reinterpreted_batch_ndims", 0));
  }
  if (name == "TransformedDistribution") {
    const Distribution base = distribution(read(c, "base_distribution"));
    return d::TransformedDistribution(base, transforms(read(c, "transforms")));
  }
  if (name == "MixtureSameFamily") {
    const Distribution mixture = distribution(read(c, "mixture_distribution"));
    return d::MixtureSameFamily(mixture.as<d::Categorical>(), distribution(read(c, "component_distribution")));
  }
  throw std::runtime_error("no distribution " + name + " here");
}

Transform DistributionValues::transform(const Json& spec) {
  const std::string name = read(spec, "transform");
  const Json& c = read(spec, "config");
  const auto made = [&]() -> Transform {
    if (name == "AbsTransform") return d::AbsTransform();
    if (name == "ExpTransform") return d::ExpTransform();
    if (name == "SigmoidTransform") return d::SigmoidTransform();
    if (name == "SoftplusTransform") return d::SoftplusTransform();
    if (name == "TanhTransform") return d::TanhTransform();
    if (name == "SoftmaxTransform") return d::SoftmaxTransform();
    if (name == "StickBreakingTransform") return d::StickBreakingTransform();
    if (name == "CorrCholeskyTransform") return d::CorrCholeskyTransform();
    if (name == "LowerCholeskyTransform") return d::LowerCholeskyTransform();
    if (name == "PositiveDefiniteTransform") return d::PositiveDefiniteTransform();
    if (name == "PowerTransform") return d::PowerTransform(value(c, "exponent"));
    if (name == "AffineTransform") {
      const TensorOrNumber loc = value(c, "loc"), scale = value(c, "scale");
      return d::AffineTransform(loc, scale, integer_of(c, "event_dim", 0));
    }
    if (name == "ReshapeTransform")
      return d::ReshapeTransform(integers(read(c, "in_shape")), integers(read(c, "out_shape")));
    if (name == "IndependentTransform")
      return d::IndependentTransform(transform(read(c, "base_transform")),
                                     integer_of(c, "reinterpreted_batch_ndims", 0));
    if (name == "ComposeTransform") return d::ComposeTransform(transforms(read(c, "parts")));
    if (name == "CatTransform")
      return d::CatTransform(transforms(read(c, "tseq")), integer_of(c, "dim", 0),
                             has(c, "lengths") ? integers(c.at("lengths")) : std::vector<int64_t>());
    if (name == "StackTransform") return d::StackTransform(transforms(read(c, "tseq")), integer_of(c, "dim", 0));
    if (name == "CumulativeDistributionTransform")
      return d::CumulativeDistributionTransform(distribution(read(c, "distribution")));
    throw std::runtime_error("no transform " + name + " here");
  };
  const Transform result = made();
  check_all_read(c, "config of " + name, {"base_transform", "parts", "tseq", "distribution"});
  return result;
}

d::Constraint constraint_of(const std::string& text) {
  namespace c = d::constraints;
  static const std::map<std::string, d::Constraint> all = {
      {"boolean", c::boolean()},
      {"nonnegative_integer", c::nonnegative_integer()},
      {"positive_integer", c::positive_integer()},
      {"integer_interval(1, 5)", c::integer_interval(1, 5)},
      {"real", c::real()},
      {"positive", c::positive()},
      {"nonnegative", c::nonnegative()},
      {"greater_than(0.5)", c::greater_than(0.5)},
      {"greater_than_eq(0.5)", c::greater_than_eq(0.5)},
      {"less_than(0.5)", c::less_than(0.5)},
      {"interval(-1.0, 2.0)", c::interval(-1.0, 2.0)},
      {"half_open_interval(-1.0, 2.0)", c::half_open_interval(-1.0, 2.0)},
      {"unit_interval", c::unit_interval()},
      {"real_vector", c::real_vector()},
      {"simplex", c::simplex()},
      {"one_hot", c::one_hot()},
      {"multinomial(3)", c::multinomial(3)},
      {"lower_triangular", c::lower_triangular()},
      {"lower_cholesky", c::lower_cholesky()},
      {"corr_cholesky", c::corr_cholesky()},
      {"square", c::square()},
      {"symmetric", c::symmetric()},
      {"positive_semidefinite", c::positive_semidefinite()},
      {"positive_definite", c::positive_definite()},
      {"independent(positive, 1)", c::independent(c::positive(), 1)},
      {"independent(real, 2)", c::independent(c::real(), 2)},
      {"cat([positive, real], -1, [1, 2])", c::cat({c::positive(), c::real()}, -1, {1, 2})},
      {"stack([positive, unit_interval], 0)", c::stack({c::positive(), c::unit_interval()}, 0)},
  };
  const auto found = all.find(text);
  if (found == all.end()) throw std::runtime_error("no constraint " + text + " here");
  return found->second;
}

}  // namespace recorded
