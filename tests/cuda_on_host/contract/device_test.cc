// Devices and errors.
#include "tests/cuda_on_host/contract/contract.h"

namespace {

KD_CONTRACT(CudaDevice);

TEST_P(CudaDevice, IsOneAThread) {
  int device = -1;
  EXPECT_OK(cudaSetDevice(devices_ - 1));
  std::thread([] {
    int other = -1;
    EXPECT_OK(cudaGetDevice(&other));
    EXPECT_EQ(other, 0);
  }).join();
  EXPECT_OK(cudaGetDevice(&device));
  EXPECT_EQ(device, devices_ - 1);
}

TEST_P(CudaDevice, OneThatDoesNotExistIsRefused) {
  int device = -1;
  for (int none : {-1, devices_}) {
    EXPECT_CUDA(cudaErrorInvalidDevice, cudaSetDevice(none));
    cudaDeviceProp properties;
    EXPECT_CUDA(cudaErrorInvalidDevice, cudaGetDeviceProperties(&properties, none));
    int value = 0;
    EXPECT_CUDA(cudaErrorInvalidDevice, cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, none));
  }
  EXPECT_CUDA(cudaErrorInvalidDevice, cudaGetLastError());
  EXPECT_OK(cudaGetDevice(&device));
  EXPECT_EQ(device, 0);
}

TEST_P(CudaDevice, PropertiesAndAttributesAgree) {
  cudaDeviceProp p;
  ASSERT_OK(cudaGetDeviceProperties(&p, 0));
  const auto attribute = [](cudaDeviceAttr which) {
    int value = -1;
    EXPECT_OK(cudaDeviceGetAttribute(&value, which, 0));
    return value;
  };
  EXPECT_EQ(attribute(cudaDevAttrWarpSize), p.warpSize);
  EXPECT_EQ(p.warpSize, 32);
  EXPECT_EQ(attribute(cudaDevAttrMultiProcessorCount), p.multiProcessorCount);
  EXPECT_EQ(attribute(cudaDevAttrMaxThreadsPerBlock), p.maxThreadsPerBlock);
  EXPECT_EQ(p.maxThreadsPerBlock, 1024);
  EXPECT_EQ(attribute(cudaDevAttrMaxThreadsPerMultiProcessor), p.maxThreadsPerMultiProcessor);
  EXPECT_EQ(attribute(cudaDevAttrMaxSharedMemoryPerBlock), static_cast<int>(p.sharedMemPerBlock));
  EXPECT_EQ(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin), static_cast<int>(p.sharedMemPerBlockOptin));
  EXPECT_EQ(attribute(cudaDevAttrComputeCapabilityMajor), p.major);
  EXPECT_EQ(attribute(cudaDevAttrComputeCapabilityMinor), p.minor);
  EXPECT_EQ(attribute(cudaDevAttrL2CacheSize), p.l2CacheSize);
  EXPECT_EQ(attribute(cudaDevAttrMemoryPoolsSupported), 1);
  EXPECT_GE(p.major, 8);
  EXPECT_NE(p.name[0], '\0');
  int value = 0;
  EXPECT_CUDA(cudaErrorInvalidValue, cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(200), 0));
  (void)cudaGetLastError();
}

TEST_P(CudaDevice, GreatestPriorityIsNotAboveTheLeastOne) {
  int least = 1, greatest = 1;
  EXPECT_OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  EXPECT_EQ(least, 0);
  EXPECT_LE(greatest, least);
  EXPECT_OK(cudaDeviceGetStreamPriorityRange(nullptr, nullptr));
}

TEST_P(CudaDevice, VersionsAreOfThirteenAtLeast) {
  int driver = 0, runtime = 0;
  EXPECT_OK(cudaDriverGetVersion(&driver));
  EXPECT_OK(cudaRuntimeGetVersion(&runtime));
  EXPECT_GE(runtime, 13000);
  EXPECT_GE(driver, runtime);
}

TEST_P(CudaDevice, LimitsAreKept) {
  size_t bytes = 0;
  ASSERT_OK(cudaDeviceGetLimit(&bytes, cudaLimitStackSize));
  EXPECT_GT(bytes, 0u);
  EXPECT_OK(cudaDeviceSetLimit(cudaLimitStackSize, bytes));
  EXPECT_CUDA(cudaErrorUnsupportedLimit, cudaDeviceSetLimit(static_cast<cudaLimit>(7), 1));
  (void)cudaGetLastError();
}

TEST_P(CudaDevice, TheLastErrorIsTakenOnceAndIsTheThreads) {
  EXPECT_OK(cudaPeekAtLastError());
  EXPECT_CUDA(cudaErrorInvalidDevice, cudaSetDevice(-1));
  EXPECT_OK(cudaSetDevice(0));  // does not take it away
  std::thread([] { EXPECT_OK(cudaGetLastError()); }).join();
  EXPECT_CUDA(cudaErrorInvalidDevice, cudaPeekAtLastError());
  EXPECT_CUDA(cudaErrorInvalidDevice, cudaGetLastError());
  EXPECT_OK(cudaGetLastError());
}

TEST_P(CudaDevice, ErrorsHaveNamesAndTexts) {
  EXPECT_STREQ(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation");
  EXPECT_STREQ(cudaGetErrorString(cudaSuccess), "no error");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorIllegalAddress), "an illegal memory access was encountered");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorStreamCaptureUnsupported),
               "operation not permitted when stream is capturing");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorNotReady), "device not ready");
  EXPECT_STREQ(cudaGetErrorName(static_cast<cudaError_t>(12345)), "unrecognized error code");
}

TEST_P(CudaDevice, ADeviceIsNoPeerOfItself) {
  int can = -1;
  EXPECT_OK(cudaDeviceCanAccessPeer(&can, 0, 0));
  EXPECT_EQ(can, 0);
  EXPECT_CUDA(cudaErrorInvalidDevice, cudaDeviceCanAccessPeer(&can, 0, devices_));
  EXPECT_CUDA(cudaErrorInvalidDevice, cudaDeviceEnablePeerAccess(0, 0));
  (void)cudaGetLastError();
}

TEST_P(CudaDevice, PeerAccessIsEnabledOnce) {
  if (devices_ < 2) GTEST_SKIP() << "one CUDA device";
  int can = 0;
  ASSERT_OK(cudaDeviceCanAccessPeer(&can, 0, 1));
  if (!can) GTEST_SKIP() << "devices that have no access to each other";
  EXPECT_CUDA(cudaErrorPeerAccessNotEnabled, cudaDeviceDisablePeerAccess(1));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaDeviceEnablePeerAccess(1, 1));
  EXPECT_OK(cudaDeviceEnablePeerAccess(1, 0));
  EXPECT_CUDA(cudaErrorPeerAccessAlreadyEnabled, cudaDeviceEnablePeerAccess(1, 0));
  EXPECT_OK(cudaDeviceDisablePeerAccess(1));
  EXPECT_CUDA(cudaErrorPeerAccessNotEnabled, cudaDeviceDisablePeerAccess(1));
  (void)cudaGetLastError();
}

}  // namespace
