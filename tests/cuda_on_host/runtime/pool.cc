// Memory in the order of streams: pools, and what graphs allocate. Every allocation has addresses of its own, which are
// open between its turn and that of its release only.
#include <algorithm>

#include "tests/cuda_on_host/runtime/state.h"

namespace cuda_standin {
namespace {

Pool* find_pool(cudaMemPool_t pool, const char* call) {
  Pool* found = state().pools.find(pool);
  if (!found && pool) add_misuse(std::string(call) + ": a memory pool that was destroyed, or none");
  return found;
}

Pool& new_pool(int device, bool own) {
  auto made = std::make_unique<Pool>();
  made->device = device;
  made->own = own;
  Pool& pool = *made;
  state().pools.add(std::move(made));
  return pool;
}

void take(Pool& pool, size_t bytes) {
  pool.used += bytes;
  pool.reserved = std::max(pool.reserved, pool.used);
  pool.used_high = std::max(pool.used_high, pool.used);
  pool.reserved_high = std::max(pool.reserved_high, pool.reserved);
}

void trim(Pool& pool, uint64_t keep) {
  if (pool.reserved > keep) pool.reserved = std::max<size_t>(pool.used, keep);
}

// Whether so much can be had on the pool's device, if need be behind releases that are pending.
bool make_room(const Pool& pool, size_t bytes) {
  const auto fits = [&] { return bytes <= free_bytes(pool.device) + (pool.reserved - pool.used); };
  if (fits()) return true;
  finish_device(pool.device);
  drop_kept_bytes(pool.device);
  return fits();
}

cudaError_t allocate_in_graph(void** result, size_t bytes, const Pool& pool, Stream& stream) {
  if (stream.capture->broken) return cudaErrorStreamCaptureInvalidated;
  if (!make_room(pool, bytes)) return cudaErrorMemoryAllocation;
  auto graph_memory = std::make_shared<GraphMemory>();
  Allocation& memory = new_memory(MemoryKind::kPool, pool.device, bytes);
  memory.pool = pool.handle;
  memory.in_graph = true;
  memory.graph = graph_memory;
  graph_memory->start = memory.start;
  graph_memory->id = memory.id;
  Work work{.name = "cudaMallocAsync", .device = stream.device, .run = [graph_memory] {
              set_graph_memory(*graph_memory, true);
            }};
  *result = memory.start;
  return add_node(stream,
                  {.type = cudaGraphNodeTypeMemAlloc, .work = std::move(work), .memory = std::move(graph_memory)});
}

cudaError_t allocate(void** result, size_t bytes, Pool* pool, cudaStream_t named) {
  Stream* stream = find_stream(named, "cudaMallocAsync");
  if (!stream) return cudaErrorInvalidResourceHandle;
  if (!result || bytes == 0) return cudaErrorInvalidValue;
  if (!pool) pool = state().pools.find(device_state(stream->device).pool);
  if (cudaError_t status = check_legacy(*stream)) return status;
  if (stream->capture) return allocate_in_graph(result, bytes, *pool, *stream);
  if (!make_room(*pool, bytes)) return cudaErrorMemoryAllocation;
  Allocation& memory = new_memory(MemoryKind::kPool, pool->device, bytes);
  memory.pool = pool->handle;
  take(*pool, bytes);
  *result = memory.start;
  const auto open = [held = hold(memory.start)] {
    Allocation* found = find_memory(held.pointer);
    if (!found || found->id != held.id) return;  // cudaFree came first
    found->usable = true;
    update_protection(*found);
  };
  return submit(*stream, {.name = "cudaMallocAsync", .run = open});
}

cudaError_t release_in_graph(Allocation& memory, Stream& stream) {
  std::shared_ptr<GraphMemory> graph_memory = memory.graph.lock();
  Work work{.name = "cudaFreeAsync", .device = stream.device, .run = [graph_memory] {
              set_graph_memory(*graph_memory, false);
            }};
  if (stream.capture)
    return add_node(stream,
                    {.type = cudaGraphNodeTypeMemFree, .work = std::move(work), .memory = std::move(graph_memory)});
  if (!graph_memory->unfreed) {
    add_misuse("cudaFreeAsync: memory of a graph that is not allocated");
    return cudaErrorInvalidValue;
  }
  graph_memory->unfreed = false;
  return submit(stream, std::move(work));
}

cudaError_t release(void* pointer, cudaStream_t named) {
  Stream* stream = find_stream(named, "cudaFreeAsync");
  if (!stream) return cudaErrorInvalidResourceHandle;
  if (cudaError_t status = check_legacy(*stream)) return status;
  Allocation* memory = find_memory(pointer);
  if (!memory || memory->start != pointer || memory->kind != MemoryKind::kPool || memory->releasing) {
    add_misuse("cudaFreeAsync: an address that cudaMallocAsync did not give, or that was given back");
    return cudaErrorInvalidValue;
  }
  if (memory->in_graph) return release_in_graph(*memory, *stream);
  if (stream->capture) return cudaErrorInvalidValue;  // nodes release memory of graphs only
  memory->releasing = true;
  return submit(*stream, {.name = "cudaFreeAsync", .run = [held = hold(pointer)] {
                            if (Allocation* found = find_memory(held.pointer); found && found->id == held.id)
                              release_pool_memory(*found);
                          }});
}

cudaError_t get_attribute(const Pool& pool, cudaMemPoolAttr attribute, void* value) {
  auto* const number = static_cast<int*>(value);
  auto* const bytes = static_cast<uint64_t*>(value);
  switch (attribute) {
    case cudaMemPoolReuseFollowEventDependencies:
      *number = pool.follow_events;
      return cudaSuccess;
    case cudaMemPoolReuseAllowOpportunistic:
      *number = pool.opportunistic;
      return cudaSuccess;
    case cudaMemPoolReuseAllowInternalDependencies:
      *number = pool.internal_dependencies;
      return cudaSuccess;
    case cudaMemPoolAttrReleaseThreshold:
      *bytes = pool.release_threshold;
      return cudaSuccess;
    case cudaMemPoolAttrReservedMemCurrent:
      *bytes = pool.reserved;
      return cudaSuccess;
    case cudaMemPoolAttrReservedMemHigh:
      *bytes = pool.reserved_high;
      return cudaSuccess;
    case cudaMemPoolAttrUsedMemCurrent:
      *bytes = pool.used;
      return cudaSuccess;
    case cudaMemPoolAttrUsedMemHigh:
      *bytes = pool.used_high;
      return cudaSuccess;
  }
  return cudaErrorInvalidValue;
}

cudaError_t set_attribute(Pool& pool, cudaMemPoolAttr attribute, const void* value) {
  const auto* const number = static_cast<const int*>(value);
  const auto* const bytes = static_cast<const uint64_t*>(value);
  switch (attribute) {
    case cudaMemPoolReuseFollowEventDependencies:
      pool.follow_events = *number;
      return cudaSuccess;
    case cudaMemPoolReuseAllowOpportunistic:
      pool.opportunistic = *number;
      return cudaSuccess;
    case cudaMemPoolReuseAllowInternalDependencies:
      pool.internal_dependencies = *number;
      return cudaSuccess;
    case cudaMemPoolAttrReleaseThreshold:
      pool.release_threshold = *bytes;
      return cudaSuccess;
    case cudaMemPoolAttrReservedMemHigh:
      if (*bytes != 0) return cudaErrorInvalidValue;
      pool.reserved_high = pool.reserved;
      return cudaSuccess;
    case cudaMemPoolAttrUsedMemHigh:
      if (*bytes != 0) return cudaErrorInvalidValue;
      pool.used_high = pool.used;
      return cudaSuccess;
    default:
      return cudaErrorInvalidValue;
  }
}

cudaError_t create(cudaMemPool_t* result, const cudaMemPoolProps* properties) {
  if (!result || !properties || properties->allocType != cudaMemAllocationTypePinned) return cudaErrorInvalidValue;
  if (properties->location.type != cudaMemLocationTypeDevice || properties->handleTypes != cudaMemHandleTypeNone)
    return cudaErrorNotSupported;
  if (!is_device(properties->location.id)) return cudaErrorInvalidDevice;
  *result = new_pool(properties->location.id, true).handle;
  return cudaSuccess;
}

cudaError_t destroy(cudaMemPool_t named) {
  Pool* pool = find_pool(named, "cudaMemPoolDestroy");
  if (!pool || !pool->own) return cudaErrorInvalidValue;
  Device& device = device_state(pool->device);
  if (device.pool == named) device.pool = device.default_pool;
  // What is allocated stays, and counts as the default pool's from here on.
  Pool& heir = *state().pools.find(device.default_pool);
  for (auto& [start, memory] : state().memory) {
    if (memory.pool == named) memory.pool = heir.handle;
  }
  if (pool->used > 0) take(heir, pool->used);
  state().pools.erase(named);
  return cudaSuccess;
}

cudaError_t set_access(cudaMemPool_t named, const cudaMemAccessDesc* list, size_t count) {
  Pool* pool = find_pool(named, "cudaMemPoolSetAccess");
  if (!pool || (count > 0 && !list)) return cudaErrorInvalidValue;
  std::set<int> peers = pool->peers;
  for (size_t i = 0; i < count; ++i) {
    if (list[i].location.type != cudaMemLocationTypeDevice || !is_device(list[i].location.id))
      return cudaErrorInvalidDevice;
    const int device = list[i].location.id;
    if (list[i].flags == cudaMemAccessFlagsProtNone) {
      if (device == pool->device) return cudaErrorInvalidValue;
      peers.erase(device);
    } else if (device != pool->device) {
      if (!state().options.peer_access) return cudaErrorPeerAccessUnsupported;
      peers.insert(device);
    }
  }
  pool->peers = std::move(peers);
  return cudaSuccess;
}

cudaError_t device_of(const cudaMemLocation* location, cudaMemAllocationType type, int& device) {
  if (!location) return cudaErrorInvalidValue;
  if (location->type != cudaMemLocationTypeDevice || type != cudaMemAllocationTypePinned) return cudaErrorNotSupported;
  device = location->id;
  return is_device(device) ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t set_device_pool(int device, cudaMemPool_t named) {
  Pool* pool = find_pool(named, "cudaDeviceSetMemPool");
  if (!pool || pool->device != device) return cudaErrorInvalidValue;
  device_state(device).pool = named;
  return cudaSuccess;
}

}  // namespace

void make_default_pools() {
  for (int i = 0; i < state().options.devices; ++i) {
    device_state(i).default_pool = device_state(i).pool = new_pool(i, false).handle;
  }
}

void set_graph_memory(const GraphMemory& graph_memory, bool usable) {
  Allocation* memory = find_memory(graph_memory.start);
  memory->usable = usable;
  if (usable) map_pages(memory->pages, memory->page_bytes, 0);  // nothing of an earlier launch is left
  update_protection(*memory);
}

size_t kept_bytes(int device) {
  size_t kept = 0;
  for (const auto& [handle, pool] : state().pools) {
    if (pool->device == device) kept += pool->reserved - pool->used;
  }
  return kept;
}

void drop_kept_bytes(int device) {
  for (const auto& [handle, pool] : state().pools) {
    if (pool->device == device) trim(*pool, 0);
  }
}

void trim_pools(int device) {
  for (const auto& [handle, pool] : state().pools) {
    if (pool->device == device) trim(*pool, pool->release_threshold);
  }
}

cudaError_t release_pool_memory(Allocation& memory) {
  if (memory.in_graph) {
    std::shared_ptr<GraphMemory> graph_memory = memory.graph.lock();
    if (!graph_memory->unfreed) return cudaErrorInvalidValue;
    graph_memory->unfreed = false;
    set_graph_memory(*graph_memory, false);
    return cudaSuccess;
  }
  state().pools.find(memory.pool)->used -= memory.bytes;
  delete_memory(memory);
  return cudaSuccess;
}

extern "C" {

cudaError_t cudaMallocAsync(void** result, size_t bytes, cudaStream_t stream) {
  return api("cudaMallocAsync", [&] { return allocate(result, bytes, nullptr, stream); });
}

cudaError_t cudaMallocFromPoolAsync(void** result, size_t bytes, cudaMemPool_t named, cudaStream_t stream) {
  return api("cudaMallocFromPoolAsync", [&] {
    Pool* pool = find_pool(named, "cudaMallocFromPoolAsync");
    return pool ? allocate(result, bytes, pool, stream) : cudaErrorInvalidValue;
  });
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  return api(
      "cudaFreeAsync", [&] { return release(pointer, stream); }, kReleases);
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* result, const cudaMemPoolProps* properties) {
  return api("cudaMemPoolCreate", [&] { return create(result, properties); });
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  return api(
      "cudaMemPoolDestroy", [&] { return destroy(pool); }, kReleases);
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t named, size_t keep) {
  return api("cudaMemPoolTrimTo", [&] {
    Pool* pool = find_pool(named, "cudaMemPoolTrimTo");
    if (!pool) return cudaErrorInvalidValue;
    trim(*pool, keep);
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t named, cudaMemPoolAttr attribute, void* value) {
  return api("cudaMemPoolGetAttribute", [&] {
    Pool* pool = find_pool(named, "cudaMemPoolGetAttribute");
    return pool && value ? get_attribute(*pool, attribute, value) : cudaErrorInvalidValue;
  });
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t named, cudaMemPoolAttr attribute, void* value) {
  return api("cudaMemPoolSetAttribute", [&] {
    Pool* pool = find_pool(named, "cudaMemPoolSetAttribute");
    return pool && value ? set_attribute(*pool, attribute, value) : cudaErrorInvalidValue;
  });
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* list, size_t count) {
  return api("cudaMemPoolSetAccess", [&] { return set_access(pool, list, count); });
}

cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t named, cudaMemLocation* location) {
  return api("cudaMemPoolGetAccess", [&] {
    Pool* pool = find_pool(named, "cudaMemPoolGetAccess");
    if (!pool || !flags || !location || location->type != cudaMemLocationTypeDevice) return cudaErrorInvalidValue;
    const bool may = location->id == pool->device || pool->peers.contains(location->id);
    *flags = may ? cudaMemAccessFlagsProtReadWrite : cudaMemAccessFlagsProtNone;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return api("cudaDeviceGetDefaultMemPool", [&] {
    if (!is_device(device)) return cudaErrorInvalidDevice;
    if (!pool) return cudaErrorInvalidValue;
    *pool = device_state(device).default_pool;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  return api("cudaDeviceGetMemPool", [&] {
    if (!is_device(device)) return cudaErrorInvalidDevice;
    if (!pool) return cudaErrorInvalidValue;
    *pool = device_state(device).pool;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  return api("cudaDeviceSetMemPool",
             [&] { return is_device(device) ? set_device_pool(device, pool) : cudaErrorInvalidDevice; });
}

cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t* pool, cudaMemLocation* location, cudaMemAllocationType type) {
  return api("cudaMemGetDefaultMemPool", [&] {
    int device = 0;
    if (cudaError_t status = device_of(location, type, device)) return status;
    if (!pool) return cudaErrorInvalidValue;
    *pool = device_state(device).default_pool;
    return cudaSuccess;
  });
}

cudaError_t cudaMemGetMemPool(cudaMemPool_t* pool, cudaMemLocation* location, cudaMemAllocationType type) {
  return api("cudaMemGetMemPool", [&] {
    int device = 0;
    if (cudaError_t status = device_of(location, type, device)) return status;
    if (!pool) return cudaErrorInvalidValue;
    *pool = device_state(device).pool;
    return cudaSuccess;
  });
}

cudaError_t cudaMemSetMemPool(cudaMemLocation* location, cudaMemAllocationType type, cudaMemPool_t pool) {
  return api("cudaMemSetMemPool", [&] {
    int device = 0;
    if (cudaError_t status = device_of(location, type, device)) return status;
    return set_device_pool(device, pool);
  });
}

cudaError_t cudaDeviceGraphMemTrim(int device) {
  return api("cudaDeviceGraphMemTrim", [&] { return is_device(device) ? cudaSuccess : cudaErrorInvalidDevice; });
}

cudaError_t cudaMemPoolExportToShareableHandle(void*, cudaMemPool_t, cudaMemAllocationHandleType, unsigned int) {
  return api("cudaMemPoolExportToShareableHandle", [] { return cudaErrorNotSupported; });
}

cudaError_t cudaMemPoolImportFromShareableHandle(cudaMemPool_t*, void*, cudaMemAllocationHandleType, unsigned int) {
  return api("cudaMemPoolImportFromShareableHandle", [] { return cudaErrorNotSupported; });
}

}  // extern "C"
}  // namespace cuda_standin
