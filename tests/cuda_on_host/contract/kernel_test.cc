// Launches.
#include "tests/cuda_on_host/contract/contract.h"
#include "tests/cuda_on_host/contract/kernels.h"

namespace {

KD_CONTRACT(CudaKernel);

TEST_P(CudaKernel, RunsOnItsStream) {
  int *a = device_ints(1000), *b = device_ints(1000);
  cudaStream_t stream = new_stream();
  EXPECT_OK(contract::set(a, 2, 1000, stream));
  EXPECT_OK(contract::set(b, 3, 1000, stream));
  EXPECT_OK(contract::add(a, a, b, 1000, stream));
  EXPECT_EQ(contents(a, 1000), std::vector<int>(1000, 5));
  EXPECT_OK(cudaStreamDestroy(stream));
  EXPECT_OK(cudaFree(a));
  EXPECT_OK(cudaFree(b));
}

TEST_P(CudaKernel, WithAnImpossibleShapeIsRefused) {
  int* a = device_ints(1);
  EXPECT_OK(cudaMemset(a, 0, 4));
  for (const dim3 grid : {dim3(0), dim3(1, 0), dim3(1, 65536), dim3(1, 1, 65536), dim3(2147483648u)}) {
    EXPECT_CUDA(cudaErrorInvalidConfiguration, contract::set_in_shape(a, 1, grid, dim3(1), 0, nullptr));
    EXPECT_CUDA(cudaErrorInvalidConfiguration, cudaGetLastError());
  }
  for (const dim3 block : {dim3(0), dim3(1025), dim3(1, 1, 65), dim3(32, 33)}) {
    EXPECT_CUDA(cudaErrorInvalidConfiguration, contract::set_in_shape(a, 1, dim3(1), block, 0, nullptr));
    EXPECT_CUDA(cudaErrorInvalidConfiguration, cudaGetLastError());
  }
  EXPECT_EQ(contents(a, 1), std::vector<int>{0});
  EXPECT_OK(contract::set_in_shape(a, 1, dim3(1, 2, 3), dim3(16, 16, 4), 0, nullptr));
  EXPECT_EQ(contents(a, 1), std::vector<int>{1});
  EXPECT_OK(cudaFree(a));
}

TEST_P(CudaKernel, HasMoreThan48KilobytesOfSharedMemoryOnlyWhenAsked) {
  int* a = device_ints(1);
  EXPECT_OK(contract::set_in_shape(a, 1, dim3(1), dim3(1), 48 << 10, nullptr));
  EXPECT_CUDA(cudaErrorInvalidValue, contract::set_in_shape(a, 2, dim3(1), dim3(1), (48 << 10) + 1, nullptr));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaGetLastError());
  int most = 0;
  EXPECT_OK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
  EXPECT_OK(cudaFuncSetAttribute(contract::set_function(), cudaFuncAttributeMaxDynamicSharedMemorySize, most));
  EXPECT_OK(contract::set_in_shape(a, 3, dim3(1), dim3(1), static_cast<size_t>(most), nullptr));
  EXPECT_EQ(contents(a, 1), std::vector<int>{3});
  EXPECT_CUDA(cudaErrorInvalidValue,
              cudaFuncSetAttribute(contract::set_function(), cudaFuncAttributeMaxDynamicSharedMemorySize, most + 1));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaGetLastError());
  cudaFuncAttributes attributes;
  EXPECT_OK(cudaFuncGetAttributes(&attributes, contract::set_function()));
  EXPECT_EQ(attributes.maxDynamicSharedSizeBytes, most);
  EXPECT_OK(cudaFuncSetAttribute(contract::set_function(), cudaFuncAttributeMaxDynamicSharedMemorySize, 48 << 10));
  EXPECT_OK(cudaFree(a));
}

TEST_P(CudaKernel, IsNotLaunchedOnAStreamOfAnotherDevice) {
  if (devices_ < 2) GTEST_SKIP() << "one CUDA device";
  int* here = device_ints(1);
  cudaStream_t stream = new_stream();
  ASSERT_OK(cudaSetDevice(1));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, contract::set(here, 1, 1, stream));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaGetLastError());
  EXPECT_OK(cudaMemsetAsync(here, 0, 4, stream));  // copies and fills are
  EXPECT_OK(cudaStreamSynchronize(stream));        // and this
  ASSERT_OK(cudaSetDevice(0));
  EXPECT_EQ(contents(here, 1), std::vector<int>{0});
  EXPECT_OK(cudaStreamDestroy(stream));
  EXPECT_OK(cudaFree(here));
}

TEST_P(CudaKernel, TouchesAPeersMemoryWithAccess) {
  if (devices_ < 2) GTEST_SKIP() << "one CUDA device";
  int can = 0;
  ASSERT_OK(cudaDeviceCanAccessPeer(&can, 0, 1));
  if (!can) GTEST_SKIP() << "devices that have no access to each other";
  ASSERT_OK(cudaSetDevice(1));
  int* there = device_ints(100);
  EXPECT_OK(contract::set(there, 8, 100, nullptr));
  EXPECT_OK(cudaDeviceSynchronize());
  ASSERT_OK(cudaSetDevice(0));
  int* here = device_ints(100);
  ASSERT_OK(cudaDeviceEnablePeerAccess(1, 0));
  EXPECT_OK(contract::add(here, there, there, 100, nullptr));
  EXPECT_EQ(contents(here, 100), std::vector<int>(100, 16));
  EXPECT_OK(cudaDeviceDisablePeerAccess(1));
  EXPECT_OK(cudaFree(here));
  EXPECT_OK(cudaFree(there));
}

TEST_P(CudaKernel, OccupancyFollowsThreadsAndSharedMemory) {
  int* a = device_ints(1);
  EXPECT_OK(contract::set(a, 1, 1, nullptr));
  cudaDeviceProp p;
  ASSERT_OK(cudaGetDeviceProperties(&p, 0));
  const auto blocks = [](int threads, size_t shared) {
    int count = -1;
    EXPECT_OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, contract::set_function(), threads, shared));
    return count;
  };
  EXPECT_EQ(blocks(1024, 0), p.maxThreadsPerMultiProcessor / 1024);
  EXPECT_EQ(blocks(32, 0), p.maxBlocksPerMultiProcessor);
  EXPECT_EQ(blocks(64, 40 << 10),
            static_cast<int>(p.sharedMemPerMultiprocessor / ((40 << 10) + p.reservedSharedMemPerBlock)));
  int count = 0;
  EXPECT_CUDA(cudaErrorInvalidValue,
              cudaOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, contract::set_function(), 32, 0));
  EXPECT_OK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&count, contract::set_function(), 1024, 0,
                                                                   cudaOccupancyDefault));
  EXPECT_EQ(count, p.maxThreadsPerMultiProcessor / 1024);
  (void)cudaGetLastError();
  EXPECT_OK(cudaDeviceSynchronize());
  EXPECT_OK(cudaFree(a));
}

}  // namespace
