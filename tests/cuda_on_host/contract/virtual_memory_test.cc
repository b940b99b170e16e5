// The driver's functions for addresses and memory apart, as the runtime gives them.
#include <cuda.h>

#include "tests/cuda_on_host/contract/contract.h"
#include "tests/cuda_on_host/contract/kernels.h"

namespace {

KD_CONTRACT(CudaVirtualMemory);

template <class Function>
Function* driver_function(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result;
  EXPECT_OK(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result));
  EXPECT_EQ(result, cudaDriverEntryPointSuccess) << name;
  return reinterpret_cast<Function*>(found);
}
#define DRIVER(name) driver_function<decltype(name)>(#name)

TEST_P(CudaVirtualMemory, UnknownFunctionsAreNotFound) {
  void* found = &found;
  cudaDriverEntryPointQueryResult result;
  EXPECT_OK(cudaGetDriverEntryPointByVersion("cuThereIsNone", &found, 12000, cudaEnableDefault, &result));
  EXPECT_EQ(result, cudaDriverEntryPointSymbolNotFound);
  EXPECT_EQ(found, nullptr);
  EXPECT_OK(cudaGetDriverEntryPointByVersion("cuMemMap", &found, 9000, cudaEnableDefault, &result));
  EXPECT_EQ(result, cudaDriverEntryPointVersionNotSufficent);
}

