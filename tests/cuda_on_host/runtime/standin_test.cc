// What only the stand-in promises: when work runs, and what it says of it.
#include <cuda.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "tests/cuda_on_host/runtime/test_util.h"

namespace cuda_standin {
namespace {

TEST(Standin, EagerWorkRunsAtOnce) {
  reset({.execution = Execution::kEager});
  int *a = device_ints(1), *pinned = pinned_ints(1);
  cudaStream_t stream = new_stream();
  pinned[0] = 5;
  EXPECT_OK(cudaMemsetAsync(a, 0, 4, stream));
  EXPECT_OK(cudaMemcpyAsync(pinned, a, 4, cudaMemcpyDeviceToHost, stream));
  EXPECT_EQ(pending_work(), 0u);
  EXPECT_EQ(pinned[0], 0);
}

TEST(Standin, LazyWorkRunsWhenItIsWaitedForAndNoOther) {
  reset();
  int *a = device_ints(2), *pinned = pinned_ints(2);
  cudaStream_t one = new_stream(), two = new_stream();
  cudaEvent_t event = new_event();
  pinned[0] = pinned[1] = 5;
  EXPECT_OK(cudaMemsetAsync(a, 0, 8, one));
  EXPECT_OK(cudaEventRecord(event, one));
  EXPECT_OK(cudaMemcpyAsync(pinned, a, 4, cudaMemcpyDeviceToHost, one));
  EXPECT_OK(cudaStreamWaitEvent(two, event, 0));
  EXPECT_OK(cudaMemcpyAsync(pinned + 1, a + 1, 4, cudaMemcpyDeviceToHost, two));
  EXPECT_EQ(pending_work(), 5u);
  EXPECT_EQ(pinned[0], 5);
  EXPECT_EQ(pinned[1], 5);
  EXPECT_OK(cudaStreamSynchronize(two));
  EXPECT_EQ(pinned[1], 0);
  EXPECT_EQ(pinned[0], 5);  // nothing that was waited for needs it
  EXPECT_EQ(pending_work(), 1u);
  EXPECT_OK(cudaStreamSynchronize(one));
  EXPECT_EQ(pinned[0], 0);
}

TEST(Standin, RandomWorkRunsInManyOrders) {
  std::set<int> results;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    reset({.execution = Execution::kRandom, .seed = seed});
    int *a = device_ints(1), *b = device_ints(1);
    cudaStream_t one = new_stream(), two = new_stream();
    EXPECT_OK(cudaMemset(a, 0, 4));
    EXPECT_OK(cudaDeviceSynchronize());
    EXPECT_OK(launch_next(a, a, one));
    EXPECT_OK(launch_next(b, a, two));  // no event between them
    results.insert(value_of(b));
  }
  EXPECT_EQ(results, (std::set<int>{1, 2}));
}

TEST(Standin, TheSameSeedMakesTheSameOrder) {
  const auto run = [](uint64_t seed) {
    reset({.execution = Execution::kRandom, .seed = seed});
    std::vector<cudaStream_t> streams;
    for (int i = 0; i < 3; ++i) streams.push_back(new_stream());
    std::vector<int> order;
    for (int i = 0; i < 12; ++i)
      EXPECT_OK(enqueue(streams[static_cast<size_t>(i % 3)], "note", [&order, i] { order.push_back(i); }));
    EXPECT_OK(cudaDeviceSynchronize());
    return order;
  };
  EXPECT_EQ(run(7), run(7));
  EXPECT_NE(run(7), run(8));
}

TEST(Standin, AskingOftenEnoughEndsWaiting) {
  for (Execution execution : {Execution::kEager, Execution::kLazy, Execution::kRandom}) {
    reset({.execution = execution});
    int* a = device_ints(1);
    cudaStream_t stream = new_stream();
    cudaEvent_t event = new_event();
    for (int i = 0; i < 5; ++i) EXPECT_OK(cudaMemsetAsync(a, i, 4, stream));
    EXPECT_OK(cudaLaunchHostFunc(
        stream, [](void*) {}, nullptr));
    EXPECT_OK(cudaMemsetAsync(a, 0, 4, stream));
    EXPECT_OK(cudaEventRecord(event, stream));
    while (cudaEventQuery(event) == cudaErrorNotReady) std::this_thread::yield();
    EXPECT_OK(cudaEventQuery(event));
    EXPECT_OK(cudaStreamQuery(stream));
    EXPECT_EQ(pending_work(), 0u);
  }
}

TEST(Standin, NotReadyIsALastErrorToo) {
  reset();
  EXPECT_OK(cudaMemsetAsync(device_ints(1), 0, 4, nullptr));
  cudaEvent_t event = new_event();
  EXPECT_OK(cudaEventRecord(event, nullptr));
  while (cudaEventQuery(event) == cudaErrorNotReady) {
  }
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotReady);
}

