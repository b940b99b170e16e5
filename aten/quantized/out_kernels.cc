// Quantized tensors: operators of the family "quantized" into a tensor that is given.
#include <optional>

#include "aten/ops/creation/kernels.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/quantized/kernels.h"
#include "aten/ops/quantized/ops.h"
#include "aten/quantized/quantized_parts.h"

namespace at::native {

using quantized::give;
using quantized::give_dense;

// --- from numbers ---
Tensor& quantize_per_tensor_out_quantized(const Tensor& self, double scale, int64_t zero_point, ScalarType dtype,
                                          Tensor& out) {
  return give("quantize_per_tensor", out, at::quantize_per_tensor(self, scale, zero_point, dtype));
}
Tensor& quantize_per_tensor_tensor_qparams_out_quantized(const Tensor& self, const Tensor& scale,
                                                         const Tensor& zero_point, ScalarType dtype, Tensor& out) {
  return give("quantize_per_tensor", out, at::quantize_per_tensor(self, scale, zero_point, dtype));
}
void quantize_per_tensor_tensors_out_quantized(TensorList tensors, const Tensor& scales, const Tensor& zero_points,
                                               ScalarType dtype, TensorList out) {
  give("quantize_per_tensor", out, at::quantize_per_tensor(tensors, scales, zero_points, dtype));
}
Tensor& quantize_per_tensor_dynamic_out_quantized(const Tensor& self, ScalarType dtype, bool reduce_range,
                                                  Tensor& out) {
  return give("quantize_per_tensor_dynamic", out, at::quantize_per_tensor_dynamic(self, dtype, reduce_range));
}
Tensor& quantize_per_channel_out_quantized(const Tensor& self, const Tensor& scales, const Tensor& zero_points,
                                           int64_t axis, ScalarType dtype, Tensor& out) {
  return give("quantize_per_channel", out, at::quantize_per_channel(self, scales, zero_points, axis, dtype));
}

// --- from integers and from nothing ---
Tensor& _make_per_tensor_quantized_tensor_out_quantized(const Tensor& self, double scale, int64_t zero_point,
                                                        Tensor& out) {
  return give("_make_per_tensor_quantized_tensor", out, at::_make_per_tensor_quantized_tensor(self, scale, zero_point));
}
Tensor& _make_per_channel_quantized_tensor_out_quantized(const Tensor& self, const Tensor& scale,
                                                         const Tensor& zero_point, int64_t axis, Tensor& out) {
  return give("_make_per_channel_quantized_tensor", out,
              at::_make_per_channel_quantized_tensor(self, scale, zero_point, axis));
}
Tensor& _empty_affine_quantized_out_quantized(IntArrayRef size, double scale, int64_t zero_point,
                                              std::optional<MemoryFormat> memory_format, Tensor& out) {
  return give(
      "_empty_affine_quantized", out,
      at::_empty_affine_quantized(size, TensorOptions().dtype(out.scalar_type()), scale, zero_point, memory_format));
}
Tensor& _empty_per_channel_affine_quantized_out_quantized(IntArrayRef size, const Tensor& scales,
                                                          const Tensor& zero_points, int64_t axis,
                                                          std::optional<MemoryFormat> memory_format, Tensor& out) {
  return give("_empty_per_channel_affine_quantized", out,
              at::_empty_per_channel_affine_quantized(size, scales, zero_points, axis,
                                                      TensorOptions().dtype(out.scalar_type()), memory_format));
}
Tensor& empty_quantized_out_quantized(IntArrayRef size, const Tensor& qtensor,
                                      std::optional<MemoryFormat> memory_format, Tensor& out) {
  return give("empty_quantized", out, at::empty_quantized(size, qtensor, {}, memory_format));
}

// --- what is asked of them ---
Tensor& dequantize_out_quantized(const Tensor& self, Tensor& out) {
  return give_dense("dequantize", out, at::dequantize(self));
}
Tensor& int_repr_out_quantized(const Tensor& self, Tensor& out) {
  return give_dense("int_repr", out, at::int_repr(self));
}
Tensor& q_per_channel_scales_out_quantized(const Tensor& self, Tensor& out) {
  return give_dense("q_per_channel_scales", out, at::q_per_channel_scales(self));
}
Tensor& q_per_channel_zero_points_out_quantized(const Tensor& self, Tensor& out) {
  return give_dense("q_per_channel_zero_points", out, at::q_per_channel_zero_points(self));
}

// --- pooling and normalisation ---
Tensor& quantized_max_pool1d_out_quantized(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride,
                                           IntArrayRef padding, IntArrayRef dilation, bool ceil_mode, Tensor& out) {
  return give("quantized_max_pool1d", out,
              at::quantized_max_pool1d(self, kernel_size, stride, padding, dilation, ceil_mode));
}
Tensor& quantized_max_pool2d_out_quantized(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride,
                                           IntArrayRef padding, IntArrayRef dilation, bool ceil_mode, Tensor& out) {
  return give("quantized_max_pool2d", out,
              at::quantized_max_pool2d(self, kernel_size, stride, padding, dilation, ceil_mode));
}
Tensor& quantized_max_pool3d_out_quantized(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride,
                                           IntArrayRef padding, IntArrayRef dilation, bool ceil_mode, Tensor& out) {
  return give("quantized_max_pool3d", out,
              at::quantized_max_pool3d(self, kernel_size, stride, padding, dilation, ceil_mode));
}
Tensor& quantized_batch_norm_out_quantized(const Tensor& input, const std::optional<Tensor>& weight,
                                           const std::optional<Tensor>& bias, const Tensor& mean, const Tensor& var,
                                           double eps, double output_scale, int64_t output_zero_point, Tensor& out) {
  return give("quantized_batch_norm", out,
              at::quantized_batch_norm(input, weight, bias, mean, var, eps, output_scale, output_zero_point));
}

}  // namespace at::native
