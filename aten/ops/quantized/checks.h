#pragma once
// What operators of the family ask of their arguments on all devices.

#include <algorithm>
#include <initializer_list>

#include "aten/core/tensor.h"
#include "c10/util/exception.h"

namespace at::native {

inline void check_floating(const char* op, const Tensor& self) {
  TORCH_CHECK_NOT_IMPLEMENTED(self.is_floating_point() && self.itemsize() >= 2, "\"", op, "\" not implemented for '",
                              self.scalar_type(), "'");
}
// One scale or zero point for all elements.
inline void check_single(const char* op, const char* name, const Tensor& t) {
  TORCH_CHECK(t.numel() == 1, op, ": expected ", name, " with 1 element, but got ", t.numel());
}

inline void check_learnable(const char* op, const Tensor& self, const Tensor& scale, const Tensor& zero_point,
                            int64_t quant_min, int64_t quant_max) {
  check_floating(op, self);
  TORCH_CHECK(scale.is_floating_point() && zero_point.is_floating_point(), op,
              ": expected floating-point scale and zero_point, but got ", scale.scalar_type(), " and ",
              zero_point.scalar_type());
  TORCH_CHECK(quant_min <= quant_max && quant_min <= 0 && quant_max >= 0,
              "`quant_min` should be less than or equal to `quant_max`, and the quantization range should include 0.");
}

inline void check_channels(const Tensor& self, const Tensor& scale, const Tensor& zero_point, int64_t axis) {
  TORCH_CHECK(scale.dim() == 1, "scale should be a 1-D tensor");
  TORCH_CHECK(zero_point.dim() == 1, "zero point should be a 1-D tensor");
  TORCH_CHECK(scale.numel() == zero_point.numel(), "scale and zero-point need to have the same dimensions");
  TORCH_CHECK(axis >= 0 && axis < self.dim(), "`axis` must be between 0 and number of dimensions of input");
  TORCH_CHECK(scale.numel() == self.size(axis),
              "dimensions of scale and zero-point are not consistent with input tensor");
}

inline void check_observed(const char* op, const Tensor& self, std::initializer_list<const Tensor*> written,
                           int64_t quant_min, int64_t quant_max, int64_t ch_axis, bool per_row_fake_quant) {
  TORCH_CHECK(std::all_of(written.begin(), written.end(), [](const Tensor* t) { return t->defined(); }), op,
              ": running_min, running_max, scale and zero_point are written to, but one is undefined");
  TORCH_CHECK(self.scalar_type() == kFloat, op, ": expected self of dtype Float, but got ", self.scalar_type());
  TORCH_CHECK(quant_min <= quant_max, "`quant_min` should be less than or \n        equal to `quant_max`.");
  TORCH_CHECK(!per_row_fake_quant || (ch_axis >= 0 && ch_axis < self.dim()),
              "Error in fused_moving_avg_obs_fake_quant_cpu: ch_axis must be < self.dim()");
}

}  // namespace at::native
