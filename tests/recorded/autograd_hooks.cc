// Scripts about hooks and saved tensors.
#include "aten/aten.h"
#include "autograd/autograd.h"
#include "autograd/graph.h"
#include "tests/recorded/autograd_scripts.h"

namespace recorded {
namespace {

namespace graph = torch::autograd::graph;
using at::Tensor;
using torch::autograd::variable_list;

void tensor_hooks_order(ScriptRun& r) {
  const Tensor x = r.leaf({1, 2});
  const Tensor y = x * 2;
  x.register_hook([&](const Tensor& g) { r.log("x hook 1", g); });
  x.register_hook([&](const Tensor& g) { r.log("x hook 2", g); });
  y.register_hook([&](const Tensor& g) { r.log("y hook", g); });
  y.sum().backward();
  r.log("grad", x.grad());
}

void tensor_hook_replaces_gradient(ScriptRun& r) {
  const Tensor x = r.leaf({1, 2});
  const Tensor y = x * 3;
  y.register_hook([](const Tensor& g) { return g * 10; });
  y.register_hook([&](const Tensor& g) { r.log("second hook sees", g); });
  x.register_hook([](const Tensor& g) { return g + 1; });
  y.sum().backward();
  r.log("grad", x.grad());
}

void hook_removed(ScriptRun& r) {
  const Tensor x = r.leaf({1});
  const auto first = x.register_hook([&](const Tensor&) { r.log("never"); });
  const auto second = x.register_hook([&](const Tensor& g) { r.log("kept", g); });
  x.remove_hook(first);
  (x * 2).sum().backward();
  x.remove_hook(second);
  (x * 2).sum().backward();
  r.log("grad", x.grad());
}

void hook_on_intermediate_with_two_uses(ScriptRun& r) {
  const Tensor x = r.leaf({1, 2});
  const Tensor y = x * x;
  y.register_hook([&](const Tensor& g) { r.log("y hook once with the sum", g); });
  (y * 2 + y * 3).sum().backward();
  r.log("grad", x.grad());
}

void hook_before_inplace(ScriptRun& r) {
  const Tensor x = r.leaf({1, 2});
  Tensor y = x * 2;
  y.register_hook([&](const Tensor& g) { r.log("registered before the in-place change", g); });
  y.mul_(5);
  y.register_hook([&](const Tensor& g) { r.log("registered after the in-place change", g); });
  y.sum().backward();
  r.log("grad", x.grad());
}

void retain_grad(ScriptRun& r) {
  const Tensor x = r.leaf({1, 2});
  const Tensor y = x * 2;
  y.retain_grad();
  y.retain_grad();
  const Tensor z = y * 3;
  r.log("retains_grad", x.retains_grad(), y.retains_grad(), z.retains_grad());
  z.sum().backward();
  r.log("y.grad", y.grad(), "x.grad", x.grad());
}

void retain_grad_and_hook_order(ScriptRun& r) {
  const Tensor x = r.leaf({1, 2});
  const Tensor y = x * 2;
  y.retain_grad();
  y.register_hook([](const Tensor& g) { return g * 100; });
  y.sum().backward();
  r.log("y.grad", y.grad());
  r.log("x.grad", x.grad());
}

void post_accumulate_hook(ScriptRun& r) {
  const Tensor x = r.leaf({1, 2});
  x.register_post_accumulate_grad_hook([&](const Tensor& p) { r.log("after accumulation", p.grad()); });
  x.register_hook([&](const Tensor& g) { r.log("tensor hook", g); });
  (x * 2).sum().backward();
  (x * 3).sum().backward();
  r.log(caught([&] { (x * 2).register_post_accumulate_grad_hook([](const Tensor&) {}); }));
}

void node_hooks_order(ScriptRun& r) {
  const Tensor x = r.leaf({1, 2});
  const Tensor y = x * 2;
  graph::register_prehook(y.grad_fn(), [&](const variable_list& go) {
    r.log("node prehook", go[0]);
    return go;
  });
  y.register_hook([&](const Tensor& g) { r.log("tensor prehook", g); });
  graph::register_hook(y.grad_fn(), [&](const variable_list& gi, const variable_list& go) {
    r.log("node posthook: in", gi[0], "out", go[0]);
    return gi;
  });
  y.sum().backward();
}

void node_prehook_replaces(ScriptRun& r) {
  const Tensor x = r.leaf({1, 2});
  const Tensor y = x * 2;
  graph::register_prehook(y.grad_fn(), [](const variable_list& go) { return variable_list{go[0] * 10}; });
  graph::register_hook(y.grad_fn(), [](const variable_list& gi, const variable_list&) {
    variable_list replaced = gi;
    replaced[0] = gi[0] + 1;
    return replaced;
  });
  y.sum().backward();
  r.log(x.grad());
}

void multi_grad_hook(ScriptRun& r) {
  const Tensor a = r.leaf({1}), b = r.leaf({2}), c = r.leaf({3});
  const auto all =
      graph::register_multi_grad_hook({a, b, c}, [&](const variable_list& gs) { r.log("all:", gs[0], gs[1], gs[2]); });
  const auto any = graph::register_multi_grad_hook(
      {a, b, c}, [&](const Tensor& g) { r.log("any:", g); }, "any");
  (a * 2 + b * 3).sum().backward();
}

void saved_tensors_hooks(ScriptRun& r) {
  const Tensor x = r.leaf({1, 2}), w = r.leaf({3, 4});
  Tensor z;
  {
    graph::saved_tensors_hooks hooks(
        [&](const Tensor& s) {
          r.log("pack", s);
          return s * 1;
        },
        [&](const Tensor& s) {
          r.log("unpack", s);
          return s;
        });
    z = (x * w).exp().sum();
  }
  r.log("backward");
  z.backward();
  r.log(x.grad().defined(), w.grad().defined());
}

void saved_tensors_hooks_nested(ScriptRun& r) {
  const auto pack = [&](const char* name) {
    return [&r, name](const Tensor& s) {
      r.log("pack", name);
      return s;
    };
  };
  const auto unpack = [&](const char* name) {
    return [&r, name](const Tensor& s) {
      r.log("unpack", name);
      return s;
    };
  };
  const Tensor x = r.leaf({1, 2});
  Tensor c;
  {
    graph::saved_tensors_hooks outer(pack("outer"), unpack("outer"));
    const Tensor a = x * x;
    Tensor b;
    {
      graph::saved_tensors_hooks inner(pack("inner"), unpack("inner"));
      b = a * a;
    }
    c = b.exp();
  }
  c.sum().backward();
}

void saved_tensors_hooks_errors(ScriptRun& r) {
  const auto same = [](const Tensor& s) { return s; };
  const Tensor x = r.leaf({1, 2});
  {
    graph::saved_tensors_hooks hooks([](Tensor s) { return s.mul_(2); }, same);
    r.log(caught([&] { x.exp(); }));
  }
  r.log.not_in_cpp("an unpack hook that returns a text does not compile");
  graph::disable_saved_tensors_hooks disabled("not here");
  r.log(caught([&] { graph::saved_tensors_hooks hooks(same, same); }));
}

}  // namespace

const std::map<std::string, Script>& hook_scripts() {
  static const std::map<std::string, Script> all = {
#define SCRIPT(name) {#name, name}
      SCRIPT(tensor_hooks_order),
      SCRIPT(tensor_hook_replaces_gradient),
      SCRIPT(hook_removed),
      SCRIPT(hook_on_intermediate_with_two_uses),
      SCRIPT(hook_before_inplace),
      SCRIPT(retain_grad),
      SCRIPT(retain_grad_and_hook_order),
      SCRIPT(post_accumulate_hook),
      SCRIPT(node_hooks_order),
      SCRIPT(node_prehook_replaces),
      SCRIPT(multi_grad_hook),
      SCRIPT(saved_tensors_hooks),
      SCRIPT(saved_tensors_hooks_nested),
      SCRIPT(saved_tensors_hooks_errors),
#undef SCRIPT
  };
  return all;
}

}  // namespace recorded
