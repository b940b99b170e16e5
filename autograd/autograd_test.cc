#include "autograd/autograd.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "aten/aten.h"
#include "autograd/engine/saved_tensor_hooks.h"
#include "autograd/engine/generic_node.h"
#include "autograd/engine/record.h"
#include "autograd/function/custom_function.h"
#include "autograd/test_support.h"
#include "c10/util/warning.h"

namespace torch::autograd {
namespace {

using at::Tensor;
using test::List;
using test::message_of;
using test::numbers;

Tensor leaf(std::initializer_list<int64_t> sizes, double value = 1.0) {
  Tensor t = at::full(sizes, value, at::TensorOptions().dtype(at::kDouble));
  t.set_requires_grad(true);
  return t;
}

Tensor counted(std::initializer_list<int64_t> sizes) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return at::reshape(at::arange(n, at::TensorOptions().dtype(at::kDouble)), sizes);
}

TEST(Backward, ProductAndSum) {
  Tensor x = counted({3});
  x.set_requires_grad(true);
  Tensor y = leaf({3}, 2.0);
  at::sum(at::mul(x, y)).backward();
  EXPECT_EQ(numbers(x.grad()), (List{2, 2, 2}));
  EXPECT_EQ(numbers(y.grad()), (List{0, 1, 2}));
  at::sum(at::mul(x, y)).backward();
  EXPECT_EQ(numbers(x.grad()), (List{4, 4, 4}));
}

TEST(Backward, BroadcastIsSummed) {
  Tensor row = leaf({1, 3});
  Tensor number = leaf({});
  Tensor matrix = leaf({2, 3});
  at::sum(at::mul(at::mul(row, number), matrix)).backward();
  EXPECT_EQ(row.grad().sizes(), row.sizes());
  EXPECT_EQ(numbers(row.grad()), (List{2, 2, 2}));
  EXPECT_EQ(numbers(number.grad()), (List{6}));
  EXPECT_EQ(number.grad().dim(), 0);
}

TEST(Backward, GradientOfAnotherKindIsCast) {
  Tensor x = at::ones({2}, at::TensorOptions().dtype(at::kFloat));
  x.set_requires_grad(true);
  at::sum(at::mul(x, at::full({2}, 3.0, at::TensorOptions().dtype(at::kDouble)))).backward();
  EXPECT_EQ(x.grad().scalar_type(), at::kFloat);
  Tensor r = leaf({2});
  const Tensor z = at::mul(r, at::full({2}, c10::Scalar(c10::complex<double>(0, 1)), at::TensorOptions().dtype(at::kComplexDouble)));
  at::sum(at::imag(z)).backward();
  EXPECT_EQ(numbers(r.grad()), (List{1, 1}));
}

TEST(Backward, RetainGraph) {
  Tensor x = leaf({2}, 3.0);
  Tensor y = at::sum(at::mul(x, x));
  y.backward({}, true);
  y.backward({}, true);
  EXPECT_EQ(numbers(x.grad()), (List{12, 12}));
  y.backward();
  const std::string text = message_of([&] { y.backward(); });
  EXPECT_NE(text.find("Trying to backward through the graph a second time"), std::string::npos) << text;
}

TEST(Backward, Errors) {
  Tensor x = leaf({2});
  EXPECT_EQ(message_of([&] { at::mul(x, x).backward(); }), "grad can be implicitly created only for scalar outputs");
  EXPECT_EQ(
      message_of([&] { at::ones({1}).backward(); }), "element 0 of tensors does not require grad and does not have a grad_fn");
  EXPECT_EQ(
      message_of([&] { at::mul(x, x).backward(at::ones({7}, at::kDouble)); }),
      "invalid gradient at index 0 - got [7] but expected shape compatible with [2]");
  EXPECT_EQ(message_of([&] { backward({at::sum(x)}, {at::ones({}), at::ones({})}); }), "got 1 tensors and 2 gradients");
  EXPECT_EQ(message_of([&] { grad({at::sum(x)}, {}); }), "grad requires non-empty inputs.");
  EXPECT_EQ(
      message_of([&] { grad({at::sum(x)}, {at::ones({2})}); }), "One of the differentiated Tensors does not require grad");
  EXPECT_EQ(
      message_of([&] { grad({at::sum(x)}, {leaf({2})}); }),
      "The differentiated Tensor at index 0 appears to not have been used in the graph. Set allow_unused=True if this is the "
      "desired behavior.");
  EXPECT_FALSE(grad({at::sum(x)}, {leaf({2})}, {}, std::nullopt, false, true)[0].defined());
  EXPECT_EQ(
      message_of([&] { at::ones({2}, at::kLong).requires_grad_(); }),
      "Only Tensors of floating point and complex dtype can require gradients");
  EXPECT_THROW(at::mul(x, x).requires_grad_(false), c10::Error);
  EXPECT_TRUE(at::mul(x, x).set_requires_grad(false).requires_grad());
}

TEST(Grad, OfIntermediateAndLeafWithoutAccumulation) {
  Tensor x = leaf({2}, 3.0);
  Tensor y = at::mul(x, x);
  Tensor z = at::sum(at::mul(y, y));
  const variable_list grads = grad({z}, {y, x});
  EXPECT_EQ(numbers(grads[0]), (List{18, 18}));
  EXPECT_EQ(numbers(grads[1]), (List{108, 108}));
  EXPECT_FALSE(x.grad().defined());
}

TEST(Grad, HigherOrder) {
  Tensor x = leaf({}, 2.0);
  Tensor y = at::mul(at::mul(at::mul(x, x), x), x);
  double expected[] = {32, 48, 48, 24};
  for (double value : expected) {
    y = grad({y}, {x}, {}, std::nullopt, true)[0];
    EXPECT_DOUBLE_EQ(numbers(y)[0], value);
  }
}

// exp(100) is beyond float.
TEST(Grad, SecondOrderOfEluWhereItIsLinear) {
  for (const auto& f : {+[](const Tensor& x) { return at::elu(x); }, +[](const Tensor& x) { return at::celu(x); },
                        +[](const Tensor& x) { return at::selu(x); }}) {
    const Tensor x = at::full({2}, 100.0);
    x.set_requires_grad(true);
    const Tensor g = grad({at::sum(f(x))}, {x}, {}, true, true)[0];
    EXPECT_EQ(numbers(grad({at::sum(g)}, {x})[0]), List({0, 0}));
  }
}

TEST(Backward, InputsLimitAccumulation) {
  Tensor x = leaf({2}), w = leaf({2});
  Tensor h = at::mul(x, w);
  Tensor loss = at::sum(at::mul(h, w));
  std::vector<Tensor> only = {x, h};
  loss.backward({}, std::nullopt, false, at::TensorList(only));
  EXPECT_TRUE(x.grad().defined());
  EXPECT_TRUE(h.grad().defined());
  EXPECT_FALSE(w.grad().defined());
}

TEST(Backward, CreateGraphOnGrad) {
  Tensor x = leaf({}, 3.0);
  at::mul(x, at::mul(x, x)).backward({}, true, true);
  EXPECT_TRUE(x.grad().requires_grad());
  Tensor first = x.grad();
  x.mutable_grad() = Tensor();
  first.backward();
  EXPECT_DOUBLE_EQ(numbers(x.grad())[0], 18);
}

TEST(Backward, GradientIsStolenOnlyWhenSolelyOwned) {
  Tensor x = leaf({4}, 2.0);
  Tensor y = leaf({4}, 5.0);
  at::sum(at::add(x, y)).backward();
  EXPECT_TRUE(x.grad().is_contiguous());
  EXPECT_FALSE(x.grad().is_alias_of(y.grad()));
  Tensor given = at::ones({4}, at::kDouble);
  x.mutable_grad() = Tensor();
  at::clone(x).backward(given);
  EXPECT_FALSE(x.grad().is_alias_of(given));
}

TEST(Guards, NothingIsRecorded) {
  Tensor x = leaf({2});
  {
    NoGradGuard no_grad;
    EXPECT_FALSE(at::mul(x, x).requires_grad());
    AutoGradMode on(true);
    EXPECT_TRUE(at::mul(x, x).requires_grad());
  }
  Tensor made;
  {
    c10::InferenceMode inference;
    made = at::ones({2}, at::kDouble);
    EXPECT_FALSE(at::mul(x, made).requires_grad());
  }
  EXPECT_TRUE(made.is_inference());
  const std::string text = message_of([&] { at::mul(x, made); });
  EXPECT_NE(text.find("Inference tensors cannot be saved for backward."), std::string::npos) << text;
  EXPECT_TRUE(at::mul(x, x).requires_grad());
}

TEST(State, LeavesAndNodes) {
  Tensor x = leaf({2});
  EXPECT_TRUE(x.is_leaf());
  EXPECT_FALSE(x.grad_fn());
  Tensor y = at::mul(x, x);
  EXPECT_FALSE(y.is_leaf());
  EXPECT_EQ(y.grad_fn()->name(), "MulBackward0");
  EXPECT_EQ(y.output_nr(), 0);
  EXPECT_EQ(y.grad_fn()->num_outputs(), 2u);
  EXPECT_EQ(y.grad_fn()->next_edge(0).function->name(), "torch::autograd::AccumulateGrad");
  Tensor z = at::detach(y);
  EXPECT_FALSE(z.requires_grad());
  EXPECT_TRUE(z.is_alias_of(y));
  EXPECT_TRUE(z.is_leaf());
  EXPECT_THROW(x._base(), std::runtime_error);
  Tensor view = at::view(y, {2, 1});
  EXPECT_TRUE(view._base().is_same(y));
  x.set_requires_grad(false);
  EXPECT_FALSE(at::mul(x, x).requires_grad());
}

TEST(Versions, ModifiedSavedTensor) {
  Tensor x = leaf({2});
  Tensor y = at::add(x, 1);
  Tensor z = at::mul(y, y);
  y.add_(1);
  const std::string text = message_of([&] { at::sum(z).backward(); });
  EXPECT_EQ(
      text,
      "one of the variables needed for gradient computation has been modified by an inplace operation: [CPUDoubleType [2]], "
      "which is output 0 of AddBackward1, is at version 1; expected version 0 instead. Hint: enable anomaly detection to find "
      "the operation that failed to compute its gradient, with torch.autograd.set_detect_anomaly(True).");
}

TEST(Versions, SavedResult) {
  Tensor x = leaf({2});
  Tensor y = at::exp(x);
  y.mul_(2);
  const std::string text = message_of([&] { at::sum(y).backward(); });
  EXPECT_NE(text.find("which is output 0 of ExpBackward0, is at version 1; expected version 0"), std::string::npos) << text;
}

TEST(InPlace, Chain) {
  Tensor x = leaf({2}, 3.0);
  Tensor y = at::clone(x);
  y.mul_(at::clone(y));
  y.add_(x);
  at::sum(y).backward();
  EXPECT_EQ(numbers(x.grad()), (List{7, 7}));
}

TEST(InPlace, OfALeaf) {
  Tensor x = leaf({2});
  EXPECT_EQ(message_of([&] { x.add_(1); }), "a leaf Variable that requires grad is being used in an in-place operation.");
  Tensor view = at::view(x, {2, 1});
  EXPECT_EQ(
      message_of([&] { view.add_(1); }),
      "a view of a leaf Variable that requires grad is being used in an in-place operation.");
  EXPECT_EQ(numbers(x), (List{1, 1}));
  NoGradGuard no_grad;
  x.add_(1);
  EXPECT_EQ(numbers(x), (List{2, 2}));
}

TEST(InPlace, OnAViewChangesTheBase) {
  Tensor x = leaf({2, 2}, 3.0);
  Tensor base = at::clone(x);
  Tensor row = at::select(base, 0, 0);
  row.mul_(5);
  EXPECT_EQ(base.grad_fn()->name(), "torch::autograd::CopySlices");
  EXPECT_EQ(row.grad_fn()->name(), "AsStridedBackward0");
  at::sum(at::mul(base, base)).backward();
  // 2 * 15 * 5 in the first row, 2 * 3 in the second.
  EXPECT_EQ(numbers(x.grad()), (List{150, 150, 6, 6}));
}

// The base's history holds a product that keeps the view; the view's leads through the base.
TEST(InPlace, OnAViewThatTheBasesHistoryKeeps) {
  Tensor x = leaf({2, 2}, 3.0);
  c10::weak_intrusive_ptr<c10::TensorImpl> kept;
  {
    Tensor base = at::clone(x);
    Tensor row = at::select(base, 0, 0);
    at::select(base, 0, 1).copy_(at::mul(row, row));
    row.copy_(leaf({2}, 1.0));
    EXPECT_EQ(row.grad_fn()->name(), "AsStridedBackward0");
    kept = c10::weak_intrusive_ptr<c10::TensorImpl>(row.getIntrusivePtr());
  }
  EXPECT_TRUE(kept.expired());
}

TEST(InPlace, OfTheBaseIsSeenByItsViews) {
  Tensor x = leaf({4}, 2.0);
  Tensor base = at::clone(x);
  Tensor view = at::slice(base, 0, 1, 3);
  base.mul_(3);
  EXPECT_EQ(view.grad_fn()->name(), "AsStridedBackward0");
  at::sum(at::mul(view, view)).backward();
  EXPECT_EQ(numbers(x.grad()), (List{0, 36, 36, 0}));
}

TEST(InPlace, ViewOfATensorThatRequiresNoGradient) {
  Tensor w = leaf({2}, 4.0);
  Tensor base = at::zeros({2, 2}, at::kDouble);
  Tensor row = at::select(base, 0, 1);
  Tensor other = at::select(base, 1, 0);
  row.copy_(w);
  EXPECT_TRUE(base.requires_grad());
  EXPECT_TRUE(other.requires_grad());
  at::sum(at::mul(base, base)).backward({}, true);
  EXPECT_EQ(numbers(w.grad()), (List{8, 8}));
  w.mutable_grad() = Tensor();
  at::sum(other).backward();
  EXPECT_EQ(numbers(w.grad()), (List{1, 0}));
}

TEST(InPlace, OverlappingViewsOfOneBase) {
  Tensor x = leaf({4}, 2.0);
  Tensor base = at::clone(x);
  Tensor left = at::slice(base, 0, 0, 3);
  Tensor right = at::slice(base, 0, 1, 4);
  left.mul_(2);
  right.mul_(at::clone(left));
  // left = 2x[0..3); right = (2x1, 2x2, x3) * (2x0, 2x1, 2x2)
  at::sum(right).backward();
  EXPECT_EQ(numbers(x.grad()), (List{8, 8 + 8, 8 + 4, 4}));
}

TEST(InPlace, RealPartsOfComplexNumbers) {
  Tensor x = at::full({2}, c10::Scalar(c10::complex<double>(1, 2)), at::TensorOptions().dtype(at::kComplexDouble));
  x.set_requires_grad(true);
  Tensor z = at::clone(x);
  Tensor imaginary = at::select(at::view_as_real(z), 1, 1);
  imaginary.mul_(5);
  const Tensor parts = at::view_as_real(z);
  // 1^2 + 10^2 each: the gradient is 2 + 100 i.
  at::sum(at::mul(parts, parts)).backward();
  EXPECT_EQ(numbers(at::view_as_real(x.grad())), (List{2, 100, 2, 100}));
}

TEST(InPlace, Detach) {
  Tensor x = leaf({2});
  Tensor y = at::mul(x, x);
  y.detach_();
  EXPECT_FALSE(y.requires_grad());
  EXPECT_TRUE(y.is_leaf());
  Tensor z = at::mul(x, x);
  Tensor view = at::view(z, {2, 1});
  EXPECT_EQ(message_of([&] { view.detach_(); }).rfind("Can't detach views in-place. Use detach() instead. If you are", 0), 0u);
}

TEST(InPlace, ForbiddenViews) {
  Tensor x = leaf({4});
  Tensor y = at::clone(x);
  std::vector<Tensor> parts = at::split(y, 2);
  const std::string several = message_of([&] { parts[0].add_(1); });
  EXPECT_NE(
      several.find(
          "Output 0 of SplitBackward0 is a view and is being modified inplace. This view is the output of a function that "
          "returns multiple views."),
      std::string::npos)
      << several;
  Tensor hidden;
  {
    NoGradGuard no_grad;
    hidden = at::view(y, {2, 2});
  }
  const std::string ambiguous = message_of([&] { hidden.mul_(y.sum()); });
  EXPECT_NE(
      ambiguous.find("A view was created in no_grad mode and is being modified inplace with grad mode enabled."),
      std::string::npos)
      << ambiguous;
}

TEST(InPlace, ViewsMadeWithoutGradientsTakePartWhereTheirBaseDoes) {
  Tensor x = leaf({2, 3});
  Tensor view, inside, halves;
  {
    NoGradGuard no_grad;
    view = at::view(x, {6});
    EXPECT_EQ(at::view(x, at::kInt).requires_grad(), false);
  }
  {
    at::InferenceMode guard;
    inside = at::view(x, {6});
    halves = at::split(inside, 3)[0];
  }
  for (const Tensor& t : {view, inside, halves}) {
    EXPECT_TRUE(t.requires_grad());
    EXPECT_TRUE(t.is_leaf());
    EXPECT_FALSE(t.is_inference());
    // Recorded, but leads nowhere.
    Tensor sum = at::sum(at::mul(t, t));
    EXPECT_TRUE(sum.requires_grad());
    sum.backward();
    EXPECT_FALSE(t.grad().defined() || x.grad().defined());
  }
  const auto refused = [](Tensor t) { return message_of([&] { t.add_(1); }).substr(0, 70); };
  EXPECT_EQ(refused(view), "A view was created in no_grad mode and is being modified inplace with ");
  EXPECT_EQ(refused(inside), "A view was created in inference mode and is being modified inplace in ");
  {
    // Stays of inference mode.
    NoGradGuard no_grad;
    halves = at::view(inside, {3, 2});
  }
  EXPECT_EQ(refused(halves), "A view was created in inference mode and is being modified inplace in ");

  Tensor base = at::clone(x);
  {
    at::InferenceMode guard;
    inside = at::view(base, {6});
  }
  base.mul_(2);
  EXPECT_EQ(message_of([&] { inside.grad_fn(); }).substr(0, 95),
            "A view was created in inference mode and its base or another view of its base has been modified");
  EXPECT_TRUE(inside.is_leaf());
  std::vector<Tensor> parts = at::split(base, 1);
  base.mul_(2);
  EXPECT_EQ(message_of([&] { parts[1].grad_fn(); }).substr(0, 96),
            "Output 1 of SplitBackward0 is a view and its base or another view of its base has been modified ");
}

TEST(Inference, LeavesTakePartInWhatOthersRecord) {
  Tensor inside;
  {
    at::InferenceMode guard;
    inside = at::ones({3}).set_requires_grad(true);
    EXPECT_FALSE(at::view(inside, {3, 1}).requires_grad());
  }
  EXPECT_TRUE(inside.requires_grad());
  EXPECT_FALSE(at::mul(inside, inside).requires_grad());
  EXPECT_FALSE(at::view(inside, {3, 1}).requires_grad());
  EXPECT_EQ(message_of([&] { inside.mul_(inside); }).substr(0, 70),
            "Inplace update to inference tensor outside InferenceMode is not allowe");
  Tensor x = leaf({3});
  at::sum(at::add(inside, x)).backward();
  EXPECT_EQ(numbers(inside.grad()), (List{1, 1, 1}));
  EXPECT_NE(message_of([&] { at::mul(inside, x); }).find("Inference tensors cannot be saved for backward."), std::string::npos);
}

TEST(InPlace, SecondDerivativeThroughAView) {
  Tensor x = leaf({3}, 2.0);
  Tensor base = at::clone(x);
  at::slice(base, 0, 0, 2).mul_(at::slice(x, 0, 1, 3));
  // (x0 x1, x1 x2, x2): sum of squares
  Tensor loss = at::sum(at::mul(base, base));
  Tensor g = grad({loss}, {x}, {}, std::nullopt, true)[0];
  // g0 = 2 x0 x1^2, g1 = 2 x0^2 x1 + 2 x1 x2^2, g2 = 2 x1^2 x2 + 2 x2
  EXPECT_EQ(numbers(g), (List{16, 32, 20}));
  Tensor h = grad({at::sum(g)}, {x})[0];
  // row sums of the Hessian
  EXPECT_EQ(numbers(h), (List{8 + 16, 16 + 16 + 16, 16 + 8 + 2}));
}

TEST(InPlace, OutVariantsRefuseGradients) {
  Tensor x = leaf({2});
  Tensor out = at::empty({2}, at::kDouble);
  const std::string text = message_of([&] { at::add_out(out, x, x); });
  EXPECT_EQ(
      text,
      "add(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires "
      "grad.");
}

TEST(Hooks, OnTensors) {
  Tensor x = leaf({2}, 3.0);
  Tensor y = at::mul(x, x);
  int calls = 0;
  y.register_hook([&](const Tensor& g) {
    ++calls;
    return at::mul(g, 10);
  });
  const unsigned position = x.register_hook([&](const Tensor&) { calls += 100; });
  at::sum(y).backward({}, true);
  EXPECT_EQ(calls, 101);
  EXPECT_EQ(numbers(x.grad()), (List{60, 60}));
  x.remove_hook(position);
  at::sum(y).backward();
  EXPECT_EQ(calls, 102);
  EXPECT_EQ(message_of([&] { x.remove_hook(99); }), "Invalid index, no hook at position 99");
  EXPECT_EQ(
      message_of([&] { at::ones({2}).register_hook([](const Tensor&) {}); }),
      "cannot register a hook on a variable that doesn't require gradient");
  Tensor z = at::mul(x, x);
  z.register_hook([](const Tensor&) { return at::ones({5}, at::kDouble); });
  EXPECT_EQ(message_of([&] { at::sum(z).backward(); }), "hook '0' has changed the size of value");
}

TEST(Hooks, RetainGrad) {
  Tensor x = leaf({2}, 3.0);
  Tensor y = at::mul(x, x);
  y.retain_grad();
  EXPECT_TRUE(y.retains_grad());
  y.register_hook([](const Tensor& g) { return at::mul(g, 2); });
  at::sum(at::mul(y, 4)).backward();
  EXPECT_EQ(numbers(y.grad()), (List{8, 8}));
  EXPECT_EQ(numbers(x.grad()), (List{48, 48}));
}

TEST(Hooks, AnExceptionKeepsItsTypeAndTheEngineWorksOn) {
  struct Mine : std::runtime_error {
    using std::runtime_error::runtime_error;
  };
  Tensor x = leaf({2}, 3.0);
  Tensor y = at::mul(x, x);
  bool armed = true;
  y.register_hook([&](const Tensor& g) -> Tensor {
    if (armed) throw Mine("no");
    return g;
  });
  Tensor loss = at::sum(y);
  EXPECT_THROW(loss.backward({}, true), Mine);
  EXPECT_FALSE(x.grad().defined());
  armed = false;
  loss.backward();
  EXPECT_EQ(numbers(x.grad()), (List{6, 6}));
}

TEST(Engine, IsReentrant) {
  Tensor x = leaf({2}, 3.0);
  Tensor inner = leaf({2}, 1.0);
  Tensor y = at::mul(x, x);
  y.register_hook([&](const Tensor&) {
    AutoGradMode record(true);
    at::sum(at::mul(inner, inner)).backward();
  });
  at::sum(y).backward();
  EXPECT_EQ(numbers(inner.grad()), (List{2, 2}));
  EXPECT_EQ(numbers(x.grad()), (List{6, 6}));
}

TEST(Engine, CallbacksRunAtTheEnd) {
  Tensor x = leaf({2});
  bool seen_grad = false;
  Tensor y = at::mul(x, x);
  y.register_hook([&](const Tensor&) {
    Engine::get_default_engine().queue_callback([&] { seen_grad = x.grad().defined(); });
  });
  at::sum(y).backward();
  EXPECT_TRUE(seen_grad);
  EXPECT_THROW(Engine::get_default_engine().queue_callback([] {}), c10::Error);
}

TEST(Engine, ALongChainIsRunAndDestroyedWithoutRecursion) {
  Tensor x = leaf({1});
  Tensor y = x;
  for (int i = 0; i < 1000000; ++i) y = at::add(y, 0);
  at::sum(y).backward();
  EXPECT_EQ(numbers(x.grad()), (List{1}));
  y = Tensor();
}

TEST(Engine, ADiamondIsVisitedOncePerNode) {
  Tensor x = leaf({}, 1.0);
  Tensor y = x;
  for (int i = 0; i < 60; ++i) y = at::add(y, y);
  y.backward();
  EXPECT_EQ(numbers(x.grad())[0], std::ldexp(1.0, 60));
}

// Its backward runs the backward of another one, `depth` times over.
struct Nested : Function<Nested> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, int64_t depth) {
    ctx->saved_data["depth"] = depth;
    return at::mul(x, 2);
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const int64_t depth = ctx->saved_data["depth"].toInt();
    if (depth == 0) throw std::out_of_range("the bottom");
    AutoGradMode record(true);
    Tensor x = leaf({1});
    Nested::apply(x, depth - 1).backward(at::ones({1}, at::kDouble));
    return {at::add(x.grad(), grads[0]), Tensor()};
  }
};

