#include "c10/cuda/exception.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "c10/cuda/testing.h"
#include "c10/util/exception.h"

namespace c10::cuda {
namespace {

TEST(CudaException, NamesTextCodeCallPlaceAndDevice) {
  testing::in_all_orders([] {
    C10_CUDA_CHECK(cudaSetDevice(0));
    try {
      C10_CUDA_CHECK(cudaSetDevice(1000));
      ADD_FAILURE() << "device 1000 exists";
    } catch (const CUDAError& e) {
      EXPECT_EQ(e.get_error_code(), cudaErrorInvalidDevice);
      const std::string start =
          "CUDA error: invalid device ordinal (cudaErrorInvalidDevice) in cudaSetDevice(1000) at "
          "c10/cuda/exception_test.cc:";
      EXPECT_EQ(e.msg().substr(0, start.size()), start);
      EXPECT_NE(e.msg().find(", current device 0"), std::string::npos) << e.msg();
      EXPECT_EQ(e.msg().find("CUDA_LAUNCH_BLOCKING"), std::string::npos) << "no kernel causes this error";
    }
    EXPECT_EQ(last_launch_status(), cudaSuccess) << "the error is reported once";
  });
}

TEST(CudaException, SaysWhereKernelsErrorsAreReported) {
  ::unsetenv("CUDA_LAUNCH_BLOCKING");
  EXPECT_NE(get_cuda_error_help(cudaErrorIllegalAddress).find("CUDA_LAUNCH_BLOCKING=1"), std::string::npos);
  EXPECT_EQ(get_cuda_error_help(cudaErrorMemoryAllocation), "");
  ::setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
  EXPECT_EQ(get_cuda_error_help(cudaErrorIllegalAddress), "");
  EXPECT_STREQ(get_cuda_check_suffix(), "");
  ::unsetenv("CUDA_LAUNCH_BLOCKING");
}

TEST(CudaException, WarnsIgnoresAndClears) {
  testing::in_all_orders([] {
    const testing::Warnings warnings;
    C10_CUDA_CHECK_WARN(cudaSetDevice(1000));
    ASSERT_EQ(warnings.texts.size(), 1u);
    EXPECT_EQ(
        warnings.texts[0].find("CUDA warning: invalid device ordinal (cudaErrorInvalidDevice) in cudaSetDevice(1000)"),
        0u)
        << warnings.texts[0];
    EXPECT_EQ(last_launch_status(), cudaSuccess);

    C10_CUDA_IGNORE_ERROR(cudaSetDevice(1000));
    EXPECT_EQ(last_launch_status(), cudaSuccess);

    EXPECT_EQ(C10_CUDA_ERROR_HANDLED(cudaSetDevice(1000)), cudaErrorInvalidDevice);
    C10_CUDA_CLEAR_ERROR();
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    EXPECT_EQ(C10_CUDA_ERROR_HANDLED(cudaSetDevice(1000)), cudaErrorInvalidDevice);
    EXPECT_THROW(C10_CUDA_KERNEL_LAUNCH_CHECK(), AcceleratorError);
    EXPECT_EQ(warnings.texts.size(), 1u);
  });
}

TEST(CudaException, ChecksLaunches) {
  testing::in_all_orders([] {
    check_launch("softmax", cudaSuccess, nullptr);
    try {
      check_launch("softmax", cudaErrorInvalidConfiguration, nullptr);
      ADD_FAILURE() << "a failed launch passed";
    } catch (const AcceleratorError& e) {
      EXPECT_EQ(e.get_error_code(), cudaErrorInvalidConfiguration);
      EXPECT_NE(e.msg().find("in the launch of kernel softmax on stream 0"), std::string::npos) << e.msg();
      EXPECT_NE(e.msg().find("at c10/cuda/exception_test.cc:"), std::string::npos) << e.msg();
    }
  });
}

}  // namespace
}  // namespace c10::cuda