TEST(Standin, SynchronousCopiesWaitForNoMoreThanTheyPromise) {
  reset();
  int *a = device_ints(1), *b = device_ints(1), *pinned = pinned_ints(1);
  const int value = 3;
  EXPECT_OK(cudaMemset(a, 0, 4));
  EXPECT_OK(cudaMemcpy(a, &value, 4, cudaMemcpyHostToDevice));  // staged, when what is before it is done
  EXPECT_EQ(pending_work(), 1u);
  EXPECT_OK(cudaMemcpy(b, a, 4, cudaMemcpyDeviceToDevice));
  EXPECT_OK(cudaMemset(a, 0, 4));
  EXPECT_EQ(pending_work(), 3u);
  EXPECT_OK(cudaMemcpy(pinned, b, 4, cudaMemcpyDeviceToHost));
  EXPECT_EQ(pinned[0], 3);
  EXPECT_EQ(pending_work(), 0u);
  pinned[0] = 4;
  EXPECT_OK(cudaMemcpy(a, pinned, 4, cudaMemcpyHostToDevice));
  EXPECT_EQ(pending_work(), 0u);
  EXPECT_OK(cudaMemset(pinned, 0, 4));
  EXPECT_EQ(pinned[0], 0);
}

TEST(Standin, EachDeviceHasALegacyStreamOfItsOwn) {
  reset();
  cudaStream_t here = new_stream(cudaStreamDefault);
  std::vector<int> order;
  EXPECT_OK(enqueue(here, "here", [&] { order.push_back(0); }));
  EXPECT_OK(cudaSetDevice(1));
  EXPECT_OK(enqueue(nullptr, "there", [&] { order.push_back(1); }));
  EXPECT_OK(cudaStreamSynchronize(nullptr));
  EXPECT_EQ(order, std::vector<int>{1});
  EXPECT_OK(cudaSetDevice(0));
  EXPECT_OK(enqueue(nullptr, "legacy", [&] { order.push_back(2); }));
  EXPECT_OK(cudaStreamSynchronize(nullptr));
  EXPECT_EQ(order, (std::vector<int>{1, 0, 2}));
}

TEST(Standin, IndependentNodesOfAGraphRunInAnyOrder) {
  std::set<std::vector<int>> orders;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    reset({.seed = seed});
    cudaStream_t one = new_stream(), two = new_stream();
    cudaEvent_t fork = new_event(), join = new_event();
    std::vector<int> order;
    EXPECT_OK(cudaStreamBeginCapture(one, cudaStreamCaptureModeGlobal));
    EXPECT_OK(cudaEventRecord(fork, one));
    EXPECT_OK(cudaStreamWaitEvent(two, fork, 0));
    EXPECT_OK(enqueue(one, "one", [&] { order.push_back(1); }));
    EXPECT_OK(enqueue(two, "two", [&] { order.push_back(2); }));
    EXPECT_OK(cudaEventRecord(join, two));
    EXPECT_OK(cudaStreamWaitEvent(one, join, 0));
    EXPECT_OK(enqueue(one, "three", [&] { order.push_back(3); }));
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    EXPECT_OK(cudaStreamEndCapture(one, &graph));
    EXPECT_OK(cudaGraphInstantiate(&exec, graph, 0));
    EXPECT_OK(cudaGraphLaunch(exec, one));
    EXPECT_OK(cudaStreamSynchronize(one));
    ASSERT_EQ(order.size(), 3u);
    EXPECT_EQ(order[2], 3);
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 2u);
}

TEST(Standin, HostFunctionsHaveAThreadThatHoldsNothing) {
  for (Execution execution : {Execution::kEager, Execution::kLazy, Execution::kRandom}) {
    reset({.execution = execution});
    std::mutex mutex;
    std::thread::id thread;
    struct Both {
      std::mutex& mutex;
      std::thread::id& thread;
    } both{mutex, thread};
    {
      std::lock_guard lock(mutex);
      EXPECT_OK(cudaLaunchHostFunc(
          nullptr,
          [](void* data) {
            auto* const given = static_cast<Both*>(data);
            std::lock_guard inner(given->mutex);
            given->thread = std::this_thread::get_id();
          },
          &both));
      for (int i = 0; i < 20; ++i) (void)cudaStreamQuery(nullptr);
      EXPECT_OK(cudaFree(device_ints(0)));
    }
    EXPECT_OK(cudaDeviceSynchronize());
    EXPECT_NE(thread, std::this_thread::get_id());
    EXPECT_NE(thread, std::thread::id());
  }
}

