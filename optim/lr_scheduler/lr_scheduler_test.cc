// Schedules epoch by epoch against PyTorch's (traces.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "aten/ops/creation/ops.h"
#include "optim/lr_scheduler/reduce_on_plateau.h"
#include "optim/lr_scheduler/schedules.h"
#include "optim/lr_scheduler/sequential.h"
#include "optim/lr_scheduler/step_lr.h"
#include "optim/lr_scheduler/swa_lr.h"
#include "optim/sgd.h"
#include "optim/traces.h"

namespace torch::optim {
namespace {

constexpr int kEpochs = 24;

std::unique_ptr<SGD> optimizer() {
  std::vector<OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<at::Tensor>{at::zeros({1})});
  groups.emplace_back(std::vector<at::Tensor>{at::zeros({1})}, std::make_unique<SGDOptions>(0.5));
  return std::make_unique<SGD>(groups, SGDOptions(0.1));
}

double lr(Optimizer& o, size_t group) { return o.param_groups()[group].options().get_lr(); }

using Schedules = std::vector<std::unique_ptr<LRScheduler>>;

struct Case {
  std::string name;
  const double (*trace)[2];
  std::function<void(Optimizer&, Schedules&)> make;
};

template <class S, class... Args>
auto one(Args... args) {
  return [=](Optimizer& o, Schedules& s) { s.push_back(std::make_unique<S>(o, args...)); };
}

std::vector<Case> cases() {
  using namespace traces;
  return {
      {"LambdaLR", kLambdaLr,
       one<LambdaLR>(std::vector<LambdaLR::Lambda>{[](int64_t t) { return std::pow(0.95, static_cast<double>(t)); },
                                                   [](int64_t t) { return 1.0 / static_cast<double>(1 + t); }})},
      {"MultiplicativeLR", kMultiplicativeLr,
       one<MultiplicativeLR>(MultiplicativeLR::Lambda([](int64_t t) { return 1 - 0.01 * static_cast<double>(t); }))},
      {"MultiStepLR", kMultiStepLr, one<MultiStepLR>(std::vector<int64_t>{3, 7, 7, 15}, 0.3)},
      {"ExponentialLR", kExponentialLr, one<ExponentialLR>(0.9)},
      {"ConstantLR", kConstantLr, one<ConstantLR>(0.25, 4)},
      {"LinearLR", kLinearLr, one<LinearLR>(0.2, 0.7, 9)},
      {"PolynomialLR", kPolynomialLr, one<PolynomialLR>(10, 2.0)},
      {"CosineAnnealingLR", kCosineAnnealingLr, one<CosineAnnealingLR>(7, 0.02)},
      {"CosineAnnealingWarmRestarts", kCosineAnnealingWarmRestarts, one<CosineAnnealingWarmRestarts>(4, 2, 0.01)},
      {"SequentialLR", kSequentialLr,
       [](Optimizer& o, Schedules& s) {
         auto warm_up = std::make_shared<LinearLR>(o, 0.1, 1.0, 5);
         auto decay = std::make_shared<CosineAnnealingLR>(o, 12, 0.01);
         s.push_back(std::make_unique<SequentialLR>(
             o, std::vector<std::shared_ptr<LRScheduler>>{warm_up, decay}, std::vector<int64_t>{5}));
       }},
      {"TwoSchedules", kTwoSchedules,
       [](Optimizer& o, Schedules& s) {
         s.push_back(std::make_unique<ConstantLR>(o, 0.1, 3));
         s.push_back(std::make_unique<ExponentialLR>(o, 0.8));
       }},
  };
}

TEST(Traces, EveryScheduleGoesAsRecorded) {
  for (const Case& c : cases()) {
    auto o = optimizer();
    Schedules schedules;
    c.make(*o, schedules);
    for (int t = 0; t < kEpochs; ++t) {
      for (size_t g = 0; g < 2; ++g) ASSERT_NEAR(lr(*o, g), c.trace[t][g], 1e-12) << c.name << " epoch " << t << " group " << g;
      for (auto& s : schedules) s->step();
    }
  }
}

TEST(Traces, StateSavedAndLoadedContinuesWithTheSameBits) {
  for (const Case& c : cases()) {
    for (int stop : {0, 4, 5, 9}) {
      auto a = optimizer(), b = optimizer();
      Schedules sa, sb;
      c.make(*a, sa);
      for (int t = 0; t < stop; ++t)
        for (auto& s : sa) s->step();
      c.make(*b, sb);
      b->load_state_dict(a->state_dict());
      for (size_t i = 0; i < sa.size(); ++i) sb[i]->load_state_dict(sa[i]->state_dict());
      for (int t = stop; t < kEpochs; ++t) {
        for (size_t g = 0; g < 2; ++g) ASSERT_EQ(lr(*a, g), lr(*b, g)) << c.name << " epoch " << t;
        for (auto& s : sa) s->step();
        for (auto& s : sb) s->step();
      }
    }
  }
}

TEST(StepLR, CountsAsLibtorchDoes) {
  auto o = optimizer();
  StepLR schedule(*o, 3, 0.5);
  const double expected[] = {0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.025};
  for (double e : expected) {
    schedule.step();
    EXPECT_NEAR(lr(*o, 0), e, 1e-15);
    EXPECT_NEAR(lr(*o, 1), e * 5, 1e-15);
  }
}

TEST(Plateau, GoesAsRecorded) {
  SGD o({at::zeros({1})}, SGDOptions(0.1));
  ReduceLROnPlateauScheduler schedule(o, ReduceLROnPlateauScheduler::min, 0.5f, 2, 0.01, ReduceLROnPlateauScheduler::rel, 1, {0.01f});
  for (int t = 0; t < kEpochs; ++t) {
    schedule.step(1.0f / static_cast<float>(1 + std::min(t, 4)));
    EXPECT_NEAR(lr(o, 0), traces::kPlateau[t][0], 1e-9) << t;
  }
  SGD other({at::zeros({1})}, SGDOptions(0.1));
  ReduceLROnPlateauScheduler loaded(other, ReduceLROnPlateauScheduler::max);
  loaded.load_state_dict(schedule.state_dict());
  EXPECT_EQ(loaded.state_dict().integer("last_epoch"), kEpochs);
  EXPECT_THROW(loaded.load_state_dict(StateDict()), c10::ValueError);
}

// What needs a metric is no part of schedules that step without one.
static_assert(!std::is_convertible_v<std::shared_ptr<ReduceLROnPlateau>, std::shared_ptr<LRScheduler>>);

TEST(ChainedScheduler, OfTheOptimizerThatIsNamed) {
  SGD o({at::zeros({1})}), other({at::zeros({1})});
  EXPECT_EQ(lr(o, 0), 1e-3);
  const std::vector<std::shared_ptr<LRScheduler>> parts{std::make_shared<ExponentialLR>(o, 0.5)};
  ChainedScheduler schedule(parts, o);
  schedule.step();
  EXPECT_NEAR(lr(o, 0), 5e-4, 1e-12);
  EXPECT_THROW(ChainedScheduler(parts, other), c10::ValueError);
  EXPECT_THROW(ChainedScheduler({}, o), c10::ValueError);
}

TEST(SWALR, IsInSwaUtilsToo) {
  SGD o({at::zeros({1})}, SGDOptions(0.1));
  swa_utils::SWALR schedule(o, 0.05, 2, "linear");
  schedule.step();
  EXPECT_NEAR(lr(o, 0), 0.075, 1e-12);
}

TEST(Plateau, RatesAreDoubles) {
  using Plateau = ReduceLROnPlateau;
  // 0.015 - 0.005 is not above eps; the float next to 0.005 would be below it.
  SGD o({at::zeros({1})}, SGDOptions(0.015));
  Plateau schedule(o, Plateau::min, 0.15, 0, 0.05, Plateau::rel, 0, {0.005}, 0.01);
  schedule.step(1), schedule.step(2);
  EXPECT_EQ(lr(o, 0), 0.015);
  SGD other({at::zeros({1})}, SGDOptions(1));
  const std::vector<float> least = {0.5f};
  Plateau of_floats(other, Plateau::min, 0.1f, 0, 1e-4, Plateau::rel, 0, least);
  of_floats.step(1), of_floats.step(2);
  EXPECT_EQ(lr(other, 0), 0.5);
}

TEST(Schedules, RefuseBadSettingsAndStates) {
  auto o = optimizer();
  EXPECT_THROW(StepLR(*o, 0), c10::ValueError);
  EXPECT_THROW(LinearLR(*o, 0.0), c10::ValueError);
  EXPECT_THROW(LinearLR(*o, 0.5, 1.5), c10::ValueError);
  EXPECT_THROW(LinearLR(*o, 0.5, 1.0, 0), c10::ValueError);
  EXPECT_THROW(ConstantLR(*o, 2.0), c10::ValueError);
  EXPECT_THROW(CosineAnnealingLR(*o, 0), c10::ValueError);
  EXPECT_THROW(CosineAnnealingWarmRestarts(*o, 0), c10::ValueError);
  EXPECT_THROW(CosineAnnealingWarmRestarts(*o, 1, 0), c10::ValueError);
  EXPECT_THROW(LambdaLR(*o, LambdaLR::Lambda()), c10::ValueError);
  EXPECT_THROW(LambdaLR(*o, std::vector<LambdaLR::Lambda>(3, [](int64_t) { return 1.0; })), c10::ValueError);
  EXPECT_THROW(SequentialLR(*o, {}, {}), c10::ValueError);
  EXPECT_EQ(lr(*o, 0), 0.1);
  ExponentialLR schedule(*o, 0.5);
  EXPECT_THROW(schedule.load_state_dict(StateDict()), c10::ValueError);
  StateDict wrong = schedule.state_dict();
  wrong.set("last_epoch", int64_t{-2});
  EXPECT_THROW(schedule.load_state_dict(wrong), c10::ValueError);
  schedule.step();
  EXPECT_EQ(lr(*o, 0), 0.05);
}

TEST(LRScheduler, CountersFromAFileAreChecked) {
  auto o = optimizer();
  ReduceLROnPlateauScheduler plateau(*o);
  plateau.step(1.0f);
  const StateDict good = plateau.state_dict();
  for (const char* name : {"last_epoch", "cooldown_counter", "num_bad_epochs"}) {
    for (const int64_t count : {INT64_MAX, INT64_MIN, int64_t{-1}}) {
      StateDict bad = good.clone();
      bad.set(name, count);
      EXPECT_THROW(plateau.load_state_dict(bad), c10::ValueError) << name << " " << count;
      EXPECT_TRUE(plateau.state_dict().tree() == good.tree());
    }
  }
  ExponentialLR schedule(*o, 0.5);
  for (const char* name : {"last_epoch", "_step_count"}) {
    StateDict bad = schedule.state_dict();
    bad.set(name, INT64_MAX);
    EXPECT_THROW(schedule.load_state_dict(bad), c10::ValueError) << name;
  }
  // Lengths that would overflow.
  EXPECT_THROW(CosineAnnealingLR(*o, INT64_MAX), c10::ValueError);
  CosineAnnealingWarmRestarts restarts(*o, 2, INT64_MAX);
  for (int i = 0; i < 20; ++i) restarts.step();
  EXPECT_TRUE(std::isfinite(lr(*o, 0)));
}

}  // namespace
}  // namespace torch::optim
