// A kernel's fault stays with the process; nothing else is in this program.
#include "tests/cuda_on_host/contract/contract.h"
#include "tests/cuda_on_host/contract/kernels.h"

namespace {

TEST(CudaFault, Stays) {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) GTEST_SKIP() << "no CUDA device";
  void* pointer = nullptr;
  ASSERT_OK(cudaMalloc(&pointer, 16));
  EXPECT_OK(contract::trap(nullptr));
  const cudaError_t first = cudaDeviceSynchronize();
  EXPECT_NE(first, cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), first);
  EXPECT_EQ(cudaGetLastError(), first);  // is not taken away
  EXPECT_EQ(cudaDeviceSynchronize(), first);
  EXPECT_EQ(cudaMalloc(&pointer, 16), first);
  EXPECT_EQ(cudaStreamSynchronize(nullptr), first);
  EXPECT_EQ(contract::trap(nullptr), first);
}

}  // namespace
