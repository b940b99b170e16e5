// LU and Cholesky factorizations, triangular systems.
#include <type_traits>

#include "aten/cuda/solver/call.h"
#include "aten/cuda/solver/solver.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"

namespace at::cuda::solver {
namespace {

#define AT_CUDA_SOLVER_LU(T, letter)                                                                                  \
  cublasStatus_t getrf_batched(cublasHandle_t handle, int n, T* const a[], int lda, int* pivots, int* info,           \
                               int count) {                                                                           \
    return cublas##letter##getrfBatched(handle, n, a, lda, pivots, info, count);                                      \
  }                                                                                                                   \
  cublasStatus_t getrs_batched(cublasHandle_t handle, cublasOperation_t trans, int n, int nrhs, const T* const a[],   \
                               int lda, const int* pivots, T* const b[], int ldb, int* info, int count) {             \
    return cublas##letter##getrsBatched(handle, trans, n, nrhs, a, lda, pivots, b, ldb, info, count);                 \
  }                                                                                                                   \
  cusolverStatus_t potrf_batched(cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, T* a[], int lda, int* info, \
                                 int count) {                                                                         \
    return cusolverDn##letter##potrfBatched(handle, uplo, n, a, lda, info, count);                                    \
  }                                                                                                                   \
  cublasStatus_t trsm_one(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,                        \
                          cublasOperation_t trans, cublasDiagType_t diag, int m, int n, const T* alpha, const T* a,   \
                          int lda, T* b, int ldb) {                                                                   \
    return cublas##letter##trsm(handle, side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb);                        \
  }                                                                                                                   \
  cublasStatus_t trsm_batched(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,                    \
                              cublasOperation_t trans, cublasDiagType_t diag, int m, int n, const T* alpha,           \
                              const T* const a[], int lda, T* const b[], int ldb, int count) {                        \
    return cublas##letter##trsmBatched(handle, side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb, count);          \
  }
AT_CUDA_SOLVER_TYPES(AT_CUDA_SOLVER_LU)
#undef AT_CUDA_SOLVER_LU

template <class T>
constexpr T one() {
  if constexpr (std::is_floating_point_v<T>) {
    return 1;
  } else {
    return {1, 0};
  }
}

}  // namespace

void getrf(const Tensor& a, const Tensor& pivots, const Tensor& info, bool pivot) {
  const Batch m(a);
  if (m.count == 0) return at::zero_(const_cast<Tensor&>(info)), void();
  if (m.rows == m.columns && m.is_small()) {
    const Addresses matrices(m);
    visit(a.scalar_type(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      check_blas(getrf_batched(exact_blas_handle(), m.rows, matrices.get<T>(), m.ld, pivot ? ints(pivots) : nullptr,
                               ints(info), static_cast<int>(m.count)),
                 "cublas<t>getrfBatched");
    });
  } else {
    const cusolverDnHandle_t handle = getCurrentCUDASolverDnHandle();
    const cudaDataType type = data_type(a.scalar_type());
    Workspace w;
    check(cusolverDnXgetrf_bufferSize(handle, default_params(), m.rows, m.columns, type, m[0], m.ld, type,
                                      &w.device_bytes, &w.host_bytes),
          "cusolverDnXgetrf_bufferSize");
    w.allocate();
    // The library's pivots have 64 bits.
    const Tensor wide = empty_contiguous(pivots.sizes(), ScalarType::Long, a.device());
    for (int64_t i = 0; i < m.count; ++i) {
      int64_t* const to = pivot ? elements<int64_t>(wide) + i * std::min(m.rows, m.columns) : nullptr;
      check(cusolverDnXgetrf(handle, default_params(), m.rows, m.columns, type, m[i], m.ld, to, type, w.device(),
                             w.device_bytes, w.host(), w.host_bytes, ints(info) + i),
            "cusolverDnXgetrf");
    }
    if (pivot) at::copy_(const_cast<Tensor&>(pivots), wide);
  }
  if (!pivot) {
    at::copy_(const_cast<Tensor&>(pivots), at::arange(Scalar(1), Scalar(pivots.size(-1) + 1), pivots.options()));
  }
}

void getrs(const Tensor& lu, const Tensor& pivots, char trans, const Tensor& b) {
  const Batch m(lu), x(b);
  if (x.count == 0) return;
  if (m.is_small()) {
    const Addresses matrices(m), sides(x);
    visit(lu.scalar_type(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      int info = 0;  // of the arguments
      check_blas(getrs_batched(exact_blas_handle(), operation(trans), m.rows, x.columns, matrices.get<T>(), m.ld,
                               ints(pivots), sides.get<T>(), x.ld, &info, static_cast<int>(m.count)),
                 "cublas<t>getrsBatched");
    });
    return;
  }
  const cusolverDnHandle_t handle = getCurrentCUDASolverDnHandle();
  const cudaDataType type = data_type(lu.scalar_type());
  const Tensor wide = at::_to_copy(pivots, TensorOptions().dtype(kLong)), info = scratch_ints(m.count, lu);
  for (int64_t i = 0; i < m.count; ++i) {
    check(cusolverDnXgetrs(handle, default_params(), operation(trans), m.rows, x.columns, type, m[i], m.ld,
                           elements<int64_t>(wide) + i * m.rows, type, x[i], x.ld, ints(info) + i),
          "cusolverDnXgetrs");
  }
}

Tensor permutation(const Tensor& pivots, int64_t rows) {
  const int64_t k = pivots.size(-1);
  DimVector sizes(pivots.sizes().begin(), pivots.sizes().end());
  sizes.back() = rows;
  const Tensor order = empty_contiguous(sizes, ScalarType::Long, pivots.device());
  if (order.numel() > 0) launch_permutations(ints(pivots), order.numel() / rows, k, rows, elements<int64_t>(order));
  return order;
}

void potrf(const Tensor& a, bool upper, const Tensor& info) {
  const Batch m(a);
  if (m.count == 0) return at::zero_(const_cast<Tensor&>(info)), void();
  const cusolverDnHandle_t handle = getCurrentCUDASolverDnHandle();
  if (m.is_small()) {
    const Addresses matrices(m);
    visit(a.scalar_type(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      check(potrf_batched(handle, triangle(upper), m.rows, matrices.get<T>(), m.ld, ints(info),
                          static_cast<int>(m.count)),
            "cusolverDn<t>potrfBatched");
    });
    return;
  }
  const cudaDataType type = data_type(a.scalar_type());
  Workspace w;
  check(cusolverDnXpotrf_bufferSize(handle, default_params(), triangle(upper), m.rows, type, m[0], m.ld, type,
                                    &w.device_bytes, &w.host_bytes),
        "cusolverDnXpotrf_bufferSize");
  w.allocate();
  for (int64_t i = 0; i < m.count; ++i) {
    check(cusolverDnXpotrf(handle, default_params(), triangle(upper), m.rows, type, m[i], m.ld, type, w.device(),
                           w.device_bytes, w.host(), w.host_bytes, ints(info) + i),
          "cusolverDnXpotrf");
  }
}

void trsm(const Tensor& a, const Tensor& b, bool left, bool upper, char trans, bool unit_diagonal) {
  const Batch m(a), x(b);
  if (x.count == 0) return;
  const cublasSideMode_t side = left ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT;
  const cublasDiagType_t diag = unit_diagonal ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
  visit(a.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T alpha = one<T>();
    const cublasHandle_t handle = exact_blas_handle();
    if (m.is_small()) {
      const Addresses matrices(m), sides(x);
      check_blas(trsm_batched(handle, side, triangle(upper), operation(trans), diag, x.rows, x.columns, &alpha,
                              matrices.get<T>(), m.ld, sides.get<T>(), x.ld, static_cast<int>(m.count)),
                 "cublas<t>trsmBatched");
      return;
    }
    for (int64_t i = 0; i < m.count; ++i) {
      check_blas(trsm_one(handle, side, triangle(upper), operation(trans), diag, x.rows, x.columns, &alpha, m.at<T>(i),
                          m.ld, x.at<T>(i), x.ld),
                 "cublas<t>trsm");
    }
  });
}

}  // namespace at::cuda::solver
