// The driver's functions, which programs reach through cudaGetDriverEntryPoint.
#include <cuda.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "tests/cuda_on_host/runtime/state.h"

namespace cuda_standin {
namespace {

constexpr size_t kGranularity = size_t{2} << 20;

// Both have the same numbers for what they share.
template <class Body>
CUresult driver(const char* name, Body&& body, unsigned rules = kPlain) {
  return static_cast<CUresult>(api(name, std::forward<Body>(body), rules | kDriver | kNoContext));
}

char* address(CUdeviceptr pointer) {
  return reinterpret_cast<char*>(pointer);
}

// --- memory ---

cudaError_t check_properties(const CUmemAllocationProp* properties) {
  if (!properties || properties->type != CU_MEM_ALLOCATION_TYPE_PINNED) return cudaErrorInvalidValue;
  if (properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return cudaErrorNotSupported;
  return is_device(properties->location.id) ? cudaSuccess : cudaErrorInvalidDevice;
}

CUresult get_granularity(size_t* granularity, const CUmemAllocationProp* properties, CUmemAllocationGranularity_flags) {
  return driver("cuMemGetAllocationGranularity", [&] {
    if (!granularity) return cudaErrorInvalidValue;
    if (cudaError_t status = check_properties(properties)) return status;
    *granularity = kGranularity;
    return cudaSuccess;
  });
}

CUresult reserve(CUdeviceptr* result, size_t bytes, size_t alignment, CUdeviceptr, unsigned long long flags) {
  return driver("cuMemAddressReserve", [&] {
    if (!result || bytes == 0 || bytes % kGranularity != 0 || (alignment & (alignment - 1)) || flags != 0)
      return cudaErrorInvalidValue;
    char* const start = reserve_pages(bytes, std::max(alignment, kGranularity));
    if (!start) return cudaErrorMemoryAllocation;
    state().reservations[start] = {bytes};
    *result = reinterpret_cast<CUdeviceptr>(start);
    return cudaSuccess;
  });
}

CUresult free_reservation(CUdeviceptr pointer, size_t bytes) {
  return driver(
      "cuMemAddressFree",
      [&] {
        const auto found = state().reservations.find(address(pointer));
        if (found == state().reservations.end() || found->second.bytes != bytes) return cudaErrorInvalidValue;
        const auto mapped = state().memory.lower_bound(address(pointer));
        if (mapped != state().memory.end() && mapped->first < address(pointer) + bytes) {
          add_misuse("cuMemAddressFree: memory is mapped there");
          return cudaErrorInvalidValue;
        }
        state().reservations.erase(found);
        return cudaSuccess;
      },
      kReleases);
}

CUresult create(CUmemGenericAllocationHandle* result, size_t bytes, const CUmemAllocationProp* properties,
                unsigned long long flags) {
  return driver(
      "cuMemCreate",
      [&] {
        if (!result || bytes == 0 || bytes % kGranularity != 0 || flags != 0) return cudaErrorInvalidValue;
        if (cudaError_t status = check_properties(properties)) return status;
        if (properties->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE) return cudaErrorNotSupported;
        const int device = properties->location.id;
        if (bytes > free_bytes(device)) drop_kept_bytes(device);
        if (bytes > free_bytes(device)) return cudaErrorMemoryAllocation;
        Physical physical;
        physical.device = device;
        physical.bytes = bytes;
        physical.file = memfd_create("cuda_standin", MFD_CLOEXEC);
        if (physical.file < 0 || ftruncate(physical.file, static_cast<off_t>(bytes)) != 0)
          return cudaErrorMemoryAllocation;
        void* filled = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, physical.file, 0);
        if (filled == MAP_FAILED) {
          close(physical.file);
          return cudaErrorMemoryAllocation;
        }
        std::memset(filled, 0xFF, bytes);
        munmap(filled, bytes);
        device_state(device).used += bytes;
        const uint64_t handle = state().next_id++;
        state().physical[handle] = physical;
        *result = handle;
        return cudaSuccess;
      },
      kUnsafe);
}

void drop_unused(uint64_t handle) {
  const auto found = state().physical.find(handle);
  if (found->second.references > 0 || found->second.mappings > 0) return;
  device_state(found->second.device).used -= found->second.bytes;
  close(found->second.file);
  state().physical.erase(found);
}

CUresult release(CUmemGenericAllocationHandle handle) {
  return driver(
      "cuMemRelease",
      [&] {
        const auto found = state().physical.find(handle);
        if (found == state().physical.end() || found->second.references == 0) {
          add_misuse("cuMemRelease: a handle that was released, or none");
          return cudaErrorInvalidValue;
        }
        --found->second.references;
        drop_unused(handle);
        return cudaSuccess;
      },
      kUnsafe | kReleases);
}

CUresult map(CUdeviceptr pointer, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
             unsigned long long flags) {
  return driver(
      "cuMemMap",
      [&] {
        char* const start = address(pointer);
        const auto physical = state().physical.find(handle);
        if (physical == state().physical.end() || physical->second.references == 0) return cudaErrorInvalidValue;
        if (bytes == 0 || bytes % kGranularity != 0 || pointer % kGranularity != 0 || offset != 0 || flags != 0 ||
            bytes > physical->second.bytes) {
          return cudaErrorInvalidValue;
        }
        auto reservation = state().reservations.upper_bound(start);
        if (reservation == state().reservations.begin()) return cudaErrorInvalidValue;
        --reservation;
        if (start + bytes > reservation->first + reservation->second.bytes) return cudaErrorInvalidValue;
        const auto next = state().memory.lower_bound(start);
        if (find_memory(start) || (next != state().memory.end() && next->first < start + bytes))
          return cudaErrorInvalidValue;
        if (mmap(start, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, physical->second.file, 0) == MAP_FAILED)
          return cudaErrorMemoryAllocation;
        Allocation memory;
        memory.id = state().next_id++;
        memory.kind = MemoryKind::kMapped;
        memory.device = physical->second.device;
        memory.start = memory.pages = start;
        memory.bytes = memory.page_bytes = bytes;
        memory.physical = handle;
        state().memory.emplace(start, std::move(memory));
        ++physical->second.mappings;
        return cudaSuccess;
      },
      kUnsafe);
}

// The mappings that make up a range exactly; none where it is not made up so.
std::vector<Allocation*> mappings(char* start, size_t bytes) {
  std::vector<Allocation*> found;
  for (char* at = start; at < start + bytes; at = found.back()->start + found.back()->bytes) {
    const auto next = state().memory.find(at);
    if (next == state().memory.end() || next->second.kind != MemoryKind::kMapped ||
        at + next->second.bytes > start + bytes)
      return {};
    found.push_back(&next->second);
  }
  return found;
}

CUresult unmap(CUdeviceptr pointer, size_t bytes) {
  return driver(
      "cuMemUnmap",
      [&] {
        const std::vector<Allocation*> found = mappings(address(pointer), bytes);
        if (found.empty()) return cudaErrorInvalidValue;
        for (Allocation* memory : found) {
          const uint64_t handle = memory->physical;
          delete_memory(*memory);
          --state().physical.at(handle).mappings;
          drop_unused(handle);
        }
        return cudaSuccess;
      },
      kUnsafe | kReleases);
}

CUresult set_access(CUdeviceptr pointer, size_t bytes, const CUmemAccessDesc* list, size_t count) {
  return driver(
      "cuMemSetAccess",
      [&] {
        const std::vector<Allocation*> found = mappings(address(pointer), bytes);
        if (found.empty() || !list || count == 0) return cudaErrorInvalidValue;
        for (size_t i = 0; i < count; ++i) {
          if (list[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE) return cudaErrorNotSupported;
          if (!is_device(list[i].location.id)) return cudaErrorInvalidDevice;
          if (list[i].location.id != found.front()->device && !state().options.peer_access)
            return cudaErrorInvalidDevice;
        }
        for (Allocation* memory : found) {
          for (size_t i = 0; i < count; ++i) {
            std::erase(memory->accessible_from, list[i].location.id);
            if (list[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE) memory->accessible_from.push_back(list[i].location.id);
          }
          update_protection(*memory);
        }
        return cudaSuccess;
      },
      kUnsafe);
}

CUresult export_handle(void*, CUmemGenericAllocationHandle, CUmemAllocationHandleType, unsigned long long) {
  return driver("cuMemExportToShareableHandle", [] { return cudaErrorNotSupported; });
}

CUresult import_handle(CUmemGenericAllocationHandle*, void*, CUmemAllocationHandleType) {
  return driver("cuMemImportFromShareableHandle", [] { return cudaErrorNotSupported; });
}

CUresult address_range(CUdeviceptr* base, size_t* bytes, CUdeviceptr pointer) {
  return driver("cuMemGetAddressRange", [&] {
    const Allocation* memory = find_memory(address(pointer));
    if (!memory) return cudaErrorInvalidValue;
    if (base) *base = reinterpret_cast<CUdeviceptr>(memory->start);
    if (bytes) *bytes = memory->bytes;
    return cudaSuccess;
  });
}

// --- devices and contexts ---

// A device's primary context, the only one it has; its name is a number.
CUcontext context_of(int device) {
  return reinterpret_cast<CUcontext>(kFirstHandle + 1 + static_cast<uintptr_t>(device));
}

bool find_context(CUcontext context, int& device) {
  device = static_cast<int>(reinterpret_cast<uintptr_t>(context) - kFirstHandle) - 1;
  return is_device(device) && context_of(device) == context;
}

CUresult init(unsigned flags) {
  return driver("cuInit", [&] { return flags == 0 ? cudaSuccess : cudaErrorInvalidValue; });
}

CUresult driver_version(int* version) {
  return static_cast<CUresult>(cudaDriverGetVersion(version));
}

CUresult device_count(int* count) {
  return static_cast<CUresult>(cudaGetDeviceCount(count));
}

CUresult get_device(CUdevice* device, int ordinal) {
  return driver("cuDeviceGet", [&] {
    if (!device) return cudaErrorInvalidValue;
    if (!is_device(ordinal)) return cudaErrorInvalidDevice;
    *device = ordinal;
    return cudaSuccess;
  });
}

CUresult device_name(char* name, int length, CUdevice device) {
  cudaDeviceProp properties;
  if (!name || length <= 0) return CUDA_ERROR_INVALID_VALUE;
  const cudaError_t status = cudaGetDeviceProperties(&properties, device);
  if (status == cudaSuccess) std::snprintf(name, static_cast<size_t>(length), "%s", properties.name);
  return static_cast<CUresult>(status);
}

CUresult device_attribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  if (attribute == CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) {
    return driver("cuDeviceGetAttribute", [&] {
      if (!value) return cudaErrorInvalidValue;
      *value = 1;
      return is_device(device) ? cudaSuccess : cudaErrorInvalidDevice;
    });
  }
  return static_cast<CUresult>(cudaDeviceGetAttribute(value, static_cast<cudaDeviceAttr>(attribute), device));
}

CUresult primary_state(CUdevice device, unsigned* flags, int* active) {
  return driver("cuDevicePrimaryCtxGetState", [&] {
    if (!flags || !active) return cudaErrorInvalidValue;
    if (!is_device(device)) return cudaErrorInvalidDevice;
    *flags = device_state(device).flags;
    *active = device_state(device).active;
    return cudaSuccess;
  });
}

CUresult primary_retain(CUcontext* context, CUdevice device) {
  return driver("cuDevicePrimaryCtxRetain", [&] {
    if (!context) return cudaErrorInvalidValue;
    if (!is_device(device)) return cudaErrorInvalidDevice;
    device_state(device).active = true;
    *context = context_of(device);
    return cudaSuccess;
  });
}

CUresult primary_release(CUdevice device) {
  return driver(
      "cuDevicePrimaryCtxRelease", [&] { return is_device(device) ? cudaSuccess : cudaErrorInvalidDevice; }, kReleases);
}

CUresult current_context(CUcontext* context) {
  return driver("cuCtxGetCurrent", [&] {
    if (!context) return cudaErrorInvalidValue;
    *context = device_state(current_device()).active ? context_of(current_device()) : nullptr;
    return cudaSuccess;
  });
}

CUresult set_context(CUcontext context) {
  return driver("cuCtxSetCurrent", [&] {
    int device = 0;
    if (!find_context(context, device)) return cudaErrorDeviceUninitialized;
    thread_state().device = device;
    return cudaSuccess;
  });
}

CUresult context_device(CUdevice* device) {
  return driver("cuCtxGetDevice", [&] {
    if (!device) return cudaErrorInvalidValue;
    *device = current_device();
    return device_state(current_device()).active ? cudaSuccess : cudaErrorDeviceUninitialized;
  });
}

CUresult context_synchronize() {
  return static_cast<CUresult>(cudaDeviceSynchronize());
}

// --- errors ---

struct ErrorName {
  CUresult code;
  const char* name;
};
#define KD_NAME(code) \
  { code, #code }
constexpr ErrorName kNames[] = {
    KD_NAME(CUDA_SUCCESS),
    KD_NAME(CUDA_ERROR_INVALID_VALUE),
    KD_NAME(CUDA_ERROR_OUT_OF_MEMORY),
    KD_NAME(CUDA_ERROR_NOT_INITIALIZED),
    KD_NAME(CUDA_ERROR_DEINITIALIZED),
    KD_NAME(CUDA_ERROR_NO_DEVICE),
    KD_NAME(CUDA_ERROR_INVALID_DEVICE),
    KD_NAME(CUDA_ERROR_INVALID_CONTEXT),
    KD_NAME(CUDA_ERROR_INVALID_HANDLE),
    KD_NAME(CUDA_ERROR_ILLEGAL_STATE),
    KD_NAME(CUDA_ERROR_NOT_FOUND),
    KD_NAME(CUDA_ERROR_NOT_READY),
    KD_NAME(CUDA_ERROR_ILLEGAL_ADDRESS),
    KD_NAME(CUDA_ERROR_LAUNCH_FAILED),
    KD_NAME(CUDA_ERROR_NOT_PERMITTED),
    KD_NAME(CUDA_ERROR_NOT_SUPPORTED),
    KD_NAME(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED),
    KD_NAME(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED),
    KD_NAME(CUDA_ERROR_UNKNOWN),
};
#undef KD_NAME

CUresult error_name(CUresult code, const char** name) {
  for (const ErrorName& known : kNames) {
    if (known.code != code) continue;
    *name = known.name;
    return CUDA_SUCCESS;
  }
  *name = nullptr;
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult error_string(CUresult code, const char** text) {
  const char* name = nullptr;
  const CUresult status = error_name(code, &name);
  *text = status == CUDA_SUCCESS ? cudaGetErrorString(static_cast<cudaError_t>(code)) : nullptr;
  return status;
}

// --- how they are found ---

struct EntryPoint {
  std::string_view name;
  void* function;
  unsigned since;  // the version that brought it
};
template <class Function>
EntryPoint entry(std::string_view name, Function* function, unsigned since) {
  return {name, reinterpret_cast<void*>(function), since};
}

const EntryPoint* find_entry(std::string_view name) {
  static const EntryPoint kEntries[] = {
      entry("cuMemGetAllocationGranularity", get_granularity, 10020),
      entry("cuMemAddressReserve", reserve, 10020),
      entry("cuMemAddressFree", free_reservation, 10020),
      entry("cuMemCreate", create, 10020),
      entry("cuMemRelease", release, 10020),
      entry("cuMemMap", map, 10020),
      entry("cuMemUnmap", unmap, 10020),
      entry("cuMemSetAccess", set_access, 10020),
      entry("cuMemExportToShareableHandle", export_handle, 10020),
      entry("cuMemImportFromShareableHandle", import_handle, 10020),
      entry("cuMemGetAddressRange", address_range, 3020),
      entry("cuInit", init, 2000),
      entry("cuDriverGetVersion", driver_version, 2020),
      entry("cuDeviceGetCount", device_count, 2000),
      entry("cuDeviceGet", get_device, 2000),
      entry("cuDeviceGetName", device_name, 2000),
      entry("cuDeviceGetAttribute", device_attribute, 2000),
      entry("cuDevicePrimaryCtxGetState", primary_state, 7000),
      entry("cuDevicePrimaryCtxRetain", primary_retain, 7000),
      entry("cuDevicePrimaryCtxRelease", primary_release, 7000),
      entry("cuCtxGetCurrent", current_context, 4000),
      entry("cuCtxSetCurrent", set_context, 4000),
      entry("cuCtxGetDevice", context_device, 2000),
      entry("cuCtxSynchronize", context_synchronize, 2000),
      entry("cuGetErrorName", error_name, 6000),
      entry("cuGetErrorString", error_string, 6000),
  };
  for (const EntryPoint& known : kEntries) {
    if (known.name == name) return &known;
  }
  return nullptr;
}

cudaError_t find_function(const char* symbol, void** function, unsigned version, unsigned long long flags,
                          cudaDriverEntryPointQueryResult* result) {
  if (!symbol || !function || flags > cudaEnablePerThreadDefaultStream) return cudaErrorInvalidValue;
  const EntryPoint* found = find_entry(symbol);
  const bool usable = found && found->since <= version;
  *function = usable ? found->function : nullptr;
  if (result) {
    *result = usable  ? cudaDriverEntryPointSuccess
              : found ? cudaDriverEntryPointVersionNotSufficent
                      : cudaDriverEntryPointSymbolNotFound;
  }
  return cudaSuccess;
}

}  // namespace

void clear_virtual_memory() {
  for (const auto& [handle, physical] : state().physical) close(physical.file);
  state().physical.clear();
  state().reservations.clear();
}

extern "C" {

cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* result) {
  return api(
      "cudaGetDriverEntryPoint", [&] { return find_function(symbol, function, CUDART_VERSION, flags, result); },
      kNoContext);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned int version,
                                             unsigned long long flags, cudaDriverEntryPointQueryResult* result) {
  return api(
      "cudaGetDriverEntryPointByVersion", [&] { return find_function(symbol, function, version, flags, result); },
      kNoContext);
}

}  // extern "C"
}  // namespace cuda_standin
