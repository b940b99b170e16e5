#include "autograd/gradcheck/gradcheck.h"

#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/autograd.h"
#include "autograd/forward_ad.h"
#include "c10/core/grad_mode.h"
#include "c10/util/complex.h"
#include "c10/util/exception.h"
#include "c10/util/string_util.h"

namespace torch::autograd {
namespace {

bool is_differentiable(const at::Tensor& t) {
  return t.defined() && (t.is_floating_point() || t.is_complex());
}

// The real numbers in a tensor: two an element of a complex one.
int64_t real_count(const at::Tensor& t) {
  return t.numel() * (t.is_complex() ? 2 : 1);
}

// Where the real number `i` lies, elements in row-major order.
double* real_at(const at::Tensor& t, int64_t i) {
  const int64_t parts = t.is_complex() ? 2 : 1;
  int64_t element = i / parts;
  int64_t offset = 0;
  for (int64_t d = t.dim() - 1; d >= 0; --d) {
    offset += element % t.size(d) * t.stride(d);
    element /= t.size(d);
  }
  return static_cast<double*>(t.data_ptr()) + offset * parts + i % parts;
}

std::vector<double> reals_of(const at::Tensor& t) {
  const int64_t count = real_count(t);
  std::vector<double> reals(static_cast<size_t>(count));
  at::Tensor wide = at::to(at::detach(t), t.is_complex() ? at::kComplexDouble : at::kDouble);
  for (int64_t i = 0; i < count; ++i) reals[static_cast<size_t>(i)] = *real_at(wide, i);
  return reals;
}

std::vector<std::vector<double>> differentiable_values(const variable_list& outputs) {
  std::vector<std::vector<double>> values;
  for (const at::Tensor& out : outputs) {
    values.push_back(is_differentiable(out) ? reals_of(out) : std::vector<double>());
  }
  return values;
}

// A tensor of zeros like `like` with a one (or i) as real number `i`.
at::Tensor unit(const at::Tensor& like, int64_t i) {
  at::Tensor t = at::zeros(like.sizes(), at::TensorOptions().dtype(like.is_complex() ? at::kComplexDouble : at::kDouble));
  *real_at(t, i) = 1.0;
  return t.scalar_type() == like.scalar_type() ? t : at::to(t, like.scalar_type());
}

struct Checker {
  const GradcheckFunction& function;
  const variable_list& inputs;
  const GradcheckOptions& options;
  bool must_record;             // whether it is an error that no result requires a gradient
  std::vector<size_t> checked = {};  // inputs that require a gradient

  // numeric[input][k][output][j]: the change of real j of the output by real k of the input.
  std::vector<std::vector<double>> differences(const at::Tensor& input, int64_t k) const {
    double* const place = real_at(input, k);
    const double before = *place;
    NoGradGuard no_grad;
    *place = before + options.eps;
    std::vector<std::vector<double>> above = differentiable_values(function(inputs));
    *place = before - options.eps;
    const std::vector<std::vector<double>> below = differentiable_values(function(inputs));
    *place = before;
    for (size_t o = 0; o < above.size(); ++o) {
      TORCH_CHECK(above[o].size() == below[o].size(), "gradcheck: the function's results change their size");
      for (size_t j = 0; j < above[o].size(); ++j) above[o][j] = (above[o][j] - below[o][j]) / (2.0 * options.eps);
    }
    return above;
  }

  GradcheckResult run() {
    variable_list wanted;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].defined() || !inputs[i].requires_grad()) continue;
      TORCH_CHECK(
          inputs[i].scalar_type() == at::kDouble || inputs[i].scalar_type() == at::kComplexDouble,
          "gradcheck: input ", i, " requires a gradient and must be double or complex double, got ",
          c10::toString(inputs[i].scalar_type()));
      checked.push_back(i);
      wanted.push_back(inputs[i]);
    }
    TORCH_CHECK(!checked.empty(), "gradcheck: no input requires a gradient");

    const variable_list outputs = function(inputs);
    bool any = false;
    for (const at::Tensor& out : outputs) any |= is_differentiable(out) && out.requires_grad();
    if (!any && must_record) return {false, "no result requires a gradient"};

    // numeric[c][k] for checked input c.
    std::vector<std::vector<std::vector<std::vector<double>>>> numeric(checked.size());
    for (size_t c = 0; c < checked.size(); ++c) {
      const at::Tensor& input = inputs[checked[c]];
      for (int64_t k = 0; k < real_count(input); ++k) numeric[c].push_back(differences(input, k));
    }

