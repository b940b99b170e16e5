// What the toolkit documents, as tests that run on a device and on its stand-in: whatever one of them does otherwise
// than here, programs may not rely on. On the host every test runs under each execution.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#ifdef KD_CUDA_ON_HOST
#include "tests/cuda_on_host/runtime/standin.h"
#endif

#define EXPECT_CUDA(status, call) EXPECT_EQ(std::string(cudaGetErrorName(call)), #status)
#define ASSERT_OK(call) ASSERT_EQ(std::string(cudaGetErrorName(call)), "cudaSuccess")
#define EXPECT_OK(call) EXPECT_CUDA(cudaSuccess, call)

namespace contract {

class Contract : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
#ifdef KD_CUDA_ON_HOST
    using cuda_standin::Execution;
    const Execution executions[] = {Execution::kEager, Execution::kLazy, Execution::kRandom};
    cuda_standin::reset({.memory_bytes = size_t{256} << 20,
                         .execution = executions[std::min(GetParam(), 2)],
                         .seed = static_cast<uint64_t>(GetParam())});
#endif
    if (cudaGetDeviceCount(&devices_) != cudaSuccess) GTEST_SKIP() << "no CUDA device";
    ASSERT_OK(cudaSetDevice(0));
    (void)cudaGetLastError();
  }
  void TearDown() override {
    if (devices_ == 0) return;
    EXPECT_OK(cudaSetDevice(0));
    EXPECT_OK(cudaDeviceSynchronize());
    EXPECT_OK(cudaGetLastError());
#ifdef KD_CUDA_ON_HOST
    if (!misuses_) EXPECT_EQ(cuda_standin::misuse(), "");
    EXPECT_EQ(cuda_standin::leaks(), "");
#endif
  }
  // For tests that do what is answered with an error, but should not be done.
  void misuses() {
    misuses_ = true;
  }

  int* device_ints(size_t count) {
    void* pointer = nullptr;
    EXPECT_OK(cudaMalloc(&pointer, count * sizeof(int)));
    return static_cast<int*>(pointer);
  }
  int* pinned_ints(size_t count) {
    void* pointer = nullptr;
    EXPECT_OK(cudaHostAlloc(&pointer, count * sizeof(int), cudaHostAllocDefault));
    return static_cast<int*>(pointer);
  }
  cudaStream_t new_stream(unsigned flags = cudaStreamNonBlocking) {
    cudaStream_t stream = nullptr;
    EXPECT_OK(cudaStreamCreateWithFlags(&stream, flags));
    return stream;
  }
  cudaEvent_t new_event(unsigned flags = cudaEventDisableTiming) {
    cudaEvent_t event = nullptr;
    EXPECT_OK(cudaEventCreateWithFlags(&event, flags));
    return event;
  }
  // Device memory's contents, when all that was submitted is done.
  std::vector<int> contents(const int* from, size_t count) {
    std::vector<int> values(count, -77);
    EXPECT_OK(cudaDeviceSynchronize());
    EXPECT_OK(cudaMemcpy(values.data(), from, count * sizeof(int), cudaMemcpyDeviceToHost));
    return values;
  }
  int devices_ = 0;

 private:
  bool misuses_ = false;
};

// Work that lasts until it is opened.
class Gate {
 public:
  explicit Gate(cudaStream_t stream) {
    EXPECT_OK(cudaLaunchHostFunc(stream, &Gate::wait, new std::shared_ptr<std::atomic<bool>>(open_)));
  }
  ~Gate() { open(); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  void open() { *open_ = true; }

 private:
  static void wait(void* data) {
    const std::unique_ptr<std::shared_ptr<std::atomic<bool>>> open(
        static_cast<std::shared_ptr<std::atomic<bool>>*>(data));
    while (!**open) std::this_thread::yield();
  }
  std::shared_ptr<std::atomic<bool>> open_ = std::make_shared<std::atomic<bool>>(false);  // outlives the gate
};

#ifdef KD_CUDA_ON_HOST
#define KD_CONTRACT(suite)          \
  using suite = contract::Contract; \
  INSTANTIATE_TEST_SUITE_P(Executions, suite, ::testing::Range(0, 5))
#else
#define KD_CONTRACT(suite)          \
  using suite = contract::Contract; \
  INSTANTIATE_TEST_SUITE_P(Device, suite, ::testing::Values(0))
#endif

}  // namespace contract
