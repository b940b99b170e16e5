#include "compile/aot/runtime/tensors.h"

namespace torch::aot {

at::Tensor tensor_at(const void* data, at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType dtype) {
  const at::Device cpu(at::DeviceType::CPU);
  const size_t bytes = static_cast<size_t>(c10::checked_storage_nbytes(sizes, strides, 0, c10::elementSize(dtype)));
  auto storage =
      c10::make_intrusive<c10::StorageImpl>(bytes, c10::DataPtr(const_cast<void*>(data), cpu), nullptr, false);
  return at::Tensor(c10::TensorImpl::strided(std::move(storage), dtype, cpu, sizes, strides, 0));
}

void move_to(const at::Tensor& tensor, const void* data) {
  tensor.unsafeGetTensorImpl()->storage()->set_data_ptr(
      c10::DataPtr(const_cast<void*>(data), at::Device(at::DeviceType::CPU)));
}

void set_sizes(const at::Tensor& tensor, at::IntArrayRef sizes, at::IntArrayRef strides) {
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
}

}  // namespace torch::aot
