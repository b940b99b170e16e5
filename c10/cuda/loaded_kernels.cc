#include "c10/cuda/loaded_kernels.h"

namespace c10::cuda {

LoadedKernels::LoadedKernels(const void* image) {
  C10_CUDA_CHECK(cudaLibraryLoadData(&library_, image, nullptr, nullptr, 0, nullptr, nullptr, 0));
}
LoadedKernels::~LoadedKernels() {
  C10_CUDA_CHECK_WARN(cudaLibraryUnload(library_));
}

cudaKernel_t LoadedKernels::find(const char* name) const {
  cudaKernel_t kernel = nullptr;
  C10_CUDA_CHECK(cudaLibraryGetKernel(&kernel, library_, name));
  return kernel;
}

void prepare(cudaKernel_t kernel) {
  // Of a kernel that is loaded lazily, asking for it loads it.
  cudaFuncAttributes attributes{};
  C10_CUDA_CHECK(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel)));
}

void launch_or_throw(const char* name, cudaKernel_t kernel, const Launch& shape, void** arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = shape.grid;
  config.blockDim = shape.block;
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = shape.stream;
  check_launch(name, cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(kernel), arguments), shape.stream,
               shape.file, shape.line);
}

}  // namespace c10::cuda
