// What tests of cuFFT and of its stand-in share.
#pragma once

#include <cuda_runtime_api.h>
#include <cufftXt.h>
#include <gtest/gtest.h>

#include <complex>
#include <numbers>
#include <vector>

namespace cufft_testing {

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
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  cufftResult make(std::vector<long long> sizes, Sides s, long long blocks, cudaDataType type = CUDA_C_32F) {
    EXPECT_EQ(cufftSetAutoAllocation(handle, 0), CUFFT_SUCCESS);
    const cufftResult status = cufftXtMakePlanMany(handle, static_cast<int>(sizes.size()), sizes.data(), s.in.data(),
                                                   s.in_stride, s.in_distance, s.in_type, s.out.data(), s.out_stride,
                                                   s.out_distance, s.out_type, blocks, &bytes, type);
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

inline std::vector<Complex> numbers(size_t n) {
  std::vector<Complex> all;
  for (size_t i = 0; i < n; ++i) all.emplace_back(static_cast<float>(i * i % 7), static_cast<float>(i % 5));
  return all;
}

// The transform of n numbers by its definition; sign -1 is forward.
inline std::vector<Complex> defined(const std::vector<Complex>& x, int sign) {
  std::vector<Complex> y(x.size());
  for (size_t k = 0; k < x.size(); ++k) {
    for (size_t j = 0; j < x.size(); ++j) {
      const double angle = sign * 2 * std::numbers::pi * static_cast<double>(j * k) / static_cast<double>(x.size());
      y[k] += x[j] * std::polar(1.0f, static_cast<float>(angle));
    }
  }
  return y;
}

}  // namespace cufft_testing
