// torch.func and torch.autograd.functional: transforms of functions that are written here under their names, and what they refuse.
#include "func/functional.h"
#include "func/functionalize.h"
#include "func/modules.h"
#include "func/transforms.h"
#include "func/vmap.h"

#include <functional>
#include <map>

#include "aten/aten.h"
#include "c10/core/cpu_generator.h"
#include "c10/util/exception.h"
#include "nn/layers/layers.h"
#include "nn/module/sequential.h"
#include "tests/recorded/families.h"

namespace recorded {
namespace {

using namespace torch::func;
using at::Tensor;
using Tensors = std::vector<Tensor>;
using Scalar1 = std::function<Tensor(const Tensor&)>;
using Vector1 = std::function<Tensors(const Tensor&)>;
using Scalar2 = std::function<Tensor(const Tensor&, const Tensor&)>;

const std::map<std::string, Scalar1>& scalar_functions() {
  static const std::map<std::string, Scalar1> all = {
      {"sum(sin(x) ** 2)", [](const Tensor& x) { return x.sin().pow(2).sum(); }},
      {"prod(x)", [](const Tensor& x) { return x.prod(); }},
      {"logsumexp(x, -1).sum()", [](const Tensor& x) { return at::logsumexp(x, -1).sum(); }},
      {"sum(x ** 3) + sum(exp(x))", [](const Tensor& x) { return x.pow(3).sum() + x.exp().sum(); }},
      {"sum(softmax(x, -1) * arange(n))",
       [](const Tensor& x) { return (at::softmax(x, -1) * at::arange(x.size(-1), x.options())).sum(); }},
      {"norm(x) + sum(where(x > 0, x * x, 0.1 * x))",
       [](const Tensor& x) { return x.norm() + at::where(x > 0, x * x, 0.1 * x).sum(); }},
      {"sum(cumsum(x, 0) * cumprod(x, 0))", [](const Tensor& x) { return (x.cumsum(0) * x.cumprod(0)).sum(); }},
      {"sum(x.reshape(-1)[1:] * sort(x.reshape(-1)).values[:-1])",
       [](const Tensor& x) {
         const Tensor flat = x.reshape({-1});
         return (flat.slice(0, 1) * std::get<0>(flat.sort()).slice(0, 0, -1)).sum();
       }},
      {"sum(gelu(x) * sigmoid(x))", [](const Tensor& x) { return (at::gelu(x) * x.sigmoid()).sum(); }},
      {"sum(max(x, -1).values) - mean(x)",
       [](const Tensor& x) { return std::get<0>(x.max(-1)).sum() - x.mean(); }},
  };
  return all;
}

const std::map<std::string, Vector1>& vector_functions() {
  static const std::map<std::string, Vector1> all = {
      {"sin(x) * cos(flip(x, 0))", [](const Tensor& x) { return Tensors{x.sin() * x.flip(0).cos()}; }},
      {"outer(x, x ** 2)", [](const Tensor& x) { return Tensors{at::outer(x, x.pow(2))}; }},
      {"(x ** 2, cat(x, exp(x)))", [](const Tensor& x) { return Tensors{x.pow(2), at::cat({x, x.exp()})}; }},
      {"softmax(x, 0)", [](const Tensor& x) { return Tensors{at::softmax(x, 0)}; }},
      {"cumprod(x, 0) / (1 + x * x)", [](const Tensor& x) { return Tensors{x.cumprod(0) / (1 + x * x)}; }},
      {"stack((x, x * sum(x)))", [](const Tensor& x) { return Tensors{at::stack({x, x * x.sum()})}; }},
  };
  return all;
}

const std::map<std::string, Scalar2>& functions_of_two() {
  static const std::map<std::string, Scalar2> all = {
      {"sum(x @ y)", [](const Tensor& x, const Tensor& y) { return x.matmul(y).sum(); }},
      {"sum(sin(x) * y.T)", [](const Tensor& x, const Tensor& y) { return (x.sin() * y.t()).sum(); }},
      {"sum((x @ y) ** 2) + sum(x * x)",
       [](const Tensor& x, const Tensor& y) { return x.matmul(y).pow(2).sum() + (x * x).sum(); }},
  };
  return all;
}

const std::map<std::string, Scalar1>& random_functions() {
  static const std::map<std::string, Scalar1> all = {
      {"x + rand(3)", [](const Tensor& x) { return x + at::rand({3}); }},
      {"x + randn_like(x)", [](const Tensor& x) { return x + at::randn_like(x); }},
      {"dropout(x, 0.5)", [](const Tensor& x) { return at::dropout(x, 0.5, true); }},
      {"x * bernoulli(full(3, 0.4))", [](const Tensor& x) { return x * at::bernoulli(at::full({3}, 0.4)); }},
      {"x + randint(0, 9, (3,))", [](const Tensor& x) { return x + at::randint(0, 9, {3}); }},
  };
  return all;
}

Tensor with_writes(const Tensor& x) {
  Tensor y = at::clone(x);
  y.mul_(2);
  y.select(0, 0).add_(x.select(0, 1));
  Tensor z = y.view({-1});
  z.slice(0, 0, std::nullopt, 2).fill_(0);
  return y.sin() + z.sum();
}

Tensor mlp(const Tensor& w1, const Tensor& b1, const Tensor& w2, const Tensor& b2, const Tensor& x) {
  return at::tanh(x.matmul(w1.t()) + b1).matmul(w2.t()) + b2;
}
Tensor mlp_loss(const Tensor& w1, const Tensor& b1, const Tensor& w2, const Tensor& b2, const Tensor& x, const Tensor& y) {
  return (mlp(w1, b1, w2, b2, x) - y).pow(2).mean();
}

// A case: its inputs, and what it compares.
struct Case {
  const Json& one;
  Check& check;
  Tensors in;  // flattened

