#include "aten/cpu/lapack/lapack.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <mutex>

#include "aten/cpu/lapack/blocked.h"
#include "aten/cpu/lapack/interleaved.h"
#include "aten/cpu/lapack/routines.h"
#include "aten/cpu/lapack/small.h"
#include "c10/util/exception.h"

// OpenBLAS has them, other libraries do not.
extern "C" __attribute__((weak)) void openblas_set_num_threads(int threads);

// What OpenBLAS, compiled as Fortran, asks of its compiler's library: a // b, filled with blanks. Programs that
// are linked fully statically need no such library then.
extern "C" __attribute__((weak)) void _gfortran_concat_string(size_t size, char* to, size_t a_size, const char* a,
                                                              size_t b_size, const char* b);
extern "C" void _gfortran_concat_string(size_t size, char* to, size_t a_size, const char* a, size_t b_size,
                                        const char* b) {
  for (size_t i = 0; i < size; ++i) to[i] = i < a_size ? a[i] : i < a_size + b_size ? b[i - a_size] : ' ';
}

namespace at::cpu::lapack {

void use_one_thread() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (openblas_set_num_threads != nullptr) openblas_set_num_threads(1);
  });
}

int checked_size(int64_t n) {
  TORCH_CHECK(n <= std::numeric_limits<int>::max(),
              "linalg: a matrix of ", n, " rows, columns or right-hand sides is too large for LAPACK");
  return static_cast<int>(n);
}

namespace {

// `n` elements of v, and what a query for the best number of them said.
template <class V>
auto* room(V& v, size_t n) {
  if (v.size() < n) v.resize(n);
  return v.data();
}
int asked(double size) { return std::max(1, static_cast<int>(size)); }
template <class R>
int asked(const c10::complex<R>& size) {
  return asked(static_cast<double>(size.real()));
}
size_t extent(int n) { return static_cast<size_t>(std::max(n, 1)); }

// Calls f(work, lwork), first with lwork = -1 to learn how much it wants.
template <class T, class F>
int with_work(Workspace<T>& w, const F& f) {
  T best{};
  int info = f(&best, -1);
  if (info != 0) return info;
  const int size = asked(best);
  return f(room(w.numbers, static_cast<size_t>(size)), size);
}

// Real routines give two conjugate eigenvectors as one column of real and one of imaginary parts.
template <class T>
void unpack_pairs(int n, const T* im, const T* vr, c10::complex<T>* vectors, int ldv) {
  const auto rows = static_cast<size_t>(n), step = static_cast<size_t>(ldv);
  for (size_t j = 0; j < rows; ++j) {
    const bool pair = im[j] != 0 && j + 1 < rows;
    const T *re_column = vr + j * rows, *im_column = re_column + rows;
    for (size_t i = 0; i < rows; ++i) {
      vectors[i + j * step] = {re_column[i], pair ? im_column[i] : T(0)};
      if (pair) vectors[i + (j + 1) * step] = {re_column[i], -im_column[i]};
    }
    if (pair) ++j;
  }
}

// Whether matrices of n rows are factored several at once.
template <class T>
bool interleaves(int64_t batch, int n) {
  return !is_complex<T> && n > 0 && n <= interleaved::kMostRows && batch >= interleaved::kFewestMatrices;
}

}  // namespace

template <class T>
void getrf_batch(int64_t batch, int64_t count, int m, int n, T* a, int* pivots, int* info) {
  if constexpr (!is_complex<T>) {
    if (m == n && interleaves<T>(batch, n)) return interleaved::lu(count, n, a, pivots, info);
  }
  const int64_t size = int64_t{m} * n, few = std::min(m, n);
  for (int64_t i = 0; i < count; ++i) info[i] = getrf(m, n, a + i * size, std::max(m, 1), pivots + i * few);
}

template <class T>
void getrs_batch(char trans, int64_t batch, int64_t count, int n, int nrhs, const T* a, const int* pivots, T* b) {
  if constexpr (!is_complex<T>) {
    if (interleaves<T>(batch, n)) return interleaved::lu_solve(trans, count, n, nrhs, a, pivots, b);
  }
  const int ld = std::max(n, 1);
  for (int64_t i = 0; i < count; ++i) {
    getrs(trans, n, nrhs, a + i * n * n, ld, pivots + i * n, b + i * n * nrhs, ld);
  }
}

