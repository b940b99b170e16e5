// Moving tensors between devices and dtypes by name.
#include "aten/core/tensor.h"
#include "aten/ops/copy/ops.h"
#include "c10/core/backend.h"
#include "c10/util/maybe_owned.h"

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

Tensor Tensor::toBackend(Backend backend) const {
  const DeviceType type = backendToDeviceType(backend);
  TORCH_CHECK(layout_from_backend(backend) == layout(), "toBackend: a tensor of layout ", layout(),
              " does not become one of ", c10::toString(backend));
  return to_device(*this, type);
}

MaybeOwned<Tensor> Tensor::expect_contiguous(MemoryFormat memory_format) const& {
  if (is_contiguous(memory_format)) return MaybeOwned<Tensor>::borrowed(*this);
  return MaybeOwned<Tensor>::owned(at::clone(*this, memory_format));
}

}  // namespace at
