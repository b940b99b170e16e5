// Who may touch which memory when, and what is reported of programs that use it wrongly.
#include <cuda.h>

#include <algorithm>
#include <vector>

#include "tests/cuda_on_host/runtime/test_util.h"

namespace cuda_standin {
namespace {

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool kAsan = true;
#else
constexpr bool kAsan = false;
#endif
#else
constexpr bool kAsan = false;
#endif

TEST(StandinMemoryDeathTest, HostCodeCannotTouchDeviceMemory) {
  reset();
  int* a = device_ints(4);
  EXPECT_DEATH(a[0] = 1, "16 bytes of device 0.*host code");
}

TEST(StandinMemoryDeathTest, ItCanBeLeftOpen) {
  reset({.protect = false});
  int* a = device_ints(4);
  a[0] = 1;
  EXPECT_EQ(value_of(a), 1);
}

TEST(StandinMemoryDeathTest, AKernelCannotGoBeyondItsMemory) {
  reset();
  auto* const a = reinterpret_cast<char*>(device_ints(1));
  const auto touch = [](char* where) {
    (void)enqueue(nullptr, "toucher", [where] { *where = 1; });
    (void)cudaDeviceSynchronize();
  };
  touch(a + 3);
  EXPECT_DEATH(touch(a + 256), "device memory that was released or ends before it, by toucher");
  if (kAsan) {
    EXPECT_DEATH(touch(a + 4), "use-after-poison");
    EXPECT_DEATH(touch(a - 1), "use-after-poison");
  }
}

TEST(StandinMemoryDeathTest, ReleasedMemoryCannotBeTouchedNorGivenAgain) {
  reset();
  std::vector<int*> given;
  for (int i = 0; i < 20; ++i) {
    int* a = device_ints(100);
    EXPECT_EQ(std::find(given.begin(), given.end(), a), given.end());
    given.push_back(a);
    EXPECT_OK(cudaFree(a));
  }
  EXPECT_DEATH(
      {
        (void)enqueue(nullptr, "late", [a = given[0]] { *a = 1; });
        (void)cudaDeviceSynchronize();
      },
      "device memory that was released or ends before it, by late");
  int* pinned = pinned_ints(1);
  EXPECT_OK(cudaFreeHost(pinned));
  EXPECT_DEATH(*pinned = 1, "");
}

TEST(StandinMemory, BeginsAsNonsense) {
  reset();
  std::vector<int> values(100'000);
  int* a = device_ints(values.size());
  EXPECT_OK(cudaMemcpy(values.data(), a, values.size() * sizeof(int), cudaMemcpyDeviceToHost));
  EXPECT_EQ(values, std::vector<int>(values.size(), -1));
  EXPECT_OK(cudaMemset(a, 0, 400));
  EXPECT_OK(cudaFree(a));
  EXPECT_EQ(value_of(device_ints(values.size())), -1);
}

TEST(StandinMemory, EachDeviceHasItsLimit) {
  reset({.memory_bytes = 1000});
  void* pointer = nullptr;
  EXPECT_EQ(cudaMalloc(&pointer, 1001), cudaErrorMemoryAllocation);
  EXPECT_OK(cudaMalloc(&pointer, 700));
  EXPECT_EQ(cudaMalloc(&pointer, 700), cudaErrorMemoryAllocation);
  EXPECT_OK(cudaSetDevice(1));
  EXPECT_OK(cudaMalloc(&pointer, 700));
  EXPECT_OK(cudaFree(pointer));
  EXPECT_OK(cudaMalloc(&pointer, 900));
}

TEST(StandinMemory, LargeMemoryCostsWhatIsTouched) {
  reset({.memory_bytes = size_t{80} << 30});
  void* pointer = nullptr;
  ASSERT_OK(cudaMalloc(&pointer, size_t{20} << 30));
  EXPECT_OK(cudaMemset(static_cast<char*>(pointer) + (size_t{15} << 30), 0, 100));
  EXPECT_OK(cudaDeviceSynchronize());
  EXPECT_OK(cudaFree(pointer));
}

TEST(StandinMemoryDeathTest, OfPoolsIsOpenBetweenItsTurnsOnly) {
  reset();
  cudaStream_t one = new_stream(), two = new_stream();
  void* a = nullptr;
  ASSERT_OK(cudaMallocAsync(&a, 64, one));
  EXPECT_OK(launch_next(static_cast<int*>(a), static_cast<int*>(a), two));  // no event between them
  EXPECT_EQ(cudaStreamSynchronize(two), cudaErrorIllegalAddress);
  EXPECT_MISUSE("outside the turns");
  reset();
  one = new_stream(), two = new_stream();
  ASSERT_OK(cudaMallocAsync(&a, 64, one));
  EXPECT_OK(cudaStreamSynchronize(one));
  EXPECT_OK(launch_next(static_cast<int*>(a), static_cast<int*>(a), two));
  EXPECT_OK(cudaFreeAsync(a, one));
  EXPECT_OK(cudaStreamSynchronize(one));
  EXPECT_EQ(cudaStreamSynchronize(two), cudaErrorIllegalAddress);
  EXPECT_MISUSE("has been released");
}

TEST(StandinMemory, OfAGraphThatWasReleasedIsFoundByTheNextLaunch) {
  reset();
  int* a = device_ints(1);
  cudaStream_t stream = new_stream();
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  EXPECT_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  EXPECT_OK(cudaMemsetAsync(a, 0, 4, stream));
  EXPECT_OK(cudaStreamEndCapture(stream, &graph));
  EXPECT_OK(cudaGraphInstantiate(&exec, graph, 0));
  EXPECT_OK(cudaGraphLaunch(exec, stream));
  EXPECT_OK(cudaFree(a));
  EXPECT_OK(cudaGraphLaunch(exec, stream));
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorIllegalAddress);
  EXPECT_MISUSE("cudaMemsetAsync: runs when its memory has been released");
}

TEST(StandinMemoryDeathTest, OfAnotherDeviceIsClosed) {
  reset();
  int* here = device_ints(1);
  EXPECT_OK(cudaMemset(here, 0, 4));
  EXPECT_OK(cudaSetDevice(1));
  const auto touch = [&] {
    (void)enqueue(nullptr, "peer", [here] { *here = 1; });
    (void)cudaDeviceSynchronize();
  };
  EXPECT_FALSE(device_accessible(here));
  EXPECT_DEATH(touch(), "peer");
  EXPECT_OK(cudaDeviceEnablePeerAccess(0, 0));
  EXPECT_TRUE(device_accessible(here));
  touch();
  EXPECT_OK(cudaDeviceDisablePeerAccess(0));
  EXPECT_EQ(misuse(), "");
}

TEST(StandinMemory, MappedMemoryIsAccessibleFromNamedDevices) {
  reset();
  const auto function = [](const char* name) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result;
    EXPECT_OK(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result));
    return found;
  };
  const size_t bytes = size_t{2} << 20;
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr start = 0;
  EXPECT_EQ(reinterpret_cast<decltype(&cuMemCreate)>(function("cuMemCreate"))(&handle, bytes, &properties, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(reinterpret_cast<decltype(&cuMemAddressReserve)>(function("cuMemAddressReserve"))(&start, bytes, 0, 0, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(reinterpret_cast<decltype(&cuMemMap)>(function("cuMemMap"))(start, bytes, 0, handle, 0), CUDA_SUCCESS);
  auto* const pointer = reinterpret_cast<int*>(start);
  EXPECT_FALSE(device_accessible(pointer));
  CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, 1}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  const auto set_access = reinterpret_cast<decltype(&cuMemSetAccess)>(function("cuMemSetAccess"));
  EXPECT_EQ(set_access(start, bytes, &access, 1), CUDA_SUCCESS);
  EXPECT_FALSE(device_accessible(pointer));
  EXPECT_OK(cudaSetDevice(1));
  EXPECT_TRUE(device_accessible(pointer, bytes));
  EXPECT_FALSE(device_accessible(pointer, bytes + 1));
  EXPECT_OK(enqueue(nullptr, "write", [pointer] { *pointer = 5; }));
  EXPECT_OK(cudaDeviceSynchronize());
  EXPECT_EQ(leaks(), "1 reservations of addresses\n1 handles of physical memory\n1 mappings of physical memory\n");
  EXPECT_EQ(reinterpret_cast<decltype(&cuMemAddressFree)>(function("cuMemAddressFree"))(start, bytes),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_MISUSE("memory is mapped there");
  EXPECT_EQ(reinterpret_cast<decltype(&cuMemUnmap)>(function("cuMemUnmap"))(start, bytes), CUDA_SUCCESS);
  EXPECT_EQ(reinterpret_cast<decltype(&cuMemRelease)>(function("cuMemRelease"))(handle), CUDA_SUCCESS);
  EXPECT_EQ(reinterpret_cast<decltype(&cuMemAddressFree)>(function("cuMemAddressFree"))(start, bytes), CUDA_SUCCESS);
  EXPECT_EQ(reinterpret_cast<decltype(&cuMemRelease)>(function("cuMemRelease"))(handle), CUDA_ERROR_INVALID_VALUE);
  EXPECT_MISUSE("cuMemRelease");
  EXPECT_EQ(leaks(), "");
}

// --- reports ---

TEST(StandinMisuse, ArgumentsThatNoDeviceCanUse) {
  reset();
  int on_host = 0;
  int* a = device_ints(1);
  EXPECT_OK(cudaMemset(a, 0, 4));
  EXPECT_OK(launch_next(a, &on_host, nullptr));
  EXPECT_EQ(misuse(), "next: argument 1 is no address of device or pinned memory\n");
  reset();
  a = device_ints(1);
  int *gone = device_ints(1), *pinned = pinned_ints(1);
  *pinned = 1;
  EXPECT_OK(launch_next(a, pinned, nullptr));  // which devices can use
  EXPECT_EQ(value_of(a), 2);
  EXPECT_EQ(misuse(), "");
  EXPECT_OK(cudaFree(gone));
  EXPECT_OK(launch_next(gone, a, nullptr));
  EXPECT_EQ(misuse(), "next: argument 0 is an address of memory that was released\n");
  reset();
  a = device_ints(1);
  EXPECT_OK(cudaSetDevice(1));
  EXPECT_OK(launch_next(device_ints(1), a, nullptr));
  EXPECT_MISUSE("next: argument 1 is an address of device 0, which device 1 has no access to");
  reset();
}

TEST(StandinMisuse, CopiesOfWrongRanges) {
  reset();
  int* a = device_ints(10);
  int host[20] = {};
  EXPECT_EQ(cudaMemcpy(host, a, 44, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_MISUSE("cudaMemcpy: a range that ends behind its memory");
  EXPECT_EQ(cudaMemset(host, 0, 4), cudaErrorInvalidValue);
  EXPECT_OK(cudaFree(a));
  EXPECT_EQ(cudaMemcpyAsync(a, host, 4, cudaMemcpyDefault, nullptr), cudaErrorInvalidValue);
  EXPECT_MISUSE("cudaMemcpyAsync: an address of memory that is not allocated");
  a = device_ints(10);
  EXPECT_OK(cudaMemcpy(a, host, 4, cudaMemcpyDeviceToHost));
  EXPECT_MISUSE("cudaMemcpy: the direction is not that of the addresses");
}

TEST(StandinMisuse, HandlesThatAreNone) {
  reset();
  cudaStream_t stream = new_stream();
  cudaEvent_t event = new_event();
  EXPECT_OK(cudaStreamDestroy(stream));
  EXPECT_OK(cudaEventDestroy(event));
  EXPECT_EQ(cudaStreamDestroy(stream), cudaErrorInvalidResourceHandle);
  EXPECT_MISUSE("cudaStreamDestroy: a stream that was destroyed");
  EXPECT_EQ(cudaEventDestroy(event), cudaErrorInvalidResourceHandle);
  EXPECT_MISUSE("cudaEventDestroy: an event that was destroyed");
  EXPECT_EQ(cudaStreamSynchronize(reinterpret_cast<cudaStream_t>(event)), cudaErrorInvalidResourceHandle);
  int nothing = 0;
  EXPECT_EQ(cudaEventQuery(reinterpret_cast<cudaEvent_t>(&nothing)), cudaErrorInvalidResourceHandle);
  EXPECT_MISUSE("cudaEventQuery: what is no event");
  EXPECT_EQ(cudaEventRecord(nullptr, nullptr), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaStreamDestroy(nullptr), cudaErrorInvalidResourceHandle);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  EXPECT_OK(cudaGraphCreate(&graph, 0));
  EXPECT_OK(cudaGraphInstantiate(&exec, graph, 0));
  EXPECT_OK(cudaGraphExecDestroy(exec));
  EXPECT_OK(cudaGraphDestroy(graph));
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaErrorInvalidValue);
  EXPECT_MISUSE("cudaGraphExecDestroy: an executable graph that was destroyed");
  EXPECT_EQ(cudaGraphDestroy(graph), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphLaunch(exec, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemPoolDestroy(reinterpret_cast<cudaMemPool_t>(graph)), cudaErrorInvalidValue);
  EXPECT_MISUSE("cudaMemPoolDestroy: a memory pool");
}

TEST(StandinMisuse, MemoryGivenBackTwice) {
  reset();
  void* a = nullptr;
  ASSERT_OK(cudaMallocAsync(&a, 64, nullptr));
  EXPECT_OK(cudaFreeAsync(a, nullptr));
  EXPECT_EQ(cudaFreeAsync(a, nullptr), cudaErrorInvalidValue);
  EXPECT_MISUSE("cudaFreeAsync: an address");
  EXPECT_EQ(cudaFree(a), cudaErrorInvalidValue);
  EXPECT_MISUSE("cudaFree: memory that cudaFreeAsync was given");
  int* b = pinned_ints(1);
  EXPECT_EQ(cudaFreeHost(b + 1), cudaErrorInvalidValue);
  EXPECT_MISUSE("cudaFreeHost");
  int* c = device_ints(1);
  cudaIpcMemHandle_t handle;
  void* opened = nullptr;
  EXPECT_OK(cudaIpcGetMemHandle(&handle, c));
  EXPECT_OK(cudaIpcOpenMemHandle(&opened, handle, cudaIpcMemLazyEnablePeerAccess));
  EXPECT_OK(cudaFree(c));
  EXPECT_MISUSE("nobody closed");
}

TEST(StandinMisuse, CallsFromWorkAndHostFunctions) {
  reset();
  EXPECT_OK(cudaLaunchHostFunc(
      nullptr, [](void*) { (void)cudaStreamQuery(nullptr); }, nullptr));
  EXPECT_OK(cudaDeviceSynchronize());
  EXPECT_MISUSE("cudaStreamQuery: called from a host function");
  EXPECT_OK(enqueue(nullptr, "library", [] { EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorNotPermitted); }));
  EXPECT_OK(cudaDeviceSynchronize());
  EXPECT_MISUSE("cudaDeviceSynchronize: called from work of a stream");
}

TEST(StandinMisuse, PageableMemoryInACapture) {
  reset();
  int* a = device_ints(1);
  int host = 0;
  cudaStream_t stream = new_stream();
  cudaGraph_t graph = nullptr;
  EXPECT_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  EXPECT_EQ(cudaMemcpyAsync(a, &host, 4, cudaMemcpyHostToDevice, stream), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
}

TEST(StandinMisuse, AStreamThatIsDestroyedEndsItsCapture) {
  reset();
  cudaStream_t stream = new_stream();
  EXPECT_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  EXPECT_OK(cudaStreamDestroy(stream));
  EXPECT_EQ(leaks(), "");
  EXPECT_OK(cudaFree(device_ints(1)));
}

}  // namespace
}  // namespace cuda_standin
