// QR factorizations and the reflectors that they leave.
#include <type_traits>

#include "aten/cuda/solver/call.h"
#include "aten/cuda/solver/solver.h"

namespace at::cuda::solver {
namespace {

#define AT_CUDA_SOLVER_QR(T, letter, q)                                                                                \
  cublasStatus_t geqrf_batched(cublasHandle_t handle, int m, int n, T* const a[], int lda, T* const tau[], int* info,  \
                               int count) {                                                                            \
    return cublas##letter##geqrfBatched(handle, m, n, a, lda, tau, info, count);                                       \
  }                                                                                                                    \
  cusolverStatus_t orgqr_size(cusolverDnHandle_t handle, int m, int n, int k, const T* a, int lda, const T* tau,       \
                              int* size) {                                                                             \
    return cusolverDn##letter##q##gqr_bufferSize(handle, m, n, k, a, lda, tau, size);                                  \
  }                                                                                                                    \
  cusolverStatus_t orgqr_one(cusolverDnHandle_t handle, int m, int n, int k, T* a, int lda, const T* tau, T* work,     \
                             int size, int* info) {                                                                    \
    return cusolverDn##letter##q##gqr(handle, m, n, k, a, lda, tau, work, size, info);                                 \
  }                                                                                                                    \
  cusolverStatus_t ormqr_size(cusolverDnHandle_t handle, cublasSideMode_t side, cublasOperation_t trans, int m, int n, \
                              int k, const T* a, int lda, const T* tau, const T* c, int ldc, int* size) {              \
    return cusolverDn##letter##q##mqr_bufferSize(handle, side, trans, m, n, k, a, lda, tau, c, ldc, size);             \
  }                                                                                                                    \
  cusolverStatus_t ormqr_one(cusolverDnHandle_t handle, cublasSideMode_t side, cublasOperation_t trans, int m, int n,  \
                             int k, const T* a, int lda, const T* tau, T* c, int ldc, T* work, int size, int* info) {  \
    return cusolverDn##letter##q##mqr(handle, side, trans, m, n, k, a, lda, tau, c, ldc, work, size, info);            \
  }
AT_CUDA_SOLVER_QR(float, S, or)
AT_CUDA_SOLVER_QR(double, D, or)
AT_CUDA_SOLVER_QR(cuComplex, C, un)
AT_CUDA_SOLVER_QR(cuDoubleComplex, Z, un)
#undef AT_CUDA_SOLVER_QR

}  // namespace

void geqrf(const Tensor& a, const Tensor& tau) {
  const Batch m(a);
  if (m.count == 0) return;
  const int k = std::min(m.rows, m.columns);
  if (m.is_small()) {
    const Addresses matrices(m), scales(tau.const_data_ptr(), k * static_cast<int64_t>(a.itemsize()), m.count);
    visit(a.scalar_type(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      int info = 0;  // of the arguments
      check_blas(geqrf_batched(exact_blas_handle(), m.rows, m.columns, matrices.get<T>(), m.ld, scales.get<T>(), &info,
                               static_cast<int>(m.count)),
                 "cublas<t>geqrfBatched");
    });
    return;
  }
  const cusolverDnHandle_t handle = getCurrentCUDASolverDnHandle();
  const cudaDataType type = data_type(a.scalar_type());
  char* const scales = elements<char>(tau);
  Workspace w;
  check(cusolverDnXgeqrf_bufferSize(handle, default_params(), m.rows, m.columns, type, m[0], m.ld, type, scales, type,
                                    &w.device_bytes, &w.host_bytes),
        "cusolverDnXgeqrf_bufferSize");
  w.allocate();
  const Tensor info = scratch_ints(m.count, a);
  for (int64_t i = 0; i < m.count; ++i) {
    check(cusolverDnXgeqrf(handle, default_params(), m.rows, m.columns, type, m[i], m.ld, type,
                           scales + i * k * static_cast<int64_t>(a.itemsize()), type, w.device(), w.device_bytes,
                           w.host(), w.host_bytes, ints(info) + i),
          "cusolverDnXgeqrf");
  }
}

void orgqr(const Tensor& q, const Tensor& tau) {
  const Batch m(q);
  if (m.count == 0) return;
  const int k = Batch::checked(tau.size(-1));
  const cusolverDnHandle_t handle = getCurrentCUDASolverDnHandle();
  const Tensor info = scratch_ints(m.count, q);
  visit(q.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* const scales = elements<T>(tau);
    int size = 0;
    check(orgqr_size(handle, m.rows, m.columns, k, m.at<T>(0), m.ld, scales, &size), "cusolverDn<t>orgqr_bufferSize");
    Workspace w;
    w.device_bytes = static_cast<size_t>(size) * sizeof(T);
    w.allocate();
    for (int64_t i = 0; i < m.count; ++i) {
      check(orgqr_one(handle, m.rows, m.columns, k, m.at<T>(i), m.ld, scales + i * k, static_cast<T*>(w.device()), size,
                      ints(info) + i),
            "cusolverDn<t>orgqr");
    }
  });
}

void ormqr(const Tensor& a, const Tensor& tau, const Tensor& c, bool left, bool adjoint) {
  const Batch m(a), x(c);
  const int k = Batch::checked(tau.size(-1));
  if (x.count == 0 || k == 0) return;
  const cublasSideMode_t side = left ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT;
  const cusolverDnHandle_t handle = getCurrentCUDASolverDnHandle();
  const Tensor info = scratch_ints(x.count, c);
  visit(a.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const cublasOperation_t trans = !adjoint ? CUBLAS_OP_N : std::is_floating_point_v<T> ? CUBLAS_OP_T : CUBLAS_OP_C;
    const T* const scales = elements<T>(tau);
    int size = 0;
    check(ormqr_size(handle, side, trans, x.rows, x.columns, k, m.at<T>(0), m.ld, scales, x.at<T>(0), x.ld, &size),
          "cusolverDn<t>ormqr_bufferSize");
    Workspace w;
    w.device_bytes = static_cast<size_t>(size) * sizeof(T);
    w.allocate();
    for (int64_t i = 0; i < x.count; ++i) {
      check(ormqr_one(handle, side, trans, x.rows, x.columns, k, m.at<T>(i), m.ld, scales + i * k, x.at<T>(i), x.ld,
                      static_cast<T*>(w.device()), size, ints(info) + i),
            "cusolverDn<t>ormqr");
    }
  });
}

}  // namespace at::cuda::solver
