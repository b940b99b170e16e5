#include "aten/cuda/sparse/handle.h"

#include "aten/cuda/handle_pool.h"
#include "c10/cuda/exception.h"
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
  return current_handle<cusparseHandle_t, make_handle>("cuSPARSE", [](auto handle, cudaStream_t stream) {
    sparse::check(cusparseSetStream(handle, stream), "cusparseSetStream");
  });
}

namespace sparse {

void check(cusparseStatus_t status, const char* call) {
  if (C10_LIKELY(status == CUSPARSE_STATUS_SUCCESS)) return;
  C10_CUDA_CLEAR_ERROR();
  TORCH_CHECK(false, "cusparse error: ", cusparseGetErrorString(status), ", when calling `", call, "`");
}

}  // namespace sparse
}  // namespace at::cuda
