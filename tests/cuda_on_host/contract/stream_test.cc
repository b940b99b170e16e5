// Streams, events and the order that they make.
#include "tests/cuda_on_host/contract/contract.h"
#include "tests/cuda_on_host/contract/kernels.h"

namespace {

using contract::append;
using contract::Gate;

KD_CONTRACT(CudaStream);

TEST_P(CudaStream, KeepsWhatItWasMadeWith) {
  int least = 0, greatest = 0;
  ASSERT_OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  for (int priority : {least, greatest, greatest - 10, least + 10}) {
    cudaStream_t stream = nullptr;
    ASSERT_OK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, priority));
    int kept = 99, device = -1;
    unsigned flags = 0;
    EXPECT_OK(cudaStreamGetPriority(stream, &kept));
    EXPECT_EQ(kept, std::min(std::max(priority, greatest), least));  // clamped
    EXPECT_OK(cudaStreamGetFlags(stream, &flags));
    EXPECT_EQ(flags, static_cast<unsigned>(cudaStreamNonBlocking));
    EXPECT_OK(cudaStreamGetDevice(stream, &device));
    EXPECT_EQ(device, 0);
    EXPECT_OK(cudaStreamDestroy(stream));
  }
  cudaStream_t stream = nullptr;
  EXPECT_CUDA(cudaErrorInvalidValue, cudaStreamCreateWithFlags(&stream, 0x40));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaGetLastError());
}

TEST_P(CudaStream, IdsDiffer) {
  cudaStream_t a = new_stream(), b = new_stream();
  std::vector<unsigned long long> ids;
  for (cudaStream_t stream : {a, b, cudaStream_t{nullptr}, cudaStreamPerThread}) {
    unsigned long long id = 0;
    EXPECT_OK(cudaStreamGetId(stream, &id));
    for (unsigned long long other : ids) EXPECT_NE(other, id);
    ids.push_back(id);
  }
  unsigned long long legacy = 0;
  EXPECT_OK(cudaStreamGetId(cudaStreamLegacy, &legacy));
  EXPECT_EQ(legacy, ids[2]);
  EXPECT_OK(cudaStreamDestroy(a));
  EXPECT_OK(cudaStreamDestroy(b));
}

TEST_P(CudaStream, RunsItsWorkInOrder) {
  int* a = device_ints(1);
  cudaStream_t stream = new_stream();
  EXPECT_OK(cudaMemsetAsync(a, 0, 4, stream));
  for (int digit = 1; digit <= 7; ++digit) EXPECT_OK(append(a, digit, stream));
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_OK(cudaStreamQuery(stream));
  EXPECT_EQ(contents(a, 1), std::vector<int>{1234567});
  EXPECT_OK(cudaStreamDestroy(stream));
  EXPECT_OK(cudaFree(a));
}

TEST_P(CudaStream, IsNotReadyBeforeItsWorkIsDone) {
  cudaStream_t stream = new_stream(), other = new_stream();
  {
    Gate gate(stream);
    EXPECT_CUDA(cudaErrorNotReady, cudaStreamQuery(stream));
    EXPECT_OK(cudaStreamQuery(other));
    EXPECT_OK(cudaStreamSynchronize(other));
  }
  cudaError_t status = cudaErrorNotReady;
  while (status == cudaErrorNotReady) status = cudaStreamQuery(stream);
  EXPECT_EQ(status, cudaSuccess);
  (void)cudaGetLastError();
  EXPECT_OK(cudaStreamDestroy(stream));
  EXPECT_OK(cudaStreamDestroy(other));
}

