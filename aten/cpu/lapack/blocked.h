#pragma once

// Factorizations and systems of large real matrices by halves, so that most of the work is in products, which the
// matrix engine computes on all threads. Arguments and results as in lapack.h; what is small enough goes to LAPACK.

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "aten/cpu/lapack/interleaved.h"
#include "aten/cpu/lapack/routines.h"
#include "aten/cpu/matrix/internal.h"
#include "c10/parallel/parallel.h"

namespace at::cpu::lapack {

/// Factorizations of more rows, and systems of at least so many right-hand sides, are faster this way.
inline constexpr int kPanel = 32, kManySides = 8;

// c = c - op(a) b with op(a) m x k, column-major: as c^T = c^T - b^T op(a)^T of rows. By kernels of our own: programs
// that only solve systems need no oneDNN.
template <class T>
void subtract_product(bool trans, int m, int n, int k, const T* a, int lda, const T* b, int ldb, T* c, int ldc) {
  matrix::Gemm g;
  g.type = std::is_same_v<T, float> ? matrix::Type::kFloat32 : matrix::Type::kFloat64;
  g.m = n, g.n = m, g.k = k;
  g.a = {b, ldb, 1};
  g.b = {a, trans ? 1 : lda, trans ? lda : 1};
  g.add = {c, ldc, 1};
  g.c = c, g.c_row = ldc;
  g.alpha = -1;
  matrix::internal::kBuiltinVector.run(g);
}

template <class T>
void blocked_triangular_solve(char uplo, char trans, char diag, int m, int n, const T* a, int lda, T* b, int ldb) {
  if (m <= interleaved::kMostColumnRows) {
    if (n >= kManySides && interleaved::columns_solve(uplo, trans, diag, m, n, a, lda, b, ldb)) return;
    const char side = 'L';
    const T one(1);
    Routines<T>::trsm(&side, &uplo, &trans, &diag, &m, &n, &one, a, &lda, b, &ldb, 1, 1, 1, 1);
    return;
  }
  const int first = std::max(m / 2 / 32 * 32, 32), rest = m - first;
  const T *const right = a + int64_t{first} * lda, *const below = a + first, *const last = right + first;
  const auto half = [&](bool upper_half) {
    blocked_triangular_solve(uplo, trans, diag, upper_half ? first : rest, n, upper_half ? a : last, lda,
                             upper_half ? b : b + first, ldb);
  };
  const bool lower = uplo == 'L', transposed = trans != 'N';
  const T* const between = lower ? below : right;
  if (lower != transposed) {
    half(true);
    subtract_product(transposed, rest, n, first, between, lda, b, ldb, b + first, ldb);
    half(false);
  } else {
    half(false);
    subtract_product(transposed, first, n, rest, between, lda, b + first, ldb, b, ldb);
    half(true);
  }
}

// f(begin, end) for pieces of the columns of a right-hand side, each of which takes `work` operations, on all threads.
template <class F>
void for_columns(int columns, double work, const F& f) {
  const auto grain = static_cast<int64_t>(std::max(32.0, 4e6 / std::max(work, 1.0)));
  at::parallel_for(0, columns, grain,
                   [&](int64_t begin, int64_t end) { f(static_cast<int>(begin), static_cast<int>(end)); });
}

// Exchanges row i and row pivots[i], counted from 1, for each i from `first` to `last`, or back.
template <class T>
void exchange_rows(int columns, T* a, int lda, const int* pivots, int first, int last, bool back = false) {
  for (int c = 0; c < columns; ++c) {
    T* const column = a + int64_t{c} * lda;
    for (int k = first; k < last; ++k) {
      const int i = back ? last - 1 - (k - first) : k;
      std::swap(column[i], column[pivots[i] - 1]);
    }
  }
}

// Toledo, Locality of reference in LU decomposition with partial pivoting (1997).
template <class T>
int blocked_lu(int m, int n, T* a, int lda, int* pivots) {
  const int few = std::min(m, n);
  if (few <= kPanel) {
    int info = 0;
    Routines<T>::getrf(&m, &n, a, &lda, pivots, &info);
    return info;
  }
  const int first = few / 2 / 8 * 8, rest = n - first;
  T* const right = a + int64_t{first} * lda;
  const int info = blocked_lu(m, first, a, lda, pivots);
  for_columns(rest, double(m) * first, [&](int begin, int end) {
    T* const b = right + int64_t{begin} * lda;
    exchange_rows(end - begin, b, lda, pivots, 0, first);
    blocked_triangular_solve('L', 'N', 'U', first, end - begin, a, lda, b, lda);
    subtract_product(false, m - first, end - begin, first, a + first, lda, b, lda, b + first, lda);
  });
  const int later = blocked_lu(m - first, rest, right + first, lda, pivots + first);
  for (int i = first; i < few; ++i) pivots[i] += first;
  exchange_rows(first, a, lda, pivots, first, few);
  return info != 0 ? info : later != 0 ? later + first : 0;
}

template <class T>
void blocked_lu_solve(char trans, int n, int nrhs, const T* a, int lda, const int* pivots, T* b, int ldb) {
  for_columns(nrhs, double(n) * n, [&](int begin, int end) {
    T* const x = b + int64_t{begin} * ldb;
    const int columns = end - begin;
    if (trans == 'N') {
      exchange_rows(columns, x, ldb, pivots, 0, n);
      blocked_triangular_solve('L', 'N', 'U', n, columns, a, lda, x, ldb);
      blocked_triangular_solve('U', 'N', 'N', n, columns, a, lda, x, ldb);
    } else {
      blocked_triangular_solve('U', 'T', 'N', n, columns, a, lda, x, ldb);
      blocked_triangular_solve('L', 'T', 'U', n, columns, a, lda, x, ldb);
      exchange_rows(columns, x, ldb, pivots, 0, n, true);
    }
  });
}

}  // namespace at::cpu::lapack
