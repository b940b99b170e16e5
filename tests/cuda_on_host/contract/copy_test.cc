// Copies and fills.
#include "tests/cuda_on_host/contract/contract.h"
#include "tests/cuda_on_host/contract/kernels.h"

namespace {

using contract::Gate;

KD_CONTRACT(CudaCopy);

constexpr size_t kCount = 1000;
constexpr size_t kBytes = kCount * sizeof(int);

TEST_P(CudaCopy, GoesEveryWay) {
  int *a = device_ints(kCount), *b = device_ints(kCount), *pinned = pinned_ints(kCount);
  std::vector<int> host(kCount), back(kCount), beside(kCount);
  for (size_t i = 0; i < kCount; ++i) host[i] = static_cast<int>(i);
  EXPECT_OK(cudaMemcpy(a, host.data(), kBytes, cudaMemcpyHostToDevice));
  EXPECT_OK(cudaMemcpy(b, a, kBytes, cudaMemcpyDeviceToDevice));
  EXPECT_OK(cudaMemcpy(pinned, b, kBytes, cudaMemcpyDefault));
  EXPECT_EQ(pinned[kCount - 1], static_cast<int>(kCount - 1));
  EXPECT_OK(cudaMemcpy(back.data(), pinned, kBytes, cudaMemcpyHostToHost));
  EXPECT_EQ(back, host);
  EXPECT_OK(cudaMemcpy(beside.data(), back.data(), kBytes, cudaMemcpyHostToHost));
  EXPECT_EQ(beside, host);
  EXPECT_OK(cudaMemcpy(a, pinned + 10, 40, cudaMemcpyHostToDevice));
  EXPECT_OK(cudaMemcpy(a + 20, b + 30, 40, cudaMemcpyDefault));
  EXPECT_OK(cudaMemcpy(back.data(), a, 120, cudaMemcpyDefault));
  EXPECT_EQ(back[9], 19);
  EXPECT_EQ(back[10], 10);
  EXPECT_EQ(back[20], 30);
  EXPECT_OK(cudaFree(a));
  EXPECT_OK(cudaFree(b));
  EXPECT_OK(cudaFreeHost(pinned));
}

TEST_P(CudaCopy, OfNothingIsNothing) {
  EXPECT_OK(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyDefault));
  EXPECT_OK(cudaMemcpyAsync(nullptr, nullptr, 0, cudaMemcpyDefault, nullptr));
  EXPECT_OK(cudaMemset(nullptr, 0, 0));
}

TEST_P(CudaCopy, RefusesWhatIsNoDirection) {
  int* a = device_ints(4);
  int host[4] = {};
  EXPECT_CUDA(cudaErrorInvalidMemcpyDirection, cudaMemcpy(a, host, 16, static_cast<cudaMemcpyKind>(7)));
  EXPECT_CUDA(cudaErrorInvalidMemcpyDirection, cudaGetLastError());
  EXPECT_OK(cudaFree(a));
}

TEST_P(CudaCopy, FromPageableMemoryReadsItBeforeItReturns) {
  int* a = device_ints(kCount);
  cudaStream_t stream = new_stream();
  std::vector<int> host(kCount, 5);
  EXPECT_OK(cudaMemsetAsync(a, 0, kBytes, stream));
  EXPECT_OK(cudaMemcpyAsync(a, host.data(), kBytes, cudaMemcpyHostToDevice, stream));
  std::fill(host.begin(), host.end(), 6);
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(contents(a, kCount), std::vector<int>(kCount, 5));
  EXPECT_OK(cudaMemcpy(a, host.data(), kBytes, cudaMemcpyHostToDevice));
  std::fill(host.begin(), host.end(), 7);
  EXPECT_EQ(contents(a, kCount), std::vector<int>(kCount, 6));
  EXPECT_OK(cudaStreamDestroy(stream));
  EXPECT_OK(cudaFree(a));
}

TEST_P(CudaCopy, FromPageableMemoryAtOnceWaitsForWhatIsBeforeIt) {
  int *a = device_ints(kCount), *pinned = pinned_ints(kCount);
  std::vector<int> host(kCount, 5);
  EXPECT_OK(contract::set(a, 4, kCount, nullptr));
  EXPECT_OK(cudaMemcpyAsync(pinned, a, kBytes, cudaMemcpyDeviceToHost, nullptr));
  EXPECT_OK(cudaMemcpy(a, host.data(), kBytes, cudaMemcpyHostToDevice));
  EXPECT_EQ(pinned[kCount - 1], 4);
  EXPECT_OK(cudaFree(a));
  EXPECT_OK(cudaFreeHost(pinned));
}

TEST_P(CudaCopy, BetweenHostMemoryIsDoneWhenItReturns) {
  int *a = pinned_ints(kCount), *b = pinned_ints(kCount);
  std::fill(a, a + kCount, 3);
  cudaStream_t stream = new_stream();
  EXPECT_OK(cudaMemcpyAsync(b, a, kBytes, cudaMemcpyDefault, stream));
  EXPECT_EQ(b[kCount - 1], 3);
  std::vector<int> host(kCount, 4);
  EXPECT_OK(cudaMemcpyAsync(b, host.data(), kBytes, cudaMemcpyHostToHost, stream));
  EXPECT_EQ(b[kCount - 1], 4);
  EXPECT_OK(cudaStreamDestroy(stream));
  EXPECT_OK(cudaFreeHost(a));
  EXPECT_OK(cudaFreeHost(b));
}

