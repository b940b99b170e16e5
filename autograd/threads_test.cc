// The thread contract of gradients, run under TSan: separate models train side by side, and several threads may differentiate
// through shared leaves.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/autograd.h"
#include "autograd/function/custom_function.h"

namespace torch::autograd {
namespace {

using at::Tensor;

Tensor parameter(std::initializer_list<int64_t> sizes, double value) {
  Tensor t = at::full(sizes, value, at::TensorOptions().dtype(at::kDouble));
  t.set_requires_grad(true);
  return t;
}

// Fits y = 3 x - 1 and returns the last loss.
double train(int steps) {
  Tensor w = parameter({1, 1}, 0.1);
  Tensor b = parameter({1}, 0.0);
  const Tensor x = at::reshape(at::linspace(-1, 1, 16, at::TensorOptions().dtype(at::kDouble)), {16, 1});
  const Tensor y = at::sub(at::mul(x, 3), 1);
  double last = 0;
  for (int i = 0; i < steps; ++i) {
    const Tensor error = at::sub(at::add(at::mm(x, w), b), y);
    const Tensor loss = at::mean(at::mul(error, error));
    loss.backward();
    NoGradGuard no_grad;
    for (Tensor* p : {&w, &b}) {
      at::sub_(*p, p->grad(), 0.2);
      p->mutable_grad().reset();
    }
    last = at::item(loss).toDouble();
  }
  return last;
}

TEST(Threads, SeparateModels) {
  std::vector<double> losses(2);
  std::vector<std::thread> threads;
  for (double& loss : losses) threads.emplace_back([&loss] { loss = train(200); });
  for (std::thread& t : threads) t.join();
  EXPECT_LT(losses[0], 1e-6);
  EXPECT_EQ(losses[0], losses[1]);
}

TEST(Threads, SharedLeafAccumulatesEveryGradient) {
  Tensor shared = parameter({4}, 1.0);
  constexpr int kThreads = 4;
  constexpr int kSteps = 50;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kSteps; ++i) at::sum(at::mul(shared, 2)).backward();
    });
  }
  for (std::thread& t : threads) t.join();
  const Tensor& grad = shared.grad();
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(grad.data_ptr<double>()[i], 2.0 * kThreads * kSteps);
}

TEST(Threads, RecordingWithOneLeafForTheFirstTime) {
  for (int round = 0; round < 20; ++round) {
    Tensor shared = parameter({4}, 1.0);
    std::vector<Tensor> results(4);
    std::vector<std::thread> threads;
    for (Tensor& result : results) threads.emplace_back([&] { result = at::tanh(at::mul(shared, 2)); });
    for (std::thread& t : threads) t.join();
    for (const Tensor& result : results) {
      EXPECT_EQ(
          result.grad_fn()->next_edge(0).function->next_edge(0).function.get(), grad_accumulator(shared).get());
    }
  }
}

TEST(Threads, ReadingAViewWhoseBaseChanged) {
  // Whoever reads such a view first brings its history up to date; the others must see all of it or nothing.
  for (int round = 0; round < 50; ++round) {
    Tensor leaf = parameter({4}, 1.0);
    Tensor base = at::ones({4}, at::kDouble);
    Tensor view = at::view(base, {2, 2});
    at::add_(base, at::mul(leaf, 3));
    constexpr int kThreads = 3;
    std::vector<Tensor> sums(kThreads);
    std::vector<int> recorded(kThreads);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        recorded[t] = view.requires_grad() && !view.is_leaf() && view.output_nr() == 0;
        sums[t] = at::sum(at::mul(view, t + 1));
      });
    }
    for (std::thread& t : threads) t.join();
    for (int t = 0; t < kThreads; ++t) {
      EXPECT_TRUE(recorded[t]);
      ASSERT_TRUE(sums[t].requires_grad());
      EXPECT_EQ(sums[t].grad_fn()->next_edge(0).function->next_edge(0).function.get(), view.grad_fn().get());
      leaf.mutable_grad().reset();
      sums[t].backward({}, true);
      EXPECT_EQ(leaf.grad().data_ptr<double>()[3], 3.0 * (t + 1));
    }
  }
}

// What `threads` calls of `backward` throw, "" for nothing.
std::vector<std::string> run_side_by_side(int threads, const std::function<void(int)>& backward) {
  std::vector<std::string> thrown(threads);
  std::vector<std::thread> running;
  std::atomic<int> waiting{threads};
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      --waiting;
      while (waiting != 0) std::this_thread::yield();
      try {
        backward(t);
      } catch (const c10::Error& e) {
        thrown[t] = e.what_without_backtrace();
      }
    });
  }
  for (std::thread& t : running) t.join();
  return thrown;
}

