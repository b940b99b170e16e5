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

#if HWY_ARCH_X86
TEST(Highway, FindsWhatTheCompilerFinds) {
  hwy::SetSupportedTargetsForTest(0);
  const int64_t found = hwy::SupportedTargets();
  __builtin_cpu_init();
  const bool sse4 = __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.1") &&
                    __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("aes");
  const bool avx2 = sse4 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool avx3 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd");
  EXPECT_EQ((found & HWY_SSE4) != 0, sse4);
  EXPECT_EQ((found & HWY_AVX2) != 0, avx2);
  EXPECT_EQ((found & HWY_AVX3) != 0, avx3);
}
#endif

TEST(Highway, Ssse3IsNotCompiled) { EXPECT_EQ(HWY_TARGETS & HWY_SSSE3, 0); }

}  // namespace
}  // namespace kindling_highway_example