struct NestedSum : Function<NestedSum> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, int64_t depth) {
    ctx->saved_data["depth"] = depth;
    return at::mul(x, 2);
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const int64_t depth = ctx->saved_data["depth"].toInt();
    if (depth == 0) return {grads[0], Tensor()};
    AutoGradMode record(true);
    Tensor x = leaf({1});
    NestedSum::apply(x, depth - 1).backward(at::ones({1}, at::kDouble));
    EXPECT_TRUE(GradMode::is_enabled());
    EXPECT_NE(Engine::current_node(), nullptr);
    return {at::add(x.grad(), grads[0]), Tensor()};
  }
};

TEST(Engine, PassesInsidePassesToAnyDepth) {
  for (int64_t depth : {0, 1, 62, 63, 64, 65, 200, 50000}) {
    Tensor x = leaf({1});
    NestedSum::apply(x, depth).backward();
    EXPECT_EQ(numbers(x.grad()), (List{depth + 1.0})) << depth;
  }
  EXPECT_EQ(Engine::current_node(), nullptr);
}

TEST(Engine, AnErrorInADeepPassKeepsItsType) {
  Tensor x = leaf({1});
  EXPECT_THROW(Nested::apply(x, 500).backward(), std::out_of_range);
  EXPECT_EQ(Engine::current_node(), nullptr);
}