TEST_P(CudaCopy, ToPageableMemoryHasWrittenItWhenItReturns) {
  int* a = device_ints(kCount);
  cudaStream_t stream = new_stream();
  std::vector<int> host(kCount, 5);
  EXPECT_OK(contract::set(a, 7, kCount, stream));
  EXPECT_OK(cudaMemcpyAsync(host.data(), a, kBytes, cudaMemcpyDeviceToHost, stream));
  EXPECT_EQ(host, std::vector<int>(kCount, 7));
  EXPECT_OK(cudaStreamDestroy(stream));
  EXPECT_OK(cudaFree(a));
}

TEST_P(CudaCopy, OfPinnedMemoryRunsInTheStreamsTurn) {
  int *a = device_ints(kCount), *pinned = pinned_ints(kCount);
  std::fill(pinned, pinned + kCount, 1);
  cudaStream_t stream = new_stream();
  {
    Gate gate(stream);
    EXPECT_OK(cudaMemcpyAsync(a, pinned, kBytes, cudaMemcpyHostToDevice, stream));
    std::fill(pinned, pinned + kCount, 2);  // nothing has been read yet
  }
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(contents(a, kCount), std::vector<int>(kCount, 2));
  EXPECT_OK(cudaStreamDestroy(stream));
  EXPECT_OK(cudaFree(a));
  EXPECT_OK(cudaFreeHost(pinned));
}

TEST_P(CudaCopy, OfRegisteredMemoryRunsInTheStreamsTurn) {
  int* a = device_ints(kCount);
  std::vector<int> host(kCount, 1);
  ASSERT_OK(cudaHostRegister(host.data(), kBytes, cudaHostRegisterDefault));
  cudaStream_t stream = new_stream();
  {
    Gate gate(stream);
    EXPECT_OK(cudaMemcpyAsync(a, host.data(), kBytes, cudaMemcpyHostToDevice, stream));
    std::fill(host.begin(), host.end(), 2);
  }
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(contents(a, kCount), std::vector<int>(kCount, 2));
  EXPECT_OK(cudaStreamDestroy(stream));
  EXPECT_OK(cudaHostUnregister(host.data()));
  EXPECT_OK(cudaFree(a));
}

TEST_P(CudaCopy, OfRowsKeepsWhatIsBetweenThem) {
  int* a = device_ints(5 * 8);
  EXPECT_OK(cudaMemset(a, 0, 5 * 8 * sizeof(int)));
  const std::vector<int> host{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  // 3 rows of 3 integers, of rows of 4, into rows of 8.
  EXPECT_OK(cudaMemcpy2D(a, 32, host.data(), 16, 12, 3, cudaMemcpyHostToDevice));
  const std::vector<int> now = contents(a, 24);
  EXPECT_EQ(now, (std::vector<int>{1, 2, 3, 0, 0, 0, 0, 0, 5, 6, 7, 0, 0, 0, 0, 0, 9, 10, 11, 0, 0, 0, 0, 0}));
  EXPECT_CUDA(cudaErrorInvalidPitchValue, cudaMemcpy2D(a, 8, host.data(), 16, 12, 3, cudaMemcpyHostToDevice));
  EXPECT_CUDA(cudaErrorInvalidPitchValue, cudaMemcpy2D(a, 32, host.data(), 8, 12, 3, cudaMemcpyHostToDevice));
  EXPECT_OK(cudaMemset2D(a, 32, 0xFF, 8, 2));
  EXPECT_EQ(contents(a, 11), (std::vector<int>{-1, -1, 3, 0, 0, 0, 0, 0, -1, -1, 7}));
  EXPECT_CUDA(cudaErrorInvalidPitchValue, cudaGetLastError());
  EXPECT_OK(cudaFree(a));
}

TEST_P(CudaCopy, FillsBytes) {
  int* a = device_ints(4);
  cudaStream_t stream = new_stream();
  EXPECT_OK(cudaMemsetAsync(a, 1, 16, stream));
  EXPECT_OK(cudaMemsetAsync(a + 1, 0, 8, stream));
  EXPECT_EQ(contents(a, 4), (std::vector<int>{0x01010101, 0, 0, 0x01010101}));
  EXPECT_OK(cudaStreamDestroy(stream));
  EXPECT_OK(cudaFree(a));
}

TEST_P(CudaCopy, GoesBetweenDevicesWithoutAccess) {
  if (devices_ < 2) GTEST_SKIP() << "one CUDA device";
  int* here = device_ints(kCount);
  ASSERT_OK(cudaSetDevice(1));
  int* there = device_ints(kCount);
  ASSERT_OK(cudaSetDevice(0));
  EXPECT_OK(contract::set(here, 4, kCount, nullptr));
  EXPECT_OK(cudaMemcpyPeer(there, 1, here, 0, kBytes));
  EXPECT_OK(contract::set(here, 5, kCount, nullptr));
  EXPECT_OK(cudaMemcpyPeerAsync(here, 0, there, 1, kBytes, nullptr));
  EXPECT_EQ(contents(here, kCount), std::vector<int>(kCount, 4));
  EXPECT_OK(cudaMemset(here, 0, kBytes));
  EXPECT_OK(cudaMemcpy(there, here, kBytes, cudaMemcpyDefault));
  EXPECT_EQ(contents(there, kCount), std::vector<int>(kCount, 0));
  EXPECT_CUDA(cudaErrorInvalidDevice, cudaMemcpyPeer(there, devices_, here, 0, kBytes));
  EXPECT_CUDA(cudaErrorInvalidDevice, cudaGetLastError());
  EXPECT_OK(cudaFree(here));
  EXPECT_OK(cudaFree(there));
}

}  // namespace
