#pragma once
// What the normalisations by channel check of their arguments.

#include <initializer_list>
#include <optional>

#include "aten/core/tensor.h"
#include "aten/ops/shared/arguments.h"

namespace at::native {

inline void check_channels(const char* op, const char* name, const std::optional<Tensor>& t, int64_t channels) {
  TORCH_CHECK(!given(t) || t->numel() == channels, op, ": ", name, " should contain ", channels, " elements not ", t->numel());
}

// The dtype of the mean and deviation that native_*_norm return: that of 16-bit input, unless one of its parameters is
// float32.
inline ScalarType public_statistics_dtype(const Tensor& input,
                                          std::initializer_list<std::optional<Tensor>> parameters) {
  const ScalarType type = input.scalar_type();
  if (type != kHalf && type != kBFloat16) return type;
  for (const std::optional<Tensor>& t : parameters) {
    if (given(t) && t->scalar_type() == kFloat) return kFloat;
  }
  return type;
}

// An input [N, C, ...] of a floating dtype, whose weight and bias have C elements on its device.
inline void check_normalized_by_channel(
    const char* op, const Tensor& input, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias) {
  TORCH_CHECK(input.dim() >= 2, op, ": expected input of at least 2 dimensions, but got sizes ", input.sizes());
  TORCH_CHECK_NOT_IMPLEMENTED(isFloatingType(input.scalar_type()), "\"", op, "\" not implemented for '", input.scalar_type(), "'");
  check_channels(op, "weight", weight, input.size(1));
  check_channels(op, "bias", bias, input.size(1));
  for (const std::optional<Tensor>* t : {&weight, &bias}) {
    TORCH_CHECK(!given(*t) || (*t)->device() == input.device(), op, ": expected weight and bias on device ", input.device(), ", got ",
                given(*t) ? (*t)->device() : input.device());
  }
}

}  // namespace at::native