TEST(Anomaly, NanIsReported) {
  Tensor x = leaf({2}, 0.0);
  DetectAnomalyGuard guard;
  Tensor y = at::sum(at::mul(at::sqrt(x), 0));
  EXPECT_EQ(message_of([&] { y.backward(); }), "Function 'SqrtBackward0' returned nan values in its 0th output.");
}

// Calls of this name are to be found in the report.
C10_NOINLINE Tensor takes_the_root_of(const Tensor& x) {
  Tensor root = at::sqrt(x);
  EXPECT_TRUE(root.defined());
  return root;
}

struct CollectingHandler final : c10::WarningHandler {
  void process(const c10::Warning& warning) override { texts.push_back(warning.msg()); }
  std::vector<std::string> texts;
};

TEST(Anomaly, TheReportNamesTheForwardCalls) {
  CollectingHandler handler;
  const c10::WarningUtils::WarningHandlerGuard guard(&handler);
  Tensor x = leaf({2}, 0.0);
  {
    DetectAnomalyGuard anomaly;
    Tensor y = at::sum(at::mul(takes_the_root_of(x), 0));
    EXPECT_THROW(y.backward(), std::runtime_error);
  }
  ASSERT_EQ(handler.texts.size(), 1u);
  EXPECT_EQ(
      handler.texts[0].find("Error detected in SqrtBackward0. Traceback of forward call that caused the error:\nframe #0: "), 0u)
      << handler.texts[0];
  EXPECT_NE(handler.texts[0].find("takes_the_root_of(at::Tensor const&) + 0x"), std::string::npos) << handler.texts[0];
  handler.texts.clear();
  {
    // A second derivative: the node that fails was recorded by another one's backward.
    DetectAnomalyGuard anomaly;
    Tensor y = at::sum(at::mul(takes_the_root_of(leaf({2}, 1.0)), 0));
    Tensor z = leaf({2}, 0.0);
    Tensor g = grad({at::sum(at::pow(z, 1.5))}, {z}, {}, true, true)[0];
    EXPECT_THROW(at::sum(at::mul(g, 0)).backward(), std::runtime_error);
  }
  ASSERT_GE(handler.texts.size(), 2u);
  EXPECT_EQ(handler.texts[1].find("Previous calculation was induced by PowBackward"), 0u)
      << handler.texts[1];
}

