#pragma once

#include <cstdint>

// Factorizations of many small real matrices at once: each lane of a vector has a matrix, so that a step of the
// algorithm is one instruction for 4 to 16 of them. Matrices are square, column-major and follow each other without
// gaps; arguments and results are otherwise those of lapack.h. T is float or double.

namespace at::cpu::lapack::interleaved {

/// The most rows that are worth it: those of a vector's lanes then lie in the first-level cache.
inline constexpr int kMostRows = 24;
/// Of fewer matrices LAPACK's calls cost less.
inline constexpr int64_t kFewestMatrices = 8;

template <class T>
void lu(int64_t count, int n, T* a, int* pivots, int* info);
/// b = op(a)^-1 b of n x nrhs matrices, with a as lu() leaves it; `trans` 'N', else the transpose.
template <class T>
void lu_solve(char trans, int64_t count, int n, int nrhs, const T* a, const int* pivots, T* b);
template <class T>
void cholesky(char uplo, int64_t count, int n, T* a, int* info);
/// Eigenvalues, ascending, and with `vectors` eigenvectors in place of a, whose triangle `uplo` alone is read.
template <class T>
void eigh(bool vectors, char uplo, int64_t count, int n, T* a, T* values, int* info);
/// b = op(a)^-1 b with a triangle of a.
template <class T>
void triangular_solve(char uplo, char trans, char diag, int64_t count, int n, int nrhs, const T* a, T* b);

/// b = op(a)^-1 b of one triangle of at most kMostColumnRows rows and many columns: a lane has a column, and products
/// with one over the diagonal take the place of divisions. False, and nothing done, where one of these is not finite.
inline constexpr int kMostColumnRows = 32;
template <class T>
bool columns_solve(char uplo, char trans, char diag, int n, int nrhs, const T* a, int64_t lda, T* b, int64_t ldb);

}  // namespace at::cpu::lapack::interleaved
