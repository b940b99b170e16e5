// Products of CUDA tensors: what the operators of //aten/ops/matmul and their relatives call.
#pragma once

#include "aten/core/tensor.h"
#include "aten/cuda/blas/blas.h"

namespace at::cuda {

/// out = activation(alpha * a @ b + beta * add): a is [m, k] or [l, m, k], b [k, n] or [l, k, n], `add` (or null)
/// broadcasts to out, which is of the right size, of any strides, and shares memory with `add` only, where it is the
/// same tensor. All of one dtype, but that out and `add` may be of float32 where a and b are of 16 bits; for bool
/// NotImplementedError "\"addmm_cuda\" not implemented for 'Bool'" with `name` for addmm_cuda. Sums of integers wrap.
/// Operands whose layout cuBLASLt does not take are copied. Where beta or alpha
/// is 0 what they are factors of is not read.
void product(const char* name, const Tensor& a, const Tensor& b, const Tensor* add, const Scalar& beta,
             const Scalar& alpha, Tensor& out, blas::Activation activation = blas::Activation::kNone);
inline void product(const char* name, const Tensor& a, const Tensor& b, Tensor& out) {
  product(name, a, b, nullptr, 0, 1, out);
}

/// out = a @ b, and the sums of a's rows, in one call of the library; false, with nothing done, where it has none such.
bool product_with_row_sums(const char* name, const Tensor& a, const Tensor& b, Tensor& out, Tensor& sums);

/// out = a @ b of a row and a column, summed in float32 where the dtype has fewer bits.
void dot_product(const char* name, const Tensor& a, const Tensor& b, Tensor& out);

/// A matrix or a batch of them as an operand.
blas::Operand operand_of(const Tensor& t);
/// Itself, or a contiguous copy where cuBLASLt does not take its last two dimensions.
Tensor taken(const Tensor& t);

}  // namespace at::cuda
