// What the stand-in for cuFFT computes, refuses and reports.
#include "tests/cuda_on_host/fft/standin.h"

#include <cuda_runtime_api.h>
#include <cufftXt.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

#include "tests/cuda_on_host/runtime/standin.h"

namespace {

using Complex = std::complex<float>;
using Embed = std::vector<long long>;

struct Sides {
  Embed in, out;
  long long in_stride = 1, in_distance = 1, out_stride = 1, out_distance = 1;
  cudaDataType in_type = CUDA_C_32F, out_type = CUDA_C_32F;
};

// A plan, made for what it is asked for.
class Plan {
 public:
  Plan() { EXPECT_EQ(cufftCreate(&handle), CUFFT_SUCCESS); }
  ~Plan() {
    cufftDestroy(handle);
    cudaFree(work);
  }
  cufftResult make(std::vector<long long> sizes, Sides s, long long blocks, cudaDataType type = CUDA_C_32F) {
    EXPECT_EQ(cufftSetAutoAllocation(handle, 0), CUFFT_SUCCESS);
    const cufftResult status =
        cufftXtMakePlanMany(handle, static_cast<int>(sizes.size()), sizes.data(), s.in.data(), s.in_stride,
                            s.in_distance, s.in_type, s.out.data(), s.out_stride, s.out_distance, s.out_type, blocks,
                            &bytes, type);
    if (status != CUFFT_SUCCESS) return status;
    EXPECT_GT(bytes, 0u);
    EXPECT_EQ(cudaMalloc(&work, bytes), cudaSuccess);
    return cufftSetWorkArea(handle, work);
  }
  cufftResult run(void* in, void* out, int direction) { return cufftXtExec(handle, in, out, direction); }

  cufftHandle handle = 0;
  size_t bytes = 0;
  void* work = nullptr;
};

template <class T>
class Array {
 public:
  explicit Array(const std::vector<T>& values) : size_(values.size()) {
    EXPECT_EQ(cudaMalloc(&data_, size_ * sizeof(T)), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(data_, values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice), cudaSuccess);
  }
  ~Array() { EXPECT_EQ(cudaFree(data_), cudaSuccess); }
  T* data() const { return static_cast<T*>(data_); }
  std::vector<T> values() const {
    std::vector<T> out(size_);
    EXPECT_EQ(cudaMemcpy(out.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
    return out;
  }

 private:
  void* data_ = nullptr;
  size_t size_;
};

std::vector<Complex> numbers(size_t n) {
  std::vector<Complex> all;
  for (size_t i = 0; i < n; ++i) all.emplace_back(static_cast<float>(i * i % 7), static_cast<float>(i % 5));
  return all;
}

// The transform of n numbers by its definition; sign -1 is forward.
std::vector<Complex> defined(const std::vector<Complex>& x, int sign) {
  std::vector<Complex> y(x.size());
  for (size_t k = 0; k < x.size(); ++k) {
    for (size_t j = 0; j < x.size(); ++j) {
      const double angle = sign * 2 * std::numbers::pi * static_cast<double>(j * k) / static_cast<double>(x.size());
      y[k] += x[j] * std::polar(1.0f, static_cast<float>(angle));
    }
  }
  return y;
}

struct CufftStandin : testing::Test {
  CufftStandin() {
    cuda_standin::reset();
    cufft_standin::reset();
  }
};

TEST_F(CufftStandin, TransformsStridedBlocks) {
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
  EXPECT_EQ(cuda_standin::misuse(), "");
}

TEST_F(CufftStandin, RealNumbersAndBackAndTheInputIsGone) {
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
  for (const Complex& v : half.values()) EXPECT_TRUE(std::isnan(v.real()));
  EXPECT_EQ(cuda_standin::misuse(), "");
}

TEST_F(CufftStandin, RefusesWhatTheLibraryDoes) {
  const auto made = [](std::vector<long long> sizes, Sides sides, cudaDataType type, long long blocks = 1) {
    Plan plan;
    return plan.make(sizes, sides, blocks, type);
  };
  const Sides half{.in = {6}, .out = {6}, .in_type = CUDA_C_16F, .out_type = CUDA_C_16F};
  EXPECT_EQ(made({6}, half, CUDA_C_16F), CUFFT_INVALID_SIZE);
  EXPECT_EQ(made({8}, {.in = {8}, .out = {5}, .in_stride = 2, .in_type = CUDA_R_16F, .out_type = CUDA_C_16F},
                 CUDA_C_16F),
            CUFFT_NOT_SUPPORTED);
  EXPECT_EQ(made({2, 2, 2, 2}, {.in = {2, 2, 2, 2}, .out = {2, 2, 2, 2}}, CUDA_C_32F), CUFFT_INVALID_VALUE);
  EXPECT_EQ(made({0}, {.in = {1}, .out = {1}}, CUDA_C_32F), CUFFT_INVALID_SIZE);
  EXPECT_EQ(made({4}, {.in = {4}, .out = {4}}, CUDA_C_32F, 0), CUFFT_INVALID_SIZE);
  EXPECT_EQ(made({4}, {.in = {4}, .out = {4}, .in_type = CUDA_C_64F}, CUDA_C_32F), CUFFT_INVALID_TYPE);
  EXPECT_EQ(cuda_standin::misuse(), "");
  EXPECT_EQ(cufft_standin::live_plans(), 0u);
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
