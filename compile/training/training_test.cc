// Cuts, and training steps that are compiled.
#include <cstring>
#include <random>

#include "compile/compile.h"
#include "compile/training/max_flow.h"
#include "compile/training/split.h"
#include "compile/training/training.h"
#include "gtest/gtest.h"
#include "torch/torch.h"

namespace torch {
namespace {

using compiler::MaxFlow;

// Against all cuts there are.
TEST(MaxFlow, LeastCutOfRandomGraphs) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const size_t nodes = 2 + random() % 7;
    std::vector<std::vector<int64_t>> capacity(nodes, std::vector<int64_t>(nodes));
    MaxFlow flow(nodes);
    for (size_t edges = random() % 20; edges > 0; --edges) {
      const size_t from = random() % nodes, to = random() % nodes;
      const auto c = static_cast<int64_t>(random() % 10);
      if (from == to) continue;
      capacity[from][to] += c;
      flow.add(from, to, c);
    }
    const auto cost = [&](size_t side) {
      int64_t sum = 0;
      for (size_t a = 0; a < nodes; ++a) {
        for (size_t b = 0; b < nodes; ++b) {
          if ((side >> a & 1) != 0 && (side >> b & 1) == 0) sum += capacity[a][b];
        }
      }
      return sum;
    };
    int64_t least = INT64_MAX;
    for (size_t side = 0; side < size_t{1} << nodes; ++side) {
      if ((side & 1) != 0 && (side >> 1 & 1) == 0) least = std::min(least, cost(side));
    }
    ASSERT_EQ(flow.run(0, 1), least);
    size_t own = 0;
    for (size_t a = 0; a < nodes; ++a) own |= size_t{flow.on_source_side(a)} << a;
    ASSERT_EQ(cost(own), least);
  }
}

std::string difference(const Tensor& a, const Tensor& b) {
  if (a.defined() != b.defined()) return "one that is undefined";
  if (!a.defined()) return "";
  if (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes()) return "other tensors";
  const Tensor x = a.contiguous(), y = b.contiguous();
  if (x.nbytes() == 0 || std::memcmp(x.data_ptr(), y.data_ptr(), x.nbytes()) == 0) return "";
  return c10::str("other elements, by at most ", (x - y).abs().max().item<double>());
}

// Results and gradients of a program of tensors, compiled and not, three times.
template <class F>
CompileStatistics expect_same_gradients(F program, const std::vector<Tensor>& inputs) {
  auto compiled = compile([&](const std::vector<Tensor>& in) { return program(in); });
  for (int turn = 0; turn < 3; ++turn) {
    std::vector<Tensor> a, b;
    for (const Tensor& t : inputs) {
      const Tensor value = t.is_floating_point() ? torch::randn_like(t) : t;
      a.push_back(value.clone().requires_grad_(t.requires_grad()));
      b.push_back(value.clone().requires_grad_(t.requires_grad()));
    }
    const Tensor x = program(a), y = compiled(b);
    EXPECT_EQ(difference(x, y), "") << turn;
    const Tensor gradient = torch::randn_like(x);
    x.backward(gradient);
    y.backward(gradient);
    for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(difference(a[i].grad(), b[i].grad()), "") << turn << ": " << i;
  }
  return compiled.statistics();
}

TEST(Training, Chains) {
  const CompileStatistics s =
      expect_same_gradients([](const std::vector<Tensor>& in) { return gelu(in[0] * in[1] + in[2]).tanh() + in[0]; },
                            {randn({6, 30}).requires_grad_(), randn({30}).requires_grad_(), randn({30})});
  EXPECT_EQ(s.misses, 1u);
  EXPECT_EQ(s.hits, 2u);
  EXPECT_EQ(s.eager_calls, 0u) << (s.reasons.empty() ? "" : s.reasons[0]);
}
TEST(Training, ProductsAndRows) {
  const CompileStatistics s = expect_same_gradients(
      [](const std::vector<Tensor>& in) {
        const Tensor h = nn::functional::silu(linear(in[0], in[1], in[2]));
        return log_softmax(layer_norm(h, {20}, in[3], in[4]).matmul(in[5]) * 0.5, -1);
      },
      {randn({7, 12}).requires_grad_(), randn({20, 12}).requires_grad_(), randn({20}).requires_grad_(),
       randn({20}).requires_grad_(), randn({20}).requires_grad_(), randn({20, 9}).requires_grad_()});
  EXPECT_EQ(s.hits, 2u);
  EXPECT_EQ(s.eager_calls, 0u) << (s.reasons.empty() ? "" : s.reasons[0]);
}
TEST(Training, ViewsAndReductions) {
  const CompileStatistics s = expect_same_gradients(
      [](const std::vector<Tensor>& in) {
        const Tensor h = in[0].view({4, 3, 10}).transpose(0, 1).contiguous() * in[1];
        return (h.exp().sum(-1) + h.narrow(2, 0, 5).relu().mean(-1)).reshape({-1});
      },
      {randn({12, 10}).requires_grad_(), randn({10}).requires_grad_()});
  EXPECT_EQ(s.eager_calls, 0u) << (s.reasons.empty() ? "" : s.reasons[0]);
}

