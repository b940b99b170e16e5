// Moving tensors between devices and dtypes by name.
#include "aten/core/tensor.h"
#include "aten/ops/copy/ops.h"

namespace at {
namespace {

Tensor to_device(const Tensor& self, DeviceType type) {
  if (self.device().type() == type) return self;
  return at::_to_copy(self, self.options().device(Device(type)));
}

}  // namespace

Tensor Tensor::cpu() const {
  return to_device(*this, DeviceType::CPU);
}

Tensor Tensor::cuda() const {
  return to_device(*this, DeviceType::CUDA);
}

Tensor Tensor::meta() const {
  return to_device(*this, DeviceType::Meta);
}

Tensor Tensor::toType(ScalarType dtype) const {
  if (scalar_type() == dtype) return *this;
  return at::_to_copy(*this, options().dtype(dtype));
}

Tensor Tensor::to(caffe2::TypeMeta dtype, bool non_blocking, bool copy) const {
  return at::to(*this, dtype.toScalarType(), non_blocking, copy);
}

Tensor Tensor::to(Device device, caffe2::TypeMeta dtype, bool non_blocking, bool copy) const {
  return at::to(*this, device, dtype.toScalarType(), non_blocking, copy);
}

}  // namespace at
