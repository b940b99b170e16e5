// The functions of cuBLAS that programs call with a handle of the library's: products, and what is set of a handle.
#include <cublasLt.h>
#include <cublas_v2.h>

#include <complex>
#include <cstring>
#include <memory>
#include <string>

#include "tests/cuda_on_host/blas/elements.h"
#include "tests/cuda_on_host/blas/execute.h"
#include "tests/cuda_on_host/runtime/standin.h"

namespace cublas_standin {
namespace {

// What a call computes: a, b and d by columns, c is d.
struct Gemm {
  cublasOperation_t trans_a, trans_b;
  int64_t m, n, k;
  const void* alpha;
  const void* a;
  int a_type;
  int64_t lda, a_stride;
  const void* b;
  int b_type;
  int64_t ldb, b_stride;
  const void* beta;
  void* d;
  int d_type;
  int64_t ldd, d_stride;
  int batches;
  int compute, scale;
};

int scale_of(cublasComputeType_t compute, int type) {
  switch (compute) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
      return CUDA_R_16F;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
      return CUDA_R_32I;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
      return is_complex(type) ? CUDA_C_64F : CUDA_R_64F;
    default:
      return is_complex(type) ? CUDA_C_32F : CUDA_R_32F;
  }
}

// The compute type of calls that name none: the handle's math mode says whether TF32 will do.
int compute_of(const Handle& handle, int type) {
  if (bytes_of(type) == (is_complex(type) ? 16u : 8u)) return CUBLAS_COMPUTE_64F;
  if (type == CUDA_R_16F) return CUBLAS_COMPUTE_16F;
  return (handle.math & CUBLAS_TF32_TENSOR_OP_MATH) != 0 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

cublasStatus_t run(const char* call, const Handle& handle, const Gemm& g) {
  if (g.m < 0 || g.n < 0 || g.k < 0 || g.batches < 0) return CUBLAS_STATUS_INVALID_VALUE;
  if (g.m == 0 || g.n == 0 || g.batches == 0) return CUBLAS_STATUS_SUCCESS;
  if (g.k == 0) return refuse(call, "the stand-in has no products without an inner dimension");
  int device = -1;
  if (cudaGetDevice(&device) != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (device != handle.device) return refuse(call, "the handle is another device's");
  const bool ta = g.trans_a != CUBLAS_OP_N, tb = g.trans_b != CUBLAS_OP_N;
  Problem p;
  p.compute = g.compute;
  p.scale = g.scale;
  p.pointer_mode =
      handle.pointer_mode == CUBLAS_POINTER_MODE_HOST ? CUBLASLT_POINTER_MODE_HOST : CUBLASLT_POINTER_MODE_DEVICE;
  p.trans_a = g.trans_a, p.trans_b = g.trans_b;
  p.fill = CUBLAS_FILL_MODE_FULL;
  const auto matrix = [&](int type, int64_t rows, int64_t columns, int64_t ld, int64_t stride) {
    return Matrix{type, CUBLASLT_ORDER_COL, g.batches, rows, columns, ld, stride};
  };
  p.a = matrix(g.a_type, ta ? g.k : g.m, ta ? g.m : g.k, g.lda, g.a_stride);
  p.b = matrix(g.b_type, tb ? g.n : g.k, tb ? g.k : g.n, g.ldb, g.b_stride);
  p.c = p.d = matrix(g.d_type, g.m, g.n, g.ldd, g.d_stride);
  p.m = g.m, p.n = g.n, p.k = g.k;
  const Pointers x{.a = g.a, .b = g.b, .c = g.d, .d = g.d, .alpha = g.alpha, .beta = g.beta};
  const Execution how{.workspace = handle.workspace, .workspace_bytes = handle.workspace_bytes};
  return execute(call, p, x, how, handle.stream);
}

// Products of one type.
cublasStatus_t plain(cublasHandle_t handle, const char* call, int type, cublasOperation_t ta, cublasOperation_t tb,
                     int m, int n, int k, const void* alpha, const void* a, int lda, int64_t a_stride, const void* b,
                     int ldb, int64_t b_stride, const void* beta, void* c, int ldc, int64_t c_stride, int batches) {
  return with_handle(handle, call, [&](const Handle& h) {
    const int compute = compute_of(h, type), scale = scale_of(static_cast<cublasComputeType_t>(compute), type);
    return run(call, h, {ta,   tb,  m,        n,    k, alpha, a,   type,     lda,     a_stride, b,
                         type, ldb, b_stride, beta, c, type,  ldc, c_stride, batches, compute,  scale});
  });
}

// y = alpha * op(A) * x + beta * y, as the product of rows: those of x and y lie `increment` apart.
cublasStatus_t vector(cublasHandle_t handle, const char* call, int type, cublasOperation_t op, int m, int n,
                      const void* alpha, const void* a, int lda, const void* x, int incx, const void* beta, void* y,
                      int incy) {
  if (incx <= 0 || incy <= 0) return refuse(call, "the stand-in has increments above 0 only");
  if (op == CUBLAS_OP_C && is_complex(type)) return refuse(call, "the stand-in has no conjugated matrix here");
  const bool turned = op != CUBLAS_OP_N;
  return plain(handle, call, type, CUBLAS_OP_N, turned ? CUBLAS_OP_N : CUBLAS_OP_T, 1, turned ? n : m, turned ? m : n,
               alpha, x, incx, 0, a, lda, 0, beta, y, incy, 0, 1);
}

// The sum is there when the call returns, unless the handle's pointers are the device's.
template <class T>
cublasStatus_t dot(cublasHandle_t handle, const char* call, int type, int n, const T* x, int incx, const T* y, int incy,
                   T* result) {
  return with_handle(handle, call, [&](const Handle& h) {
    if (incx <= 0 || incy <= 0) return refuse(call, "the stand-in has increments above 0 only");
    const size_t x_bytes = static_cast<size_t>((n - 1) * incx + 1) * sizeof(T);
    const size_t y_bytes = static_cast<size_t>((n - 1) * incy + 1) * sizeof(T);
    if (n > 0 && (!cuda_standin::device_accessible(x, x_bytes) || !cuda_standin::device_accessible(y, y_bytes)))
      return refuse(call, "a vector leaves the device's memory");
    const bool on_host = h.pointer_mode == CUBLAS_POINTER_MODE_HOST;
    if (on_host == cuda_standin::device_accessible(result, sizeof(T)))
      return refuse(call, on_host ? "the result is on the device" : "the result is not on the device");
    const auto landed = std::make_shared<T>();
    T* const to = on_host ? landed.get() : result;
    const cudaError_t status = cuda_standin::enqueue(h.stream, call, [=] {
      Number sum = 0;
      for (int64_t i = 0; i < n; ++i) sum += load(x, type, i * incx) * load(y, type, i * incy);
      store(to, type, 0, sum);
    });
    if (status != cudaSuccess) return CUBLAS_STATUS_EXECUTION_FAILED;
    if (!on_host) return CUBLAS_STATUS_SUCCESS;
    if (cudaStreamSynchronize(h.stream) != cudaSuccess) return CUBLAS_STATUS_EXECUTION_FAILED;
    *result = *landed;
    return CUBLAS_STATUS_SUCCESS;
  });
}

}  // namespace
}  // namespace cublas_standin

using cublas_standin::Handle;
using cublas_standin::with_handle;

extern "C" {

cublasStatus_t cublasCreate(cublasHandle_t* made) {
  if (const cublasStatus_t status = cublas_standin::enter("cublasCreate"); status != CUBLAS_STATUS_SUCCESS)
    return status;
  return cublas_standin::new_handle(reinterpret_cast<void**>(made));
}
cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  return cublas_standin::delete_handle(handle);
}
cublasStatus_t cublasGetVersion(cublasHandle_t, int* version) {
  if (version == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *version = CUBLAS_VERSION;
  return CUBLAS_STATUS_SUCCESS;
}
const char* cublasGetStatusName(cublasStatus_t status) {
  return cublasLtGetStatusName(status);
}
const char* cublasGetStatusString(cublasStatus_t status) {
  return cublasLtGetStatusString(status);
}

// As the library: a stream has the handle's own workspace again.
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  return with_handle(handle, "cublasSetStream", [&](Handle& h) {
    h.stream = stream;
    h.workspace = nullptr;
    h.workspace_bytes = 0;
    return CUBLAS_STATUS_SUCCESS;
  });
}
cublasStatus_t cublasGetStream(cublasHandle_t handle, cudaStream_t* stream) {
  return with_handle(handle, "cublasGetStream", [&](Handle& h) {
    *stream = h.stream;
    return CUBLAS_STATUS_SUCCESS;
  });
}
cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void* workspace, size_t bytes) {
  return with_handle(handle, "cublasSetWorkspace", [&](Handle& h) {
    if (bytes != 0 &&
        (!cuda_standin::device_accessible(workspace, bytes) || reinterpret_cast<uintptr_t>(workspace) % 256 != 0))
      return cublas_standin::refuse("cublasSetWorkspace", "no device memory at a multiple of 256 bytes");
    h.workspace = workspace;
    h.workspace_bytes = bytes;
    return CUBLAS_STATUS_SUCCESS;
  });
}
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  return with_handle(handle, "cublasSetMathMode", [&](Handle& h) {
    h.math = mode;
    return CUBLAS_STATUS_SUCCESS;
  });
}
cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  return with_handle(handle, "cublasGetMathMode", [&](Handle& h) {
    *mode = h.math;
    return CUBLAS_STATUS_SUCCESS;
  });
}
cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode) {
  return with_handle(handle, "cublasSetPointerMode", [&](Handle& h) {
    h.pointer_mode = mode;
    return CUBLAS_STATUS_SUCCESS;
  });
}
cublasStatus_t cublasGetPointerMode(cublasHandle_t handle, cublasPointerMode_t* mode) {
  return with_handle(handle, "cublasGetPointerMode", [&](Handle& h) {
    *mode = h.pointer_mode;
    return CUBLAS_STATUS_SUCCESS;
  });
}