template <class T>
void potrf_batch(char uplo, int64_t batch, int64_t count, int n, T* a, int* info) {
  if constexpr (!is_complex<T>) {
    if (interleaves<T>(batch, n)) return interleaved::cholesky(uplo, count, n, a, info);
  }
  for (int64_t i = 0; i < count; ++i) info[i] = potrf(uplo, n, a + i * n * n, std::max(n, 1));
}

template <class T>
void potrs_batch(char uplo, int64_t batch, int64_t count, int n, int nrhs, const T* a, T* b) {
  const bool lower = uplo == 'L';
  if constexpr (!is_complex<T>) {
    if (interleaves<T>(batch, n)) {
      interleaved::triangular_solve(uplo, lower ? 'N' : 'C', 'N', count, n, nrhs, a, b);
      return interleaved::triangular_solve(uplo, lower ? 'C' : 'N', 'N', count, n, nrhs, a, b);
    }
  }
  const int ld = std::max(n, 1);
  for (int64_t i = 0; i < count; ++i) potrs(uplo, n, nrhs, a + i * n * n, ld, b + i * n * nrhs, ld);
}

template <class T>
void syevd_batch(bool vectors, char uplo, int64_t batch, int64_t count, int n, T* a, Real<T>* values, int* info) {
  if constexpr (!is_complex<T>) {
    if (interleaves<T>(batch, n)) return interleaved::eigh(vectors, uplo, count, n, a, values, info);
  }
  Workspace<T> w;
  for (int64_t i = 0; i < count; ++i) {
    info[i] = syevd(vectors, uplo, n, a + i * n * n, std::max(n, 1), values + i * n, w);
  }
}

template <class T>
void trsm_batch(char side, char uplo, char diag, int64_t batch, int64_t count, int m, int n, const T* a, T* b) {
  if constexpr (!is_complex<T>) {
    if (side == 'L' && interleaves<T>(batch, m)) {
      return interleaved::triangular_solve(uplo, 'N', diag, count, m, n, a, b);
    }
  }
  const int order = side == 'L' ? m : n, ld = std::max(m, 1);
  for (int64_t i = 0; i < count; ++i) {
    trsm(side, uplo, 'N', diag, m, n, a + i * order * order, std::max(order, 1), b + i * m * n, ld);
  }
}

template <class T>
int getrf(int m, int n, T* a, int lda, int* pivots) {
  if (std::max(m, n) <= kSmall) return small_lu(m, n, a, lda, pivots);
  if constexpr (!is_complex<T>) {
    return blocked_lu(m, n, a, lda, pivots);
  } else {
    int info = 0;
    Routines<T>::getrf(&m, &n, a, &lda, pivots, &info);
    return info;
  }
}

template <class T>
int getrs(char trans, int n, int nrhs, const T* a, int lda, const int* pivots, T* b, int ldb) {
  if (n <= kSmall) return small_lu_solve(trans, n, nrhs, a, lda, pivots, b, ldb), 0;
  if constexpr (!is_complex<T>) {
    if (nrhs >= kManySides) return blocked_lu_solve(trans, n, nrhs, a, lda, pivots, b, ldb), 0;
  }
  int info = 0;
  Routines<T>::getrs(&trans, &n, &nrhs, a, &lda, pivots, b, &ldb, &info, 1);
  return info;
}

template <class T>
int potrf(char uplo, int n, T* a, int lda) {
  if (n <= kSmall) return small_cholesky(uplo, n, a, lda);
  int info = 0;
  Routines<T>::potrf(&uplo, &n, a, &lda, &info, 1);
  return info;
}

template <class T>
void potrs(char uplo, int n, int nrhs, const T* a, int lda, T* b, int ldb) {
  const bool lower = uplo == 'L';
  trsm('L', uplo, lower ? 'N' : 'C', 'N', n, nrhs, a, lda, b, ldb);
  trsm('L', uplo, lower ? 'C' : 'N', 'N', n, nrhs, a, lda, b, ldb);
}

