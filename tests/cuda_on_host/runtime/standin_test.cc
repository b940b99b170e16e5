// What only the stand-in promises: when work runs, who may touch memory, what it reports.
#include "tests/cuda_on_host/runtime/standin.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/cuda_on_host/simt/simt.h"

namespace cuda_standin {
namespace {

float* device_floats(size_t count) {
  void* pointer = nullptr;
  EXPECT_EQ(cudaMalloc(&pointer, count * sizeof(float)), cudaSuccess);
  return static_cast<float*>(pointer);
}

cudaStream_t non_blocking_stream() {
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  return stream;
}

TEST(Standin, AResultReadWithoutWaitingIsNotThere) {
  reset();
  float* x = device_floats(4);
  float* pinned = nullptr;
  ASSERT_EQ(cudaHostAlloc(reinterpret_cast<void**>(&pinned), 16, cudaHostAllocDefault), cudaSuccess);
  cudaStream_t stream = non_blocking_stream();
  ASSERT_EQ(cudaMemsetAsync(x, 0, 16, stream), cudaSuccess);
  pinned[0] = 5;
  ASSERT_EQ(cudaMemcpyAsync(pinned, x, 16, cudaMemcpyDeviceToHost, stream), cudaSuccess);
  EXPECT_EQ(pending_work(), 2u);
  EXPECT_EQ(pinned[0], 5);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(pinned[0], 0);
  EXPECT_EQ(pending_work(), 0u);
  ASSERT_EQ(cudaFree(x), cudaSuccess);
  ASSERT_EQ(cudaFreeHost(pinned), cudaSuccess);
  ASSERT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(leaks(), "");
  EXPECT_EQ(misuse(), "");
}

TEST(StandinDeathTest, HostCodeCannotTouchDeviceMemory) {
  reset();
  float* x = device_floats(4);
  EXPECT_DEATH(x[0] = 1, "");
}

TEST(Standin, AFaultStays) {
  reset();
  EXPECT_EQ(enqueue(nullptr, "faulty", [] { throw simt::KernelFault("planted"); }), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
  void* pointer = nullptr;
  EXPECT_EQ(cudaMalloc(&pointer, 16), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
  EXPECT_NE(misuse().find("planted"), std::string::npos);
}

}  // namespace
}  // namespace cuda_standin
