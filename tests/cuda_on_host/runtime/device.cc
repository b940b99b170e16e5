// Devices: an H100's numbers, but for the memory.
#include <cuda_profiler_api.h>

#include <cstdio>
#include <cstring>

#include "tests/cuda_on_host/runtime/limits.h"
#include "tests/cuda_on_host/runtime/state.h"

namespace cuda_standin {
namespace {

constexpr int kVersion = CUDART_VERSION;

cudaDeviceProp properties(int device) {
  cudaDeviceProp p;
  std::memset(&p, 0, sizeof p);
  std::snprintf(p.name, sizeof p.name, "CUDA stand-in on the host");
  std::snprintf(p.uuid.bytes, sizeof p.uuid.bytes, "stand-in %d", device);
  p.totalGlobalMem = state().options.memory_bytes;
  p.sharedMemPerBlock = kSharedPerBlock;
  p.sharedMemPerBlockOptin = kSharedPerBlockOptin;
  p.sharedMemPerMultiprocessor = kSharedPerProcessor;
  p.reservedSharedMemPerBlock = kSharedReserved;
  p.regsPerBlock = p.regsPerMultiprocessor = kRegisters;
  p.warpSize = kWarp;
  p.memPitch = 2147483647;
  p.maxThreadsPerBlock = kThreadsPerBlock;
  p.maxThreadsPerMultiProcessor = kThreadsPerProcessor;
  p.maxBlocksPerMultiProcessor = kBlocksPerProcessor;
  p.maxThreadsDim[0] = p.maxThreadsDim[1] = kThreadsPerBlock;
  p.maxThreadsDim[2] = kBlockZ;
  p.maxGridSize[0] = kGridX;
  p.maxGridSize[1] = p.maxGridSize[2] = kGridYZ;
  p.totalConstMem = 65536;
  p.major = 9;
  p.minor = 0;
  p.textureAlignment = p.surfaceAlignment = 512;
  p.texturePitchAlignment = 32;
  p.multiProcessorCount = kProcessors;
  p.canMapHostMemory = p.concurrentKernels = p.unifiedAddressing = p.streamPrioritiesSupported = 1;
  p.globalL1CacheSupported = p.localL1CacheSupported = p.computePreemptionSupported = p.cooperativeLaunch = 1;
  p.canUseHostPointerForRegisteredMem = p.hostRegisterSupported = p.memoryPoolsSupported = p.ipcEventSupported = 1;
  p.clusterLaunch = p.ECCEnabled = 1;
  p.pciBusID = device + 1;
  p.asyncEngineCount = 3;
  p.memoryBusWidth = 5120;
  p.l2CacheSize = 50 << 20;
  p.persistingL2CacheMaxSize = 32 << 20;
  p.accessPolicyMaxWindowSize = 128 << 20;
  p.memoryPoolSupportedHandleTypes = cudaMemHandleTypeNone;
  p.hostNumaId = -1;
  return p;
}

// False for what the stand-in does not know.
bool attribute(cudaDeviceAttr which, int device, int& value) {
  const cudaDeviceProp p = properties(device);
  const struct {
    cudaDeviceAttr which;
    int64_t value;
  } known[] = {
      {cudaDevAttrMaxThreadsPerBlock, p.maxThreadsPerBlock},
      {cudaDevAttrMaxBlockDimX, p.maxThreadsDim[0]},
      {cudaDevAttrMaxBlockDimY, p.maxThreadsDim[1]},
      {cudaDevAttrMaxBlockDimZ, p.maxThreadsDim[2]},
      {cudaDevAttrMaxGridDimX, p.maxGridSize[0]},
      {cudaDevAttrMaxGridDimY, p.maxGridSize[1]},
      {cudaDevAttrMaxGridDimZ, p.maxGridSize[2]},
      {cudaDevAttrMaxSharedMemoryPerBlock, static_cast<int64_t>(p.sharedMemPerBlock)},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin, static_cast<int64_t>(p.sharedMemPerBlockOptin)},
      {cudaDevAttrMaxSharedMemoryPerMultiprocessor, static_cast<int64_t>(p.sharedMemPerMultiprocessor)},
      {cudaDevAttrReservedSharedMemoryPerBlock, static_cast<int64_t>(p.reservedSharedMemPerBlock)},
      {cudaDevAttrTotalConstantMemory, static_cast<int64_t>(p.totalConstMem)},
      {cudaDevAttrWarpSize, p.warpSize},
      {cudaDevAttrMaxPitch, static_cast<int64_t>(p.memPitch)},
      {cudaDevAttrMaxRegistersPerBlock, p.regsPerBlock},
      {cudaDevAttrMaxRegistersPerMultiprocessor, p.regsPerMultiprocessor},
      {cudaDevAttrClockRate, 1980000},
      {cudaDevAttrMemoryClockRate, 2619000},
      {cudaDevAttrTextureAlignment, static_cast<int64_t>(p.textureAlignment)},
      {cudaDevAttrTexturePitchAlignment, static_cast<int64_t>(p.texturePitchAlignment)},
      {cudaDevAttrSurfaceAlignment, static_cast<int64_t>(p.surfaceAlignment)},
      {cudaDevAttrGpuOverlap, 1},
      {cudaDevAttrMultiProcessorCount, p.multiProcessorCount},
      {cudaDevAttrKernelExecTimeout, 0},
      {cudaDevAttrIntegrated, p.integrated},
      {cudaDevAttrCanMapHostMemory, p.canMapHostMemory},
      {cudaDevAttrComputeMode, cudaComputeModeDefault},
      {cudaDevAttrConcurrentKernels, p.concurrentKernels},
      {cudaDevAttrEccEnabled, p.ECCEnabled},
      {cudaDevAttrPciBusId, p.pciBusID},
      {cudaDevAttrPciDeviceId, p.pciDeviceID},
      {cudaDevAttrPciDomainId, p.pciDomainID},
      {cudaDevAttrTccDriver, p.tccDriver},
      {cudaDevAttrGlobalMemoryBusWidth, p.memoryBusWidth},
      {cudaDevAttrL2CacheSize, p.l2CacheSize},
      {cudaDevAttrMaxPersistingL2CacheSize, p.persistingL2CacheMaxSize},
      {cudaDevAttrMaxAccessPolicyWindowSize, p.accessPolicyMaxWindowSize},
      {cudaDevAttrMaxThreadsPerMultiProcessor, p.maxThreadsPerMultiProcessor},
      {cudaDevAttrMaxBlocksPerMultiprocessor, p.maxBlocksPerMultiProcessor},
      {cudaDevAttrAsyncEngineCount, p.asyncEngineCount},
      {cudaDevAttrUnifiedAddressing, p.unifiedAddressing},
      {cudaDevAttrComputeCapabilityMajor, p.major},
      {cudaDevAttrComputeCapabilityMinor, p.minor},
      {cudaDevAttrStreamPrioritiesSupported, p.streamPrioritiesSupported},
      {cudaDevAttrGlobalL1CacheSupported, p.globalL1CacheSupported},
      {cudaDevAttrLocalL1CacheSupported, p.localL1CacheSupported},
      {cudaDevAttrManagedMemory, p.managedMemory},
      {cudaDevAttrConcurrentManagedAccess, p.concurrentManagedAccess},
      {cudaDevAttrPageableMemoryAccess, p.pageableMemoryAccess},
      {cudaDevAttrPageableMemoryAccessUsesHostPageTables, p.pageableMemoryAccessUsesHostPageTables},
      {cudaDevAttrDirectManagedMemAccessFromHost, p.directManagedMemAccessFromHost},
      {cudaDevAttrIsMultiGpuBoard, p.isMultiGpuBoard},
      {cudaDevAttrMultiGpuBoardGroupID, p.multiGpuBoardGroupID},
      {cudaDevAttrHostNativeAtomicSupported, p.hostNativeAtomicSupported},
      {cudaDevAttrSingleToDoublePrecisionPerfRatio, 2},
      {cudaDevAttrComputePreemptionSupported, p.computePreemptionSupported},
      {cudaDevAttrCanUseHostPointerForRegisteredMem, p.canUseHostPointerForRegisteredMem},
      {cudaDevAttrCooperativeLaunch, p.cooperativeLaunch},
      {cudaDevAttrHostRegisterSupported, p.hostRegisterSupported},
      {cudaDevAttrHostRegisterReadOnlySupported, p.hostRegisterReadOnlySupported},
      {cudaDevAttrMemoryPoolsSupported, p.memoryPoolsSupported},
      {cudaDevAttrMemoryPoolSupportedHandleTypes, p.memoryPoolSupportedHandleTypes},
      {cudaDevAttrGPUDirectRDMASupported, p.gpuDirectRDMASupported},
      {cudaDevAttrClusterLaunch, p.clusterLaunch},
      {cudaDevAttrIpcEventSupport, p.ipcEventSupported},
      {cudaDevAttrMemSyncDomainCount, 4},
      {cudaDevAttrHostNumaId, p.hostNumaId},
  };
  for (const auto& one : known) {
    if (one.which != which) continue;
    value = static_cast<int>(one.value);
    return true;
  }
  return false;
}

cudaError_t check_count(int device) {
  return is_device(device) ? cudaSuccess : cudaErrorInvalidDevice;
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  return api(
      "cudaGetDeviceCount",
      [&] {
        if (!count) return cudaErrorInvalidValue;
        *count = state().options.devices;
        return *count > 0 ? cudaSuccess : cudaErrorNoDevice;
      },
      kAnywhere);
}

cudaError_t cudaDriverGetVersion(int* version) {
  return api(
      "cudaDriverGetVersion",
      [&] {
        if (!version) return cudaErrorInvalidValue;
        *version = kVersion;
        return cudaSuccess;
      },
      kAnywhere);
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  return api(
      "cudaRuntimeGetVersion",
      [&] {
        if (!version) return cudaErrorInvalidValue;
        *version = kVersion;
        return cudaSuccess;
      },
      kAnywhere);
}

cudaError_t cudaSetDevice(int device) {
  return api(
      "cudaSetDevice",
      [&] {
        if (!is_device(device)) return cudaErrorInvalidDevice;
        thread_state().device = device;
        device_state(device).active = true;
        return cudaSuccess;
      },
      kNoContext);
}

cudaError_t cudaGetDevice(int* device) {
  return api(
      "cudaGetDevice",
      [&] {
        if (state().options.devices == 0) return cudaErrorNoDevice;
        if (!device) return cudaErrorInvalidValue;
        *device = current_device();
        return cudaSuccess;
      },
      kAnywhere);
}

cudaError_t cudaInitDevice(int device, unsigned int device_flags, unsigned int flags) {
  return api(
      "cudaInitDevice",
      [&] {
        if (cudaError_t status = check_count(device)) return status;
        device_state(device).active = true;
        if (flags == cudaInitDeviceFlagsAreValid) device_state(device).flags = device_flags;
        return cudaSuccess;
      },
      kNoContext);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* result, int device) {
  return api(
      "cudaGetDeviceProperties",
      [&] {
        if (!result) return cudaErrorInvalidValue;
        if (cudaError_t status = check_count(device)) return status;
        *result = properties(device);
        return cudaSuccess;
      },
      kNoContext);
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int device) {
  return api(
      "cudaDeviceGetAttribute",
      [&] {
        if (!value) return cudaErrorInvalidValue;
        if (cudaError_t status = check_count(device)) return status;
        return attribute(which, device, *value) ? cudaSuccess : cudaErrorInvalidValue;
      },
      kNoContext);
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  return api(
      "cudaDeviceGetPCIBusId",
      [&] {
        if (!text || length < 13) return cudaErrorInvalidValue;
        if (cudaError_t status = check_count(device)) return status;
        std::snprintf(text, static_cast<size_t>(length), "0000:%02X:00.0", static_cast<unsigned>(device + 1));
        return cudaSuccess;
      },
      kNoContext);
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text) {
  return api(
      "cudaDeviceGetByPCIBusId",
      [&] {
        unsigned domain = 0, bus = 0;
        if (!device || !text) return cudaErrorInvalidValue;
        if (std::sscanf(text, "%x:%x", &domain, &bus) != 2 || !is_device(static_cast<int>(bus) - 1))
          return cudaErrorInvalidDevice;
        *device = static_cast<int>(bus) - 1;
        return cudaSuccess;
      },
      kNoContext);
}

cudaError_t cudaDeviceSynchronize() {
  return api("cudaDeviceSynchronize", [&] {
    if (cudaError_t status = check_device_wait(current_device())) return status;
    note_wait(WaitKind::kDevice, current_device());
    finish_device(current_device());
    return state().sticky;
  });
}

cudaError_t cudaDeviceReset() {
  return api(
      "cudaDeviceReset",
      [&] {
        if (cudaError_t status = check_device_wait(current_device())) return status;
        finish_device(current_device());
        std::vector<Allocation*> mine;
        for (auto& [start, memory] : state().memory) {
          if (memory.kind == MemoryKind::kDevice && memory.device == current_device()) mine.push_back(&memory);
        }
        for (Allocation* memory : mine) delete_memory(*memory);
        return cudaSuccess;
      },
      kUnsafe);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return api(
      "cudaDeviceGetStreamPriorityRange",
      [&] {
        if (least) *least = kLeastPriority;
        if (greatest) *greatest = kGreatestPriority;
        return cudaSuccess;
      },
      kNoContext);
}

cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  return api("cudaDeviceSetLimit", [&] {
    if (limit < cudaLimitStackSize || limit > cudaLimitPersistingL2CacheSize) return cudaErrorUnsupportedLimit;
    device_state(current_device()).limits[limit] = value;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  return api("cudaDeviceGetLimit", [&] {
    if (!value) return cudaErrorInvalidValue;
    if (limit < cudaLimitStackSize || limit > cudaLimitPersistingL2CacheSize) return cudaErrorUnsupportedLimit;
    static constexpr size_t kDefaults[] = {1024, 1 << 20, 8 << 20, 2, 2048, 64, 0};
    const auto& limits = device_state(current_device()).limits;
    const auto found = limits.find(limit);
    *value = found == limits.end() ? kDefaults[limit] : found->second;
    return cudaSuccess;
  });
}

cudaError_t cudaSetDeviceFlags(unsigned int flags) {
  return api("cudaSetDeviceFlags", [&] {
    if (flags & ~static_cast<unsigned>(cudaDeviceMask)) return cudaErrorInvalidValue;
    device_state(current_device()).flags = flags;
    return cudaSuccess;
  });
}

cudaError_t cudaGetDeviceFlags(unsigned int* flags) {
  return api("cudaGetDeviceFlags", [&] {
    if (!flags) return cudaErrorInvalidValue;
    *flags = device_state(current_device()).flags | cudaDeviceMapHost;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) {
  return api("cudaDeviceSetCacheConfig", [] { return cudaSuccess; });
}

cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  return api("cudaDeviceGetCacheConfig", [&] {
    if (!config) return cudaErrorInvalidValue;
    *config = cudaFuncCachePreferNone;
    return cudaSuccess;
  });
}

cudaError_t cudaCtxResetPersistingL2Cache() {
  return api("cudaCtxResetPersistingL2Cache", [] { return cudaSuccess; });
}

cudaError_t cudaProfilerStart() {
  return api("cudaProfilerStart", [] { return cudaSuccess; });
}

cudaError_t cudaProfilerStop() {
  return api("cudaProfilerStop", [] { return cudaSuccess; });
}

}  // extern "C"
}  // namespace cuda_standin
