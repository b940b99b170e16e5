// Programs that are compiled when they are called.
#include "compile/compile.h"

#include <cstring>
#include <thread>

#include "c10/testing/message_of.h"
#include "gtest/gtest.h"
#include "torch/torch.h"

namespace torch {
namespace {

std::string difference(const Tensor& a, const Tensor& b) {
  if (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes() || a.strides() != b.strides())
    return "other tensors";
  const Tensor x = a.contiguous(), y = b.contiguous();
  return x.nbytes() == 0 || std::memcmp(x.data_ptr(), y.data_ptr(), x.nbytes()) == 0 ? "" : "other elements";
}

Tensor chain(const Tensor& x, const Tensor& w, const Tensor& b) {
  return gelu(x * w + b) + x;
}

TEST(Compile, OneEntryForEachKindOfInputs) {
  auto f = compile(chain);
  for (int turn = 0; turn < 3; ++turn) {
    const Tensor x = randn({5, 40}), w = randn({40}), b = randn({40});
    EXPECT_EQ(difference(f(x, w, b), chain(x, w, b)), "");
  }
  EXPECT_EQ(f.statistics().misses, 1u);
  EXPECT_EQ(f.statistics().hits, 2u);
  ASSERT_EQ(f.statistics().reports.size(), 1u);
  EXPECT_EQ(f.statistics().reports[0].groups, 1u);
  EXPECT_EQ(f.statistics().reports[0].grouped_nodes, 4u);
  // Other sizes, strides, dtypes, aliases and modes.
  const Tensor x = randn({40, 40}), w = randn({40});
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_EQ(difference(f(x, w, w), chain(x, w, w)), "");
    EXPECT_EQ(difference(f(x.t(), w, w), chain(x.t(), w, w)), "");
    EXPECT_EQ(difference(f(x.to(kBFloat16), w.to(kBFloat16), w), chain(x.to(kBFloat16), w.to(kBFloat16), w)), "");
    EXPECT_EQ(difference(f(x, x, x), chain(x, x, x)), "");
    const NoGradGuard no_grad;
    EXPECT_EQ(difference(f(x, w, w), chain(x, w, w)), "");
  }
  EXPECT_EQ(f.statistics().misses, 6u);
  EXPECT_EQ(f.statistics().hits, 7u);
  f.clear();
  EXPECT_EQ(f.statistics().entries, 0u);
}

TEST(Compile, NumbersListsAndTuples) {
  auto f = compile([](const std::vector<Tensor>& parts, double scale, int64_t dim, bool squared) {
    const Tensor all = cat(parts, dim) * scale;
    return std::make_tuple(squared ? all * all : all, all.sum(dim));
  });
  const std::vector<Tensor> parts{randn({2, 3}), randn({2, 3})};
  const auto expect = [&](double scale, int64_t dim, bool squared) {
    const auto [a, b] = f(parts, scale, dim, squared);
    const Tensor all = cat(parts, dim) * scale;
    EXPECT_EQ(difference(a, squared ? all * all : all), "");
    EXPECT_EQ(difference(b, all.sum(dim)), "");
  };
  for (int turn = 0; turn < 2; ++turn) {
    expect(0.5, 0, false);
    expect(0.5, 1, false);
    expect(0.75, 0, true);
  }
  EXPECT_EQ(f.statistics().misses, 3u);
  EXPECT_EQ(f.statistics().hits, 3u);
}

struct NetImpl : nn::Module {
  NetImpl() {
    first = register_module("first", nn::Linear(12, 30));
    norm = register_module("norm", nn::BatchNorm1d(30));
    drop = register_module("drop", nn::Dropout(0.5));
    last = register_module("last", nn::Linear(30, 4));
  }
  Tensor forward(const Tensor& x) { return log_softmax(last(drop(gelu(norm(first(x)) * 1.5))), -1); }
  nn::Linear first{nullptr}, last{nullptr};
  nn::BatchNorm1d norm{nullptr};
  nn::Dropout drop{nullptr};
};
TORCH_MODULE(Net);

TEST(Compile, ModulesSeeWhatAnOptimizerDoes) {
  Net net;
  auto f = compile(net);
  optim::SGD sgd(net->parameters(), 0.1);
  for (int turn = 0; turn < 3; ++turn) {
    const Tensor x = randn({6, 12});
    net->train();
    nll_loss(net(x), randint(0, 4, {6}, kLong)).backward();
    sgd.step();
    sgd.zero_grad();
    net->eval();
    const NoGradGuard no_grad;
    EXPECT_EQ(difference(f(x), net(x)), "");
  }
  EXPECT_EQ(f.statistics().misses, 1u);
  EXPECT_EQ(f.statistics().hits, 2u);
  // Another dtype, in place.
  net->to(kDouble);
  const NoGradGuard no_grad;
  const Tensor x = randn({6, 12}, kDouble);
  for (int turn = 0; turn < 2; ++turn) EXPECT_EQ(difference(f(x), net(x)), "");
  EXPECT_EQ(f.statistics().misses, 2u);
}

// Running statistics change as they do without.
TEST(Compile, StateThatIsWritten) {
  Net net, same;
  net->drop->eval();
  for (const auto& item : net->named_parameters()) {
    const NoGradGuard no_grad;
    same->get_parameter(item.key()).copy_(item.value());
  }
  same->drop->eval();
  auto f = compile(net);
  const NoGradGuard no_grad;
  for (int turn = 0; turn < 3; ++turn) {
    const Tensor x = randn({6, 12});
    EXPECT_EQ(difference(f(x), same(x)), "");
    for (const auto& item : same->named_buffers()) {
      EXPECT_EQ(difference(net->get_buffer(item.key()), item.value()), "") << item.key();
    }
  }
  EXPECT_EQ(f.statistics().misses, 1u);
  const bool training = net->drop->is_training();
  net->drop->train(!training);
  f(randn({6, 12}));
  EXPECT_EQ(f.statistics().misses, 2u);
}

TEST(Compile, WritesToArguments) {
  const auto program = [](Tensor x, const Tensor& y) {
    x.mul_(2).add_(y);
    x.narrow(0, 0, 2).relu_();
    return x + y;
  };
  auto f = compile(program);
  for (int turn = 0; turn < 3; ++turn) {
    Tensor x = randn({4, 5}), same = x.clone();
    const Tensor y = randn({5});
    EXPECT_EQ(difference(f(x, y), program(same, y)), "");
    EXPECT_EQ(difference(x, same), "");
  }
  EXPECT_EQ(f.statistics().misses, 1u);
}

TEST(Compile, RandomNumbersAreDrawnInOrder) {
  const auto program = [](const Tensor& x) { return dropout(x + 1, 0.5, true) * torch::rand({50}); };
  auto f = compile(program);
  const Tensor x = randn({50});
  manual_seed(3);
  const Tensor a = f(x), b = f(x);
  manual_seed(3);
  EXPECT_EQ(difference(a, program(x)), "");
  EXPECT_EQ(difference(b, program(x)), "");
}

TEST(Compile, ResultsAreTheCallers) {
  auto f = compile([](const Tensor& x) {
    const Tensor y = (x + 1) * 2;
    return std::make_tuple(y, y.t(), x.t(), y.exp() + 1);
  });
  const Tensor x = randn({3, 4});
  f(x);
  const auto [y, turned, view, z] = f(x);
  const Tensor kept = y.clone(), kept_z = z.clone();
  f(randn({3, 4}));
  EXPECT_EQ(difference(y, kept), "");
  EXPECT_EQ(difference(z, kept_z), "");
  EXPECT_TRUE(turned.is_alias_of(y));
  EXPECT_TRUE(view.is_alias_of(x));
}

TEST(Compile, SaysWhatItCannotDo) {
  const auto reads = [](const Tensor& x) { return x.sum().item<double>() > 0 ? x + 1 : x - 1; };
  auto f = compile(reads);
  const std::string message = c10::testing::message_of<c10::ValueError>([&] { f(ones({3})); });
  EXPECT_NE(message.find("aten::item"), std::string::npos) << message;
  auto g = compile(reads, {.eager_fallback = true});
  EXPECT_EQ(difference(g(ones({3})), ones({3}) + 1), "");
  EXPECT_EQ(difference(g(-ones({3})), -ones({3}) - 1), "");
  EXPECT_EQ(g.statistics().eager_calls, 2u);
  EXPECT_EQ(g.statistics().reasons.size(), 1u);
  Tensor kept = zeros({3});
  auto h = compile([&](const Tensor& x) { return kept.add_(x); });
  EXPECT_NE(c10::testing::message_of<c10::ValueError>([&] { h(ones({3})); }).find("would be written"),
            std::string::npos);
  auto odd = compile([](const Tensor& x, Device) { return x; });
  EXPECT_NE(c10::testing::message_of<c10::ValueError>([&] { odd(ones({3}), Device(kCPU)); }), "");
}

TEST(Compile, CacheIsBounded) {
  auto f = compile(chain, {.max_entries = 3});
  const Tensor w = randn({1});
  for (int64_t n = 1; n <= 10; ++n) f(randn({n}), w, w);
  EXPECT_EQ(f.statistics().entries, 3u);
  EXPECT_EQ(f.statistics().evictions, 7u);
  // The latest used stay.
  f(randn({8}), w, w);
  f(randn({1}), w, w);
  f(randn({8}), w, w);
  EXPECT_EQ(f.statistics().hits, 2u);
  auto g =
      compile([](const Tensor& x) { return (x + 1).sum(0) + (x * 2).exp().sum(0); }, {.max_bytes = size_t{1} << 20});
  for (int64_t n = 1; n <= 4; ++n) {
    g(randn({n, 50000}));
    g(randn({n, 50000}));
    EXPECT_LE(g.statistics().bytes, size_t{1} << 21);
  }
  EXPECT_GT(g.statistics().evictions, 0u);
}

TEST(Compile, SeveralThreads) {
  auto f = compile([](const Tensor& x, const Tensor& w) { return softmax(mm(gelu(x + 1), w) * 0.5, -1) + 1; });
  std::vector<std::thread> threads;
  std::vector<std::string> found(4);
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const Tensor x = randn({7, 20 + i % 3}), w = randn({20 + i % 3, 33});
        const std::string other = difference(f(x, w), softmax(mm(gelu(x + 1), w) * 0.5, -1) + 1);
        if (!other.empty()) found[t] = other;
      }
    });
  }
  for (std::thread& one : threads) one.join();
  for (const std::string& one : found) EXPECT_EQ(one, "");
}

}  // namespace
}  // namespace torch
