// What the tests of the stand-in share.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "tests/cuda_on_host/runtime/standin.h"
#include "tests/cuda_on_host/simt/simt.h"

namespace cuda_standin {

#define EXPECT_OK(call) EXPECT_EQ(std::string(cudaGetErrorName(call)), "cudaSuccess")
#define ASSERT_OK(call) ASSERT_EQ(std::string(cudaGetErrorName(call)), "cudaSuccess")
#define EXPECT_MISUSE(part) EXPECT_NE(misuse().find(part), std::string::npos) << misuse()

inline int* device_ints(size_t count) {
  void* pointer = nullptr;
  EXPECT_OK(cudaMalloc(&pointer, count * sizeof(int)));
  return static_cast<int*>(pointer);
}

inline int* pinned_ints(size_t count) {
  void* pointer = nullptr;
  EXPECT_OK(cudaHostAlloc(&pointer, count * sizeof(int), cudaHostAllocDefault));
  return static_cast<int*>(pointer);
}

inline cudaStream_t new_stream(unsigned flags = cudaStreamNonBlocking) {
  cudaStream_t stream = nullptr;
  EXPECT_OK(cudaStreamCreateWithFlags(&stream, flags));
  return stream;
}

inline cudaEvent_t new_event(unsigned flags = cudaEventDisableTiming) {
  cudaEvent_t event = nullptr;
  EXPECT_OK(cudaEventCreateWithFlags(&event, flags));
  return event;
}

// *to = *from + 1.
inline void next_kernel(int* to, const int* from) {
  if (simt::thread_index.x == 0) *to = *from + 1;
}
inline cudaError_t launch_next(int* to, const int* from, cudaStream_t stream) {
  simt::declare("next", next_kernel);
  void* arguments[] = {&to, &from};
  return cudaLaunchKernel(reinterpret_cast<const void*>(next_kernel), dim3(1), dim3(1), arguments, 0, stream);
}

// Where all is waited for.
inline int value_of(const int* pointer) {
  int value = 0;
  EXPECT_OK(cudaDeviceSynchronize());
  EXPECT_OK(cudaMemcpy(&value, pointer, sizeof value, cudaMemcpyDeviceToHost));
  return value;
}

}  // namespace cuda_standin
