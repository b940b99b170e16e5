// The one way to launch a kernel, on a device and where kernels are built to run on the host.
//
//   __global__ void scale_kernel(float* x, float a, int64_t n);
//   c10::cuda::launch_or_throw("scale", scale_kernel, {.grid = blocks, .block = 256, .stream = stream}, x, a, n);
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "c10/cuda/exception.h"
#include "c10/cuda/macros.h"

namespace c10::cuda {

struct Launch {
  dim3 grid, block;
  size_t shared_bytes = 0;  // of dynamic shared memory
  cudaStream_t stream = nullptr;
  // The place of the launch, which errors name.
  const char* file = __builtin_FILE();
  int line = __builtin_LINE();
};

/// Launches `kernel` on the current device; arguments are converted to its parameters. `name` stands in errors, traces
/// and profiles. Returns the launch's own status: what fails while the kernel runs comes out of a later call.
template <class... Params, class... Args>
cudaError_t launch(const char* name, void (*kernel)(Params...), const Launch& shape, Args&&... args) {
  static_assert(sizeof...(Params) == sizeof...(Args), "a kernel takes as many arguments as it has parameters");
#ifdef KD_CUDA_ON_HOST
  simt::declare(name, kernel);
#else
  (void)name;
#endif
  std::tuple<std::decay_t<Params>...> values(static_cast<Params>(std::forward<Args>(args))...);
  return std::apply(
      [&](auto&... value) {
        void* pointers[] = {const_cast<void*>(static_cast<const void*>(&value))..., nullptr};
        cudaLaunchConfig_t config{};
        config.gridDim = shape.grid;
        config.blockDim = shape.block;
        config.dynamicSmemBytes = shape.shared_bytes;
        config.stream = shape.stream;
        return cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(kernel), pointers);
      },
      values);
}

/// The same, and throws c10::AcceleratorError, which names kernel, stream, place and device, where the launch fails.
template <class... Params, class... Args>
void launch_or_throw(const char* name, void (*kernel)(Params...), const Launch& shape, Args&&... args) {
  check_launch(name, launch(name, kernel, shape, std::forward<Args>(args)...), shape.stream, shape.file, shape.line);
}

/// The block's dynamic shared memory, aligned to 128 bytes.
#ifdef KD_CUDA_ON_HOST
template <class T>
T* dynamic_shared() {
  return static_cast<T*>(simt::dynamic_shared());
}
#elif defined(__CUDACC__)
template <class T>
__device__ __forceinline__ T* dynamic_shared() {
  extern __shared__ __align__(128) unsigned char kd_dynamic_shared[];
  return reinterpret_cast<T*>(kd_dynamic_shared);
}
#endif

/// A vector from memory in one access, and to it: `address` is a multiple of sizeof(V). On the host a kernel that does
/// not keep to this ends with a fault.
template <class V>
KD_DEVICE V load_aligned(const void* address) {
#ifdef KD_CUDA_ON_HOST
  if (reinterpret_cast<uintptr_t>(address) % sizeof(V) != 0) simt::fault("misaligned vector load");
  simt::watch::load(address, sizeof(V));
#endif
  return *static_cast<const V*>(address);
}
template <class V>
KD_DEVICE void store_aligned(void* address, const V& value) {
#ifdef KD_CUDA_ON_HOST
  if (reinterpret_cast<uintptr_t>(address) % sizeof(V) != 0) simt::fault("misaligned vector store");
  simt::watch::store(address, sizeof(V));
#endif
  *static_cast<V*>(address) = value;
}

}  // namespace c10::cuda