    if (options.check_forward_ad) {
      if (GradcheckResult result = check_forward(outputs, any, numeric); !result) return result;
    }
    for (size_t o = 0; o < outputs.size() && options.check_backward_ad; ++o) {
      if (!is_differentiable(outputs[o])) continue;
      // A result declared to have no gradient (statistics kept for backward) is not checked.
      if (any && !outputs[o].requires_grad()) continue;
      for (int64_t j = 0; j < real_count(outputs[o]); ++j) {
        variable_list analytic(wanted.size());
        if (outputs[o].requires_grad()) {
          analytic = grad({outputs[o]}, wanted, {unit(outputs[o], j)}, true, false, true);
          const variable_list again = grad({outputs[o]}, wanted, {unit(outputs[o], j)}, true, false, true);
          for (size_t c = 0; c < checked.size(); ++c) {
            if (GradcheckResult same = compare_runs(analytic[c], again[c], checked[c]); !same) return same;
          }
        }
        for (size_t c = 0; c < checked.size(); ++c) {
          const at::Tensor& input = inputs[checked[c]];
          if (analytic[c].defined() && analytic[c].sizes() != input.sizes()) {
            return {false, c10::str("the gradient of input ", checked[c], " has sizes ", analytic[c].sizes(), ", the input ", input.sizes())};
          }
          const std::vector<double> values =
              analytic[c].defined() ? reals_of(analytic[c]) : std::vector<double>(static_cast<size_t>(real_count(input)));
          for (int64_t k = 0; k < real_count(input); ++k) {
            const double expected = numeric[c][static_cast<size_t>(k)][o][static_cast<size_t>(j)];
            const double got = values[static_cast<size_t>(k)];
            if (std::abs(got - expected) <= options.atol + options.rtol * std::abs(expected)) continue;
            return {
                false,
                c10::str(
                    "output ", o, " real ", j, " by input ", checked[c], " real ", k, ": autograd gives ", got,
                    ", the difference quotient ", expected)};
          }
        }
      }
    }
    return {};
  }

  // The tangents of the outputs along each real number of each input.
  GradcheckResult check_forward(
      const variable_list& outputs, bool any, const std::vector<std::vector<std::vector<std::vector<double>>>>& numeric) const {
    const forward_ad::dual_level level;
    for (size_t c = 0; c < checked.size(); ++c) {
      const at::Tensor& input = inputs[checked[c]];
      for (int64_t k = 0; k < real_count(input); ++k) {
        variable_list duals = inputs;
        duals[checked[c]] = forward_ad::make_dual(input, unit(input, k));
        const variable_list results = function(duals);
        for (size_t o = 0; o < outputs.size(); ++o) {
          if (!is_differentiable(outputs[o]) || (any && !outputs[o].requires_grad())) continue;
          const at::Tensor tangent = forward_ad::unpack_dual(results[o]).tangent;
          if (tangent.defined() && (tangent.sizes() != outputs[o].sizes() || tangent.scalar_type() != outputs[o].scalar_type())) {
            return {false, c10::str("the tangent of output ", o, " is a ", tangent.toString(), " of sizes ", tangent.sizes(), ", the output a ",
                                    outputs[o].toString(), " of sizes ", outputs[o].sizes())};
          }
          const std::vector<double> values =
              tangent.defined() ? reals_of(tangent) : std::vector<double>(static_cast<size_t>(real_count(outputs[o])));
          for (size_t j = 0; j < values.size(); ++j) {
            const double expected = numeric[c][static_cast<size_t>(k)][o][j];
            if (std::abs(values[j] - expected) <= options.atol + options.rtol * std::abs(expected)) continue;
            return {
                false,
                c10::str(
                    "output ", o, " real ", j, " by input ", checked[c], " real ", k, ": forward mode gives ", values[j],
                    ", the difference quotient ", expected)};
          }
        }
      }
    }
    return {};
  }

  GradcheckResult compare_runs(const at::Tensor& a, const at::Tensor& b, size_t input) const {
    if (a.defined() != b.defined()) return {false, c10::str("backward is not deterministic for input ", input)};
    if (!a.defined()) return {};
    const std::vector<double> x = reals_of(a);
    const std::vector<double> y = reals_of(b);
    for (size_t i = 0; i < x.size(); ++i) {
      if (std::abs(x[i] - y[i]) > options.nondet_tol) {
        return {false, c10::str("backward is not deterministic for input ", input, ": ", x[i], " and ", y[i])};
      }
    }
    return {};
  }
};

at::Tensor random_like(const at::Tensor& t, std::mt19937_64& generator) {
  at::Tensor values = at::zeros(t.sizes(), at::TensorOptions().dtype(t.is_complex() ? at::kComplexDouble : at::kDouble));
  std::uniform_real_distribution<double> distribution(0.2, 1.2);
  for (int64_t i = 0; i < real_count(values); ++i) *real_at(values, i) = distribution(generator);
  return values;
}

}  // namespace

GradcheckResult gradcheck(const GradcheckFunction& function, const variable_list& inputs, const GradcheckOptions& options) {
  return Checker{function, inputs, options, /*must_record=*/true}.run();
}

GradcheckResult gradgradcheck(
    const GradcheckFunction& function, const variable_list& inputs, const GradcheckOptions& options) {
  std::mt19937_64 generator(17);
  variable_list all = inputs;
  std::vector<bool> has_grad;
  {
    for (const at::Tensor& out : function(inputs)) {
      has_grad.push_back(is_differentiable(out) && out.requires_grad());
      if (has_grad.back()) {
        at::Tensor direction = random_like(out, generator);
        direction.set_requires_grad(true);
        all.push_back(std::move(direction));
      }
    }
  }
  const size_t count = inputs.size();
  const GradcheckFunction first_derivative = [&](const variable_list& given) -> variable_list {
    // Also where the caller looks at values only: the gradient itself needs the graph.
    AutoGradMode record(true);
    const variable_list points(given.begin(), given.begin() + static_cast<std::ptrdiff_t>(count));
    variable_list outputs, directions, wanted;
    variable_list results = function(points);
    for (size_t o = 0, next = count; o < results.size(); ++o) {
      if (!has_grad[o]) continue;
      outputs.push_back(results[o]);
      directions.push_back(given[next++]);
    }
    for (const at::Tensor& point : points) {
      if (point.defined() && point.requires_grad()) wanted.push_back(point);
    }
    variable_list grads = grad(outputs, wanted, directions, true, true, true);
    for (size_t i = 0; i < grads.size(); ++i) {
      if (!grads[i].defined()) grads[i] = at::zeros_like(wanted[i]);
    }
    return grads;
  };
  // The gradient of a piecewise constant function is constant.
  return Checker{first_derivative, all, options, /*must_record=*/false}.run();
}

}  // namespace torch::autograd