struct NetImpl : nn::Module {
  explicit NetImpl(bool with_norm) : first(register_module("first", nn::Linear(8, 16))) {
    if (with_norm) norm = register_module("norm", nn::BatchNorm1d(16));
    last = register_module("last", nn::Linear(16, 3));
  }
  Tensor forward(const Tensor& x) {
    const Tensor h = first(x);
    return last(relu(norm.is_empty() ? h : norm(h)));
  }
  nn::Linear first, last{nullptr};
  nn::BatchNorm1d norm{nullptr};
};
TORCH_MODULE(Net);

// Steps of an optimiser end with the same parameters and statistics.
void expect_same_training(bool with_norm) {
  Net a(with_norm), b(with_norm);
  for (const auto& item : a->named_parameters()) {
    const NoGradGuard no_grad;
    b->get_parameter(item.key()).copy_(item.value());
  }
  auto f = compile(b);
  optim::SGD of_a(a->parameters(), optim::SGDOptions(0.1).momentum(0.9));
  optim::SGD of_b(b->parameters(), optim::SGDOptions(0.1).momentum(0.9));
  for (int turn = 0; turn < 5; ++turn) {
    const Tensor x = randn({10, 8}), target = randint(0, 3, {10}, kLong);
    of_a.zero_grad();
    of_b.zero_grad();
    cross_entropy_loss(a(x), target).backward();
    cross_entropy_loss(f(x), target).backward();
    of_a.step();
    of_b.step();
  }
  for (const auto& item : a->named_parameters()) {
    EXPECT_EQ(difference(item.value(), b->get_parameter(item.key())), "") << item.key();
  }
  for (const auto& item : a->named_buffers()) {
    EXPECT_EQ(difference(item.value(), b->get_buffer(item.key())), "") << item.key();
  }
  EXPECT_EQ(f.statistics().eager_calls, 0u) << (f.statistics().reasons.empty() ? "" : f.statistics().reasons[0]);
}
TEST(Training, Modules) {
  expect_same_training(false);
}
TEST(Training, ModulesWithRunningStatistics) {
  expect_same_training(true);
}

TEST(Training, SeveralResultsOfWhichSomeAreUsed) {
  auto f = compile([](const Tensor& x, const Tensor& n) { return std::make_tuple(x.sin() * n, x.cos(), n > 2); });
  const Tensor n = arange(4);
  for (int turn = 0; turn < 3; ++turn) {
    const Tensor x = randn({4}).requires_grad_();
    const auto [a, b, c] = f(x, n);
    EXPECT_FALSE(c.requires_grad());
    b.sum().backward();
    EXPECT_EQ(difference(x.grad(), -x.detach().sin()), "");
  }
  EXPECT_EQ(f.statistics().eager_calls, 0u);
}
TEST(Training, RandomNumbersAreSaved) {
  const auto program = [](const std::vector<Tensor>& in) { return (dropout(in[0], 0.5, true) * in[1]).relu(); };
  auto f = compile([&](const std::vector<Tensor>& in) { return program(in); });
  for (int turn = 0; turn < 3; ++turn) {
    const Tensor x = randn({40}).requires_grad_(), w = randn({40}).requires_grad_();
    manual_seed(turn);
    f(std::vector<Tensor>{x, w}).sum().backward();
    const Tensor got = x.grad().clone(), got_w = w.grad().clone();
    x.mutable_grad().reset();
    w.mutable_grad().reset();
    manual_seed(turn);
    program({x, w}).sum().backward();
    EXPECT_EQ(difference(got, x.grad()), "");
    EXPECT_EQ(difference(got_w, w.grad()), "");
  }
}

TEST(Training, WhatCannotBeCompiledRunsAsItIs) {
  auto f = compile([](const Tensor& x) { return x.sum().item<double>() > 0 ? x.exp() : x.sin(); });
  for (int turn = 0; turn < 2; ++turn) {
    const Tensor x = ones({3}).requires_grad_(), y = (-ones({3})).requires_grad_();
    f(x).sum().backward();
    f(y).sum().backward();
    EXPECT_EQ(difference(x.grad(), ones({3}).exp()), "");
    EXPECT_EQ(difference(y.grad(), (-ones({3})).cos()), "");
  }
  EXPECT_EQ(f.statistics().reasons.size(), 1u);
  EXPECT_EQ(f.statistics().eager_calls, 4u);
}

// What a chain reads is computed again, from what is smaller.
TEST(Training, SavesLittle) {
  const Tensor x = randn({100, 50}).requires_grad_();
  compiler::TrainingOptions options;
  const auto made = compiler::TrainingExecutable::record(
      [](const c10::Stack& in) {
        return c10::Stack{c10::IValue((in[0].toTensor().abs() * 2 + 1).square().sqrt() * in[0].toTensor())};
      },
      {x}, options);
  ASSERT_NE(made.run, nullptr) << made.why;
  EXPECT_EQ(made.run->saved_bytes(), 0);  // the input is enough
  EXPECT_GE(made.run->unsplit_bytes(), 3 * 100 * 50 * 4);
}

}  // namespace
}  // namespace torch
