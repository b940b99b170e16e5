// Checked calls of the toolkit's libraries, by libtorch's names.
//
//   TORCH_CUDABLAS_CHECK(cublasSgemv(handle, ...));
//
// Each throws c10::Error, which names the status and the call, unless the status is success, and forgets the runtime's
// error.
#pragma once

#include <cuda.h>

#include "aten/cuda/blas/handle.h"
#include "aten/cuda/cudnn/descriptor.h"
#include "aten/cuda/solver/handle.h"
#include "aten/cuda/sparse/handle.h"
#include "c10/cuda/exception.h"
#include "c10/util/exception.h"

#define TORCH_CUDABLAS_CHECK(EXPR)                                                                 \
  do {                                                                                             \
    if (const cublasStatus_t kd_status = (EXPR); C10_UNLIKELY(kd_status != CUBLAS_STATUS_SUCCESS)) \
      ::at::cuda::blas::throw_cublas_error(kd_status, #EXPR);                                      \
  } while (false)
#define TORCH_CUSPARSE_CHECK(EXPR) ::at::cuda::sparse::check((EXPR), #EXPR)
#define TORCH_CUSOLVER_CHECK(EXPR) ::at::cuda::solver::check((EXPR), #EXPR)
#define AT_CUDNN_CHECK(EXPR, ...) ::at::cuda::cudnn::check((EXPR), #EXPR)
/// For calls of the driver, whose statuses have the runtime's numbers.
#define AT_CUDA_DRIVER_CHECK(EXPR)                                                                         \
  do {                                                                                                     \
    if (const CUresult kd_status = (EXPR); C10_UNLIKELY(kd_status != CUDA_SUCCESS))                        \
      TORCH_CHECK(false, "CUDA driver error: ", static_cast<int>(kd_status), " when calling `" #EXPR "`"); \
  } while (false)
