#pragma once

#include <initializer_list>

#include "aten/core/tensor.h"
#include "aten/core/tensor_spec.h"
#include "aten/cpu/matrix/gemm.h"

// What the kernels of matrix products, convolutions and attention share: checks of their arguments, and tensors as operands
// of the matrix engine.

namespace at::native {

/// Throws "Expected all tensors to be on the same device, but found at least two devices, cpu and meta!". Undefined tensors
/// are passed over.
void check_same_device(std::initializer_list<const Tensor*> tensors);

/// Throws "expected m1 and m2 to have the same dtype, but got: float != double" (with the given names).
void check_same_dtype(const Tensor& a, const Tensor& b, const char* a_name, const char* b_name);

/// Throws "mat1 and mat2 must have the same dtype, but got Float and Double": of products with an addend.
void check_factors_dtype(const Tensor& mat1, const Tensor& mat2);

/// Throws NotImplementedError "\"addmm\" not implemented for 'Bool'" unless the matrix engine has the dtype.
void check_matrix_dtype(const char* op, ScalarType dtype);

/// Throws unless `self` broadcasts to `sizes`: "The expanded size of the tensor (4) must match the existing size (5) at
/// non-singleton dimension 1.  Target sizes: [2, 4].  Tensor sizes: [5]".
void check_expands(const Tensor& self, IntArrayRef sizes);

matrix::Type matrix_type(ScalarType dtype);

/// The value of a scalar as a factor of a product in `dtype`. Throws where a complex one meets a real dtype.
matrix::Factor matrix_factor(const Scalar& value, ScalarType dtype);

/// The last two dimensions of a 2-D tensor, or of a 3-D one with its first as the batch.
matrix::Operand matrix_operand(const Tensor& t);

/// `self` as an addend of an [.., m, n] result it broadcasts to (at most three dimensions).
matrix::Operand broadcast_operand(const Tensor& self, IntArrayRef sizes);

/// A contiguous result.
inline TensorSpec dense_spec(IntArrayRef sizes, const Tensor& like) {
  return {DimVector(sizes.begin(), sizes.end()), {}, like.scalar_type(), like.device()};
}

}  // namespace at::native
