// Scripts about the engine, modes, checkpoints and forward mode.
#include "aten/aten.h"
#include "autograd/autograd.h"
#include "autograd/checkpoint/checkpoint.h"
#include "autograd/engine/anomaly_mode.h"
#include "autograd/forward_ad.h"
#include "autograd/graph.h"
#include "c10/core/cpu_generator.h"
#include "c10/core/grad_mode.h"
#include "nn/layers/linear.h"
#include "nn/layers/normalization.h"
#include "nn/module/sequential.h"
#include "tests/recorded/autograd_scripts.h"

namespace recorded {
namespace {

namespace forward_ad = torch::autograd::forward_ad;
namespace checkpoints = torch::utils::checkpoint;
using at::Tensor;
using torch::autograd::grad;

Tensor doubles(std::initializer_list<double> values) {
  ScriptRun plain;
  return plain.leaf(values, false);
}

void accumulation_and_none(ScriptRun& r) {
  const Tensor x = r.leaf({1, 2});
  r.log(x.grad());
  (x * 2).sum().backward();
  const Tensor g = x.grad();
  (x * 3).sum().backward();
  r.log(x.grad(), "same tensor:", x.grad().is_same(g));
  x.mutable_grad() = Tensor();
  x.sum().backward({}, std::nullopt, /*create_graph=*/true);
  r.log(x.grad(), x.grad().requires_grad());
}

void backward_needs_scalar(ScriptRun& r) {
  const Tensor x = r.leaf({1, 2});
  r.log(caught([&] { (x * 2).backward(); }));
  (x * 2).backward(doubles({1, 10}));
  r.log(x.grad());
  r.log(caught([&] { (x * 2).backward(doubles({1, 1, 1})); }));
  r.log(caught([&] { at::ones({2}).sum().backward(); }));
  r.log(caught([&] { grad({(x * 2).sum()}, {r.leaf({1})}); }));
  const Tensor unused = grad({(x * 2).sum()}, {r.leaf({1})}, {}, std::nullopt, false, /*allow_unused=*/true)[0];
  r.log("(" + ScriptLog::text(unused) + ",)");
  r.log(grad({(x * 2).sum()}, {r.leaf({1, 2})}, {}, std::nullopt, false, std::nullopt, false,
             /*materialize_grads=*/true)[0]);
}

void second_backward(ScriptRun& r) {
  const Tensor x = r.leaf({1, 2});
  const Tensor y = (x * x).sum();
  y.backward({}, /*retain_graph=*/true);
  y.backward();
  r.log(x.grad());
  r.log(caught([&] { y.backward(); }));
}

void backward_inputs(ScriptRun& r) {
  const Tensor x = r.leaf({1, 2}), w = r.leaf({3, 4});
  const Tensor y = x * w;
  torch::autograd::backward({(y * y).sum()}, {}, std::nullopt, false, {w});
  r.log(x.grad(), w.grad());
  const Tensor y2 = x * w;
  r.log(grad({(y2 * y2).sum()}, {y2, w})[0]);
}

void is_grads_batched(ScriptRun& r) {
  const Tensor x = r.leaf({1, 2});
  r.log(grad({x * x}, {x}, {at::eye(2, at::TensorOptions(at::kDouble))}, std::nullopt, false, std::nullopt,
             /*is_grads_batched=*/true)[0]);
}

void version_errors(ScriptRun& r) {
  const Tensor x = r.leaf({1, 2});
  Tensor y = x.exp();
  r.log("version", static_cast<int64_t>(y._version()));
  y.add_(1);
  r.log("version", static_cast<int64_t>(y._version()));
  r.log(caught([&] { y.sum().backward(); }));
  r.log(caught([&] { r.leaf({1, 2}).add_(1); }));
  r.log(caught([&] { at::slice(r.leaf({1, 2}), 0, 0, 1).add_(1); }));
  Tensor a = doubles({1, 1});
  const Tensor b = a * r.leaf({1, 2});
  {
    const c10::NoGradGuard no_grad;
    a.zero_();
  }
  r.log(caught([&] { b.sum().backward(); }));
}

void save_on_cpu(ScriptRun& r) {
  const Tensor x = r.leaf({1, 2});
  Tensor y;
  {
    torch::autograd::graph::save_on_cpu hooks;
    y = (x.exp() * x).sum();
  }
  y.backward();
  r.log(x.grad());
}

void anomaly_nan(ScriptRun& r) {
  const Tensor x = doubles({-1, 4}).set_requires_grad(true);
  {
    const torch::autograd::DetectAnomalyGuard detect;
    r.log(caught([&] { x.sqrt().sum().backward(); }));
    const Tensor z = doubles({0, 0}).set_requires_grad(true);
    r.log(caught([&] { (z / z).sum().backward(); }));
    const Tensor w = doubles({0, 0}).set_requires_grad(true);
    r.log(caught([&] { at::atan2(w, w).sum().backward(); }));
  }
  {
    const torch::autograd::DetectAnomalyGuard detect(/*check_nan=*/false);
    r.log(torch::autograd::AnomalyMode::is_enabled(), torch::autograd::AnomalyMode::should_check_nan());
    x.mutable_grad() = Tensor();
    x.sqrt().sum().backward();
    r.log(x.grad());
  }
  r.log(torch::autograd::AnomalyMode::is_enabled());
}

void checkpoint_counts(ScriptRun& r) {
  for (const bool reentrant : {true, false}) {
    int n = 0;
    const auto f = [&](const Tensor& a) {
      ++n;
      return (a * a).exp();
    };
    const Tensor x = r.leaf({0.1, 0.2});
    const Tensor y = checkpoints::checkpoint(f, x, checkpoints::CheckpointOptions().use_reentrant(reentrant));
    const int before = n;
    y.sum().backward();
    const Tensor z = at::clone(at::detach(x)).set_requires_grad(true);
    (z * z).exp().sum().backward();
    r.log("reentrant", reentrant, "| calls before backward", before, "| after", n, "| equal to the plain gradient",
          at::equal(x.grad(), z.grad()));
  }
}

void checkpoint_early_stop(ScriptRun& r) {
  for (const bool early : {true, false}) {
    std::vector<std::string> trace;
    const auto f = [&](const Tensor& a) {
      trace.push_back("start");
      const Tensor b = a.exp();
      trace.push_back("middle");
      const Tensor c = b.sin();
      trace.push_back("end");
      return c + 1;
    };
    const Tensor x = r.leaf({0.5});
    Tensor y;
    {
      const checkpoints::set_checkpoint_early_stop stop(early);
      y = checkpoints::checkpoint(f, x);
    }
    y.sum().backward();
    r.log("early stop", early, trace);
  }
}

void checkpoint_nested(ScriptRun& r) {
  int inner_calls = 0, outer_calls = 0;
  const auto inner = [&](const Tensor& a) {
    ++inner_calls;
    return a.sin();
  };
  const auto outer = [&](const Tensor& a) {
    ++outer_calls;
    return checkpoints::checkpoint(inner, a * 2).exp();
  };
  const Tensor x = r.leaf({0.3});
  checkpoints::checkpoint(outer, x).sum().backward();
  r.log("{'outer': " + std::to_string(outer_calls) + ", 'inner': " + std::to_string(inner_calls) + "}", x.grad());
}

void forward_over_reverse(ScriptRun& r) {
  const Tensor x = r.leaf({1, 2});
  forward_ad::dual_level level;
  const Tensor d = forward_ad::make_dual(at::detach(x), doubles({1, 0.5})).requires_grad_();
  const Tensor g = grad({d.pow(3).sum()}, {d}, {}, std::nullopt, /*create_graph=*/true)[0];
  const auto dual = forward_ad::unpack_dual(g);
  r.log(dual.primal, dual.tangent);
}

void zero_grad_and_freeze(ScriptRun& r) {
  namespace nn = torch::nn;
  at::manual_seed(2);
  nn::Linear first(2, 2), last(2, 1);
  nn::Sequential m(first, last);
  for (Tensor& p : first->parameters()) p.requires_grad_(false);
  m(at::ones({1, 2})).sum().backward();
  const auto each = [&](const auto& show) {
    std::string all;
    for (const Tensor& p : m->parameters()) all += (all.empty() ? "" : ", ") + show(p);
    r.log("[" + all + "]");
  };
  const auto magnitude = [](const Tensor& p) {
    return ScriptLog::text(p.grad().defined() ? p.grad().abs().sum() : Tensor());
  };
  each([](const Tensor& p) { return ScriptLog::text(!p.grad().defined()); });
  m->zero_grad(/*set_to_none=*/false);
  each(magnitude);
  m->zero_grad(/*set_to_none=*/true);
  each(magnitude);
}

void batch_norm_modes(ScriptRun& r) {
  namespace nn = torch::nn;
  nn::BatchNorm1d bn(nn::BatchNormOptions(2).momentum(std::nullopt));
  const Tensor x = at::to(at::reshape(doubles({1, 2, 3, 6}), {2, 2}), at::kFloat);
  bn(x);
  bn(x + 1);
  r.log(bn->running_mean, bn->running_var, bn->num_batches_tracked);
  bn->eval();
  r.log("torch.Size(" + c10::str(bn(x).sizes()) + ")");
  r.log(caught([&] { nn::BatchNorm1d(2)(at::slice(x, 0, 0, 1)); }));
  r.log(caught([&] { nn::BatchNorm2d(2)(x); }));
}

}  // namespace

const std::map<std::string, Script>& engine_scripts() {
  static const std::map<std::string, Script> all = {
#define SCRIPT(name) {#name, name}
      SCRIPT(accumulation_and_none), SCRIPT(backward_needs_scalar), SCRIPT(second_backward),
      SCRIPT(backward_inputs),       SCRIPT(is_grads_batched),      SCRIPT(version_errors),
      SCRIPT(save_on_cpu),           SCRIPT(anomaly_nan),           SCRIPT(checkpoint_counts),
      SCRIPT(checkpoint_early_stop), SCRIPT(checkpoint_nested),     SCRIPT(forward_over_reverse),
      SCRIPT(zero_grad_and_freeze),  SCRIPT(batch_norm_modes),
#undef SCRIPT
  };
  return all;
}

}  // namespace recorded
