// Scripts about the engine, what it records, anomaly mode and forward mode.
#include "aten/aten.h"
#include "autograd/autograd.h"
#include "autograd/engine/anomaly_mode.h"
#include "autograd/engine/generic_node.h"
#include "autograd/forward_ad.h"
#include "autograd/graph.h"
#include "c10/core/grad_mode.h"
#include "tests/recorded/autograd_scripts.h"

namespace recorded {
namespace {

namespace forward_ad = torch::autograd::forward_ad;
using at::Tensor;
using torch::autograd::grad;

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

void anomaly_warning_text(ScriptRun& r) {
  CollectedWarnings warnings;
  const Tensor x = doubles({-1}).set_requires_grad(true);
  {
    const torch::autograd::DetectAnomalyGuard detect;
    (void)caught([&] { x.log().sqrt().sum().backward(); });
  }
  for (std::string& text : warnings.texts) text.resize(std::min(text.size(), text.find(". Traceback")));
  r.log(warnings.texts);
}

void views_and_inplace(ScriptRun& r) {
  const Tensor x = r.leaf({1, 2, 3, 4});
  const Tensor y = x * 1;
  Tensor v = at::slice(y, 0, 1, 3);
  v.mul_(10);
  r.log(at::detach(y), python_class(*v.grad_fn()), python_class(*y.grad_fn()));
  y.sum().backward();
  r.log(x.grad());
  const Tensor z = (x * 1).view({2, 2});
  z.select(0, 0).zero_();
  x.mutable_grad() = Tensor();
  z.sum().backward();
  r.log(x.grad(), z.is_view(), z._base().defined());
  r.log(x.detach()._version(), x.variable_data()._version());
  const auto u = (x * 1).unbind(0);
  r.log(caught([&] { Tensor(u[0]).mul_(2); }));
  Tensor q;
  {
    const c10::NoGradGuard no_grad;
    q = x.view({2, 2});
  }
  r.log(caught([&] { q.mul_(2); }));
}

// Python makes a tensor of a number; C++ has operators of their own for numbers, whose nodes are called MulBackward1.
Tensor number(double value) {
  return at::full({}, value, at::TensorOptions(at::kDouble));
}

void graph_names(ScriptRun& r) {
  const Tensor x = r.leaf({1, 2, 3, 4});
  const Tensor y = x.view({2, 2});
  r.log(x.is_leaf(), y.is_leaf(), x.grad_fn() == nullptr ? "None" : x.grad_fn()->name(), y.grad_fn()->name());
  const Tensor z = at::matmul(y, y.t()).relu().sum() * number(2) - number(1);
  std::vector<std::string> names;
  for (torch::autograd::NodePtr node = z.grad_fn(); node != nullptr;) {
    names.push_back(node->name());
    node = node->num_outputs() > 0 ? node->next_edge(0).function : nullptr;
  }
  r.log(names);
  names.clear();
  for (const auto& edge : (x * number(2) + x.sum() * number(3)).grad_fn()->next_edges())
    names.push_back(edge.is_valid() ? edge.function->name() : "None");
  r.log(names);
  r.log(x.split(2)[1].output_nr(), at::ones({1}).is_leaf(), x.detach().is_leaf(), x.clone().is_leaf());
}

// A node's tensors by their place: C++ has no names for them.
void raw_saved_tensors(ScriptRun& r) {
  using torch::autograd::GenericNode;
  const auto node_of = [](const Tensor& t) -> GenericNode& { return static_cast<GenericNode&>(*t.grad_fn()); };
  const Tensor x = r.leaf({1, 2});
  const Tensor y = x.exp();
  const Tensor result = node_of(y).saved(0).get();
  r.log("saved result is the output:", result.is_same(y), result);
  const Tensor z = x.pow(3);
  // The exponent is all that is kept beside.
  r.log(node_of(z).extra<c10::Scalar>().toLong(), node_of(z).saved(0).get());
  z.sum().backward();
  r.log(caught([&] { (void)node_of(z).saved(0).get(); }));
}

void forward_mode_rules(ScriptRun& r) {
  using forward_ad::make_dual;
  const auto tangent = [](const Tensor& t) { return forward_ad::unpack_dual(t).tangent; };
  const Tensor x = r.leaf({1, 2}, false), v = doubles({1, 0.5});
  Tensor d;
  {
    forward_ad::dual_level level;
    d = make_dual(x, v);
    const Tensor y = d * d + 1;
    const auto [primal, along] = forward_ad::unpack_dual(y);
    r.log(primal, along);
    r.log(tangent(x), tangent(y.detach()));
    Tensor w = doubles({0, 0});
    w.copy_(d);
    r.log("in place carries the tangent", tangent(w));
    r.log("view", tangent(at::slice(d, 0, 0, 1)));
    r.log("integer result", tangent(d > 1));
    {
      const c10::NoGradGuard no_grad;
      r.log("no_grad", tangent(d * 2));
    }
    r.log(caught([&] { make_dual(x, doubles({1, 1, 1})); }));
    r.log(caught([&] { make_dual(x, at::ones({2})); }));
    const Tensor whole = at::ones({2}, at::TensorOptions(at::kLong));
    r.log(caught([&] { make_dual(whole, whole); }));
    r.log.not_in_cpp("levels nest here");
  }
  r.log(tangent(d));
  r.log(caught([&] { make_dual(x, v); }));
}

void forward_over_reverse(ScriptRun& r) {
  const Tensor x = r.leaf({1, 2});
  forward_ad::dual_level level;
  const Tensor d = forward_ad::make_dual(at::detach(x), doubles({1, 0.5})).requires_grad_();
  const Tensor g = grad({d.pow(3).sum()}, {d}, {}, std::nullopt, /*create_graph=*/true)[0];
  const auto dual = forward_ad::unpack_dual(g);
  r.log(dual.primal, dual.tangent);
}

}  // namespace

const std::map<std::string, Script>& engine_scripts() {
  static const std::map<std::string, Script> all = {
#define SCRIPT(name) {#name, name}
      SCRIPT(accumulation_and_none),
      SCRIPT(backward_needs_scalar),
      SCRIPT(second_backward),
      SCRIPT(backward_inputs),
      SCRIPT(is_grads_batched),
      SCRIPT(version_errors),
      SCRIPT(save_on_cpu),
      SCRIPT(anomaly_nan),
      SCRIPT(anomaly_warning_text),
      SCRIPT(forward_over_reverse),
      SCRIPT(forward_mode_rules),
      SCRIPT(raw_saved_tensors),
      SCRIPT(views_and_inplace),
      SCRIPT(graph_names),
#undef SCRIPT
  };
  return all;
}

}  // namespace recorded
