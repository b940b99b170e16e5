#include "aten/extension/cpu_blas.h"

#include <algorithm>

#include "aten/core/from_blob.h"
#include "aten/core/tensor.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/unary/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"

namespace at::native::cpublas {
namespace {

// op(data) of rows x columns, as a tensor over the same memory.
template <class T>
Tensor matrix(const char* name, const T* data, int64_t rows, int64_t columns, int64_t ld, TransposeType transpose) {
  const bool stored_transposed = transpose != TransposeType::NoTranspose;
  const int64_t stored_rows = stored_transposed ? columns : rows;
  TORCH_CHECK(ld >= std::max<int64_t>(1, stored_rows), "gemm: the leading dimension of ", name, " is ", ld, ", it has ",
              stored_rows, " rows");
  const int64_t strides[2] = {stored_transposed ? ld : 1, stored_transposed ? 1 : ld};
  const Tensor view =
      at::from_blob(const_cast<T*>(data), {rows, columns}, strides, TensorOptions(c10::CppTypeToScalarType<T>::value));
  return transpose == TransposeType::ConjTranspose && view.is_complex() ? at::conj(view) : view;
}

}  // namespace

template <class T>
void gemm(TransposeType transa, TransposeType transb, int64_t m, int64_t n, int64_t k, at::opmath_type<T> alpha,
          const T* a, int64_t lda, const T* b, int64_t ldb, at::opmath_type<T> beta, T* c, int64_t ldc) {
  TORCH_CHECK(m >= 0 && n >= 0 && k >= 0, "gemm: sizes must not be negative, got ", m, " x ", k, " and ", k, " x ", n);
  const c10::InferenceMode plain_memory;
  Tensor out = matrix("c", c, m, n, ldc, TransposeType::NoTranspose);
  at::addmm_out(out, out, matrix("a", a, m, k, lda, transa), matrix("b", b, k, n, ldb, transb), Scalar(beta),
                Scalar(alpha));
}

#define KINDLING_GEMM(T)                                                                                       \
  template void gemm<T>(TransposeType, TransposeType, int64_t, int64_t, int64_t, at::opmath_type<T>, const T*, \
                        int64_t, const T*, int64_t, at::opmath_type<T>, T*, int64_t);
KINDLING_GEMM(float)
KINDLING_GEMM(double)
KINDLING_GEMM(c10::complex<float>)
KINDLING_GEMM(c10::complex<double>)
KINDLING_GEMM(c10::Half)
KINDLING_GEMM(c10::BFloat16)
KINDLING_GEMM(int64_t)

}  // namespace at::native::cpublas
