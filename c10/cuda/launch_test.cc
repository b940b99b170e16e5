#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <vector>

#include "c10/cuda/exception.h"
#include "c10/cuda/launch_test_kernel.h"
#include "c10/cuda/testing.h"
#include "c10/testing/message_of.h"
#include "c10/util/exception.h"

namespace c10::cuda {
namespace {

TEST(CudaLaunch, RunsAndReportsBadLaunches) {
  testing::in_all_orders([] {
    constexpr int64_t kCount = 10'003;
    std::vector<float> x(kCount), y(kCount, 1.0f);
    for (int64_t i = 0; i < kCount; ++i) x[static_cast<size_t>(i)] = static_cast<float>(i % 1000);
    float *dx = nullptr, *dy = nullptr;
    C10_CUDA_CHECK(cudaMalloc(reinterpret_cast<void**>(&dx), kCount * sizeof(float)));
    C10_CUDA_CHECK(cudaMalloc(reinterpret_cast<void**>(&dy), kCount * sizeof(float)));
    C10_CUDA_CHECK(cudaMemcpy(dx, x.data(), kCount * sizeof(float), cudaMemcpyDefault));
    C10_CUDA_CHECK(cudaMemcpy(dy, y.data(), kCount * sizeof(float), cudaMemcpyDefault));
    scale_and_add(2.0f, dx, dy, kCount, 256);
    C10_CUDA_CHECK(cudaMemcpy(y.data(), dy, kCount * sizeof(float), cudaMemcpyDefault));
    for (int64_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(y[static_cast<size_t>(i)], 1.0f + 2.0f * static_cast<float>(i % 1000)) << i;
    }
    try {
      scale_and_add(2.0f, dx, dy, kCount, 100'000);
      ADD_FAILURE() << "a block of 100,000 threads was launched";
    } catch (const AcceleratorError& e) {
      EXPECT_EQ(e.get_error_code(), cudaErrorInvalidConfiguration);
      EXPECT_NE(e.msg().find("the launch of kernel scale_and_add on stream "), std::string::npos) << e.msg();
      EXPECT_NE(e.msg().find("c10/cuda/launch_test_kernel.cu:"), std::string::npos) << e.msg();
      EXPECT_NE(e.msg().find("current device 0"), std::string::npos) << e.msg();
    }
    C10_CUDA_CHECK(cudaDeviceSynchronize());
    C10_CUDA_CHECK(cudaFree(dx));
    C10_CUDA_CHECK(cudaFree(dy));
  });
}

}  // namespace
}  // namespace c10::cuda
