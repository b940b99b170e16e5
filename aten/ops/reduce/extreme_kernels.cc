// max, min, amax, amin, aminmax, argmax, argmin.
#include <array>

#include "aten/core/tensor.h"
#include "aten/ops/reduce/kernels.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/reduce/reduction.h"

namespace at::native {
namespace {

void check_ordered(const char* op, const Tensor& self) {
  if (isComplexType(self.scalar_type())) throw_not_implemented(op, self.scalar_type());
}

void check_some_elements(const char* op, const Tensor& self) {
  TORCH_CHECK(self.numel() > 0, op, "(): Expected reduction dim to be specified for input.numel() == 0. ",
              "Specify the reduction dim with the 'dim' argument.");
}

TensorSpec total_spec(const char* op, const Tensor& self) {
  check_ordered(op, self);
  check_some_elements(op, self);
  return {{}, {}, self.scalar_type(), self.device()};
}

std::array<TensorSpec, 2> with_indices_spec(const char* op, const Tensor& self, int64_t dim, bool keepdim) {
  check_ordered(op, self);
  const DimMask mask = make_dim_mask(IntArrayRef(dim), self.dim());
  check_nonempty_dims(op, self, mask);
  const DimVector sizes = reduced_sizes(self, mask, keepdim);
  return {{{sizes, {}, self.scalar_type(), self.device()}, {sizes, {}, ScalarType::Long, self.device()}}};
}

TensorSpec extreme_spec(const char* op, const Tensor& self, IntArrayRef dim, bool keepdim) {
  check_ordered(op, self);
  const DimMask mask = make_dim_mask(dim, self.dim());
  if (dim.empty()) {
    check_some_elements(op, self);
  } else {
    check_nonempty_dims(op, self, mask);
  }
  return {reduced_sizes(self, mask, keepdim), {}, self.scalar_type(), self.device()};
}

TensorSpec arg_spec(const char* op, const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  TORCH_CHECK_TYPE(!self.is_complex(), op, "(): does not support complex input");
  if (self.scalar_type() == ScalarType::Bool) throw_not_implemented(op, self.scalar_type());
  const DimMask mask = make_dim_mask(dim ? OptionalIntArrayRef(*dim) : OptionalIntArrayRef(), self.dim());
  if (dim) {
    check_nonempty_dims(op, self, mask);
  } else {
    TORCH_CHECK_INDEX(self.numel() > 0, op, "(): Expected reduction dim to be specified for input.numel() == 0.");
  }
  return {reduced_sizes(self, mask, keepdim), {}, ScalarType::Long, self.device()};
}

}  // namespace

TensorSpec max_meta(const Tensor& self) { return total_spec("max", self); }
void max_kernel(const Tensor& self, Tensor& out) {
  run_reduction("max", cpu::max_kernel(self.scalar_type()), self, make_dim_mask(std::nullopt, self.dim()), out, Tensor(), {});
}
TensorSpec min_meta(const Tensor& self) { return total_spec("min", self); }
void min_kernel(const Tensor& self, Tensor& out) {
  run_reduction("min", cpu::min_kernel(self.scalar_type()), self, make_dim_mask(std::nullopt, self.dim()), out, Tensor(), {});
}

std::array<TensorSpec, 2> max_dim_meta(const Tensor& self, int64_t dim, bool keepdim) {
  return with_indices_spec("max", self, dim, keepdim);
}
void max_dim_kernel(const Tensor& self, int64_t dim, bool, Tensor& values, Tensor& indices) {
  run_reduction(
      "max", cpu::argmax_kernel(self.scalar_type()), self, make_dim_mask(IntArrayRef(dim), self.dim()), values, indices, {});
}
std::array<TensorSpec, 2> min_dim_meta(const Tensor& self, int64_t dim, bool keepdim) {
  return with_indices_spec("min", self, dim, keepdim);
}
void min_dim_kernel(const Tensor& self, int64_t dim, bool, Tensor& values, Tensor& indices) {
  run_reduction(
      "min", cpu::argmin_kernel(self.scalar_type()), self, make_dim_mask(IntArrayRef(dim), self.dim()), values, indices, {});
}

TensorSpec amax_meta(const Tensor& self, IntArrayRef dim, bool keepdim) { return extreme_spec("amax", self, dim, keepdim); }
void amax_kernel(const Tensor& self, IntArrayRef dim, bool, Tensor& out) {
  run_reduction("amax", cpu::max_kernel(self.scalar_type()), self, make_dim_mask(dim, self.dim()), out, Tensor(), {});
}
TensorSpec amin_meta(const Tensor& self, IntArrayRef dim, bool keepdim) { return extreme_spec("amin", self, dim, keepdim); }
void amin_kernel(const Tensor& self, IntArrayRef dim, bool, Tensor& out) {
  run_reduction("amin", cpu::min_kernel(self.scalar_type()), self, make_dim_mask(dim, self.dim()), out, Tensor(), {});
}

std::array<TensorSpec, 2> aminmax_meta(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  check_ordered("aminmax", self);
  const DimMask mask = make_dim_mask(dim ? OptionalIntArrayRef(*dim) : OptionalIntArrayRef(), self.dim());
  if (dim) {
    check_nonempty_dims("aminmax", self, mask);
  } else {
    TORCH_CHECK(self.numel() > 0, "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity.");
  }
  const TensorSpec spec{reduced_sizes(self, mask, keepdim), {}, self.scalar_type(), self.device()};
  return {spec, spec};
}
void aminmax_kernel(const Tensor& self, std::optional<int64_t> dim, bool, Tensor& min, Tensor& max) {
  const DimMask mask = make_dim_mask(dim ? OptionalIntArrayRef(*dim) : OptionalIntArrayRef(), self.dim());
  // One pass where elements that are reduced together are neighbours.
  if (self.is_contiguous() && (!dim || self.dim() <= 1 || maybe_wrap_dim(*dim, self.dim()) == self.dim() - 1)) {
    run_reduction("aminmax", cpu::minmax_kernel(self.scalar_type()), self, mask, min, max, {});
    return;
  }
  run_reduction("aminmax", cpu::min_kernel(self.scalar_type()), self, mask, min, Tensor(), {});
  run_reduction("aminmax", cpu::max_kernel(self.scalar_type()), self, mask, max, Tensor(), {});
}

TensorSpec argmax_meta(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  return arg_spec("argmax", self, dim, keepdim);
}
void argmax_kernel(const Tensor& self, std::optional<int64_t> dim, bool, Tensor& out) {
  const DimMask mask = make_dim_mask(dim ? OptionalIntArrayRef(*dim) : OptionalIntArrayRef(), self.dim());
  run_reduction("argmax", cpu::argmax_kernel(self.scalar_type()), self, mask, Tensor(), out, {});
}
TensorSpec argmin_meta(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  return arg_spec("argmin", self, dim, keepdim);
}
void argmin_kernel(const Tensor& self, std::optional<int64_t> dim, bool, Tensor& out) {
  const DimMask mask = make_dim_mask(dim ? OptionalIntArrayRef(*dim) : OptionalIntArrayRef(), self.dim());
  run_reduction("argmin", cpu::argmin_kernel(self.scalar_type()), self, mask, Tensor(), out, {});
}

std::tuple<Tensor, Tensor> aminmax_of_all(const Tensor& self) {
  return at::aminmax(self);
}
std::tuple<Tensor, Tensor> aminmax_of_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return at::aminmax(self, dim, keepdim);
}

}  // namespace at::native
