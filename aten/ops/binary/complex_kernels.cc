// Complex tensors from two real ones.
#include "aten/core/tensor.h"
#include "aten/core/tensor_spec.h"
#include "aten/core/view.h"
#include "aten/ops/binary/kernels.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

bool has_complex_type(ScalarType dtype) {
  return dtype == ScalarType::Half || dtype == ScalarType::Float || dtype == ScalarType::Double;
}

// The result of complex and polar: the broadcast shape, the complex dtype of two equal real ones.
TensorSpec complex_spec(const char* name, const Tensor& a, const Tensor& b) {
  const ScalarType dtype = a.scalar_type();
  TORCH_CHECK_NOT_IMPLEMENTED(has_complex_type(dtype) && has_complex_type(b.scalar_type()),
              "Expected both inputs to be Half, Float or Double tensors but got ", toString(dtype), " and ",
              toString(b.scalar_type()));
  TORCH_CHECK(
      dtype == b.scalar_type(), "Expected object of scalar type ", toString(dtype), " but got scalar type ",
      toString(b.scalar_type()), " for second argument");
  TORCH_CHECK(a.device() == b.device(), name, ": expected all tensors on one device");
  return {broadcast_shapes(a.sizes(), b.sizes()), {}, toComplexType(dtype), a.device()};
}

}  // namespace

TensorSpec complex_meta(const Tensor& real, const Tensor& imag) {
  return complex_spec("complex", real, imag);
}

void complex_cpu(const Tensor& real, const Tensor& imag, Tensor& out) {
  Tensor parts = at::view_as_real(out);
  Tensor real_part = at::select(parts, -1, 0);
  Tensor imag_part = at::select(parts, -1, 1);
  at::copy_(real_part, at::expand(real, out.sizes()));
  at::copy_(imag_part, at::expand(imag, out.sizes()));
}

TensorSpec polar_meta(const Tensor& abs, const Tensor& angle) {
  return complex_spec("polar", abs, angle);
}

void polar_cpu(const Tensor& abs, const Tensor& angle, Tensor& out) {
  complex_cpu(at::mul(abs, at::cos(angle)), at::mul(abs, at::sin(angle)), out);
}

}  // namespace at::native
