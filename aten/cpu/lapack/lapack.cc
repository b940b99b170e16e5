#include "aten/cpu/lapack/lapack.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <mutex>

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

}  // namespace

#define KD_LAPACK_CALLS(p, T)                                                                                          \
  template <>                                                                                                          \
  int getrf(int m, int n, T* a, int lda, int* pivots) {                                                                \
    if (std::max(m, n) <= kSmall) return small_lu(m, n, a, lda, pivots);                                               \
    int info = 0;                                                                                                      \
    p##getrf_(&m, &n, a, &lda, pivots, &info);                                                                         \
    return info;                                                                                                       \
  }                                                                                                                    \
  template <>                                                                                                          \
  int getrs(char trans, int n, int nrhs, const T* a, int lda, const int* pivots, T* b, int ldb) {                      \
    if (n <= kSmall) return small_lu_solve(trans, n, nrhs, a, lda, pivots, b, ldb), 0;                                 \
    int info = 0;                                                                                                      \
    p##getrs_(&trans, &n, &nrhs, a, &lda, pivots, b, &ldb, &info, 1);                                                  \
    return info;                                                                                                       \
  }                                                                                                                    \
  template <>                                                                                                          \
  int potrf(char uplo, int n, T* a, int lda) {                                                                         \
    if (n <= kSmall) return small_cholesky(uplo, n, a, lda);                                                           \
    int info = 0;                                                                                                      \
    p##potrf_(&uplo, &n, a, &lda, &info, 1);                                                                           \
    return info;                                                                                                       \
  }                                                                                                                    \
  template <>                                                                                                          \
  int potrs(char uplo, int n, int nrhs, const T* a, int lda, T* b, int ldb) {                                          \
    const bool lower = uplo == 'L';                                                                                    \
    trsm('L', uplo, lower ? 'N' : 'C', 'N', n, nrhs, a, lda, b, ldb);                                                  \
    trsm('L', uplo, lower ? 'C' : 'N', 'N', n, nrhs, a, lda, b, ldb);                                                  \
    return 0;                                                                                                          \
  }                                                                                                                    \
  template <>                                                                                                          \
  int potri(char uplo, int n, T* a, int lda) {                                                                         \
    int info = 0;                                                                                                      \
    p##potri_(&uplo, &n, a, &lda, &info, 1);                                                                           \
    return info;                                                                                                       \
  }                                                                                                                    \
  template <>                                                                                                          \
  void trsm(char side, char uplo, char trans, char diag, int m, int n, const T* a, int lda, T* b, int ldb) {           \
    if (side == 'L' && m <= kSmall) {                                                                                  \
      small_triangular_solve(uplo, trans, diag, m, n, a, lda, b, ldb);                                                 \
      return;                                                                                                          \
    }                                                                                                                  \
    const T one(1);                                                                                                    \
    p##trsm_(&side, &uplo, &trans, &diag, &m, &n, &one, a, &lda, b, &ldb, 1, 1, 1, 1);                                 \
  }                                                                                                                    \
  template <>                                                                                                          \
  int geqrf(int m, int n, T* a, int lda, T* tau, Workspace<T>& w) {                                                    \
    return with_work(w, [&](T* work, int lwork) {                                                                      \
      int info = 0;                                                                                                    \
      p##geqrf_(&m, &n, a, &lda, tau, work, &lwork, &info);                                                            \
      return info;                                                                                                     \
    });                                                                                                                \
  }                                                                                                                    \
  template <>                                                                                                          \
  int gels(int m, int n, int nrhs, T* a, int lda, T* b, int ldb, Workspace<T>& w) {                                    \
    const char trans = 'N';                                                                                            \
    return with_work(w, [&](T* work, int lwork) {                                                                      \
      int info = 0;                                                                                                    \
      p##gels_(&trans, &m, &n, &nrhs, a, &lda, b, &ldb, work, &lwork, &info, 1);                                       \
      return info;                                                                                                     \
    });                                                                                                                \
  }

