#include "third_party/highway/example.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "hwy/highway.h"

namespace kindling_highway_example {
namespace {

TEST(Highway, RunsWithEveryTargetTheProcessorHas) {
  const int64_t supported = hwy::SupportedTargets() & HWY_TARGETS;
  ASSERT_NE(supported, 0);
  for (int64_t rest = supported; rest != 0; rest &= rest - 1) {
    const int64_t target = rest & -rest;
    hwy::SetSupportedTargetsForTest(target);
    EXPECT_STREQ(ChosenTargetName(), hwy::TargetName(target));
    std::vector<float> x(37), y(37, 1.f);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
    Axpy(2.f, x.data(), y.data(), x.size());
    for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(y[i], 1.f + 2.f * static_cast<float>(i));
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST(Highway, TheBestTargetIsChosen) {
  hwy::SetSupportedTargetsForTest(0);
  const int64_t supported = hwy::SupportedTargets() & HWY_TARGETS;
  EXPECT_STREQ(ChosenTargetName(), hwy::TargetName(supported & -supported));
}

TEST(Highway, DisabledTargetsAreNotChosen) {
  const int64_t supported = hwy::SupportedTargets() & HWY_TARGETS;
  const int64_t best = supported & -supported;
  if (best == HWY_STATIC_TARGET) GTEST_SKIP() << "the processor has only the baseline";
  hwy::DisableTargets(best);
  EXPECT_STRNE(ChosenTargetName(), hwy::TargetName(best));
  hwy::DisableTargets(0);
  EXPECT_STREQ(ChosenTargetName(), hwy::TargetName(best));
}

TEST(Highway, Ssse3IsNotCompiled) { EXPECT_EQ(HWY_TARGETS & HWY_SSSE3, 0); }

}  // namespace
}  // namespace kindling_highway_example
