#include "aten/cuda/solver/handle.h"

#include "aten/cuda/handle_pool.h"
#include "c10/cuda/exception.h"
#include "c10/cuda/registration.h"
#include "c10/util/exception.h"

namespace at::cuda {
namespace {

const char* name_of(cusolverStatus_t status) {
  switch (status) {
    case CUSOLVER_STATUS_NOT_INITIALIZED:
      return "CUSOLVER_STATUS_NOT_INITIALIZED";
    case CUSOLVER_STATUS_ALLOC_FAILED:
      return "CUSOLVER_STATUS_ALLOC_FAILED";
    case CUSOLVER_STATUS_INVALID_VALUE:
      return "CUSOLVER_STATUS_INVALID_VALUE";
    case CUSOLVER_STATUS_ARCH_MISMATCH:
      return "CUSOLVER_STATUS_ARCH_MISMATCH";
    case CUSOLVER_STATUS_EXECUTION_FAILED:
      return "CUSOLVER_STATUS_EXECUTION_FAILED";
    case CUSOLVER_STATUS_INTERNAL_ERROR:
      return "CUSOLVER_STATUS_INTERNAL_ERROR";
    case CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED:
      return "CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED";
    case CUSOLVER_STATUS_NOT_SUPPORTED:
      return "CUSOLVER_STATUS_NOT_SUPPORTED";
    default:
      return nullptr;
  }
}

[[maybe_unused]] const bool g_registered = [] {
  c10::cuda::register_library(c10::cuda::Library::kCuSOLVER, [] {
    int version = 0;
    solver::check(cusolverGetVersion(&version), "cusolverGetVersion");
    return int64_t{version};
  });
  return true;
}();

cusolverDnHandle_t make_handle() {
  cusolverDnHandle_t made = nullptr;
  solver::check(cusolverDnCreate(&made), "cusolverDnCreate");
  return made;
}

cusolverDnParams_t make_params() {
  cusolverDnParams_t made = nullptr;
  solver::check(cusolverDnCreateParams(&made), "cusolverDnCreateParams");
  return made;
}

}  // namespace

cusolverDnHandle_t getCurrentCUDASolverDnHandle() {
  return current_handle<cusolverDnHandle_t, make_handle>("cuSOLVER", [](auto handle, cudaStream_t stream) {
    solver::check(cusolverDnSetStream(handle, stream), "cusolverDnSetStream");
  });
}

namespace solver {

void check(cusolverStatus_t status, const char* call) {
  if (C10_LIKELY(status == CUSOLVER_STATUS_SUCCESS)) return;
  C10_CUDA_CLEAR_ERROR();
  const char* const name = name_of(status);
  TORCH_CHECK(false, "cusolver error: ", name != nullptr ? name : "status ",
              name != nullptr ? "" : c10::str(int{status}), ", when calling `", call, "`");
}

cusolverDnParams_t default_params() {
  static const cusolverDnParams_t params = make_params();
  return params;
}

}  // namespace solver
}  // namespace at::cuda
