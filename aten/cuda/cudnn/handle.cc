#include "aten/cuda/cudnn/handle.h"

#include "aten/cuda/cudnn/descriptor.h"
#include "aten/cuda/handle_pool.h"
#include "c10/cuda/registration.h"

namespace at::native {
namespace {

[[maybe_unused]] const bool g_registered = [] {
  c10::cuda::register_library(c10::cuda::Library::kCuDNN, [] { return static_cast<int64_t>(cudnnGetVersion()); });
  return true;
}();

cudnnHandle_t make_handle() {
  cudnnHandle_t made = nullptr;
  cuda::cudnn::check(cudnnCreate(&made), "cudnnCreate");
  return made;
}

}  // namespace

cudnnHandle_t getCudnnHandle() {
  return cuda::current_handle<cudnnHandle_t, make_handle>("cuDNN", [](auto handle, cudaStream_t stream) {
    cuda::cudnn::check(cudnnSetStream(handle, stream), "cudnnSetStream");
  });
}

}  // namespace at::native
