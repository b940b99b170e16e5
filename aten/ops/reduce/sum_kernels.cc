// sum, nansum, mean, prod.
#include "aten/core/tensor.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/reduce/kernels.h"
#include "aten/ops/reduce/reduction.h"

namespace at::native {
namespace {

using ReduceFinder = const cpu::ReduceKernel* (*)(ScalarType);

ScalarType sum_dtype(const Tensor& self, std::optional<ScalarType> dtype) {
  if (dtype) return *dtype;
  return isIntegralType(self.scalar_type(), /*includeBool=*/true) ? ScalarType::Long : self.scalar_type();
}

TensorSpec sum_spec(const Tensor& self, const DimMask& mask, bool keepdim, std::optional<ScalarType> dtype) {
  return {reduced_sizes(self, mask, keepdim), {}, sum_dtype(self, dtype), self.device()};
}

// Accumulating in double, int64 or complex double and converting at the end is the same as converting first, except where the
// conversion of an element loses part of it, and in double: rows of narrower types are added up in float32, block by block.
bool must_convert_first(ScalarType from, ScalarType to) {
  if (from == to) return false;
  if (isComplexType(from)) return !isComplexType(to);
  if (isFloatingType(from)) return isIntegralType(to, true) || to == ScalarType::Double;
  return to == ScalarType::Bool;
}

void sum_like(const char* op, ReduceFinder find, const Tensor& self, const DimMask& mask, const Tensor& out, double divisor = 1) {
  cpu::ReduceParams params;
  params.out_type = out.scalar_type();
  params.divisor = divisor;
  // An input of a type without a kernel is summed in the result's.
  const bool converts = find(self.scalar_type()) == nullptr && self.scalar_type() != out.scalar_type();
  TORCH_CHECK_NOT_IMPLEMENTED(find(out.scalar_type()) != nullptr, "\"", op, "\" not implemented for '",
                              out.scalar_type(), "'");
  if (converts || must_convert_first(self.scalar_type(), out.scalar_type())) {
    const Tensor converted = at::_to_copy(self, TensorOptions().dtype(out.scalar_type()));
    run_reduction(op, find(converted.scalar_type()), converted, mask, out, Tensor(), params);
  } else {
    run_reduction(op, find(self.scalar_type()), self, mask, out, Tensor(), params);
  }
}

DimMask all_dims(const Tensor& self) { return make_dim_mask(std::nullopt, self.dim()); }

void check_mean_dtype(const Tensor& self, std::optional<ScalarType> dtype) {
  const ScalarType type = dtype.value_or(self.scalar_type());
  TORCH_CHECK_NOT_IMPLEMENTED(
      isFloatingType(type) || isComplexType(type), "mean(): could not infer output dtype. ", dtype ? "Optional" : "Input",
      " dtype must be either a floating point or complex dtype. Got: ", toString(type));
}

}  // namespace

TensorSpec sum_meta(const Tensor& self, std::optional<ScalarType> dtype) { return sum_spec(self, all_dims(self), false, dtype); }
void sum_kernel(const Tensor& self, std::optional<ScalarType>, Tensor& out) {
  sum_like("sum", cpu::sum_kernel, self, all_dims(self), out);
}

TensorSpec sum_dim_meta(const Tensor& self, OptionalIntArrayRef dim, bool keepdim, std::optional<ScalarType> dtype) {
  return sum_spec(self, make_dim_mask(dim, self.dim()), keepdim, dtype);
}
void sum_dim_kernel(const Tensor& self, OptionalIntArrayRef dim, bool, std::optional<ScalarType>, Tensor& out) {
  sum_like("sum", cpu::sum_kernel, self, make_dim_mask(dim, self.dim()), out);
}

TensorSpec nansum_meta(const Tensor& self, OptionalIntArrayRef dim, bool keepdim, std::optional<ScalarType> dtype) {
  TORCH_CHECK(!isComplexType(self.scalar_type()), "nansum does not support complex inputs");
  return sum_spec(self, make_dim_mask(dim, self.dim()), keepdim, dtype);
}
void nansum_kernel(const Tensor& self, OptionalIntArrayRef dim, bool, std::optional<ScalarType>, Tensor& out) {
  sum_like("nansum", cpu::nansum_kernel, self, make_dim_mask(dim, self.dim()), out);
}

TensorSpec mean_meta(const Tensor& self, std::optional<ScalarType> dtype) {
  check_mean_dtype(self, dtype);
  return sum_spec(self, all_dims(self), false, dtype);
}
void mean_kernel(const Tensor& self, std::optional<ScalarType>, Tensor& out) {
  const DimMask mask = all_dims(self);
  sum_like("mean", cpu::sum_kernel, self, mask, out, static_cast<double>(reduced_count(self, mask)));
}

TensorSpec mean_dim_meta(const Tensor& self, OptionalIntArrayRef dim, bool keepdim, std::optional<ScalarType> dtype) {
  check_mean_dtype(self, dtype);
  return sum_spec(self, make_dim_mask(dim, self.dim()), keepdim, dtype);
}
void mean_dim_kernel(const Tensor& self, OptionalIntArrayRef dim, bool, std::optional<ScalarType>, Tensor& out) {
  const DimMask mask = make_dim_mask(dim, self.dim());
  sum_like("mean", cpu::sum_kernel, self, mask, out, static_cast<double>(reduced_count(self, mask)));
}

TensorSpec prod_meta(const Tensor& self, std::optional<ScalarType> dtype) { return sum_spec(self, all_dims(self), false, dtype); }
void prod_kernel(const Tensor& self, std::optional<ScalarType>, Tensor& out) {
  sum_like("prod", cpu::prod_kernel, self, all_dims(self), out);
}

TensorSpec prod_dim_meta(const Tensor& self, int64_t dim, bool keepdim, std::optional<ScalarType> dtype) {
  return sum_spec(self, make_dim_mask(IntArrayRef(dim), self.dim()), keepdim, dtype);
}
void prod_dim_kernel(const Tensor& self, int64_t dim, bool, std::optional<ScalarType>, Tensor& out) {
  sum_like("prod", cpu::prod_kernel, self, make_dim_mask(IntArrayRef(dim), self.dim()), out);
}

}  // namespace at::native
