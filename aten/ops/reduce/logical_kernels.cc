// all, any, count_nonzero.
#include "aten/core/tensor.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/reduce/kernels.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/reduce/reduction.h"

namespace at::native {
namespace {

TensorSpec logical_spec(const Tensor& self, const DimMask& mask, bool keepdim) {
  const ScalarType type = self.scalar_type() == ScalarType::Byte ? ScalarType::Byte : ScalarType::Bool;
  return {reduced_sizes(self, mask, keepdim), {}, type, self.device()};
}

DimMask all_dims(const Tensor& self) { return make_dim_mask(std::nullopt, self.dim()); }
DimMask one_dim(const Tensor& self, int64_t dim) { return make_dim_mask(IntArrayRef(dim), self.dim()); }
DimMask optional_dim(const Tensor& self, std::optional<int64_t> dim) { return dim ? one_dim(self, *dim) : all_dims(self); }

// A type without a kernel is converted to bool.
void run_logical(const char* op, const cpu::ReduceKernel* (*find)(ScalarType), const Tensor& self, const DimMask& mask,
                 const Tensor& out) {
  const Tensor x =
      find(self.scalar_type()) != nullptr ? self : at::_to_copy(self, TensorOptions().dtype(ScalarType::Bool));
  run_reduction(op, find(x.scalar_type()), x, mask, out, Tensor(), {});
}
void run_all(const Tensor& self, const DimMask& mask, const Tensor& out) {
  run_logical("all", cpu::all_kernel, self, mask, out);
}
void run_any(const Tensor& self, const DimMask& mask, const Tensor& out) {
  run_logical("any", cpu::any_kernel, self, mask, out);
}

}  // namespace

TensorSpec all_meta(const Tensor& self) { return logical_spec(self, all_dims(self), false); }
void all_kernel(const Tensor& self, Tensor& out) { run_all(self, all_dims(self), out); }
TensorSpec all_dim_meta(const Tensor& self, int64_t dim, bool keepdim) { return logical_spec(self, one_dim(self, dim), keepdim); }
void all_dim_kernel(const Tensor& self, int64_t dim, bool, Tensor& out) { run_all(self, one_dim(self, dim), out); }
// An empty list of dims reduces nothing here.
TensorSpec all_dims_meta(const Tensor& self, OptionalIntArrayRef dim, bool keepdim) {
  return logical_spec(self, make_dim_mask(dim, self.dim(), /*empty_is_none=*/true), keepdim);
}
void all_dims_kernel(const Tensor& self, OptionalIntArrayRef dim, bool, Tensor& out) {
  run_all(self, make_dim_mask(dim, self.dim(), /*empty_is_none=*/true), out);
}

TensorSpec any_meta(const Tensor& self) { return logical_spec(self, all_dims(self), false); }
void any_kernel(const Tensor& self, Tensor& out) { run_any(self, all_dims(self), out); }
TensorSpec any_dim_meta(const Tensor& self, int64_t dim, bool keepdim) { return logical_spec(self, one_dim(self, dim), keepdim); }
void any_dim_kernel(const Tensor& self, int64_t dim, bool, Tensor& out) { run_any(self, one_dim(self, dim), out); }
TensorSpec any_dims_meta(const Tensor& self, OptionalIntArrayRef dim, bool keepdim) {
  return logical_spec(self, make_dim_mask(dim, self.dim(), /*empty_is_none=*/true), keepdim);
}
void any_dims_kernel(const Tensor& self, OptionalIntArrayRef dim, bool, Tensor& out) {
  run_any(self, make_dim_mask(dim, self.dim(), /*empty_is_none=*/true), out);
}

TensorSpec count_nonzero_meta(const Tensor& self, std::optional<int64_t> dim) {
  return {reduced_sizes(self, optional_dim(self, dim), false), {}, ScalarType::Long, self.device()};
}
void count_nonzero_kernel(const Tensor& self, std::optional<int64_t> dim, Tensor& out) {
  run_reduction(
      "count_nonzero", cpu::count_nonzero_kernel(self.scalar_type()), self, optional_dim(self, dim), out, Tensor(), {});
}
TensorSpec count_nonzero_dims_meta(const Tensor& self, IntArrayRef dim) {
  return {reduced_sizes(self, make_dim_mask(dim, self.dim()), false), {}, ScalarType::Long, self.device()};
}
void count_nonzero_dims_kernel(const Tensor& self, IntArrayRef dim, Tensor& out) {
  run_reduction(
      "count_nonzero", cpu::count_nonzero_kernel(self.scalar_type()), self, make_dim_mask(dim, self.dim()), out, Tensor(), {});
}

Tensor is_all_true(const Tensor& self) {
  TORCH_CHECK(self.scalar_type() == ScalarType::Bool, "_is_all_true: expected a bool tensor, but got ",
              self.scalar_type());
  return at::all(self);
}
Tensor is_any_true(const Tensor& self) {
  TORCH_CHECK(self.scalar_type() == ScalarType::Bool, "_is_any_true: expected a bool tensor, but got ",
              self.scalar_type());
  return at::any(self);
}

}  // namespace at::native
