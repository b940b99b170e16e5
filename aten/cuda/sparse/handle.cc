#include "aten/cuda/sparse/handle.h"

#include "aten/cuda/blas/handle_pool.h"
#include "c10/cuda/device.h"
#include "c10/cuda/exception.h"
#include "c10/cuda/stream.h"
#include "c10/util/exception.h"

namespace at::cuda {
namespace {

cusparseHandle_t make_handle() {
  cusparseHandle_t made = nullptr;
  sparse::check(cusparseCreate(&made), "cusparseCreate");
  return made;
}

}  // namespace

cusparseHandle_t getCurrentCUDASparseHandle() {
  const c10::DeviceIndex device = c10::cuda::current_device();
  TORCH_CHECK(device < C10_COMPILE_TIME_MAX_GPUS, "cuSPARSE: no more than ", C10_COMPILE_TIME_MAX_GPUS,
              " devices are supported");
  c10::cuda::SetTargetDevice();
  const cusparseHandle_t handle = handle_of_thread<cusparseHandle_t, make_handle>(device);
  sparse::check(cusparseSetStream(handle, c10::cuda::getCurrentCUDAStream()), "cusparseSetStream");
  return handle;
}

namespace sparse {

void check(cusparseStatus_t status, const char* call) {
  if (C10_LIKELY(status == CUSPARSE_STATUS_SUCCESS)) return;
  C10_CUDA_CLEAR_ERROR();
  TORCH_CHECK(false, "cusparse error: ", cusparseGetErrorString(status), ", when calling `", call, "`");
}

}  // namespace sparse
}  // namespace at::cuda