template <class T>
int potri(char uplo, int n, T* a, int lda) {
  int info = 0;
  Routines<T>::potri(&uplo, &n, a, &lda, &info, 1);
  return info;
}

template <class T>
void trsm(char side, char uplo, char trans, char diag, int m, int n, const T* a, int lda, T* b, int ldb) {
  if (side == 'L' && m <= kSmall) return small_triangular_solve(uplo, trans, diag, m, n, a, lda, b, ldb);
  if constexpr (!is_complex<T>) {
    if (side == 'L' && n >= kManySides) return blocked_triangular_solve(uplo, trans, diag, m, n, a, lda, b, ldb);
  }
  const T one(1);
  Routines<T>::trsm(&side, &uplo, &trans, &diag, &m, &n, &one, a, &lda, b, &ldb, 1, 1, 1, 1);
}

template <class T>
int geqrf(int m, int n, T* a, int lda, T* tau, Workspace<T>& w) {
  return with_work(w, [&](T* work, int lwork) {
    int info = 0;
    Routines<T>::geqrf(&m, &n, a, &lda, tau, work, &lwork, &info);
    return info;
  });
}

template <class T>
int orgqr(int m, int n, int k, T* a, int lda, const T* tau, Workspace<T>& w) {
  return with_work(w, [&](T* work, int lwork) {
    int info = 0;
    Routines<T>::orgqr(&m, &n, &k, a, &lda, tau, work, &lwork, &info);
    return info;
  });
}

template <class T>
int ormqr(char side, char trans, int m, int n, int k, const T* a, int lda, const T* tau, T* c, int ldc,
          Workspace<T>& w) {
  if (trans == 'C' && !is_complex<T>) trans = 'T';
  return with_work(w, [&](T* work, int lwork) {
    int info = 0;
    Routines<T>::ormqr(&side, &trans, &m, &n, &k, a, &lda, tau, c, &ldc, work, &lwork, &info, 1, 1);
    return info;
  });
}

template <class T>
int syevd(bool vectors, char uplo, int n, T* a, int lda, Real<T>* values, Workspace<T>& w) {
  const char job = vectors ? 'V' : 'N';
  const auto call = [&](T* work, int lwork, [[maybe_unused]] Real<T>* reals, [[maybe_unused]] int lreals,
                        int* integers, int lintegers) {
    int info = 0;
    if constexpr (is_complex<T>) {
      Routines<T>::syevd(&job, &uplo, &n, a, &lda, values, work, &lwork, reals, &lreals, integers, &lintegers, &info,
                         1, 1);
    } else {
      Routines<T>::syevd(&job, &uplo, &n, a, &lda, values, work, &lwork, integers, &lintegers, &info, 1, 1);
    }
    return info;
  };
  T best{};
  Real<T> reals{};
  int integers = 1;
  if (const int info = call(&best, -1, &reals, -1, &integers, -1); info != 0) return info;
  const int lwork = asked(best), lreals = asked(reals), lintegers = std::max(1, integers);
  return call(room(w.numbers, extent(lwork)), lwork, room(w.reals, extent(lreals)), lreals,
              room(w.integers, extent(lintegers)), lintegers);
}

template <class T>
int geev(int n, T* a, int lda, c10::complex<Real<T>>* values, c10::complex<Real<T>>* vectors, int ldv,
         Workspace<T>& w) {
  const char none = 'N', right = vectors != nullptr ? 'V' : 'N';
  const size_t rows = extent(n);
  const int one = 1;
  T unused{};
  if constexpr (is_complex<T>) {
    Real<T>* const reals = room(w.reals, 2 * rows);
    return with_work(w, [&](T* work, int lwork) {
      int info = 0;
      Routines<T>::geev(&none, &right, &n, a, &lda, values, &unused, &one, vectors != nullptr ? vectors : &unused,
                        vectors != nullptr ? &ldv : &one, work, &lwork, reals, &info, 1, 1);
      return info;
    });
  } else {
    T* const parts = room(w.reals, rows * (vectors != nullptr ? rows + 2 : 2));
    T *const re = parts, *const im = parts + rows, *const vr = vectors != nullptr ? parts + 2 * rows : &unused;
    const int ldvr = vectors != nullptr ? static_cast<int>(rows) : 1;
    const int info = with_work(w, [&](T* work, int lwork) {
      int status = 0;
      Routines<T>::geev(&none, &right, &n, a, &lda, re, im, &unused, &one, vr, &ldvr, work, &lwork, &status, 1, 1);
      return status;
    });
    for (int j = 0; j < n; ++j) values[j] = {re[j], im[j]};
    if (vectors != nullptr) unpack_pairs(n, im, vr, vectors, ldv);
    return info;
  }
}

