// A normalising flow (Dinh and others, https://arxiv.org/abs/1605.08803): a normal distribution, bent by invertible
// layers until it is that of the data. Layers are transforms of the program's own, densities come from
// TransformedDistribution.
//
//   ./bazelw run //examples/normalizing_flow
#include <absl/flags/flag.h>
#include <torch/torch.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include "distributions/distributions.h"
#include "examples/common/run.h"
#include "utils/plot/heat_map.h"
#include "utils/plot/scatter_chart.h"

ABSL_FLAG(int64_t, layers, 6, "coupling layers");
ABSL_FLAG(int64_t, hidden, 64, "features of a layer's net");
ABSL_FLAG(int64_t, batch, 256, "points a step");
ABSL_FLAG(int64_t, steps, 2000, "training steps");
ABSL_FLAG(double, learning_rate, 3e-3, "highest learning rate; it falls to zero along a cosine");

namespace {

namespace d = torch::distributions;
namespace nn = torch::nn;
namespace plot = torch::utils::plot;
using torch::Tensor;

// Two half circles that reach into each other: [n, 2].
Tensor moons(int64_t n) {
  const Tensor angle = std::numbers::pi * d::Uniform(torch::zeros({n}), 1.0).sample();
  const Tensor lower = d::Bernoulli(torch::full({n}, 0.5)).sample();
  const Tensor sign = 1 - 2 * lower;
  const Tensor x = sign * angle.cos() + lower, y = sign * angle.sin() + 0.5 * lower;
  const Tensor places = torch::stack({x - 0.5, y - 0.25}, -1);
  return d::Normal(places, 0.07).sample();
}

// One of two coordinates stays and says how the other is scaled and moved: easily inverted, whatever the net.
struct Coupling final : d::TransformImpl {
  Coupling(nn::Sequential net, int64_t kept) : net(std::move(net)), kept(kept) {}
  d::Constraint domain() const override { return d::constraints::real_vector(); }
  d::Constraint codomain() const override { return d::constraints::real_vector(); }
  bool is_bijective() const override { return true; }
  std::string name() const override { return "Coupling"; }

  Tensor forward(const Tensor& x) const override { return moved(x, /*back=*/false); }
  Tensor inverse(const Tensor& y) const override { return moved(y, /*back=*/true); }
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor&) const override { return scale_and_shift(x)[0]; }

  // The logarithm of the scale, and the shift, of what is kept.
  std::vector<Tensor> scale_and_shift(const Tensor& x) const {
    const std::vector<Tensor> both = nn::Sequential(net)->forward(x.narrow(-1, kept, 1)).unbind(-1);
    return {2 * both[0].tanh(), both[1]};
  }
  Tensor moved(const Tensor& x, bool back) const {
    const std::vector<Tensor> how = scale_and_shift(x);
    const Tensor fixed = x.select(-1, kept), other = x.select(-1, 1 - kept);
    const Tensor changed = back ? (other - how[1]) * (-how[0]).exp() : other * how[0].exp() + how[1];
    return kept == 0 ? torch::stack({fixed, changed}, -1) : torch::stack({changed, fixed}, -1);
  }

  nn::Sequential net;
  const int64_t kept;
};

struct Flow {
  Flow(int64_t layers, int64_t hidden) {
    std::vector<d::Transform> transforms;
    for (int64_t i = 0; i < layers; ++i) {
      nn::Sequential net(nn::Linear(1, hidden), nn::Tanh(), nn::Linear(hidden, hidden), nn::Tanh(),
                         nn::Linear(hidden, 2));
      nets->push_back(net);
      transforms.push_back(d::Transform(std::make_shared<Coupling>(net, i % 2)));
    }
    distribution = d::TransformedDistribution(d::Normal(torch::zeros({2}), 1.0), transforms);
  }
  nn::ModuleList nets;
  d::TransformedDistribution distribution;
};

double nats(const Flow& flow, const Tensor& points) {
  torch::NoGradGuard no_grad;
  return -flow.distribution.log_prob(points).mean().item<double>();
}

std::vector<double> numbers(const Tensor& t) {
  const Tensor flat = t.to(torch::kDouble).contiguous();
  return {flat.const_data_ptr<double>(), flat.const_data_ptr<double>() + flat.numel()};
}

// Points of the data beside those of the flow, and the flow's density.
void draw(examples::Run& run, const Flow& flow) {
  torch::NoGradGuard no_grad;
  const Tensor data = moons(1000), drawn = flow.distribution.sample({1000});
  plot::ScatterChart chart{"data and samples", "x", "y", {}};
  chart.groups = {{"data", numbers(data.select(1, 0)), numbers(data.select(1, 1))},
                  {"samples", numbers(drawn.select(1, 0)), numbers(drawn.select(1, 1))}};
  plot::write_svg(run.path("samples.svg"), chart);

  constexpr int64_t kCells = 60;
  const Tensor side = torch::linspace(-2, 2, kCells);
  const Tensor grid = torch::stack({side.repeat({kCells}), (-side).repeat_interleave(kCells)}, -1);
  const Tensor density = flow.distribution.log_prob(grid).exp().reshape({kCells, kCells});
  plot::HeatMap map{"density", {}, {}, {}, 8};
  for (int64_t row = 0; row < kCells; ++row) map.values.push_back(numbers(density[row]));
  plot::write_svg(run.path("density.svg"), map);
}

void train() {
  for (const auto* flag : {&FLAGS_layers, &FLAGS_hidden, &FLAGS_batch, &FLAGS_steps})
    examples::check_flag(flag->Name().data(), static_cast<double>(absl::GetFlag(*flag)), 1, 1e6);
  examples::Run run("normalizing_flow");
  const Flow flow(absl::GetFlag(FLAGS_layers), absl::GetFlag(FLAGS_hidden));
  const Tensor test = moons(2000);
  torch::optim::Adam optimizer(flow.nets->parameters(), absl::GetFlag(FLAGS_learning_rate));
  const int64_t steps = absl::GetFlag(FLAGS_steps), shown = std::max<int64_t>(1, steps / 20);
  torch::utils::Progress progress(steps, stdout, 0, std::max<int64_t>(1, steps / 5));
  for (int64_t step = 0; step < steps; ++step) {
    optimizer.param_groups()[0].options().set_lr(absl::GetFlag(FLAGS_learning_rate) * examples::cosine(step, steps));
    optimizer.zero_grad();
    const Tensor loss = -flow.distribution.log_prob(moons(absl::GetFlag(FLAGS_batch))).mean();
    loss.backward();
    torch::nn::utils::clip_grad_norm_(flow.nets->parameters(), 5);
    optimizer.step();
    if ((step + 1) % shown == 0) {
      run.scalar("nats/train", loss.item<double>(), step + 1);
      run.scalar("nats/test", nats(flow, test), step + 1);
    }
    progress.update(step + 1, examples::format("nats %.3f", loss.item<double>()));
  }
  progress.finish();
  draw(run, flow);
  run.draw("nats.svg", "-log p(point), in nats", {"nats/train", "nats/test"});
  // The normal distribution of the data's mean and covariance, to compare with.
  const Tensor centred = test - test.mean(0);
  const Tensor covariance = torch::matmul(centred.t(), centred) / static_cast<double>(test.size(0));
  const double normal = -d::MultivariateNormal(test.mean(0), covariance).log_prob(test).mean().item<double>();
  std::printf("a normal distribution: %.3f nats a point, the flow: %.3f; see density.svg and samples.svg\n", normal,
              nats(flow, test));
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "Bends a normal distribution into two moons.", train);
}
