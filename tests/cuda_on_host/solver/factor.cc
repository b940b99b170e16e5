// LU, Cholesky and QR factorizations.
#include <algorithm>
#include <vector>

#include "tests/cuda_on_host/blas/elimination.h"
#include "tests/cuda_on_host/solver/call.h"

namespace cusolver_standin {
namespace {

char letter(cublasFillMode_t uplo) {
  return uplo == CUBLAS_FILL_MODE_UPPER ? 'U' : 'L';
}
char letter(cublasOperation_t trans) {
  return trans == CUBLAS_OP_N ? 'N' : trans == CUBLAS_OP_T ? 'T' : 'C';
}
bool is_triangle(cublasFillMode_t uplo) {
  return uplo == CUBLAS_FILL_MODE_UPPER || uplo == CUBLAS_FILL_MODE_LOWER;
}

cusolverStatus_t potrf_batched(const char* name, cusolverDnHandle_t handle, cublasFillMode_t uplo, int n,
                               void* const* a, int lda, int* info, int count, cudaDataType type) {
  return Call(name, handle)
      .require(is_triangle(uplo), "neither triangle")
      .not_negative({n, count})
      .require(lda >= std::max(n, 1), "leading dimension of A")
      .array("the array of addresses", a, static_cast<size_t>(count) * sizeof(void*))
      .info(info, count)
      .run([=] {
        visit(type, [&](auto tag) {
          using T = typename decltype(tag)::type;
          for (int i = 0; i < count; ++i) info[i] = lapack::potrf(letter(uplo), n, static_cast<T*>(a[i]), lda);
        });
      });
}

Sizes orgqr_sizes(int m, int n, cudaDataType type) {
  return {workspace_for(m, n, type).device, 0};
}

Call& check_orgqr(Call& call, int m, int n, int k, const void* a, int lda, const void* tau, cudaDataType type) {
  return call.not_negative({m, n, k})
      .require(m >= n && n >= k, "sizes do not fit")
      .matrix("A", a, m, n, lda, type)
      .array("tau", tau, static_cast<size_t>(k) * bytes_of(type));
}

cusolverStatus_t orgqr_size(const char* name, cusolverDnHandle_t handle, int m, int n, int k, const void* a, int lda,
                            const void* tau, int* size, cudaDataType type) {
  Call call(name, handle);
  return check_orgqr(call, m, n, k, a, lda, tau, type).answer(orgqr_sizes(m, n, type), type, size);
}
cusolverStatus_t orgqr(const char* name, cusolverDnHandle_t handle, int m, int n, int k, void* a, int lda,
                       const void* tau, void* work, int size, int* info, cudaDataType type) {
  Call call(name, handle);
  return check_orgqr(call, m, n, k, a, lda, tau, type)
      .info(info)
      .elements(orgqr_sizes(m, n, type), work, size, type)
      .run([=] {
        visit(type, [&](auto tag) {
          using T = typename decltype(tag)::type;
          lapack::Workspace<T> w;
          *info = lapack::orgqr(m, n, k, static_cast<T*>(a), lda, static_cast<const T*>(tau), w);
        });
      });
}

Call& check_ormqr(Call& call, cublasSideMode_t side, cublasOperation_t trans, int m, int n, int k, const void* a,
                  int lda, const void* tau, const void* c, int ldc, cudaDataType type) {
  const int order = side == CUBLAS_SIDE_LEFT ? m : n;
  return call.not_negative({m, n, k})
      .require(k <= order, "sizes do not fit")
      .require(trans == CUBLAS_OP_N || trans == (is_complex(type) ? CUBLAS_OP_C : CUBLAS_OP_T),
               "neither Q nor its adjoint")
      .matrix("A", a, order, k, lda, type)
      .array("tau", tau, static_cast<size_t>(k) * bytes_of(type))
      .matrix("C", c, m, n, ldc, type);
}

cusolverStatus_t ormqr_size(const char* name, cusolverDnHandle_t handle, cublasSideMode_t side, cublasOperation_t trans,
                            int m, int n, int k, const void* a, int lda, const void* tau, const void* c, int ldc,
                            int* size, cudaDataType type) {
  Call call(name, handle);
  return check_ormqr(call, side, trans, m, n, k, a, lda, tau, c, ldc, type).answer(orgqr_sizes(m, n, type), type, size);
}
cusolverStatus_t ormqr(const char* name, cusolverDnHandle_t handle, cublasSideMode_t side, cublasOperation_t trans,
                       int m, int n, int k, const void* a, int lda, const void* tau, void* c, int ldc, void* work,
                       int size, int* info, cudaDataType type) {
  Call call(name, handle);
  return check_ormqr(call, side, trans, m, n, k, a, lda, tau, c, ldc, type)
      .info(info)
      .elements(orgqr_sizes(m, n, type), work, size, type)
      .run([=] {
        visit(type, [&](auto tag) {
          using T = typename decltype(tag)::type;
          lapack::Workspace<T> w;
          *info = lapack::ormqr(side == CUBLAS_SIDE_LEFT ? 'L' : 'R', trans == CUBLAS_OP_N ? 'N' : 'C', m, n, k,
                                static_cast<const T*>(a), lda, static_cast<const T*>(tau), static_cast<T*>(c), ldc, w);
        });
      });
}

}  // namespace
}  // namespace cusolver_standin

