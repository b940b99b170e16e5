// What cuFFT documents and its stand-in promises: where numbers lie, what is refused.
#include <cuda_runtime_api.h>
#include <cufftXt.h>
#include <gtest/gtest.h>

#include <complex>
#include <utility>
#include <vector>

#include "tests/cuda_on_host/fft/plan_testing.h"
#ifdef KD_CUDA_ON_HOST
#include "tests/cuda_on_host/runtime/standin.h"
#endif

namespace {

using cufft_testing::Array;
using cufft_testing::Complex;
using cufft_testing::defined;
using cufft_testing::numbers;
using cufft_testing::Plan;
using cufft_testing::Sides;

struct CufftContract : testing::Test {
  void SetUp() override {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) GTEST_SKIP() << "no CUDA device";
  }
#ifdef KD_CUDA_ON_HOST
  ~CufftContract() override {
    EXPECT_EQ(cuda_standin::misuse(), "");
  }
#endif
};

TEST_F(CufftContract, TransformsStridedBlocks) {
  // Two blocks of 6 numbers, 2 apart, the blocks side by side; the result by blocks.
  const std::vector<Complex> x = numbers(12);
  const Array<Complex> in(x), out(std::vector<Complex>(12));
  Plan plan;
  ASSERT_EQ(plan.make({6}, {.in = {6}, .out = {6}, .in_stride = 2, .in_distance = 1, .out_distance = 6}, 2),
            CUFFT_SUCCESS);
  for (const int sign : {CUFFT_FORWARD, CUFFT_INVERSE}) {
    ASSERT_EQ(plan.run(in.data(), out.data(), sign), CUFFT_SUCCESS);
    const std::vector<Complex> y = out.values();
    for (size_t b = 0; b < 2; ++b) {
      std::vector<Complex> line;
      for (size_t j = 0; j < 6; ++j) line.push_back(x[2 * j + b]);
      const std::vector<Complex> expected = defined(line, sign);
      for (size_t k = 0; k < 6; ++k) EXPECT_LT(std::abs(y[b * 6 + k] - expected[k]), 1e-4f);
    }
  }
}

TEST_F(CufftContract, RealNumbersAndBack) {
  const Array<float> in({1, 2, 3, 4, 5, 6, 7, 9}), back(std::vector<float>(8));
  const Array<Complex> half(std::vector<Complex>(6));
  Sides sides{.in = {2, 4}, .out = {2, 3}, .in_type = CUDA_R_32F};
  Plan there;
  ASSERT_EQ(there.make({2, 4}, sides, 1), CUFFT_SUCCESS);
  ASSERT_EQ(there.run(in.data(), half.data(), CUFFT_FORWARD), CUFFT_SUCCESS);
  EXPECT_EQ(half.values()[0], Complex(37, 0));
  std::swap(sides.in, sides.out), std::swap(sides.in_type, sides.out_type);
  Plan again;
  ASSERT_EQ(again.make({2, 4}, sides, 1), CUFFT_SUCCESS);
  ASSERT_EQ(again.run(half.data(), back.data(), CUFFT_INVERSE), CUFFT_SUCCESS);
  const std::vector<float> x = in.values(), y = back.values();
  for (size_t i = 0; i < 8; ++i) EXPECT_NEAR(y[i], 8 * x[i], 1e-3f);
}

TEST_F(CufftContract, RefusesWhatTheLibraryDoes) {
  const auto made = [](std::vector<long long> sizes, Sides sides, cudaDataType type, long long blocks = 1) {
    Plan plan;
    return plan.make(sizes, sides, blocks, type);
  };
  const Sides half{.in = {6}, .out = {6}, .in_type = CUDA_C_16F, .out_type = CUDA_C_16F};
  EXPECT_EQ(made({6}, half, CUDA_C_16F), CUFFT_INVALID_SIZE);
  EXPECT_EQ(
      made({8}, {.in = {8}, .out = {5}, .in_stride = 2, .in_type = CUDA_R_16F, .out_type = CUDA_C_16F}, CUDA_C_16F),
      CUFFT_NOT_SUPPORTED);
  EXPECT_EQ(made({2, 2, 2, 2}, {.in = {2, 2, 2, 2}, .out = {2, 2, 2, 2}}, CUDA_C_32F), CUFFT_INVALID_VALUE);
  EXPECT_EQ(made({0}, {.in = {1}, .out = {1}}, CUDA_C_32F), CUFFT_INVALID_SIZE);
  EXPECT_EQ(made({4}, {.in = {4}, .out = {4}}, CUDA_C_32F, 0), CUFFT_INVALID_SIZE);
  EXPECT_EQ(made({4}, {.in = {4}, .out = {4}, .in_type = CUDA_C_64F}, CUDA_C_32F), CUFFT_INVALID_TYPE);
}

TEST_F(CufftContract, TwoDimensionsInPartsOfMemory) {
  // Blocks of 2 x 3 in memory of 4 numbers a line, every second number.
  const std::vector<Complex> x = numbers(32);
  const Array<Complex> in(x), out(std::vector<Complex>(12));
  Plan plan;
  ASSERT_EQ(
      plan.make({2, 3},
                {.in = {2, 4}, .out = {2, 3}, .in_stride = 2, .in_distance = 16, .out_stride = 1, .out_distance = 6},
                2),
      CUFFT_SUCCESS);
  ASSERT_EQ(plan.run(in.data(), out.data(), CUFFT_FORWARD), CUFFT_SUCCESS);
  const std::vector<Complex> y = out.values();
  for (size_t b = 0; b < 2; ++b) {
    Complex sum = 0;
    for (size_t i = 0; i < 2; ++i) {
      for (size_t j = 0; j < 3; ++j) sum += x[b * 16 + (i * 4 + j) * 2];
    }
    EXPECT_LT(std::abs(y[b * 6] - sum), 1e-4f);
  }
}

TEST_F(CufftContract, InPlace) {
  const std::vector<Complex> x = numbers(8);
  const Array<Complex> data(x);
  Plan plan;
  ASSERT_EQ(plan.make({8}, {.in = {8}, .out = {8}}, 1), CUFFT_SUCCESS);
  ASSERT_EQ(plan.run(data.data(), data.data(), CUFFT_FORWARD), CUFFT_SUCCESS);
  const std::vector<Complex> y = data.values(), expected = defined(x, CUFFT_FORWARD);
  for (size_t k = 0; k < 8; ++k) EXPECT_LT(std::abs(y[k] - expected[k]), 1e-4f);
}

}  // namespace
