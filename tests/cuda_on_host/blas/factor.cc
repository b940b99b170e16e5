// Triangular systems, and factorizations of batches.
#include <cublas_v2.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

#include "aten/cpu/lapack/lapack.h"
#include "tests/cuda_on_host/blas/elimination.h"
#include "tests/cuda_on_host/blas/state.h"
#include "tests/cuda_on_host/runtime/standin.h"

namespace cublas_standin {
namespace {

namespace lapack = at::cpu::lapack;

// A call of a handle of the current device.
template <class Body>
cublasStatus_t with_device(cublasHandle_t handle, const char* call, const Body& body) {
  return with_handle(handle, call, [&](const Handle& h) {
    int device = -1;
    if (cudaGetDevice(&device) != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (device != h.device) return refuse(call, "the handle is another device's");
    return body(h);
  });
}

cublasStatus_t queue(const Handle& h, const char* call, std::function<void()> work) {
  const cudaError_t status = cuda_standin::enqueue(h.stream, call, [work = std::move(work)] {
    lapack::use_one_thread();
    work();
  });
  return status == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

bool on_device(const void* data, int64_t bytes) {
  return bytes <= 0 || cuda_standin::device_accessible(data, static_cast<size_t>(bytes));
}

// Matrices of a batch: where they lie, of which the array of addresses is on the device.
template <class T>
bool are_addresses(const T* const* all, int count) {
  return on_device(all, int64_t{count} * static_cast<int64_t>(sizeof(void*)));
}

char letter(cublasOperation_t trans) {
  return trans == CUBLAS_OP_N ? 'N' : trans == CUBLAS_OP_T ? 'T' : 'C';
}

// What both forms of trsm take.
struct Trsm {
  cublasSideMode_t side;
  cublasFillMode_t uplo;
  cublasOperation_t trans;
  cublasDiagType_t diag;
  int m, n, lda, ldb;

  int order() const { return side == CUBLAS_SIDE_LEFT ? m : n; }
  const char* wrong() const {
    if (m < 0 || n < 0) return "a negative size";
    if (uplo != CUBLAS_FILL_MODE_UPPER && uplo != CUBLAS_FILL_MODE_LOWER) return "neither triangle";
    if (lda < std::max(order(), 1)) return "leading dimension of A";
    if (ldb < std::max(m, 1)) return "leading dimension of B";
    return nullptr;
  }
  template <class T>
  void solve(const T* a, T* b, T alpha) const {
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t i = 0; i < m; ++i) b[i + j * ldb] = alpha * b[i + j * ldb];
    }
    lapack::trsm(side == CUBLAS_SIDE_LEFT ? 'L' : 'R', uplo == CUBLAS_FILL_MODE_UPPER ? 'U' : 'L', letter(trans),
                 diag == CUBLAS_DIAG_UNIT ? 'U' : 'N', m, n, a, lda, b, ldb);
  }
};

template <class T>
cublasStatus_t trsm(cublasHandle_t handle, const char* call, const Trsm& s, const T* alpha, const T* a, T* b) {
  return with_device(handle, call, [&](const Handle& h) {
    if (const char* const wrong = s.wrong(); wrong != nullptr) return refuse(call, wrong);
    if (s.m == 0 || s.n == 0) return CUBLAS_STATUS_SUCCESS;
    if (h.pointer_mode != CUBLAS_POINTER_MODE_HOST) return refuse(call, "the stand-in has alpha on the host only");
    const auto item = static_cast<int64_t>(sizeof(T));
    if (!on_device(a, (int64_t{s.lda} * (s.order() - 1) + s.order()) * item)) {
      return refuse(call, "A leaves the device's memory");
    }
    if (!on_device(b, (int64_t{s.ldb} * (s.n - 1) + s.m) * item)) return refuse(call, "B leaves the device's memory");
    return queue(h, call, [=, factor = *alpha] { s.solve(a, b, factor); });
  });
}

template <class T>
cublasStatus_t trsm_batched(cublasHandle_t handle, const char* call, const Trsm& s, const T* alpha, const T* const* a,
                            T* const* b, int count) {
  return with_device(handle, call, [&](const Handle& h) {
    if (const char* const wrong = s.wrong(); wrong != nullptr) return refuse(call, wrong);
    if (count < 0) return refuse(call, "a negative size");
    if (s.m == 0 || s.n == 0 || count == 0) return CUBLAS_STATUS_SUCCESS;
    if (h.pointer_mode != CUBLAS_POINTER_MODE_HOST) return refuse(call, "the stand-in has alpha on the host only");
    if (!are_addresses(a, count) || !are_addresses(b, count)) {
      return refuse(call, "an array of addresses leaves the device's memory");
    }
    return queue(h, call, [=, factor = *alpha] {
      for (int i = 0; i < count; ++i) s.solve(a[i], b[i], factor);
    });
  });
}

template <class T>
cublasStatus_t getrf(cublasHandle_t handle, const char* call, int n, T* const* a, int lda, int* pivots, int* info,
                     int count) {
  return with_device(handle, call, [&](const Handle& h) {
    if (n < 0 || count < 0) return refuse(call, "a negative size");
    if (lda < std::max(n, 1)) return refuse(call, "leading dimension of A");
    if (n == 0 || count == 0) return CUBLAS_STATUS_SUCCESS;
    if (!are_addresses(a, count)) return refuse(call, "an array of addresses leaves the device's memory");
    const int64_t numbers = int64_t{count} * static_cast<int64_t>(sizeof(int));
    if (pivots != nullptr && !on_device(pivots, numbers * n)) return refuse(call, "pivots leave the device's memory");
    if (!on_device(info, numbers)) return refuse(call, "info leaves the device's memory");
    return queue(h, call, [=] {
      for (int i = 0; i < count; ++i) {
        info[i] = pivots == nullptr ? factor_without_pivots(n, n, a[i], lda)
                                    : lapack::getrf(n, n, a[i], lda, pivots + int64_t{i} * n);
      }
    });
  });
}

template <class T>
cublasStatus_t getrs(cublasHandle_t handle, const char* call, cublasOperation_t trans, int n, int nrhs,
                     const T* const* a, int lda, const int* pivots, T* const* b, int ldb, int* info, int count) {
  return with_device(handle, call, [&](const Handle& h) {
    if (info == nullptr || cuda_standin::device_accessible(info)) return refuse(call, "info is not on the host");
    *info = 0;
    if (n < 0 || nrhs < 0 || count < 0) return refuse(call, "a negative size");
    if (lda < std::max(n, 1)) return refuse(call, "leading dimension of A");
    if (ldb < std::max(n, 1)) return refuse(call, "leading dimension of B");
    if (n == 0 || nrhs == 0 || count == 0) return CUBLAS_STATUS_SUCCESS;
    if (!are_addresses(a, count) || !are_addresses(b, count)) {
      return refuse(call, "an array of addresses leaves the device's memory");
    }
    if (!on_device(pivots, int64_t{count} * n * static_cast<int64_t>(sizeof(int)))) {
      return refuse(call, "pivots leave the device's memory");
    }
    return queue(h, call, [=] {
      for (int i = 0; i < count; ++i) {
        lapack::getrs(letter(trans), n, nrhs, a[i], lda, pivots + int64_t{i} * n, b[i], ldb);
      }
    });
  });
}

template <class T>
cublasStatus_t geqrf(cublasHandle_t handle, const char* call, int m, int n, T* const* a, int lda, T* const* tau,
                     int* info, int count) {
  return with_device(handle, call, [&](const Handle& h) {
    if (info == nullptr || cuda_standin::device_accessible(info)) return refuse(call, "info is not on the host");
    *info = 0;
    if (m < 0 || n < 0 || count < 0) return refuse(call, "a negative size");
    if (lda < std::max(m, 1)) return refuse(call, "leading dimension of A");
    if (m == 0 || n == 0 || count == 0) return CUBLAS_STATUS_SUCCESS;
    if (!are_addresses(a, count) || !are_addresses(tau, count)) {
      return refuse(call, "an array of addresses leaves the device's memory");
    }
    return queue(h, call, [=] {
      lapack::Workspace<T> w;
      for (int i = 0; i < count; ++i) lapack::geqrf(m, n, a[i], lda, tau[i], w);
    });
  });
}

// LAPACK's types for the library's.
template <class To, class From>
To* as(From* pointer) {
  return reinterpret_cast<To*>(pointer);
}

}  // namespace
}  // namespace cublas_standin

