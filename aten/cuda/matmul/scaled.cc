// Products of integers and of 8-bit floats of CUDA tensors: the library wants both operands with the inner dimension's
// elements side by side, and sizes and addresses that are multiples.
#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/core/view.h"
#include "aten/cuda/matmul/product.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/quantized/kernels.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

int64_t rounded_up(int64_t n, int64_t unit) {
  return (n + unit - 1) / unit * unit;
}

// Whether rows lie one element after the other and begin at multiples of `bytes`.
bool has_aligned_rows(const Tensor& t, int64_t bytes) {
  const auto address = reinterpret_cast<uintptr_t>(t.const_data_ptr());
  const auto size = static_cast<int64_t>(t.itemsize());
  return (t.size(1) == 1 || t.stride(1) == 1) && address % static_cast<uintptr_t>(bytes) == 0 &&
         (t.size(0) == 1 || (t.stride(0) >= t.size(1) && t.stride(0) * size % bytes == 0));
}

// The first of the rows and columns of a larger matrix.
Tensor corner(const Tensor& t, IntArrayRef sizes) {
  return make_view(t, sizes, t.strides(), t.storage_offset());
}

// The matrix, or a copy with zeros behind, of `rows` rows of `columns` elements.
Tensor padded(const Tensor& t, int64_t rows, int64_t columns, int64_t bytes) {
  if (t.size(0) == rows && t.size(1) == columns && has_aligned_rows(t, bytes)) return t;
  Tensor out = empty_contiguous({rows, columns}, t.scalar_type(), t.device());
  if (out.numel() != t.numel()) at::zero_(out);
  Tensor part = corner(out, t.sizes());
  at::copy_(part, t, false);
  return out;
}

// `count` factors, one after the other: those given, or one for all, then zeros.
Tensor lines_of(const Tensor& scale, int64_t lines, int64_t count) {
  const Tensor given = at::expand(at::reshape(scale, {1, scale.numel()}), {1, lines}, false);
  return padded(at::contiguous(given, MemoryFormat::Contiguous), 1, count, static_cast<int64_t>(sizeof(float)));
}

bool is_given(const std::optional<Tensor>& t) {
  return t.has_value() && t->defined();
}

constexpr int64_t kFloat8Unit = 16;

cuda::blas::Product product_of(const char* name, const Tensor& a, const Tensor& b, const Tensor& out) {
  cuda::blas::Product p;
  p.name = name;
  p.type = a.scalar_type(), p.b_type = b.scalar_type(), p.out_type = out.scalar_type();
  p.m = a.size(0), p.n = b.size(0), p.k = a.size(1);
  p.a = cuda::operand_of(a), p.b = cuda::operand_of(at::transpose(b, 0, 1)), p.out = cuda::operand_of(out);
  return p;
}

// out = value + bias, times the result's factor where `out` is of 8 bits: in steps of ours.
void finish_scaled(Tensor value, const std::optional<Tensor>& bias, const std::optional<Tensor>& scale_result,
                   Tensor& out) {
  const ScalarType computed = value.scalar_type();
  if (is_given(bias)) value = at::add(value, at::to(at::reshape(*bias, {out.size(1)}), computed));
  if (is_given(scale_result) && isFloat8Type(out.scalar_type()))
    value = at::mul(value, at::to(at::reshape(*scale_result, IntArrayRef()), computed));
  at::copy_(out, value, false);
}

// For pairs of 8-bit types that the library does not take.
void scaled_product_in_float(const char* name, const Tensor& self, const Tensor& mat2, const Tensor& scale_a,
                             const Tensor& scale_b, const std::optional<Tensor>& bias,
                             const std::optional<Tensor>& scale_result, Tensor& out) {
  Tensor sums = empty_contiguous(out.sizes(), ScalarType::Float, out.device());
  cuda::product(name, at::to(self, ScalarType::Float), at::to(mat2, ScalarType::Float), sums);
  at::mul_(sums, at::reshape(scale_a, {-1, 1}));
  at::mul_(sums, at::reshape(scale_b, {1, -1}));
  finish_scaled(sums, bias, scale_result, out);
}

