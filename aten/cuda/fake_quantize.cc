// Fake quantization of CUDA tensors; scales and zero points stay on the device.
#include "aten/core/tensor.h"
#include "aten/core/view.h"
#include "aten/cpu/pointwise.h"
#include "aten/cuda/elementwise.h"
#include "aten/cuda/mixed_kernels.h"
#include "aten/ops/quantized/kernels.h"

namespace at::native {
namespace {

void fake_quantize(const char* op, const Tensor& self, const pointwise::Input& scale,
                   const pointwise::Input& zero_point, const pointwise::Input& enabled, bool whole, int64_t quant_min,
                   int64_t quant_max, Tensor& output, Tensor& mask) {
  const ScalarType compute = cpu::compute_type(self.scalar_type());
  const pointwise::Params params(compute, {Scalar(quant_min), Scalar(quant_max), Scalar(whole ? 1 : 0)});
  // The mask first: the result may be written over self.
  cuda::elementwise(op, cuda::kFakeQuantizeMaskKernels, compute, params.get(), mask,
                    {self, scale, zero_point, enabled});
  cuda::elementwise(op, cuda::kFakeQuantizeKernels, compute, params.get(), output, {self, scale, zero_point, enabled});
}

// One element for all.
Tensor single(const Tensor& t) {
  return make_view(t, {}, {}, t.storage_offset());
}
// One for each index of a dimension.
Tensor along(const Tensor& t, int64_t axis, int64_t dims) {
  DimVector sizes(static_cast<size_t>(dims), 1), strides(static_cast<size_t>(dims), 1);
  sizes[static_cast<size_t>(axis)] = t.numel();
  strides[static_cast<size_t>(axis)] = t.strides()[0];
  return make_view(t, sizes, strides, t.storage_offset());
}

}  // namespace

void fake_quantize_per_tensor_affine_cachemask_cuda(const Tensor& self, double scale, int64_t zero_point,
                                                    int64_t quant_min, int64_t quant_max, Tensor& output,
                                                    Tensor& mask) {
  fake_quantize("fake_quantize_per_tensor_affine_cachemask", self,
                Scalar(static_cast<double>(static_cast<float>(scale))), Scalar(zero_point), Scalar(1), true, quant_min,
                quant_max, output, mask);
}
void fake_quantize_tensor_qparams_cuda(const Tensor& self, const Tensor& scale, const Tensor& zero_point,
                                       const Tensor& fake_quant_enabled, int64_t quant_min, int64_t quant_max,
                                       Tensor& output, Tensor& mask) {
  fake_quantize("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams", self, single(scale), single(zero_point),
                single(fake_quant_enabled), true, quant_min, quant_max, output, mask);
}
void fake_quantize_per_channel_affine_cachemask_cuda(const Tensor& self, const Tensor& scale, const Tensor& zero_point,
                                                     int64_t axis, int64_t quant_min, int64_t quant_max, Tensor& output,
                                                     Tensor& mask) {
  fake_quantize("fake_quantize_per_channel_affine_cachemask", self, along(scale, axis, self.dim()),
                along(zero_point, axis, self.dim()), Scalar(1), !zero_point.is_floating_point(), quant_min, quant_max,
                output, mask);
}

}  // namespace at::native
