#include "aten/ops/shared/matrix_support.h"

namespace at::native {

void check_same_device(std::initializer_list<const Tensor*> tensors) {
  const Tensor* first = nullptr;
  for (const Tensor* t : tensors) {
    if (t == nullptr || !t->defined()) continue;
    if (first == nullptr) first = t;
    TORCH_CHECK(t->device() == first->device(),
                "Expected all tensors to be on the same device, but found at least two devices, ", first->device(),
                " and ", t->device(), "!");
  }
}

void check_same_dtype(const Tensor& a, const Tensor& b, const char* a_name, const char* b_name) {
  TORCH_CHECK(a.scalar_type() == b.scalar_type(), "expected ", a_name, " and ", b_name,
              " to have the same dtype, but got: ", a.dtype(), " != ", b.dtype());
}

void check_factors_dtype(const Tensor& mat1, const Tensor& mat2) {
  TORCH_CHECK(mat1.scalar_type() == mat2.scalar_type(), "mat1 and mat2 must have the same dtype, but got ",
              toString(mat1.scalar_type()), " and ", toString(mat2.scalar_type()));
}

namespace {

// -1 where the engine has no such type.
int type_index(ScalarType dtype) {
  switch (dtype) {
    case kFloat: return static_cast<int>(matrix::Type::kFloat32);
    case kDouble: return static_cast<int>(matrix::Type::kFloat64);
    case kHalf: return static_cast<int>(matrix::Type::kFloat16);
    case kBFloat16: return static_cast<int>(matrix::Type::kBFloat16);
    case kByte: return static_cast<int>(matrix::Type::kUint8);
    case kChar: return static_cast<int>(matrix::Type::kInt8);
    case kShort: return static_cast<int>(matrix::Type::kInt16);
    case kInt: return static_cast<int>(matrix::Type::kInt32);
    case kLong: return static_cast<int>(matrix::Type::kInt64);
    case kComplexFloat: return static_cast<int>(matrix::Type::kComplex64);
    case kComplexDouble: return static_cast<int>(matrix::Type::kComplex128);
    default: return -1;
  }
}

}  // namespace

void check_matrix_dtype(const char* op, ScalarType dtype) {
  TORCH_CHECK_NOT_IMPLEMENTED(type_index(dtype) >= 0, "\"", op, "\" not implemented for '", toString(dtype), "'");
}

void check_expands(const Tensor& self, IntArrayRef sizes) {
  const int64_t rank = static_cast<int64_t>(sizes.size());
  TORCH_CHECK(self.dim() <= rank, "expand(", self.toString(), "{", self.sizes(), "}, size=", sizes,
              "): the number of sizes provided (", rank,
              ") must be greater or equal to the number of dimensions in the tensor (", self.dim(), ")");
  for (int64_t i = 0; i < self.dim(); ++i) {
    const int64_t d = rank - self.dim() + i;
    TORCH_CHECK(self.size(i) == sizes[d] || self.size(i) == 1, "The expanded size of the tensor (", sizes[d],
                ") must match the existing size (", self.size(i), ") at non-singleton dimension ", d,
                ".  Target sizes: ", sizes, ".  Tensor sizes: ", self.sizes());
  }
}

matrix::Type matrix_type(ScalarType dtype) {
  const int index = type_index(dtype);
  TORCH_INTERNAL_ASSERT(index >= 0, "the matrix engine has no ", toString(dtype));
  return static_cast<matrix::Type>(index);
}

matrix::Factor matrix_factor(const Scalar& value, ScalarType dtype) {
  if (isComplexType(dtype)) {
    const auto z = value.toComplexDouble();
    return matrix::Factor(z.real(), z.imag());
  }
  if (isIntegralType(dtype, /*includeBool=*/true)) return matrix::Factor(value.toLong());
  return matrix::Factor(value.toDouble());
}

matrix::Operand matrix_operand(const Tensor& t) {
  const IntArrayRef strides = t.strides();
  const size_t d = strides.size();
  return {t.data_ptr(), strides[d - 2], strides[d - 1], {0, d == 3 ? strides[0] : 0}};
}

matrix::Operand broadcast_operand(const Tensor& self, IntArrayRef sizes) {
  const int64_t rank = static_cast<int64_t>(sizes.size());
  int64_t strides[3] = {0, 0, 0};
  for (int64_t i = 0; i < self.dim(); ++i) {
    if (self.size(i) != 1 || sizes[rank - self.dim() + i] == 1) strides[3 - self.dim() + i] = self.stride(i);
  }
  return {self.data_ptr(), strides[1], strides[2], {0, strides[0]}};
}

}  // namespace at::native
