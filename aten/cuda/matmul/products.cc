// mm, bmm, addmm, baddbmm, addbmm, addmv, mv, dot, vdot, addr of CUDA tensors.
#include "aten/core/tensor.h"
#include "aten/core/view.h"
#include "aten/cuda/matmul/product.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/matmul/kernels.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

Tensor column(const Tensor& v) {
  return make_view(v, {v.size(0), 1}, {v.stride(0), 1}, v.storage_offset());
}
Tensor row(const Tensor& v) {
  return make_view(v, {1, v.size(0)}, {v.size(0), v.stride(0)}, v.storage_offset());
}

void dot_product(const char* name, const Tensor& a, const Tensor& b, Tensor& out) {
  Tensor result = make_view(out, {1, 1}, {1, 1}, out.storage_offset());
  cuda::dot_product(name, row(a), column(b), result);
}

Tensor as(const Tensor& t, ScalarType dtype) {
  return t.scalar_type() == dtype ? t : at::to(t, dtype);
}

}  // namespace

void mm_cuda(const Tensor& self, const Tensor& mat2, Tensor& out) {
  cuda::product("addmm_cuda", self, mat2, out);
}

void bmm_cuda(const Tensor& self, const Tensor& mat2, Tensor& out) {
  cuda::product("baddbmm_cuda", self, mat2, out);
}

void addmm_cuda(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta, const Scalar& alpha,
                Tensor& out) {
  cuda::product("addmm_cuda", mat1, mat2, &self, beta, alpha, out);
}

void baddbmm_cuda(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
                  const Scalar& alpha, Tensor& out) {
  cuda::product("baddbmm_cuda", batch1, batch2, &self, beta, alpha, out);
}

// One product, whose inner dimension is the batches' one after the other: short types are rounded once.
void addbmm_cuda(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
                 const Scalar& alpha, Tensor& out) {
  const int64_t depth = batch1.size(0) * batch1.size(2);
  const Tensor a = at::reshape(at::transpose(batch1, 0, 1), {batch1.size(1), depth});
  const Tensor b = at::reshape(batch2, {depth, batch2.size(2)});
  cuda::product("addmm_cuda", a, b, &self, beta, alpha, out);
}

void addmv_cuda(const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta, const Scalar& alpha,
                Tensor& out) {
  Tensor result = column(out);
  const Tensor add = self.dim() == 0 ? self : column(self);
  cuda::product("addmv_impl_cuda", mat, column(vec), &add, beta, alpha, result);
}

void mv_cuda(const Tensor& self, const Tensor& vec, Tensor& out) {
  Tensor result = column(out);
  cuda::product("addmv_impl_cuda", self, column(vec), result);
}

void dot_cuda(const Tensor& self, const Tensor& tensor, Tensor& out) {
  dot_product("dot", self, tensor, out);
}

void vdot_cuda(const Tensor& self, const Tensor& other, Tensor& out) {
  dot_product("vdot", self.is_complex() ? at::conj_physical(self) : self, other, out);
}

void addr_cuda(const Tensor& self, const Tensor& vec1, const Tensor& vec2, const Scalar& beta, const Scalar& alpha,
               Tensor& out) {
  const ScalarType dtype = out.scalar_type();
  const Tensor x = column(as(vec1, dtype)), y = row(as(vec2, dtype));
  if (isFloatingType(dtype) || isComplexType(dtype)) {
    const Tensor add = as(self, dtype);
    // A factor of 0 does not hide a NaN here.
    if (alpha.toComplexDouble() == c10::complex<double>(0))
      return cuda::product("addr", at::mul(x, alpha), y, &add, beta, 1, out);
    return cuda::product("addr", x, y, &add, beta, alpha, out);
  }
  const bool boolean = dtype == ScalarType::Bool;
  Tensor sum = at::mul(at::mul(x, y), alpha);
  if (beta.toComplexDouble() != c10::complex<double>(0))
    sum = boolean ? at::logical_or(self, sum) : at::add(sum, at::mul(as(self, dtype), beta));
  at::copy_(out, sum, false);
}

}  // namespace at::native
