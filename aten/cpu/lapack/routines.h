#pragma once

#include <cstddef>

#include "c10/util/complex.h"

// LAPACK's routines as Fortran compilers name them, by the letter of their type. Lengths of text arguments stand last.

#define KD_LAPACK_ROUTINES(p, T)                                                                                       \
  void p##getrf_(const int* m, const int* n, T* a, const int* lda, int* ipiv, int* info);                              \
  void p##getrs_(const char* trans, const int* n, const int* nrhs, const T* a, const int* lda, const int* ipiv, T* b,  \
                 const int* ldb, int* info, size_t);                                                                   \
  void p##potrf_(const char* uplo, const int* n, T* a, const int* lda, int* info, size_t);                             \
  void p##potri_(const char* uplo, const int* n, T* a, const int* lda, int* info, size_t);                             \
  void p##trsm_(const char* side, const char* uplo, const char* trans, const char* diag, const int* m, const int* n,   \
                const T* alpha, const T* a, const int* lda, T* b, const int* ldb, size_t, size_t, size_t, size_t);     \
  void p##geqrf_(const int* m, const int* n, T* a, const int* lda, T* tau, T* work, const int* lwork, int* info);      \
  void p##sytrf_(const char* uplo, const int* n, T* a, const int* lda, int* ipiv, T* work, const int* lwork, int* info,\
                 size_t);                                                                                              \
  void p##sytrs_(const char* uplo, const int* n, const int* nrhs, const T* a, const int* lda, const int* ipiv, T* b,   \
                 const int* ldb, int* info, size_t);                                                                   \
  void p##gels_(const char* trans, const int* m, const int* n, const int* nrhs, T* a, const int* lda, T* b,            \
                const int* ldb, T* work, const int* lwork, int* info, size_t);

// What has a name or arguments of its own for real numbers ...
#define KD_LAPACK_REAL_ROUTINES(p, T)                                                                                  \
  void p##orgqr_(const int* m, const int* n, const int* k, T* a, const int* lda, const T* tau, T* work,                \
                 const int* lwork, int* info);                                                                         \
  void p##ormqr_(const char* side, const char* trans, const int* m, const int* n, const int* k, const T* a,            \
                 const int* lda, const T* tau, T* c, const int* ldc, T* work, const int* lwork, int* info, size_t,     \
                 size_t);                                                                                              \
  void p##syevd_(const char* jobz, const char* uplo, const int* n, T* a, const int* lda, T* w, T* work,                \
                 const int* lwork, int* iwork, const int* liwork, int* info, size_t, size_t);                          \
  void p##geev_(const char* jobvl, const char* jobvr, const int* n, T* a, const int* lda, T* wr, T* wi, T* vl,         \
                const int* ldvl, T* vr, const int* ldvr, T* work, const int* lwork, int* info, size_t, size_t);        \
  void p##gesdd_(const char* jobz, const int* m, const int* n, T* a, const int* lda, T* s, T* u, const int* ldu, T* vt,\
                 const int* ldvt, T* work, const int* lwork, int* iwork, int* info, size_t);                           \
  void p##gelsy_(const int* m, const int* n, const int* nrhs, T* a, const int* lda, T* b, const int* ldb, int* jpvt,   \
                 const T* rcond, int* rank, T* work, const int* lwork, int* info);                                     \
  void p##gelsd_(const int* m, const int* n, const int* nrhs, T* a, const int* lda, T* b, const int* ldb, T* s,        \
                 const T* rcond, int* rank, T* work, const int* lwork, int* iwork, int* info);                         \
  void p##gelss_(const int* m, const int* n, const int* nrhs, T* a, const int* lda, T* b, const int* ldb, T* s,        \
                 const T* rcond, int* rank, T* work, const int* lwork, int* info);

