#include "aten/cuda/matmul/product.h"

#include "aten/core/empty.h"
#include "aten/core/view.h"
#include "aten/cuda/matmul/integer.h"
#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"

namespace at::cuda {
namespace {

bool is_zero(const Scalar& s) {
  return s.toComplexDouble() == c10::complex<double>(0);
}
bool is_one(const Scalar& s) {
  return s.toComplexDouble() == c10::complex<double>(1);
}

bool lies_in(const Tensor& t) {
  const int64_t rank = t.dim();
  return blas::takes_layout(t.size(rank - 2), t.size(rank - 1), t.stride(rank - 2), t.stride(rank - 1));
}

bool is_same_memory(const Tensor& a, const Tensor& b) {
  return a.const_data_ptr() == b.const_data_ptr() && a.strides() == b.strides();
}

void activate(Tensor& out, blas::Activation activation) {
  if (activation == blas::Activation::kRelu) at::relu_(out);
  if (activation == blas::Activation::kGeluTanh) at::gelu_(out, "tanh");
}

// out = beta * add, or 0.
void write_addend(const Tensor* add, const Scalar& beta, Tensor& out) {
  if (add == nullptr || is_zero(beta)) {
    at::zero_(out);
    return;
  }
  if (!is_same_memory(*add, out)) at::copy_(out, *add, false);
  if (!is_one(beta)) at::mul_(out, beta);
}

// Whether the expanded addend is the same numbers for every row, one after the other.
bool is_row(const Tensor& add) {
  const int64_t rank = add.dim();
  const auto repeats = [&](int64_t d) { return add.size(d) == 1 || add.stride(d) == 0; };
  return repeats(rank - 2) && (rank == 2 || repeats(0)) && (add.size(rank - 1) == 1 || add.stride(rank - 1) == 1);
}

IntegerOperand integer_operand(const Tensor& t) {
  const blas::Operand o = operand_of(t);
  return {const_cast<void*>(o.data), o.row, o.column, o.batch};
}

// Of a matrix and a vector: a tile of the kernel's would be nearly empty.
void integer_vectors(const Tensor& a, const Tensor& b, const Tensor* add, const Scalar& beta, const Scalar& alpha,
                     Tensor& out) {
  const bool by_column = out.size(-1) == 1;
  const Tensor products = by_column ? at::mul(a, at::transpose(b, -2, -1)) : at::mul(at::transpose(a, -2, -1), b);
  Tensor sums = at::sum(products, {by_column ? -1 : -2}, true, out.scalar_type());
  if (alpha.toLong() != 1) sums = at::mul(sums, alpha.toLong());
  if (add != nullptr) sums = at::add(sums, at::mul(*add, beta.toLong()));
  at::copy_(out, sums, false);
}

void integer_product(const char* name, const Tensor& a, const Tensor& b, const Tensor* add, const Scalar& beta,
                     const Scalar& alpha, Tensor& out) {
  const int64_t rank = out.dim();
  if (out.size(rank - 1) == 1 || out.size(rank - 2) == 1) return integer_vectors(a, b, add, beta, alpha, out);
  IntegerProduct p{};
  p.name = name;
  p.dtype = out.scalar_type();
  p.batches = rank == 3 ? out.size(0) : 1;
  p.m = out.size(rank - 2), p.n = out.size(rank - 1), p.k = a.size(rank - 1);
  p.a = integer_operand(a), p.b = integer_operand(b), p.out = integer_operand(out);
  if (add != nullptr) p.add = integer_operand(*add);
  p.alpha = alpha.toLong(), p.beta = beta.toLong();
  multiply_integers(p);
}

}  // namespace

blas::Operand operand_of(const Tensor& t) {
  const int64_t rank = t.dim();
  return {t.const_data_ptr(), t.stride(rank - 2), t.stride(rank - 1), rank == 3 ? t.stride(0) : 0};
}

Tensor taken(const Tensor& t) {
  return lies_in(t) ? t : at::contiguous(t, MemoryFormat::Contiguous);
}

namespace {
void product_of(const char* name, const Tensor& a, const Tensor& b, const Tensor* add, const Scalar& beta,
                const Scalar& alpha, Tensor& out, blas::Activation activation, bool wide_parts) {
  const ScalarType dtype = out.scalar_type();
  const bool integers = isIntegralType(dtype, /*includeBool=*/false);
  TORCH_CHECK_NOT_IMPLEMENTED(isFloatingType(dtype) || isComplexType(dtype) || integers, "\"", name,
                              "\" not implemented for '", toString(dtype), "'");
  if (out.numel() == 0) return;
  const int64_t rank = out.dim();
  Tensor addend;
  if (add != nullptr && !is_zero(beta)) addend = at::expand(*add, out.sizes(), false);
  const bool adds = addend.defined();
  if (a.size(rank - 1) == 0 || is_zero(alpha)) {
    write_addend(adds ? &addend : nullptr, beta, out);
    return activate(out, activation);
  }
  if (integers) {
    integer_product(name, a, b, adds ? &addend : nullptr, beta, alpha, out);
    return activate(out, activation);
  }
  Tensor result = lies_in(out) ? out : empty_contiguous(out.sizes(), dtype, out.device());
  const Tensor left = taken(a), right = taken(b);
  blas::Product p;
  p.name = name;
  p.type = a.scalar_type();
  p.out_type = dtype;
  p.batches = rank == 3 ? out.size(0) : 1;
  p.m = out.size(rank - 2), p.n = out.size(rank - 1), p.k = a.size(rank - 1);
  p.a = operand_of(left), p.b = operand_of(right), p.out = operand_of(result);
  p.alpha = alpha.toComplexDouble(), p.beta = beta.toComplexDouble();
  // First with all of it in the library's own last step; where it has none such, in steps of ours.
  p.activation = activation;
  p.wide_parts = wide_parts;
  bool done = false;
  if (adds && is_one(beta) && is_row(addend) && !is_same_memory(addend, result)) {
    p.bias = addend.const_data_ptr();
    done = blas::try_multiply(p);
    p.bias = nullptr;
  }
  if (!done) {
    if (adds && !is_same_memory(addend, result) && !blas::takes_addend(p, operand_of(addend))) {
      at::copy_(result, addend, false);
      addend = result;
    }
    if (adds) p.add = operand_of(addend);
    done = activation != blas::Activation::kNone && blas::try_multiply(p);
  }
  if (!done) {
    p.activation = blas::Activation::kNone;
    blas::multiply(p);
    activate(result, activation);
  }
  if (!result.is_same(out)) at::copy_(out, result, false);
}

}  // namespace

void product(const char* name, const Tensor& a, const Tensor& b, const Tensor* add, const Scalar& beta,
             const Scalar& alpha, Tensor& out, blas::Activation activation) {
  product_of(name, a, b, add, beta, alpha, out, activation, false);
}

bool product_with_row_sums(const char* name, const Tensor& a, const Tensor& b, Tensor& out, Tensor& sums) {
  if (!isFloatingType(out.scalar_type()) || out.numel() == 0 || a.size(1) == 0 || !lies_in(out)) return false;
  const Tensor left = taken(a), right = taken(b);
  blas::Product p;
  p.name = name;
  p.type = p.out_type = out.scalar_type();
  p.m = out.size(0), p.n = out.size(1), p.k = a.size(1);
  p.a = operand_of(left), p.b = operand_of(right), p.out = operand_of(out);
  p.a_sums = sums.mutable_data_ptr();
  return blas::try_multiply(p);
}

void dot_product(const char* name, const Tensor& a, const Tensor& b, Tensor& out) {
  product_of(name, a, b, nullptr, 0, 1, out, blas::Activation::kNone, true);
}

}  // namespace at::cuda