TEST(Standin, TraceSaysWhatRan) {
  reset();
  int *a = device_ints(4), *b = device_ints(4);
  cudaStream_t stream = new_stream();
  EXPECT_OK(cudaMemsetAsync(a, 0, 16, stream));
  EXPECT_OK(launch_next(b, a, stream));
  EXPECT_OK(cudaMemcpyAsync(a, b, 4, cudaMemcpyDeviceToDevice, stream));
  EXPECT_OK(enqueue(stream, "gemm", [] {}));
  EXPECT_OK(cudaEventRecord(new_event(), stream));
  EXPECT_TRUE(trace().empty());
  EXPECT_OK(cudaStreamSynchronize(stream));
  const std::vector<Executed> ran = trace();
  ASSERT_EQ(ran.size(), 4u);
  EXPECT_EQ(ran[0].name, "cudaMemsetAsync");
  EXPECT_EQ(ran[0].kind, WorkKind::kSet);
  EXPECT_EQ(ran[0].bytes, 16u);
  EXPECT_EQ(ran[1].name, "next");
  EXPECT_EQ(ran[1].kind, WorkKind::kKernel);
  EXPECT_EQ(ran[2].kind, WorkKind::kCopy);
  EXPECT_EQ(ran[2].bytes, 4u);
  EXPECT_EQ(ran[3].name, "gemm");
  EXPECT_EQ(ran[3].kind, WorkKind::kLibrary);
  for (const Executed& one : ran) {
    EXPECT_EQ(one.stream, stream);
    EXPECT_FALSE(one.in_graph);
  }
  clear_trace();
  EXPECT_TRUE(trace().empty());
}

TEST(Standin, AFaultStaysAndEndsWhatFollows) {
  reset();
  int* a = device_ints(1);
  EXPECT_OK(enqueue(nullptr, "faulty", [] { throw simt::KernelFault("planted"); }));
  EXPECT_OK(cudaMemset(a, 0, 4));
  clear_trace();
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
  EXPECT_TRUE(trace().empty());
  void* pointer = nullptr;
  EXPECT_EQ(cudaMalloc(&pointer, 16), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
  EXPECT_MISUSE("planted");
  int device = 0;
  EXPECT_OK(cudaGetDevice(&device));
  reset();
  EXPECT_OK(cudaGetLastError());
  EXPECT_EQ(misuse(), "");
}

// --- the n-th call fails ---

// Uses a bit of everything; gives back what it took whatever happens. False where a call failed.
bool program() {
  void *a = nullptr, *b = nullptr, *pinned = nullptr;
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  const std::function<cudaError_t()> steps[] = {
      [&] { return cudaMalloc(&a, 100); },
      [&] { return cudaMallocAsync(&b, 100, nullptr); },
      [&] { return cudaHostAlloc(&pinned, 100, 0); },
      [&] { return cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking); },
      [&] { return cudaEventCreateWithFlags(&event, cudaEventDisableTiming); },
      [&] { return cudaMemsetAsync(a, 0, 100, stream); },
      [&] { return launch_next(static_cast<int*>(a), static_cast<int*>(a), stream); },
      [&] { return cudaEventRecord(event, stream); },
      [&] { return cudaStreamWaitEvent(nullptr, event, 0); },
      [&] { return cudaMemcpyAsync(pinned, a, 100, cudaMemcpyDeviceToHost, nullptr); },
      [&] { return cudaStreamSynchronize(nullptr); },
      [&] { return cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed); },
      [&] { return cudaMemsetAsync(a, 0, 100, stream); },
      [&] { return cudaStreamEndCapture(stream, &graph); },
      [&] { return cudaGraphInstantiate(&exec, graph, 0); },
      [&] { return cudaGraphLaunch(exec, stream); },
      [&] { return cudaDeviceSynchronize(); },
  };
  bool good = true;
  for (const auto& step : steps) {
    if (good && step() != cudaSuccess) good = false;
  }
  cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
  while (stream && cudaStreamIsCapturing(stream, &capturing) != cudaSuccess) good = false;
  while (capturing != cudaStreamCaptureStatusNone && cudaStreamEndCapture(stream, &graph) != cudaSuccess) good = false;
  const std::function<cudaError_t()> releases[] = {
      [&] { return exec ? cudaGraphExecDestroy(exec) : cudaSuccess; },
      [&] { return graph ? cudaGraphDestroy(graph) : cudaSuccess; },
      [&] { return event ? cudaEventDestroy(event) : cudaSuccess; },
      [&] { return stream ? cudaStreamDestroy(stream) : cudaSuccess; },
      [&] { return pinned ? cudaFreeHost(pinned) : cudaSuccess; },
      [&] { return b ? cudaFreeAsync(b, nullptr) : cudaSuccess; },
      [&] { return a ? cudaFree(a) : cudaSuccess; },
  };
  for (const auto& release : releases) good &= release() == cudaSuccess;
  return good;
}

