// var, std, var_mean, std_mean. The forms with `unbiased` are those with correction 0 or 1.
#include <array>

#include "aten/core/tensor.h"
#include "aten/ops/reduce/kernels.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/reduce/reduction.h"

namespace at::native {
namespace {

TensorSpec variance_spec(const char* op, const Tensor& self, OptionalIntArrayRef dim, bool keepdim) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      isFloatingType(self.scalar_type()) || isComplexType(self.scalar_type()),
      op, " only support floating point and complex dtypes");
  return {
      reduced_sizes(self, make_dim_mask(dim, self.dim()), keepdim), {}, toRealValueType(self.scalar_type()), self.device()};
}

std::array<TensorSpec, 2> variance_mean_spec(const char* op, const Tensor& self, OptionalIntArrayRef dim, bool keepdim) {
  TensorSpec variance = variance_spec(op, self, dim, keepdim);
  TensorSpec mean = variance;
  mean.dtype = self.scalar_type();
  return {std::move(variance), std::move(mean)};
}

void moments(const char* op, const Tensor& self, OptionalIntArrayRef dim, const std::optional<Scalar>& correction, bool root,
             const Tensor& variance, const Tensor& mean) {
  cpu::ReduceParams params;
  params.correction = correction ? correction->toDouble() : 1;
  params.root = root;
  if (variance.numel() != 0 && static_cast<double>(self.numel() / variance.numel()) - params.correction <= 0) {
    TORCH_WARN(op, "(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input numel "
               "divided by output numel).");
  }
  run_reduction(op, cpu::moments_kernel(self.scalar_type()), self, make_dim_mask(dim, self.dim()), variance, mean, params);
}

Scalar correction_of(bool unbiased) { return Scalar(static_cast<int64_t>(unbiased)); }

}  // namespace

TensorSpec var_meta(const Tensor& self, OptionalIntArrayRef dim, const std::optional<Scalar>&, bool keepdim) {
  return variance_spec("std and var", self, dim, keepdim);
}
void var_kernel(const Tensor& self, OptionalIntArrayRef dim, const std::optional<Scalar>& correction, bool,
                Tensor& out) {
  moments("var", self, dim, correction, false, out, Tensor());
}
TensorSpec std_meta(const Tensor& self, OptionalIntArrayRef dim, const std::optional<Scalar>&, bool keepdim) {
  return variance_spec("std and var", self, dim, keepdim);
}
void std_kernel(const Tensor& self, OptionalIntArrayRef dim, const std::optional<Scalar>& correction, bool,
                Tensor& out) {
  moments("std", self, dim, correction, true, out, Tensor());
}
std::array<TensorSpec, 2> var_mean_meta(const Tensor& self, OptionalIntArrayRef dim, const std::optional<Scalar>&, bool keepdim) {
  return variance_mean_spec("var_mean", self, dim, keepdim);
}
void var_mean_kernel(const Tensor& self, OptionalIntArrayRef dim, const std::optional<Scalar>& correction, bool,
                     Tensor& var, Tensor& mean) {
  moments("var_mean", self, dim, correction, false, var, mean);
}
std::array<TensorSpec, 2> std_mean_meta(const Tensor& self, OptionalIntArrayRef dim, const std::optional<Scalar>&, bool keepdim) {
  return variance_mean_spec("std_mean", self, dim, keepdim);
}
void std_mean_kernel(const Tensor& self, OptionalIntArrayRef dim, const std::optional<Scalar>& correction, bool,
                     Tensor& std, Tensor& mean) {
  moments("std_mean", self, dim, correction, true, std, mean);
}

Tensor var_unbiased(const Tensor& self, bool unbiased) {
  return at::var(self, OptionalIntArrayRef(), correction_of(unbiased), false);
}
Tensor var_dim_unbiased(const Tensor& self, OptionalIntArrayRef dim, bool unbiased, bool keepdim) {
  return at::var(self, dim, correction_of(unbiased), keepdim);
}
Tensor std_unbiased(const Tensor& self, bool unbiased) {
  return at::std(self, OptionalIntArrayRef(), correction_of(unbiased), false);
}
Tensor std_dim_unbiased(const Tensor& self, OptionalIntArrayRef dim, bool unbiased, bool keepdim) {
  return at::std(self, dim, correction_of(unbiased), keepdim);
}
std::tuple<Tensor, Tensor> var_mean_unbiased(const Tensor& self, bool unbiased) {
  return at::var_mean(self, OptionalIntArrayRef(), correction_of(unbiased), false);
}
std::tuple<Tensor, Tensor> var_mean_dim_unbiased(const Tensor& self, OptionalIntArrayRef dim, bool unbiased, bool keepdim) {
  return at::var_mean(self, dim, correction_of(unbiased), keepdim);
}
std::tuple<Tensor, Tensor> std_mean_unbiased(const Tensor& self, bool unbiased) {
  return at::std_mean(self, OptionalIntArrayRef(), correction_of(unbiased), false);
}
std::tuple<Tensor, Tensor> std_mean_dim_unbiased(const Tensor& self, OptionalIntArrayRef dim, bool unbiased, bool keepdim) {
  return at::std_mean(self, dim, correction_of(unbiased), keepdim);
}

}  // namespace at::native
