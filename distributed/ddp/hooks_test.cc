// Hooks of data-parallel training against formulas.
#include <gtest/gtest.h>

#include <cmath>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "distributed/ddp/distributed_data_parallel.h"
#include "distributed/ddp/optimizer_overlap.h"
#include "distributed/ddp/post_local_sgd.h"
#include "distributed/ddp/power_sgd.h"
#include "distributed/ddp/quantization_hooks.h"
#include "distributed/ddp/testing/group.h"
#include "nn/layers/linear.h"
#include "optim/adam.h"
#include "optim/sgd.h"

namespace c10d {
namespace {

using at::Tensor;
using testing::expect_equal;
using testing::fill;
using testing::Group;
using testing::numbers;
using torch::nn::parallel::DistributedDataParallel;
using torch::nn::parallel::DistributedDataParallelOptions;

// A bucket of a matrix {8, 6}, a vector {5} and a matrix {7, 9}.
struct Parameters {
  std::vector<Tensor> params{at::zeros({8, 6}), at::zeros({5}), at::zeros({7, 9})};
  std::vector<size_t> offsets{0, 48, 53}, lengths{48, 5, 63};
  int64_t total = 116;
  GradBucket bucket(Tensor buffer, size_t index = 0, size_t count = 1) const {
    return GradBucket(index, count, std::move(buffer), offsets, lengths,
                      {params[0].sizes(), params[1].sizes(), params[2].sizes()}, params);
  }
};

Tensor gradient(int64_t count, int iteration, int rank) {
  return numbers({count}, 31 * iteration + 7 * rank + 1);
}

Tensor mean_of(int ranks, const std::function<Tensor(int rank)>& of) {
  Tensor sum = of(0);
  for (int rank = 1; rank < ranks; ++rank) sum = sum + of(rank);
  return sum / ranks;
}

Tensor run(CommHookInterface& hook, GradBucket bucket) {
  const auto future = hook.runHook(bucket);
  hook.finishRounds();
  future->waitAndThrow();
  return hook.parseHookResult(future->value());
}

TEST(Hooks, AllReduce) {
  testing::run_group(3, [](int rank, const Group& group) {
    const Parameters p;
    AllReduceCommHook mean(group);
    expect_equal(run(mean, p.bucket(gradient(p.total, 0, rank))),
                 mean_of(3, [&](int of) { return gradient(p.total, 0, of); }), 1e-6, "mean");
    _AllReduceBySumCommHook sum(group);
    expect_equal(run(sum, p.bucket(gradient(p.total, 0, rank))),
                 mean_of(3, [&](int of) { return gradient(p.total, 0, of); }) * 3, 1e-6, "sum");
    NoopCommHook noop;
    expect_equal(run(noop, p.bucket(gradient(p.total, 0, rank))), gradient(p.total, 0, rank), 0, "noop");
  });
}

TEST(Hooks, SixteenBits) {
  testing::run_group(2, [](int rank, const Group& group) {
    const Parameters p;
    const auto expected = [&](c10::ScalarType dtype) {
      const auto half = [&](int of) { return at::to(gradient(p.total, 0, of), dtype) / 2; };
      return at::to(half(0) + half(1), at::kFloat);
    };
    FP16CompressCommHook fp16(group);
    expect_equal(run(fp16, p.bucket(gradient(p.total, 0, rank))), expected(at::kHalf), 0, "fp16");
    BF16CompressCommHook bf16(group);
    expect_equal(run(bf16, p.bucket(gradient(p.total, 0, rank))), expected(at::kBFloat16), 0, "bf16");
    CompressWrapperCommHook wrapped(at::kHalf, std::make_unique<AllReduceCommHook>(group));
    const Tensor result = run(wrapped, p.bucket(gradient(p.total, 0, rank)));
    EXPECT_EQ(result.scalar_type(), at::kFloat);
    expect_equal(result, expected(at::kHalf), 0, "wrapped");
    EXPECT_THROW(CompressWrapperCommHook(at::kDouble, std::make_unique<NoopCommHook>()), c10::Error);
  });
}

// --- PowerSGD ---

TEST(Hooks, OrthogonalColumns) {
  const Tensor m = numbers({9, 4}, 3, at::kDouble);
  const Tensor q = m.clone();
  orthogonalize(q);
  expect_equal(at::mm(q.t(), q), at::eye(4, at::kDouble), 1e-12, "Q^T Q");
  expect_equal(at::mm(q, at::mm(q.t(), m)), m, 1e-12, "the same span");
  const Tensor none = at::zeros({3, 2});
  orthogonalize(none);
  EXPECT_TRUE(at::equal(none, at::zeros({3, 2})));
  const Tensor same = at::ones({4, 1});
  orthogonalize(same, 2);
  expect_equal(same, at::full({4, 1}, 0.25f), 1e-7, "epsilon");
}

Tensor orthonormal(const Tensor& m) {
  const Tensor q = m.clone();
  orthogonalize(q);
  return q;
}

// Gradients that are one product of vectors on every rank alike are kept whole from any Q.
TEST(Hooks, PowerSGDKeepsWhatHasItsRank) {
  testing::run_group(3, [](int rank, const Group& group) {
    const Parameters p;
    const auto state =
        std::make_shared<PowerSGDState>(group, PowerSGDOptions().start_powerSGD_iter(2).min_compression_rate(0.1));
    PowerSGDCommHook hook(state);
    const Tensor u = numbers({8, 1}, 1), v = numbers({6, 1}, 2), w = numbers({7, 1}, 3), z = numbers({9, 1}, 4);
    for (int i = 0; i < 5; ++i) {
      const auto of = [&](int r) {
        return at::cat(
            {(at::mm(u, v.t()) * (1 + r)).reshape({-1}), numbers({5}, r), (at::mm(w, z.t()) * (2 - r)).reshape({-1})});
      };
      expect_equal(run(hook, p.bucket(of(rank))), mean_of(3, of), 1e-5, "iteration " + std::to_string(i));
    }
    EXPECT_EQ(state->iter, 5);
    EXPECT_NEAR(state->compression_rate(), 116.0 / (8 + 6 + 5 + 7 + 9), 1e-9);
  });
}

// The formula, with error feedback and a warm start, of one matrix over several iterations.
TEST(Hooks, PowerSGDFollowsTheFormula) {
  for (const int64_t columns : {1, 2}) {
    for (const bool feeds_back : {true, false}) {
      constexpr int kRanks = 2;
      testing::run_group(kRanks, [&](int rank, const Group& group) {
        const std::vector<Tensor> params{at::zeros({8, 6})};
        const auto state = std::make_shared<PowerSGDState>(group, PowerSGDOptions()
                                                                      .matrix_approximation_rank(columns)
                                                                      .start_powerSGD_iter(2)
                                                                      .min_compression_rate(0.5)
                                                                      .use_error_feedback(feeds_back));
        PowerSGDCommHook hook(state);
        Tensor q;  // of the last iteration
        std::vector<Tensor> errors(kRanks, at::zeros({8, 6}, at::kDouble));
        for (int i = 0; i < 5; ++i) {
          const auto of = [&](int r) { return at::to(gradient(48, i, r).view({8, 6}), at::kDouble); };
          const Tensor result =
              run(hook, GradBucket(0, 1, gradient(48, i, rank), {0}, {48}, {params[0].sizes()}, params));
          if (i < 2) {
            expect_equal(result.view({8, 6}), mean_of(kRanks, of), 1e-6, "before it begins");
            continue;
          }
          if (!q.defined()) {
            // The first Q is random: what came back spans its P, from which the rest follows.
            q = Tensor();
          }
          std::vector<Tensor> m;
          for (int r = 0; r < kRanks; ++r)
            m.push_back(of(r) + (feeds_back ? errors[r] : at::zeros({8, 6}, at::kDouble)));
          Tensor p_hat;
          if (q.defined()) {
            p_hat = orthonormal(at::mm(m[0] + m[1], orthonormal(q)));
          } else {
            p_hat = orthonormal(at::narrow(at::to(result.view({8, 6}), at::kDouble), 1, 0, columns));
          }
          q = at::mm((m[0] + m[1]).t(), p_hat) / kRanks;
          const Tensor expected = at::mm(p_hat, q.t());
          expect_equal(result.view({8, 6}), expected, 1e-4, "iteration " + std::to_string(i));
          for (int r = 0; r < kRanks; ++r) errors[r] = m[r] - expected;
          if (i == 2) continue;
          EXPECT_GT((expected - mean_of(kRanks, of)).abs().max().item<double>(), 1e-3) << "nothing was lost";
        }
      });
    }
  }
}

TEST(Hooks, BatchedPowerSGD) {
  testing::run_group(2, [](int rank, const Group& group) {
    const Parameters p;
    const auto state =
        std::make_shared<PowerSGDState>(group, PowerSGDOptions().start_powerSGD_iter(2).matrix_approximation_rank(11));
    PowerSGDCommHook hook(state, /*batched=*/true);
    // With all columns of the square nothing is lost.
    for (int i = 0; i < 4; ++i) {
      expect_equal(run(hook, p.bucket(gradient(p.total, i, rank))),
                   mean_of(2, [&](int of) { return gradient(p.total, i, of); }), 1e-4,
                   "iteration " + std::to_string(i));
    }
    EXPECT_EQ(state->numel_after_compression, 2 * (11 * 11 + 11 * 11));
  });
}

struct NetImpl : torch::nn::Module {
  NetImpl() {
    a = register_module("a", torch::nn::Linear(6, 20));
    b = register_module("b", torch::nn::Linear(20, 20));
    c = register_module("c", torch::nn::Linear(20, 3));
  }
  Tensor forward(const Tensor& x) { return c(at::tanh(b(at::relu(a(x))))); }
  torch::nn::Linear a{nullptr}, b{nullptr}, c{nullptr};
};
TORCH_MODULE(Net);

void train(DistributedDataParallel<NetImpl>& ddp, int rank, int steps, torch::optim::Optimizer* optimizer) {
  for (int step = 0; step < steps; ++step) {
    at::mse_loss(ddp(numbers({4, 6}, 10 * step + rank)), numbers({4, 3}, step)).backward();
    if (optimizer == nullptr) continue;
    optimizer->step();
    optimizer->zero_grad();
  }
}

// Several buckets at once, which are started in one order on all ranks; all ranks end with the same parameters.
TEST(Hooks, PowerSGDInTraining) {
  for (const bool batched : {false, true}) {
    testing::run_group(3, [&](int rank, const Group& group) {
      Net net;
      fill(*net, 1);
      DistributedDataParallel ddp(net, DistributedDataParallelOptions(group).bucket_cap_mb(0.0008));
      const auto state = std::make_shared<PowerSGDState>(group, PowerSGDOptions().start_powerSGD_iter(2));
      ddp->register_comm_hook(
          std::make_unique<CompressWrapperCommHook>(at::kBFloat16, std::make_unique<PowerSGDCommHook>(state, batched)));
      EXPECT_GT(ddp->logger()->get_bucket_sizes().size(), 1u);
      torch::optim::SGD sgd(ddp->parameters(), torch::optim::SGDOptions(0.05));
      const auto loss = [&] {
        const c10::NoGradGuard no_grad;
        return at::mse_loss(net(numbers({4, 6}, rank)), numbers({4, 3}, 0)).item<double>();
      };
      train(ddp, rank, 12, &sgd);
      EXPECT_GT(state->numel_after_compression, 0);
      EXPECT_LT(state->numel_after_compression, state->numel_before_compression);
      for (const Tensor& p : ddp->parameters()) {
        std::vector<Tensor> root{p.detach().clone()};
        group->broadcast(root)->wait();
        EXPECT_TRUE(at::equal(root[0], p));
        EXPECT_TRUE(at::isfinite(p).all().item<bool>());
      }
      (void)loss;
    });
  }
}

TEST(Hooks, PowerSGDSettings) {
  testing::run_group(1, [](int, const Group& group) {
    EXPECT_THROW(PowerSGDState(group, PowerSGDOptions().start_powerSGD_iter(1)), c10::ValueError);
    PowerSGDState(group, PowerSGDOptions().start_powerSGD_iter(0).use_error_feedback(false).warm_start(false));
    EXPECT_THROW(PowerSGDState(group, PowerSGDOptions().matrix_approximation_rank(0)), c10::ValueError);
    EXPECT_THROW(PowerSGDState(nullptr), c10::Error);
  });
}

// --- quantization ---

// As the formula says, number by number.
std::vector<float> quantized(const float* x, int64_t count) {
  float least = 0, largest = 0;
  for (int64_t i = 0; i < count; ++i) least = std::min(least, x[i]), largest = std::max(largest, x[i]);
  const float scale = std::max((largest - least) / 255, std::numeric_limits<float>::epsilon());
  const float zero = std::min(255.0f, std::max(0.0f, std::nearbyint(-least / scale)));
  std::vector<float> result;
  for (int64_t i = 0; i < count; ++i) {
    result.push_back((std::min(255.0f, std::max(0.0f, std::nearbyint(x[i] / scale) + zero)) - zero) * scale);
  }
  return result;
}

Tensor quantized(const Tensor& t, int64_t columns) {
  const Tensor padded = at::zeros({(t.numel() + columns - 1) / columns * columns});
  padded.narrow(0, 0, t.numel()).copy_(t);
  const Tensor result = at::empty_like(padded);
  for (int64_t at = 0; at < padded.numel(); at += columns) {
    const auto row = quantized(padded.const_data_ptr<float>() + at, columns);
    std::copy(row.begin(), row.end(), result.mutable_data_ptr<float>() + at);
  }
  return result.narrow(0, 0, t.numel());
}

TEST(Hooks, EightBits) {
  testing::run_group(3, [](int rank, const Group& group) {
    const Parameters p;
    const auto of = [&](int r) { return gradient(p.total, 0, r) * (r + 1); };
    QuantizationPerTensorCommHook whole(group);
    expect_equal(run(whole, p.bucket(of(rank))), mean_of(3, [&](int r) { return quantized(of(r), p.total); }), 1e-6,
                 "whole");
    QuantizationPerChannelCommHook rows(group, 25);
    const Tensor result = run(rows, p.bucket(of(rank)));
    expect_equal(result, mean_of(3, [&](int r) { return quantized(of(r), 25); }), 1e-6, "rows");
    EXPECT_LE((result - mean_of(3, of)).abs().max().item<float>(), 0.9f * 6 / 255);
    QuantizationPerTensorCommHook nothing(group);
    EXPECT_TRUE(at::equal(run(nothing, p.bucket(at::zeros({p.total}))), at::zeros({p.total})));
    EXPECT_THROW(QuantizationPerChannelCommHook(group, 0), c10::ValueError);
  });
}

// --- what happens to gradients after some iterations, and optimizers in backward ---

TEST(Hooks, PostLocalSGD) {
  const std::vector<std::unique_ptr<int>> none;
  testing::run_group(4, [](int rank, const Group& group) {
    const Parameters p;
    const auto state = std::make_shared<PostLocalSGDState>(group, nullptr, 2);
    PostLocalSGDCommHook hook(state);
    for (int i = 0; i < 4; ++i) {
      const Tensor expected =
          i < 2 ? mean_of(4, [&](int of) { return gradient(p.total, i, of); }) : gradient(p.total, i, rank);
      expect_equal(run(hook, p.bucket(gradient(p.total, i, rank))), expected, 1e-6, "iteration " + std::to_string(i));
    }
  });
}

// Parameters after each backward pass are, bit for bit, those of an optimizer that steps after it.
TEST(Hooks, OptimizersInBackward) {
  testing::run_group(2, [](int rank, const Group& group) {
    const auto options = DistributedDataParallelOptions(group).bucket_cap_mb(0.0008);
    const auto expect_same = [&](auto register_overlap, auto make) {
      Net net, other;
      fill(*net, 1);
      fill(*other, 1);
      DistributedDataParallel ddp(net, options), plain(other, options);
      register_overlap(*ddp);
      auto optimizer = make(plain->parameters());
      train(ddp, rank, 4, nullptr);
      train(plain, rank, 4, &optimizer);
      testing::expect_same_parameters(*net, *other, 0);
      for (const Tensor& p : ddp->parameters()) EXPECT_FALSE(p.grad().defined());
    };
    const auto momentum = torch::optim::SGDOptions(0.1).momentum(0.9);
    expect_same(
        [&](auto& ddp) { EXPECT_EQ((register_optimizer_overlap<torch::optim::SGD>(ddp, momentum).size()), 6u); },
        [&](std::vector<Tensor> params) { return torch::optim::SGD(params, momentum); });
    expect_same(
        [&](auto& ddp) { register_optimizer_overlap<torch::optim::Adam>(ddp, torch::optim::AdamOptions(0.01)); },
        [&](std::vector<Tensor> params) { return torch::optim::Adam(params, torch::optim::AdamOptions(0.01)); });
  });
}

TEST(Hooks, BuiltinHooksOfAModel) {
  testing::run_group(2, [](int rank, const Group& group) {
    for (const auto type : {BuiltinCommHookType::ALLREDUCE, BuiltinCommHookType::FP16_COMPRESS}) {
      Net net, other;
      fill(*net, 1);
      fill(*other, 1);
      DistributedDataParallel ddp(net, {group}), plain(other, {group});
      ddp->register_builtin_comm_hook(type);
      train(ddp, rank, 1, nullptr);
      train(plain, rank, 1, nullptr);
      testing::expect_same_parameters(*net, *other, type == BuiltinCommHookType::ALLREDUCE ? 0 : 1e-3, true);
      EXPECT_NE(ddp->get_ddp_logging_data().strs_map["comm_hook"], "");
    }
  });
}

}  // namespace
}  // namespace c10d
