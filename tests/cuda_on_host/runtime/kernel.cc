// Kernels: launched, asked about.
#include <algorithm>

#include "tests/cuda_on_host/runtime/limits.h"
#include "tests/cuda_on_host/runtime/state.h"
#include "tests/cuda_on_host/simt/simt.h"

namespace cuda_standin {
namespace {

size_t dynamic_shared_limit(const void* kernel) {
  const auto& limits = state().dynamic_shared_limits;
  const auto found = limits.find(kernel);
  return found == limits.end() ? kSharedPerBlock : static_cast<size_t>(found->second);
}

bool is_shape(const dim3& grid, const dim3& block) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.y == 0 || block.z == 0) return false;
  if (grid.x > static_cast<unsigned>(kGridX) || grid.y > static_cast<unsigned>(kGridYZ) ||
      grid.z > static_cast<unsigned>(kGridYZ))
    return false;
  if (block.x > static_cast<unsigned>(kThreadsPerBlock) || block.y > static_cast<unsigned>(kThreadsPerBlock) ||
      block.z > static_cast<unsigned>(kBlockZ))
    return false;
  return uint64_t{block.x} * block.y * block.z <= static_cast<uint64_t>(kThreadsPerBlock);
}

// Reports arguments that the device could not use. A pointer just behind memory is what an empty slice has.
std::vector<Held> check_arguments(const std::string& name, const simt::BoundKernel& bound, int device) {
  std::vector<Held> held;
  for (const simt::PointerArgument& argument : bound.pointers) {
    const char* pointer = static_cast<const char*>(argument.value);
    if (!pointer) continue;
    const Allocation* memory = find_memory(pointer);
    if (!memory && find_memory(pointer - 1)) continue;
    const std::string place = name + ": argument " + std::to_string(argument.index);
    if (!memory) {
      add_misuse(place + (was_given(pointer) ? " is an address of memory that was released"
                                             : " is no address of device or pinned memory"));
    } else if (!accessible_from(*memory, device)) {
      add_misuse(place + " is an address of device " + std::to_string(memory->device) + ", which device " +
                 std::to_string(device) + " has no access to");
    } else {
      held.push_back({pointer, memory->id});
    }
  }
  return held;
}

// What the kernel that runs may touch around an address. Pages of pinned and registered memory may be the program's,
// too.
simt::Bounds bounds_of(const void* address) {
  const Allocation* memory = find_memory(address);
  if (memory == nullptr) return {};
  if (memory->on_host()) return {0, ~uintptr_t{0}, true};
  const auto begin = reinterpret_cast<uintptr_t>(memory->start);
  return {begin, begin + memory->bytes, true};
}

cudaError_t launch(const void* function, const dim3& grid, const dim3& block, void** arguments, size_t shared,
                   cudaStream_t named) {
  if (state().options.idle) return cudaSuccess;
  const simt::Kernel* kernel = simt::find_kernel(function);
  if (!kernel) return cudaErrorInvalidDeviceFunction;
  if (!is_shape(grid, block)) return cudaErrorInvalidConfiguration;
  if (shared > dynamic_shared_limit(function)) return cudaErrorInvalidValue;
  Stream* stream = find_stream(named, kernel->name.c_str());
  if (!stream || stream->device != current_device()) return cudaErrorInvalidResourceHandle;
  if (cudaError_t status = check_legacy(*stream)) return status;
  simt::BoundKernel bound = kernel->bind(function, arguments);
  std::vector<Held> held = check_arguments(kernel->name, bound, stream->device);
  Work work{.name = kernel->name, .kind = WorkKind::kKernel};
  work.observed.grid = grid;
  work.observed.block = block;
  work.observed.shared_bytes = shared;
  work.run = [=, name = kernel->name, call = std::move(bound.call)] {
    for (const Held& memory : held) check_held(memory, name);
    simt::set_bounds_of(&bounds_of);
    // What calls the kernel may be compiled with it, and so be watched, but touches the host's memory; `call` watches
    // the kernel.
    simt::run({grid, block, shared, name.c_str()}, [&call] {
      simt::watch::set_active(false);
      call();
    });
  };
  if (cudaError_t status = submit(*stream, std::move(work), nullptr, cudaGraphNodeTypeKernel)) return status;
  if (stream->capture) stream->capture_last.front()->action.function = function;
  return cudaSuccess;
}

