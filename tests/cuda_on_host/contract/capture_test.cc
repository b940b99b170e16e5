// What may be done while a stream is captured, and what it is answered with.
#include "tests/cuda_on_host/contract/contract.h"
#include "tests/cuda_on_host/contract/kernels.h"

namespace {

using contract::append;

KD_CONTRACT(CudaCapture);

constexpr cudaStreamCaptureMode kGlobal = cudaStreamCaptureModeGlobal, kThreadLocal = cudaStreamCaptureModeThreadLocal,
                                kRelaxed = cudaStreamCaptureModeRelaxed;

cudaStreamCaptureStatus status_of(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusInvalidated;
  EXPECT_OK(cudaStreamIsCapturing(stream, &status));
  return status;
}

// Ends a capture that was invalidated.
void expect_invalidated(cudaStream_t stream) {
  EXPECT_EQ(status_of(stream), cudaStreamCaptureStatusInvalidated);
  cudaGraph_t graph = reinterpret_cast<cudaGraph_t>(1);
  EXPECT_CUDA(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(status_of(stream), cudaStreamCaptureStatusNone);
  (void)cudaGetLastError();
}

void expect_good_end(cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  EXPECT_OK(cudaStreamEndCapture(stream, &graph));
  EXPECT_NE(graph, nullptr);
  EXPECT_OK(cudaGraphDestroy(graph));
}

TEST_P(CudaCapture, BeginsAndEnds) {
  cudaStream_t stream = new_stream();
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(status_of(stream), cudaStreamCaptureStatusNone);
  EXPECT_CUDA(cudaErrorIllegalState, cudaStreamEndCapture(stream, &graph));
  ASSERT_OK(cudaStreamBeginCapture(stream, kGlobal));
  EXPECT_EQ(status_of(stream), cudaStreamCaptureStatusActive);
  EXPECT_CUDA(cudaErrorIllegalState, cudaStreamBeginCapture(stream, kGlobal));
  EXPECT_EQ(status_of(stream), cudaStreamCaptureStatusActive);
  expect_good_end(stream);
  EXPECT_CUDA(cudaErrorStreamCaptureUnsupported, cudaStreamBeginCapture(cudaStreamLegacy, kGlobal));
  EXPECT_CUDA(cudaErrorStreamCaptureUnsupported, cudaStreamBeginCapture(nullptr, kGlobal));
  ASSERT_OK(cudaStreamBeginCapture(cudaStreamPerThread, kRelaxed));
  expect_good_end(cudaStreamPerThread);
  (void)cudaGetLastError();
  EXPECT_OK(cudaStreamDestroy(stream));
}

TEST_P(CudaCapture, NothingRuns) {
  int* a = device_ints(1);
  cudaStream_t stream = new_stream();
  EXPECT_OK(contract::set(a, 1, 1, stream));
  EXPECT_OK(cudaStreamSynchronize(stream));
  ASSERT_OK(cudaStreamBeginCapture(stream, kGlobal));
  EXPECT_OK(contract::set(a, 2, 1, stream));
  EXPECT_OK(cudaMemsetAsync(a, 0, 4, stream));
  expect_good_end(stream);
  EXPECT_EQ(contents(a, 1), std::vector<int>{1});
  EXPECT_OK(cudaStreamDestroy(stream));
  EXPECT_OK(cudaFree(a));
}

TEST_P(CudaCapture, AStreamCannotBeWaitedForOrAsked) {
  cudaStream_t stream = new_stream();
  for (int call = 0; call < 3; ++call) {
    ASSERT_OK(cudaStreamBeginCapture(stream, kRelaxed));
    if (call == 0) EXPECT_CUDA(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(stream));
    if (call == 1) EXPECT_CUDA(cudaErrorStreamCaptureUnsupported, cudaStreamQuery(stream));
    if (call == 2) EXPECT_CUDA(cudaErrorStreamCaptureUnsupported, cudaDeviceSynchronize());
    expect_invalidated(stream);
  }
  EXPECT_OK(cudaStreamDestroy(stream));
}

TEST_P(CudaCapture, AfterAnErrorNothingIsCaptured) {
  int* a = device_ints(1);
  cudaStream_t stream = new_stream();
  ASSERT_OK(cudaStreamBeginCapture(stream, kRelaxed));
  EXPECT_CUDA(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(stream));
  EXPECT_CUDA(cudaErrorStreamCaptureInvalidated, contract::set(a, 2, 1, stream));
  EXPECT_CUDA(cudaErrorStreamCaptureInvalidated, cudaMemsetAsync(a, 0, 4, stream));
  expect_invalidated(stream);
  EXPECT_OK(contract::set(a, 3, 1, stream));
  EXPECT_EQ(contents(a, 1), std::vector<int>{3});
  EXPECT_OK(cudaStreamDestroy(stream));
  EXPECT_OK(cudaFree(a));
}

TEST_P(CudaCapture, ACapturedEventCannotBeWaitedForOrAsked) {
  cudaStream_t stream = new_stream();
  cudaEvent_t event = new_event(cudaEventDefault);
  float time = 0;
  for (int call = 0; call < 3; ++call) {
    ASSERT_OK(cudaStreamBeginCapture(stream, kRelaxed));
    EXPECT_OK(cudaEventRecord(event, stream));
    if (call == 0) EXPECT_CUDA(cudaErrorCapturedEvent, cudaEventQuery(event));
    if (call == 1) EXPECT_CUDA(cudaErrorCapturedEvent, cudaEventSynchronize(event));
    if (call == 2) EXPECT_CUDA(cudaErrorCapturedEvent, cudaEventElapsedTime(&time, event, event));
    expect_invalidated(stream);
  }
  EXPECT_CUDA(cudaErrorCapturedEvent, cudaEventQuery(event));  // nor when the capture is over
  EXPECT_OK(cudaEventRecord(event, stream));
  EXPECT_OK(cudaEventSynchronize(event));
  (void)cudaGetLastError();
  EXPECT_OK(cudaEventDestroy(event));
  EXPECT_OK(cudaStreamDestroy(stream));
}

TEST_P(CudaCapture, UnsafeCallsDependOnModes) {
  struct Case {
    cudaStreamCaptureMode capture, here, there;  // the capture's, the capturing thread's, another thread's
    bool allowed_here, allowed_there;
  };
  const Case cases[] = {
      {kGlobal, kGlobal, kGlobal, false, false},          {kGlobal, kRelaxed, kRelaxed, true, true},
      {kGlobal, kThreadLocal, kThreadLocal, false, true}, {kThreadLocal, kGlobal, kGlobal, false, true},
      {kThreadLocal, kRelaxed, kGlobal, true, true},      {kRelaxed, kGlobal, kGlobal, true, true},
      {kRelaxed, kThreadLocal, kThreadLocal, true, true},
  };
  cudaStream_t stream = new_stream();
  const auto allocate = [](cudaStreamCaptureMode mode, bool allowed) {
    EXPECT_OK(cudaThreadExchangeStreamCaptureMode(&mode));
    void* pointer = nullptr;
    const cudaError_t status = cudaMalloc(&pointer, 64);
    EXPECT_EQ(status, allowed ? cudaSuccess : cudaErrorStreamCaptureUnsupported);
    (void)cudaGetLastError();
    EXPECT_OK(cudaThreadExchangeStreamCaptureMode(&mode));
    return pointer;
  };
  for (const Case& one : cases) {
    for (bool other_thread : {false, true}) {
      ASSERT_OK(cudaStreamBeginCapture(stream, one.capture));
      void* pointer = nullptr;
      const bool allowed = other_thread ? one.allowed_there : one.allowed_here;
      if (other_thread) {
        std::thread([&] { pointer = allocate(one.there, allowed); }).join();
      } else {
        pointer = allocate(one.here, allowed);
      }
      if (allowed) {
        expect_good_end(stream);
      } else {
        expect_invalidated(stream);
      }
      EXPECT_OK(cudaFree(pointer));
    }
  }
  EXPECT_OK(cudaStreamDestroy(stream));
}

TEST_P(CudaCapture, ModesAreExchanged) {
  cudaStreamCaptureMode mode = kRelaxed;
  EXPECT_OK(cudaThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(mode, kGlobal);
  std::thread([] {
    cudaStreamCaptureMode other = kThreadLocal;
    EXPECT_OK(cudaThreadExchangeStreamCaptureMode(&other));
    EXPECT_EQ(other, kGlobal);
  }).join();
  EXPECT_OK(cudaThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(mode, kRelaxed);
}

TEST_P(CudaCapture, TheLegacyStreamCannotBeUsedBesideABlockingOne) {
  int* a = device_ints(1);
  cudaStream_t blocking = new_stream(cudaStreamDefault), apart = new_stream();
  cudaStreamCaptureStatus status;
  ASSERT_OK(cudaStreamBeginCapture(blocking, kRelaxed));
  EXPECT_CUDA(cudaErrorStreamCaptureImplicit, cudaStreamIsCapturing(nullptr, &status));
  EXPECT_CUDA(cudaErrorStreamCaptureImplicit,
              cudaStreamGetCaptureInfo(cudaStreamLegacy, &status, nullptr, nullptr, nullptr, nullptr, nullptr));
  EXPECT_EQ(status_of(blocking), cudaStreamCaptureStatusActive);
  EXPECT_CUDA(cudaErrorStreamCaptureImplicit, cudaMemsetAsync(a, 0, 4, nullptr));
  expect_invalidated(blocking);
  ASSERT_OK(cudaStreamBeginCapture(blocking, kRelaxed));
  EXPECT_CUDA(cudaErrorStreamCaptureImplicit, contract::set(a, 1, 1, nullptr));
  expect_invalidated(blocking);
  ASSERT_OK(cudaStreamBeginCapture(apart, kRelaxed));  // which the legacy stream does not know
  EXPECT_OK(contract::set(a, 5, 1, nullptr));
  EXPECT_EQ(status_of(nullptr), cudaStreamCaptureStatusNone);
  expect_good_end(apart);
  EXPECT_EQ(contents(a, 1), std::vector<int>{5});
  EXPECT_OK(cudaStreamDestroy(blocking));
  EXPECT_OK(cudaStreamDestroy(apart));
  EXPECT_OK(cudaFree(a));
}

TEST_P(CudaCapture, SpreadsOverEventsAndMustComeBack) {
  int* a = device_ints(2);
  cudaStream_t origin = new_stream(), other = new_stream();
  cudaEvent_t fork = new_event(), join = new_event();
  for (bool joined : {false, true}) {
    ASSERT_OK(cudaStreamBeginCapture(origin, kGlobal));
    EXPECT_OK(cudaMemsetAsync(a, 0, 8, origin));
    EXPECT_OK(cudaEventRecord(fork, origin));
    EXPECT_EQ(status_of(other), cudaStreamCaptureStatusNone);
    EXPECT_OK(cudaStreamWaitEvent(other, fork, 0));
    EXPECT_EQ(status_of(other), cudaStreamCaptureStatusActive);
    EXPECT_OK(contract::set(a + 1, 4, 1, other));
    cudaGraph_t graph = reinterpret_cast<cudaGraph_t>(1);
    if (joined) {
      EXPECT_OK(cudaEventRecord(join, other));
      EXPECT_OK(cudaStreamWaitEvent(origin, join, 0));
      EXPECT_OK(cudaStreamEndCapture(origin, &graph));
      EXPECT_OK(cudaGraphDestroy(graph));
    } else {
      EXPECT_CUDA(cudaErrorStreamCaptureUnjoined, cudaStreamEndCapture(origin, &graph));
      EXPECT_EQ(graph, nullptr);
    }
    EXPECT_EQ(status_of(origin), cudaStreamCaptureStatusNone);
    EXPECT_EQ(status_of(other), cudaStreamCaptureStatusNone);
  }
  ASSERT_OK(cudaStreamBeginCapture(origin, kGlobal));
  EXPECT_OK(cudaEventRecord(fork, origin));
  EXPECT_OK(cudaStreamWaitEvent(other, fork, 0));
  cudaGraph_t graph = nullptr;
  EXPECT_CUDA(cudaErrorStreamCaptureUnmatched, cudaStreamEndCapture(other, &graph));  // it did not begin there
  expect_invalidated(origin);
  for (cudaStream_t stream : {origin, other}) EXPECT_OK(cudaStreamDestroy(stream));
  for (cudaEvent_t event : {fork, join}) EXPECT_OK(cudaEventDestroy(event));
  EXPECT_OK(cudaFree(a));
}

TEST_P(CudaCapture, KeepsApartFromOtherWorkAndOtherCaptures) {
  cudaStream_t one = new_stream(), two = new_stream();
  cudaEvent_t event = new_event();
  EXPECT_OK(cudaEventRecord(event, two));
  ASSERT_OK(cudaStreamBeginCapture(one, kRelaxed));
  EXPECT_CUDA(cudaErrorStreamCaptureIsolation, cudaStreamWaitEvent(one, event, 0));
  expect_invalidated(one);
  ASSERT_OK(cudaStreamBeginCapture(one, kRelaxed));
  ASSERT_OK(cudaStreamBeginCapture(two, kRelaxed));
  EXPECT_OK(cudaEventRecord(event, two));
  EXPECT_CUDA(cudaErrorStreamCaptureMerge, cudaStreamWaitEvent(one, event, 0));
  EXPECT_EQ(status_of(one), cudaStreamCaptureStatusInvalidated);
  cudaGraph_t graph = nullptr;
  EXPECT_CUDA(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(one, &graph));
  if (cudaStreamEndCapture(two, &graph) == cudaSuccess) EXPECT_OK(cudaGraphDestroy(graph));
  (void)cudaGetLastError();
  for (cudaStream_t stream : {one, two}) EXPECT_OK(cudaStreamDestroy(stream));
  EXPECT_OK(cudaEventDestroy(event));
}

TEST_P(CudaCapture, EndsInTheThreadThatBeganIt) {
  cudaStream_t stream = new_stream();
  ASSERT_OK(cudaStreamBeginCapture(stream, kThreadLocal));
  std::thread([&] {
    cudaGraph_t graph = nullptr;
    EXPECT_CUDA(cudaErrorStreamCaptureWrongThread, cudaStreamEndCapture(stream, &graph));
  }).join();
  cudaGraph_t graph = nullptr;
  if (cudaStreamEndCapture(stream, &graph) == cudaSuccess) EXPECT_OK(cudaGraphDestroy(graph));
  ASSERT_OK(cudaStreamBeginCapture(stream, kRelaxed));
  std::thread([&] { expect_good_end(stream); }).join();
  (void)cudaGetLastError();
  EXPECT_OK(cudaStreamDestroy(stream));
}

TEST_P(CudaCapture, CanBeAskedAbout) {
  int* a = device_ints(1);
  cudaStream_t stream = new_stream();
  cudaStreamCaptureStatus status;
  unsigned long long id = 0, next_id = 0;
  cudaGraph_t graph = nullptr, captured = nullptr;
  const cudaGraphNode_t* nodes = nullptr;
  size_t count = 99;
  EXPECT_OK(cudaStreamGetCaptureInfo(stream, &status, &id, &graph, &nodes, nullptr, &count));
  EXPECT_EQ(status, cudaStreamCaptureStatusNone);
  EXPECT_CUDA(cudaErrorIllegalState,
              cudaStreamUpdateCaptureDependencies(stream, nullptr, nullptr, 0, cudaStreamSetCaptureDependencies));
  ASSERT_OK(cudaStreamBeginCapture(stream, kGlobal));
  EXPECT_OK(cudaStreamGetCaptureInfo(stream, &status, &id, &graph, &nodes, nullptr, &count));
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  EXPECT_EQ(count, 0u);
  EXPECT_OK(contract::set(a, 1, 1, stream));
  EXPECT_OK(cudaStreamGetCaptureInfo(stream, &status, &next_id, &graph, &nodes, nullptr, &count));
  EXPECT_EQ(next_id, id);
  ASSERT_EQ(count, 1u);
  cudaGraphNode_t first = nodes[0];
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  EXPECT_OK(cudaGraphNodeGetType(first, &type));
  EXPECT_EQ(type, cudaGraphNodeTypeKernel);
  EXPECT_OK(contract::set(a, 2, 1, stream));
  EXPECT_OK(cudaStreamUpdateCaptureDependencies(stream, &first, nullptr, 1, cudaStreamSetCaptureDependencies));
  EXPECT_OK(contract::set(a, 3, 1, stream));
  EXPECT_OK(cudaStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &nodes, nullptr, &count));
  ASSERT_EQ(count, 1u);
  cudaGraphNode_t third = nodes[0], before = nullptr;
  size_t edges = 1;
  EXPECT_OK(cudaGraphNodeGetDependencies(third, &before, nullptr, &edges));
  EXPECT_EQ(edges, 1u);
  EXPECT_EQ(before, first);
  EXPECT_OK(cudaStreamUpdateCaptureDependencies(stream, &first, nullptr, 1, cudaStreamAddCaptureDependencies));
  EXPECT_OK(cudaStreamGetCaptureInfo(stream, &status, nullptr, nullptr, nullptr, nullptr, &count));
  EXPECT_EQ(count, 2u);
  EXPECT_OK(cudaStreamEndCapture(stream, &captured));  // what was taken from the set need not be joined
  EXPECT_EQ(captured, graph);
  EXPECT_OK(cudaGraphDestroy(captured));
  ASSERT_OK(cudaStreamBeginCapture(stream, kGlobal));
  EXPECT_OK(cudaStreamGetCaptureInfo(stream, &status, &next_id, nullptr, nullptr, nullptr, nullptr));
  EXPECT_NE(next_id, id);
  expect_good_end(stream);
  (void)cudaGetLastError();
  EXPECT_OK(cudaStreamDestroy(stream));
  EXPECT_OK(cudaFree(a));
}

TEST_P(CudaCapture, EventsAreMadeAndDestroyedMeanwhile) {
  cudaStream_t stream = new_stream();
  ASSERT_OK(cudaStreamBeginCapture(stream, kGlobal));
  cudaEvent_t event = new_event();
  EXPECT_OK(cudaEventRecord(event, stream));
  EXPECT_OK(cudaEventDestroy(event));
  int device = -1;
  EXPECT_OK(cudaGetDevice(&device));
  EXPECT_OK(cudaSetDevice(device));
  expect_good_end(stream);
  EXPECT_OK(cudaStreamDestroy(stream));
}

}  // namespace