#define KD_GEMM(letter, T, type)                                                                                       \
  cublasStatus_t cublas##letter##gemm(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n, \
                                      int k, const T* alpha, const T* a, int lda, const T* b, int ldb, const T* beta,  \
                                      T* c, int ldc) {                                                                 \
    return cublas_standin::plain(handle, "cublas" #letter "gemm", type, ta, tb, m, n, k, alpha, a, lda, 0, b, ldb, 0,  \
                                 beta, c, ldc, 0, 1);                                                                  \
  }                                                                                                                    \
  cublasStatus_t cublas##letter##gemmStridedBatched(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, \
                                                    int m, int n, int k, const T* alpha, const T* a, int lda,          \
                                                    long long int sa, const T* b, int ldb, long long int sb,           \
                                                    const T* beta, T* c, int ldc, long long int sc, int batches) {     \
    return cublas_standin::plain(handle, "cublas" #letter "gemmStridedBatched", type, ta, tb, m, n, k, alpha, a, lda,  \
                                 sa, b, ldb, sb, beta, c, ldc, sc, batches);                                           \
  }
KD_GEMM(S, float, CUDA_R_32F)
KD_GEMM(D, double, CUDA_R_64F)
KD_GEMM(C, cuComplex, CUDA_C_32F)
KD_GEMM(Z, cuDoubleComplex, CUDA_C_64F)
KD_GEMM(H, __half, CUDA_R_16F)
#undef KD_GEMM