// Blocks of one processor by threads, shared memory and count; registers are not known here.
int blocks_per_processor(int threads, size_t shared) {
  const int warps = (threads + kWarp - 1) / kWarp;
  const int by_threads = kThreadsPerProcessor / (warps * kWarp);
  const auto by_shared = static_cast<int>(kSharedPerProcessor / (shared + kSharedReserved));
  return std::min({by_threads, by_shared, kBlocksPerProcessor});
}

cudaError_t occupancy(int* result, const void* function, int threads, size_t shared) {
  if (!result || threads <= 0) return cudaErrorInvalidValue;
  if (!function) return cudaErrorInvalidDeviceFunction;
  *result =
      threads > kThreadsPerBlock || shared > dynamic_shared_limit(function) ? 0 : blocks_per_processor(threads, shared);
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  return api("cudaLaunchKernelExC", [&] {
    if (!config) return cudaErrorInvalidValue;
    for (unsigned i = 0; i < config->numAttrs; ++i) {
      const cudaLaunchAttributeID id = config->attrs[i].id;
      if (id == cudaLaunchAttributeClusterDimension || id == cudaLaunchAttributeCooperative) {
        add_misuse("cudaLaunchKernelExC: clusters and cooperative grids do not run on the host");
        return cudaErrorNotSupported;
      }
    }
    return launch(function, config->gridDim, config->blockDim, arguments, config->dynamicSmemBytes, config->stream);
  });
}

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                             cudaStream_t stream) {
  return api("cudaLaunchKernel", [&] { return launch(function, grid, block, arguments, shared, stream); });
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  return api("cudaFuncSetAttribute", [&] {
    if (!function) return cudaErrorInvalidDeviceFunction;
    switch (attribute) {
      case cudaFuncAttributeMaxDynamicSharedMemorySize:
        if (value < 0 || static_cast<size_t>(value) > kSharedPerBlockOptin) return cudaErrorInvalidValue;
        state().dynamic_shared_limits[function] = value;
        return cudaSuccess;
      case cudaFuncAttributePreferredSharedMemoryCarveout:
        return value < -1 || value > 100 ? cudaErrorInvalidValue : cudaSuccess;
      default:
        return cudaErrorInvalidValue;
    }
  });
}

cudaError_t cudaFuncSetCacheConfig(const void* function, cudaFuncCache) {
  return api("cudaFuncSetCacheConfig", [&] { return function ? cudaSuccess : cudaErrorInvalidDeviceFunction; });
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  return api("cudaFuncGetAttributes", [&] {
    if (!attributes) return cudaErrorInvalidValue;
    if (!function) return cudaErrorInvalidDeviceFunction;
    *attributes = {};
    attributes->maxThreadsPerBlock = kThreadsPerBlock;
    attributes->numRegs = 32;
    attributes->ptxVersion = attributes->binaryVersion = 90;
    attributes->maxDynamicSharedSizeBytes = static_cast<int>(dynamic_shared_limit(function));
    attributes->preferredShmemCarveout = -1;
    return cudaSuccess;
  });
}

cudaError_t cudaFuncGetName(const char** name, const void* function) {
  return api("cudaFuncGetName", [&] {
    if (!name) return cudaErrorInvalidValue;
    const simt::Kernel* kernel = simt::find_kernel(function);
    if (!kernel) return cudaErrorInvalidDeviceFunction;
    *name = kernel->name.c_str();
    return cudaSuccess;
  });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* result, const void* function, int threads,
                                                          size_t shared) {
  return api("cudaOccupancyMaxActiveBlocksPerMultiprocessor",
             [&] { return occupancy(result, function, threads, shared); });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* result, const void* function, int threads,
                                                                   size_t shared, unsigned int) {
  return api("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
             [&] { return occupancy(result, function, threads, shared); });
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* result, const void* function, int blocks, int threads) {
  return api("cudaOccupancyAvailableDynamicSMemPerBlock", [&] {
    if (!result || blocks <= 0 || threads <= 0 || threads > kThreadsPerBlock) return cudaErrorInvalidValue;
    if (!function) return cudaErrorInvalidDeviceFunction;
    const size_t share = kSharedPerProcessor / static_cast<size_t>(blocks);
    *result = std::min(kSharedPerBlockOptin, share > kSharedReserved ? share - kSharedReserved : 0);
    return cudaSuccess;
  });
}

}  // extern "C"
}  // namespace cuda_standin
