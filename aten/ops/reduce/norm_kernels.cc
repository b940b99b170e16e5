// norm in its forms, frobenius_norm, logsumexp.
#include <limits>

#include "aten/core/tensor.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/reduce/reduction.h"

namespace at::native {
namespace {

double exponent(const std::optional<Scalar>& p) { return p ? p->toDouble() : 2.0; }

TensorSpec norm_spec(const Tensor& self, const std::optional<Scalar>& p, OptionalIntArrayRef dim, bool keepdim,
                     std::optional<ScalarType> dtype) {
  const ScalarType type = self.scalar_type();
  TORCH_CHECK(
      isFloatingType(type) || isComplexType(type),
      "norm(): the input must be floating point or complex, but got ", toString(type));
  if (dtype) {
    TORCH_CHECK(
        isFloatingType(*dtype) || isComplexType(*dtype), "norm(): the desired dtype should be floating point or complex, but got ",
        toString(*dtype));
    TORCH_CHECK(
        isComplexType(type) == isComplexType(*dtype), "norm(): the desired dtype should be ",
        isComplexType(type) ? "complex" : "floating point", " for ", isComplexType(type) ? "complex" : "real", " inputs, but got ",
        toString(*dtype));
  }
  const DimMask mask = make_dim_mask(dim, self.dim());
  const double e = exponent(p);
  if (e < 0 || e == std::numeric_limits<double>::infinity()) {
    for (int64_t d = 0; d < self.dim(); ++d) {
      TORCH_CHECK(
          !mask[d] || self.sizes()[d] != 0, "norm(): cannot compute the ", e, " norm on the dimension ", d,
          " because this dimension is empty and the operation does not have an identity");
    }
  }
  return {reduced_sizes(self, mask, keepdim), {}, toRealValueType(dtype.value_or(type)), self.device()};
}

void run_norm(const Tensor& self, const std::optional<Scalar>& p, OptionalIntArrayRef dim, const Tensor& out) {
  cpu::ReduceParams params;
  params.p = exponent(p);
  params.out_type = out.scalar_type();
  run_reduction(
      "norm", cpu::norm_kernel(self.scalar_type(), params.p), self, make_dim_mask(dim, self.dim()), out, Tensor(), params);
}

}  // namespace

TensorSpec norm_meta(const Tensor& self, const Scalar& p) { return norm_spec(self, p, std::nullopt, false, std::nullopt); }
void norm_cpu(const Tensor& self, const Scalar& p, Tensor& out) { run_norm(self, p, std::nullopt, out); }

TensorSpec norm_dtype_meta(const Tensor& self, const std::optional<Scalar>& p, ScalarType dtype) {
  return norm_spec(self, p, std::nullopt, false, dtype);
}
void norm_dtype_cpu(const Tensor& self, const std::optional<Scalar>& p, ScalarType, Tensor& out) {
  run_norm(self, p, std::nullopt, out);
}

TensorSpec norm_dim_meta(const Tensor& self, const std::optional<Scalar>& p, IntArrayRef dim, bool keepdim) {
  return norm_spec(self, p, dim, keepdim, std::nullopt);
}
void norm_dim_cpu(const Tensor& self, const std::optional<Scalar>& p, IntArrayRef dim, bool, Tensor& out) {
  run_norm(self, p, dim, out);
}

TensorSpec norm_dim_dtype_meta(const Tensor& self, const std::optional<Scalar>& p, IntArrayRef dim, bool keepdim, ScalarType dtype) {
  return norm_spec(self, p, dim, keepdim, dtype);
}
void norm_dim_dtype_cpu(const Tensor& self, const std::optional<Scalar>& p, IntArrayRef dim, bool, ScalarType, Tensor& out) {
  run_norm(self, p, dim, out);
}

Tensor frobenius_norm(const Tensor& self, IntArrayRef dim, bool keepdim) {
  TORCH_CHECK(dim.size() <= 2, "Expected at most 2 dimensions, but got ", dim.size(), " dimensions instead.");
  return at::norm(self, Scalar(2), dim, keepdim);
}

TensorSpec logsumexp_meta(const Tensor& self, IntArrayRef dim, bool keepdim) {
  const ScalarType type = self.scalar_type();
  if (isComplexType(type)) throw_not_implemented("logsumexp", type);
  return {
      reduced_sizes(self, make_dim_mask(dim, self.dim()), keepdim), {},
      isFloatingType(type) ? type : get_default_dtype_as_scalartype(), self.device()};
}
void logsumexp_cpu(const Tensor& self, IntArrayRef dim, bool, Tensor& out) {
  cpu::ReduceParams params;
  params.out_type = out.scalar_type();
  const DimMask mask = make_dim_mask(dim, self.dim());
  const Tensor x = isFloatingType(self.scalar_type()) ? self : at::_to_copy(self, TensorOptions().dtype(ScalarType::Double));
  run_reduction("logsumexp", cpu::logsumexp_kernel(x.scalar_type()), x, mask, out, Tensor(), params);
}

}  // namespace at::native
