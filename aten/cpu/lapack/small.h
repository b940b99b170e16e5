#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "aten/cpu/lapack/lapack.h"

// Loops for matrices of a few rows, where a call of LAPACK costs more than the arithmetic. Arguments and results as
// there.

namespace at::cpu::lapack {

inline constexpr int kSmall = 8;

template <class T>
int small_lu(int m, int n, T* a, int lda, int* pivots) {
  int info = 0;
  for (int k = 0; k < std::min(m, n); ++k) {
    int best = k;
    for (int i = k + 1; i < m; ++i) {
      if (magnitude(a[i + k * lda]) > magnitude(a[best + k * lda])) best = i;
    }
    pivots[k] = best + 1;
    if (a[best + k * lda] == T(0)) {
      if (info == 0) info = k + 1;
      continue;
    }
    if (best != k) {
      for (int j = 0; j < n; ++j) std::swap(a[k + j * lda], a[best + j * lda]);
    }
    for (int i = k + 1; i < m; ++i) a[i + k * lda] /= a[k + k * lda];
    for (int j = k + 1; j < n; ++j) {
      const T factor = a[k + j * lda];
      for (int i = k + 1; i < m; ++i) a[i + j * lda] -= a[i + k * lda] * factor;
    }
  }
  return info;
}

// A complex number over 0 is NaN, as LAPACK has it, and not the infinity of C++.
template <class T>
T over_pivot(const T& x, const T& pivot) {
  if constexpr (!std::is_same_v<T, Real<T>>) {
    if (pivot == T(0)) return T(std::numeric_limits<Real<T>>::quiet_NaN(), std::numeric_limits<Real<T>>::quiet_NaN());
  }
  return x / pivot;
}

// b = op(a)^-1 b. op(a)(i, j) is a(i, j), or with 'T' a(j, i), with 'C' its conjugate.
template <class T>
void small_triangular_solve(char uplo, char trans, char diag, int n, int nrhs, const T* a, int lda, T* b, int ldb) {
  const auto op = [&](int i, int j) {
    if (trans == 'N') return a[i + j * lda];
    return trans == 'C' ? conjugate(a[j + i * lda]) : a[j + i * lda];
  };
  const bool forward = (uplo == 'L') == (trans == 'N');
  for (int c = 0; c < nrhs; ++c) {
    T* x = b + static_cast<int64_t>(c) * ldb;
    for (int step = 0; step < n; ++step) {
      const int i = forward ? step : n - 1 - step;
      T sum = x[i];
      for (int j = forward ? 0 : i + 1; j < (forward ? i : n); ++j) sum -= op(i, j) * x[j];
      x[i] = diag == 'U' ? sum : over_pivot(sum, op(i, i));
    }
  }
}

template <class T>
void small_lu_solve(char trans, int n, int nrhs, const T* a, int lda, const int* pivots, T* b, int ldb) {
  const auto exchange = [&](int i) {
    const int other = pivots[i] - 1;
    if (other == i) return;
    for (int c = 0; c < nrhs; ++c)
      std::swap(b[i + static_cast<int64_t>(c) * ldb], b[other + static_cast<int64_t>(c) * ldb]);
  };
  if (trans == 'N') {
    for (int i = 0; i < n; ++i) exchange(i);
    small_triangular_solve('L', 'N', 'U', n, nrhs, a, lda, b, ldb);
    small_triangular_solve('U', 'N', 'N', n, nrhs, a, lda, b, ldb);
  } else {
    small_triangular_solve('U', trans, 'N', n, nrhs, a, lda, b, ldb);
    small_triangular_solve('L', trans, 'U', n, nrhs, a, lda, b, ldb);
    for (int i = n - 1; i >= 0; --i) exchange(i);
  }
}

template <class T>
int small_cholesky(char uplo, int n, T* a, int lda) {
  // Element (i, j), i >= j, of L; with 'U' the matrix holds the conjugate transpose.
  const bool lower = uplo == 'L';
  const auto at = [&](int i, int j) -> T& { return lower ? a[i + j * lda] : a[j + i * lda]; };
  const auto read = [&](int i, int j) { return lower ? at(i, j) : conjugate(at(i, j)); };
  for (int j = 0; j < n; ++j) {
    Real<T> square;
    if constexpr (is_complex<T>) {
      square = at(j, j).real();
    } else {
      square = at(j, j);
    }
    for (int k = 0; k < j; ++k) {
      const T x = read(j, k);
      if constexpr (is_complex<T>) {
        square -= x.real() * x.real() + x.imag() * x.imag();
      } else {
        square -= x * x;
      }
    }
    if (!(square > 0)) {
      at(j, j) = T(square);
      return j + 1;
    }
    const Real<T> pivot = std::sqrt(square);
    at(j, j) = T(pivot);
    for (int i = j + 1; i < n; ++i) {
      T sum = read(i, j);
      for (int k = 0; k < j; ++k) sum -= read(i, k) * conjugate(read(j, k));
      sum = sum / T(pivot);
      at(i, j) = lower ? sum : conjugate(sum);
    }
  }
  return 0;
}

}  // namespace at::cpu::lapack
