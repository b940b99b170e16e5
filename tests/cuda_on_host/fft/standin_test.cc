// What the stand-in for cuFFT computes, refuses and reports.
#include "tests/cuda_on_host/fft/standin.h"

#include <cuda_runtime_api.h>
#include <cufftXt.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/cuda_on_host/fft/plan_testing.h"
#include "tests/cuda_on_host/runtime/standin.h"

namespace {

using cufft_testing::Array;
using cufft_testing::Complex;
using cufft_testing::numbers;
using cufft_testing::Plan;
using cufft_testing::Sides;

struct CufftStandin : testing::Test {
  CufftStandin() {
    cuda_standin::reset();
    cufft_standin::reset();
  }
};

// What is transformed to real numbers is gone, and so is what was in the work area.
TEST_F(CufftStandin, MemoryThatIsNotKept) {
  const Array<Complex> half({{4, 0}, {1, 1}, {2, 0}});
  const Array<float> out(std::vector<float>(4));
  Plan plan;
  ASSERT_EQ(plan.make({4}, {.in = {3}, .out = {4}, .out_type = CUDA_R_32F}, 1), CUFFT_SUCCESS);
  ASSERT_EQ(cudaMemset(plan.work, 0, plan.bytes), cudaSuccess);
  ASSERT_EQ(plan.run(half.data(), out.data(), CUFFT_INVERSE), CUFFT_SUCCESS);
  EXPECT_EQ(out.values(), (std::vector<float>{8, 0, 4, 4}));
  for (const Complex& v : half.values()) EXPECT_TRUE(std::isnan(v.real()));
  float work = 0;
  ASSERT_EQ(cudaMemcpy(&work, plan.work, sizeof work, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_TRUE(std::isnan(work));
  EXPECT_EQ(cuda_standin::misuse(), "");
}

// Each is reported, and names the call.
TEST_F(CufftStandin, ReportsMisuse) {
  const auto reported = [](const std::string& text) {
    const bool found = cuda_standin::misuse().find(text) != std::string::npos;
    EXPECT_TRUE(found) << text << " is not in " << cuda_standin::misuse();
    cuda_standin::reset();
  };
  const Sides lines{.in = {4}, .out = {4}, .in_distance = 4, .out_distance = 4};
  {
    Plan plan;
    EXPECT_EQ(plan.make({2, 4}, {.in = {2, 3}, .out = {2, 4}}, 1), CUFFT_INVALID_VALUE);
    reported("cufftXtMakePlanMany: the memory of a block is smaller than the block");
  }
  {
    Plan plan;
    EXPECT_EQ(plan.make({4}, {.in = {4}, .out = {4}, .in_distance = 0}, 2), CUFFT_INVALID_VALUE);
    reported("strides and distances must be positive");
  }
  {
    Plan plan;
    EXPECT_EQ(plan.run(nullptr, nullptr, CUFFT_FORWARD), CUFFT_INVALID_PLAN);
    reported("the plan was not made");
    EXPECT_EQ(cufftDestroy(plan.handle + 100), CUFFT_INVALID_PLAN);
    reported("a plan that is none");
  }
  const auto with_lines = [&](const auto& body) {
    Plan plan;
    ASSERT_EQ(plan.make({4}, lines, 2), CUFFT_SUCCESS);
    const Array<Complex> in(numbers(9)), out(numbers(9));
    body(plan, in.data(), out.data());
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  };
  with_lines([&](Plan& plan, Complex* in, Complex* out) {
    EXPECT_EQ(plan.run(in + 2, out, CUFFT_FORWARD), CUFFT_INVALID_VALUE);
    EXPECT_NE(cuda_standin::misuse().find("the input leaves the device's memory"), std::string::npos);
    EXPECT_EQ(plan.run(in, out + 2, CUFFT_FORWARD), CUFFT_INVALID_VALUE);
    EXPECT_NE(cuda_standin::misuse().find("the output leaves the device's memory"), std::string::npos);
    EXPECT_EQ(plan.run(in, in + 1, CUFFT_FORWARD), CUFFT_INVALID_VALUE);
    EXPECT_NE(cuda_standin::misuse().find("the output overlaps the input"), std::string::npos);
    EXPECT_EQ(plan.run(reinterpret_cast<float*>(in) + 1, out, CUFFT_FORWARD), CUFFT_INVALID_VALUE);
    EXPECT_NE(cuda_standin::misuse().find("not aligned as complex numbers"), std::string::npos);
    std::vector<Complex> host(8);
    EXPECT_EQ(plan.run(host.data(), out, CUFFT_FORWARD), CUFFT_INVALID_VALUE);
    EXPECT_EQ(cufftSetWorkArea(plan.handle, nullptr), CUFFT_SUCCESS);
    EXPECT_EQ(plan.run(in, out, CUFFT_FORWARD), CUFFT_INVALID_VALUE);
    EXPECT_NE(cuda_standin::misuse().find("the work area is not in the device's memory"), std::string::npos);
    EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
    EXPECT_EQ(plan.run(in, out, CUFFT_FORWARD), CUFFT_INVALID_DEVICE);
    EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  });
  reported("the plan is another device's");
  {
    const Array<Complex> half({{1, 1}, {0, 0}, {0, 0}});
    const Array<float> out(std::vector<float>(4));
    Plan plan;
    ASSERT_EQ(plan.make({4}, {.in = {3}, .out = {4}, .out_type = CUDA_R_32F}, 1), CUFFT_SUCCESS);
    EXPECT_EQ(plan.run(half.data(), out.data(), CUFFT_FORWARD), CUFFT_INVALID_VALUE);
    EXPECT_EQ(plan.run(half.data(), out.data(), CUFFT_INVERSE), CUFFT_SUCCESS);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_NE(cuda_standin::misuse().find("in the other direction"), std::string::npos);
  }
  reported("imaginary parts of numbers that are real");
}

TEST_F(CufftStandin, TheCallThatIsChosenFails) {
  cufft_standin::reset({.fail_call = 1, .fail_with = CUFFT_INTERNAL_ERROR});
  cufftHandle handle = 0;
  EXPECT_EQ(cufftCreate(&handle), CUFFT_SUCCESS);
  EXPECT_EQ(cufftSetAutoAllocation(handle, 0), CUFFT_INTERNAL_ERROR);
  EXPECT_EQ(cufftSetAutoAllocation(handle, 0), CUFFT_SUCCESS);
  EXPECT_EQ(cufft_standin::calls(), 3u);
  EXPECT_EQ(cufftDestroy(handle), CUFFT_SUCCESS);
}

}  // namespace