TEST_P(CudaStream, TheLegacyStreamWaitsForBlockingOnesAndTheyForIt) {
  int* a = device_ints(1);
  cudaStream_t blocking = new_stream(cudaStreamDefault), another = new_stream(cudaStreamDefault), apart = new_stream();
  EXPECT_OK(cudaMemset(a, 0, 4));
  EXPECT_OK(append(a, 1, blocking));
  EXPECT_OK(append(a, 2, nullptr));
  EXPECT_OK(append(a, 3, another));
  EXPECT_OK(append(a, 4, cudaStreamLegacy));
  EXPECT_OK(append(a, 5, cudaStreamPerThread));
  EXPECT_OK(append(a, 6, nullptr));
  EXPECT_OK(append(a, 7, blocking));
  EXPECT_EQ(contents(a, 1), std::vector<int>{1234567});
  {
    Gate gate(blocking);
    EXPECT_OK(append(a, 8, nullptr));
    EXPECT_CUDA(cudaErrorNotReady, cudaStreamQuery(nullptr));
    EXPECT_OK(append(a, 9, another));
    EXPECT_CUDA(cudaErrorNotReady, cudaStreamQuery(another));
  }
  EXPECT_OK(cudaStreamSynchronize(another));
  {
    Gate gate(apart);  // which has nothing to do with them
    EXPECT_OK(cudaMemsetAsync(a, 0, 4, nullptr));
    EXPECT_OK(append(a, 3, blocking));
    EXPECT_OK(cudaStreamSynchronize(nullptr));
    EXPECT_OK(cudaStreamSynchronize(blocking));
  }
  EXPECT_EQ(contents(a, 1), std::vector<int>{3});
  (void)cudaGetLastError();
  for (cudaStream_t stream : {blocking, another, apart}) EXPECT_OK(cudaStreamDestroy(stream));
  EXPECT_OK(cudaFree(a));
}

TEST_P(CudaStream, DestroyedWithWorkPendingFinishesIt) {
  int* a = device_ints(1);
  cudaStream_t stream = new_stream();
  EXPECT_OK(cudaMemsetAsync(a, 0, 4, stream));
  {
    Gate gate(stream);
    EXPECT_OK(append(a, 6, stream));
    EXPECT_OK(cudaStreamDestroy(stream));
  }
  EXPECT_EQ(contents(a, 1), std::vector<int>{6});
  EXPECT_OK(cudaFree(a));
}

TEST_P(CudaStream, ADeviceWaitsForAllItsStreams) {
  int* pinned = pinned_ints(4);
  std::vector<cudaStream_t> streams;
  int* a = device_ints(4);
  for (int i = 0; i < 4; ++i) {
    streams.push_back(new_stream(i % 2 ? cudaStreamNonBlocking : cudaStreamDefault));
    EXPECT_OK(contract::set(a + i, i + 1, 1, streams.back()));
    EXPECT_OK(cudaMemcpyAsync(pinned + i, a + i, 4, cudaMemcpyDeviceToHost, streams.back()));
  }
  EXPECT_OK(cudaDeviceSynchronize());
  for (int i = 0; i < 4; ++i) EXPECT_EQ(pinned[i], i + 1);
  for (cudaStream_t stream : streams) EXPECT_OK(cudaStreamDestroy(stream));
  EXPECT_OK(cudaFree(a));
  EXPECT_OK(cudaFreeHost(pinned));
}

TEST_P(CudaStream, HostFunctionsRunInItsTurn) {
  int *a = device_ints(1), *pinned = pinned_ints(2);
  cudaStream_t stream = new_stream();
  EXPECT_OK(contract::set(a, 20, 1, stream));
  EXPECT_OK(cudaMemcpyAsync(pinned, a, 4, cudaMemcpyDeviceToHost, stream));
  EXPECT_OK(cudaLaunchHostFunc(
      stream,
      [](void* data) {
        auto* const both = static_cast<int*>(data);
        both[1] = both[0] + 1;
      },
      pinned));
  EXPECT_OK(cudaMemcpyAsync(a, pinned + 1, 4, cudaMemcpyHostToDevice, stream));
  EXPECT_EQ(contents(a, 1), std::vector<int>{21});
  EXPECT_OK(cudaStreamDestroy(stream));
  EXPECT_OK(cudaFree(a));
  EXPECT_OK(cudaFreeHost(pinned));
}

