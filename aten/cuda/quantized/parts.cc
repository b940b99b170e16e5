// What kernels of quantized tensors do with elements, of CUDA tensors. Every step is one operator, so that each is
// rounded as the CPU's loops round it.
#include "aten/core/empty.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/padding/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/upsample/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/quantized/device_parts.h"
#include "aten/quantized/quantized_parts.h"

namespace at::quantized::device {
namespace {

// Scales or zero points in the shape in which they go with the tensor.
Tensor along_axis(const Tensor& parameters, ScalarType dtype, const Tensor& t, int64_t axis) {
  DimVector shape(static_cast<size_t>(t.dim()), 1);
  shape[static_cast<size_t>(axis)] = parameters.numel();
  return at::reshape(at::to(parameters, TensorOptions().device(t.device()).dtype(dtype)), shape);
}

// Whole numbers as integers within the limits; NaN gives the least.
Tensor saturated(const Tensor& whole, ScalarType dtype) {
  const Range range = range_of_integers(dtype);
  const auto least = static_cast<double>(range.least), most = static_cast<double>(range.most);
  // A float does not hold the limits of 32 bits.
  const Tensor wide = dtype == ScalarType::Int ? at::to(whole, ScalarType::Double) : whole;
  return at::to(at::clamp(at::nan_to_num(wide, least, most, least), Scalar(least), Scalar(most)), dtype);
}

}  // namespace

Tensor quantize(const Tensor& numbers, ScalarType dtype, const Quantizer& quantizer) {
  if (quantizer.per_tensor()) {
    const float inverse = 1.0f / static_cast<float>(quantizer.scale), zero = static_cast<float>(quantizer.zero_point);
    return saturated(at::add(at::round(at::mul(numbers, Scalar(inverse))), Scalar(zero)), dtype);
  }
  const Tensor scales = along_axis(quantizer.scales, ScalarType::Float, numbers, quantizer.axis);
  const Tensor zeros = along_axis(quantizer.zero_points, ScalarType::Float, numbers, quantizer.axis);
  const Tensor scaled = at::mul(numbers, at::reciprocal(scales));
  const bool whole = quantizer.scheme != kPerChannelAffineFloatQParams;
  return saturated(whole ? at::add(at::round(scaled), zeros) : at::round(at::add(scaled, zeros)), dtype);
}

Tensor dequantize(const Tensor& integers, const Quantizer& quantizer) {
  // The difference is exact where zero points are whole numbers.
  const bool exact = quantizer.scheme != kPerChannelAffineFloatQParams;
  const ScalarType wide = exact ? ScalarType::Double : ScalarType::Float;
  const Tensor q = at::to(integers, wide);
  if (quantizer.per_tensor()) {
    const Tensor distance = at::to(at::sub(q, Scalar(quantizer.zero_point)), ScalarType::Float);
    return at::mul(distance, Scalar(static_cast<float>(quantizer.scale)));
  }
  const Tensor zeros = along_axis(quantizer.zero_points, wide, integers, quantizer.axis);
  return at::mul(at::to(at::sub(q, zeros), ScalarType::Float),
                 along_axis(quantizer.scales, ScalarType::Float, integers, quantizer.axis));
}

Tensor clamp(const Tensor& integers, int64_t least, int64_t most) {
  return at::clamp(integers, Scalar(least), Scalar(most));
}

Tensor pack(const Tensor& integers, int64_t each, int bits) {
  const int64_t numel = integers.numel(), bytes = (numel + each - 1) / each;
  const Tensor all = at::constant_pad_nd(at::reshape(integers, {numel}), {0, bytes * each - numel}, 0);
  const Tensor groups = at::reshape(at::to(all, ScalarType::Int), {bytes, each});
  Tensor together = at::select(groups, 1, 0);
  for (int64_t i = 1; i < each; ++i) {
    together = at::add(together, at::select(groups, 1, i), Scalar(int64_t{1} << (i * bits)));
  }
  return at::to(together, ScalarType::Byte);
}

Tensor unpack(const Tensor& bytes, int64_t first, IntArrayRef sizes, int64_t each, int bits) {
  const Tensor shifts = at::mul(at::arange(each, TensorOptions(bytes.device()).dtype(ScalarType::Byte)), Scalar(bits));
  const Tensor all = at::bitwise_right_shift(at::unsqueeze(bytes, 1), shifts);
  const Tensor low = at::bitwise_and(all, Scalar((int64_t{1} << bits) - 1));
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return at::clone(at::reshape(at::narrow(at::reshape(low, {bytes.numel() * each}), 0, first, count), sizes));
}

Tensor means_of_rows(const Tensor& integers, int64_t count, IntArrayRef sizes) {
  const Tensor rows = at::to(at::reshape(integers, {integers.numel() / count, count}), ScalarType::Long);
  const Tensor sums = at::to(at::sum(rows, IntArrayRef{1}), ScalarType::Double);
  const Tensor means = at::to(at::div(sums, Scalar(static_cast<double>(count))), ScalarType::Float);
  return at::reshape(at::to(at::round(means), integers.scalar_type()), sizes);
}

Tensor upsample_bilinear2d(const Tensor& integers, IntArrayRef output_size, bool align_corners,
                           std::optional<double> scales_h, std::optional<double> scales_w, int64_t zero_point) {
  const Tensor numbers = at::to(integers, ScalarType::Float);
  const Tensor between = at::upsample_bilinear2d(numbers, output_size, align_corners, scales_h, scales_w);
  const auto zero = static_cast<float>(zero_point);
  return saturated(at::add(at::round(at::sub(between, Scalar(zero))), Scalar(zero)), integers.scalar_type());
}

}  // namespace at::quantized::device
