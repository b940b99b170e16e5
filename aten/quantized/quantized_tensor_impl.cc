#include "aten/quantized/quantized_tensor_impl.h"

#include <utility>

#include "c10/util/exception.h"

namespace at {
namespace {

DispatchKeySet quantized_keys(Device device) {
  TORCH_CHECK_NOT_IMPLEMENTED(device.is_cpu() || device.is_cuda(), "quantized tensors are not implemented for ",
                              device.type(), " devices");
  return device.is_cpu() ? DispatchKey::QuantizedCPU : DispatchKey::QuantizedCUDA;
}

}  // namespace

QTensorImpl::QTensorImpl(intrusive_ptr<StorageImpl> storage, ScalarType dtype, Device device, IntArrayRef sizes,
                         IntArrayRef strides, int64_t storage_offset, QuantizerPtr quantizer)
    : TensorImpl(quantized_keys(device), dtype, device, Layout::Strided, sizes, strides),
      quantizer_(std::move(quantizer)) {
  set_storage(std::move(storage));
  set_storage_offset(storage_offset);
  // Versions are counted in the storage, which views share.
  set_version_counter({});
}

c10::intrusive_ptr<c10::TensorImpl> QTensorImpl::shallow_copy() const {
  auto copy =
      c10::make_intrusive<QTensorImpl>(storage(), dtype(), device(), sizes(), strides(), storage_offset(), quantizer_);
  copy->copy_metadata_from(*this);
  return copy;
}

void QTensorImpl::shallow_copy_from(const c10::TensorImpl& other) {
  TensorImpl::shallow_copy_from(other);
  quantizer_ = static_cast<const QTensorImpl&>(other).quantizer_;
}

namespace quantized {

QTensorImpl& impl_of(const char* op, const Tensor& t) {
  TORCH_CHECK(t.defined() && t.key_set().has_any(c10::quantized_ks), op, ": expected a quantized tensor, but got ",
              t.defined() ? std::string("a ") + c10::toString(t.scalar_type()) + " one" : "an undefined one");
  return static_cast<QTensorImpl&>(*t.unsafeGetTensorImpl());
}

ScalarType integers_of(const char* op, ScalarType quantized) {
  switch (quantized) {
    case ScalarType::QUInt8:
      return ScalarType::Byte;
    case ScalarType::QInt8:
      return ScalarType::Char;
    case ScalarType::QInt32:
      return ScalarType::Int;
    default:
      TORCH_CHECK(false, op, ": expected a quantized dtype (QUInt8, QInt8, QInt32), but got ", quantized);
  }
}

ScalarType quantized_of(const char* op, ScalarType integers) {
  switch (integers) {
    case ScalarType::Byte:
      return ScalarType::QUInt8;
    case ScalarType::Char:
      return ScalarType::QInt8;
    case ScalarType::Int:
      return ScalarType::QInt32;
    default:
      TORCH_CHECK(false, op, ": expected integers of dtype Byte, Char or Int, but got ", integers);
  }
}

Tensor integers(const char* op, const Tensor& t) {
  const QTensorImpl& impl = impl_of(op, t);
  auto dense = TensorImpl::strided(impl.storage(), integers_of(op, impl.dtype()), impl.device(), impl.sizes(),
                                   impl.strides(), impl.storage_offset());
  dense->set_inference(impl.is_inference());
  return Tensor(std::move(dense));
}

Tensor make_quantized(const Tensor& integers, QuantizerPtr quantizer) {
  const TensorImpl& impl = *integers.unsafeGetTensorImpl();
  return Tensor(c10::make_intrusive<QTensorImpl>(impl.storage(), quantized_of("make_quantized", impl.dtype()),
                                                 impl.device(), impl.sizes(), impl.strides(), impl.storage_offset(),
                                                 std::move(quantizer)));
}

}  // namespace quantized
}  // namespace at