TEST(Backward, WithCreateGraphWarnsOfCycles) {
  CollectingHandler handler;
  const c10::WarningUtils::WarningHandlerGuard guard(&handler);
  const c10::WarningUtils::WarnAlways always(true);
  Tensor x = leaf({2}, 3.0);
  grad({at::sum(at::mul(x, x))}, {x}, {}, true, /*create_graph=*/true);
  EXPECT_EQ(handler.texts.size(), 0u);
  at::sum(at::mul(x, x)).backward({}, std::nullopt, /*create_graph=*/true);
  backward({at::sum(at::mul(x, x))}, {}, std::nullopt, /*create_graph=*/true);
  ASSERT_EQ(handler.texts.size(), 2u);
  EXPECT_EQ(handler.texts[1].find("Using backward() with create_graph=True will create a reference cycle"), 0u);
  x.mutable_grad() = Tensor();
}

struct CountingHooks final : SavedVariableHooks {
  explicit CountingHooks(int* p) : packs(p) {}
  void call_pack_hook(const Tensor& t) override {
    ++*packs;
    kept = at::clone(t);
  }
  Tensor call_unpack_hook() override { return kept; }
  int* packs;
  Tensor kept;
};

TEST(SavedTensors, Hooks) {
  Tensor x = leaf({2}, 3.0);
  int packs = 0;
  Tensor y;
  {
    SavedTensorsHooksGuard guard([&packs] { return std::make_unique<CountingHooks>(&packs); });
    y = at::mul(at::exp(x), x);
  }
  EXPECT_EQ(packs, 3);
  const double e = std::exp(3.0);
  Tensor g = grad({at::sum(y)}, {x}, {}, true, true)[0];
  EXPECT_NEAR(numbers(g)[0], 4 * e, 1e-9);
  Tensor h = grad({at::sum(g)}, {x})[0];
  EXPECT_NEAR(numbers(h)[0], 5 * e, 1e-9);
}

