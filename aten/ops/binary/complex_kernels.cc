// Complex tensors from two real ones.
#include <algorithm>

#include "aten/core/tensor.h"
#include "aten/core/tensor_spec.h"
#include "aten/core/view.h"
#include "aten/cpu/streamed_rows.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/binary/kernels.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/parallel/parallel.h"

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

// out[i] = (real[i], imag[i]), all dense in one order.
template <class T>
void interleave(const T* real, const T* imag, int64_t n, T* out) {
  constexpr int64_t kPiece = 1024;
  at::parallel_for(0, n, at::internal::GRAIN_SIZE, [&](int64_t begin, int64_t end) {
    cpu::StreamedRows<T> rows(2 * kPiece, 2 * n);
    for (int64_t i = begin; i < end; i += kPiece) {
      const int64_t count = std::min(kPiece, end - i);
      T* const pairs = rows.begin(out + 2 * i);
      for (int64_t k = 0; k < count; ++k) pairs[2 * k] = real[i + k], pairs[2 * k + 1] = imag[i + k];
      rows.end(out + 2 * i, 2 * count, {real + i + count, imag + i + count});
    }
  });
}

}  // namespace

TensorSpec complex_meta(const Tensor& real, const Tensor& imag) {
  return complex_spec("complex", real, imag);
}

void complex_cpu(const Tensor& real, const Tensor& imag, Tensor& out) {
  if (real.sizes() == imag.sizes() && is_dense(real) && is_dense(imag) && is_dense(out)) {
    return cpu::visit_item_size(static_cast<int64_t>(real.element_size()), [&](auto tag) {
      using T = typename decltype(tag)::type;
      interleave(static_cast<const T*>(real.const_data_ptr()), static_cast<const T*>(imag.const_data_ptr()),
                 out.numel(), static_cast<T*>(out.mutable_data_ptr()));
    });
  }
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