template <class T>
int gesdd(char job, int m, int n, T* a, int lda, Real<T>* s, T* u, int ldu, T* vt, int ldvt, Workspace<T>& w) {
  const size_t few = extent(std::min(m, n)), many = extent(std::max(m, n));
  int* const integers = room(w.integers, 8 * few);
  [[maybe_unused]] Real<T>* reals = nullptr;
  if constexpr (is_complex<T>) {
    reals = room(w.reals, job == 'N' ? 7 * few : few * std::max(5 * few + 7, 2 * many + 2 * few + 1));
  }
  return with_work(w, [&](T* work, int lwork) {
    int info = 0;
    if constexpr (is_complex<T>) {
      Routines<T>::gesdd(&job, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, &lwork, reals, integers, &info, 1);
    } else {
      Routines<T>::gesdd(&job, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, &lwork, integers, &info, 1);
    }
    return info;
  });
}

template <class T>
int gels(int m, int n, int nrhs, T* a, int lda, T* b, int ldb, Workspace<T>& w) {
  const char trans = 'N';
  return with_work(w, [&](T* work, int lwork) {
    int info = 0;
    Routines<T>::gels(&trans, &m, &n, &nrhs, a, &lda, b, &ldb, work, &lwork, &info, 1);
    return info;
  });
}

template <class T>
int gelsy(int m, int n, int nrhs, T* a, int lda, T* b, int ldb, Real<T> rcond, int* rank, Workspace<T>& w) {
  int* const order = room(w.integers, extent(n));
  std::fill_n(order, n, 0);
  [[maybe_unused]] Real<T>* const reals = room(w.reals, is_complex<T> ? 2 * extent(n) : 0);
  return with_work(w, [&](T* work, int lwork) {
    int info = 0;
    if constexpr (is_complex<T>) {
      Routines<T>::gelsy(&m, &n, &nrhs, a, &lda, b, &ldb, order, &rcond, rank, work, &lwork, reals, &info);
    } else {
      Routines<T>::gelsy(&m, &n, &nrhs, a, &lda, b, &ldb, order, &rcond, rank, work, &lwork, &info);
    }
    return info;
  });
}

template <class T>
int gelsd(int m, int n, int nrhs, T* a, int lda, T* b, int ldb, Real<T>* s, Real<T> rcond, int* rank,
          Workspace<T>& w) {
  const auto call = [&](T* work, int lwork, [[maybe_unused]] Real<T>* reals, int* integers) {
    int info = 0;
    if constexpr (is_complex<T>) {
      Routines<T>::gelsd(&m, &n, &nrhs, a, &lda, b, &ldb, s, &rcond, rank, work, &lwork, reals, integers, &info);
    } else {
      Routines<T>::gelsd(&m, &n, &nrhs, a, &lda, b, &ldb, s, &rcond, rank, work, &lwork, integers, &info);
    }
    return info;
  };
  T best{};
  Real<T> reals{};
  int integers = 1;
  if (const int info = call(&best, -1, &reals, &integers); info != 0) return info;
  const int lwork = asked(best);
  return call(room(w.numbers, extent(lwork)), lwork, room(w.reals, extent(asked(reals))),
              room(w.integers, extent(integers)));
}

