// Scripts about functions with their own derivatives.
#include "aten/aten.h"
#include "autograd/autograd.h"
#include "autograd/forward_ad.h"
#include "autograd/function/custom_function.h"
#include "tests/recorded/autograd_scripts.h"

namespace recorded {
namespace {

namespace forward_ad = torch::autograd::forward_ad;
using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

ScriptLog* current_log;

struct Scale : Function<Scale> {
  static std::string needs(const AutogradContext* ctx) {
    return tuple({ctx->needs_input_grad(0), ctx->needs_input_grad(1), ctx->needs_input_grad(2)});
  }
  static Tensor forward(AutogradContext* ctx, const Tensor& x, double k, const Tensor& w) {
    ctx->saved_data["k"] = k;
    ctx->save_for_backward({x, w});
    (*current_log)("needs_input_grad", needs(ctx));
    return x * k * w;
  }
  static variable_list backward(AutogradContext* ctx, variable_list g) {
    const variable_list saved = ctx->get_saved_variables();
    const double k = ctx->saved_data["k"].toDouble();
    (*current_log)("backward needs_input_grad", needs(ctx));
    return {g[0] * k * saved[1], Tensor(), ctx->needs_input_grad(2) ? g[0] * k * saved[0] : Tensor()};
  }
};

void custom_function(ScriptRun& r) {
  current_log = &r.log;
  const Tensor x = r.leaf({1, 2}), w = r.leaf({3, 4}, false);
  const Tensor y = Scale::apply(x, 5.0, w);
  r.log(y, python_class(*y.grad_fn()));
  y.sum().backward();
  r.log(x.grad(), w.grad());
}

struct Two : Function<Two> {
  static variable_list forward(AutogradContext* ctx, const Tensor& x) {
    const Tensor index = at::arange(2);
    ctx->mark_non_differentiable({index});
    ctx->set_materialize_grads(false);
    return {x * 2, x * 3, index};
  }
  static variable_list backward(AutogradContext*, variable_list g) {
    (*current_log)("cotangents", g[0], g[1], g[2]);
    return {g[0].defined() ? g[0] * 2 : g[1] * 3};
  }
};

struct Dirty : Function<Dirty> {
  static Tensor forward(AutogradContext* ctx, Tensor x) {
    ctx->mark_dirty({x});
    return x.mul_(2);
  }
  static variable_list backward(AutogradContext*, variable_list g) { return {g[0] * 2}; }
};

void custom_function_marks(ScriptRun& r) {
  current_log = &r.log;
  const Tensor x = r.leaf({1, 2});
  const variable_list results = Two::apply(x);
  r.log(results[0].requires_grad(), results[1].requires_grad(), results[2].requires_grad());
  results[1].sum().backward();
  r.log(x.grad());
  const Tensor z = r.leaf({1, 2});
  const Tensor y = z * 1;
  const Tensor out = Dirty::apply(y);
  r.log(out.is_same(y), static_cast<int64_t>(y._version()));
  out.sum().backward();
  r.log(z.grad());
}

struct Wrong : Function<Wrong> {
  static Tensor forward(AutogradContext*, const Tensor& x) { return x * 2; }
  static variable_list backward(AutogradContext*, variable_list g) { return {g[0], g[0]}; }
};

struct Shape : Function<Shape> {
  static Tensor forward(AutogradContext*, const Tensor& x) { return x * 2; }
  static variable_list backward(AutogradContext*, variable_list g) { return {at::slice(g[0], 0, 0, 1)}; }
};

struct Once : Function<Once> {
  static constexpr bool once_differentiable = true;
  static Tensor forward(AutogradContext*, const Tensor& x) { return x * x; }
  static variable_list backward(AutogradContext*, variable_list g) { return {g[0] * 2}; }
};

void custom_function_errors(ScriptRun& r) {
  r.log(caught([&] { Wrong::apply(r.leaf({1})).sum().backward(); }));
  r.log(caught([&] { Shape::apply(r.leaf({1, 2})).sum().backward(); }));
  const Tensor x = r.leaf({1, 2});
  const Tensor g = torch::autograd::grad({Once::apply(x).sum()}, {x}, {}, std::nullopt, /*create_graph=*/true)[0];
  r.log(caught([&] { g.sum().backward(); }));
}

struct Square : Function<Square> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x) {
    ctx->saved_data["x"] = x;
    return x * x;
  }
  static variable_list backward(AutogradContext* ctx, variable_list g) {
    return {g[0] * 2 * ctx->saved_data["x"].toTensor()};
  }
  static Tensor jvp(AutogradContext* ctx, variable_list tangents) {
    return tangents[0] * 2 * ctx->saved_data["x"].toTensor();
  }
};

void custom_function_forward_mode(ScriptRun& r) {
  forward_ad::dual_level level;
  const Tensor y = Square::apply(forward_ad::make_dual(r.leaf({1, 2}, false), doubles({1, 1})));
  const auto [primal, tangent] = forward_ad::unpack_dual(y);
  r.log(primal, tangent);
}

}  // namespace

const std::map<std::string, Script>& function_scripts() {
  static const std::map<std::string, Script> all = {
#define SCRIPT(name) {#name, name}
      SCRIPT(custom_function),
      SCRIPT(custom_function_marks),
      SCRIPT(custom_function_errors),
      SCRIPT(custom_function_forward_mode),
#undef SCRIPT
  };
  return all;
}

}  // namespace recorded