using cusolver_standin::Call;
using cusolver_standin::visit;
using cusolver_standin::workspace_for;
namespace lapack = at::cpu::lapack;

extern "C" {

cusolverStatus_t cusolverDnXgetrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m, int64_t n,
                                             cudaDataType type, const void* a, int64_t lda, cudaDataType compute,
                                             size_t* device, size_t* host) {
  return Call(__func__, handle)
      .params(params)
      .types({type, compute})
      .matrix("A", a, m, n, lda, type)
      .answer(workspace_for(m, n, type), device, host);
}
cusolverStatus_t cusolverDnXgetrf(cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m, int64_t n,
                                  cudaDataType type, void* a, int64_t lda, int64_t* pivots, cudaDataType compute,
                                  void* device, size_t device_bytes, void* host, size_t host_bytes, int* info) {
  const int64_t k = std::min(m, n);
  return Call(__func__, handle)
      .params(params)
      .types({type, compute})
      .matrix("A", a, m, n, lda, type)
      .array("ipiv", pivots, pivots == nullptr ? 0 : static_cast<size_t>(k) * sizeof(int64_t))
      .info(info)
      .workspace(workspace_for(m, n, type), device, device_bytes, host, host_bytes)
      .run([=] {
        visit(type, [&](auto tag) {
          using T = typename decltype(tag)::type;
          T* const x = static_cast<T*>(a);
          if (pivots == nullptr) {
            *info = cublas_standin::factor_without_pivots(m, n, x, lda);
            return;
          }
          std::vector<int> narrow(static_cast<size_t>(k));
          *info = lapack::getrf(static_cast<int>(m), static_cast<int>(n), x, static_cast<int>(lda), narrow.data());
          std::copy(narrow.begin(), narrow.end(), pivots);
        });
      });
}

cusolverStatus_t cusolverDnXgetrs(cusolverDnHandle_t handle, cusolverDnParams_t params, cublasOperation_t trans,
                                  int64_t n, int64_t nrhs, cudaDataType type, const void* a, int64_t lda,
                                  const int64_t* pivots, cudaDataType b_type, void* b, int64_t ldb, int* info) {
  return Call(__func__, handle)
      .params(params)
      .types({type, b_type})
      .matrix("A", a, n, n, lda, type)
      .array("ipiv", pivots, static_cast<size_t>(n) * sizeof(int64_t))
      .matrix("B", b, n, nrhs, ldb, type)
      .info(info)
      .run([=] {
        visit(type, [&](auto tag) {
          using T = typename decltype(tag)::type;
          const std::vector<int> narrow(pivots, pivots + n);
          *info = lapack::getrs(cusolver_standin::letter(trans), static_cast<int>(n), static_cast<int>(nrhs),
                                static_cast<const T*>(a), static_cast<int>(lda), narrow.data(), static_cast<T*>(b),
                                static_cast<int>(ldb));
        });
      });
}

cusolverStatus_t cusolverDnXpotrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                             cublasFillMode_t uplo, int64_t n, cudaDataType type, const void* a,
                                             int64_t lda, cudaDataType compute, size_t* device, size_t* host) {
  return Call(__func__, handle)
      .params(params)
      .require(cusolver_standin::is_triangle(uplo), "neither triangle")
      .types({type, compute})
      .matrix("A", a, n, n, lda, type)
      .answer(workspace_for(n, n, type), device, host);
}
cusolverStatus_t cusolverDnXpotrf(cusolverDnHandle_t handle, cusolverDnParams_t params, cublasFillMode_t uplo,
                                  int64_t n, cudaDataType type, void* a, int64_t lda, cudaDataType compute,
                                  void* device, size_t device_bytes, void* host, size_t host_bytes, int* info) {
  return Call(__func__, handle)
      .params(params)
      .require(cusolver_standin::is_triangle(uplo), "neither triangle")
      .types({type, compute})
      .matrix("A", a, n, n, lda, type)
      .info(info)
      .workspace(workspace_for(n, n, type), device, device_bytes, host, host_bytes)
      .run([=] {
        visit(type, [&](auto tag) {
          using T = typename decltype(tag)::type;
          *info = lapack::potrf(cusolver_standin::letter(uplo), static_cast<int>(n), static_cast<T*>(a),
                                static_cast<int>(lda));
        });
      });
}

