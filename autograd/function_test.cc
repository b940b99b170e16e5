// Function: forward mode, a context set up apart from forward, what may be differentiated once.

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "autograd/forward_ad.h"
#include "autograd/function/custom_function.h"
#include "autograd/test_support.h"

namespace torch::autograd {
namespace {

using at::Tensor;
using test::leaf_of;
using test::List;
using test::message_of;
using test::numbers;

struct Square : Function<Square> {
  static Tensor forward(const Tensor& x, double factor) { return at::mul(at::mul(x, x), factor); }
  static void setup_context(AutogradContext* ctx, const std::tuple<Tensor, double>& inputs, const Tensor& output) {
    EXPECT_EQ(output.sizes(), std::get<0>(inputs).sizes());
    ctx->saved_data["factor"] = std::get<1>(inputs);
    ctx->save_for_backward({std::get<0>(inputs)});
    ctx->save_for_forward({std::get<0>(inputs)});
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    return {at::mul(at::mul(grads[0], ctx->get_saved_variables()[0]), 2 * ctx->saved_data["factor"].toDouble()), Tensor()};
  }
  static Tensor jvp(AutogradContext* ctx, variable_list tangents) {
    EXPECT_EQ(tangents.size(), 2u);
    EXPECT_FALSE(tangents[1].defined());
    return at::mul(at::mul(tangents[0], ctx->get_saved_variables()[0]), 2 * ctx->saved_data["factor"].toDouble());
  }
};

TEST(CustomFunction, ContextSetUpApart) {
  Tensor x = leaf_of({1, 2});
  Tensor y = Square::apply(x, 3);
  EXPECT_EQ(numbers(y), (List{3, 12}));
  at::sum(y).backward();
  EXPECT_EQ(numbers(x.grad()), (List{6, 12}));
}

TEST(CustomFunction, ForwardMode) {
  forward_ad::dual_level level;
  Tensor x = leaf_of({1, 2});
  const Tensor v = leaf_of({1, 0.5}).detach();
  const auto [y, dy] = forward_ad::unpack_dual(Square::apply(forward_ad::make_dual(x, v), 1.0));
  EXPECT_EQ(numbers(y), (List{1, 4}));
  EXPECT_EQ(numbers(dy), (List{2, 2}));
  // The tangent is recorded too: d(2 x v)/dx = 2 v.
  EXPECT_EQ(numbers(grad({at::sum(dy)}, {x})[0]), (List{2, 1}));
  // Without recording.
  const auto [z, dz] =
      forward_ad::unpack_dual(Square::apply(forward_ad::make_dual(at::detach(x), v), 1.0));
  EXPECT_FALSE(z.requires_grad());
  EXPECT_EQ(numbers(dz), (List{2, 2}));
  // No tangents, no jvp.
  EXPECT_FALSE(forward_ad::unpack_dual(Square::apply(x, 1.0)).tangent.defined());
}

struct AddTwice : Function<AddTwice> {
  static variable_list forward(AutogradContext* ctx, Tensor x, const Tensor& y) {
    x.add_(y);
    ctx->mark_dirty({x});
    const Tensor order = at::argmax(x);
    ctx->mark_non_differentiable({order});
    return {x, at::mul(y, 2), order};
  }
  static variable_list backward(AutogradContext*, variable_list grads) {
    return {grads[0], at::add(grads[0], at::mul(grads[1], 2))};
  }
  static variable_list jvp(AutogradContext*, variable_list tangents) {
    return {at::add(tangents[0], tangents[1]), at::mul(tangents[1], 2), Tensor()};
  }
};

TEST(CustomFunction, ForwardModeWithSeveralResults) {
  forward_ad::dual_level level;
  const Tensor y = forward_ad::make_dual(at::ones({2}, at::kDouble), at::full({2}, 5.0, at::kDouble));
  Tensor x = at::zeros({2}, at::kDouble);
  const variable_list results = AddTwice::apply(x, y);
  EXPECT_TRUE(results[0].is_same(x));
  EXPECT_EQ(numbers(forward_ad::unpack_dual(x).tangent), (List{5, 5}));
  EXPECT_EQ(numbers(forward_ad::unpack_dual(results[1]).tangent), (List{10, 10}));
  EXPECT_FALSE(forward_ad::unpack_dual(results[2]).tangent.defined());
}

struct WrongTangents : Function<WrongTangents> {
  static Tensor forward(AutogradContext*, const Tensor& x) { return at::mul(x, 2); }
  static variable_list backward(AutogradContext*, variable_list grads) { return grads; }
  static variable_list jvp(AutogradContext*, variable_list tangents) {
    return tangents[0].size(0) == 2 ? variable_list{} : variable_list{at::ones({7})};
  }
};

TEST(CustomFunction, TangentsThatDoNotFit) {
  forward_ad::dual_level level;
  for (int64_t n : {2, 3}) {
    const Tensor x = forward_ad::make_dual(at::ones({n}), at::ones({n}));
    EXPECT_NE(message_of([&] { WrongTangents::apply(x); }).find("jvp of "), std::string::npos);
  }
}

struct Once : Function<Once> {
  static constexpr bool once_differentiable = true;
  static Tensor forward(AutogradContext* ctx, const Tensor& x) {
    ctx->save_for_backward({x});
    return at::mul(x, x);
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    EXPECT_FALSE(GradMode::is_enabled());
    return {at::mul(at::mul(grads[0], ctx->get_saved_variables()[0]), 2)};
  }
};

TEST(CustomFunction, OnceDifferentiable) {
  Tensor x = leaf_of({1, 2});
  Tensor weight = leaf_of({3, 4});
  Tensor g = grad({Once::apply(x)}, {x}, {weight}, true, /*create_graph=*/true)[0];
  EXPECT_EQ(numbers(g), (List{6, 16}));
  EXPECT_EQ(
      message_of([&] { at::sum(g).backward(); }),
      "trying to differentiate twice a function that was marked with @once_differentiable");
  // Gradients that depend on nothing are just numbers.
  g = grad({at::sum(Once::apply(x))}, {x}, {}, true, true)[0];
  EXPECT_FALSE(g.requires_grad());
  EXPECT_EQ(
      message_of([&] { at::sum(g).backward(); }),
      "element 0 of tensors does not require grad and does not have a grad_fn");
}

struct Wanted : Function<Wanted> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, double k, const Tensor& w) {
    EXPECT_TRUE(ctx->needs_input_grad(0));
    EXPECT_FALSE(ctx->needs_input_grad(1));
    ctx->set_materialize_grads(false);
    return at::mul(at::mul(x, k), w);
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    seen = {ctx->needs_input_grad(0), ctx->needs_input_grad(1), ctx->needs_input_grad(2)};
    return {grads[0], Tensor(), grads[0]};
  }
  static inline std::vector<bool> seen;
};