TEST_P(CudaStream, OfOneThreadOnlyIsAnotherInEach) {
  unsigned long long here = 0, there = 0;
  EXPECT_OK(cudaStreamGetId(cudaStreamPerThread, &here));
  std::thread([&] { EXPECT_OK(cudaStreamGetId(cudaStreamPerThread, &there)); }).join();
  EXPECT_NE(here, there);
}

TEST_P(CudaStream, ManyThreadsUseTheirOwn) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      int* a = device_ints(1);
      cudaStream_t stream = new_stream();
      EXPECT_OK(cudaMemsetAsync(a, 0, 4, stream));
      for (int i = 0; i < 20; ++i) EXPECT_OK(append(a, 0, stream));
      EXPECT_OK(append(a, t + 1, stream));
      int value = 0;
      EXPECT_OK(cudaMemcpyAsync(&value, a, 4, cudaMemcpyDeviceToHost, stream));
      EXPECT_OK(cudaStreamSynchronize(stream));
      EXPECT_EQ(value, t + 1);
      EXPECT_OK(cudaStreamDestroy(stream));
      EXPECT_OK(cudaFree(a));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// --- events ---

TEST_P(CudaStream, AnEventThatWasNotRecordedIsDone) {
  cudaEvent_t event = new_event();
  cudaStream_t stream = new_stream();
  EXPECT_OK(cudaEventQuery(event));
  EXPECT_OK(cudaEventSynchronize(event));
  EXPECT_OK(cudaStreamWaitEvent(stream, event, 0));
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_OK(cudaStreamDestroy(stream));
  EXPECT_OK(cudaEventDestroy(event));
}

TEST_P(CudaStream, AnEventIsDoneWithTheWorkBeforeIt) {
  cudaStream_t stream = new_stream();
  cudaEvent_t event = new_event();
  Gate gate(stream);
  EXPECT_OK(cudaEventRecord(event, stream));
  EXPECT_CUDA(cudaErrorNotReady, cudaEventQuery(event));
  gate.open();
  EXPECT_OK(cudaEventSynchronize(event));
  EXPECT_OK(cudaEventQuery(event));
  {
    Gate later(stream);
    EXPECT_OK(cudaEventQuery(event));  // work behind it does not matter
  }
  (void)cudaGetLastError();
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_OK(cudaStreamDestroy(stream));
  EXPECT_OK(cudaEventDestroy(event));
}

TEST_P(CudaStream, WaitsForWhatTheEventWasRecordedBehindThen) {
  int* a = device_ints(1);
  cudaStream_t first = new_stream(), second = new_stream();
  cudaEvent_t event = new_event();
  EXPECT_OK(cudaMemsetAsync(a, 0, 4, first));
  Gate gate(first);
  EXPECT_OK(append(a, 1, first));
  EXPECT_OK(cudaEventRecord(event, first));
  EXPECT_OK(cudaStreamWaitEvent(second, event, 0));
  Gate late(first);
  EXPECT_OK(cudaEventRecord(event, first));  // for later waits only
  EXPECT_OK(append(a, 2, second));
  EXPECT_CUDA(cudaErrorNotReady, cudaStreamQuery(second));
  gate.open();
  EXPECT_OK(cudaStreamSynchronize(second));
  EXPECT_CUDA(cudaErrorNotReady, cudaEventQuery(event));
  late.open();
  EXPECT_EQ(contents(a, 1), std::vector<int>{12});
  (void)cudaGetLastError();
  EXPECT_OK(cudaStreamDestroy(first));
  EXPECT_OK(cudaStreamDestroy(second));
  EXPECT_OK(cudaEventDestroy(event));
  EXPECT_OK(cudaFree(a));
}

