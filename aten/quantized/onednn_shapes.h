#pragma once
// What the operators of torch.ops.onednn ask of sizes and dtypes, on any device, and their kernels on Meta tensors. For
// the files of this folder.

#include <cstdint>
#include <optional>

#include "aten/core/tensor.h"
#include "c10/core/scalar_type.h"

namespace at::quantized {

/// Throws c10::Error unless the weight is of dtype Char, 2 to 5 dimensions, and channels that divide into `groups`.
void check_integer_weight(const char* op, const Tensor& weight, int64_t groups);

/// The result's sizes, [N, channels, places...], of a convolution of bytes with a weight [channels, in / groups,
/// kernel...].
DimVector convolution_sizes(const char* op, const Tensor& qx, const Tensor& qw, IntArrayRef stride, IntArrayRef padding,
                            IntArrayRef dilation, int64_t groups);
/// Of x [..., in] with a weight [out, in]: [..., out].
DimVector linear_sizes(const char* op, const Tensor& qx, const Tensor& qw);

/// Byte where none is given. Throws c10::Error for what is no Byte, Char, Float, BFloat16 or Half.
ScalarType layer_dtype(const char* op, std::optional<ScalarType> output_dtype);

/// The tensor that channels innermost in memory, [batch, places..., channels], are seen as, and back.
Tensor channels_second(const Tensor& inner);
Tensor channels_innermost(const Tensor& t);

}  // namespace at::quantized
