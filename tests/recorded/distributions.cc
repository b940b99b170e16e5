// torch.distributions: what distributions, divergences, transforms and constraints compute, draw and refuse.
#include "distributions/distributions.h"

#include <algorithm>
#include <functional>

#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "autograd/autograd.h"
#include "c10/core/cpu_generator.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "tests/recorded/distribution_values.h"
#include "tests/recorded/families.h"

namespace recorded {
namespace {

namespace d = torch::distributions;
using at::Tensor;

// Python's name of what `f` throws, empty where it throws nothing, and its message.
std::string thrown(const std::function<void()>& f, std::string* message = nullptr) {
  try {
    f();
  } catch (const c10::Error& error) {
    if (message) *message = error.what();
    if (dynamic_cast<const c10::NotImplementedError*>(&error)) return "NotImplementedError";
    if (dynamic_cast<const c10::ValueError*>(&error)) return "ValueError";
    if (dynamic_cast<const c10::TypeError*>(&error)) return "TypeError";
    return "RuntimeError";
  }
  return "";
}

bool is_error(const Json& v) {
  return v.is_object() && v.contains("error");
}

// The result of `f`, compared with a recorded tensor or the kind of exception; undefined where it throws.
Tensor compare(Check& check, const Json& one, const char* name, const std::function<Tensor()>& f, double factor = 1) {
  const Json& recorded = read(one, name);
  Tensor result;
  std::string message;
  const std::string error = thrown([&] { result = f(); }, &message);
  if (is_error(recorded) || !error.empty()) {
    check.equal(name + (message.empty() ? "" : " (" + message + ")"), Json{{"error", error}}, recorded);
    return {};
  }
  check.tensor(name, result, recorded, factor);
  return result;
}

void seed(const Json& one) {
  at::manual_seed(read(one, "seed").get<uint64_t>());
}

// Of a graph that is differentiated several times.
void compare_gradients(Check& check, const Json& one, const char* name, const Tensor& result,
                       const std::vector<Tensor>& leaves, const Json& recorded, double factor = 10) {
  if (!result.defined() || !result.requires_grad()) return check.fail(std::string(name) + ": nothing to differentiate");
  const auto gradients = torch::autograd::grad({result}, leaves, {cotangent(result, 0)}, /*retain_graph=*/true,
                                               /*create_graph=*/false, /*allow_unused=*/true);
  if (recorded.size() != leaves.size())
    return check.fail(std::string(name) + ": " + std::to_string(leaves.size()) + " leaves");
  for (size_t i = 0; i < leaves.size(); ++i)
    check.tensor(name + (" " + std::to_string(i)), gradients[i], recorded[i], factor);
}
void compare_gradients(Check& check, const Json& one, const char* name, const Tensor& result,
                       const std::vector<Tensor>& leaves, double factor = 10) {
  if (has(one, name)) compare_gradients(check, one, name, result, leaves, one.at(name), factor);
}

// PyTorch approximates how gamma and beta numbers change with their parameters, to 1e-3 at worst, and a quotient of two
// of them with long tails worse; here it is exact (//distributions:distributions_test).
double sample_gradient_factor(const Json& one, const std::string& name) {
  bool approximated = false;
  for (const Json& operation : read(one, "random"))
    approximated |= operation == "_standard_gamma" || operation == "_sample_dirichlet";
  if (!approximated) return 10;
  return (read(one, "dtype") == "float64" ? 1e4 : 100) * (name == "FisherSnedecor" ? 10 : 1);
}

// The variance of a ContinuousBernoulli is that of 1 / log(p / (1 - p))^2 and another term as large: a float's last
// digit of the logarithms, whose difference is 2 a with a = |1 - 2 p|, is an error of some 3e-8 / a^3.
double variance_factor(const d::Distribution& dist) {
  if (!dist.is<d::ContinuousBernoulli>()) return 1;
  const Tensor p = dist.as<d::ContinuousBernoulli>()->probs().detach();
  if (p.scalar_type() != at::kFloat) return 1;
  const Tensor a = at::abs(1 - 2 * p);
  // Nearer to 1/2 the expansion is taken, which has no such terms.
  const Tensor error = at::where(at::lt(a, 0.0019), 0.0, 1e-7 / at::pow(a, 3));
  return std::max(1.0, at::max(error).item<double>() / 2e-5);
}

void replay_distribution(const Json& one, Check& check) {
  DistributionValues values(check.recordings());
  const d::Distribution dist = values.distribution(read(one, "distribution"));
  const std::string name = read(read(one, "distribution"), "distribution");
  const std::vector<Tensor>& parameters = values.parameters();
  if (has(one, "repr")) check.equal("repr", dist.repr(), one.at("repr"));
  check.equal("batch_shape", dist.batch_shape(), read(one, "batch_shape"));
  check.equal("event_shape", dist.event_shape(), read(one, "event_shape"));
  check.equal("has_rsample", dist.has_rsample(), read(one, "has_rsample"));
  check.equal("has_enumerate_support", dist.has_enumerate_support(), read(one, "has_enumerate_support"));
  check.equal("support", dist.support().repr(), read(one, "support"));
  Json constraints = Json::object();
  for (const d::ParameterInfo& parameter : dist.arg_constraints())
    constraints[parameter.name] = parameter.constraint.repr();
  check.equal("arg_constraints", constraints, read(one, "arg_constraints"));

  compare(check, one, "mean", [&] { return dist.mean(); });
  const double factor = variance_factor(dist);
  compare(
      check, one, "variance", [&] { return dist.variance(); }, factor);
  compare(
      check, one, "stddev", [&] { return dist.stddev(); }, factor);
  compare(check, one, "mode", [&] { return dist.mode(); });
  const Tensor entropy = compare(check, one, "entropy", [&] { return dist.entropy(); });
  compare_gradients(check, one, "grad_entropy", entropy, parameters);
  compare(check, one, "perplexity", [&] { return dist.perplexity(); });

  seed(one);
  const Tensor sample = compare(check, one, "sample", [&] { return dist.sample(integers(read(one, "sample_shape"))); });
  check.then(read(one, "then"));
  check.expect(!sample.requires_grad(), "a sample has a gradient");
  seed(one);
  compare(check, one, "sample_one", [&] { return dist.sample(); });
  if (has(one, "rsample")) {
    seed(one);
    const Tensor sample =
        compare(check, one, "rsample", [&] { return dist.rsample(integers(read(one, "rsample_shape"))); });
    compare_gradients(check, one, "grad_rsample", sample, parameters, sample_gradient_factor(one, name));
  }

  // At the recorded sample, so that a rounding of it does not count twice.
  Tensor at_value = check.recordings().tensor(read(one, "sample"));
  if (name == "GeneralizedPareto" && is_error(read(one, "log_prob"))) {
    // PyTorch compares a float64 parameter with a float32 zero, and throws. Here float64 is as good as float32.
    const auto& impl = *dist.as<d::GeneralizedPareto>().operator->();
    const d::GeneralizedPareto other(impl.loc.to(at::kFloat), impl.scale.to(at::kFloat),
                                     impl.concentration.to(at::kFloat), false);
    for (const char* field : {"log_prob", "cdf"}) {
      check.equal(field, Json{{"error", "RuntimeError"}}, read(one, field));
      const bool density = std::string(field) == "log_prob";
      const Tensor in_double = density ? dist.log_prob(at_value) : dist.cdf(at_value);
      const Tensor in_float = density ? other.log_prob(at_value.to(at::kFloat)) : other.cdf(at_value.to(at::kFloat));
      check.expect(at::allclose(in_double.to(at::kFloat), in_float, 1e-3, 1e-3), std::string(field) + " in float64");
    }
  } else {
    std::vector<Tensor> leaves = parameters;
    if (has(one, "grad_log_prob_value")) leaves.push_back(at_value.requires_grad_());
    const Tensor density = compare(check, one, "log_prob", [&] { return dist.log_prob(at_value); });
    if (has(one, "grad_log_prob")) {
      Json recorded = one.at("grad_log_prob");
      if (has(one, "grad_log_prob_value")) recorded.push_back(one.at("grad_log_prob_value"));
      compare_gradients(check, one, "grad_log_prob", density, leaves, recorded);
    }
    // igamma refuses to be recorded for a derivative by its first argument, which PyTorch refuses in backward.
    c10::NoGradGuard no_grad;
    compare(check, one, "cdf", [&] { return dist.cdf(at_value.detach()); });
  }

  if (has(one, "icdf_at")) {
    const auto at_tensor = [&](const char* key) { return check.recordings().tensor(read(one, key)); };
    compare(check, one, "icdf", [&] { return dist.icdf(at_tensor("icdf_at")); });
    compare(check, one, "in_support", [&] { return dist.support().check(at_tensor("support_at")); });
    if (has(one, "invalid_values")) {
      const Json &at_values = one.at("invalid_values"), &errors = read(one, "invalid_log_prob");
      for (size_t i = 0; i < at_values.size(); ++i) {
        const std::string error = thrown([&] {
          dist.log_prob(
              at::scalar_tensor(conformance::number(at_values[i]),
                                at::TensorOptions(read(one, "dtype") == "float64" ? at::kDouble : at::kFloat)));
        });
        check.equal("invalid_log_prob at " + at_values[i].dump(), error.empty() ? Json() : Json(error), errors[i]);
      }
    }
  }

  const Json& expand = read(one, "expand");
  d::Distribution wider;
  const std::string error = thrown([&] { wider = dist.expand(integers(read(expand, "shape"))); });
  if (is_error(expand) || !error.empty()) {
    check.equal("expand", error, expand.contains("error") ? expand.at("error") : Json());
  } else {
    check.equal("expanded batch_shape", wider.batch_shape(), read(expand, "batch_shape"));
    check.equal("expanded event_shape", wider.event_shape(), read(expand, "event_shape"));
    seed(one);
    check.tensor("expanded sample", wider.sample(), read(expand, "sample"));
  }
  for (const bool whole : {true, false}) {
    const char* field = whole ? "enumerate_support" : "enumerate_support_unexpanded";
    if (has(one, field)) compare(check, one, field, [&] { return dist.enumerate_support(whole); });
  }
}

void replay_invalid(const Json& one, Check& check) {
  const std::string name = read(one, "distribution");
  DistributionValues values(check.recordings(), name != "LKJCholesky");
  const Json& recorded = read(one, "error");
  std::string message;
  const std::string type = thrown([&] { values.distribution(name, read(one, "config")); }, &message);
  check_all_read(read(one, "config"), "config of " + name);
  check.equal("type", type, read(recorded, "type"));
  // What PyTorch names: "Expected parameter NAME ... to satisfy the constraint TEXT, ..."
  const std::string text = read(recorded, "message");
  const std::string before = "Expected parameter ", constraint = "to satisfy the constraint ";
  if (text.rfind(before, 0) != 0) return;
  const std::string parameter = text.substr(before.size(), text.find(' ', before.size()) - before.size());
  check.expect(message.find("parameter " + parameter) != std::string::npos, parameter + " is not named in: " + message);
  const size_t begin = text.find(constraint);
  if (begin == std::string::npos) return;
  const std::string bound =
      text.substr(begin + constraint.size(), text.find(", but found") - begin - constraint.size());
  check.expect(message.find(bound) != std::string::npos, bound + " is not named in: " + message);
}

void replay_kl(const Json& one, Check& check) {
  DistributionValues values(check.recordings());
  const d::Distribution p = values.distribution(read(one, "p")), q = values.distribution(read(one, "q"));
  const Tensor divergence = compare(check, one, "kl", [&] { return d::kl_divergence(p, q); });
  compare_gradients(check, one, "grad", divergence, values.parameters());
}

void replay_transform(const Json& one, Check& check) {
  DistributionValues values(check.recordings());
  const d::Transform t = values.transform(read(one, "transform"));
  check.equal("repr", t.repr(), read(one, "repr"));
  check.equal("bijective", t.bijective(), read(one, "bijective"));
  check.equal("domain", t.domain().repr(), read(one, "domain"));
  check.equal("codomain", t.codomain().repr(), read(one, "codomain"));
  check.equal("domain_event_dim", t.domain().event_dim(), read(one, "domain_event_dim"));
  check.equal("codomain_event_dim", t.codomain().event_dim(), read(one, "codomain_event_dim"));
  d::TensorOrNumber sign;
  const std::string error = thrown([&] { sign = t.sign(); });
  if (sign.is_tensor()) {
    check.tensor("sign", sign.tensor(), read(one, "sign"));
  } else {
    check.equal("sign", error.empty() ? Json(sign.number().toLong()) : Json{{"error", error}}, read(one, "sign"));
  }

  const Tensor x = check.recordings().tensor(read(one, "x")).requires_grad_();
  std::vector<Tensor> leaves = {x};
  leaves.insert(leaves.end(), values.parameters().begin(), values.parameters().end());
  const Tensor y = compare(check, one, "y", [&] { return t(x); });
  compare_gradients(check, one, "grad_y", y, leaves);
  const Tensor determinant = compare(check, one, "log_abs_det_jacobian", [&] { return t.log_abs_det_jacobian(x, y); });
  compare_gradients(check, one, "grad_log_abs_det_jacobian", determinant, leaves);
  const Tensor result = y.detach();
  compare(
      check, one, "inverse", [&] { return t.inv()(result); }, 10);
  compare(
      check, one, "inverse_log_abs_det_jacobian", [&] { return t.inv().log_abs_det_jacobian(result, t.inv()(result)); },
      10);
  check.equal("forward_shape", t.forward_shape(x.sizes()), read(one, "forward_shape"));
  check.equal("inverse_shape", t.inverse_shape(y.sizes()), read(one, "inverse_shape"));
}

void replay_registered(const char* name, const d::ConstraintRegistry& registry, const d::Constraint& constraint,
                       const Json& one, Check& check) {
  Check::Scope scope(check, name);
  d::Transform t;
  const std::string error = thrown([&] { t = registry(constraint); });
  if (!has(one, name)) return check.equal("error", error, "NotImplementedError");
  const Json& recorded = one.at(name);
  if (!error.empty()) return check.fail(error);
  check.equal("transform", t.repr(), read(recorded, "transform"));
  const Tensor x = check.recordings().tensor(read(recorded, "x"));
  const Tensor y = compare(check, recorded, "y", [&] { return t(x); });
  check.equal("inside", at::all(constraint.check(y)).item<bool>(), read(recorded, "inside"));
  compare(
      check, recorded, "inverse", [&] { return t.inv()(y); }, 10);
  compare(check, recorded, "log_abs_det_jacobian", [&] { return t.log_abs_det_jacobian(x, y); });
}

void replay_constraint(const Json& one, Check& check) {
  const d::Constraint constraint = constraint_of(read(one, "constraint"));
  check.equal("repr", constraint.repr(), read(one, "repr"));
  check.equal("event_dim", constraint.event_dim(), read(one, "event_dim"));
  check.equal("is_discrete", constraint.is_discrete(), read(one, "is_discrete"));
  compare(check, one, "check", [&] { return constraint.check(check.recordings().tensor(read(one, "values"))); });
  replay_registered("biject_to", d::biject_to, constraint, one, check);
  replay_registered("transform_to", d::transform_to, constraint, one, check);
}

}  // namespace

void replay_distributions(const Json& one, Check& check) {
  const std::string kind = read(one, "kind");
  if (kind == "distribution") return replay_distribution(one, check);
  if (kind == "invalid arguments") return replay_invalid(one, check);
  if (kind == "kl") return replay_kl(one, check);
  if (kind == "transform") return replay_transform(one, check);
  if (kind == "constraint") return replay_constraint(one, check);
  refuse_value("kind", kind);
}

}  // namespace recorded
