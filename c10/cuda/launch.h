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

// Files of kernels register them with the runtime by a function of their own, which build_defs/cuda.bzl names and the first launch
// calls: what nothing launches is no part of a program.
#ifdef KD_CUDA_MODULE
extern "C" void KD_CUDA_MODULE();
#define KD_CUDA_REGISTER_KERNELS &KD_CUDA_MODULE
#else
#define KD_CUDA_REGISTER_KERNELS nullptr
#endif

// A file that holds the kernels of several operators is compiled for devices once for each, as often as it has
//     #if KD_CUDA_HAS(operator_name)
// and once, with all of them, for the host.
#ifdef KD_CUDA_MODULE
#define KD_CUDA_CHOSEN ~, 1
#define KD_CUDA_HAS(name) KD_CUDA_HAS_(KD_CUDA_ONLY_##name, 0)
#define KD_CUDA_HAS_(...) KD_CUDA_HAS__(__VA_ARGS__, 0, 0)
#define KD_CUDA_HAS__(first, second, ...) second
#else
#define KD_CUDA_HAS(name) 1
#endif
// The same for a definition.
#define KD_CUDA_IF_HAS(name, ...) KD_CUDA_IF_HAS_(KD_CUDA_HAS(name), __VA_ARGS__)
#define KD_CUDA_IF_HAS_(has, ...) KD_CUDA_IF_HAS__(has, __VA_ARGS__)
#define KD_CUDA_IF_HAS__(has, ...) KD_CUDA_IF_HAS_##has(__VA_ARGS__)
#define KD_CUDA_IF_HAS_0(...)
#define KD_CUDA_IF_HAS_1(...) __VA_ARGS__

namespace c10::cuda {

struct Launch {
  dim3 grid, block;
  size_t shared_bytes = 0;  // of dynamic shared memory
  cudaStream_t stream = nullptr;
  // The place of the launch, which errors name.
  const char* file = __builtin_FILE();
  int line = __builtin_LINE();
};

/// Makes the kernels of the file that calls this known to the runtime. What follows does it by itself.
template <void (*kRegister)() = KD_CUDA_REGISTER_KERNELS>
void register_kernels() {
  if constexpr (kRegister != nullptr) {
    [[maybe_unused]] static const bool registered = (kRegister(), true);
  }
}

/// What the runtime's functions take for `kernel`, one of the file that calls this.
template <void (*kRegister)() = KD_CUDA_REGISTER_KERNELS, class... Params>
const void* function(void (*kernel)(Params...)) {
  register_kernels<kRegister>();
  return reinterpret_cast<const void*>(kernel);
}

/// Launches `kernel` on the current device; arguments are converted to its parameters. `name` stands in errors, traces
/// and profiles. Returns the launch's own status: what fails while the kernel runs comes out of a later call.
template <void (*kRegister)() = KD_CUDA_REGISTER_KERNELS, class... Params, class... Args>
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
        return cudaLaunchKernelExC(&config, function<kRegister>(kernel), pointers);
      },
      values);
}

/// The same, and throws c10::AcceleratorError, which names kernel, stream, place and device, where the launch fails.
template <void (*kRegister)() = KD_CUDA_REGISTER_KERNELS, class... Params, class... Args>
void launch_or_throw(const char* name, void (*kernel)(Params...), const Launch& shape, Args&&... args) {
  check_launch(name, launch<kRegister>(name, kernel, shape, std::forward<Args>(args)...), shape.stream, shape.file, shape.line);
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
