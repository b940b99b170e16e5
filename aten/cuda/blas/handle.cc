#include "aten/cuda/blas/handle.h"

#include <mutex>

#include "c10/cuda/device.h"
#include "c10/cuda/exception.h"
#include "c10/cuda/registration.h"
#include "c10/util/exception.h"

namespace at::cuda {
namespace {

struct Handles {
  std::mutex mutex;
  cublasLtHandle_t of_device[C10_COMPILE_TIME_MAX_GPUS] = {};
};
Handles& handles() {
  static Handles* const all = new Handles;  // work may be submitted until the process ends
  return *all;
}

[[maybe_unused]] const bool g_registered = [] {
  c10::cuda::register_library(c10::cuda::Library::kCuBLASLt, [] { return static_cast<int64_t>(cublasLtGetVersion()); });
  return true;
}();

}  // namespace

cublasLtHandle_t getCurrentCUDABlasLtHandle() {
  const c10::DeviceIndex device = c10::cuda::current_device();
  TORCH_CHECK(device < C10_COMPILE_TIME_MAX_GPUS, "cuBLASLt: no more than ", C10_COMPILE_TIME_MAX_GPUS,
              " devices are supported");
  c10::cuda::SetTargetDevice();
  Handles& all = handles();
  const std::lock_guard lock(all.mutex);
  cublasLtHandle_t& handle = all.of_device[device];
  if (handle == nullptr) {
    cublasLtHandle_t made = nullptr;
    if (const cublasStatus_t status = cublasLtCreate(&made); status != CUBLAS_STATUS_SUCCESS)
      blas::throw_cublas_error(status, "cublasLtCreate");
    handle = made;
  }
  return handle;
}

namespace blas {

void throw_cublas_error(cublasStatus_t status, const char* call, const std::string& about) {
  C10_CUDA_CLEAR_ERROR();
  TORCH_CHECK(false, "CUDA error: ", cublasLtGetStatusName(status), " (", cublasLtGetStatusString(status),
              ") when calling `", call, "`", about.empty() ? "" : " for ", about);
}

}  // namespace blas
}  // namespace at::cuda
