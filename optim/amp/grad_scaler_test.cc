#include "optim/amp/grad_scaler.h"

#include <gtest/gtest.h>

#include <cmath>

#include "aten/aten.h"
#include "aten/autocast/autocast.h"
#include "autograd/autograd.h"
#include "c10/testing/message_of.h"
#include "nn/utils/clip_grad.h"
#include "optim/optim.h"

namespace torch::amp {
namespace {

using at::kCPU;
using at::Tensor;

Tensor parameter(std::vector<double> values, at::ScalarType type = at::kFloat) {
  return at::tensor(at::ArrayRef<double>(values), at::TensorOptions(type)).set_requires_grad(true);
}

TEST(GradScaler, ScalesAndUnscales) {
  Tensor p = parameter({1, 2});
  torch::optim::SGD opt({p}, 0.5);
  GradScaler scaler(kCPU, 8.0);
  EXPECT_EQ(scaler.get_scale(), 8.0);
  scaler.scale((p * p).sum()).backward();
  EXPECT_EQ(p.grad()[1].item<float>(), 32);
  scaler.unscale_(opt);
  EXPECT_EQ(p.grad()[1].item<float>(), 4);
  EXPECT_NEAR(torch::nn::utils::clip_grad_norm_({p}, 1.0), std::sqrt(20.0), 1e-6);
  scaler.step(opt);
  scaler.update();
  EXPECT_NEAR(p[1].item<float>(), 2 - 0.5 * 4 / std::sqrt(20.0), 1e-5);
}

TEST(GradScaler, ClosuresOnlyWhereNotEnabled) {
  Tensor p = parameter({1});
  torch::optim::SGD opt({p}, 0.5);
  const auto closure = [&] {
    opt.zero_grad();
    const Tensor loss = (p * p).sum();
    loss.backward();
    return loss;
  };
  GradScaler off(kCPU, 8.0, 2.0, 0.5, 2000, /*enabled=*/false), on(kCPU);
  EXPECT_EQ(off.step(opt, closure).item<float>(), 1);
  EXPECT_EQ(p.item<float>(), 0);
  on.scale(p.sum());
  EXPECT_EQ(c10::testing::message_of([&] { on.step(opt, closure); }),
            "Closure use is not currently supported if GradScaler is enabled.");
}

TEST(GradScaler, AnInfinityLeavesTheStepOutAndShrinksTheScale) {
  Tensor p = parameter({1}), q = parameter({1});
  torch::optim::Adam one({p}, 0.1), other({q}, 0.1);
  GradScaler scaler(kCPU, 4.0, 3.0, 0.5, 2);
  const auto iteration = [&](bool spoil) {
    one.zero_grad();
    other.zero_grad();
    for (const Tensor& loss : scaler.scale({p.sum(), q.sum()})) loss.backward();
    if (spoil) p.mutable_grad().fill_(INFINITY);
    scaler.step(one);
    scaler.step(other);
    scaler.update();
  };
  iteration(true);
  EXPECT_EQ(p.item<float>(), 1) << "its own gradient";
  EXPECT_LT(q.item<float>(), 1) << "of another optimizer";
  EXPECT_EQ(scaler.get_scale(), 2);
  iteration(false);
  EXPECT_EQ(scaler.growth_tracker(), 1);
  iteration(false);
  EXPECT_EQ(scaler.get_scale(), 6);
  EXPECT_LT(p.item<float>(), 1);
}

// A fused optimizer divides and looks by itself, with the same results.
template <class Make>
void expect_same_fused(const Make& make) {
  Tensor p = parameter({1, 2}), q = parameter({1, 2});
  auto plain = make(p, false), fused = make(q, true);
  int steps = 0;
  fused.register_step_post_hook([&](torch::optim::Optimizer&) { ++steps; });
  GradScaler scaler(kCPU, 4.0), other(kCPU, 4.0);
  for (int i = 0; i < 6; ++i) {
    plain.zero_grad();
    fused.zero_grad();
    scaler.scale((p * p).sum()).backward();
    other.scale((q * q).sum()).backward();
    if (i == 0 || i == 3) p.mutable_grad()[1] = INFINITY, q.mutable_grad()[1] = INFINITY;
    if (i == 4) scaler.unscale_(plain), other.unscale_(fused);
    scaler.step(plain);
    other.step(fused);
    scaler.update();
    other.update();
    EXPECT_EQ(scaler.get_scale(), other.get_scale());
    EXPECT_TRUE(at::allclose(p, q)) << i << p << q;
  }
  EXPECT_LT(p[0].item<float>(), 1);
  EXPECT_EQ(steps, 6) << "steps that leave all as it is are steps too";
  const auto loss = (q * q).sum();
  fused.zero_grad();
  loss.backward();
  plain.zero_grad();
  (p * p).sum().backward();
  plain.step();
  fused.step();
  EXPECT_TRUE(at::allclose(p, q)) << "the scale is forgotten after a step";
}

TEST(GradScaler, FusedOptimizersScaleThemselves) {
  using namespace torch::optim;
  expect_same_fused([](Tensor p, bool fused) { return Adam({p}, AdamOptions(0.1).fused(fused)); });
  expect_same_fused([](Tensor p, bool fused) { return AdamW({p}, AdamWOptions(0.1).amsgrad(true).fused(fused)); });
  expect_same_fused([](Tensor p, bool fused) { return SGD({p}, SGDOptions(0.1).fused(fused)); });
  expect_same_fused([](Tensor p, bool fused) { return SGD({p}, SGDOptions(0.1).momentum(0.9).fused(fused)); });
  expect_same_fused([](Tensor p, bool fused) { return Adagrad({p}, AdagradOptions(0.1).lr_decay(0.1).fused(fused)); });
  Tensor p = parameter({1}, at::kHalf);
  Adam adam({p}, AdamOptions(0.1).fused(true));
  GradScaler scaler(kCPU, 4.0);
  scaler.scale(p.sum()).backward();
  scaler.step(adam);
  EXPECT_NEAR(p.item<float>(), 0.9, 1e-3) << "gradients in half";
  EXPECT_FALSE(Adam({p}, AdamOptions(0.1)).step_supports_amp_scaling());
}

TEST(GradScaler, TrainsInHalf) {
  at::manual_seed(1);
  Tensor w = at::randn({8, 8}).set_requires_grad(true);
  const Tensor x = at::randn({32, 8}), y = at::mm(x, at::eye(8));
  torch::optim::AdamW opt({w}, 0.05);
  GradScaler scaler(kCPU, 65536, 2, 0.5, 50);
  double first = 0, last = 0;
  for (int i = 0; i < 150; ++i) {
    opt.zero_grad();
    Tensor loss;
    {
      torch::autocast region(kCPU, at::kHalf);
      loss = at::mse_loss(at::mm(x, w), y);
    }
    scaler.scale(loss).backward();
    scaler.step(opt);
    scaler.update();
    last = loss.item<double>();
    if (i == 0) first = last;
  }
  EXPECT_LT(last, 0.02 * first);
}

TEST(GradScaler, State) {
  GradScaler from(kCPU, 8.0, 3.0, 0.25, 7);
  Tensor p = parameter({1});
  torch::optim::SGD opt({p}, 0.5);
  from.scale(p.sum()).backward();
  from.step(opt);
  from.update();
  GradScaler to(kCPU);
  to.load_state_dict(from.state_dict());
  EXPECT_EQ(to.get_scale(), 8);
  EXPECT_EQ(to.get_growth_factor(), 3);
  EXPECT_EQ(to.get_backoff_factor(), 0.25);
  EXPECT_EQ(to.get_growth_interval(), 7);
  EXPECT_EQ(to.growth_tracker(), 1);
  from.load_state_dict(GradScaler(kCPU).state_dict());
  EXPECT_EQ(from.get_scale(), 65536) << "after its tensors are made";
  const GradScaler off(kCPU, 1, 1, 1, 1, /*enabled=*/false);
  EXPECT_TRUE(off.state_dict().empty());
  EXPECT_THROW(to.load_state_dict(off.state_dict()), c10::Error);
  c10::Dict<std::string, c10::IValue> incomplete;
  incomplete.insert("scale", 1.0);
  EXPECT_THROW(to.load_state_dict(incomplete), c10::Error);
  EXPECT_EQ(to.get_scale(), 8);
}

TEST(GradScaler, WrongUseIsAnError) {
  Tensor p = parameter({1});
  torch::optim::SGD opt({p}, 0.5);
  GradScaler scaler(kCPU);
  EXPECT_THROW(scaler.step(opt), c10::Error);
  EXPECT_THROW(scaler.unscale_(opt), c10::Error);
  EXPECT_THROW(scaler.update(), c10::Error);
  scaler.scale(p.sum());
  EXPECT_THROW(scaler.step(opt), c10::Error) << "no gradient";
  EXPECT_THROW(GradScaler(kCPU).update(), c10::Error);
  EXPECT_THROW(GradScaler(kCPU, 1, 2, 1), c10::Error);
  EXPECT_THROW(GradScaler(kCPU, 1, 1, 0.5), c10::Error);
  EXPECT_THROW(scaler.update(at::ones({2})), c10::Error);
  scaler.update(at::full({1}, 16.0));
  EXPECT_EQ(scaler.get_scale(), 16);
  scaler.update(4.0);
  EXPECT_EQ(scaler.get_scale(), 4);
  Tensor half = parameter({1}, at::kHalf);
  torch::optim::SGD of_half({half}, 0.5);
  scaler.scale(half.sum()).backward();
  EXPECT_THROW(scaler.step(of_half), c10::ValueError);
}

TEST(GradScaler, NotEnabledItIsNotThere) {
  Tensor p = parameter({1});
  torch::optim::SGD opt({p}, 0.5);
  GradScaler scaler(kCPU, 8, 2, 0.5, 1, false);
  scaler.scale(p.sum()).backward();
  scaler.unscale_(opt);
  scaler.step(opt);
  scaler.step(opt);
  scaler.update();
  EXPECT_EQ(p.item<float>(), 0);
  EXPECT_EQ(scaler.get_scale(), 1);
  EXPECT_FALSE(scaler.is_enabled());
  EXPECT_FALSE(GradScaler().is_enabled()) << "no CUDA device";
}

}  // namespace
}  // namespace torch::amp