#define KD_GEMV(letter, T, type)                                                                                    \
  cublasStatus_t cublas##letter##gemv(cublasHandle_t handle, cublasOperation_t op, int m, int n, const T* alpha,    \
                                      const T* a, int lda, const T* x, int incx, const T* beta, T* y, int incy) {   \
    return cublas_standin::vector(handle, "cublas" #letter "gemv", type, op, m, n, alpha, a, lda, x, incx, beta, y, \
                                  incy);                                                                            \
  }
KD_GEMV(S, float, CUDA_R_32F)
KD_GEMV(D, double, CUDA_R_64F)
KD_GEMV(C, cuComplex, CUDA_C_32F)
KD_GEMV(Z, cuDoubleComplex, CUDA_C_64F)
#undef KD_GEMV

cublasStatus_t cublasSdot(cublasHandle_t handle, int n, const float* x, int incx, const float* y, int incy, float* to) {
  return cublas_standin::dot(handle, "cublasSdot", CUDA_R_32F, n, x, incx, y, incy, to);
}
cublasStatus_t cublasDdot(cublasHandle_t handle, int n, const double* x, int incx, const double* y, int incy,
                          double* to) {
  return cublas_standin::dot(handle, "cublasDdot", CUDA_R_64F, n, x, incx, y, incy, to);
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m,
                                          int n, int k, const void* alpha, const void* a, cudaDataType a_type, int lda,
                                          long long int sa, const void* b, cudaDataType b_type, int ldb,
                                          long long int sb, const void* beta, void* c, cudaDataType c_type, int ldc,
                                          long long int sc, int batches, cublasComputeType_t compute,
                                          cublasGemmAlgo_t) {
  return with_handle(handle, "cublasGemmStridedBatchedEx", [&](const Handle& h) {
    return cublas_standin::run(
        "cublasGemmStridedBatchedEx", h,
        {ta,     tb,  m,  n,    k, alpha,  a,   a_type, lda,     sa,      b,
         b_type, ldb, sb, beta, c, c_type, ldc, sc,     batches, compute, cublas_standin::scale_of(compute, a_type)});
  });
}
cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                            const void* alpha, const void* a, cudaDataType a_type, int lda, const void* b,
                            cudaDataType b_type, int ldb, const void* beta, void* c, cudaDataType c_type, int ldc,
                            cublasComputeType_t compute, cublasGemmAlgo_t algorithm) {
  return cublasGemmStridedBatchedEx(handle, ta, tb, m, n, k, alpha, a, a_type, lda, 0, b, b_type, ldb, 0, beta, c,
                                    c_type, ldc, 0, 1, compute, algorithm);
}

}  // extern "C"