TEST_P(CudaStream, AnEventMayBeDestroyedWhileItIsWaitedFor) {
  int* a = device_ints(1);
  cudaStream_t first = new_stream(), second = new_stream();
  cudaEvent_t event = new_event(cudaEventDefault);
  EXPECT_OK(cudaMemsetAsync(a, 0, 4, first));
  {
    Gate gate(first);
    EXPECT_OK(append(a, 1, first));
    EXPECT_OK(cudaEventRecord(event, first));
    EXPECT_OK(cudaStreamWaitEvent(second, event, 0));
    EXPECT_OK(cudaEventDestroy(event));
    EXPECT_OK(append(a, 2, second));
  }
  EXPECT_EQ(contents(a, 1), std::vector<int>{12});
  EXPECT_OK(cudaStreamDestroy(first));
  EXPECT_OK(cudaStreamDestroy(second));
  EXPECT_OK(cudaFree(a));
}

TEST_P(CudaStream, EventsMeasureTime) {
  cudaStream_t stream = new_stream();
  cudaEvent_t start = new_event(cudaEventDefault), end = new_event(cudaEventDefault), untimed = new_event();
  float milliseconds = -1;
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&milliseconds, start, end));  // not recorded
  EXPECT_OK(cudaEventRecord(start, stream));
  Gate gate(stream);
  EXPECT_OK(cudaEventRecord(end, stream));
  EXPECT_OK(cudaEventRecord(untimed, stream));
  EXPECT_CUDA(cudaErrorNotReady, cudaEventElapsedTime(&milliseconds, start, end));
  gate.open();
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_OK(cudaEventElapsedTime(&milliseconds, start, end));
  EXPECT_GT(milliseconds, 0.0f);
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&milliseconds, start, untimed));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaGetLastError());
  for (cudaEvent_t event : {start, end, untimed}) EXPECT_OK(cudaEventDestroy(event));
  EXPECT_OK(cudaStreamDestroy(stream));
}

TEST_P(CudaStream, FlagsOfEventsAreChecked) {
  cudaEvent_t event = nullptr;
  EXPECT_CUDA(cudaErrorInvalidValue, cudaEventCreateWithFlags(&event, cudaEventInterprocess));  // without DisableTiming
  EXPECT_CUDA(cudaErrorInvalidValue, cudaEventCreateWithFlags(&event, 0x100));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaGetLastError());
}

TEST_P(CudaStream, EventsOfAnotherDeviceCanBeWaitedForButNotRecorded) {
  if (devices_ < 2) GTEST_SKIP() << "one CUDA device";
  cudaStream_t here = new_stream();
  cudaEvent_t event = new_event();
  int* a = device_ints(1);
  ASSERT_OK(cudaSetDevice(1));
  cudaStream_t there = new_stream();
  int* b = device_ints(1);
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaEventRecord(event, there));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaGetLastError());
  ASSERT_OK(cudaSetDevice(0));
  {
    Gate gate(here);
    EXPECT_OK(contract::set(a, 9, 1, here));
    EXPECT_OK(cudaEventRecord(event, here));
    ASSERT_OK(cudaSetDevice(1));
    EXPECT_OK(cudaStreamWaitEvent(there, event, 0));
    EXPECT_OK(cudaMemcpyPeerAsync(b, 1, a, 0, 4, there));
    EXPECT_CUDA(cudaErrorNotReady, cudaStreamQuery(there));
  }
  (void)cudaGetLastError();
  EXPECT_OK(cudaStreamSynchronize(there));
  EXPECT_EQ(contents(b, 1), std::vector<int>{9});
  EXPECT_OK(cudaEventSynchronize(event));
  for (cudaStream_t stream : {here, there}) EXPECT_OK(cudaStreamDestroy(stream));
  EXPECT_OK(cudaEventDestroy(event));
  EXPECT_OK(cudaFree(a));
  EXPECT_OK(cudaFree(b));
}

}  // namespace
