// norm in its forms, frobenius_norm, logsumexp.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/reduce/kernels.h"
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
      "norm(): input dtype should be either floating point or complex. Got ", toString(type), " instead.");
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
void norm_kernel(const Tensor& self, const Scalar& p, Tensor& out) { run_norm(self, p, std::nullopt, out); }

TensorSpec norm_dtype_meta(const Tensor& self, const std::optional<Scalar>& p, ScalarType dtype) {
  return norm_spec(self, p, std::nullopt, false, dtype);
}
void norm_dtype_kernel(const Tensor& self, const std::optional<Scalar>& p, ScalarType, Tensor& out) {
  run_norm(self, p, std::nullopt, out);
}

TensorSpec norm_dim_meta(const Tensor& self, const std::optional<Scalar>& p, IntArrayRef dim, bool keepdim) {
  return norm_spec(self, p, dim, keepdim, std::nullopt);
}
void norm_dim_kernel(const Tensor& self, const std::optional<Scalar>& p, IntArrayRef dim, bool, Tensor& out) {
  run_norm(self, p, dim, out);
}

TensorSpec norm_dim_dtype_meta(const Tensor& self, const std::optional<Scalar>& p, IntArrayRef dim, bool keepdim, ScalarType dtype) {
  return norm_spec(self, p, dim, keepdim, dtype);
}
void norm_dim_dtype_kernel(const Tensor& self, const std::optional<Scalar>& p, IntArrayRef dim, bool, ScalarType, Tensor& out) {
  run_norm(self, p, dim, out);
}

Tensor frobenius_norm_all(const Tensor& self) { return at::norm(self, Scalar(2)); }
Tensor frobenius_norm(const Tensor& self, IntArrayRef dim, bool keepdim) {
  TORCH_CHECK(dim.size() <= 2, "Expected at most 2 dimensions, but got ", dim.size(), " dimensions instead.");
  return at::norm(self, Scalar(2), dim, keepdim);
}

TensorSpec logsumexp_meta(const Tensor& self, IntArrayRef dim, bool keepdim) {
  const ScalarType type = self.scalar_type();
  return {
      reduced_sizes(self, make_dim_mask(dim, self.dim()), keepdim), {},
      isFloatingType(type) || isComplexType(type) ? type : get_default_dtype_as_scalartype(), self.device()};
}
namespace {

// From the largest real part of each group of elements that are reduced together.
void complex_logsumexp(const Tensor& self, const DimMask& mask, Tensor& out) {
  using Complex = std::complex<double>;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Tensor x = at::clone(at::_to_copy(self, TensorOptions().dtype(ScalarType::ComplexDouble)), MemoryFormat::Contiguous);
  const auto* from = static_cast<const Complex*>(x.const_data_ptr());
  // Where each element of the input goes: the strides of the result, 0 along the reduced dimensions.
  DimVector strides(static_cast<size_t>(x.dim()), 0), position(static_cast<size_t>(x.dim()), 0);
  int64_t groups = 1;
  for (int64_t d = x.dim() - 1; d >= 0; --d) {
    if (mask[d]) continue;
    strides[static_cast<size_t>(d)] = groups;
    groups *= x.size(d);
  }
  std::vector<double> top(static_cast<size_t>(groups), -kInfinity);
  Tensor result = empty_contiguous(out.sizes(), ScalarType::ComplexDouble, out.device());
  auto* sum = static_cast<Complex*>(result.mutable_data_ptr());
  std::fill_n(sum, groups, Complex(0));
  const auto each = [&](const auto& f) {
    std::fill(position.begin(), position.end(), 0);
    size_t group = 0;
    for (int64_t i = 0; i < x.numel(); ++i) {
      f(from[i], group);
      for (int64_t d = x.dim() - 1; d >= 0; --d) {
        const auto at = static_cast<size_t>(d);
        group += static_cast<size_t>(strides[at]);
        if (++position[at] < x.size(d)) break;
        group -= static_cast<size_t>(strides[at] * position[at]);
        position[at] = 0;
      }
    }
  };
  each([&](Complex v, size_t g) { top[g] = std::isnan(v.real()) ? v.real() : v.real() > top[g] ? v.real() : top[g]; });
  for (double& t : top) {
    if (std::isinf(t)) t = 0;
  }
  each([&](Complex v, size_t g) { sum[g] = sum[g] + std::exp(v - Complex(top[g])); });
  for (int64_t g = 0; g < groups; ++g) sum[g] = std::log(sum[g]) + Complex(top[static_cast<size_t>(g)]);
  at::copy_(out, result);
}

}  // namespace

void logsumexp_cpu(const Tensor& self, IntArrayRef dim, bool, Tensor& out) {
  if (self.is_complex()) return complex_logsumexp(self, make_dim_mask(dim, self.dim()), out);
  cpu::ReduceParams params;
  params.out_type = out.scalar_type();
  const DimMask mask = make_dim_mask(dim, self.dim());
  const Tensor x = isFloatingType(self.scalar_type()) ? self : at::_to_copy(self, TensorOptions().dtype(ScalarType::Double));
  run_reduction("logsumexp", cpu::logsumexp_kernel(x.scalar_type()), x, mask, out, Tensor(), params);
}

}  // namespace at::native
