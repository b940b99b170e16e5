// mm, bmm, addmm, baddbmm, addbmm, addmv, mv, dot, vdot, addr: calls of the matrix engine.
#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/core/view.h"
#include "aten/cpu/loops/loops.h"
#include "aten/cpu/pointwise.h"
#include "aten/cpu/support/boolean.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/matmul/kernels.h"
#include "aten/ops/shared/matrix_support.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/type_promotion.h"

namespace at::native {
namespace {

// C = alpha * A * B + beta * add, where `add` (or null) broadcasts to the result.
void product(const Tensor& a, const Tensor& b, const Tensor* add, matrix::Factor beta, matrix::Factor alpha,
             Tensor& out) {
  const IntArrayRef sizes = out.sizes(), strides = out.strides();
  const size_t rank = sizes.size();
  matrix::Gemm g;
  g.type = matrix_type(out.scalar_type());
  g.m = sizes[rank - 2];
  g.n = sizes[rank - 1];
  g.k = a.sizes()[rank - 1];
  g.batch[1] = rank == 3 ? sizes[0] : 1;
  g.a = matrix_operand(a);
  g.b = matrix_operand(b);
  g.c = out.data_ptr();
  g.c_row = strides[rank - 2];
  g.c_col = strides[rank - 1];
  g.c_batch[1] = rank == 3 ? strides[0] : 0;
  g.alpha = alpha;
  g.beta = beta;
  if (add != nullptr) g.add = broadcast_operand(*add, sizes);
  matrix::gemm(g);
}
void product(const Tensor& a, const Tensor& b, const Tensor* add, const Scalar& beta, const Scalar& alpha,
             Tensor& out) {
  product(a, b, add, matrix_factor(beta, out.scalar_type()), matrix_factor(alpha, out.scalar_type()), out);
}
void product(const Tensor& a, const Tensor& b, Tensor& out) {
  product(a, b, nullptr, matrix::Factor(0), matrix::Factor(1), out);
}

void check_mm(const Tensor& a, const Tensor& b, const char* a_name, const char* b_name, const char* op) {
  TORCH_CHECK(a.dim() == 2, op, ": ", a_name, " must be a matrix, got ", a.dim(), "-D tensor");
  TORCH_CHECK(b.dim() == 2, op, ": ", b_name, " must be a matrix, got ", b.dim(), "-D tensor");
  TORCH_CHECK(a.size(1) == b.size(0), op, ": mat1 and mat2 shapes cannot be multiplied (", a.size(0), "x", a.size(1),
              " and ", b.size(0), "x", b.size(1), ")");
  check_same_device({&a, &b});
}

void check_bmm(const Tensor& a, const Tensor& b, const char* op) {
  TORCH_CHECK(a.dim() == 3, "batch1 must be a 3D tensor");
  TORCH_CHECK(b.dim() == 3, "batch2 must be a 3D tensor");
  TORCH_CHECK(b.size(0) == a.size(0) && b.size(1) == a.size(2),
              "Expected size for first two dimensions of batch2 tensor to be: [", a.size(0), ", ", a.size(2),
              "] but got: [", b.size(0), ", ", b.size(1), "].");
  check_same_device({&a, &b});
  check_same_dtype(a, b, "batch1", "batch2");
  check_matrix_dtype(op, a.scalar_type());
}

void check_addend(const Tensor& self, const Tensor& a, IntArrayRef sizes) {
  check_expands(self, sizes);
  check_same_device({&self, &a});
  TORCH_CHECK(self.scalar_type() == a.scalar_type(), "self and mat2 must have the same dtype, but got ",
              toString(self.scalar_type()), " and ", toString(a.scalar_type()));
}

void check_vectors(const Tensor& a, const Tensor& b, const char* op) {
  TORCH_CHECK(a.dim() == 1 && b.dim() == 1, "1D tensors expected, but got ", a.dim(), "D and ", b.dim(), "D tensors");
  check_same_device({&a, &b});
  TORCH_CHECK(a.scalar_type() == b.scalar_type(), op, " : expected both vectors to have same dtype, but found ",
              toString(a.scalar_type()), " and ", toString(b.scalar_type()));
  TORCH_CHECK(a.numel() == b.numel(), "inconsistent tensor size, expected tensor ", a.sizes(), " and src ", b.sizes(),
              " to have the same number of elements, but got ", a.numel(), " and ", b.numel(),
              " elements respectively");
  check_matrix_dtype(op, a.scalar_type());
}

Tensor column(const Tensor& v) { return make_view(v, {v.size(0), 1}, {v.stride(0), 1}, v.storage_offset()); }
Tensor row(const Tensor& v) { return make_view(v, {1, v.size(0)}, {v.size(0), v.stride(0)}, v.storage_offset()); }

}  // namespace

TensorSpec mm_meta(const Tensor& self, const Tensor& mat2) {
  check_mm(self, mat2, "self", "mat2", "mm");
  check_same_dtype(self, mat2, "m1", "m2");
  check_matrix_dtype("mm", self.scalar_type());
  return dense_spec({self.size(0), mat2.size(1)}, self);
}

void mm_cpu(const Tensor& self, const Tensor& mat2, Tensor& out) { product(self, mat2, out); }

TensorSpec bmm_meta(const Tensor& self, const Tensor& mat2) {
  check_bmm(self, mat2, "bmm");
  return dense_spec({self.size(0), self.size(1), mat2.size(2)}, self);
}

void bmm_cpu(const Tensor& self, const Tensor& mat2, Tensor& out) { product(self, mat2, out); }

TensorSpec addmm_meta(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
                      const Scalar& alpha) {
  check_mm(mat1, mat2, "self", "mat2", "addmm");
  check_addend(self, mat2, {mat1.size(0), mat2.size(1)});
  check_factors_dtype(mat1, mat2);
  check_matrix_dtype("addmm", mat1.scalar_type());
  matrix_factor(beta, mat1.scalar_type());
  matrix_factor(alpha, mat1.scalar_type());
  return dense_spec({mat1.size(0), mat2.size(1)}, mat1);
}

void addmm_cpu(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta, const Scalar& alpha,
               Tensor& out) {
  product(mat1, mat2, &self, beta, alpha, out);
}

TensorSpec baddbmm_meta(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
                        const Scalar& alpha) {
  check_bmm(batch1, batch2, "baddbmm");
  const int64_t sizes[] = {batch1.size(0), batch1.size(1), batch2.size(2)};
  check_addend(self, batch1, sizes);
  matrix_factor(beta, batch1.scalar_type());
  matrix_factor(alpha, batch1.scalar_type());
  return dense_spec(sizes, batch1);
}

void baddbmm_cpu(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
                 const Scalar& alpha, Tensor& out) {
  product(batch1, batch2, &self, beta, alpha, out);
}

TensorSpec addbmm_meta(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
                       const Scalar& alpha) {
  check_bmm(batch1, batch2, "addbmm");
  const int64_t sizes[] = {batch1.size(1), batch2.size(2)};
  check_addend(self, batch1, sizes);
  matrix_factor(beta, batch1.scalar_type());
  matrix_factor(alpha, batch1.scalar_type());
  return dense_spec(sizes, batch1);
}

void addbmm_cpu(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta, const Scalar& alpha,
                Tensor& out) {
  const int64_t batches = batch1.size(0), depth = batch1.size(2);
  if (batches > 0 && depth >= 32 && out.itemsize() > 2) {
    for (int64_t i = 0; i < batches; ++i) {
      const bool first = i == 0;
      product(at::select(batch1, 0, i), at::select(batch2, 0, i), first ? &self : &out, first ? beta : Scalar(1), alpha,
              out);
    }
    return;
  }
  // One product, whose inner dimension is the batches' one after the other: short types are rounded once.
  const Tensor a = at::reshape(at::transpose(batch1, 0, 1), {batch1.size(1), batches * depth}),
               b = at::reshape(batch2, {batches * depth, batch2.size(2)});
  product(a, b, &self, beta, alpha, out);
}

TensorSpec addmv_meta(const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta,
                      const Scalar& alpha) {
  TORCH_CHECK(mat.dim() == 2 && vec.dim() == 1 && self.dim() <= 1, "vector + matrix @ vector expected, got ",
              self.dim(), ", ", mat.dim(), ", ", vec.dim());
  TORCH_CHECK(mat.size(1) == vec.size(0) && (self.numel() == mat.size(0) || self.numel() == 1),
              "size mismatch, got input (", self.numel(), "), mat (", mat.size(0), "x", mat.size(1), "), vec (",
              vec.size(0), ")");
  check_same_device({&self, &mat, &vec});
  check_same_dtype(mat, vec, "mat", "vec");
  check_same_dtype(self, mat, "input", "mat");
  check_matrix_dtype("addmv", mat.scalar_type());
  matrix_factor(beta, mat.scalar_type());
  matrix_factor(alpha, mat.scalar_type());
  const int64_t rows = mat.size(0);
  return dense_spec(rows, mat);
}

void addmv_cpu(const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta, const Scalar& alpha,
               Tensor& out) {
  Tensor result = column(out);
  const Tensor add = self.dim() == 0 ? make_view(self, {1, 1}, {1, 1}, self.storage_offset()) : column(self);
  product(mat, column(vec), &add, beta, alpha, result);
}

TensorSpec mv_meta(const Tensor& self, const Tensor& vec) {
  TORCH_CHECK(self.dim() == 2 && vec.dim() == 1, "vector + matrix @ vector expected, got 1, ", self.dim(), ", ",
              vec.dim());
  TORCH_CHECK(self.size(1) == vec.size(0), "size mismatch, got input (", self.size(0), "), mat (", self.size(0), "x",
              self.size(1), "), vec (", vec.size(0), ")");
  check_same_device({&self, &vec});
  check_same_dtype(self, vec, "mat", "vec");
  check_matrix_dtype("mv", self.scalar_type());
  const int64_t rows = self.size(0);
  return dense_spec(rows, self);
}

void mv_cpu(const Tensor& self, const Tensor& vec, Tensor& out) {
  Tensor result = column(out);
  product(self, column(vec), result);
}

TensorSpec dot_meta(const Tensor& self, const Tensor& tensor) {
  check_vectors(self, tensor, "dot");
  return dense_spec({}, self);
}

void dot_cpu(const Tensor& self, const Tensor& tensor, Tensor& out) {
  Tensor result = make_view(out, {1, 1}, {1, 1}, out.storage_offset());
  // Long sums are made of parts, which threads share: a float32 to which ones are added stays at 2^24.
  constexpr int64_t kPart = int64_t{1} << 18;
  const int64_t parts = self.numel() / kPart, first = parts * kPart, rest = self.numel() - first;
  if (parts < 2) return product(row(self), column(tensor), result);
  const int64_t x = self.stride(0), y = tensor.stride(0), at = self.storage_offset(), along = tensor.storage_offset();
  Tensor sums = empty_contiguous({parts}, out.scalar_type()), ones = empty_contiguous({parts}, out.scalar_type());
  at::fill_(ones, 1);
  Tensor each = make_view(sums, {parts, 1, 1}, {1, 1, 1}, 0);
  product(make_view(self, {parts, 1, kPart}, {kPart * x, x, x}, at),
          make_view(tensor, {parts, kPart, 1}, {kPart * y, y, y}, along), each);
  product(row(sums), column(ones), result);
  if (rest == 0) return;
  product(make_view(self, {1, rest}, {x, x}, at + first * x), make_view(tensor, {rest, 1}, {y, y}, along + first * y),
          &result, matrix::Factor(1), matrix::Factor(1), result);
}

TensorSpec vdot_meta(const Tensor& self, const Tensor& other) {
  check_vectors(self, other, "vdot");
  return dense_spec({}, self);
}

void vdot_cpu(const Tensor& self, const Tensor& other, Tensor& out) {
  dot_cpu(self.is_complex() ? at::conj_physical(self) : self, other, out);
}

TensorSpec addr_meta(const Tensor& self, const Tensor& vec1, const Tensor& vec2, const Scalar& beta,
                     const Scalar& alpha) {
  TORCH_CHECK(vec1.dim() == 1, "addr: Expected 1-D argument vec1, but got ", vec1.dim(), "-D");
  TORCH_CHECK(vec2.dim() == 1, "addr: Expected 1-D argument vec2, but got ", vec2.dim(), "-D");
  const int64_t sizes[] = {vec1.size(0), vec2.size(0)};
  check_expands(self, sizes);
  check_same_device({&self, &vec1, &vec2});
  const ScalarType dtype = promoteTypes(self.scalar_type(), promoteTypes(vec1.scalar_type(), vec2.scalar_type()));
  TORCH_CHECK(isFloatingType(dtype) || isComplexType(dtype) || (beta.isIntegral(true) && alpha.isIntegral(true)),
              "For integral input tensors, argument beta and alpha must not be floating point numbers.");
  TORCH_CHECK(dtype == kBool || (!beta.isBoolean() && !alpha.isBoolean()),
              "Boolean beta and alpha only supported for Boolean results.");
  if (dtype != kBool) {
    check_matrix_dtype("addr", dtype);
    matrix_factor(beta, dtype);
    matrix_factor(alpha, dtype);
  }
  TensorSpec spec = dense_spec(sizes, self);
  spec.dtype = dtype;
  return spec;
}

void addr_cpu(const Tensor& self, const Tensor& vec1, const Tensor& vec2, const Scalar& beta, const Scalar& alpha,
              Tensor& out) {
  const ScalarType dtype = out.scalar_type();
  auto in_dtype = [&](const Tensor& t) {
    return t.scalar_type() == dtype ? t : at::_to_copy(t, TensorOptions().dtype(dtype));
  };
  const Tensor add = in_dtype(self), x = in_dtype(vec1), y = in_dtype(vec2);
  if (dtype != kBool) {
    if ((dtype == kFloat || dtype == kDouble) && beta.toComplexDouble() == c10::complex<double>(1) &&
        !alpha.isComplex()) {
      const pointwise::Params params(dtype, {alpha});
      pointwise::run("addr", cpu::loops::addcmul, dtype, params.get(), out, {add, column(x), row(y)});
      return;
    }
    // A factor of 0 does not hide a NaN, as it does in the products of matrices.
    if (alpha.toComplexDouble() == c10::complex<double>(0))
      return product(at::mul(column(x), alpha), row(y), &add, beta, 1, out);
    return product(column(x), row(y), &add, beta, alpha, out);
  }
  const matrix::Operand s = broadcast_operand(add, out.sizes());
  const bool use_self = beta.toBool(), use_product = alpha.toBool();
  cpu::Boolean* to = out.data_ptr<cpu::Boolean>();
  for (int64_t i = 0; i < out.size(0); ++i) {
    for (int64_t j = 0; j < out.size(1); ++j) {
      const bool added = use_self && static_cast<const cpu::Boolean*>(s.data)[i * s.row + j * s.col];
      const bool multiplied =
          use_product && x.data_ptr<cpu::Boolean>()[i * x.stride(0)] && y.data_ptr<cpu::Boolean>()[j * y.stride(0)];
      to[i * out.stride(0) + j * out.stride(1)] = added || multiplied;
    }
  }
}

}  // namespace at::native