void expect_second_backward(const std::string& message) {
  EXPECT_EQ(message.find("Trying to backward through the graph a second time"), 0u) << message;
}

Tensor chain(Tensor y, int length) {
  for (int i = 0; i < length; ++i) y = at::tanh(at::mul(y, y));
  return y;
}

TEST(Threads, OneOfThoseThatFreeAGraphWins) {
  for (int round = 0; round < 50; ++round) {
    Tensor w = parameter({4}, 0.5);
    Tensor loss = at::sum(chain(w, 20));
    const std::vector<std::string> thrown = run_side_by_side(4, [&](int) { loss.backward(); });
    int winners = 0;
    for (const std::string& message : thrown) {
      winners += message.empty();
      if (!message.empty()) expect_second_backward(message);
    }
    EXPECT_EQ(winners, 1);
    Tensor alone = parameter({4}, 0.5);
    at::sum(chain(alone, 20)).backward();
    EXPECT_EQ(w.grad().data_ptr<double>()[0], alone.grad().data_ptr<double>()[0]);
  }
}

TEST(Threads, ThoseThatKeepAGraphRunBesideOneThatFreesIt) {
  for (int round = 0; round < 50; ++round) {
    Tensor w = parameter({4}, 0.5);
    Tensor loss = at::sum(chain(w, 20));
    const std::vector<std::string> thrown =
        run_side_by_side(4, [&](int t) { loss.backward({}, /*retain_graph=*/t != 0); });
    EXPECT_EQ(thrown[0], "");
    for (const std::string& message : thrown) {
      if (!message.empty()) expect_second_backward(message);
    }
  }
}

TEST(Threads, GraphsThatShareATrunkWhichIsFreed) {
  for (int round = 0; round < 50; ++round) {
    Tensor w = parameter({4}, 0.5);
    const Tensor trunk = chain(w, 10);
    std::vector<Tensor> losses;
    for (int t = 0; t < 3; ++t) losses.push_back(at::sum(chain(trunk, 2 + t)));
    const std::vector<std::string> thrown = run_side_by_side(3, [&](int t) {
      losses[t].backward();
      losses[t].reset();
    });
    int winners = 0;
    for (const std::string& message : thrown) {
      winners += message.empty();
      if (!message.empty()) expect_second_backward(message);
    }
    EXPECT_EQ(winners, 1);
  }
}

// Stays in backward until it is let go, in the process that made the graph.
std::atomic<bool> blocking{false}, inside{false};

struct Blocks : Function<Blocks> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x) {
    ctx->save_for_backward({x});
    return at::mul(x, x);
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    inside = true;
    while (blocking) std::this_thread::yield();
    return {at::mul(grads[0], at::mul(ctx->get_saved_variables()[0], 2))};
  }
};

TEST(Threads, AForkedChildGoesOn) {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "this sanitizer does not follow forks of several threads";
#endif
#endif
  Tensor w = parameter({4}, 0.5);
  Tensor y = Blocks::apply(w);
  for (const bool keep : {true, false}) {
    blocking = true;
    inside = false;
    std::thread busy([&] { y.backward(at::ones({4}, at::kDouble), keep); });
    while (!inside) std::this_thread::yield();
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      blocking = false;
      // Through the node that the parent's thread is in, into the same leaf, and a graph of its own.
      y.backward(at::ones({4}, at::kDouble), true);
      const bool shared = w.grad().data_ptr<double>()[0] == (keep ? 1.0 : 2.0);
      at::sum(chain(w, 3)).backward();
      Tensor deep = parameter({1}, 1.0);
      at::sum(at::mul(deep, deep)).backward();
      _exit(shared && deep.grad().data_ptr<double>()[0] == 2.0 ? 0 : 1);
    }
    ASSERT_GT(child, 0);
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    blocking = false;
    busy.join();
  }
  EXPECT_EQ(w.grad().data_ptr<double>()[0], 2.0);
}

TEST(Threads, AGraphMadeInOneThreadRunsAndDiesInAnother) {
  Tensor w = parameter({8}, 2.0);
  Tensor y = w;
  for (int i = 0; i < 1000; ++i) y = at::add(y, 1);
  Tensor loss = at::sum(y);
  y.reset();
  std::thread([&] {
    loss.backward();
    loss.reset();
  }).join();
  EXPECT_EQ(w.grad().data_ptr<double>()[7], 1.0);
}

}  // namespace
}  // namespace torch::autograd
