// Memory of devices and pinned memory: given, taken back, asked about.
#include "tests/cuda_on_host/runtime/state.h"

namespace cuda_standin {
namespace {

cudaError_t allocate(void** result, size_t bytes) {
  if (!result) return cudaErrorInvalidValue;
  *result = nullptr;
  if (bytes == 0) return cudaSuccess;
  if (bytes > free_bytes(current_device())) drop_kept_bytes(current_device());
  if (bytes > free_bytes(current_device())) return cudaErrorMemoryAllocation;
  *result = new_memory(MemoryKind::kDevice, current_device(), bytes).start;
  return cudaSuccess;
}

cudaError_t allocate_host(void** result, size_t bytes, unsigned flags) {
  if (!result) return cudaErrorInvalidValue;
  if (flags & ~static_cast<unsigned>(cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined))
    return cudaErrorInvalidValue;
  *result = nullptr;
  if (bytes == 0) return cudaSuccess;
  Allocation& memory = new_memory(MemoryKind::kHost, current_device(), bytes);
  memory.flags = flags;
  *result = memory.start;
  return cudaSuccess;
}

Allocation* starts_at(const void* pointer) {
  const auto it = state().memory.find(static_cast<char*>(const_cast<void*>(pointer)));
  return it == state().memory.end() ? nullptr : &it->second;
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** result, size_t bytes) {
  return api(
      "cudaMalloc", [&] { return allocate(result, bytes); }, kUnsafe);
}

cudaError_t cudaMallocPitch(void** result, size_t* pitch, size_t width, size_t height) {
  return api(
      "cudaMallocPitch",
      [&] {
        if (!pitch) return cudaErrorInvalidValue;
        *pitch = (width + 511) / 512 * 512;
        return allocate(result, *pitch * height);
      },
      kUnsafe);
}

cudaError_t cudaMallocManaged(void**, size_t, unsigned int) {
  return api(
      "cudaMallocManaged", [] { return cudaErrorNotSupported; }, kUnsafe);
}

cudaError_t cudaFree(void* pointer) {
  return api(
      "cudaFree",
      [&] {
        if (!pointer) return cudaSuccess;
        Allocation* memory = starts_at(pointer);
        if (!memory || (memory->kind != MemoryKind::kDevice && memory->kind != MemoryKind::kPool)) {
          add_misuse("cudaFree: an address that was not given, or was given back");
          return cudaErrorInvalidValue;
        }
        if (memory->releasing) {
          add_misuse("cudaFree: memory that cudaFreeAsync was given");
          return cudaErrorInvalidValue;
        }
        if (memory->imports > 0) add_misuse("cudaFree: memory that cudaIpcOpenMemHandle gave and nobody closed");
        if (memory->shared && memory->shared->event().openers > 0)
          add_misuse("cudaFree: memory that another process has open");
        finish_device(memory->device);
        if (memory->kind == MemoryKind::kPool) return release_pool_memory(*memory);
        delete_memory(*memory);
        return cudaSuccess;
      },
      kUnsafe | kReleases);
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return api("cudaMemGetInfo", [&] {
    if (!free || !total) return cudaErrorInvalidValue;
    *free = free_bytes(current_device());
    *total = state().options.memory_bytes;
    return cudaSuccess;
  });
}

cudaError_t cudaHostAlloc(void** result, size_t bytes, unsigned int flags) {
  return api(
      "cudaHostAlloc", [&] { return allocate_host(result, bytes, flags); }, kUnsafe);
}

cudaError_t cudaMallocHost(void** result, size_t bytes) {
  return api(
      "cudaMallocHost", [&] { return allocate_host(result, bytes, cudaHostAllocDefault); }, kUnsafe);
}

cudaError_t cudaFreeHost(void* pointer) {
  return api(
      "cudaFreeHost",
      [&] {
        if (!pointer) return cudaSuccess;
        Allocation* memory = starts_at(pointer);
        if (!memory || memory->kind != MemoryKind::kHost) {
          add_misuse("cudaFreeHost: an address that was not given, or was given back");
          return cudaErrorInvalidValue;
        }
        finish_everything();
        delete_memory(*memory);
        return cudaSuccess;
      },
      kUnsafe | kReleases);
}

cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned int flags) {
  return api(
      "cudaHostRegister",
      [&] {
        constexpr unsigned kFlags =
            cudaHostRegisterPortable | cudaHostRegisterMapped | cudaHostRegisterIoMemory | cudaHostRegisterReadOnly;
        if (!pointer || bytes == 0 || (flags & ~kFlags)) return cudaErrorInvalidValue;
        if (flags & (cudaHostRegisterIoMemory | cudaHostRegisterReadOnly)) return cudaErrorNotSupported;
        auto* const start = static_cast<char*>(pointer);
        const auto next = state().memory.lower_bound(start);
        if (find_memory(pointer) || (next != state().memory.end() && next->first < start + bytes))
          return cudaErrorHostMemoryAlreadyRegistered;
        Allocation memory;
        memory.id = state().next_id++;
        memory.kind = MemoryKind::kRegistered;
        memory.device = current_device();
        memory.start = start;
        memory.bytes = bytes;
        memory.flags = flags;
        state().memory.emplace(start, std::move(memory));
        return cudaSuccess;
      },
      kUnsafe);
}

cudaError_t cudaHostUnregister(void* pointer) {
  return api(
      "cudaHostUnregister",
      [&] {
        if (!pointer) return cudaErrorInvalidValue;
        Allocation* memory = starts_at(pointer);
        if (!memory || memory->kind != MemoryKind::kRegistered) return cudaErrorHostMemoryNotRegistered;
        finish_everything();
        delete_memory(*memory);
        return cudaSuccess;
      },
      kUnsafe | kReleases);
}

cudaError_t cudaHostGetDevicePointer(void** result, void* pointer, unsigned int flags) {
  return api("cudaHostGetDevicePointer", [&] {
    if (!result || flags != 0) return cudaErrorInvalidValue;
    const Allocation* memory = find_memory(pointer);
    if (!memory || !memory->on_host()) return cudaErrorInvalidValue;
    *result = pointer;
    return cudaSuccess;
  });
}

cudaError_t cudaHostGetFlags(unsigned int* flags, void* pointer) {
  return api("cudaHostGetFlags", [&] {
    if (!flags) return cudaErrorInvalidValue;
    const Allocation* memory = find_memory(pointer);
    if (!memory || memory->kind != MemoryKind::kHost) return cudaErrorInvalidValue;
    *flags = memory->flags | cudaHostAllocMapped;  // with unified addressing all pinned memory is
    return cudaSuccess;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  return api(
      "cudaPointerGetAttributes",
      [&] {
        if (!attributes) return cudaErrorInvalidValue;
        *attributes = {};
        auto* const address = const_cast<void*>(pointer);
        const Allocation* memory = find_memory(pointer);
        if (!memory) {
          attributes->type = cudaMemoryTypeUnregistered;
          attributes->device = cudaInvalidDeviceId;
          attributes->hostPointer = was_given(pointer) ? nullptr : address;
          return cudaSuccess;
        }
        attributes->type = memory->on_host() ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
        attributes->device = memory->device;
        attributes->devicePointer = accessible_from(*memory, current_device()) ? address : nullptr;
        attributes->hostPointer = memory->on_host() ? address : nullptr;
        return cudaSuccess;
      },
      kNoContext);
}

}  // extern "C"
}  // namespace cuda_standin