  Case(const Json& one, Check& check) : one(one), check(check) {
    for (const Json& leaf : leaves(read(one, "inputs"))) in.push_back(check.recordings().tensor(leaf));
  }
  std::string transform() const { return read(one, "transform"); }
  std::string function() const { return read(one, "function"); }

  static std::vector<Json> leaves(const Json& v) {
    if (v.is_object() && v.contains("tensor")) return {v};
    std::vector<Json> all;
    for (const Json& part : v) {
      for (Json& leaf : leaves(part)) all.push_back(std::move(leaf));
    }
    return all;
  }
  // Results of any structure, of the derivatives' order.
  template <typename T>
  void expect(T results, double factor) {
    const std::vector<Tensor*> got = tensors_in(results);
    const std::vector<Json> recorded = leaves(read(one, "outputs"));
    check.expect(got.size() == recorded.size(), "as many results");
    for (size_t i = 0; i < got.size() && i < recorded.size(); ++i) {
      check.tensor("result " + std::to_string(i), *got[i], recorded[i], factor);
    }
  }
};

constexpr double kFirst = 10, kSecond = 100;

bool of_scalars(Case& c) {
  const auto found = scalar_functions().find(c.function());
  if (found == scalar_functions().end()) return false;
  const Scalar1& f = found->second;
  const Tensor& x = c.in[0];
  const std::string t = c.transform();
  const auto squares = [](const Tensor& g) { return g.pow(2).sum(); };
  namespace classic = torch::autograd::functional;
  if (t == "grad(f)") {
    c.expect(grad(f)(x), kFirst);
  } else if (t == "grad_and_value(f)") {
    c.expect(grad_and_value(f)(x), kFirst);
  } else if (t == "hessian(f)") {
    c.expect(hessian(f)(x), kSecond);
  } else if (t == "jacfwd(jacrev(f))") {
    c.expect(jacfwd(jacrev(f))(x), kSecond);
  } else if (t == "jacrev(jacrev(f))") {
    c.expect(jacrev(jacrev(f))(x), kSecond);
  } else if (t == "jvp(grad(f), (x,), (v,))") {
    c.expect(jvp(grad(f), std::tuple(x), std::tuple(c.in[1])), kSecond);
  } else if (t == "vjp(grad(f), x)[1](v)") {
    c.expect(vjp(grad(f), x).second(c.in[1]), kSecond);
  } else if (t == "vmap(grad(f))") {
    c.expect(vmap(grad(f))(x), kFirst);
  } else if (t == "vmap(hessian(f))") {
    c.expect(vmap(hessian(f))(x), kSecond);
  } else if (t == "grad(lambda x: sum(grad(f)(x) ** 2))") {
    c.expect(grad([&](const Tensor& p) { return squares(grad(f)(p)); })(x), kSecond);
  } else if (t == "grad(lambda x: sum(vmap(grad(f))(x) ** 2))") {
    c.expect(grad([&](const Tensor& p) { return squares(vmap(grad(f))(p)); })(x), kSecond);
  } else if (t == "autograd.functional.hessian(f, x)") {
    c.expect(classic::hessian(f, x), kSecond);
  } else if (t == "autograd.functional.hvp(f, x, v)") {
    c.expect(classic::hvp(f, x, c.in[1]), kSecond);
  } else if (t == "autograd.functional.vhp(f, x, v)") {
    c.expect(classic::vhp(f, x, c.in[1]), kSecond);
  } else {
    refuse_value("transform", t);
  }
  return true;
}

bool of_vectors(Case& c) {
  const auto found = vector_functions().find(c.function());
  if (found == vector_functions().end()) return false;
  const Vector1& f = found->second;
  const Tensor& x = c.in[0];
  const std::string t = c.transform();
  if (t == "jacrev(f)") {
    c.expect(jacrev(f)(x), kFirst);
  } else if (t == "jacfwd(f)") {
    c.expect(jacfwd(f)(x), kFirst);
  } else if (t == "jacrev(f, chunk_size=2)") {
    c.expect(jacrev(f, argnums<0>, {.chunk_size = 2})(x), kFirst);
  } else if (t == "jvp(f, (x,), (v,))") {
    c.expect(jvp(f, std::tuple(x), std::tuple(c.in[1])), kFirst);
  } else if (t == "linearize(f, x): (out, jvp_fn(v), jvp_fn(2 v))") {
    const auto [out, jvp_fn] = linearize(f, x);
    c.expect(std::tuple(out, jvp_fn(c.in[1]), jvp_fn(2 * c.in[1])), kFirst);
  } else if (t == "vjp(f, x): (out, vjp_fn(ct))") {
    const auto [out, vjp_fn] = vjp(f, x);
    c.expect(std::tuple(out, vjp_fn(Tensors(c.in.begin() + 1, c.in.end()))), kFirst);
  } else if (t == "vmap(jacrev(f))") {
    c.expect(vmap(jacrev(f))(x), kFirst);
  } else if (t == "jacfwd(jacfwd(f))") {
    c.expect(jacfwd(jacfwd(f))(x), kSecond);
  } else if (t == "vmap(lambda v: jvp(f, (x,), (v,))[1])(vs)") {
    c.expect(vmap([&](const Tensor& v) { return jvp(f, std::tuple(x), std::tuple(v)).second; })(c.in[1]), kFirst);
  } else if (t == "vmap(f, in_dims=1, out_dims=-1)") {
    c.expect(vmap(f, 1, -1)(x), 1);
  } else if (t == "autograd.functional.jacobian(f, x)" ||
             t == "autograd.functional.jacobian(f, x, strategy=forward-mode, vectorize=True)") {
    namespace classic = torch::autograd::functional;
    std::vector<Tensors> j;
    const classic::ListFunction g = [&](const Tensors& in) { return f(in[0]); };
    if (t.find("forward-mode") == t.npos) {
      j = classic::jacobian(g, {x});
    } else {
      j = classic::jacobian(g, {x}, false, false, /*vectorize=*/true, "forward-mode");
    }
    c.expect(j, kFirst);
  } else if (t == "autograd.functional.jvp(f, x, v)") {
    c.expect(torch::autograd::functional::jvp([&](const Tensors& in) { return f(in[0]); }, {x}, {c.in[1]}), kFirst);
  } else {
    refuse_value("transform", t);
  }
  return true;
}

bool of_two(Case& c) {
  const auto found = functions_of_two().find(c.function());
  if (found == functions_of_two().end()) return false;
  const Scalar2& f = found->second;
  const Tensor &x = c.in[0], &y = c.in[1];
  const std::string t = c.transform();
  using Positions = std::vector<int64_t>;
  const torch::autograd::functional::ListFunction g = [&](const Tensors& in) { return Tensors{f(in[0], in[1])}; };
  if (t == "grad(f, argnums=0)") {
    c.expect(grad(f, 0)(x, y), kFirst);
  } else if (t == "grad(f, argnums=1)") {
    c.expect(grad(f, argnums<1>)(x, y), kFirst);
  } else if (t == "grad(f, argnums=(0, 1))") {
    c.expect(grad(f, argnums<0, 1>)(x, y), kFirst);
  } else if (t == "grad(f, argnums=-1)") {
    c.expect(grad(f, -1)(x, y), kFirst);
  } else if (t == "grad(f, argnums=(1, 0))") {
    c.expect(grad(f, Positions{1, 0})(x, y), kFirst);
  } else if (t == "hessian(f, argnums=(0, 1))") {
    c.expect(hessian(f, argnums<0, 1>)(x, y), kSecond);
  } else if (t == "jacfwd(f, argnums=(0, 1))") {
    c.expect(jacfwd(f, argnums<0, 1>)(x, y), kFirst);
  } else if (t == "grad(lambda x, y: (f(x, y), x * 2), has_aux=True)") {
    c.expect(grad([&](const Tensor& a, const Tensor& b) { return std::pair(f(a, b), a * 2); }, argnums<0>, has_aux)(x, y),
             kFirst);
  } else if (t == "vmap(f, in_dims=(0, 2))") {
    c.expect(vmap(f, {0, 2})(x, y), 1);
  } else if (t == "vmap(f, in_dims=(0, None))") {
    c.expect(vmap(f, {0, std::nullopt})(x, y), 1);
  } else if (t == "vmap(f, in_dims=(0, -1), chunk_size=3)") {
    c.expect(vmap(f, {0, -1}, 0, "error", 3)(x, y), 1);
  } else if (t == "vmap(vmap(f, (0, None)), (None, 2))") {
    c.expect(vmap(vmap(f, {0, std::nullopt}), {std::nullopt, 2})(x, y), 1);
  } else if (t == "autograd.functional.jacobian(f, (x, y))") {
    c.expect(torch::autograd::functional::jacobian(g, {x, y}), kFirst);
  } else if (t == "autograd.functional.hessian(f, (x, y))") {
    c.expect(torch::autograd::functional::hessian(g, {x, y}), kSecond);
  } else {
    refuse_value("transform", t);
  }
  return true;
}

bool of_models(Case& c) {
  const std::string t = c.transform();
  const Tensors& in = c.in;
  const auto none = std::nullopt;
  constexpr auto kParameters = argnums<0, 1, 2, 3>;
  if (t == "grad(loss, argnums=(0, 1, 2, 3))") {
    c.expect(grad(mlp_loss, kParameters)(in[0], in[1], in[2], in[3], in[4], in[5]), kFirst);
  } else if (t == "vmap(grad(loss, argnums=(0, 1, 2, 3)), in_dims=(None, None, None, None, 0, 0))") {
    auto per_sample = vmap(grad(mlp_loss, kParameters), {none, none, none, none, 0, 0});
    c.expect(per_sample(in[0], in[1], in[2], in[3], in[4], in[5]), kFirst);
  } else if (t == "jvp(grad(loss, argnums=(0, 1, 2, 3)), parameters, vs)[1]") {
    const auto gradient = [&](const Tensor& w1, const Tensor& b1, const Tensor& w2, const Tensor& b2) {
      return grad(mlp_loss, kParameters)(w1, b1, w2, b2, in[4], in[5]);
    };
    c.expect(jvp(gradient, std::tuple(in[0], in[1], in[2], in[3]), std::tuple(in[6], in[7], in[8], in[9])).second, kSecond);
  } else if (t == "vmap(jacrev(mlp, argnums=4), in_dims=(None, None, None, None, 0))") {
    c.expect(vmap(jacrev(mlp, argnums<4>), {none, none, none, none, 0})(in[0], in[1], in[2], in[3], in[4]), kFirst);
  } else if (t.find("einsum(Naf, Mbf -> NMab)") != t.npos) {
    const auto jacobians = [&](const Tensor& x) {
      Tensors all;
      for (int64_t k = 0; k < 4; ++k) {
        all.push_back(vmap(jacrev(mlp, k), {none, none, none, none, 0})(in[0], in[1], in[2], in[3], x).flatten(2));
      }
      return all;
    };
    const Tensors j1 = jacobians(in[4]), j2 = jacobians(in[5]);
    Tensor kernel;
    for (size_t k = 0; k < 4; ++k) {
      const Tensor part = at::einsum("Naf,Mbf->NMab", {j1[k], j2[k]});
      kernel = kernel.defined() ? kernel + part : part;
    }
    c.expect(kernel, kFirst);
  } else {
    return false;
  }
  return true;
}

Tensor ensemble(const Json& parameters, const Tensor& x, Check& check) {
  namespace nn = torch::nn;
  std::vector<nn::Sequential> models;
  for (int64_t k = 0; k < 3; ++k) {
    models.emplace_back(nn::Linear(3, 4), nn::ReLU(), nn::Linear(4, 2));
    for (const auto& [name, value] : parameters.items()) {
      const c10::NoGradGuard no_grad;
      models.back()->get_parameter(name).copy_(check.recordings().tensor(value).select(0, k));
    }
  }
  const auto [params, buffers] = stack_module_state(models);
  for (const auto& [name, value] : parameters.items()) check.tensor(name, params[name], value);
  check.expect(params["0.weight"].is_leaf() && params["0.weight"].requires_grad(), "stacked parameters are leaves");
  return vmap([&](const ModuleState& p, const Tensor& t) { return functional_call(models[0], p, t); },
              {0, std::nullopt})(params, x);
}

void of_the_rest(Case& c) {
  const std::string t = c.transform(), f = c.function();
  const Tensor& x = c.in[0];
  if (const auto found = random_functions().find(f); found != random_functions().end()) {
    at::manual_seed(static_cast<uint64_t>(read(c.one, "seed").get<int64_t>()));
    const bool same = t == "vmap(f, randomness=same)";
    if (!same && t != "vmap(f, randomness=different)") refuse_value("transform", t);
    c.expect(vmap(found->second, 0, 0, same ? "same" : "different")(x), 1);
    c.check.then(read(c.one, "then"));
  } else if (t == "functionalize(f)") {
    c.expect(functionalize(with_writes)(x), 1);
  } else if (t == "functionalize(f, remove=mutations_and_views)") {
    c.expect(functionalize(with_writes, "mutations_and_views")(x), 1);
  } else if (t == "vmap(f)" && f.find("y.mul_(2)") != f.npos) {
    c.expect(vmap(with_writes)(x), 1);
  } else if (t == "vmap(lambda r: (r * 2, outer(r, r)), out_dims=(1, 2))") {
    c.expect(vmap([](const Tensor& r) { return std::pair(r * 2, at::outer(r, r)); }, 0, {1, 2})(x), 1);
  } else if (t == "vmap(lambda d: d.a + d.b, in_dims=({a: 0, b: 1},))") {
    using Dict = std::map<std::string, Tensor>;
    const Dict d = {{"a", c.in[0]}, {"b", c.in[1]}};
    c.expect(vmap([](const Dict& v) { return v.at("a") + v.at("b"); }, {{0, 1}})(d), 1);
  } else if (t == "vmap(lambda p, x: functional_call(model, p, x), in_dims=(0, None)) over stack_module_state") {
    c.expect(ensemble(read(c.one, "inputs")[0], c.in.back(), c.check), 1);
  } else {
    refuse_value("transform", t);
  }
}

// What is refused, by its id; C++ refuses the last two when they are compiled.
void refused(const std::string& what) {
  const Tensor x = at::arange(3, at::kFloat) - 1;
  const auto sin = [](const Tensor& t) { return t.sin(); };
  const auto sum = [](const Tensor& t) { return t.sum(); };
  const auto add = [](const Tensor& a, const Tensor& b) { return a + b; };
  if (what == "grad of a vector function") {
    grad([](const Tensor& t) { return t * 2; })(x);
  } else if (what == "grad of an integer tensor") {
    grad(sum)(at::arange(2));
  } else if (what == "vmap sizes differ") {
    vmap(add)(at::ones({2}), at::ones({3}));
  } else if (what == "vmap in_dims out of range") {
    vmap(sin, 2)(x);
  } else if (what == "vmap all None") {
    vmap(sin, {std::nullopt})(x);
  } else if (what == "vmap item") {
    vmap([](const Tensor& t) { return t + t.item<double>(); })(x);
  } else if (what == "vmap control flow") {
    vmap([](const Tensor& t) { return t.is_nonzero() ? t : -t; })(x);
  } else if (what == "vmap randomness error") {
    vmap([](const Tensor& t) { return t + at::rand({}); })(x);
  } else if (what == "vmap in-place on unbatched") {
    vmap([](const Tensor& a, const Tensor& b) { return Tensor(a).add_(b); }, {std::nullopt, 0})(at::zeros({}), x);
  } else if (what == "jvp tangent shape") {
    jvp(sin, std::tuple(x), std::tuple(at::ones({4})));
  } else if (what == "vmap nonzero") {
    vmap([](const Tensor& t) { return t.nonzero(); })(at::ones({2, 3}));
  } else if (what == "functional_call unknown name") {
    const torch::OrderedDict<std::string, Tensor> given = {{"nope", x}};
    functional_call(torch::nn::Linear(2, 2), given, FunctionalCallOptions{.strict = true}, at::ones({2}));
  } else if (what == "grad argnums out of range") {
    grad(sum, 2)(x);
  } else if (what == "vjp cotangent shape") {
    vjp(sin, x).second(at::ones({2}));
  } else if (what == "vmap returns a float") {
    vmap([](const Tensor&) { return 1.0; })(x);
  } else {
    refuse_value("id", what);
  }
}

template <typename T>
concept JvpTakes = requires(T value) {
  jvp([](const Tensor& t) { return t; }, value, value);
};

// By the kind of error, as the file says.
void replay_refusal(const Json& one, Check& check) {
  const std::string what = read(one, "id").get<std::string>().substr(sizeof("error/") - 1);
  const std::string type = read(read(one, "error"), "type");
  std::string got = "none";
  if (what == "jvp without tuples") {
    static_assert(JvpTakes<std::tuple<Tensor>> && !JvpTakes<Tensor>);
    got = "RuntimeError";
  } else {
    try {
      refused(what);
    } catch (const c10::ValueError&) {
      got = "ValueError";
    } catch (const c10::Error&) {
      got = "RuntimeError";
    }
  }
  check.equal("type", got, type);
}

}  // namespace

void replay_func(const Json& one, Check& check) {
  if (has(one, "error")) return replay_refusal(one, check);
  Case c(one, check);
  if (!of_scalars(c) && !of_vectors(c) && !of_two(c) && !of_models(c)) of_the_rest(c);
  check_all_read(one, "field", {"id"});
}

}  // namespace recorded