// ... and for complex ones; R is the type of their parts.
#define KD_LAPACK_COMPLEX_ROUTINES(p, T, R)                                                                            \
  void p##ungqr_(const int* m, const int* n, const int* k, T* a, const int* lda, const T* tau, T* work,                \
                 const int* lwork, int* info);                                                                         \
  void p##unmqr_(const char* side, const char* trans, const int* m, const int* n, const int* k, const T* a,            \
                 const int* lda, const T* tau, T* c, const int* ldc, T* work, const int* lwork, int* info, size_t,     \
                 size_t);                                                                                              \
  void p##heevd_(const char* jobz, const char* uplo, const int* n, T* a, const int* lda, R* w, T* work,                \
                 const int* lwork, R* rwork, const int* lrwork, int* iwork, const int* liwork, int* info, size_t,      \
                 size_t);                                                                                              \
  void p##geev_(const char* jobvl, const char* jobvr, const int* n, T* a, const int* lda, T* w, T* vl, const int* ldvl,\
                T* vr, const int* ldvr, T* work, const int* lwork, R* rwork, int* info, size_t, size_t);               \
  void p##gesdd_(const char* jobz, const int* m, const int* n, T* a, const int* lda, R* s, T* u, const int* ldu, T* vt,\
                 const int* ldvt, T* work, const int* lwork, R* rwork, int* iwork, int* info, size_t);                 \
  void p##gelsy_(const int* m, const int* n, const int* nrhs, T* a, const int* lda, T* b, const int* ldb, int* jpvt,   \
                 const R* rcond, int* rank, T* work, const int* lwork, R* rwork, int* info);                           \
  void p##gelsd_(const int* m, const int* n, const int* nrhs, T* a, const int* lda, T* b, const int* ldb, R* s,        \
                 const R* rcond, int* rank, T* work, const int* lwork, R* rwork, int* iwork, int* info);               \
  void p##gelss_(const int* m, const int* n, const int* nrhs, T* a, const int* lda, T* b, const int* ldb, R* s,        \
                 const R* rcond, int* rank, T* work, const int* lwork, R* rwork, int* info);                           \
  void p##hetrf_(const char* uplo, const int* n, T* a, const int* lda, int* ipiv, T* work, const int* lwork, int* info,\
                 size_t);                                                                                              \
  void p##hetrs_(const char* uplo, const int* n, const int* nrhs, const T* a, const int* lda, const int* ipiv, T* b,   \
                 const int* ldb, int* info, size_t);

// Complex numbers of the C++ library and LAPACK's lie in memory alike.
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wreturn-type-c-linkage"
#endif
extern "C" {
KD_LAPACK_ROUTINES(s, float)
KD_LAPACK_ROUTINES(d, double)
KD_LAPACK_ROUTINES(c, c10::complex<float>)
KD_LAPACK_ROUTINES(z, c10::complex<double>)
KD_LAPACK_REAL_ROUTINES(s, float)
KD_LAPACK_REAL_ROUTINES(d, double)
KD_LAPACK_COMPLEX_ROUTINES(c, c10::complex<float>, float)
KD_LAPACK_COMPLEX_ROUTINES(z, c10::complex<double>, double)
}
#if defined(__clang__)
#pragma clang diagnostic pop
#endif

namespace at::cpu::lapack {

/// The routines by the type of the elements. Unitary and Hermitian ones of complex matrices go by the names of the
/// orthogonal and symmetric ones, which real matrices have.
template <class T>
struct Routines;

#define KD_LAPACK_TABLE(p, T, orthogonal, symmetric)   \
  template <>                                          \
  struct Routines<T> {                                 \
    static constexpr auto getrf = p##getrf_;           \
    static constexpr auto getrs = p##getrs_;           \
    static constexpr auto potrf = p##potrf_;           \
    static constexpr auto potri = p##potri_;           \
    static constexpr auto trsm = p##trsm_;             \
    static constexpr auto geqrf = p##geqrf_;           \
    static constexpr auto geev = p##geev_;             \
    static constexpr auto gesdd = p##gesdd_;           \
    static constexpr auto gels = p##gels_;             \
    static constexpr auto gelsy = p##gelsy_;           \
    static constexpr auto gelsd = p##gelsd_;           \
    static constexpr auto gelss = p##gelss_;           \
    static constexpr auto sytrf = p##sytrf_;           \
    static constexpr auto sytrs = p##sytrs_;           \
    static constexpr auto orgqr = p##orthogonal##gqr_; \
    static constexpr auto ormqr = p##orthogonal##mqr_; \
    static constexpr auto syevd = p##symmetric##evd_;  \
    static constexpr auto hetrf = p##symmetric##trf_;  \
    static constexpr auto hetrs = p##symmetric##trs_;  \
  };
KD_LAPACK_TABLE(s, float, or, sy)
KD_LAPACK_TABLE(d, double, or, sy)
KD_LAPACK_TABLE(c, c10::complex<float>, un, he)
KD_LAPACK_TABLE(z, c10::complex<double>, un, he)
#undef KD_LAPACK_TABLE

}  // namespace at::cpu::lapack

#undef KD_LAPACK_ROUTINES
#undef KD_LAPACK_REAL_ROUTINES
#undef KD_LAPACK_COMPLEX_ROUTINES