struct Scale : Function<Scale> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, double factor, const Tensor& shift = {}) {
    ctx->saved_data["factor"] = factor;
    ctx->save_for_backward({x});
    Tensor y = at::mul(x, factor);
    return shift.defined() ? at::add(y, shift) : y;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    EXPECT_EQ(ctx->get_saved_variables().size(), 1u);
    const double factor = ctx->saved_data["factor"].toDouble();
    return {ctx->needs_input_grad(0) ? at::mul(grads[0], factor) : Tensor(), Tensor(), grads[0]};
  }
};

TEST(CustomFunction, Gradients) {
  Tensor x = leaf({2}), shift = leaf({2});
  Tensor y = Scale::apply(x, 3.0, shift);
  EXPECT_NE(y.grad_fn()->name().find("torch::autograd::CppNode<"), std::string::npos);
  at::sum(at::mul(y, y)).backward();
  EXPECT_EQ(numbers(x.grad()), (List{24, 24}));
  EXPECT_EQ(numbers(shift.grad()), (List{8, 8}));
  EXPECT_FALSE(Scale::apply(at::ones({2}), 3.0, at::ones({2})).requires_grad());
}

struct TwoResults : Function<TwoResults> {
  static variable_list forward(AutogradContext* ctx, const Tensor& x) {
    Tensor order = at::argmax(x);
    Tensor doubled = at::mul(x, 2);
    ctx->mark_non_differentiable({order});
    return {doubled, at::mul(x, 3), order};
  }
  static variable_list backward(AutogradContext*, variable_list grads) {
    return {at::add(at::mul(grads[0], 2), at::mul(grads[1], 3))};
  }
};

