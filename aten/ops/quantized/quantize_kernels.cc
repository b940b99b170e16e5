// Quantized tensors from dense ones.
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/quantized/kernels.h"
#include "aten/ops/quantized/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/quantized/quantized_parts.h"

namespace at::native {
namespace {

void check_zero_point(const char* op, int64_t zero_point, ScalarType dtype) {
  const quantized::Range range = quantized::range_of(op, dtype);
  TORCH_CHECK(zero_point >= range.least, op, " zero_point ", zero_point, " is below lower bound.");
  TORCH_CHECK(zero_point <= range.most, op, " zero_point ", zero_point, " is above upper bound.");
}

Tensor quantized_by(const char* op, const Tensor& self, ScalarType dtype, QuantizerPtr quantizer) {
  TORCH_CHECK(self.scalar_type() == kFloat, "Quantize only works on Float Tensor, got ", self.scalar_type());
  TORCH_CHECK(self.layout() == Layout::Strided, op, ": expected a dense tensor, but got a ", self.toString());
  return quantized::quantize(op, self, dtype, std::move(quantizer));
}

// Of the dtype and format that a factory of quantized tensors is asked for.
Tensor empty_quantized(const char* op, IntArrayRef size, const TensorOptions& options,
                       std::optional<MemoryFormat> memory_format, QuantizerPtr quantizer) {
  TORCH_CHECK(!(options.has_memory_format() && memory_format.has_value()),
              "Cannot set memory_format both in TensorOptions and explicit argument; please delete the redundant "
              "setter.");
  TORCH_CHECK(options.has_dtype(), "Must provide data type for Tensor creation functions.");
  const Device device = options.has_device() ? options.device() : Device(kCPU);
  TORCH_CHECK_NOT_IMPLEMENTED(options.layout() == Layout::Strided && !options.pinned_memory(), op,
                              ": quantized tensors are strided ones, not in pinned memory");
  const MemoryFormat format = memory_format.value_or(options.memory_format_opt().value_or(MemoryFormat::Contiguous));
  TORCH_CHECK(format != MemoryFormat::Preserve, "Preserve memory format is not supported in ", op);
  checked_numel(size);
  if (quantized::elements_per_byte(options.scalar_type()) != 1) {
    TORCH_CHECK(format == MemoryFormat::Contiguous, op, ": a tensor of dtype ", options.scalar_type(),
                " must be contiguous");
    return quantized::empty_packed(size, options.scalar_type(), quantized::on_device(quantizer, device), device);
  }
  const ScalarType dtype = quantized::integers_of(op, options.scalar_type());
  return quantized::make_quantized(empty_with_strides(size, strides_of_format(size, format), dtype, device),
                                   quantized::on_device(quantizer, device));
}

// Parameters to look at, which waits for a device.
Tensor on_host(const Tensor& parameters, ScalarType dtype) {
  return dense(parameters.is_cpu() ? parameters : at::to(parameters, Device(kCPU)), dtype);
}

// Throws unless scales and zero points go with a dimension of `sizes`.
QuantizerPtr channels(const char* op, IntArrayRef sizes, const Tensor& scales, const Tensor& zero_points,
                      int64_t axis, std::optional<Device> device = std::nullopt) {
  QuantizerPtr quantizer = quantized::per_channel(op, scales, zero_points, axis, device);
  TORCH_CHECK(axis >= 0 && axis < static_cast<int64_t>(sizes.size()),
              "Channel axis out of range in per channel affine quantization. Got: ", axis, "Expected: [0, ",
              sizes.size(), ")");
  TORCH_CHECK(sizes[static_cast<size_t>(axis)] == scales.numel(), "length of scales must equal to channel, expected ",
              sizes[static_cast<size_t>(axis)], " got, ", scales.numel());
  return quantizer;
}

}  // namespace

Tensor quantize_per_tensor(const Tensor& self, double scale, int64_t zero_point, ScalarType dtype) {
  check_zero_point("quantize_tensor_per_tensor_affine", zero_point, dtype);
  return quantized_by("quantize_per_tensor", self, dtype, quantized::per_tensor(scale, zero_point));
}
Tensor quantize_per_tensor_tensor_qparams(const Tensor& self, const Tensor& scale, const Tensor& zero_point,
                                          ScalarType dtype) {
  return native::quantize_per_tensor(self, at::item(scale).toDouble(), at::item(zero_point).toLong(), dtype);
}
std::vector<Tensor> quantize_per_tensor_tensors(TensorList tensors, const Tensor& scales, const Tensor& zero_points,
                                                ScalarType dtype) {
  TORCH_CHECK(scales.numel() == static_cast<int64_t>(tensors.size()) && zero_points.numel() == scales.numel(),
              "quantize_per_tensor: expected a scale and a zero point for each of ", tensors.size(),
              " tensors, but got ", scales.numel(), " and ", zero_points.numel());
  const Tensor s = on_host(scales, kDouble), z = on_host(zero_points, kLong);
  std::vector<Tensor> results;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const double scale = s.data_ptr<double>()[i];
    results.push_back(native::quantize_per_tensor(tensors[i], scale, z.data_ptr<int64_t>()[i], dtype));
  }
  return results;
}

