// Bayesian regression by Hamiltonian Monte Carlo (Neal, https://arxiv.org/abs/1206.1901): draws lines, and how far
// points stray from them, from all those that fit the data. Several chains run as one batch; the step size is found by
// dual averaging (Hoffman and Gelman, https://arxiv.org/abs/1111.4246).
//
//   ./bazelw run //examples/hmc [-- --points=N]
#include <absl/flags/flag.h>
#include <torch/torch.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "distributions/distributions.h"
#include "examples/common/run.h"
#include "utils/plot/scatter_chart.h"

ABSL_FLAG(int64_t, points, 40, "points that the line is fitted to, one of ten far off");
ABSL_FLAG(int64_t, chains, 4, "chains that run side by side");
ABSL_FLAG(int64_t, warmup, 300, "first draws, which find the step size and are thrown away");
ABSL_FLAG(int64_t, draws, 500, "draws of each chain that are kept");
ABSL_FLAG(int64_t, leapfrogs, 12, "steps that a draw takes along a trajectory");

namespace {

namespace d = torch::distributions;
namespace plot = torch::utils::plot;
using torch::Tensor;

constexpr double kIntercept = 1.5, kSlope = -0.7, kNoise = 0.4;
const std::vector<std::string> kNames = {"intercept", "slope", "noise"};

// What is known before the data: of each parameter a distribution, and the way from all numbers to its support.
struct Prior {
  d::Distribution distribution;
  d::Transform transform = d::biject_to(distribution.support());
};

struct Model {
  Tensor x, y;  // [points]
  std::vector<Prior> priors = {{d::Normal(0.0, 5.0)}, {d::Normal(0.0, 5.0)}, {d::HalfNormal(2.0)}};

  // The parameters [chains] of unconstrained numbers [chains, parameters].
  std::vector<Tensor> parameters(const Tensor& free) const {
    std::vector<Tensor> all;
    for (size_t i = 0; i < priors.size(); ++i) all.push_back(priors[i].transform(free.select(-1, i)));
    return all;
  }

  // The logarithm of the posterior density of unconstrained numbers, up to a constant: [chains].
  Tensor log_density(const Tensor& free) const {
    const std::vector<Tensor> p = parameters(free);
    Tensor sum = torch::zeros({free.size(0)}, free.options());
    for (size_t i = 0; i < p.size(); ++i) {
      sum = sum + priors[i].distribution.log_prob(p[i]);
      sum = sum + priors[i].transform.log_abs_det_jacobian(free.select(-1, i), p[i]);
    }
    const Tensor line = p[0].unsqueeze(-1) + p[1].unsqueeze(-1) * x;
    // Heavy tails: a point far off is no surprise.
    return sum + d::StudentT(3.0, line, p[2].unsqueeze(-1)).log_prob(y).sum(-1);
  }
};

// Draws of all chains. A draw gives the numbers a random push and follows them without friction.
class Sampler {
 public:
  Sampler(const Model& model, Tensor start) : model_(model), at_(std::move(start)) { look(at_, density_, gradient_); }

  // One draw a chain; the share of them that would be taken, on average.
  double draw(double step, int64_t leapfrogs) {
    Tensor to = at_.clone(), density = density_, gradient = gradient_;
    const d::Independent push(d::Normal(torch::zeros_like(at_), 1.0), 1);
    const Tensor start = push.sample();
    Tensor speed = start.clone();
    for (int64_t i = 0; i < leapfrogs; ++i) {
      speed = speed + 0.5 * step * gradient;
      to = to + step * speed;
      look(to, density, gradient);
      speed = speed + 0.5 * step * gradient;
    }
    // Energy is kept but for the error of the steps.
    const Tensor gain = density + push.log_prob(speed) - density_ - push.log_prob(start);
    const Tensor chance = gain.clamp_max(0).exp().nan_to_num(0);
    const Tensor taken = d::Bernoulli(chance).sample().to(torch::kBool);
    at_ = torch::where(taken.unsqueeze(-1), to, at_);
    gradient_ = torch::where(taken.unsqueeze(-1), gradient, gradient_);
    density_ = torch::where(taken, density, density_);
    return chance.mean().item<double>();
  }
  const Tensor& at() const { return at_; }

 private:
  void look(const Tensor& free, Tensor& density, Tensor& gradient) const {
    const Tensor leaf = free.detach().requires_grad_();
    density = model_.log_density(leaf);
    gradient = torch::autograd::grad({density.sum()}, {leaf})[0];
    density = density.detach();
  }

  const Model& model_;
  Tensor at_, density_, gradient_;
};

// Finds the step size at which `kWanted` of the draws are taken.
struct DualAveraging {
  static constexpr double kWanted = 0.8;
  double start = std::log(10 * 0.05), error = 0, step = std::log(0.05), mean = 0;
  int64_t n = 0;

