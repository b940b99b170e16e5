#include "aten/cuda/blas/cublas_handle.h"

#include <map>
#include <mutex>
#include <utility>

#include "aten/core/context.h"
#include "aten/cuda/blas/blas.h"
#include "aten/cuda/handle_pool.h"
#include "c10/cuda/device.h"
#include "c10/cuda/exception.h"
#include "c10/memory/allocator.h"
#include "c10/util/exception.h"

namespace at::cuda {
namespace {

void check(cublasStatus_t status, const char* call) {
  if (C10_UNLIKELY(status != CUBLAS_STATUS_SUCCESS)) blas::throw_cublas_error(status, call);
}

// What outlives threads.
struct Shared {
  std::mutex mutex;
  std::map<std::pair<cublasHandle_t, cudaStream_t>, c10::DataPtr> workspaces;
};
Shared& shared() {
  static Shared* const all = new Shared;
  return *all;
}

cublasHandle_t make_handle() {
  cublasHandle_t made = nullptr;
  check(cublasCreate(&made), "cublasCreate");
  return made;
}

// The workspace of a handle on a stream; null where there is to be none.
void* workspace_for(cublasHandle_t handle, cudaStream_t stream, size_t bytes) {
  if (bytes == 0) return nullptr;
  const std::lock_guard lock(shared().mutex);
  c10::DataPtr& workspace = shared().workspaces[{handle, stream}];
  if (workspace.get() == nullptr) workspace = c10::GetAllocator(c10::kCUDA)->allocate(bytes);
  return workspace.get();
}

}  // namespace

cublasHandle_t getCurrentCUDABlasHandle() {
  const auto set_stream = [](cublasHandle_t handle, cudaStream_t stream) {
    check(cublasSetStream(handle, stream), "cublasSetStream");
    const size_t bytes = getChosenWorkspaceSize();
    check(cublasSetWorkspace(handle, workspace_for(handle, stream, bytes), bytes), "cublasSetWorkspace");
  };
  const cublasHandle_t handle = current_handle<cublasHandle_t, make_handle>("cuBLAS", set_stream);
  const bool fast = globalContext().allowTF32CuBLAS();
  check(cublasSetMathMode(handle, fast ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH), "cublasSetMathMode");
  return handle;
}

size_t getChosenWorkspaceSize() {
  return blas::configured_workspace_bytes(c10::cuda::current_device());
}

void clearCublasWorkspaces() {
  const std::lock_guard lock(shared().mutex);
  shared().workspaces.clear();
}

}  // namespace at::cuda
