// Kernels of groups that were compiled and loaded, for the whole process: by text and compute capability.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "c10/core/device.h"

namespace c10::cuda {
class LoadedKernels;
}

namespace torch::compiler::cuda {

/// A text's kernel. It is unloaded with the last that has it, unless a graph was captured with it, which may be
/// replayed whenever.
class GroupKernel {
 public:
  GroupKernel(const std::string& text, c10::DeviceIndex device);
  ~GroupKernel();
  GroupKernel(const GroupKernel&) = delete;
  GroupKernel& operator=(const GroupKernel&) = delete;

  cudaKernel_t get() const { return kernel_; }
  /// Has it on a device before it is launched there.
  void prepare(c10::DeviceIndex device) const;
  /// It is launched on the device's stream, into a graph or not.
  void note_launch(c10::DeviceIndex device, bool captured) const;
  size_t bytes() const { return bytes_; }

 private:
  std::unique_ptr<c10::cuda::LoadedKernels> library_;
  cudaKernel_t kernel_ = nullptr;
  size_t bytes_ = 0;
  mutable std::atomic<bool> captured_{false};
  mutable std::atomic<uint64_t> devices_{0};  // that may run it
};

/// The kernel of a text (of KernelSource, without prelude()), ready on a device: compiled where the cache does not have
/// it, which takes a good part of a second. Throws CompileError and c10::AcceleratorError.
std::shared_ptr<const GroupKernel> kernel_of(const std::string& text, c10::DeviceIndex device);

struct KernelCacheStatistics {
  uint64_t hits = 0, misses = 0, evictions = 0;
  size_t entries = 0;
  size_t bytes = 0;  ///< of code and texts
};
KernelCacheStatistics kernel_cache_statistics();
/// The least recently used go where there are more bytes than that: 256 MiB at first. What is in use lives on.
void set_kernel_cache_limit(size_t bytes);
void clear_kernel_cache();

}  // namespace torch::compiler::cuda