namespace in = cublas_standin;

extern "C" {

#define KD_FACTOR(letter, T, L)                                                                                       \
  cublasStatus_t cublas##letter##trsm(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,            \
                                      cublasOperation_t trans, cublasDiagType_t diag, int m, int n, const T* alpha,   \
                                      const T* a, int lda, T* b, int ldb) {                                           \
    return in::trsm(handle, "cublas" #letter "trsm", {side, uplo, trans, diag, m, n, lda, ldb},                       \
                    in::as<const L>(alpha), in::as<const L>(a), in::as<L>(b));                                        \
  }                                                                                                                   \
  cublasStatus_t cublas##letter##trsmBatched(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,     \
                                             cublasOperation_t trans, cublasDiagType_t diag, int m, int n,            \
                                             const T* alpha, const T* const a[], int lda, T* const b[], int ldb,      \
                                             int count) {                                                             \
    return in::trsm_batched(handle, "cublas" #letter "trsmBatched", {side, uplo, trans, diag, m, n, lda, ldb},        \
                            in::as<const L>(alpha), in::as<const L* const>(a), in::as<L* const>(b), count);           \
  }                                                                                                                   \
  cublasStatus_t cublas##letter##getrfBatched(cublasHandle_t handle, int n, T* const a[], int lda, int* pivots,       \
                                              int* info, int count) {                                                 \
    return in::getrf(handle, "cublas" #letter "getrfBatched", n, in::as<L* const>(a), lda, pivots, info, count);      \
  }                                                                                                                   \
  cublasStatus_t cublas##letter##getrsBatched(cublasHandle_t handle, cublasOperation_t trans, int n, int nrhs,        \
                                              const T* const a[], int lda, const int* pivots, T* const b[], int ldb,  \
                                              int* info, int count) {                                                 \
    return in::getrs(handle, "cublas" #letter "getrsBatched", trans, n, nrhs, in::as<const L* const>(a), lda, pivots, \
                     in::as<L* const>(b), ldb, info, count);                                                          \
  }                                                                                                                   \
  cublasStatus_t cublas##letter##geqrfBatched(cublasHandle_t handle, int m, int n, T* const a[], int lda,             \
                                              T* const tau[], int* info, int count) {                                 \
    return in::geqrf(handle, "cublas" #letter "geqrfBatched", m, n, in::as<L* const>(a), lda, in::as<L* const>(tau),  \
                     info, count);                                                                                    \
  }
KD_FACTOR(S, float, float)
KD_FACTOR(D, double, double)
KD_FACTOR(C, cuComplex, c10::complex<float>)
KD_FACTOR(Z, cuDoubleComplex, c10::complex<double>)
#undef KD_FACTOR

}  // extern "C"