Tensor quantize_per_tensor_dynamic(const Tensor& self, ScalarType dtype, bool reduce_range) {
  TORCH_CHECK(dtype == kQInt8 || dtype == kQUInt8 || dtype == kHalf, "dtype ", dtype,
              " not supported in quantize_per_tensor_dynamic");
  if (dtype == kHalf) return at::to(self, kHalf);
  TORCH_CHECK(self.scalar_type() == kFloat, "Quantize only works on Float Tensor, got ", self.scalar_type());
  const int64_t half = reduce_range ? 64 : 128;
  const quantized::Range range =
      dtype == kQInt8 ? quantized::Range{-half, half - 1} : quantized::Range{0, 2 * half - 1};
  const auto [least, most] = quantized::extremes(self);
  const auto chosen = quantized::choose_parameters(least, most, range);
  return quantized_by("quantize_per_tensor_dynamic", self, dtype,
                      quantized::per_tensor(chosen.scale, chosen.zero_point));
}

Tensor quantize_per_channel(const Tensor& self, const Tensor& scales, const Tensor& zero_points, int64_t axis,
                            ScalarType dtype) {
  QuantizerPtr quantizer = channels("quantize_per_channel", self.sizes(), scales, zero_points, axis, self.device());
  if (quantizer->scheme == kPerChannelAffine) {
    const Tensor zeros = on_host(zero_points, kLong);
    for (int64_t i = 0; i < zeros.numel(); ++i) {
      check_zero_point("quantize_tensor_per_channel_affine", zeros.data_ptr<int64_t>()[i], dtype);
    }
  }
  return quantized_by("quantize_per_channel", self, dtype, std::move(quantizer));
}

Tensor dequantize_dense(const Tensor& self) {
  return at::to(self, kFloat);
}
std::vector<Tensor> dequantize_tensors(TensorList tensors) {
  std::vector<Tensor> results;
  for (const Tensor& t : tensors) results.push_back(at::dequantize(t));
  return results;
}

// --- factories ---
Tensor _empty_affine_quantized(IntArrayRef size, TensorOptions options, double scale, int64_t zero_point,
                               std::optional<MemoryFormat> memory_format) {
  return empty_quantized("_empty_affine_quantized", size, options, memory_format,
                         quantized::per_tensor(scale, zero_point));
}
Tensor _empty_per_channel_affine_quantized(IntArrayRef size, const Tensor& scales, const Tensor& zero_points,
                                           int64_t axis, TensorOptions options,
                                           std::optional<MemoryFormat> memory_format) {
  const char* const op = "_empty_per_channel_affine_quantized";
  QuantizerPtr quantizer = channels(op, size, scales, zero_points, axis);
  return empty_quantized(op, size, options, memory_format, std::move(quantizer));
}
Tensor _make_per_tensor_quantized_tensor(const Tensor& self, double scale, int64_t zero_point) {
  quantized::quantized_of("_make_per_tensor_quantized_tensor", self.scalar_type());
  return fresh(quantized::make_quantized(at::clone(self), quantized::per_tensor(scale, zero_point)));
}
Tensor _make_per_channel_quantized_tensor(const Tensor& self, const Tensor& scale, const Tensor& zero_point,
                                          int64_t axis) {
  // As of view, which gives such tensors, channels need not be those of a dimension.
  const char* const op = "_make_per_channel_quantized_tensor";
  quantized::quantized_of(op, self.scalar_type());
  if (axis < 0 && axis >= -self.dim()) axis += self.dim();
  QuantizerPtr quantizer = quantized::per_channel(op, scale, zero_point, axis, self.device());
  return fresh(quantized::make_quantized(at::clone(self), std::move(quantizer)));
}

}  // namespace at::native
