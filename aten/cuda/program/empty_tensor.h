// Uninitialised tensors of CUDA devices, by libtorch's names. Without a device: the current one.
#pragma once

#include <optional>

#include "aten/core/empty.h"
#include "c10/cuda/device.h"

namespace at::detail {

inline Device cuda_device_or_current(std::optional<Device> device) {
  TORCH_CHECK(!device.has_value() || device->is_cuda(), "expected a CUDA device, but got ", *device);
  return device.has_value() && device->has_index() ? *device : Device(kCUDA, c10::cuda::current_device());
}

inline TensorBase empty_strided_cuda(IntArrayRef size, IntArrayRef stride, ScalarType dtype,
                                     std::optional<Device> device_opt) {
  return empty_with_strides(size, stride, dtype, cuda_device_or_current(device_opt));
}
inline TensorBase empty_cuda(IntArrayRef size, ScalarType dtype, std::optional<Device> device_opt,
                             std::optional<c10::MemoryFormat> memory_format_opt) {
  const MemoryFormat format = memory_format_opt.value_or(MemoryFormat::Contiguous);
  return empty_strided_cuda(size, strides_of_format(size, format), dtype, device_opt);
}
inline TensorBase empty_cuda(IntArrayRef size, const TensorOptions& options) {
  return empty_cuda(size, c10::typeMetaToScalarType(options.dtype()), options.device(), options.memory_format_opt());
}

}  // namespace at::detail
