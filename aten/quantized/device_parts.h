#pragma once

#include <cstdint>
#include <optional>

#include "aten/core/tensor.h"
#include "aten/quantized/quantized_tensor_impl.h"

// What quantized_parts.h does by loops for CPU tensors, for CUDA tensors: put together from operators, in
// aten/cuda/quantized. Named weakly, so that programs without CUDA tensors do not link it. The numbers are those of the
// CPU's loops.
namespace at::quantized::device {

/// Integers of `dtype` that stand for float numbers, in their memory order.
[[gnu::weak]] Tensor quantize(const Tensor& numbers, ScalarType dtype, const Quantizer& quantizer);
/// The numbers that integers stand for, float.
[[gnu::weak]] Tensor dequantize(const Tensor& integers, const Quantizer& quantizer);

/// Integers within [least, most].
[[gnu::weak]] Tensor clamp(const Tensor& integers, int64_t least, int64_t most);

/// Bytes in which `each` integers of `bits` bits share one, and those integers from the first on, as a tensor.
[[gnu::weak]] Tensor pack(const Tensor& integers, int64_t each, int bits);
[[gnu::weak]] Tensor unpack(const Tensor& bytes, int64_t first, IntArrayRef sizes, int64_t each, int bits);

/// The rounded means of the innermost `count` integers.
[[gnu::weak]] Tensor means_of_rows(const Tensor& integers, int64_t count, IntArrayRef sizes);

/// Bilinear interpolation of the distances of integers from the zero point, rounded.
[[gnu::weak]] Tensor upsample_bilinear2d(const Tensor& integers, IntArrayRef output_size, bool align_corners,
                                         std::optional<double> scales_h, std::optional<double> scales_w,
                                         int64_t zero_point);

}  // namespace at::quantized::device