TEST(CustomFunction, UnusedResultsAreZeros) {
  Tensor x = leaf({2});
  variable_list y = TwoResults::apply(x);
  EXPECT_FALSE(y[2].requires_grad());
  at::sum(y[1]).backward();
  EXPECT_EQ(numbers(x.grad()), (List{3, 3}));
}

struct InPlaceDouble : Function<InPlaceDouble> {
  static Tensor forward(AutogradContext* ctx, Tensor x) {
    x.mul_(2);
    ctx->mark_dirty({x});
    return x;
  }
  static variable_list backward(AutogradContext*, variable_list grads) { return {at::mul(grads[0], 2)}; }
};

TEST(CustomFunction, Dirty) {
  Tensor x = leaf({2});
  Tensor y = at::clone(x);
  Tensor z = InPlaceDouble::apply(y);
  EXPECT_TRUE(z.is_same(y));
  at::sum(z).backward();
  EXPECT_EQ(numbers(x.grad()), (List{2, 2}));
  EXPECT_EQ(
      message_of([&] { InPlaceDouble::apply(x); }),
      "a leaf Variable that requires grad has been used in an in-place operation.");
}

struct Identity : Function<Identity> {
  static Tensor forward(AutogradContext*, const Tensor& x) { return x; }
  static variable_list backward(AutogradContext*, variable_list grads) { return {at::mul(grads[0], 7)}; }
};

