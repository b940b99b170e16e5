// torch::compile with CUDA tensors: the bits of the program itself, training steps, steps that are captured into CUDA
// graphs, and what cannot be compiled.
#include "compile/compile.h"

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAStream.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "compile/cuda/kernel_cache.h"
#include "compile/cuda/nvrtc.h"
#ifdef KD_CUDA_ON_HOST
#include "tests/cuda_on_host/nvrtc/standin.h"
#include "tests/cuda_on_host/runtime/standin.h"
#endif

namespace torch {
namespace {

const Device kDevice(kCUDA, 0);

std::string difference(const Tensor& a, const Tensor& b) {
  if (a.defined() != b.defined()) return "one that is undefined";
  if (!a.defined()) return "";
  if (a.device() != kDevice || b.device() != kDevice) return "other devices";
  if (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes() || a.strides() != b.strides())
    return "other tensors";
  return a.cpu().equal(b.cpu()) ? "" : "other elements";
}

Tensor normal(IntArrayRef sizes, ScalarType dtype = kFloat) {
  return randn(sizes).to(kDevice, dtype);
}

class CudaCompile : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!cuda::is_available()) GTEST_SKIP() << "no device";
    torch::manual_seed(7);
#ifdef KD_CUDA_ON_HOST
    nvrtc_standin::reset();
#endif
  }
  void TearDown() override {
    if (cuda::is_available()) cuda::synchronize();
#ifdef KD_CUDA_ON_HOST
    EXPECT_EQ(cuda_standin::misuse(), "");
#endif
  }
};

#ifdef KD_CUDA_ON_HOST
void start_trace() {
  cuda::synchronize();
  cuda_standin::clear_trace();
}
// What ran since then, and how much of it was kernels of groups.
std::pair<size_t, size_t> traced() {
  cuda::synchronize();
  const auto all = cuda_standin::trace();
  const auto kernels = std::count_if(all.begin(), all.end(), [](const auto& work) { return work.name == "fused"; });
  return {all.size(), static_cast<size_t>(kernels)};
}
#else
void start_trace() {}
#endif

Tensor chain(const Tensor& x, const Tensor& w, const Tensor& b) {
  return gelu(x * w + b) + x;
}

TEST_F(CudaCompile, OneKernelForAChain) {
  auto f = compile(chain);
  for (int turn = 0; turn < 3; ++turn) {
    const Tensor x = normal({5, 40}), w = normal({40}), b = normal({40});
    const Tensor want = chain(x, w, b);
    start_trace();
    const Tensor got = f(x, w, b);
#ifdef KD_CUDA_ON_HOST
    if (turn == 0) {
      EXPECT_EQ(traced().second, 0u);
    } else {
      EXPECT_EQ(traced(), std::make_pair(size_t{1}, size_t{1}));
    }
#endif
    EXPECT_EQ(difference(got, want), "");
  }
  EXPECT_EQ(f.statistics().misses, 1u);
  EXPECT_EQ(f.statistics().reports.at(0).groups, 1u);
  EXPECT_EQ(f.statistics().reports.at(0).grouped_nodes, 4u);
  // Numbers and other dtypes; tensors of the CPU beside those of the device.
  auto g = compile([](const Tensor& x, const Tensor& on_cpu, double scale) {
    return std::make_tuple((x * scale).to(kHalf).exp() - 2, (on_cpu * scale).exp() - 2, x.gt(0.25).logical_not());
  });
  const Tensor x = normal({3, 7}), c = randn({4});
  for (int turn = 0; turn < 2; ++turn) {
    const auto [a, b, d] = g(x, c, 0.5);
    EXPECT_EQ(difference(a, (x * 0.5).to(kHalf).exp() - 2), "");
    EXPECT_TRUE(b.equal((c * 0.5).exp() - 2));
    EXPECT_EQ(difference(d, x.gt(0.25).logical_not()), "");
  }
  EXPECT_EQ(g.statistics().reports.at(0).groups, 2u);
}