#define KD_LAPACK_REAL_CALLS(p, T)                                                                                     \
  KD_LAPACK_CALLS(p, T)                                                                                                \
  template <>                                                                                                          \
  int orgqr(int m, int n, int k, T* a, int lda, const T* tau, Workspace<T>& w) {                                       \
    return with_work(w, [&](T* work, int lwork) {                                                                      \
      int info = 0;                                                                                                    \
      p##orgqr_(&m, &n, &k, a, &lda, tau, work, &lwork, &info);                                                        \
      return info;                                                                                                     \
    });                                                                                                                \
  }                                                                                                                    \
  template <>                                                                                                          \
  int ormqr(char side, char trans, int m, int n, int k, const T* a, int lda, const T* tau, T* c, int ldc,              \
            Workspace<T>& w) {                                                                                         \
    if (trans == 'C') trans = 'T';                                                                                     \
    return with_work(w, [&](T* work, int lwork) {                                                                      \
      int info = 0;                                                                                                    \
      p##ormqr_(&side, &trans, &m, &n, &k, a, &lda, tau, c, &ldc, work, &lwork, &info, 1, 1);                          \
      return info;                                                                                                     \
    });                                                                                                                \
  }                                                                                                                    \
  template <>                                                                                                          \
  int syevd(bool vectors, char uplo, int n, T* a, int lda, T* values, Workspace<T>& w) {                               \
    const char job = vectors ? 'V' : 'N';                                                                              \
    T best{};                                                                                                          \
    int lwork = -1, liwork = -1, best_integers = 1, info = 0;                                                          \
    p##syevd_(&job, &uplo, &n, a, &lda, values, &best, &lwork, &best_integers, &liwork, &info, 1, 1);                  \
    if (info != 0) return info;                                                                                        \
    lwork = asked(best), liwork = std::max(1, best_integers);                                                          \
    p##syevd_(&job, &uplo, &n, a, &lda, values, room(w.numbers, extent(lwork)), &lwork,                                \
              room(w.integers, extent(liwork)), &liwork, &info, 1, 1);                                                 \
    return info;                                                                                                       \
  }                                                                                                                    \
  template <>                                                                                                          \
  int geev(int n, T* a, int lda, c10::complex<T>* values, c10::complex<T>* vectors, int ldv, Workspace<T>& w) {        \
    const char none = 'N', right = vectors != nullptr ? 'V' : 'N';                                                     \
    const size_t rows = extent(n);                                                                                     \
    T* parts = room(w.reals, rows * (vectors != nullptr ? rows + 2 : 2));                                              \
    T *re = parts, *im = parts + rows, *vr = vectors != nullptr ? parts + 2 * rows : nullptr;                          \
    const int one = 1, ldvr = std::max(n, 1);                                                                          \
    T unused{};                                                                                                        \
    const int info = with_work(w, [&](T* work, int lwork) {                                                            \
      int status = 0;                                                                                                  \
      p##geev_(&none, &right, &n, a, &lda, re, im, &unused, &one, vr != nullptr ? vr : &unused,                        \
               vr != nullptr ? &ldvr : &one, work, &lwork, &status, 1, 1);                                             \
      return status;                                                                                                   \
    });                                                                                                                \
    for (int j = 0; j < n; ++j) values[j] = {re[j], im[j]};                                                            \
    if (vectors != nullptr) unpack_pairs(n, im, vr, vectors, ldv);                                                     \
    return info;                                                                                                       \
  }                                                                                                                    \
  template <>                                                                                                          \
  int gesdd(char job, int m, int n, T* a, int lda, T* s, T* u, int ldu, T* vt, int ldvt, Workspace<T>& w) {            \
    int* integers = room(w.integers, 8 * extent(std::min(m, n)));                                                      \
    return with_work(w, [&](T* work, int lwork) {                                                                      \
      int info = 0;                                                                                                    \
      p##gesdd_(&job, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, &lwork, integers, &info, 1);                       \
      return info;                                                                                                     \
    });                                                                                                                \
  }                                                                                                                    \
  template <>                                                                                                          \
  int gelsy(int m, int n, int nrhs, T* a, int lda, T* b, int ldb, T rcond, int* rank, Workspace<T>& w) {               \
    int* order = room(w.integers, extent(n));                                                                          \
    std::fill_n(order, n, 0);                                                                                          \
    return with_work(w, [&](T* work, int lwork) {                                                                      \
      int info = 0;                                                                                                    \
      p##gelsy_(&m, &n, &nrhs, a, &lda, b, &ldb, order, &rcond, rank, work, &lwork, &info);                            \
      return info;                                                                                                     \
    });                                                                                                                \
  }                                                                                                                    \
  template <>                                                                                                          \
  int gelsd(int m, int n, int nrhs, T* a, int lda, T* b, int ldb, T* s, T rcond, int* rank, Workspace<T>& w) {         \
    T best{};                                                                                                          \
    int lwork = -1, integers = 1, info = 0;                                                                            \
    p##gelsd_(&m, &n, &nrhs, a, &lda, b, &ldb, s, &rcond, rank, &best, &lwork, &integers, &info);                      \
    if (info != 0) return info;                                                                                        \
    lwork = asked(best);                                                                                               \
    p##gelsd_(&m, &n, &nrhs, a, &lda, b, &ldb, s, &rcond, rank, room(w.numbers, extent(lwork)), &lwork,                \
              room(w.integers, extent(integers)), &info);                                                              \
    return info;                                                                                                       \
  }                                                                                                                    \
  template <>                                                                                                          \
  int gelss(int m, int n, int nrhs, T* a, int lda, T* b, int ldb, T* s, T rcond, int* rank, Workspace<T>& w) {         \
    return with_work(w, [&](T* work, int lwork) {                                                                      \
      int info = 0;                                                                                                    \
      p##gelss_(&m, &n, &nrhs, a, &lda, b, &ldb, s, &rcond, rank, work, &lwork, &info);                                \
      return info;                                                                                                     \
    });                                                                                                                \
  }                                                                                                                    \
  template <>                                                                                                          \
  int sytrf(bool, int n, T* a, int lda, int* pivots, Workspace<T>& w) {                                                \
    const char uplo = 'L';                                                                                             \
    return with_work(w, [&](T* work, int lwork) {                                                                      \
      int info = 0;                                                                                                    \
      p##sytrf_(&uplo, &n, a, &lda, pivots, work, &lwork, &info, 1);                                                   \
      return info;                                                                                                     \
    });                                                                                                                \
  }                                                                                                                    \
  template <>                                                                                                          \
  int sytrs(bool, int n, int nrhs, const T* a, int lda, const int* pivots, T* b, int ldb) {                            \
    const char uplo = 'L';                                                                                             \
    int info = 0;                                                                                                      \
    p##sytrs_(&uplo, &n, &nrhs, a, &lda, pivots, b, &ldb, &info, 1);                                                   \
    return info;                                                                                                       \
  }

