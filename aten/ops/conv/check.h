#pragma once
// What convolutions of every device have in common: their arguments, checked, and the layout of their results.

#include <optional>

#include "aten/core/tensor.h"
#include "aten/cpu/matrix/convolution.h"
#include "aten/ops/dense/dense.h"

namespace at::native {

/// The engine's view of convolution(input, weight): for a transposed one, "input" and "output" of the engine are
/// exchanged.
struct CheckedConvolution {
  matrix::Convolution engine;
  DimVector result;  // sizes
};

/// Throws what convolution throws for arguments that do not fit together; `bias` may be null.
CheckedConvolution check_convolution(const Tensor& input, const Tensor& weight, const Tensor* bias, IntArrayRef stride,
                                     IntArrayRef padding, IntArrayRef dilation, bool transposed,
                                     IntArrayRef output_padding, int64_t groups);

/// The same for convolution_backward.
CheckedConvolution check_convolution_backward(const Tensor& grad_output, const Tensor& input, const Tensor& weight,
                                              IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                                              bool transposed, IntArrayRef output_padding, int64_t groups);

/// The memory format of the result and of the gradients: channels last where the input's or the weight's is. PyTorch
/// excepts volumes of double.
MemoryFormat result_format(const Tensor& input, const Tensor& weight);

/// The tensor, or null.
inline const Tensor* defined(const std::optional<Tensor>& t) {
  return t.has_value() && t->defined() ? &*t : nullptr;
}

/// An uninitialised tensor for the gradient of `t`.
inline Tensor gradient_like(const Tensor& t, const Tensor& input, MemoryFormat format) {
  return empty_dense(t.sizes(), input.scalar_type(), input.device(), format);
}

}  // namespace at::native