TEST_F(CudaCompile, ViewsAndWrites) {
  auto f = compile([](Tensor x, const Tensor& y) {
    x.narrow(0, 1, 2).mul_(2).add_(y);
    return x.t().exp().neg() + x.sum();
  });
  for (int turn = 0; turn < 3; ++turn) {
    const Tensor a = normal({4, 5}), b = a.clone(), y = normal({2, 5});
    Tensor plain = a;
    plain.narrow(0, 1, 2).mul_(2).add_(y);
    const Tensor want = plain.t().exp().neg() + plain.sum();
    EXPECT_EQ(difference(f(b, y), want), "") << turn;
    EXPECT_EQ(difference(b, a), "") << turn;
  }
  EXPECT_EQ(f.statistics().hits, 2u);
}

TEST_F(CudaCompile, RandomNumbers) {
  auto f = compile([](const Tensor& x) { return dropout(x * 2, 0.5, true).exp() + x.clone().uniform_().neg().exp(); });
  const Tensor x = normal({30});
  for (int turn = 0; turn < 3; ++turn) {
    torch::manual_seed(turn);
    const Tensor want = dropout(x * 2, 0.5, true).exp() + x.clone().uniform_().neg().exp();
    torch::manual_seed(turn);
    EXPECT_EQ(difference(f(x), want), "") << turn;
  }
  EXPECT_EQ(f.statistics().hits, 2u);
}

struct NetImpl : nn::Module {
  NetImpl() {
    first = register_module("first", nn::Linear(12, 32));
    norm = register_module("norm", nn::LayerNorm(nn::LayerNormOptions({32})));
    last = register_module("last", nn::Linear(32, 4));
  }
  Tensor forward(const Tensor& x) {
    const Tensor h = nn::functional::silu(first(x)) * 1.5;
    return log_softmax(last(norm(h).tanh() + h) * 0.5, -1);
  }
  nn::Linear first{nullptr}, last{nullptr};
  nn::LayerNorm norm{nullptr};
};
TORCH_MODULE(Net);

Net made_net() {
  torch::manual_seed(3);
  Net net;
  net->to(kDevice);
  return net;
}

TEST_F(CudaCompile, TrainingSteps) {
  Net plain = made_net(), same = made_net();
  auto f = compile(same);
  optim::SGD plain_sgd(plain->parameters(), 0.1), sgd(same->parameters(), 0.1);
  for (int turn = 0; turn < 4; ++turn) {
    const Tensor x = normal({6, 12}), target = randint(0, 4, {6}, kLong).to(kDevice);
    const Tensor want = nll_loss(plain(x), target), loss = nll_loss(f(x), target);
    EXPECT_EQ(difference(loss, want), "") << turn;
    want.backward();
    loss.backward();
    for (size_t i = 0; i < plain->parameters().size(); ++i) {
      EXPECT_EQ(difference(same->parameters()[i].grad(), plain->parameters()[i].grad()), "") << turn << ": " << i;
    }
    plain_sgd.step();
    sgd.step();
    plain_sgd.zero_grad();
    sgd.zero_grad();
  }
  const CompileStatistics s = f.statistics();
  EXPECT_EQ(s.misses, 1u);
  EXPECT_EQ(s.hits, 3u);
  EXPECT_EQ(s.eager_calls, 0u) << (s.reasons.empty() ? "" : s.reasons[0]);
  ASSERT_EQ(s.reports.size(), 2u);
  EXPECT_GT(s.reports[0].groups, 0u);
  EXPECT_GT(s.reports[1].groups, 0u);
}

// A step that was compiled before is captured, replayed on other data, and outlives what it was compiled by.
TEST_F(CudaCompile, CapturedSteps) {
  Net plain = made_net(), same = made_net();
  optim::SGD plain_sgd(plain->parameters(), 0.1), sgd(same->parameters(), 0.1);
  const Tensor x = normal({6, 12}), target = randint(0, 4, {6}, kLong).to(kDevice);
  Tensor loss;
  at::cuda::CUDAGraph graph;
  {
    auto f = compile(same);
    const auto step = [&] {
      sgd.zero_grad();
      loss = nll_loss(f(x), target);
      loss.backward();
      sgd.step();
    };
    for (int turn = 0; turn < 7; ++turn) {
      x.copy_(normal({6, 12}));
      if (turn < 3) {
        step();
      } else {
        if (turn == 3) {
          const cuda::graph capture(graph);
          step();
        }
        graph.replay();
      }
      plain_sgd.zero_grad();
      const Tensor want = nll_loss(plain(x), target);
      want.backward();
      plain_sgd.step();
      EXPECT_EQ(difference(loss, want), "") << turn;
    }
    EXPECT_EQ(f.statistics().misses, 1u);
    EXPECT_EQ(f.statistics().eager_calls, 0u);
  }
  compiler::cuda::clear_kernel_cache();
  start_trace();
  graph.replay();
  cuda::synchronize();
#ifdef KD_CUDA_ON_HOST
  EXPECT_GT(traced().second, 0u);
#endif
}

