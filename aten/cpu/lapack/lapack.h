#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "c10/util/complex.h"

// Factorizations of one matrix in column-major order: element (i, j) lies at a[i + j * lda]. T is float, double or a
// complex number of these. What LAPACK returns as `info` is the result: 0, or which pivot, minor or iteration failed.

namespace at::cpu::lapack {

template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<c10::complex<T>> {
  using type = T;
};
template <class T>
using Real = typename RealOf<T>::type;
template <class T>
inline constexpr bool is_complex = !std::is_same_v<Real<T>, T>;

template <class T>
inline T conjugate(T x) {
  if constexpr (is_complex<T>) {
    return {x.real(), -x.imag()};
  } else {
    return x;
  }
}

template <class T>
inline Real<T> modulus(T x) {
  if constexpr (is_complex<T>) {
    return std::hypot(x.real(), x.imag());
  } else {
    return std::abs(x);
  }
}

// What pivots are compared by: |x|, of complex numbers |re| + |im|.
template <class T>
inline Real<T> magnitude(T x) {
  if constexpr (is_complex<T>) {
    return std::abs(x.real()) + std::abs(x.imag());
  } else {
    return std::abs(x);
  }
}

/// Has LAPACK compute in the calling thread: batches are shared out over the threads of at::parallel_for.
void use_one_thread();

/// A size as LAPACK takes it. Throws c10::Error for one of 2^31 or more.
int checked_size(int64_t n);

/// Memory that routines need beside the matrix, kept from one matrix of a batch to the next.
template <class T>
struct Workspace {
  std::vector<T> numbers;
  std::vector<Real<T>> reals;
  std::vector<int> integers;
};

/// The routines below for `count` of `batch` matrices, which follow each other without gaps. Where the batch has many
/// small real ones they are taken several at once (interleaved.h): `batch` decides it, so that how a batch is shared
/// out over threads changes no result. `pivots` and `info` are arrays of the `count` matrices.
template <class T>
void getrf_batch(int64_t batch, int64_t count, int m, int n, T* a, int* pivots, int* info);
template <class T>
void getrs_batch(char trans, int64_t batch, int64_t count, int n, int nrhs, const T* a, const int* pivots, T* b);
template <class T>
void potrf_batch(char uplo, int64_t batch, int64_t count, int n, T* a, int* info);
template <class T>
void potrs_batch(char uplo, int64_t batch, int64_t count, int n, int nrhs, const T* a, T* b);
template <class T>
void syevd_batch(bool vectors, char uplo, int64_t batch, int64_t count, int n, T* a, Real<T>* values, int* info);
/// b is m x n, a m x m with `side` 'L' and n x n with 'R'.
template <class T>
void trsm_batch(char side, char uplo, char diag, int64_t batch, int64_t count, int m, int n, const T* a, T* b);

template <class T>
int getrf(int m, int n, T* a, int lda, int* pivots);
template <class T>
int getrs(char trans, int n, int nrhs, const T* a, int lda, const int* pivots, T* b, int ldb);
template <class T>
int potrf(char uplo, int n, T* a, int lda);
template <class T>
void potrs(char uplo, int n, int nrhs, const T* a, int lda, T* b, int ldb);
template <class T>
int potri(char uplo, int n, T* a, int lda);
/// b = op(a)^-1 b with `side` 'L', b op(a)^-1 with 'R'; b is m x n.
template <class T>
void trsm(char side, char uplo, char trans, char diag, int m, int n, const T* a, int lda, T* b, int ldb);
template <class T>
int geqrf(int m, int n, T* a, int lda, T* tau, Workspace<T>& w);
template <class T>
int orgqr(int m, int n, int k, T* a, int lda, const T* tau, Workspace<T>& w);
/// `trans` 'N' or 'C'.
template <class T>
int ormqr(char side, char trans, int m, int n, int k, const T* a, int lda, const T* tau, T* c, int ldc,
          Workspace<T>& w);
/// Eigenvalues of a symmetric or Hermitian matrix; with `vectors` a becomes the eigenvectors.
template <class T>
int syevd(bool vectors, char uplo, int n, T* a, int lda, Real<T>* values, Workspace<T>& w);
/// Eigenvalues and, unless `vectors` is null, eigenvectors of any matrix, complex also for real ones.
template <class T>
int geev(int n, T* a, int lda, c10::complex<Real<T>>* values, c10::complex<Real<T>>* vectors, int ldv, Workspace<T>& w);
/// Singular values and with `job` 'A' all, with 'S' the first singular vectors, with 'N' none.
template <class T>
int gesdd(char job, int m, int n, T* a, int lda, Real<T>* s, T* u, int ldu, T* vt, int ldvt, Workspace<T>& w);
template <class T>
int gels(int m, int n, int nrhs, T* a, int lda, T* b, int ldb, Workspace<T>& w);
template <class T>
int gelsy(int m, int n, int nrhs, T* a, int lda, T* b, int ldb, Real<T> rcond, int* rank, Workspace<T>& w);
template <class T>
int gelsd(int m, int n, int nrhs, T* a, int lda, T* b, int ldb, Real<T>* s, Real<T> rcond, int* rank, Workspace<T>& w);
template <class T>
int gelss(int m, int n, int nrhs, T* a, int lda, T* b, int ldb, Real<T>* s, Real<T> rcond, int* rank, Workspace<T>& w);
/// The lower triangle of a symmetric, or with `hermitian` of a Hermitian matrix as L D L^T or L D L^H.
template <class T>
int sytrf(bool hermitian, int n, T* a, int lda, int* pivots, Workspace<T>& w);
template <class T>
int sytrs(bool hermitian, int n, int nrhs, const T* a, int lda, const int* pivots, T* b, int ldb);

}  // namespace at::cpu::lapack