TEST(Standin, AnyCallCanBeMadeToFail) {
  reset();
  ASSERT_TRUE(program());
  const uint64_t count = calls();
  EXPECT_GT(count, 20u);
  EXPECT_EQ(failed_call(), "");
  std::set<std::string> failed;
  for (uint64_t n = 0; n < count; ++n) {
    reset({.fail_call = static_cast<int64_t>(n), .fail_with = cudaErrorUnknown, .fail_releases = false});
    const bool good = program();
    EXPECT_EQ(good, failed_call().empty()) << n;
    failed.insert(failed_call());
    EXPECT_OK(cudaDeviceSynchronize());
    EXPECT_EQ(leaks(), "") << failed_call();
    EXPECT_EQ(misuse(), "") << failed_call();
  }
  EXPECT_TRUE(failed.contains("cudaMalloc"));
  EXPECT_TRUE(failed.contains("cudaLaunchKernel"));
  EXPECT_TRUE(failed.contains("cudaStreamEndCapture"));
  EXPECT_FALSE(failed.contains("cudaFree"));
  reset({.fail_call = static_cast<int64_t>(count) - 1});
  EXPECT_FALSE(program());
  EXPECT_EQ(failed_call(), "cudaFree");
  EXPECT_EQ(leaks(), "1 allocations of device memory\n");
}

TEST(Standin, ACallThatFailsDoesNothing) {
  reset({.fail_call = 0});
  void* pointer = &pointer;
  EXPECT_EQ(cudaMalloc(&pointer, 16), cudaErrorMemoryAllocation);
  EXPECT_EQ(pointer, &pointer);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_OK(cudaMalloc(&pointer, 16));
  EXPECT_EQ(live_allocations(), 1u);
}

// --- a fresh start ---

TEST(Standin, StartsAfresh) {
  reset();
  cudaStream_t stream = new_stream();
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  EXPECT_OK(cudaThreadExchangeStreamCaptureMode(&mode));
  EXPECT_OK(cudaMemsetAsync(device_ints(1), 0, 4, stream));
  EXPECT_OK(cudaSetDevice(1));
  EXPECT_EQ(cudaSetDevice(9), cudaErrorInvalidDevice);
  report_misuse("something");
  reset({.devices = 3});
  EXPECT_OK(cudaGetLastError());
  EXPECT_EQ(misuse(), "");
  EXPECT_EQ(leaks(), "");
  EXPECT_EQ(pending_work(), 0u);
  EXPECT_EQ(calls(), 0u);
  int device = -1, count = 0;
  EXPECT_OK(cudaGetDevice(&device));
  EXPECT_EQ(device, 0);
  EXPECT_OK(cudaGetDeviceCount(&count));
  EXPECT_EQ(count, 3);
  EXPECT_OK(cudaThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(mode, cudaStreamCaptureModeGlobal);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
}

TEST(Standin, WithoutDevicesNothingWorks) {
  reset({.devices = 0});
  int count = -1;
  void* pointer = nullptr;
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaErrorNoDevice);
  EXPECT_EQ(count, 0);
  EXPECT_EQ(cudaMalloc(&pointer, 4), cudaErrorNoDevice);
  EXPECT_EQ(cudaGetDevice(&count), cudaErrorNoDevice);
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaErrorNoDevice);
  EXPECT_OK(cudaRuntimeGetVersion(&count));
  reset();
}