// A first call in a capture captures the program as it is, and has compiled it.
TEST_F(CudaCompile, FirstCallInACapture) {
  compiler::cuda::clear_kernel_cache();
  auto f = compile(chain);
  const Tensor x = normal({5, 40}), w = normal({40}), b = normal({40});
  chain(x, w, b);
  at::cuda::CUDAGraph graph;
  Tensor y, z;
  {
    const cuda::graph capture(graph);
    y = f(x, w, b);
    z = f(x, w, b);
  }
  graph.replay();
  EXPECT_EQ(difference(y, chain(x, w, b)), "");
  EXPECT_EQ(difference(z, y), "");
  EXPECT_EQ(f.statistics().hits, 1u);
}

TEST_F(CudaCompile, OtherStreams) {
  auto f = compile(chain);
  const Tensor x = normal({5, 40}), w = normal({40}), b = normal({40}), want = chain(x, w, b);
  f(x, w, b);
  start_trace();
  Tensor y;
  const auto stream = c10::cuda::getStreamFromPool();
  {
    const c10::StreamGuard guard(stream);
    y = f(x, w, b);
  }
  cuda::synchronize();
#ifdef KD_CUDA_ON_HOST
  ASSERT_EQ(cuda_standin::trace().size(), 1u);
  EXPECT_EQ(cuda_standin::trace()[0].stream, stream.stream());
#endif
  EXPECT_EQ(difference(y, want), "");
}

#ifdef KD_CUDA_ON_HOST
// An entry each, and one kernel for both.
TEST_F(CudaCompile, OtherDevices) {
  auto f = compile(chain);
  const Tensor x = normal({5, 40}), w = normal({40}), b = normal({40}), want = chain(x, w, b);
  f(x, w, b);
  nvrtc_standin::reset();
  const Device other(kCUDA, 1);
  const Tensor x1 = x.to(other), w1 = w.to(other), b1 = b.to(other);
  for (int turn = 0; turn < 2; ++turn) {
    const Tensor y1 = f(x1, w1, b1);
    EXPECT_EQ(y1.device(), other);
    EXPECT_TRUE(y1.cpu().equal(want.cpu()));
  }
  EXPECT_EQ(f.statistics().misses, 2u);
  EXPECT_EQ(nvrtc_standin::compiled().size(), 0u);
}

// Where the compiler fails, the call says so, or runs as it is.
TEST_F(CudaCompile, CompilerFails) {
  const Tensor x = normal({5, 40}), w = normal({40}), b = normal({40});
  for (const bool fallback : {false, true}) {
    compiler::cuda::clear_kernel_cache();
    CompileOptions options;
    options.eager_fallback = fallback;
    auto f = compile(chain, options);
    nvrtc_standin::reset({.fail_call = 3, .fail_with = NVRTC_ERROR_COMPILATION});
    if (fallback) {
      for (int turn = 0; turn < 2; ++turn) EXPECT_EQ(difference(f(x, w, b), chain(x, w, b)), "");
      EXPECT_EQ(f.statistics().eager_calls, 2u);
      EXPECT_NE(f.statistics().reasons.at(0).find("NVRTC_ERROR_COMPILATION"), std::string::npos);
    } else {
      EXPECT_THROW(f(x, w, b), compiler::cuda::CompileError);
      // Another time it does not.
      EXPECT_EQ(difference(f(x, w, b), chain(x, w, b)), "");
      EXPECT_EQ(difference(f(x, w, b), chain(x, w, b)), "");
      EXPECT_EQ(f.statistics().hits, 1u);
    }
  }
}
#endif

}  // namespace
}  // namespace torch