cusolverStatus_t cusolverDnXgeqrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m, int64_t n,
                                             cudaDataType type, const void* a, int64_t lda, cudaDataType tau_type,
                                             const void* tau, cudaDataType compute, size_t* device, size_t* host) {
  return Call(__func__, handle)
      .params(params)
      .types({type, tau_type, compute})
      .matrix("A", a, m, n, lda, type)
      .array("tau", tau, static_cast<size_t>(std::min(m, n)) * cusolver_standin::bytes_of(type))
      .answer(workspace_for(m, n, type), device, host);
}
cusolverStatus_t cusolverDnXgeqrf(cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m, int64_t n,
                                  cudaDataType type, void* a, int64_t lda, cudaDataType tau_type, void* tau,
                                  cudaDataType compute, void* device, size_t device_bytes, void* host,
                                  size_t host_bytes, int* info) {
  return Call(__func__, handle)
      .params(params)
      .types({type, tau_type, compute})
      .matrix("A", a, m, n, lda, type)
      .array("tau", tau, static_cast<size_t>(std::min(m, n)) * cusolver_standin::bytes_of(type))
      .info(info)
      .workspace(workspace_for(m, n, type), device, device_bytes, host, host_bytes)
      .run([=] {
        visit(type, [&](auto tag) {
          using T = typename decltype(tag)::type;
          lapack::Workspace<T> w;
          *info = lapack::geqrf(static_cast<int>(m), static_cast<int>(n), static_cast<T*>(a), static_cast<int>(lda),
                                static_cast<T*>(tau), w);
        });
      });
}

#define KD_SOLVER_FACTOR(letter, q, T, type)                                                                         \
  cusolverStatus_t cusolverDn##letter##potrfBatched(cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, T* a[], \
                                                    int lda, int* info, int count) {                                 \
    return cusolver_standin::potrf_batched(__func__, handle, uplo, n, reinterpret_cast<void* const*>(a), lda, info,  \
                                           count, type);                                                             \
  }                                                                                                                  \
  cusolverStatus_t cusolverDn##letter##q##gqr_bufferSize(cusolverDnHandle_t handle, int m, int n, int k, const T* a, \
                                                         int lda, const T* tau, int* size) {                         \
    return cusolver_standin::orgqr_size(__func__, handle, m, n, k, a, lda, tau, size, type);                         \
  }                                                                                                                  \
  cusolverStatus_t cusolverDn##letter##q##gqr(cusolverDnHandle_t handle, int m, int n, int k, T* a, int lda,         \
                                              const T* tau, T* work, int size, int* info) {                          \
    return cusolver_standin::orgqr(__func__, handle, m, n, k, a, lda, tau, work, size, info, type);                  \
  }                                                                                                                  \
  cusolverStatus_t cusolverDn##letter##q##mqr_bufferSize(cusolverDnHandle_t handle, cublasSideMode_t side,           \
                                                         cublasOperation_t trans, int m, int n, int k, const T* a,   \
                                                         int lda, const T* tau, const T* c, int ldc, int* size) {    \
    return cusolver_standin::ormqr_size(__func__, handle, side, trans, m, n, k, a, lda, tau, c, ldc, size, type);    \
  }                                                                                                                  \
  cusolverStatus_t cusolverDn##letter##q##mqr(cusolverDnHandle_t handle, cublasSideMode_t side,                      \
                                              cublasOperation_t trans, int m, int n, int k, const T* a, int lda,     \
                                              const T* tau, T* c, int ldc, T* work, int size, int* info) {           \
    return cusolver_standin::ormqr(__func__, handle, side, trans, m, n, k, a, lda, tau, c, ldc, work, size, info,    \
                                   type);                                                                            \
  }
KD_SOLVER_FACTOR(S, or, float, CUDA_R_32F)
KD_SOLVER_FACTOR(D, or, double, CUDA_R_64F)
KD_SOLVER_FACTOR(C, un, cuComplex, CUDA_C_32F)
KD_SOLVER_FACTOR(Z, un, cuDoubleComplex, CUDA_C_64F)
#undef KD_SOLVER_FACTOR

}  // extern "C"