TEST(CustomFunction, AnInputReturned) {
  Tensor x = leaf({2});
  Tensor y = Identity::apply(x);
  EXPECT_FALSE(y.is_same(x));
  at::sum(y).backward();
  EXPECT_EQ(numbers(x.grad()), (List{7, 7}));
}

struct Miscounts : Function<Miscounts> {
  static Tensor forward(AutogradContext*, const Tensor& x) { return at::clone(x); }
  static variable_list backward(AutogradContext*, variable_list grads) { return {grads[0], grads[0]}; }
};

TEST(CustomFunction, WrongNumberOfGradients) {
  Tensor x = leaf({2});
  const std::string text = message_of([&] { at::sum(Miscounts::apply(x)).backward(); });
  EXPECT_NE(text.find("returned an incorrect number of gradients (expected 1, got 2)"), std::string::npos) << text;
}

TEST(Leaves, AccumulatorsDoNotKeepThemAlive) {
  c10::weak_intrusive_ptr<c10::TensorImpl> watched;
  Tensor y;
  {
    Tensor x = leaf({2});
    watched = c10::weak_intrusive_ptr<c10::TensorImpl>(x.getIntrusivePtr());
    y = at::add(x, 1);
  }
  EXPECT_TRUE(watched.expired());
  at::sum(y).backward();
}

// What an in-place operation makes of a tensor that the graph saved must not live for ever: runs `f`, which returns the tensor
// to watch, and says whether it is gone.
bool dies(const std::function<Tensor()>& f) {
  c10::weak_intrusive_ptr<c10::TensorImpl> watched;
  {
    const Tensor t = f();
    watched = c10::weak_intrusive_ptr<c10::TensorImpl>(t.getIntrusivePtr());
  }
  return watched.expired();
}

TEST(InPlace, OnASavedTensorMakesNoCycle) {
  const Tensor a = leaf({2}, 3.0);
  EXPECT_TRUE(dies([&] {
    Tensor x = at::mul(a, 2);
    Tensor y = at::mul(x, x);
    at::add_(x, y);
    return x;
  })) << "a result that its own node's input kept";
  EXPECT_TRUE(dies([&] {
    Tensor x = at::mul(a, 2);
    at::mul_(x, x);
    return x;
  })) << "an argument of the in-place operation itself";
  EXPECT_TRUE(dies([&] {
    Tensor x = at::ones({2}, at::kDouble);
    at::add_(x, at::mul(a, x));
    return x;
  })) << "a tensor without history";
  EXPECT_TRUE(dies([&] {
    Tensor x = at::mul(a, 2);
    Tensor part = at::narrow(x, 0, 0, 1);
    Tensor y = at::mul(part, part);
    at::add_(x, at::sum(y));
    return x;
  })) << "the base of a view that was saved";
  EXPECT_TRUE(dies([&] {
    Tensor x = at::mul(a, 2);
    Tensor y = at::mul(x, x);
    Tensor part = at::narrow(x, 0, 0, 1);
    at::add_(part, at::sum(y));
    return x;
  })) << "a tensor that was saved and then written through a view";
  EXPECT_TRUE(dies([&] {
    Tensor x = at::mul(a, 2);
    for (int i = 0; i < 3; ++i) at::add_(x, at::tanh(at::mul(x, x)));
    return x;
  })) << "again and again";
  EXPECT_TRUE(dies([&] {
    Tensor x = at::mul(a, 2);
    Tensor y = at::mul(x, x);
    at::add_(x, 1);
    at::add_(x, y);
    return x;
  })) << "after a modification that nothing kept depends on";
}

