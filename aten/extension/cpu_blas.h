// Products of matrices in plain memory, column by column as in BLAS, by this library's own kernels.
//
//   at::native::cpublas::gemm(TransposeType::NoTranspose, TransposeType::Transpose, m, n, k, 1.f, a, m, b, n, 0.f, c,
//   m);
#pragma once

#include <cstdint>

#include "aten/extension/accumulate_type.h"
#include "c10/util/bfloat16.h"
#include "c10/util/complex.h"
#include "c10/util/half.h"

namespace at::native {

enum class TransposeType : uint8_t { NoTranspose, Transpose, ConjTranspose };

namespace cpublas {

/// c = alpha * op(a) op(b) + beta * c, with op(a) of m x k, op(b) of k x n and c of m x n, whose columns begin every
/// `lda`, `ldb`, `ldc` elements. Where beta is 0, c is not read. Throws c10::Error for a negative size and for a
/// leading dimension below the number of rows.
///
/// T: float, double, their complex numbers, Half, BFloat16, int64_t.
template <class T>
void gemm(TransposeType transa, TransposeType transb, int64_t m, int64_t n, int64_t k, at::opmath_type<T> alpha,
          const T* a, int64_t lda, const T* b, int64_t ldb, at::opmath_type<T> beta, T* c, int64_t ldc);

/// y += a * x over n elements, `incx` and `incy` apart. T as for gemm.
template <class T>
void axpy(int64_t n, T a, const T* x, int64_t incx, T* y, int64_t incy) {
  for (int64_t i = 0; i < n; ++i) y[i * incy] = static_cast<T>(y[i * incy] + a * x[i * incx]);
}
/// y = x.
template <class T>
void copy(int64_t n, const T* x, int64_t incx, T* y, int64_t incy) {
  for (int64_t i = 0; i < n; ++i) y[i * incy] = x[i * incx];
}

}  // namespace cpublas
}  // namespace at::native