template <class T>
int gelss(int m, int n, int nrhs, T* a, int lda, T* b, int ldb, Real<T>* s, Real<T> rcond, int* rank,
          Workspace<T>& w) {
  [[maybe_unused]] Real<T>* const reals = room(w.reals, is_complex<T> ? 5 * extent(std::min(m, n)) : 0);
  return with_work(w, [&](T* work, int lwork) {
    int info = 0;
    if constexpr (is_complex<T>) {
      Routines<T>::gelss(&m, &n, &nrhs, a, &lda, b, &ldb, s, &rcond, rank, work, &lwork, reals, &info);
    } else {
      Routines<T>::gelss(&m, &n, &nrhs, a, &lda, b, &ldb, s, &rcond, rank, work, &lwork, &info);
    }
    return info;
  });
}

template <class T>
int sytrf(bool hermitian, int n, T* a, int lda, int* pivots, Workspace<T>& w) {
  const char uplo = 'L';
  return with_work(w, [&](T* work, int lwork) {
    int info = 0;
    (hermitian ? Routines<T>::hetrf : Routines<T>::sytrf)(&uplo, &n, a, &lda, pivots, work, &lwork, &info, 1);
    return info;
  });
}

template <class T>
int sytrs(bool hermitian, int n, int nrhs, const T* a, int lda, const int* pivots, T* b, int ldb) {
  const char uplo = 'L';
  int info = 0;
  (hermitian ? Routines<T>::hetrs : Routines<T>::sytrs)(&uplo, &n, &nrhs, a, &lda, pivots, b, &ldb, &info, 1);
  return info;
}

#define KD_LAPACK_OF(T)                                                                                            \
  template int getrf(int, int, T*, int, int*);                                                                     \
  template void getrf_batch(int64_t, int64_t, int, int, T*, int*, int*);                                           \
  template void getrs_batch(char, int64_t, int64_t, int, int, const T*, const int*, T*);                           \
  template void potrf_batch(char, int64_t, int64_t, int, T*, int*);                                                \
  template void potrs_batch(char, int64_t, int64_t, int, int, const T*, T*);                                       \
  template void syevd_batch(bool, char, int64_t, int64_t, int, T*, Real<T>*, int*);                                \
  template void trsm_batch(char, char, char, int64_t, int64_t, int, int, const T*, T*);                            \
  template int getrs(char, int, int, const T*, int, const int*, T*, int);                                          \
  template int potrf(char, int, T*, int);                                                                          \
  template void potrs(char, int, int, const T*, int, T*, int);                                                     \
  template int potri(char, int, T*, int);                                                                          \
  template void trsm(char, char, char, char, int, int, const T*, int, T*, int);                                    \
  template int geqrf(int, int, T*, int, T*, Workspace<T>&);                                                        \
  template int orgqr(int, int, int, T*, int, const T*, Workspace<T>&);                                             \
  template int ormqr(char, char, int, int, int, const T*, int, const T*, T*, int, Workspace<T>&);                  \
  template int syevd(bool, char, int, T*, int, Real<T>*, Workspace<T>&);                                           \
  template int geev(int, T*, int, c10::complex<Real<T>>*, c10::complex<Real<T>>*, int, Workspace<T>&);             \
  template int gesdd(char, int, int, T*, int, Real<T>*, T*, int, T*, int, Workspace<T>&);                          \
  template int gels(int, int, int, T*, int, T*, int, Workspace<T>&);                                               \
  template int gelsy(int, int, int, T*, int, T*, int, Real<T>, int*, Workspace<T>&);                               \
  template int gelsd(int, int, int, T*, int, T*, int, Real<T>*, Real<T>, int*, Workspace<T>&);                     \
  template int gelss(int, int, int, T*, int, T*, int, Real<T>*, Real<T>, int*, Workspace<T>&);                     \
  template int sytrf(bool, int, T*, int, int*, Workspace<T>&);                                                     \
  template int sytrs(bool, int, int, const T*, int, const int*, T*, int);
KD_LAPACK_OF(float)
KD_LAPACK_OF(double)
KD_LAPACK_OF(c10::complex<float>)
KD_LAPACK_OF(c10::complex<double>)
#undef KD_LAPACK_OF

}  // namespace at::cpu::lapack
