// Functions of one's own (torch::autograd::Function) inside of transforms: each equals the operators it stands for.
#include "autograd/function/custom_function.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "autograd/checkpoint/checkpoint.h"
#include "autograd/test_support.h"
#include "c10/util/exception.h"
#include "func/transforms.h"
#include "func/vmap.h"

namespace torch::func {
namespace {

using at::Tensor;
using autograd::AutogradContext;
using autograd::variable_list;
using autograd::VmapDims;
using autograd::VmapInfo;
using autograd::test::message_of;
using Map = std::function<Tensor(const Tensor&)>;
using Binary = std::function<Tensor(const Tensor&, const Tensor&)>;

bool close(const Tensor& a, const Tensor& b) {
  return a.sizes() == b.sizes() && at::allclose(a, b, 1e-9, 1e-9);
}
Tensor numbers(at::IntArrayRef sizes, double shift = 0.3) {
  int64_t n = 1;
  for (const int64_t s : sizes) n *= s;
  return at::sin(at::add(at::arange(n, at::kDouble), shift)).view(sizes);
}

// x^3 y, with the context as an argument.
struct Cubed : autograd::Function<Cubed> {
  static constexpr bool generate_vmap_rule = true;
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& y) {
    ctx->save_for_backward({x, y});
    ctx->save_for_forward({x, y});
    return at::mul(at::pow(x, 3), y);
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const Tensor &x = saved[0], &y = saved[1];
    return {ctx->needs_input_grad(0) ? grads[0] * 3 * x * x * y : Tensor(),
            ctx->needs_input_grad(1) ? grads[0] * x * x * x : Tensor()};
  }
  static variable_list jvp(AutogradContext* ctx, variable_list tangents) {
    const variable_list saved = ctx->get_saved_variables();
    const Tensor &x = saved[0], &y = saved[1];
    return {tangents[0] * 3 * x * x * y + tangents[1] * x * x * x};
  }
};
Tensor cubed(const Tensor& x, const Tensor& y) {
  return x * x * x * y;
}

// x^3 with setup_context: what backward needs beside x is a result.
struct WithSlope : autograd::Function<WithSlope> {
  static constexpr bool generate_vmap_rule = true;
  static variable_list forward(const Tensor& x) { return {at::pow(x, 3), at::mul(at::pow(x, 2), 3)}; }
  static void setup_context(AutogradContext* ctx, std::tuple<Tensor> inputs, const variable_list& output) {
    ctx->save_for_backward({std::get<0>(inputs), output[1]});
    ctx->save_for_forward({std::get<0>(inputs), output[1]});
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    return {grads[0] * saved[1] + grads[1] * 6 * saved[0]};
  }
  static variable_list jvp(AutogradContext* ctx, variable_list tangents) {
    const variable_list saved = ctx->get_saved_variables();
    return {tangents[0] * saved[1], tangents[0] * 6 * saved[0]};
  }
};

// Sums from the front, of memory: with a vmap of its own.
struct Running : autograd::Function<Running> {
  static inline std::string randomness;
  static Tensor forward(AutogradContext* ctx, const Tensor& x, int64_t dim) {
    ctx->saved_data["dim"] = dim;
    const Tensor result = at::movedim(x, dim, -1).contiguous().clone();
    double* data = result.data_ptr<double>();
    const int64_t length = result.size(-1);
    for (int64_t i = 0; i < result.numel(); ++i) {
      if (i % length != 0) data[i] += data[i - 1];
    }
    return at::movedim(result, -1, dim).contiguous();
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const int64_t dim = ctx->saved_data["dim"].toInt();
    return {at::flip(Running::apply(at::flip(grads[0], {dim}), dim), {dim}), Tensor()};
  }
  static variable_list jvp(AutogradContext* ctx, variable_list tangents) {
    return {Running::apply(tangents[0], ctx->saved_data["dim"].toInt())};
  }
  static std::pair<Tensor, int> vmap(const VmapInfo& info, const VmapDims& in_dims, const Tensor& x, int64_t dim) {
    EXPECT_EQ(in_dims.size(), 2u);
    EXPECT_FALSE(in_dims[1].has_value());
    EXPECT_EQ(x.size(*in_dims[0]), info.batch_size);
    randomness = info.randomness;
    return {Running::apply(at::movedim(x, *in_dims[0], 0), dim + 1), 0};
  }
};

// Every nesting of a function of vectors that has values of the same sizes, and of another that it must equal.
void expect_equal(const Map& f, const Map& g) {
  const Tensor x = numbers({3}), v = numbers({3}, 1.1), xs = numbers({4, 3}, 0.7), all = numbers({2, 4, 3}, 0.2);
  const auto sum_of = [](const Map& h) { return Map([h](const Tensor& t) { return at::sum(at::mul(h(t), h(t))); }); };
  const auto each = [](const Map& h) { return Map(vmap(h)); };
  const auto gradient = [&](const Map& h) { return Map(grad(sum_of(h))); };
  const auto along = [&](const Map& h) {
    return Map([h](const Tensor& t) { return jvp(h, std::tuple(t), std::tuple(at::cos(t))).second; });
  };
  const auto checkpointed = [](const Map& h) {
    return Map([h](const Tensor& t) { return torch::utils::checkpoint::checkpoint(h, t); });
  };
  const auto both = [&](const char* what, const auto& transform, const Tensor& at) {
    SCOPED_TRACE(what);
    const Tensor a = transform(f)(at), b = transform(g)(at);
    EXPECT_TRUE(close(a, b)) << a << b;
  };
  both("vmap", each, xs);
  both(
      "vmap of vmap", [&](const Map& h) { return each(each(h)); }, all);
  both("grad", gradient, x);
  both(
      "grad of grad", [&](const Map& h) { return gradient(gradient(h)); }, x);
  both(
      "vmap of grad", [&](const Map& h) { return each(gradient(h)); }, xs);
  both(
      "grad of vmap", [&](const Map& h) { return gradient(each(h)); }, xs);
  both(
      "grad of vmap of grad", [&](const Map& h) { return gradient(each(gradient(h))); }, xs);
  both(
      "vmap of grad of vmap", [&](const Map& h) { return each(gradient(each(h))); }, all);
  both(
      "vmap of vmap of grad of grad", [&](const Map& h) { return each(each(gradient(gradient(h)))); }, all);
  both("jvp", along, x);
  both(
      "vmap of jvp", [&](const Map& h) { return each(along(h)); }, xs);
  both(
      "jvp of vmap", [&](const Map& h) { return along(each(h)); }, xs);
  both(
      "jvp of grad", [&](const Map& h) { return along(gradient(h)); }, x);
  both(
      "grad of jvp", [&](const Map& h) { return gradient(along(h)); }, x);
  both(
      "vmap of grad of jvp", [&](const Map& h) { return each(gradient(along(h))); }, xs);
  both(
      "jacrev", [](const Map& h) { return Map(jacrev(h)); }, x);
  both(
      "jacfwd", [](const Map& h) { return Map(jacfwd(h)); }, x);
  both(
      "vmap of jacrev", [&](const Map& h) { return each(jacrev(h)); }, xs);
  both(
      "jacrev of vmap", [&](const Map& h) { return Map(jacrev(each(h))); }, xs);
  both(
      "jacfwd of vmap", [&](const Map& h) { return Map(jacfwd(each(h))); }, xs);
  both(
      "hessian", [&](const Map& h) { return Map(hessian(sum_of(h))); }, x);
  both(
      "vmap of hessian", [&](const Map& h) { return each(hessian(sum_of(h))); }, xs);
  both(
      "jacrev of jacrev", [&](const Map& h) { return Map(jacrev(jacrev(h))); }, x);
  both(
      "grad of checkpoint", [&](const Map& h) { return gradient(checkpointed(h)); }, x);
  both(
      "grad of checkpoint of vmap", [&](const Map& h) { return gradient(checkpointed(each(h))); }, xs);
  both(
      "vmap of grad of checkpoint", [&](const Map& h) { return each(gradient(checkpointed(h))); }, xs);
}

TEST(FunctionTransforms, ContextInForward) {
  expect_equal([](const Tensor& x) { return Cubed::apply(x, at::cos(x)); },
               [](const Tensor& x) { return cubed(x, at::cos(x)); });
  // One argument is the same for all samples.
  const Tensor shared = numbers({3}, 2.2);
  expect_equal([=](const Tensor& x) { return Cubed::apply(shared, x); },
               [=](const Tensor& x) { return cubed(shared, x); });
}

TEST(FunctionTransforms, SetupContext) {
  expect_equal([](const Tensor& x) { return WithSlope::apply(x)[0]; }, [](const Tensor& x) { return x * x * x; });
}

TEST(FunctionTransforms, VmapOfItsOwn) {
  expect_equal([](const Tensor& x) { return Running::apply(at::mul(x, x), x.dim() - 1); },
               [](const Tensor& x) { return at::cumsum(at::mul(x, x), -1); });
  vmap([](const Tensor& x) { return Running::apply(x, 0); }, 1, 0, "different")(numbers({3, 4}));
  EXPECT_EQ(Running::randomness, "different");
}

// The gradient of what all samples share is the sum over these, and samples may stand in any dimension.
TEST(FunctionTransforms, SharedArgumentsAndDimensions) {
  const Binary own = [](const Tensor& x, const Tensor& y) { return Cubed::apply(x, y); };
  const auto f = vmap(own, {std::nullopt, 1}, 1);
  const auto g = vmap(Binary(cubed), {std::nullopt, 1}, 1);
  const Tensor x = numbers({3}), ys = numbers({3, 4}, 1.3);
  const auto loss = [](const auto& h) {
    return [h](const Tensor& a, const Tensor& b) { return at::sum(at::sin(h(a, b))); };
  };
  const auto [fx, fy] = grad(loss(f), argnums<0, 1>)(x, ys);
  const auto [gx, gy] = grad(loss(g), argnums<0, 1>)(x, ys);
  EXPECT_TRUE(close(fx, gx));
  EXPECT_TRUE(close(fy, gy));
  EXPECT_TRUE(close(hessian(loss(f))(x, ys), hessian(loss(g))(x, ys)));

  // The plain engine, twice.
  const auto twice = [&](const auto& h) {
    const Tensor leaf = x.clone().set_requires_grad(true);
    const Tensor once = autograd::grad({at::sum(at::sin(h(leaf, ys)))}, {leaf}, {}, std::nullopt, true)[0];
    return autograd::grad({at::sum(at::mul(once, once))}, {leaf})[0];
  };
  EXPECT_TRUE(close(twice(f), twice(g)));
}

// Doubles its argument in place.
struct Doubled : autograd::Function<Doubled> {
  static constexpr bool generate_vmap_rule = true;
  static Tensor forward(AutogradContext* ctx, Tensor x) {
    x.mul_(2);
    ctx->mark_dirty({x});
    return x;
  }
  static variable_list backward(AutogradContext*, variable_list grads) { return {grads[0] * 2}; }
  static variable_list jvp(AutogradContext*, variable_list tangents) { return {tangents[0] * 2}; }
};

TEST(FunctionTransforms, WhatIsModifiedInPlace) {
  expect_equal(
      [](const Tensor& x) {
        Tensor y = at::mul(x, x);
        const Tensor z = Doubled::apply(y);
        return at::mul(y, at::sin(z));
      },
      [](const Tensor& x) { return at::mul(x * x * 2, at::sin(x * x * 2)); });
}

// The greatest element and its place, and a result that nobody uses.
struct Greatest : autograd::Function<Greatest> {
  static constexpr bool generate_vmap_rule = true;
  static inline bool were_defined = false;
  static inline bool materialize = true;
  static variable_list forward(AutogradContext* ctx, const Tensor& x) {
    const auto [value, place] = at::max(x, -1);
    const Tensor least = at::amin(x, {-1}), first = at::select(x, -1, 0).clone();
    ctx->mark_non_differentiable({place, first});
    ctx->set_materialize_grads(materialize);
    ctx->save_for_backward({place, x});
    return {value, place, least, first};
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    were_defined = grads[2].defined();
    const variable_list saved = ctx->get_saved_variables();
    const Tensor place = at::unsqueeze(saved[0], -1);
    return {at::scatter(at::zeros_like(saved[1]), -1, place, at::unsqueeze(grads[0], -1))};
  }
};

TEST(FunctionTransforms, ResultsWithoutGradients) {
  const Tensor xs = numbers({4, 3}, 0.7);
  for (const bool materialize : {true, false}) {
    Greatest::materialize = materialize;
    const auto f = [](const Tensor& x) {
      const variable_list results = Greatest::apply(x);
      EXPECT_EQ(results[1].scalar_type(), at::kLong);
      return results[0] * 3 + results[3];
    };
    EXPECT_TRUE(close(vmap(grad(f))(xs), vmap(grad([](const Tensor& x) { return at::amax(x, {-1}) * 3; }))(xs)));
    EXPECT_EQ(Greatest::were_defined, materialize);
    const Tensor leaf = xs.clone().set_requires_grad(true);
    const auto [value, place, least, first] = vmap([](const Tensor& x) {
      const variable_list r = Greatest::apply(x);
      return std::tuple(r[0], r[1], r[2], r[3]);
    })(leaf);
    EXPECT_TRUE(value.requires_grad() && least.requires_grad());
    EXPECT_FALSE(place.requires_grad() || first.requires_grad());
  }
}

struct Once : autograd::Function<Once> {
  static constexpr bool generate_vmap_rule = true;
  static constexpr bool once_differentiable = true;
  static Tensor forward(AutogradContext* ctx, const Tensor& x) {
    ctx->save_for_backward({x});
    return at::sin(x);
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    return {grads[0] * at::cos(ctx->get_saved_variables()[0])};
  }
};
struct Silent : autograd::Function<Silent> {
  static Tensor forward(AutogradContext*, const Tensor& x) { return at::mul(x, 2); }
  static variable_list backward(AutogradContext*, variable_list grads) { return {at::mul(grads[0], 2)}; }
};
struct WrongDims : autograd::Function<WrongDims> {
  static variable_list forward(AutogradContext*, const Tensor& x) { return {x * 2}; }
  static variable_list backward(AutogradContext*, variable_list grads) { return {grads[0] * 2}; }
  static std::pair<variable_list, VmapDims> vmap(const VmapInfo&, const VmapDims&, const Tensor& x) {
    return {WrongDims::apply(x), {0, 0}};
  }
};

TEST(FunctionTransforms, WhatIsRefused) {
  const Tensor x = numbers({3}), xs = numbers({4, 3});
  const auto once = [](const Tensor& t) { return at::sum(at::pow(Once::apply(t), 2)); };
  EXPECT_TRUE(close(vmap(grad(once))(xs), at::sin(xs) * at::cos(xs) * 2));
  const auto squares = [&](const Tensor& t) { return at::sum(at::pow(grad(once)(t), 2)); };
  EXPECT_NE(message_of([&] { vmap(grad(squares))(xs); }).find("once_differentiable"), std::string::npos);

  // Inside of vmap, whether it is recorded or not; not where none of its arguments is batched.
  const auto silent = [](const Tensor& t) { return Silent::apply(t); };
  const char* const text = "Silent, but it does not have vmap support";
  EXPECT_NE(message_of([&] { vmap(silent)(xs); }).find(text), std::string::npos);
  {
    const c10::NoGradGuard no_grad;
    EXPECT_NE(message_of([&] { vmap(silent)(xs); }).find(text), std::string::npos);
  }
  EXPECT_TRUE(close(vmap([&](const Tensor& t) { return t + Silent::apply(x); })(xs), xs + x * 2));
  EXPECT_TRUE(close(grad([&](const Tensor& t) { return at::sum(silent(t)); })(x), at::full({3}, 2, at::kDouble)));
  EXPECT_TRUE(close(jacrev(silent)(x), at::eye(3, at::kDouble) * 2));
  EXPECT_NE(message_of([&] { jacfwd(silent)(x); }).find("does not have vmap support"), std::string::npos);
  EXPECT_NE(message_of([&] { jvp(silent, std::tuple(x), std::tuple(x)); }).find("jvp is not implemented"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              vmap([](const Tensor& t) { return WrongDims::apply(t)[0]; })(xs);
            }).find("1 results and 2 dimensions"),
            std::string::npos);
}

}  // namespace
}  // namespace torch::func
