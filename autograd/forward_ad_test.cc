#include "autograd/forward_ad.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "aten/aten.h"
#include "aten/core/thread_local_state.h"
#include "autograd/autograd.h"
#include "autograd/function/custom_function.h"
#include "autograd/test_support.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"

namespace torch::autograd {
namespace {

using at::Tensor;
using forward_ad::dual_level;
using forward_ad::make_dual;
using forward_ad::unpack_dual;
using test::message_of;
using test::numbers;
using test::tensor_of;

const at::TensorOptions kDoubles = at::TensorOptions().dtype(at::kDouble);

std::vector<double> tangent_values(const Tensor& t) {
  const Tensor tangent = unpack_dual(t).tangent;
  return tangent.defined() ? numbers(tangent) : std::vector<double>();
}
using Values = std::vector<double>;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(ForwardAD, TangentsFollowTheComputation) {
  const dual_level level;
  const Tensor tangent = tensor_of({1, 10});
  const Tensor x = make_dual(tensor_of({2, 3}), tangent);
  EXPECT_TRUE(unpack_dual(x).tangent.is_same(tangent));
  const auto [y, dy] = unpack_dual(at::add(at::mul(x, x), tensor_of({5, 5})));
  EXPECT_EQ(numbers(y), (Values{9, 14}));
  EXPECT_EQ(numbers(dy), (Values{4, 60}));
  EXPECT_FALSE(unpack_dual(y).tangent.defined());
  EXPECT_EQ(tangent_values(at::sum(at::mul(x, 3.0))), Values{33});
  // What has no derivative has no tangent.
  EXPECT_FALSE(unpack_dual(at::gt(x, 2)).tangent.defined());
  EXPECT_FALSE(unpack_dual(at::argmax(x)).tangent.defined());
  EXPECT_FALSE(unpack_dual(at::detach(x)).tangent.defined());
}

TEST(ForwardAD, ResultsHaveTheirOwnTangents) {
  const dual_level level;
  const Tensor x = make_dual(tensor_of({2, 3}), tensor_of({1, 1}));
  Tensor y = at::add(x, tensor_of({1, 1}));
  y.mul_(4);
  EXPECT_EQ(tangent_values(y), (Values{4, 4}));
  EXPECT_EQ(tangent_values(x), (Values{1, 1}));
}

TEST(ForwardAD, BroadcastsAndPromotes) {
  const dual_level level;
  const Tensor x = make_dual(at::ones({2, 1}, at::TensorOptions().dtype(at::kFloat)), at::full({2, 1}, 2, at::TensorOptions().dtype(at::kFloat)));
  const Tensor dy = unpack_dual(at::add(x, tensor_of({1, 2, 3}))).tangent;
  EXPECT_EQ(dy.scalar_type(), at::kDouble);
  EXPECT_EQ(dy.sizes(), at::IntArrayRef({2, 3}));
  EXPECT_EQ(numbers(dy), (Values{2, 2, 2, 2, 2, 2}));
}

TEST(ForwardAD, TheLevelEndsAllTangents) {
  EXPECT_TRUE(contains(message_of([] { make_dual(tensor_of({1}), tensor_of({1})); }), "no level exists, make sure to enter_dual_level() first"));
  EXPECT_TRUE(contains(message_of([] { forward_ad::exit_dual_level(0); }), "not the last one that was created"));
  Tensor y;
  {
    const dual_level level;
    EXPECT_TRUE(contains(message_of([] { forward_ad::exit_dual_level(1); }), "not the last one that was created"));
    y = at::mul(make_dual(tensor_of({2}), tensor_of({1})), 2);
    EXPECT_TRUE(unpack_dual(y).tangent.defined());
  }
  EXPECT_FALSE(unpack_dual(y).tangent.defined());
  Tensor out = at::empty({1}, kDoubles);
  at::add_out(out, y, y);  // no longer refused
  const dual_level level;
  EXPECT_FALSE(unpack_dual(y).tangent.defined());
  const auto [primal, tangent] = at::_unpack_dual(at::_make_dual(y, tensor_of({3}), 0), 0);
  EXPECT_EQ(numbers(tangent), Values{3});
  EXPECT_TRUE(contains(message_of([&] { at::_make_dual(y, tensor_of({3}), 1); }), "Invalid level given to _make_dual"));
}

TEST(ForwardAD, BadDualsAreRefused) {
  const dual_level level;
  const Tensor x = tensor_of({1, 2});
  const Tensor whole = at::ones({2}, at::TensorOptions().dtype(at::kLong));
  EXPECT_EQ(message_of<c10::ValueError>([&] { make_dual(whole, x); }), "Expected primal to be floating point or complex, but got: Long");
  EXPECT_EQ(message_of<c10::ValueError>([&] { make_dual(x, whole); }), "Expected tangent to be floating point or complex, but got: Long");
  EXPECT_EQ(unpack_dual(make_dual(x, at::_to_copy(x, at::kFloat))).tangent.scalar_type(), at::kFloat);
  EXPECT_EQ(message_of([&] { make_dual(x, tensor_of({1, 2, 3})); }),
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported. "
            "Tensor is of size [2] while the given forward gradient is of size [3].");
  const Tensor dual = make_dual(x, x);
  EXPECT_EQ(message_of([&] { make_dual(dual, x); }),
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not supported.");
  EXPECT_THROW(make_dual(Tensor(), x), c10::Error);
  EXPECT_THROW(unpack_dual(Tensor()), c10::Error);
}

TEST(ForwardAD, OutFormsAndMissingDerivativesNameTheOperator) {
  const dual_level level;
  const Tensor x = make_dual(tensor_of({1, 2}), tensor_of({1, 1}));
  Tensor out = at::zeros({2}, kDoubles);
  EXPECT_EQ(message_of<c10::NotImplementedError>([&] { at::add_out(out, x, x); }),
            "Trying to use forward AD with add_out that does not support it because it is an out= function");
  Tensor dual_out = make_dual(tensor_of({1, 2}), tensor_of({1, 1}));
  EXPECT_THROW(at::add_out(dual_out, out, out), c10::NotImplementedError);
  EXPECT_EQ(numbers(out), (Values{0, 0}));
  EXPECT_EQ(message_of<c10::NotImplementedError>([&] { at::floor_divide(x, x); }),
            "Trying to use forward AD with floor_divide that does not support it because it has not been implemented yet.");
}

TEST(ForwardAD, IndependentOfGradMode) {
  const dual_level level;
  const Tensor x = make_dual(tensor_of({2}), tensor_of({1}));
  {
    const NoGradGuard no_grad;
    EXPECT_EQ(tangent_values(at::mul(x, x)), Values{4});
  }
  {
    const c10::AutoFwGradMode off(false);
    EXPECT_EQ(tangent_values(at::mul(x, x)), Values{});
  }
  {
    const c10::InferenceMode inference;
    EXPECT_EQ(tangent_values(at::mul(x, x)), Values{});
  }
  EXPECT_EQ(tangent_values(at::mul(x, x)), Values{4});
}

TEST(ForwardAD, ViewsShareTheTangent) {
  const dual_level level;
  const Tensor x = at::mul(make_dual(tensor_of({1, 2, 3, 4}, {2, 2}), tensor_of({1, 2, 3, 4}, {2, 2})), 1);
  Tensor row = at::select(x, 0, 1);
  EXPECT_EQ(tangent_values(row), (Values{3, 4}));
  EXPECT_EQ(tangent_values(at::transpose(x, 0, 1)), (Values{1, 3, 2, 4}));
  EXPECT_EQ(tangent_values(at::unbind(x, 1)[1]), (Values{2, 4}));
  row.mul_(10);
  EXPECT_EQ(tangent_values(x), (Values{1, 2, 30, 40}));
  Tensor turned = at::mul(x, 1);
  turned.t_();
  EXPECT_EQ(tangent_values(turned), (Values{1, 30, 2, 40}));
  turned.unsqueeze_(0);
  EXPECT_EQ(unpack_dual(turned).tangent.sizes(), at::IntArrayRef({1, 2, 2}));
}

TEST(ForwardAD, WritingADualIntoAViewReachesTheBase) {
  const dual_level level;
  Tensor base = tensor_of({0, 0, 0, 0});
  const Tensor before = at::slice(base, 0, 0, 2);
  at::slice(base, 0, 1, 3).copy_(make_dual(tensor_of({5, 6}), tensor_of({7, 8})));
  EXPECT_EQ(numbers(base), (Values{0, 5, 6, 0}));
  EXPECT_EQ(tangent_values(base), (Values{0, 7, 8, 0}));
  EXPECT_EQ(tangent_values(before), (Values{0, 7}));
  at::slice(base, 0, 0, 2).copy_(at::slice(base, 0, 2, 4));
  EXPECT_EQ(tangent_values(base), (Values{8, 0, 8, 0}));
  base.zero_();
  EXPECT_EQ(tangent_values(base), (Values{0, 0, 0, 0}));
  Tensor complex = at::zeros({2}, at::TensorOptions().dtype(at::kComplexDouble));
  at::select(at::view_as_real(complex), 1, 1).copy_(make_dual(tensor_of({1, 2}), tensor_of({3, 4})));
  EXPECT_EQ(tangent_values(at::imag(complex)), (Values{3, 4}));
  EXPECT_EQ(tangent_values(at::real(complex)), (Values{0, 0}));
}

TEST(ForwardAD, InPlaceWithItself) {
  const dual_level level;
  Tensor x = at::mul(make_dual(tensor_of({2, 3}), tensor_of({1, 1})), 1);
  x.mul_(x);
  EXPECT_EQ(numbers(x), (Values{4, 9}));
  EXPECT_EQ(tangent_values(x), (Values{4, 6}));
  x.exp_();
  EXPECT_DOUBLE_EQ(tangent_values(x)[0], 4 * std::exp(4.0));
  Tensor y = tensor_of({1, 1});
  y.add_(x);
  EXPECT_EQ(tangent_values(y), tangent_values(x));
}

TEST(ForwardAD, UnpackedPrimalsHaveNone) {
  const dual_level level;
  const Tensor x = at::mul(make_dual(tensor_of({1, 2}), tensor_of({1, 1})), 2);
  const Tensor primal = unpack_dual(x).primal;
  EXPECT_TRUE(primal.is_alias_of(x));
  EXPECT_FALSE(unpack_dual(at::select(primal, 0, 1)).tangent.defined());
  EXPECT_FALSE(unpack_dual(at::mul(primal, primal)).tangent.defined());
  Tensor out = at::empty({2}, kDoubles);
  at::mul_out(out, primal, primal);
  EXPECT_EQ(numbers(out), (Values{4, 16}));
}

TEST(ForwardAD, DetachInPlaceDropsTheTangent) {
  const dual_level level;
  Tensor x = at::mul(make_dual(tensor_of({1, 2}), tensor_of({1, 1})), 2);
  x.detach_();
  EXPECT_FALSE(unpack_dual(x).tangent.defined());
  EXPECT_FALSE(unpack_dual(at::mul(x, x)).tangent.defined());
}

// f(x) = sum(x^3): the Hessian is diag(6 x).
TEST(ForwardAD, ForwardOverReverseIsAHessianVectorProduct) {
  const dual_level level;
  const Tensor point = tensor_of({1, 2}).set_requires_grad(true);
  const Tensor x = make_dual(point, tensor_of({1, 10}));
  for (const bool create_graph : {false, true}) {
    const Tensor f = at::sum(at::mul(at::mul(x, x), x));
    const Tensor g = grad({f}, {x}, {}, true, create_graph)[0];
    EXPECT_EQ(numbers(g), (Values{3, 12}));
    EXPECT_EQ(tangent_values(g), (Values{6, 120}));
  }
  // Formulas that use the result, and accumulation of several gradients.
  const Tensor f = at::sum(at::add(at::exp(x), at::mul(at::tanh(x), at::exp(x))));
  const Tensor g = grad({f}, {x})[0];
  const Tensor expected = [] {
    const Tensor p = tensor_of({1, 2}).set_requires_grad(true);
    const Tensor h = at::sum(at::add(at::exp(p), at::mul(at::tanh(p), at::exp(p))));
    const Tensor first = grad({h}, {p}, {}, true, true)[0];
    return grad({first}, {p}, {tensor_of({1, 10})})[0];
  }();
  const Values got = tangent_values(g), want = numbers(expected);
  ASSERT_EQ(got.size(), 2u);
  for (size_t i = 0; i < 2; ++i) EXPECT_NEAR(got[i], want[i], 1e-9);
}

TEST(ForwardAD, ReverseOverForward) {
  const Tensor point = tensor_of({1, 2}).set_requires_grad(true);
  const dual_level level;
  const Tensor x = make_dual(point, tensor_of({1, 10}));
  const Tensor df = unpack_dual(at::sum(at::mul(at::mul(x, x), x))).tangent;  // sum(3 x^2 v)
  EXPECT_EQ(numbers(df), Values{123});
  EXPECT_EQ(numbers(grad({df}, {point})[0]), (Values{6, 120}));
}

TEST(ForwardAD, GradientsAccumulateWithTheirTangents) {
  const dual_level level;
  const Tensor x = at::mul(make_dual(tensor_of({3}), tensor_of({1})), 1).detach().set_requires_grad(true);
  const Tensor scale = make_dual(tensor_of({2}), tensor_of({5}));
  at::sum(at::mul(x, scale)).backward();
  at::sum(at::mul(x, at::mul(scale, scale))).backward();
  EXPECT_EQ(numbers(x.grad()), Values{6});
  EXPECT_EQ(tangent_values(x.grad()), Values{25});
}

TEST(ForwardAD, EveryThreadHasItsLevel) {
  constexpr int kThreads = 4;
  std::vector<Values> got(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&got, t] {
      for (int i = 0; i < 50; ++i) {
        const dual_level level;
        const Tensor x = make_dual(tensor_of({1, 2}), tensor_of({1.0 * t, 1}));
        got[t] = tangent_values(at::mul(x, x));
      }
    });
  }
  for (std::thread& t : threads) t.join();
  for (int t = 0; t < kThreads; ++t) EXPECT_EQ(got[t], (Values{2.0 * t, 4}));
}

TEST(ForwardAD, ThreadsThatWorkForAnother) {
  const dual_level level;
  const Tensor x = make_dual(tensor_of({1, 2}), tensor_of({1, 1}));
  Values got;
  // The only level there is.
  std::thread([&] { got = tangent_values(at::mul(x, x)); }).join();
  EXPECT_EQ(got, (Values{2, 4}));
  // One of several.
  std::thread([&x, &got, state = at::ThreadLocalState()] {
    const dual_level other;
    std::thread([&] {
      EXPECT_TRUE(contains(message_of<c10::Error>([&] { at::mul(x, x); }), "several threads are in a dual level"));
      const at::ThreadLocalStateGuard guard(state);
      got = tangent_values(at::mul(x, 3));
      {
        const dual_level nested;
        const Tensor y = make_dual(at::mul(x, x), tensor_of({5, 7}));
        const Tensor of_both = unpack_dual(at::mul(y, y)).tangent;
        EXPECT_EQ(numbers(unpack_dual(of_both, 0).tangent), (Values{20, 56}));  // 2 (x^2)' 5, 2 (x^2)' 7
      }
    }).join();
  }).join();
  EXPECT_EQ(got, (Values{3, 3}));
  EXPECT_EQ(tangent_values(at::mul(x, x)), (Values{2, 4}));
}

struct Doubled : Function<Doubled> {
  static Tensor forward(AutogradContext*, const Tensor& x) { return at::mul(x, 2); }
  static variable_list backward(AutogradContext*, variable_list grads) { return {at::mul(grads[0], 2)}; }
};

TEST(ForwardAD, UserDefinedFunctionsAreRefused) {
  const dual_level level;
  EXPECT_EQ(numbers(Doubled::apply(tensor_of({1}))), Values{2});
  const Tensor x = make_dual(tensor_of({1}), tensor_of({1}));
  EXPECT_TRUE(contains(message_of<c10::NotImplementedError>([&] { Doubled::apply(x); }), "jvp is not implemented"));
}

// Composed operators, and arguments without a gradient in reverse mode, of which PyTorch has tangents: against the
// difference quotient, with and without gradients recorded.
TEST(ForwardAD, OperatorsMadeOfOthers) {
  const auto random = [](at::IntArrayRef sizes, double shift) {
    int64_t n = 1;
    for (const int64_t s : sizes) n *= s;
    return at::add(at::mul(at::sin(at::add(at::mul(at::arange(n, at::kDouble), 1.7), shift)), 0.4), 0.6).view(sizes);
  };
  const Tensor m = random({3, 3}, 0.1), target = random({3, 3}, 2.0), labels = at::arange(3, at::kLong);
  const auto norm = [](const Tensor& t) { return at::sum(at::mul(t, at::cos(t))); };
  std::vector<Tensor> weights;
  for (int gates : {1, 3, 4}) {
    weights.push_back(random({gates * 3, 3}, 0.3));
    weights.push_back(random({gates * 3, 3}, 0.7));
  }
  const Tensor sequence = random({4, 2, 3}, 0.5), state = random({1, 2, 3}, 0.9), q = random({1, 2, 3, 4}, 0.2);
  using Case = std::tuple<const char*, Tensor, std::function<Tensor(const Tensor&)>>;
  const std::vector<Case> cases{
      {"eigvals", m, [&](const Tensor& t) { return at::abs(at::linalg_eigvals(t)); }},
      {"eigvalsh", m, [&](const Tensor& t) { return at::linalg_eigvalsh(at::matmul(t, at::t(t))); }},
      {"svdvals", m, [&](const Tensor& t) { return at::linalg_svdvals(t); }},
      {"weight", m,
       [&](const Tensor& t) { return at::binary_cross_entropy_with_logits(m, target, t, random({3}, 0.4)); }},
      {"pos_weight", random({3}, 0.4),
       [&](const Tensor& t) { return at::binary_cross_entropy_with_logits(m, target, m, t); }},
      {"pos_weight, not reduced", random({3}, 0.4),
       [&](const Tensor& t) {
         return norm(at::binary_cross_entropy_with_logits(m, target, {}, t, at::Reduction::None));
       }},
      {"rnn", sequence,
       [&](const Tensor& t) {
         return norm(std::get<0>(at::rnn_tanh(t, state, {weights[0], weights[1]}, false, 1, 0, false, false, false)));
       }},
      {"gru", sequence,
       [&](const Tensor& t) {
         return norm(std::get<0>(at::gru(t, state, {weights[2], weights[3]}, false, 1, 0, false, false, false)));
       }},
      {"lstm", sequence,
       [&](const Tensor& t) {
         const auto [y, h, c] =
             at::lstm(t, {state, state}, {weights[4], weights[5]}, false, 1, 0, false, false, false);
         return norm(y) + norm(h) + norm(c);
       }},
      {"weights of lstm", weights[4],
       [&](const Tensor& t) {
         return norm(
             std::get<0>(at::lstm(sequence, {state, state}, {t, weights[5]}, false, 1, 0, false, false, false)));
       }},
      {"attention", q, [&](const Tensor& t) { return norm(at::scaled_dot_product_attention(t, at::cos(t), t)); }},
      {"batch_norm", m,
       [&](const Tensor& t) { return norm(at::batch_norm(t, {}, {}, {}, {}, true, 0.1, 1e-3, false)); }},
      {"layer_norm", m, [&](const Tensor& t) { return norm(at::layer_norm(t, {3}, {}, {}, 1e-3)); }},
      {"cross_entropy", m, [&](const Tensor& t) { return at::cross_entropy_loss(t, labels); }},
      {"cdist", m, [&](const Tensor& t) { return norm(at::cdist(t, target)); }},
      {"embedding_bag", m,
       [&](const Tensor& t) { return norm(std::get<0>(at::embedding_bag(t, labels, at::zeros({1}, at::kLong)))); }},
  };
  for (const auto& [name, x, f] : cases) {
    SCOPED_TRACE(name);
    const Tensor v = random(x.sizes(), 1.3);
    const double step = 1e-6;
    const Tensor want = at::div(at::sub(f(at::add(x, v, step)), f(at::sub(x, v, step))), 2 * step);
    for (const bool record : {true, false}) {
      const c10::AutoGradMode mode(record);
      try {
        const dual_level level;
        const Tensor got = unpack_dual(f(make_dual(x, v))).tangent;
        ASSERT_TRUE(got.defined());
        EXPECT_TRUE(at::allclose(got, want, 1e-5, 1e-6)) << got << want;
      } catch (const c10::Error& error) {
        ADD_FAILURE() << error.what_without_backtrace();
      }
    }
    // Forward over reverse.
    try {
      const auto gradient = [&f = f](const Tensor& t) { return grad({at::sum(f(t))}, {t}, {}, true, true)[0]; };
      if (std::string(name).find("weight") == 0 || std::string(name).find("pos_weight") == 0) continue;
      const Tensor second = at::div(at::sub(gradient(at::add(x, v, step).requires_grad_()),
                                            gradient(at::sub(x, v, step).requires_grad_())), 2 * step);
      const dual_level level;
      const Tensor got = unpack_dual(gradient(make_dual(x.detach().requires_grad_(), v))).tangent;
      ASSERT_TRUE(got.defined());
      EXPECT_TRUE(at::allclose(got, second, 1e-4, 1e-6)) << got << second;
    } catch (const c10::Error& error) {
      ADD_FAILURE() << error.what_without_backtrace();
    }
  }
}

// --- levels inside levels ---

using Scalars = std::function<Tensor(const Tensor&)>;

// The second derivative of f at x along u and v, by two levels.
Tensor along(const Scalars& f, const Tensor& x, const Tensor& u, const Tensor& v) {
  const dual_level outer;
  const Tensor x0 = make_dual(x, u);
  const dual_level inner;
  const Tensor dy = unpack_dual(f(make_dual(x0, v))).tangent;
  return unpack_dual(dy, 0).tangent;
}

// The same by a level and a backward pass.
Tensor along_by_reverse(const Scalars& f, const Tensor& x, const Tensor& u, const Tensor& v) {
  const dual_level level;
  const Tensor point = make_dual(x.detach().set_requires_grad(true), u);
  const Tensor gradient = grad({f(point)}, {point})[0];
  return at::sum(at::mul(unpack_dual(gradient).tangent, v));
}

TEST(NestedForwardAD, NumbersOfLevels) {
  EXPECT_EQ(forward_ad::enter_dual_level(), 0u);
  EXPECT_EQ(forward_ad::enter_dual_level(), 1u);
  EXPECT_EQ(forward_ad::enter_dual_level(), 2u);
  EXPECT_TRUE(contains(message_of([] { forward_ad::exit_dual_level(1); }), "not the last one that was created"));
  forward_ad::exit_dual_level(2);
  forward_ad::exit_dual_level(1);
  EXPECT_EQ(forward_ad::enter_dual_level(), 1u);
  const Tensor x = make_dual(tensor_of({2}), tensor_of({3}));
  const auto refused = [](const std::string& message) { return contains(message, "this thread is in 2"); };
  EXPECT_TRUE(refused(message_of([&] { unpack_dual(x, 2); })));
  EXPECT_TRUE(refused(message_of([&] { make_dual(x, x, 7); })));
  EXPECT_TRUE(refused(message_of([&] { at::_unpack_dual(x, 2); })));
  EXPECT_TRUE(refused(message_of([&] { at::_unpack_dual(x, -1); })));
  forward_ad::exit_dual_level(1);
  EXPECT_FALSE(unpack_dual(x).tangent.defined());
  forward_ad::exit_dual_level(0);
  EXPECT_THROW(unpack_dual(x, 0), c10::Error);
  EXPECT_FALSE(unpack_dual(x).tangent.defined());
}

TEST(NestedForwardAD, JvpOfJvp) {
  const dual_level outer;
  const Tensor x0 = make_dual(tensor_of({2}), tensor_of({10}));
  Tensor y, dy;
  {
    const dual_level inner;
    const Tensor x1 = make_dual(x0, tensor_of({1}));
    y = at::mul(at::mul(x1, x1), x1);
    const auto both = unpack_dual(y);
    EXPECT_EQ(numbers(both.primal), Values{8});
    EXPECT_EQ(numbers(both.tangent), Values{12});                     // 3 x^2
    EXPECT_EQ(numbers(unpack_dual(both.primal, 0).tangent), Values{120});
    EXPECT_EQ(numbers(unpack_dual(both.tangent, 0).tangent), Values{120});  // 6 x 10
    EXPECT_FALSE(unpack_dual(both.primal, 1).tangent.defined());
    // The tangent of the outer level has one of the inner.
    const auto [without, by_outer] = unpack_dual(y, 0);
    EXPECT_EQ(numbers(by_outer), Values{120});
    EXPECT_EQ(numbers(unpack_dual(by_outer, 1).tangent), Values{120});
    EXPECT_EQ(numbers(unpack_dual(without, 1).tangent), Values{12});
    EXPECT_FALSE(unpack_dual(without, 0).tangent.defined());
    dy = both.tangent;
  }
  // The inner level is over; the outer one goes on.
  EXPECT_EQ(tangent_values(y), Values{120});
  EXPECT_EQ(tangent_values(at::mul(dy, dy)), Values{2 * 12 * 120});
}

TEST(NestedForwardAD, PerturbationsAreNotConfused) {
  // d/dx (x d/dy (x + y)) = 1
  const dual_level outer;
  const Tensor x = make_dual(tensor_of({1}), tensor_of({1}));
  Tensor inner_derivative;
  {
    const dual_level inner;
    inner_derivative = unpack_dual(at::add(x, make_dual(tensor_of({1}), tensor_of({1})))).tangent;
  }
  EXPECT_EQ(tangent_values(at::mul(x, inner_derivative)), Values{1});
}

TEST(NestedForwardAD, ThirdDerivatives) {
  const dual_level a;
  const Tensor x0 = make_dual(tensor_of({2}), tensor_of({1}));
  const dual_level b;
  const Tensor x1 = make_dual(x0, tensor_of({1}));
  const dual_level c;
  const Tensor x2 = make_dual(x1, tensor_of({1}));
  const Tensor square = at::mul(x2, x2);
  const Tensor d1 = unpack_dual(at::mul(square, square)).tangent;
  const Tensor d2 = unpack_dual(d1, 1).tangent;
  EXPECT_EQ(numbers(d1), Values{32});
  EXPECT_EQ(numbers(d2), Values{48});
  EXPECT_EQ(numbers(unpack_dual(d2, 0).tangent), Values{48});  // 24 x
}

TEST(NestedForwardAD, HessiansForwardOverForward) {
  const Tensor w = tensor_of({0.3, -0.2, 0.5, 0.1, 0.7, -0.4, 0.2, 0.9, -0.6}, {3, 3});
  const std::vector<Scalars> functions{
      [](const Tensor& x) { return at::sum(at::mul(at::exp(x), at::sin(x))); },
      [&](const Tensor& x) { return at::sum(at::tanh(at::matmul(w, at::mul(x, x)))); },
      [](const Tensor& x) { return at::logsumexp(at::cumsum(at::mul(x, x), 0), 0); },
      [](const Tensor& x) { return at::sum(at::mul(at::softmax(x, 0), at::log_softmax(at::mul(x, 2), 0))); },
      [](const Tensor& x) { return at::mul(at::prod(x), at::norm(x)); },
      [](const Tensor& x) { return at::sum(at::div(at::slice(x, 0, 1), at::slice(at::sigmoid(x), 0, 0, 2))); },
      [](const Tensor& x) { return at::sum(at::mul(at::layer_norm(at::mul(x, x), {3}), x)); },
      [](const Tensor& x) { return at::amax(at::cat({at::mul(x, x), at::exp(x)})); },
      [](const Tensor& x) {
        Tensor y = at::mul(x, x);
        at::select(y, 0, 1).mul_(at::select(x, 0, 0)).add_(2);
        y.sin_();
        return at::sum(at::mul(y, x));
      }};
  const Tensor point = tensor_of({0.4, 0.9, 1.3});
  for (size_t f = 0; f < functions.size(); ++f) {
    for (int64_t i = 0; i < 3; ++i) {
      for (int64_t j = 0; j < 3; ++j) {
        Tensor u = at::zeros({3}, kDoubles), v = at::zeros({3}, kDoubles);
        at::select(u, 0, i).fill_(1);
        at::select(v, 0, j).fill_(1);
        const double got = numbers(along(functions[f], point, u, v))[0];
        const double want = numbers(along_by_reverse(functions[f], point, u, v))[0];
        EXPECT_NEAR(got, want, 1e-9 * std::max(1.0, std::abs(want))) << f << " " << i << " " << j;
      }
    }
  }
}

TEST(NestedForwardAD, ReverseOverForwardOverForward) {
  // d/dx (x^4)'' = 24 x
  const Tensor point = tensor_of({2, 3}).set_requires_grad(true);
  const Tensor ones = tensor_of({1, 1});
  const dual_level outer;
  const Tensor x0 = make_dual(point, ones);
  const dual_level inner;
  const Tensor x = make_dual(x0, ones);
  const Tensor square = at::mul(x, x);
  const Tensor second = unpack_dual(unpack_dual(at::mul(square, square)).tangent, 0).tangent;
  EXPECT_EQ(numbers(second), (Values{48, 108}));
  EXPECT_EQ(numbers(grad({at::sum(second)}, {point})[0]), (Values{48, 72}));
}

TEST(NestedForwardAD, ForwardOverForwardOverReverse) {
  // The gradient of x^4, differentiated twice: its second derivative is 24 x.
  const dual_level outer;
  const Tensor x0 = make_dual(tensor_of({2}).set_requires_grad(true), tensor_of({1}));
  const dual_level inner;
  const Tensor x = make_dual(x0, tensor_of({1}));
  const Tensor f = at::sum(at::pow(at::mul(x, at::exp(at::log(x))), 2));
  const Tensor g = grad({f}, {x})[0];
  const Tensor second = unpack_dual(unpack_dual(g).tangent, 0).tangent;
  EXPECT_NEAR(numbers(g)[0], 32, 1e-9);
  EXPECT_NEAR(numbers(second)[0], 48, 1e-9);
}

// What a write has overwritten is kept with its tangents of all levels.
TEST(NestedForwardAD, ForwardOverForwardOverReverseOfAWrite) {
  const dual_level outer;
  const Tensor x0 = make_dual(tensor_of({2, 3}).set_requires_grad(true), tensor_of({1, 1}));
  const dual_level inner;
  const Tensor x = make_dual(x0, tensor_of({1, 1}));
  Tensor y = at::mul(x, x);
  at::select(y, 0, 1).mul_(at::select(x, 0, 0));
  // x0^2 + x1^2 x0
  const Tensor g = grad({at::sum(y)}, {x})[0];
  const Tensor second = unpack_dual(unpack_dual(g).tangent, 0).tangent;
  EXPECT_EQ(numbers(g), (Values{4 + 9, 12}));
  EXPECT_EQ(numbers(second), (Values{2, 4}));
}

// The tangent before a write belongs to the graph of the one after it.
TEST(ForwardAD, ReverseOverForwardOfAWrite) {
  const dual_level level;
  const Tensor w = tensor_of({5}).set_requires_grad(true), x = tensor_of({2, 3}).set_requires_grad(true);
  const Tensor d = make_dual(x, tensor_of({1, 1}));
  Tensor y = at::mul(d, d);
  at::slice(y, 0, 1).mul_(w);
  const Tensor tangent = unpack_dual(y).tangent;
  EXPECT_EQ(numbers(tangent), (Values{4, 30}));
  const auto grads = grad({at::sum(tangent)}, {w, x});
  EXPECT_EQ(numbers(grads[0]), Values{6});
  EXPECT_EQ(numbers(grads[1]), (Values{2, 10}));
}

TEST(NestedForwardAD, ViewsAndBasesThatGetTangentsLater) {
  const dual_level outer;
  Tensor base = make_dual(tensor_of({1, 2}), tensor_of({1, 1}));
  base = at::mul(base, 1);
  const dual_level inner;
  const Tensor view = at::slice(base, 0, 0, 1);  // made when the base has one of the outer level only
  base.mul_(make_dual(tensor_of({3, 3}), tensor_of({5, 7})));
  EXPECT_EQ(tangent_values(view), Values{5});
  EXPECT_EQ(numbers(unpack_dual(view, 0).tangent), Values{3});
  EXPECT_EQ(numbers(unpack_dual(unpack_dual(view).tangent, 0).tangent), Values{5});
  EXPECT_FALSE(unpack_dual(at::detach(base)).tangent.defined());
  EXPECT_FALSE(unpack_dual(at::detach(base), 0).tangent.defined());
}

TEST(NestedForwardAD, WhatIsRefused) {
  const dual_level outer;
  const Tensor x0 = make_dual(tensor_of({1, 2}), tensor_of({1, 1}));
  const dual_level inner;
  const Tensor x1 = make_dual(tensor_of({1, 2}), tensor_of({1, 1}));
  Tensor out = at::zeros({2}, kDoubles);
  for (const Tensor& x : {x0, x1}) {
    EXPECT_TRUE(contains(message_of<c10::NotImplementedError>([&] { at::add_out(out, x, x); }), "is an out= function"));
    EXPECT_TRUE(contains(message_of<c10::NotImplementedError>([&] { at::floor_divide(x, x); }), "has not been implemented yet"));
  }
  EXPECT_TRUE(contains(message_of([&] { make_dual(x1, x0); }), "already has a forward gradient at the same level 1"));
  EXPECT_TRUE(contains(message_of([&] { make_dual(tensor_of({1, 2}), x1, 0); }), "that itself has a tangent of level 1"));
  EXPECT_TRUE(contains(message_of([&] { make_dual(tensor_of({1, 2}), x1); }), "that itself has a tangent of level 1"));
  // A tangent may have one of the level outside.
  EXPECT_EQ(numbers(unpack_dual(unpack_dual(make_dual(tensor_of({1, 2}), x0)).tangent, 0).tangent), (Values{1, 1}));
}

struct Squared : Function<Squared> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x) {
    ctx->save_for_forward({x});
    return at::mul(x, x);
  }
  static variable_list backward(AutogradContext*, variable_list) { return {Tensor()}; }
  static Tensor jvp(AutogradContext* ctx, variable_list tangents) {
    EXPECT_TRUE(contains(message_of<c10::NotImplementedError>([] { dual_level inside; }), "while a tangent is being computed"));
    return at::mul(at::mul(ctx->get_saved_variables()[0], 2), tangents[0]);
  }
};