void scaled_product(const char* name, const Tensor& self, const Tensor& mat2, const Tensor& scale_a,
                    const Tensor& scale_b, const std::optional<Tensor>& bias, const std::optional<Tensor>& scale_result,
                    bool fast_accumulation, Tensor& out) {
  if (out.numel() == 0) return;
  if (self.scalar_type() == ScalarType::Float8_e5m2 && mat2.scalar_type() == ScalarType::Float8_e5m2)
    return scaled_product_in_float(name, self, mat2, scale_a, scale_b, bias, scale_result, out);
  const int64_t rows = self.size(0), columns = mat2.size(1);
  const int64_t width = rounded_up(columns, kFloat8Unit), depth = rounded_up(self.size(1), kFloat8Unit);
  const ScalarType dtype = out.scalar_type();
  const bool fused_bias = is_given(bias) && bias->scalar_type() == dtype && columns == width;
  const bool direct = (dtype == ScalarType::Half || dtype == ScalarType::BFloat16) && (fused_bias || !is_given(bias));
  const ScalarType computed = direct ? dtype : ScalarType::Float;
  const bool in_place =
      computed == dtype && (direct || !is_given(bias)) && columns == width && has_aligned_rows(out, kFloat8Unit);
  Tensor result = in_place ? out : empty_contiguous({rows, width}, computed, out.device());
  if (depth == 0) {
    at::zero_(result);
    if (fused_bias && direct) at::copy_(result, at::reshape(*bias, {1, columns}), false);
  } else {
    const Tensor a = padded(self, rows, depth, kFloat8Unit),
                 b = padded(at::transpose(mat2, 0, 1), width, depth, kFloat8Unit);
    cuda::blas::Product p = product_of(name, a, b, result);
    p.fast_accumulation = fast_accumulation;
    Tensor row;
    if (fused_bias && direct) {
      row = at::contiguous(at::reshape(*bias, {columns}), MemoryFormat::Contiguous);
      p.bias = row.const_data_ptr();
    }
    p.scale_lines = scale_a.numel() != 1 || scale_b.numel() != 1;
    const Tensor left = p.scale_lines ? lines_of(scale_a, rows, rows) : scale_a;
    const Tensor right = p.scale_lines ? lines_of(scale_b, columns, width) : scale_b;
    p.scale_a = left.const_data_ptr(), p.scale_b = right.const_data_ptr();
    cuda::blas::multiply(p);
  }
  if (in_place) return;
  finish_scaled(corner(result, out.sizes()), direct ? std::nullopt : bias, scale_result, out);
}

}  // namespace

void _int_mm_cuda(const Tensor& self, const Tensor& mat2, Tensor& out) {
  constexpr int64_t kUnit = 4;
  if (out.numel() == 0) return;
  if (self.size(1) == 0) {
    at::zero_(out);
    return;
  }
  const int64_t rows = self.size(0), width = rounded_up(mat2.size(1), kUnit), depth = rounded_up(self.size(1), kUnit);
  const Tensor a = padded(self, rows, depth, kUnit), b = padded(at::transpose(mat2, 0, 1), width, depth, kUnit);
  constexpr int64_t kOutBytes = kUnit * static_cast<int64_t>(sizeof(int32_t));
  const bool in_place = out.size(1) == width && has_aligned_rows(out, kOutBytes);
  const Tensor result = in_place ? out : empty_contiguous({rows, width}, ScalarType::Int, out.device());
  cuda::blas::multiply(product_of("_int_mm", a, b, result));
  if (!in_place) at::copy_(out, corner(result, out.sizes()), false);
}

void _scaled_mm_cuda(const Tensor& self, const Tensor& mat2, const Tensor& scale_a, const Tensor& scale_b,
                     const std::optional<Tensor>& bias, const std::optional<Tensor>& scale_result,
                     std::optional<ScalarType>, bool use_fast_accum, Tensor& out) {
  scaled_product("_scaled_mm", self, mat2, scale_a, scale_b, bias, scale_result, use_fast_accum, out);
}

void _scaled_mm_v2_cuda(const Tensor& self, const Tensor& mat2, TensorList scale_a, IntArrayRef, IntArrayRef,
                        TensorList scale_b, IntArrayRef, IntArrayRef, const std::optional<Tensor>& bias,
                        std::optional<ScalarType>, IntArrayRef, bool use_fast_accum, Tensor& out) {
  scaled_product("_scaled_mm_v2", self, mat2, scale_a[0], scale_b[0], bias, std::nullopt, use_fast_accum, out);
}

}  // namespace at::native
