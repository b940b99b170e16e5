#include "autograd/cuda/graphed_callables.h"

#include <gtest/gtest.h>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/testing/testing.h"
#include "autograd/autograd.h"
#include "c10/cuda/device.h"
#include "c10/cuda/testing.h"

namespace {

using at::Tensor;
using at::testing::expect_error;
using c10::cuda::testing::in_all_orders;
using torch::cuda::Callable;
using torch::cuda::make_graphed_callables;
using List = std::vector<Tensor>;

const c10::Device kDevice(c10::kCUDA, 0);

std::vector<double> numbers(const Tensor& t) {
  return at::testing::values(t);
}

Tensor sample(unsigned seed, bool requires_grad = false) {
  return at::testing::sample({3, 4}, at::ScalarType::Float, seed).to(kDevice).set_requires_grad(requires_grad);
}

// y = sin(x w) + w, and a result without a gradient.
Callable layer(const Tensor& w) {
  return [w](const List& x) { return List{at::add(at::sin(at::mul(x[0], w)), w), at::gt(x[0], 0)}; };
}

struct Numbers {
  std::vector<double> y, positive, x_grad, w_grad;
  bool operator==(const Numbers&) const = default;
};

Numbers call(const Callable& f, const Tensor& w, unsigned seed) {
  const Tensor x = sample(seed, true);
  const List results = f({x});
  torch::autograd::backward({results[0]}, {sample(seed + 100)});
  return {numbers(results[0]), numbers(results[1]), numbers(x.grad()), numbers(w.grad())};
}

TEST(GraphedCallables, GiveWhatTheFunctionGives) {
  in_all_orders([] {
    Tensor w = sample(1, true), v = at::clone(w.detach()).set_requires_grad(true);
    const Callable graphed = make_graphed_callables(layer(w), {sample(2, true)}, {w});
    EXPECT_FALSE(w.grad().defined());
    for (unsigned seed = 3; seed < 6; ++seed) {
      // Gradients of parameters add up.
      EXPECT_TRUE(call(graphed, w, seed) == call(layer(v), v, seed)) << seed;
    }
    // Without a gradient, too.
    const at::NoGradGuard off;
    const Tensor x = sample(9, true);
    EXPECT_EQ(numbers(graphed({x})[0]), numbers(layer(v)({x})[0]));
  });
}

TEST(GraphedCallables, SeveralFollowEachOther) {
  in_all_orders([] {
    Tensor w[2] = {sample(1, true), sample(2, true)}, v[2] = {sample(1, true), sample(2, true)};
    const auto graphed =
        make_graphed_callables({layer(w[0]), layer(w[1])}, {{sample(3)}, {sample(4, true)}}, {{w[0]}, {w[1]}});
    for (unsigned seed = 5; seed < 8; ++seed) {
      const auto run = [&](const Callable& first, const Callable& second) {
        const Tensor y = second({first({sample(seed)})[0]})[0];
        torch::autograd::backward({y}, {sample(seed + 50)});
        return numbers(y);
      };
      EXPECT_EQ(run(graphed[0], graphed[1]), run(layer(v[0]), layer(v[1])));
      for (int i = 0; i < 2; ++i) EXPECT_EQ(numbers(w[i].grad()), numbers(v[i].grad()));
    }
  });
}

TEST(GraphedCallables, WithoutGradientsThereIsNoBackwardPass) {
  in_all_orders([] {
    const Tensor w = sample(1);
    const Callable graphed = make_graphed_callables(layer(w), {sample(2)});
    const List results = graphed({sample(3)});
    EXPECT_FALSE(results[0].requires_grad());
    EXPECT_EQ(numbers(results[0]), numbers(layer(w)({sample(3)})[0]));
  });
}

TEST(GraphedCallables, RefusesWhatWasNotCaptured) {
  in_all_orders([] {
    const Tensor w = sample(1, true);
    expect_error<c10::Error>([&] { make_graphed_callables(layer(w), {at::ones({3, 4})}); }, "are CUDA tensors");
    expect_error<c10::Error>([&] { make_graphed_callables(std::vector<Callable>{layer(w)}, std::vector<List>{}); },
                             "for each of 1 callables, got 0");
    const Callable graphed = make_graphed_callables(layer(w), {sample(2)}, {w});
    expect_error<c10::Error>([&] { graphed({}); }, "captured with 1 arguments and is called with 0");
    expect_error<c10::Error>([&] { graphed({sample(2, true)}); }, "must have the sample's sizes");
    expect_error<c10::Error>([&] { graphed({at::empty({4, 3}, w.options())}); }, "must have the sample's sizes");
    expect_error<c10::Error>(
        [&] { make_graphed_callables([](const List&) { return List{sample(1, true)}; }, {sample(2, true)}); }, "");
  });
}

}  // namespace