TEST(Standin, LiveThingsAreCounted) {
  reset();
  int* a = device_ints(100);
  int* pinned = pinned_ints(10);
  std::vector<char> host(4096);
  EXPECT_OK(cudaHostRegister(host.data(), host.size(), cudaHostRegisterDefault));
  cudaStream_t stream = new_stream();
  cudaEvent_t event = new_event();
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  EXPECT_OK(cudaGraphCreate(&graph, 0));
  EXPECT_OK(cudaGraphInstantiate(&exec, graph, 0));
  const Live found = live();
  EXPECT_EQ(found.allocations, 1u);
  EXPECT_EQ(found.device_bytes, 400u);
  EXPECT_EQ(found.pinned, 1u);
  EXPECT_EQ(found.registered, 1u);
  EXPECT_EQ(found.streams, 1u);
  EXPECT_EQ(found.events, 1u);
  EXPECT_EQ(found.graphs, 1u);
  EXPECT_EQ(found.execs, 1u);
  EXPECT_EQ(leaks(),
            "1 allocations of device memory\n1 allocations of pinned memory\n1 registered ranges of host memory\n1 "
            "streams\n1 events\n"
            "1 graphs\n1 executable graphs\n");
  EXPECT_OK(cudaGraphExecDestroy(exec));
  EXPECT_OK(cudaGraphDestroy(graph));
  EXPECT_OK(cudaEventDestroy(event));
  EXPECT_OK(cudaStreamDestroy(stream));
  EXPECT_OK(cudaHostUnregister(host.data()));
  EXPECT_OK(cudaFreeHost(pinned));
  EXPECT_OK(cudaFree(a));
  EXPECT_EQ(leaks(), "");
  EXPECT_EQ(misuse(), "");
}

TEST(Standin, ADeviceIsUntouchedUntilItIsUsed) {
  reset();
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result;
  EXPECT_OK(cudaGetDriverEntryPointByVersion("cuDevicePrimaryCtxGetState", &found, 12000, cudaEnableDefault, &result));
  const auto state = reinterpret_cast<decltype(&cuDevicePrimaryCtxGetState)>(found);
  const auto active = [&](int device) {
    unsigned flags = 0;
    int value = -1;
    EXPECT_EQ(state(device, &flags, &value), CUDA_SUCCESS);
    return value;
  };
  cudaDeviceProp properties;
  EXPECT_OK(cudaGetDeviceProperties(&properties, 1));
  EXPECT_EQ(active(0), 0);
  EXPECT_OK(cudaFree(nullptr));
  EXPECT_EQ(active(0), 1);
  EXPECT_EQ(active(1), 0);
  EXPECT_OK(cudaSetDevice(1));
  EXPECT_EQ(active(1), 1);
}

TEST(Standin, EventsOfAnotherProcessShareTheirRecord) {
  reset();
  cudaEvent_t event = new_event(cudaEventDisableTiming | cudaEventInterprocess), opened = nullptr;
  cudaIpcEventHandle_t handle;
  EXPECT_EQ(cudaIpcGetEventHandle(&handle, new_event()), cudaErrorInvalidValue);
  EXPECT_OK(cudaIpcGetEventHandle(&handle, event));
  EXPECT_OK(cudaIpcOpenEventHandle(&opened, handle));
  EXPECT_OK(cudaMemsetAsync(device_ints(1), 0, 4, nullptr));
  EXPECT_OK(cudaEventRecord(event, nullptr));
  EXPECT_EQ(pending_work(), 2u);
  EXPECT_OK(cudaEventSynchronize(opened));
  EXPECT_EQ(pending_work(), 0u);
  EXPECT_OK(cudaEventDestroy(event));
  EXPECT_OK(cudaEventQuery(opened));
}

TEST(Standin, ThreadsTakeTurns) {
  for (Execution execution : {Execution::kLazy, Execution::kRandom}) {
    reset({.execution = execution});
    std::atomic<int> sum = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        EXPECT_OK(cudaSetDevice(t % 2));
        cudaStream_t stream = new_stream();
        int* a = device_ints(1);
        EXPECT_OK(cudaMemsetAsync(a, 0, 4, stream));
        for (int i = 0; i < 50; ++i) {
          EXPECT_OK(launch_next(a, a, stream));
          if (i % 10 == 0)
            EXPECT_OK(cudaLaunchHostFunc(
                stream, [](void* data) { ++*static_cast<std::atomic<int>*>(data); }, &sum));
        }
        EXPECT_OK(cudaStreamSynchronize(stream));
        int value = 0;
        EXPECT_OK(cudaMemcpy(&value, a, 4, cudaMemcpyDeviceToHost));
        EXPECT_EQ(value, 50);
        EXPECT_OK(cudaFree(a));
        EXPECT_OK(cudaStreamDestroy(stream));
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(sum, 20);
    EXPECT_EQ(leaks(), "");
    EXPECT_EQ(misuse(), "");
  }
}

}  // namespace
}  // namespace cuda_standin
