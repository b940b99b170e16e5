#include "func/transforms.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "autograd/function/custom_function.h"
#include "autograd/test_support.h"
#include "c10/util/exception.h"
#include "func/functional.h"
#include "func/functionalize.h"
#include "func/vmap.h"

namespace torch::func {
namespace {

using at::Tensor;
using autograd::test::leaf_of;
using autograd::test::message_of;
using autograd::test::numbers;
using autograd::test::tensor_of;
using Values = std::vector<double>;

Tensor square_sum(const Tensor& x) {
  return (x * x).sum();
}
Tensor cube(const Tensor& x) {
  return x * x * x;
}
Tensor cube_sum(const Tensor& x) {
  return cube(x).sum();
}
Tensor product_sum(const Tensor& x, const Tensor& y) {
  return (x * x * y).sum();
}

bool close(const Tensor& a, const Tensor& b) {
  return at::allclose(a, b, 1e-9, 1e-9);
}

// --- grad ---

TEST(Grad, OfArgumentsAsTheyAreChosen) {
  const Tensor x = tensor_of({1, 2}), y = tensor_of({3, 4});
  EXPECT_EQ(numbers(grad(product_sum)(x, y)), (Values{6, 16}));
  EXPECT_EQ(numbers(grad(product_sum, argnums<-1>)(x, y)), (Values{1, 4}));
  EXPECT_EQ(numbers(grad(product_sum, 1)(x, y)), (Values{1, 4}));
  const std::tuple<Tensor, Tensor> both = grad(product_sum, argnums<1, 0>)(x, y);
  EXPECT_EQ(numbers(std::get<0>(both)), (Values{1, 4}));
  EXPECT_EQ(numbers(std::get<1>(both)), (Values{6, 16}));
  const std::vector<Tensor> list = grad(product_sum, std::vector<int64_t>{0, -1})(x, y);
  EXPECT_EQ(numbers(list[1]), (Values{1, 4}));
  // The same tensor in two places is two arguments.
  EXPECT_EQ(numbers(std::get<1>(grad(product_sum, argnums<0, 1>)(x, x))), (Values{1, 4}));
}

struct Weights {
  Tensor w, b;
  std::string name;
  template <typename F>
  void for_each_tensor(const F& f) {
    f(w), f(b);
  }
};

TEST(Grad, StructuresKeepTheirType) {
  const auto f = [](const Weights& p, double scale, const std::map<std::string, Tensor>& in) {
    return ((p.w * in.at("x") + p.b) * scale).sum();
  };
  const std::map<std::string, Tensor> in = {{"x", tensor_of({2, 3})}};
  const Weights g = grad(f)(Weights{tensor_of({1, 1}), tensor_of({0, 0}), "layer"}, 10.0, in);
  EXPECT_EQ(numbers(g.w), (Values{20, 30}));
  EXPECT_EQ(numbers(g.b), (Values{10, 10}));
  EXPECT_EQ(g.name, "layer");
  const std::map<std::string, Tensor> of_in =
      grad(f, argnums<2>)(Weights{tensor_of({1, 5}), tensor_of({0, 0}), ""}, 1.0, in);
  EXPECT_EQ(numbers(of_in.at("x")), (Values{1, 5}));
}

TEST(Grad, ValueAndAux) {
  const Tensor x = tensor_of({1, 2});
  const auto [g, y] = grad_and_value(square_sum)(x);
  EXPECT_EQ(numbers(g), (Values{2, 4}));
  EXPECT_EQ(numbers(y), Values{5});
  EXPECT_FALSE(y.requires_grad());
  const auto f = [](const Tensor& t) { return std::pair(square_sum(t), std::tuple(t * 2, 7)); };
  const auto [g2, aux] = grad(f, argnums<0>, has_aux)(x);
  EXPECT_EQ(numbers(std::get<0>(aux)), (Values{2, 4}));
  EXPECT_FALSE(std::get<0>(aux).requires_grad());
  EXPECT_EQ(std::get<1>(aux), 7);
  const auto [g3, rest] = grad_and_value(f, argnums<0>, has_aux)(x);
  EXPECT_EQ(numbers(rest.first), Values{5});
  EXPECT_EQ(numbers(g3), (Values{2, 4}));
}

TEST(Grad, WhatRequiresAGradientAfterwards) {
  const Tensor x = tensor_of({1, 2}), w = leaf_of({3, 5});
  EXPECT_FALSE(grad(square_sum)(x).requires_grad());
  // An argument, and a tensor that the function holds.
  const Tensor g = grad(cube_sum)(w);
  EXPECT_EQ(numbers(autograd::grad({g.sum()}, {w})[0]), (Values{18, 30}));
  const auto [h, y] = grad_and_value([&](const Tensor& t) { return (t * t * w).sum(); })(x);
  EXPECT_EQ(numbers(autograd::grad({h.sum()}, {w})[0]), (Values{2, 4}));
  EXPECT_EQ(numbers(autograd::grad({y}, {w})[0]), (Values{1, 4}));
  {
    // Around the transform it counts for its results, not inside.
    const c10::NoGradGuard no_grad;
    const Tensor plain = grad(cube_sum)(w);
    EXPECT_EQ(numbers(plain), (Values{27, 75}));
    EXPECT_FALSE(plain.requires_grad());
  }
  {
    const c10::InferenceMode inference;
    const Tensor made = tensor_of({1, 2});
    EXPECT_EQ(numbers(grad(square_sum)(made)), (Values{2, 4}));
    EXPECT_FALSE(grad(square_sum)(made).is_inference());
    EXPECT_EQ(numbers(jvp(cube, std::tuple(x), std::tuple(x)).second), (Values{3, 24}));
  }
  // Inside it makes a constant of what it covers.
  const auto partly = [](const Tensor& t) {
    Tensor constant;
    {
      const c10::NoGradGuard no_grad;
      constant = t * t;
    }
    return (t * constant).sum();
  };
  EXPECT_EQ(numbers(grad(partly)(x)), (Values{1, 4}));
}

TEST(Grad, NestsAndUnusedArgumentsHaveZeros) {
  const Tensor x = tensor_of({1, 2});
  const auto derivative_sum = [](const Tensor& t) { return grad(cube_sum)(t).sum(); };
  EXPECT_EQ(numbers(grad(derivative_sum)(x)), (Values{6, 12}));
  EXPECT_EQ(numbers(grad([&](const Tensor& t) { return grad(derivative_sum)(t).sum(); })(x)), (Values{6, 6}));
  // d/dx (x d/dy (x y)) = 2 x: the inner variable is not the outer one.
  const auto outer = [](const Tensor& a) {
    return (a * grad([&](const Tensor& b) { return (a * b).sum(); })(a)).sum();
  };
  EXPECT_EQ(numbers(grad(outer)(x)), (Values{2, 4}));
  EXPECT_EQ(numbers(grad([](const Tensor&) { return at::ones({}); })(x)), (Values{0, 0}));
}

TEST(Grad, Refuses) {
  const Tensor x = tensor_of({1, 2});
  EXPECT_EQ(
      message_of([&] { grad(cube)(x); }),
      "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with 1 dims. Maybe you wanted "
      "to use the vjp or jacrev APIs instead?");
  EXPECT_EQ(message_of([&] { grad(square_sum, 2)(x); }), "Got argnum=2, but only 1 positional inputs");
  EXPECT_EQ(message_of([&] { grad(square_sum, std::vector<int64_t>{})(x); }), "argnums must be non-empty");
  EXPECT_EQ(message_of([&] {
              grad(product_sum, std::vector<int64_t>{0, -2})(x, x);
            }),
            "argnums elements must be unique, got -2 again");
  EXPECT_NE(message_of([&] { grad([](double d) { return at::full({}, d); })(1.0); }).find("must be Tensor, got double"),
            std::string::npos);
  EXPECT_NE(message_of([&] { grad(square_sum)(at::arange(3)); }).find("only Tensors of floating point dtype"),
            std::string::npos);
  EXPECT_NE(message_of([&] { grad([](const Tensor& t) { return Tensor(t).mul_(2).sum(); })(x); }).find("in-place"),
            std::string::npos);
  // What failed leaves nothing behind.
  EXPECT_TRUE(c10::GradMode::is_enabled());
  EXPECT_EQ(numbers(grad(square_sum)(x)), (Values{2, 4}));
}

// --- vjp, jvp, linearize ---

TEST(Vjp, ManyProductsFromOneCall) {
  int calls = 0;
  const auto f = [&](const Tensor& a, const Tensor& b) {
    ++calls;
    return std::map<std::string, Tensor>{{"product", a * b}, {"sum", a.sum()}};
  };
  const Tensor x = tensor_of({1, 2}), y = tensor_of({3, 4});
  const auto [out, vjp_fn] = vjp(f, x, y);
  EXPECT_EQ(numbers(out.at("product")), (Values{3, 8}));
  EXPECT_FALSE(out.at("product").requires_grad());
  for (int i = 0; i < 2; ++i) {
    const auto [gx, gy] = vjp_fn({{"product", tensor_of({1, 10})}, {"sum", Tensor()}});
    EXPECT_EQ(numbers(gx), (Values{4, 41}));
    EXPECT_EQ(numbers(gy), (Values{1, 20}));
  }
  EXPECT_EQ(calls, 1);
  // The products are a function of the cotangents, too.
  const auto of_cotangent = [&, vjp_fn = vjp_fn](const Tensor& c) {
    return std::get<0>(vjp_fn({{"product", c * c}, {"sum", at::zeros({}, at::kDouble)}})).sum();
  };
  EXPECT_EQ(numbers(grad(of_cotangent)(tensor_of({1, 1}))), (Values{6, 8}));
  const auto [first, function, aux] = vjp([](const Tensor& t) { return std::pair(cube(t), t + 1); }, has_aux, x);
  EXPECT_EQ(numbers(aux), (Values{2, 3}));
  EXPECT_EQ(numbers(std::get<0>(function(x, /*retain_graph=*/false))), (Values{3, 24}));
  EXPECT_NE(message_of([&, f = function] { f(x); }).find("a second time"), std::string::npos);
  EXPECT_EQ(message_of([&, f = vjp_fn] {
              f({{"product", x}, {"sum", x}});
            }),
            "Mismatch in shape: grad_output[1] has a shape of [2] and output[1] has a shape of [].");
}

TEST(Jvp, InOnePassAndNested) {
  const Tensor x = tensor_of({1, 2}), v = tensor_of({1, 10});
  const auto [y, dy] = jvp(cube, std::tuple(x), std::tuple(v));
  EXPECT_EQ(numbers(y), (Values{1, 8}));
  EXPECT_EQ(numbers(dy), (Values{3, 120}));
  const auto inner = [&](const Tensor& t) { return jvp(cube, std::tuple(t), std::tuple(v)).second; };
  EXPECT_EQ(numbers(jvp(inner, std::tuple(x), std::tuple(v)).second), (Values{6, 1200}));
  // d/dx (x d/dy (x y)) once more, by forward mode, by forward over reverse and by reverse over forward.
  const auto outer = [](const Tensor& a) {
    return a * jvp([&](const Tensor& b) { return a * b; }, std::tuple(a), std::tuple(at::ones_like(a))).second;
  };
  EXPECT_EQ(numbers(jvp(outer, std::tuple(x), std::tuple(v)).second), (Values{2, 40}));
  EXPECT_EQ(numbers(grad([&](const Tensor& a) { return outer(a).sum(); })(x)), (Values{2, 4}));
  const auto reverse_inside = [](const Tensor& a) {
    return a * grad([&](const Tensor& b) { return (a * b).sum(); })(a);
  };
  EXPECT_EQ(numbers(jvp(reverse_inside, std::tuple(x), std::tuple(v)).second), (Values{2, 40}));
  const auto [value, tangent, aux] =
      jvp([](const Tensor& t) { return std::pair(cube(t), t * 2); }, std::tuple(x), std::tuple(v), has_aux);
  EXPECT_EQ(numbers(aux), (Values{2, 4}));
  const auto constant = [](const Tensor&) { return at::ones({2}, at::kDouble); };
  EXPECT_EQ(numbers(jvp(constant, std::tuple(x), std::tuple(v)).second), (Values{0, 0}));
  EXPECT_NE(message_of([&] { jvp(constant, std::tuple(x), std::tuple(v), true); }).find("independent of the inputs"),
            std::string::npos);
  EXPECT_NE(message_of([&] { jvp(cube, std::tuple(x), std::tuple(tensor_of({1}))); }).find("is of size [2] while"),
            std::string::npos);
}

TEST(Linearize, NeedsTheFunctionOnce) {
  int calls = 0;
  const auto f = [&](const Tensor& a, const Tensor& b) {
    ++calls;
    return std::pair(a * a * b, b.sum());
  };
  const Tensor x = tensor_of({1, 2}), y = tensor_of({3, 4}), v = tensor_of({1, 10});
  const auto [out, jvp_fn] = linearize(f, x, y);
  EXPECT_EQ(numbers(out.first), (Values{3, 16}));
  const auto [d, s] = jvp_fn(v, y);
  EXPECT_EQ(numbers(d), (Values{6 + 3, 160 + 16}));
  EXPECT_EQ(numbers(s), Values{7});
  EXPECT_EQ(numbers(jvp_fn(v, y).first), numbers(d));
  EXPECT_EQ(calls, 1);
  EXPECT_NE(message_of([&, g = jvp_fn] { g(v, tensor_of({1})); }).find("tangent:1 with shape [1] doesn't match"),
            std::string::npos);
  // Inside grad and vmap.
  const auto of_x = [&](const Tensor& t) { return linearize(cube, t).second(v).sum(); };
  EXPECT_EQ(numbers(grad(of_x)(x)), (Values{6, 120}));
  const auto [sine, cosine] = linearize([](const Tensor& t) { return t.sin(); }, x);
  EXPECT_TRUE(close(vmap(cosine)(at::eye(2, at::kDouble)), at::diag(x.cos())));
}

// --- Jacobians ---

TEST(Jacobian, StructureOfOutputsOfStructuresOfInputs) {
  const auto f = [](const Tensor& a, const Tensor& b) {
    return std::tuple(a * b.sum(), std::vector<Tensor>{b.reshape({2, 1})});
  };
  const Tensor x = tensor_of({1, 2, 3}), y = tensor_of({4, 5});
  const auto check = [&](const std::tuple<std::tuple<Tensor, Tensor>, std::vector<std::tuple<Tensor, Tensor>>>& j) {
    EXPECT_TRUE(close(std::get<0>(std::get<0>(j)), 9 * at::eye(3, at::kDouble)));
    EXPECT_TRUE(close(std::get<1>(std::get<0>(j)), x.reshape({3, 1}).expand({3, 2})));
    EXPECT_EQ(std::get<0>(std::get<1>(j)[0]).sizes(), at::IntArrayRef({2, 1, 3}));
    EXPECT_TRUE(close(std::get<1>(std::get<1>(j)[0]).squeeze(1), at::eye(2, at::kDouble)));
  };
  check(jacrev(f, argnums<0, 1>)(x, y));
  check(jacrev(f, argnums<0, 1>, {.chunk_size = 2})(x, y));
  check(jacfwd(f, argnums<0, 1>)(x, y));
  EXPECT_EQ(jacrev(cube)(tensor_of({})).sizes(), at::IntArrayRef({0, 0}));
  EXPECT_EQ(jacfwd(cube)(tensor_of({})).sizes(), at::IntArrayRef({0, 0}));
  const auto with_aux = [](const Tensor& t) { return std::pair(cube(t), t * 2); };
  EXPECT_EQ(numbers(jacrev(with_aux, argnums<0>, has_aux)(y).second), (Values{8, 10}));
  EXPECT_EQ(numbers(jacfwd(with_aux, argnums<0>, has_aux)(y).second), (Values{8, 10}));
  EXPECT_EQ(numbers(jacfwd(with_aux, argnums<0>, has_aux)(y).first), (Values{48, 0, 0, 75}));
  EXPECT_THROW(jacrev(cube, argnums<0>, {.chunk_size = 0})(x), c10::ValueError);
  EXPECT_NE(
      message_of([&] { jacrev([](const Tensor& t) { return at::complex(t, t); })(x); }).find("received complex tensor"),
      std::string::npos);
  const Tensor w = leaf_of({1, 2});
  EXPECT_EQ(numbers(autograd::grad({jacrev(cube)(w).sum()}, {w})[0]), (Values{6, 12}));
  EXPECT_EQ(numbers(autograd::grad({jacfwd(cube)(w).sum()}, {w})[0]), (Values{6, 12}));
}

TEST(Jacobian, SecondDerivatives) {
  const auto f = [](const Tensor& a, const Tensor& b) { return (a * a * b).sum() + (a.sin() * a).sum(); };
  const Tensor x = tensor_of({1, 2}), y = tensor_of({3, 4});
  const Tensor expected = at::diag(2 * y + 2 * x.cos() - x * x.sin());
  EXPECT_TRUE(close(hessian(f)(x, y), expected));
  EXPECT_TRUE(close(jacrev(jacfwd(f))(x, y), expected));
  EXPECT_TRUE(close(jacfwd(jacfwd(f))(x, y), expected));
  EXPECT_TRUE(close(jacrev(jacrev(f))(x, y), expected));
  const auto blocks = hessian(f, argnums<0, 1>)(x, y);
  EXPECT_TRUE(close(std::get<1>(std::get<0>(blocks)), at::diag(2 * x)));
  EXPECT_TRUE(close(std::get<0>(std::get<1>(blocks)), at::diag(2 * x)));
}

// --- with vmap ---

TEST(WithVmap, GradientsOfEachSample) {
  const auto loss = [](const Tensor& w, const Tensor& x) { return at::tanh(at::mv(w, x)).sum(); };
  at::manual_seed(1);
  const Tensor w = at::randn({2, 3}, at::kDouble), xs = at::randn({4, 3}, at::kDouble);
  const Tensor each = vmap(grad(loss), {std::nullopt, 0})(w, xs);
  const Tensor h = vmap(hessian(loss, argnums<1>), {std::nullopt, 0})(w, xs);
  const Tensor j =
      vmap([&](const Tensor& x) { return jacfwd([&](const Tensor& t) { return at::mv(w, t).tanh(); })(x); })(xs);
  for (int64_t i = 0; i < 4; ++i) {
    const Tensor x = xs.select(0, i);
    EXPECT_TRUE(close(each.select(0, i), grad(loss)(w, x)));
    EXPECT_TRUE(close(h.select(0, i), hessian(loss, argnums<1>)(w, x)));
    EXPECT_TRUE(close(j.select(0, i), (1 - at::mv(w, x).tanh().pow(2)).unsqueeze(1) * w));
  }
  // Two levels, of which the gradient's argument has one, and a gradient through both.
  const Tensor ws = at::randn({5, 2, 3}, at::kDouble).set_requires_grad(true);
  auto all = vmap(vmap(grad_and_value(loss), {std::nullopt, 0}), {0, std::nullopt});
  const auto [g, y] = all(ws, xs);
  EXPECT_EQ(g.sizes(), at::IntArrayRef({5, 4, 2, 3}));
  EXPECT_TRUE(close(g.select(0, 3).select(0, 1), grad(loss)(ws.select(0, 3), xs.select(0, 1))));
  EXPECT_TRUE(close(autograd::grad({y.sum()}, {ws}, {}, true)[0], g.sum(1)));
  EXPECT_TRUE(g.requires_grad());
  // A sample's cotangents come back to its own graph.
  const auto pulled = [&](const Tensor& x) {
    return std::get<0>(vjp([&](const Tensor& t) { return at::mv(w, t); }, x).second(at::ones({2}, at::kDouble)));
  };
  EXPECT_TRUE(close(vmap(pulled)(xs), w.sum(0).expand({4, 3})));
}

// The variants of torch::autograd::functional.
TEST(AutogradFunctional, VectorizedByRowsAndByColumns) {
  namespace functional = autograd::functional;
  using autograd::variable_list;
  const functional::ListFunction two_of_two = [](const variable_list& in) {
    return variable_list{in[0] * in[1], in[0].sum()};
  };
  const functional::ListFunction mixed = [](const variable_list& in) {
    return variable_list{product_sum(in[0], in[1])};
  };
  const variable_list in{tensor_of({1, 2}), tensor_of({3, 4})};
  const auto by_loop = functional::jacobian(two_of_two, in);
  const auto second_by_loop = functional::hessian(mixed, in);
  for (const char* strategy : {"reverse-mode", "forward-mode"}) {
    const auto all = functional::jacobian(two_of_two, in, false, false, true, strategy);
    const auto second = functional::hessian(mixed, in, false, false, true, strategy);
    for (size_t i = 0; i < 2; ++i) {
      for (size_t j = 0; j < 2; ++j) {
        EXPECT_EQ(numbers(all[i][j]), numbers(by_loop[i][j]));
        EXPECT_EQ(all[i][j].sizes(), by_loop[i][j].sizes());
        EXPECT_EQ(numbers(second[i][j]), numbers(second_by_loop[i][j]));
      }
    }
    EXPECT_FALSE(all[0][0].requires_grad());
  }
  const Tensor x = tensor_of({1, 2}).set_requires_grad(true);
  EXPECT_EQ(numbers(autograd::grad({at::sum(functional::jacobian(cube, x, true, false, true))}, {x})[0]),
            (Values{6, 12}));
  EXPECT_EQ(numbers(functional::hessian(cube_sum, x, false, false, true, "forward-mode")), (Values{6, 0, 0, 12}));
  EXPECT_THROW(functional::jacobian(cube, x, false, true, true), c10::Error);
  EXPECT_THROW(functional::jacobian(cube, x, true, false, true, "forward-mode"), c10::NotImplementedError);
  EXPECT_THROW(functional::jacobian(cube, x, false, false, false, "forward-mode"), c10::NotImplementedError);
  EXPECT_THROW(functional::jacobian(cube, x, false, false, true, "sideways"), c10::ValueError);
}

TEST(Functionalize, DoesTheSameWithoutWrites) {
  const auto f = [](const Tensor& x, const Tensor& y) {
    Tensor z = x.clone();
    z.select(0, 0).add_(y);
    Tensor(y).mul_(2);
    return z * y;
  };
  for (const char* remove : {"mutations", "mutations_and_views"}) {
    const Tensor x = tensor_of({1, 2, 3, 4}, {2, 2}), y = tensor_of({10, 20});
    const Tensor z = functionalize(f, remove)(x, y);
    EXPECT_EQ(numbers(z), (Values{220, 880, 60, 160}));
    EXPECT_EQ(numbers(y), (Values{20, 40}));
    EXPECT_EQ(numbers(x), (Values{1, 2, 3, 4}));
    const auto inner = [](const Tensor& t) { return (Tensor(t * 1).add_(t) * t).sum(); };
    EXPECT_EQ(numbers(grad(functionalize(inner, remove))(y)), (Values{80, 160}));
    EXPECT_EQ(numbers(vmap(functionalize(inner, remove))(x)), (Values{10, 50}));
  }
  EXPECT_NE(message_of([&] { functionalize(f, "all"); }).find("remove=all"), std::string::npos);
}

// The examples of docs/func.md.
using autograd::AutogradContext;
using autograd::variable_list;
struct Softplus : torch::autograd::Function<Softplus> {
  static constexpr bool generate_vmap_rule = true;
  static Tensor forward(AutogradContext* ctx, const Tensor& x) {
    ctx->save_for_backward({x});
    return at::log1p(at::exp(x));
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    return {grads[0] * at::sigmoid(ctx->get_saved_variables()[0])};
  }
};

TEST(Page, Examples) {
  at::manual_seed(2);
  const Tensor w = at::randn({3}, at::kDouble), x = at::randn({4, 3}, at::kDouble), y = at::randn({4}, at::kDouble);
  auto loss = [](const Tensor& w, const Tensor& x, const Tensor& y) { return (at::mv(x, w) - y).pow(2).mean(); };
  Tensor g = grad(loss)(w, x, y);  // of w's sizes
  auto [gw, gx] = grad(loss, argnums<0, 1>)(w, x, y);
  Tensor h = hessian(loss)(w, x, y);  // of w's sizes twice
  auto row_loss = [](const Tensor& w, const Tensor& row, const Tensor& y) { return (at::dot(w, row) - y).pow(2); };
  Tensor each = vmap(grad(row_loss), {std::nullopt, 0, 0})(w, x, y);  // a gradient a row: per-sample gradients
  EXPECT_TRUE(close(g, at::mv(x.t(), at::mv(x, w) - y) * 0.5));
  EXPECT_TRUE(close(gw, g));
  EXPECT_TRUE(close(gx, at::outer(at::mv(x, w) - y, w) * 0.5));
  EXPECT_TRUE(close(h, at::mm(x.t(), x) * 0.5));
  EXPECT_TRUE(close(each.mean({0}), g));

  auto with_prediction = [](const Tensor& w, const Tensor& x) {
    Tensor y = at::mv(x, w);
    return std::pair(y.pow(2).sum(), y);
  };
  auto [gradient, prediction] = grad(with_prediction, argnums<0>, has_aux)(w, x);
  EXPECT_TRUE(close(prediction, at::mv(x, w)));
  EXPECT_TRUE(close(gradient, 2 * at::mv(x.t(), prediction)));

  auto softplus = [](const Tensor& t) { return Softplus::apply(t).sum(); };
  EXPECT_TRUE(close(vmap(grad(softplus))(x), at::sigmoid(x)));
}

}  // namespace
}  // namespace torch::func