#define KD_LAPACK_COMPLEX_CALLS(p, T, R)                                                                               \
  KD_LAPACK_CALLS(p, T)                                                                                                \
  template <>                                                                                                          \
  int orgqr(int m, int n, int k, T* a, int lda, const T* tau, Workspace<T>& w) {                                       \
    return with_work(w, [&](T* work, int lwork) {                                                                      \
      int info = 0;                                                                                                    \
      p##ungqr_(&m, &n, &k, a, &lda, tau, work, &lwork, &info);                                                        \
      return info;                                                                                                     \
    });                                                                                                                \
  }                                                                                                                    \
  template <>                                                                                                          \
  int ormqr(char side, char trans, int m, int n, int k, const T* a, int lda, const T* tau, T* c, int ldc,              \
            Workspace<T>& w) {                                                                                         \
    return with_work(w, [&](T* work, int lwork) {                                                                      \
      int info = 0;                                                                                                    \
      p##unmqr_(&side, &trans, &m, &n, &k, a, &lda, tau, c, &ldc, work, &lwork, &info, 1, 1);                          \
      return info;                                                                                                     \
    });                                                                                                                \
  }                                                                                                                    \
  template <>                                                                                                          \
  int syevd(bool vectors, char uplo, int n, T* a, int lda, R* values, Workspace<T>& w) {                               \
    const char job = vectors ? 'V' : 'N';                                                                              \
    T best{};                                                                                                          \
    R best_reals{};                                                                                                    \
    int lwork = -1, lrwork = -1, liwork = -1, best_integers = 1, info = 0;                                             \
    p##heevd_(&job, &uplo, &n, a, &lda, values, &best, &lwork, &best_reals, &lrwork, &best_integers, &liwork, &info, 1,\
              1);                                                                                                      \
    if (info != 0) return info;                                                                                        \
    lwork = asked(best), lrwork = asked(best_reals), liwork = std::max(1, best_integers);                              \
    p##heevd_(&job, &uplo, &n, a, &lda, values, room(w.numbers, extent(lwork)), &lwork, room(w.reals, extent(lrwork)), \
              &lrwork, room(w.integers, extent(liwork)), &liwork, &info, 1, 1);                                        \
    return info;                                                                                                       \
  }                                                                                                                    \
  template <>                                                                                                          \
  int geev(int n, T* a, int lda, T* values, T* vectors, int ldv, Workspace<T>& w) {                                    \
    const char none = 'N', right = vectors != nullptr ? 'V' : 'N';                                                     \
    R* reals = room(w.reals, 2 * extent(n));                                                                           \
    const int one = 1;                                                                                                 \
    T unused{};                                                                                                        \
    return with_work(w, [&](T* work, int lwork) {                                                                      \
      int info = 0;                                                                                                    \
      p##geev_(&none, &right, &n, a, &lda, values, &unused, &one, vectors != nullptr ? vectors : &unused,              \
               vectors != nullptr ? &ldv : &one, work, &lwork, reals, &info, 1, 1);                                    \
      return info;                                                                                                     \
    });                                                                                                                \
  }                                                                                                                    \
  template <>                                                                                                          \
  int gesdd(char job, int m, int n, T* a, int lda, R* s, T* u, int ldu, T* vt, int ldvt, Workspace<T>& w) {            \
    const size_t few = extent(std::min(m, n)), many = extent(std::max(m, n));                                          \
    int* integers = room(w.integers, 8 * few);                                                                         \
    R* reals = room(w.reals, job == 'N' ? 7 * few : few * std::max(5 * few + 7, 2 * many + 2 * few + 1));              \
    return with_work(w, [&](T* work, int lwork) {                                                                      \
      int info = 0;                                                                                                    \
      p##gesdd_(&job, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, &lwork, reals, integers, &info, 1);                \
      return info;                                                                                                     \
    });                                                                                                                \
  }                                                                                                                    \
  template <>                                                                                                          \
  int gelsy(int m, int n, int nrhs, T* a, int lda, T* b, int ldb, R rcond, int* rank, Workspace<T>& w) {               \
    int* order = room(w.integers, extent(n));                                                                          \
    std::fill_n(order, n, 0);                                                                                          \
    R* reals = room(w.reals, 2 * extent(n));                                                                           \
    return with_work(w, [&](T* work, int lwork) {                                                                      \
      int info = 0;                                                                                                    \
      p##gelsy_(&m, &n, &nrhs, a, &lda, b, &ldb, order, &rcond, rank, work, &lwork, reals, &info);                     \
      return info;                                                                                                     \
    });                                                                                                                \
  }                                                                                                                    \
  template <>                                                                                                          \
  int gelsd(int m, int n, int nrhs, T* a, int lda, T* b, int ldb, R* s, R rcond, int* rank, Workspace<T>& w) {         \
    T best{};                                                                                                          \
    R best_reals{};                                                                                                    \
    int lwork = -1, integers = 1, info = 0;                                                                            \
    p##gelsd_(&m, &n, &nrhs, a, &lda, b, &ldb, s, &rcond, rank, &best, &lwork, &best_reals, &integers, &info);         \
    if (info != 0) return info;                                                                                        \
    lwork = asked(best);                                                                                               \
    p##gelsd_(&m, &n, &nrhs, a, &lda, b, &ldb, s, &rcond, rank, room(w.numbers, extent(lwork)), &lwork,                \
              room(w.reals, extent(asked(best_reals))), room(w.integers, extent(integers)), &info);                    \
    return info;                                                                                                       \
  }                                                                                                                    \
  template <>                                                                                                          \
  int gelss(int m, int n, int nrhs, T* a, int lda, T* b, int ldb, R* s, R rcond, int* rank, Workspace<T>& w) {         \
    R* reals = room(w.reals, 5 * extent(std::min(m, n)));                                                              \
    return with_work(w, [&](T* work, int lwork) {                                                                      \
      int info = 0;                                                                                                    \
      p##gelss_(&m, &n, &nrhs, a, &lda, b, &ldb, s, &rcond, rank, work, &lwork, reals, &info);                         \
      return info;                                                                                                     \
    });                                                                                                                \
  }                                                                                                                    \
  template <>                                                                                                          \
  int sytrf(bool hermitian, int n, T* a, int lda, int* pivots, Workspace<T>& w) {                                      \
    const char uplo = 'L';                                                                                             \
    return with_work(w, [&](T* work, int lwork) {                                                                      \
      int info = 0;                                                                                                    \
      (hermitian ? p##hetrf_ : p##sytrf_)(&uplo, &n, a, &lda, pivots, work, &lwork, &info, 1);                         \
      return info;                                                                                                     \
    });                                                                                                                \
  }                                                                                                                    \
  template <>                                                                                                          \
  int sytrs(bool hermitian, int n, int nrhs, const T* a, int lda, const int* pivots, T* b, int ldb) {                  \
    const char uplo = 'L';                                                                                             \
    int info = 0;                                                                                                      \
    (hermitian ? p##hetrs_ : p##sytrs_)(&uplo, &n, &nrhs, a, &lda, pivots, b, &ldb, &info, 1);                         \
    return info;                                                                                                       \
  }

namespace {

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

}  // namespace

using ComplexFloat = c10::complex<float>;
using ComplexDouble = c10::complex<double>;

// trsm before potrs, which calls it.
template <>
void trsm(char, char, char, char, int, int, const float*, int, float*, int);
template <>
void trsm(char, char, char, char, int, int, const double*, int, double*, int);
template <>
void trsm(char, char, char, char, int, int, const ComplexFloat*, int, ComplexFloat*, int);
template <>
void trsm(char, char, char, char, int, int, const ComplexDouble*, int, ComplexDouble*, int);

KD_LAPACK_REAL_CALLS(s, float)
KD_LAPACK_REAL_CALLS(d, double)
KD_LAPACK_COMPLEX_CALLS(c, ComplexFloat, float)
KD_LAPACK_COMPLEX_CALLS(z, ComplexDouble, double)

}  // namespace at::cpu::lapack
