// Kernels that were compiled while the program runs.
#pragma once

#include <cuda_runtime_api.h>

#include "c10/cuda/exception.h"
#include "c10/cuda/launch.h"

namespace c10::cuda {

/// A library of kernels, unloaded when this goes. Its kernels run on every device that its code is for.
class LoadedKernels {
 public:
  /// From a cubin, PTX or fatbin. No stream may be captured meanwhile by the thread. Throws c10::AcceleratorError.
  explicit LoadedKernels(const void* image);
  ~LoadedKernels();
  LoadedKernels(const LoadedKernels&) = delete;
  LoadedKernels& operator=(const LoadedKernels&) = delete;

  /// Throws c10::AcceleratorError where there is none of that name.
  cudaKernel_t find(const char* name) const;

 private:
  cudaLibrary_t library_ = nullptr;
};

/// Has the kernel's code on the current device before it is first launched, which may be in a capture.
void prepare(cudaKernel_t kernel);

/// Launches a kernel of LoadedKernels on the current device; arguments[i] is where its i-th argument is. Throws
/// c10::AcceleratorError, which names kernel, stream, place and device, where the launch fails.
void launch_or_throw(const char* name, cudaKernel_t kernel, const Launch& shape, void** arguments);

}  // namespace c10::cuda