TEST(InPlace, OnASavedTensorStillFailsInBackward) {
  const Tensor a = leaf({2}, 3.0);
  Tensor x = at::mul(a, 2);
  Tensor y = at::mul(x, x);
  at::add_(x, y);
  const std::string text = message_of([&] { at::sum(x).backward(); });
  EXPECT_NE(text.find("has been modified by an inplace operation: [CPUDoubleType [2]], which is output 0 of MulBackward1, is at "
                      "version 1; expected version 0 instead."),
            std::string::npos)
      << text;
}

TEST(Backward, ManyNodesAndSharedOnes) {
  // Past the size up to which a pass searches its nodes one by one, and back.
  for (int length : {1, 5, 7, 8, 9, 40, 300, 3}) {
    Tensor x = leaf({2}, 1.0);
    Tensor y = x;
    for (int i = 0; i < length; ++i) y = at::add(at::mul(x, 2), y);
    const variable_list grads = grad({at::sum(y)}, {x}, {}, true);
    EXPECT_EQ(numbers(grads[0]), (List{2.0 * length + 1, 2.0 * length + 1}));
    const Tensor unused = leaf({1});
    EXPECT_FALSE(grad({at::sum(y)}, {unused}, {}, true, false, true)[0].defined());
    at::sum(y).backward();
    EXPECT_EQ(numbers(x.grad()), (List{2.0 * length + 1, 2.0 * length + 1}));
  }
}

// Equal elements share the gradient; of a NaN and a number it is the number's, of two NaNs the first one's.
TEST(Grad, EqualElementsOfFminAndFmax) {
  const Tensor a = test::leaf_of({1, NAN, NAN, 2}), b = test::leaf_of({1, NAN, 1, NAN});
  for (const Tensor& extremum : {at::fmin(a, b), at::fmax(a, b)}) {
    const std::vector<Tensor> grads = grad({at::sum(extremum)}, {a, b});
    EXPECT_EQ(numbers(grads[0]), (List{0.5, 1, 0, 1}));
    EXPECT_EQ(numbers(grads[1]), (List{0.5, 0, 1, 0}));
  }
}

// 0^e is constant for real e >= 0 alone.
TEST(Grad, OfExponentsOfZero) {
  const Tensor e = test::leaf_of({-1, 0, 1});
  const List expected = {-INFINITY, 0, 0};
  EXPECT_EQ(numbers(grad({at::sum(at::pow(at::Scalar(0.0), e))}, {e})[0]), expected);
  EXPECT_EQ(numbers(grad({at::sum(at::pow(at::zeros({3}, at::kDouble), e))}, {e})[0]), expected);
  Tensor z = at::complex(counted({2}), at::full({2}, 1.0, at::kDouble)).detach();
  z.set_requires_grad(true);
  const Tensor result = at::pow(at::Scalar(c10::complex<double>(0, 0)), z);
  const Tensor d = grad({result}, {z}, {at::ones_like(result)})[0];
  EXPECT_TRUE(std::isnan(numbers(at::real(d))[0])) << d;
}

// Other arguments may be of another dtype, and one element of scatter a vector or no dimension.
TEST(Backward, MixedDtypes) {
  const Tensor flags = at::gt(counted({3}), at::Scalar(0));
  Tensor x = leaf({3}, 2.0);
  at::sum(at::pow(x, flags)).backward();
  EXPECT_EQ(numbers(x.grad()), (List{0, 1, 1}));
  Tensor y = leaf({3}, 0.0);
  at::sum(at::logaddexp(y, flags)).backward();
  EXPECT_NEAR(numbers(y.grad())[0], 0.5, 1e-12);
  EXPECT_NEAR(numbers(y.grad())[1], 1 / (1 + std::exp(1.0)), 1e-12);
  Tensor left = leaf({2}, 1.0);
  at::sum(at::addr(counted({2, 3}), left, at::arange(3, at::kInt))).backward();
  EXPECT_EQ(numbers(left.grad()), (List{3, 3}));
}

TEST(Backward, ScatterOfOneElementOrNone) {
  const Tensor at_zero = at::zeros({1}, at::kLong), nowhere = at::zeros({0, 2}, at::kLong);
  for (const Tensor& index : {at_zero, at::reshape(at_zero, {})}) {
    for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{}, {1}}) {
      Tensor source = at::full(sizes, 3.0, at::TensorOptions(at::kDouble));
      source.set_requires_grad(true);
      at::sum(at::scatter_add(at::zeros(sizes, at::kDouble), 0, index, source)).backward();
      at::sum(at::scatter_reduce(at::zeros(sizes, at::kDouble), 0, index, source, "sum")).backward();
      EXPECT_EQ(numbers(source.grad()), (List{2}));
      EXPECT_EQ(source.grad().sizes(), source.sizes());
    }
  }
  Tensor source = leaf({1, 1}, 3.0);
  at::sum(at::scatter(at::zeros({2, 2}, at::kDouble), 0, nowhere, source)).backward();
  EXPECT_EQ(numbers(source.grad()), (List{0}));
}

TEST(Leaves, SetData) {
  Tensor x = leaf({2});
  at::sum(at::mul(x, x)).backward();
  x.mutable_grad() = Tensor();
  x.set_data(at::ones({3}, at::kDouble));
  EXPECT_TRUE(x.requires_grad());
  at::sum(at::mul(x, x)).backward();
  EXPECT_EQ(numbers(x.grad()), (List{2, 2, 2}));
}

}  // namespace
}  // namespace torch::autograd
