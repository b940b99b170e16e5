// Activation checkpointing. The counts and orders are PyTorch's.

#include "autograd/checkpoint/checkpoint.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "aten/aten.h"
#include "aten/autocast/autocast.h"
#include "autograd/autograd.h"
#include "autograd/graph.h"
#include "autograd/test_support.h"
#include "c10/core/cpu_generator.h"

namespace torch::autograd {
namespace {

using at::Tensor;
using test::leaf_of;
using test::List;
using test::message_of;
using test::numbers;
using utils::checkpoint::checkpoint;
using utils::checkpoint::checkpoint_sequential;
using utils::checkpoint::CheckpointOptions;
using Lines = std::vector<std::string>;

TEST(Checkpoint, RunsAgainInTheRegionOfAutocast) {
  const Tensor x = at::ones({2, 3}).requires_grad_(), w = at::ones({3, 3}).requires_grad_();
  for (const bool reentrant : {true, false}) {
    std::vector<at::ScalarType> dtypes;
    Tensor y;
    {
      const amp::autocast region(at::kCPU);
      y = checkpoint(
          [&](const Tensor& a) {
            const Tensor product = at::mm(a, w);
            dtypes.push_back(product.scalar_type());
            return at::exp(product);
          },
          x, CheckpointOptions().use_reentrant(reentrant));
    }
    y.sum().backward();
    EXPECT_EQ(dtypes, (std::vector<at::ScalarType>{at::kBFloat16, at::kBFloat16})) << reentrant;
    EXPECT_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
  }
}

TEST(Checkpoint, RunsTwiceAndGivesThePlainGradient) {
  for (const bool reentrant : {true, false}) {
    int calls = 0;
    Tensor x = leaf_of({0.1, 0.2});
    Tensor y = checkpoint(
        [&](const Tensor& a) {
          ++calls;
          return at::exp(at::mul(a, a));
        },
        x, CheckpointOptions().use_reentrant(reentrant));
    EXPECT_EQ(calls, 1);
    at::sum(y).backward();
    EXPECT_EQ(calls, 2);
    Tensor z = leaf_of({0.1, 0.2});
    at::sum(at::exp(at::mul(z, z))).backward();
    EXPECT_EQ(numbers(x.grad()), numbers(z.grad()));
  }
}

TEST(Checkpoint, SavesNothingOfTheInside) {
  Tensor x = leaf_of({1, 2});
  c10::weak_intrusive_ptr<c10::TensorImpl> inside;
  Tensor y = checkpoint(
      [&](const Tensor& a) {
        const Tensor b = at::exp(a);
        inside = c10::weak_intrusive_ptr<c10::TensorImpl>(b.getIntrusivePtr());
        return at::sum(at::mul(b, b));
      },
      x);
  EXPECT_TRUE(inside.expired());
  y.backward();
  EXPECT_TRUE(inside.expired());
  EXPECT_NEAR(numbers(x.grad())[0], 2 * std::exp(2.0), 1e-9);
}

TEST(Checkpoint, RandomState) {
  for (const bool preserve : {true, false}) {
    for (const bool reentrant : {true, false}) {
      at::detail::getDefaultCPUGenerator().getIntrusivePtr()->set_current_seed(3);
      Tensor x = leaf_of(List(8, 1.0));
      std::vector<List> masks;
      Tensor y = checkpoint(
          [&](const Tensor& a) {
            const Tensor b = at::dropout(a, 0.5, true);
            masks.push_back(numbers(b));
            return at::mul(b, a);
          },
          x, CheckpointOptions().use_reentrant(reentrant).preserve_rng_state(preserve));
      const Tensor before = at::rand({3});
      at::sum(y).backward();
      ASSERT_EQ(masks.size(), 2u);
      EXPECT_EQ(masks[0] == masks[1], preserve);
      EXPECT_EQ(masks[0], (List{2, 2, 0, 2, 0, 0, 2, 2}));
      if (preserve) {
        // The second run leaves the generator where the program had it.
        const Tensor after = at::rand({3});
        at::detail::getDefaultCPUGenerator().getIntrusivePtr()->set_current_seed(3);
        at::dropout(at::detach(x), 0.5, true);
        EXPECT_TRUE(at::equal(at::rand({3}), before));
        EXPECT_TRUE(at::equal(at::rand({3}), after));
      }
    }
  }
}

TEST(Checkpoint, Sequential) {
  std::vector<int> count(4);
  std::vector<Tensor> weights;
  std::vector<std::function<Tensor(const Tensor&)>> layers;
  for (int i = 0; i < 4; ++i) {
    weights.push_back(leaf_of({0.5 + i, 1.5}));
    layers.push_back([&count, &weights, i](const Tensor& a) {
      Tensor y = at::mul(a, weights[i]);
      ++count[i];
      return y;
    });
  }
  const auto gradients = [&](const Tensor& y) {
    std::vector<List> grads;
    for (const Tensor& g : grad({at::sum(y)}, weights)) grads.push_back(numbers(g));
    return grads;
  };
  const Tensor x = leaf_of({1, 2});
  Tensor plain = x;
  for (const auto& layer : layers) plain = layer(plain);
  const std::vector<List> want = gradients(plain);
  const std::vector<std::vector<int>> calls{{1, 1, 1, 1}, {2, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}};
  for (int64_t segments = 1; segments <= 4; ++segments) {
    count.assign(4, 0);
    EXPECT_EQ(gradients(checkpoint_sequential(layers, segments, x)), want);
    EXPECT_EQ(count, calls[segments - 1]) << segments;
  }
  EXPECT_THROW(checkpoint_sequential(layers, 5, x), c10::ValueError);
  EXPECT_THROW(checkpoint_sequential(layers, 0, x), c10::ValueError);
}

TEST(Checkpoint, EarlyStop) {
  for (const bool early : {true, false}) {
    Lines trace;
    const auto f = [&](const Tensor& a) {
      trace.push_back("start");
      const Tensor b = at::exp(a);
      trace.push_back("middle");
      const Tensor c = at::sin(b);
      trace.push_back("end");
      return at::add(c, 1);
    };
    Tensor x = leaf_of({0.5});
    Tensor y;
    {
      utils::checkpoint::set_checkpoint_early_stop setting(early);
      y = checkpoint(f, x);
    }
    at::sum(y).backward();
    Lines want{"start", "middle", "end", "start", "middle"};
    if (!early) want.push_back("end");
    EXPECT_EQ(trace, want);
  }
}

TEST(Checkpoint, WhatRunsDifferentlyIsFound) {
  int calls = 0;
  const auto shrinks = [&](const Tensor& a) { return at::exp(++calls == 1 ? a : at::narrow(a, 0, 0, 1)); };
  Tensor x = leaf_of({1, 2});
  EXPECT_EQ(
      message_of([&] { at::sum(checkpoint(shrinks, x)).backward(); })
          .find("torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the "
                "forward pass.\ntensor at position 0:\nsaved metadata: {shape: [2], dtype: Double, device: cpu}"),
      0u);
  calls = 0;
  const auto saves_less = [&](const Tensor& a) { return ++calls == 1 ? at::exp(at::exp(a)) : at::exp(a); };
  EXPECT_NE(
      message_of([&] { at::sum(checkpoint(saves_less, x)).backward(); })
          .find("Number of tensors saved during forward: 2\nNumber of tensors saved during recomputation: 1"),
      std::string::npos);
  EXPECT_THROW(CheckpointOptions().determinism_check("some"), c10::ValueError);
}

TEST(Checkpoint, Nested) {
  int outer_calls = 0, inner_calls = 0;
  const auto inner = [&](const Tensor& a) {
    ++inner_calls;
    return at::sin(a);
  };
  const auto outer = [&](const Tensor& a) {
    ++outer_calls;
    return at::exp(checkpoint(inner, at::mul(a, 2)));
  };
  Tensor x = leaf_of({0.3});
  at::sum(checkpoint(outer, x)).backward();
  EXPECT_EQ(outer_calls, 2);
  EXPECT_EQ(inner_calls, 3);
  EXPECT_NEAR(numbers(x.grad())[0], 2.903231667172, 1e-12);
}

TEST(Checkpoint, OneKindInsideTheOther) {
  for (const bool outside : {true, false}) {
    Tensor x = leaf_of({0.3});
    const auto inner = [](const Tensor& a) { return at::sin(at::mul(a, a)); };
    const auto outer = [&](const Tensor& a) {
      return at::exp(checkpoint(inner, at::mul(a, 2), CheckpointOptions().use_reentrant(!outside)));
    };
    at::sum(checkpoint(outer, x, CheckpointOptions().use_reentrant(outside))).backward();
    Tensor z = leaf_of({0.3});
    at::sum(at::exp(inner(at::mul(z, 2)))).backward();
    EXPECT_EQ(numbers(x.grad()), numbers(z.grad()));
  }
}

TEST(Checkpoint, RulesOfTheReentrantKind) {
  const auto reentrant = CheckpointOptions().use_reentrant(true);
  const auto exp = [](const Tensor& a) { return at::exp(a); };
  Tensor x = leaf_of({1});
  EXPECT_EQ(
      message_of([&] { grad({at::sum(checkpoint(exp, x, reentrant))}, {x}); })
          .find("When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad()"),
      0u);
  EXPECT_FALSE(checkpoint(exp, at::ones({2}), reentrant).requires_grad());
  Tensor w = leaf_of({3});
  EXPECT_TRUE(checkpoint([&](const Tensor& a) { return at::mul(a, w); }, at::ones({1}, at::kDouble)).requires_grad());
  EXPECT_EQ(
      message_of([&] {
        at::sum(checkpoint([](const Tensor& a) { return at::detach(a); }, x, reentrant)).backward();
      }),
      "none of output has requires_grad=True, this checkpoint() is not necessary");
  // Leaves inside get theirs.
  at::sum(checkpoint([&](const Tensor& a) { return at::mul(a, w); }, x, reentrant)).backward();
  EXPECT_EQ(numbers(w.grad()), (List{1}));
  EXPECT_EQ(numbers(x.grad()), (List{3}));
}

TEST(Checkpoint, SeveralInputsAndResults) {
  for (const bool reentrant : {true, false}) {
    Tensor x = leaf_of({1, 2}), w = leaf_of({3, 4});
    const variable_list y = checkpoint(
        [](const variable_list& in) {
          return variable_list{at::mul(in[0], in[1]), at::mul(in[0], in[0])};
        },
        {x, w}, CheckpointOptions().use_reentrant(reentrant));
    at::sum(at::add(y[0], y[1])).backward();
    EXPECT_EQ(numbers(x.grad()), (List{5, 8}));
    EXPECT_EQ(numbers(w.grad()), (List{1, 2}));
  }
}

TEST(Checkpoint, RetainedGraphsAndSecondDerivatives) {
  int calls = 0;
  Tensor x = leaf_of({0.5});
  Tensor y = checkpoint(
      [&](const Tensor& a) {
        ++calls;
        return at::sum(at::mul(at::mul(a, a), a));
      },
      x);
  y.backward({}, /*retain_graph=*/true);
  EXPECT_EQ(calls, 2);
  y.backward({}, true);
  EXPECT_EQ(calls, 3);
  const Tensor g = grad({y}, {x}, {}, true, /*create_graph=*/true)[0];
  EXPECT_NEAR(numbers(grad({at::sum(g)}, {x}, {}, true)[0])[0], 3.0, 1e-12);
  y.backward();
  EXPECT_NE(
      message_of([&] { y.backward(); }).find("Trying to backward through the graph a second time"), std::string::npos);
}

TEST(Checkpoint, ArgumentsChangedInPlaceAreFound) {
  Tensor x = leaf_of({0.5});
  Tensor a = at::mul(x, 2);
  Tensor y = checkpoint([](const Tensor& t) { return at::exp(at::mul(t, t)); }, a);
  a.add_(1);
  EXPECT_NE(
      message_of([&] { at::sum(y).backward(); }).find("has been modified by an inplace operation"), std::string::npos);
}

TEST(Checkpoint, ErrorsOfTheFunctionComeThrough) {
  Tensor x = leaf_of({0.5});
  int calls = 0;
  Tensor y = checkpoint(
      [&](const Tensor& a) {
        if (++calls == 2) throw std::out_of_range("second run");
        return at::exp(a);
      },
      x);
  EXPECT_THROW(at::sum(y).backward(), std::out_of_range);
}

TEST(Checkpoint, Contexts) {
  Lines trace;
  struct Scope {
    Scope(Lines& lines, std::string what) : trace(lines), name(std::move(what)) { trace.push_back("into " + name); }
    ~Scope() { trace.push_back("out of " + name); }
    Lines& trace;
    std::string name;
  };
  const auto scope = [&](const char* name) {
    return [&trace, name] { return std::make_shared<Scope>(trace, name); };
  };
  Tensor x = leaf_of({0.5});
  const auto options = CheckpointOptions().context_fn(
      [&] { return utils::checkpoint::Contexts{scope("forward"), scope("recompute")}; });
  Tensor y = checkpoint([](const Tensor& a) { return at::exp(a); }, x, options);
  at::sum(y).backward();
  EXPECT_EQ(trace, (Lines{"into forward", "out of forward", "into recompute", "out of recompute"}));
  EXPECT_THROW(
      checkpoint([](const Tensor& a) { return a; }, x, CheckpointOptions(options).use_reentrant(true)), c10::ValueError);
}

TEST(Checkpoint, SeveralThreadsThroughOneGraph) {
  for (int round = 0; round < 20; ++round) {
    Tensor x = leaf_of({0.5});
    Tensor y = x;
    for (int i = 0; i < 4; ++i) {
      y = checkpoint([](const Tensor& a) { return at::tanh(at::mul(a, a)); }, y);
    }
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) threads.emplace_back([&] { y.backward(at::ones({1}, at::kDouble), true); });
    for (std::thread& thread : threads) thread.join();
    const double got = numbers(x.grad())[0];
    x.mutable_grad().reset();
    y.backward(at::ones({1}, at::kDouble));
    EXPECT_NEAR(got, 3 * numbers(x.grad())[0], 1e-12);
  }
}

TEST(Checkpoint, WithoutRecording) {
  NoGradGuard no_grad;
  int calls = 0;
  Tensor x = leaf_of({0.5});
  EXPECT_FALSE(checkpoint(
                   [&](const Tensor& a) {
                     ++calls;
                     return at::exp(a);
                   },
                   x)
                   .requires_grad());
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace torch::autograd