TEST(CustomFunction, OnlyWhatThePassNeeds) {
  Tensor x = leaf_of({1, 2}), w = leaf_of({1, 2});
  Tensor y = at::sum(Wanted::apply(x, 5.0, w));
  grad({y}, {w}, {}, true);
  EXPECT_EQ(Wanted::seen, (std::vector<bool>{false, false, true}));
  y.backward();
  EXPECT_EQ(Wanted::seen, (std::vector<bool>{true, false, true}));
}

struct Pair : Function<Pair> {
  static variable_list forward(AutogradContext* ctx, const Tensor& x, bool materialize) {
    ctx->set_materialize_grads(materialize);
    const Tensor count = at::ones({2}, at::kLong), marked = at::add(x, 1);
    ctx->mark_non_differentiable({marked});
    return {count, marked, at::add(x, 2)};
  }
  static variable_list backward(AutogradContext*, variable_list grads) {
    seen = grads;
    return {grads[2], Tensor()};
  }
  static inline variable_list seen;
};

TEST(CustomFunction, GradientsOfResultsWithoutOneAreZeros) {
  Tensor x = leaf_of({1, 2});
  at::sum(Pair::apply(x, true)[2]).backward();
  ASSERT_TRUE(Pair::seen[0].defined() && Pair::seen[1].defined());
  EXPECT_EQ(Pair::seen[0].scalar_type(), at::kLong);
  EXPECT_EQ(numbers(Pair::seen[1]), (List{0, 0}));
  at::sum(Pair::apply(x, false)[2]).backward();
  EXPECT_FALSE(Pair::seen[0].defined() || Pair::seen[1].defined());
  EXPECT_TRUE(Pair::seen[2].defined());
}

struct ExpInPlace : Function<ExpInPlace> {
  static Tensor forward(AutogradContext* ctx, Tensor x) {
    at::exp_(x);
    ctx->mark_dirty({x});
    ctx->save_for_backward({x});
    return x;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    return {at::mul(grads[0], ctx->get_saved_variables()[0])};
  }
};

// The view becomes a part of its base, and what backward keeps of it no part of a cycle.
TEST(CustomFunction, InPlaceOnAView) {
  Tensor x = leaf_of({0, 1});
  c10::weak_intrusive_ptr<Node> node;
  {
    Tensor base = at::mul(x, 1);
    Tensor view = ExpInPlace::apply(at::slice(base, 0, 0, 1));
    EXPECT_EQ(view.grad_fn()->name(), "AsStridedBackward0");
    node = c10::weak_intrusive_ptr<Node>(base.grad_fn()->next_edge(1).function);
    at::sum(at::mul(base, 3)).backward();
    EXPECT_EQ(numbers(x.grad()), (List{3, 3}));
  }
  EXPECT_TRUE(node.expired());
}

}  // namespace
}  // namespace torch::autograd
