#pragma once

#include <cstdint>

// Factorizations of many small real matrices at once: each lane of a vector has a matrix, so that a step of the
// algorithm is one instruction for 4 to 16 of them. Matrices are square, column-major and follow each other without
// gaps; arguments and results are otherwise those of lapack.h.

namespace at::cpu::lapack::interleaved {

/// The most rows that are worth it: those of a vector's lanes then lie in the first-level cache.
inline constexpr int kMostRows = 24;
/// Of fewer matrices LAPACK's calls cost less.
inline constexpr int64_t kFewestMatrices = 8;

void lu(int64_t count, int n, float* a, int* pivots, int* info);
void lu(int64_t count, int n, double* a, int* pivots, int* info);
/// b = op(a)^-1 b of n x nrhs matrices, with a as lu() leaves it; `trans` 'N', else the transpose.
void lu_solve(char trans, int64_t count, int n, int nrhs, const float* a, const int* pivots, float* b);
void lu_solve(char trans, int64_t count, int n, int nrhs, const double* a, const int* pivots, double* b);
/// Eigenvalues, ascending, and with `vectors` eigenvectors in place of a, whose triangle `uplo` alone is read.
void eigh(bool vectors, char uplo, int64_t count, int n, float* a, float* values, int* info);
void eigh(bool vectors, char uplo, int64_t count, int n, double* a, double* values, int* info);
void cholesky(char uplo, int64_t count, int n, float* a, int* info);
void cholesky(char uplo, int64_t count, int n, double* a, int* info);
/// b = op(a)^-1 b with a triangle of a.
void triangular_solve(char uplo, char trans, char diag, int64_t count, int n, int nrhs, const float* a, float* b);
void triangular_solve(char uplo, char trans, char diag, int64_t count, int n, int nrhs, const double* a, double* b);

/// b = op(a)^-1 b of one triangle of at most kMostColumnRows rows and many columns: a lane has a column, and products
/// with one over the diagonal take the place of divisions. False, and nothing done, where one of these is not finite.
inline constexpr int kMostColumnRows = 32;
bool columns_solve(char uplo, char trans, char diag, int n, int nrhs, const float* a, int64_t lda, float* b,
                   int64_t ldb);
bool columns_solve(char uplo, char trans, char diag, int n, int nrhs, const double* a, int64_t lda, double* b,
                   int64_t ldb);

}  // namespace at::cpu::lapack::interleaved