TEST_P(CudaVirtualMemory, ErrorsHaveNames) {
  const char* text = nullptr;
  EXPECT_EQ(DRIVER(cuGetErrorName)(CUDA_ERROR_OUT_OF_MEMORY, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_EQ(DRIVER(cuGetErrorString)(CUDA_ERROR_INVALID_VALUE, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "invalid argument");
  EXPECT_EQ(DRIVER(cuGetErrorName)(static_cast<CUresult>(1001), &text), CUDA_ERROR_INVALID_VALUE);
}

TEST_P(CudaVirtualMemory, ADevicesContextComesWithItsFirstUse) {
  const auto state = DRIVER(cuDevicePrimaryCtxGetState);
  unsigned flags = 0;
  int active = 0;
  ASSERT_OK(cudaFree(nullptr));
  EXPECT_EQ(state(0, &flags, &active), CUDA_SUCCESS);
  EXPECT_EQ(active, 1);
  CUcontext context = nullptr;
  CUdevice device = -1;
  EXPECT_EQ(DRIVER(cuCtxGetCurrent)(&context), CUDA_SUCCESS);
  EXPECT_NE(context, nullptr);
  EXPECT_EQ(DRIVER(cuCtxGetDevice)(&device), CUDA_SUCCESS);
  EXPECT_EQ(device, 0);
}

struct Memory {
  CUmemAllocationProp properties = {};
  size_t granularity = 0;
  Memory() {
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    EXPECT_EQ(DRIVER(cuMemGetAllocationGranularity)(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
              CUDA_SUCCESS);
  }
  CUdeviceptr reserve(size_t pieces) {
    CUdeviceptr pointer = 0;
    EXPECT_EQ(DRIVER(cuMemAddressReserve)(&pointer, pieces * granularity, 0, 0, 0), CUDA_SUCCESS);
    return pointer;
  }
  CUmemGenericAllocationHandle create(size_t pieces = 1) {
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_EQ(DRIVER(cuMemCreate)(&handle, pieces * granularity, &properties, 0), CUDA_SUCCESS);
    return handle;
  }
  void grant(CUdeviceptr pointer, size_t pieces) {
    const CUmemAccessDesc access{properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    EXPECT_EQ(DRIVER(cuMemSetAccess)(pointer, pieces * granularity, &access, 1), CUDA_SUCCESS);
  }
};

TEST_P(CudaVirtualMemory, SegmentsGrowAndShrinkInPlace) {
  Memory memory;
  const size_t piece = memory.granularity, ints = piece / sizeof(int);
  const auto map = DRIVER(cuMemMap);
  const auto unmap = DRIVER(cuMemUnmap);
  const auto release = DRIVER(cuMemRelease);
  const CUdeviceptr start = memory.reserve(4);
  auto* const pointer = reinterpret_cast<int*>(start);
  cudaStream_t stream = new_stream();
  CUmemGenericAllocationHandle first = memory.create(), second = memory.create();
  EXPECT_EQ(map(start, piece, 0, first, 0), CUDA_SUCCESS);
  EXPECT_EQ(map(start + piece, piece, 0, second, 0), CUDA_SUCCESS);
  memory.grant(start, 2);
  // Memory goes on from one piece to the next.
  EXPECT_OK(cudaMemsetAsync(pointer, 0, 2 * piece, stream));
  EXPECT_OK(contract::set(pointer + ints - 8, 5, 16, stream));
  EXPECT_EQ(contents(pointer + ints - 9, 18), (std::vector<int>{0, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 0}));
  cudaPointerAttributes attributes;
  EXPECT_OK(cudaPointerGetAttributes(&attributes, pointer + ints));
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  EXPECT_EQ(attributes.device, 0);
  // A piece keeps its contents while its handle lives, wherever it is mapped.
  EXPECT_EQ(unmap(start + piece, piece), CUDA_SUCCESS);
  EXPECT_EQ(map(start + 3 * piece, piece, 0, second, 0), CUDA_SUCCESS);
  memory.grant(start + 3 * piece, 1);
  EXPECT_EQ(contents(pointer + 3 * ints, 9), (std::vector<int>{5, 5, 5, 5, 5, 5, 5, 5, 0}));
  for (CUmemGenericAllocationHandle handle : {first, second})
    EXPECT_EQ(release(handle), CUDA_SUCCESS);  // mappings stay
  EXPECT_EQ(contents(pointer + 3 * ints, 1), std::vector<int>{5});
  EXPECT_EQ(unmap(start, piece), CUDA_SUCCESS);
  EXPECT_EQ(unmap(start + 3 * piece, piece), CUDA_SUCCESS);
  EXPECT_EQ(DRIVER(cuMemAddressFree)(start, 4 * piece), CUDA_SUCCESS);
  EXPECT_OK(cudaStreamDestroy(stream));
}

TEST_P(CudaVirtualMemory, WrongRangesAreRefused) {
  Memory memory;
  const size_t piece = memory.granularity;
  const auto map = DRIVER(cuMemMap);
  const auto unmap = DRIVER(cuMemUnmap);
  const CUdeviceptr start = memory.reserve(2);
  CUmemGenericAllocationHandle handle = memory.create(), large = 0;
  EXPECT_EQ(DRIVER(cuMemCreate)(&large, piece + 1, &memory.properties, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(map(start + 2 * piece, piece, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);  // not reserved
  EXPECT_EQ(map(start, piece, piece, handle, 0), CUDA_ERROR_INVALID_VALUE);          // beyond the handle's memory
  EXPECT_EQ(map(start, piece, 0, handle, 0), CUDA_SUCCESS);
  EXPECT_EQ(map(start, piece, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);  // mapped already
  EXPECT_EQ(unmap(start, 2 * piece), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(unmap(start, piece), CUDA_SUCCESS);
  EXPECT_EQ(DRIVER(cuMemRelease)(handle), CUDA_SUCCESS);
  EXPECT_EQ(DRIVER(cuMemAddressFree)(start, piece), CUDA_ERROR_INVALID_VALUE);  // another size
  EXPECT_EQ(DRIVER(cuMemAddressFree)(start, 2 * piece), CUDA_SUCCESS);
  EXPECT_OK(cudaGetLastError());  // the runtime's last error is its own
}

TEST_P(CudaVirtualMemory, CountsAsUsed) {
  Memory memory;
  size_t before = 0, during = 0, after = 0, total = 0;
  ASSERT_OK(cudaMemGetInfo(&before, &total));
  CUmemGenericAllocationHandle handle = memory.create(4);
  ASSERT_OK(cudaMemGetInfo(&during, &total));
  EXPECT_LE(during + 4 * memory.granularity, before);
  CUmemGenericAllocationHandle more = 0;
  EXPECT_EQ(DRIVER(cuMemCreate)(&more, (total / memory.granularity + 1) * memory.granularity, &memory.properties, 0),
            CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(DRIVER(cuMemRelease)(handle), CUDA_SUCCESS);
  ASSERT_OK(cudaMemGetInfo(&after, &total));
  EXPECT_EQ(after, before);
}

}  // namespace