  void learn(double taken) {
    ++n;
    error += (kWanted - taken - error) / (static_cast<double>(n) + 10);
    step = start - std::sqrt(static_cast<double>(n)) / 0.05 * error;
    const double weight = std::pow(static_cast<double>(n), -0.75);
    mean = weight * step + (1 - weight) * mean;
  }
};

// How much wider all draws [draws, chains] scatter than those of a chain: near 1 where the chains have mixed.
double r_hat(const Tensor& draws) {
  const double within = draws.var(0, true).mean().item<double>();
  const double between = draws.mean(0).var(0, true).item<double>();
  const double n = static_cast<double>(draws.size(0));
  return std::sqrt(((n - 1) / n * within + between) / within);
}

std::vector<double> numbers(const Tensor& t) {
  const Tensor flat = t.to(torch::kDouble).contiguous().reshape({-1});
  return {flat.const_data_ptr<double>(), flat.const_data_ptr<double>() + flat.numel()};
}

void sample() {
  for (const auto* flag : {&FLAGS_points, &FLAGS_chains, &FLAGS_warmup, &FLAGS_draws, &FLAGS_leapfrogs})
    examples::check_flag(flag->Name().data(), static_cast<double>(absl::GetFlag(*flag)), 2, 1e6);
  examples::Run run("hmc");
  // A trajectory whose steps are too long leaves all bounds: it is not taken, and no error.
  d::Distribution::set_default_validate_args(false);
  const int64_t points = absl::GetFlag(FLAGS_points), kept = absl::GetFlag(FLAGS_draws);
  Model model{torch::linspace(-3, 3, points, torch::kDouble), {}};
  model.y = d::Normal(kIntercept + kSlope * model.x, kNoise).sample();
  model.y.slice(0, 0, points, 10) += 5;

  Sampler sampler(model, 0.1 * torch::randn({absl::GetFlag(FLAGS_chains), 3}, torch::kDouble));
  DualAveraging steps;
  for (int64_t i = 0; i < absl::GetFlag(FLAGS_warmup); ++i)
    steps.learn(sampler.draw(std::exp(steps.step), absl::GetFlag(FLAGS_leapfrogs)));
  torch::utils::Progress progress(kept, stdout, 0, std::max<int64_t>(1, kept / 5));
  std::vector<Tensor> all;
  double taken = 0;
  for (int64_t i = 0; i < kept; ++i) {
    taken += sampler.draw(std::exp(steps.mean), absl::GetFlag(FLAGS_leapfrogs));
    all.push_back(torch::stack(model.parameters(sampler.at()), -1));
    progress.update(i + 1, examples::format("taken %.2f", taken / static_cast<double>(i + 1)));
  }
  progress.finish();

  const Tensor draws = torch::stack(all);  // [draws, chains, parameters]
  std::printf("%-10s %8s %8s %8s %8s %6s\n", "", "truth", "mean", "5%", "95%", "r-hat");
  double worst = 0;
  const double truth[] = {kIntercept, kSlope, kNoise};
  for (int64_t i = 0; i < 3; ++i) {
    const Tensor one = draws.select(-1, i);
    const auto at = [&](double q) { return one.reshape({-1}).quantile(q).item<double>(); };
    std::printf("%-10s %8.3f %8.3f %8.3f %8.3f %6.3f\n", kNames[i].c_str(), truth[i], one.mean().item<double>(),
                at(0.05), at(0.95), r_hat(one));
    worst = std::max(worst, r_hat(one));
  }
  std::printf("slope %.3f, largest r-hat %.3f; see fit.svg and posterior.svg\n",
              draws.select(-1, 1).mean().item<double>(), worst);

  const Tensor flat = draws.reshape({-1, 3});
  const Tensor lines = flat.select(1, 0).unsqueeze(1) + flat.select(1, 1).unsqueeze(1) * model.x;
  plot::ScatterChart fit{"lines that fit the points", "x", "y", {{"points", numbers(model.x), numbers(model.y)}}};
  for (const auto& [name, q] : {std::pair("5%", 0.05), std::pair("median", 0.5), std::pair("95%", 0.95)})
    fit.groups.push_back({name, numbers(model.x), numbers(lines.quantile(q, 0))});
  plot::write_svg(run.path("fit.svg"), fit);
  plot::ScatterChart posterior{"posterior", "intercept", "slope", {}};
  for (int64_t chain = 0; chain < draws.size(1); ++chain)
    posterior.groups.push_back({examples::format("chain %d", static_cast<int>(chain) + 1),
                                numbers(draws.select(1, chain).select(-1, 0)),
                                numbers(draws.select(1, chain).select(-1, 1))});
  plot::write_svg(run.path("posterior.svg"), posterior);
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "Fits a line to points by Hamiltonian Monte Carlo.", sample);
}
