#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <vector>

#include "c10/cuda/device.h"
#include "c10/cuda/exception.h"
#include "c10/cuda/launch_test_kernel.h"
#include "c10/util/exception.h"

namespace c10::cuda {
namespace {

TEST(CudaLaunch, RunsAndReportsBadLaunches) {
  if (device_count() == 0) GTEST_SKIP() << "no CUDA device";
  constexpr int64_t kCount = 100'003;
  std::vector<float> x(kCount), y(kCount, 1.0f);
  for (int64_t i = 0; i < kCount; ++i) x[static_cast<size_t>(i)] = static_cast<float>(i % 1000);
  float *dx = nullptr, *dy = nullptr;
  C10_CUDA_CHECK(cudaMalloc(&dx, kCount * sizeof(float)));
  C10_CUDA_CHECK(cudaMalloc(&dy, kCount * sizeof(float)));
  C10_CUDA_CHECK(cudaMemcpy(dx, x.data(), kCount * sizeof(float), cudaMemcpyDefault));
  C10_CUDA_CHECK(cudaMemcpy(dy, y.data(), kCount * sizeof(float), cudaMemcpyDefault));
  scale_and_add(2.0f, dx, dy, kCount, 256);
  C10_CUDA_CHECK(cudaMemcpy(y.data(), dy, kCount * sizeof(float), cudaMemcpyDefault));
  for (int64_t i = 0; i < kCount; ++i)
    ASSERT_EQ(y[static_cast<size_t>(i)], 1.0f + 2.0f * static_cast<float>(i % 1000)) << i;
  EXPECT_THROW(scale_and_add(2.0f, dx, dy, kCount, 100'000), c10::Error);
  device_synchronize();
  C10_CUDA_CHECK(cudaFree(dx));
  C10_CUDA_CHECK(cudaFree(dy));
}

}  // namespace
}  // namespace c10::cuda
