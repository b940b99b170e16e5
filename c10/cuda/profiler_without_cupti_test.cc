// A program that asks for the work of devices where the library is missing, or finds no driver.
#include <gtest/gtest.h>

#include <string>

#include "c10/core/device_activity.h"
#include "c10/cuda/testing.h"

namespace c10::cuda {
namespace {

TEST(ProfilerWithoutCupti, IsAWarning) {
  DeviceActivitySource* const source = device_activity_source(kCUDA);
  ASSERT_NE(source, nullptr);
  const testing::Warnings warnings;
  source->push_range(1);
  EXPECT_FALSE(source->start());
  ASSERT_EQ(warnings.texts.size(), 1u);
  EXPECT_EQ(warnings.texts[0].find("the profile has no work of CUDA devices"), 0u) << warnings.texts[0];
  source->pop_range(1);
  EXPECT_TRUE(source->stop().empty());
  EXPECT_EQ(warnings.texts.size(), 1u);
}

}  // namespace
}  // namespace c10::cuda