TEST(NestedForwardAD, UserDefinedFunctionsTakeOneLevel) {
  const dual_level outer;
  const Tensor x0 = make_dual(tensor_of({3}), tensor_of({1}));
  const dual_level inner;
  const Tensor y0 = Squared::apply(x0);
  EXPECT_EQ(numbers(unpack_dual(y0, 0).tangent), Values{6});
  EXPECT_FALSE(unpack_dual(y0).tangent.defined());
  const Tensor x1 = make_dual(tensor_of({3}), at::mul(x0, 2));
  const Tensor dy = unpack_dual(Squared::apply(x1)).tangent;
  EXPECT_EQ(numbers(dy), Values{36});
  EXPECT_EQ(numbers(unpack_dual(dy, 0).tangent), Values{12});  // linear in the tangent
  const Tensor both = make_dual(x0, tensor_of({1}));
  EXPECT_TRUE(contains(message_of<c10::NotImplementedError>([&] { Squared::apply(both); }), "tangents of two levels"));
}

TEST(NestedForwardAD, OtherThreads) {
  const dual_level outer;
  const Tensor x0 = make_dual(tensor_of({2}), tensor_of({1}));
  const dual_level inner;
  const Tensor x = make_dual(x0, tensor_of({1}));
  const auto second = [&x] {
    const Tensor y = at::mul(at::mul(x, x), x);
    return numbers(unpack_dual(unpack_dual(y).tangent, 0).tangent);
  };
  Values got;
  std::thread([&] { got = second(); }).join();  // the levels of the only thread that is in some
  EXPECT_EQ(got, Values{12});
  std::thread([&, state = at::ThreadLocalState()] {
    const dual_level other;
    const at::ThreadLocalStateGuard guard(state);
    got = second();
  }).join();
  EXPECT_EQ(got, Values{12});
}

}  // namespace
}  // namespace torch::autograd
