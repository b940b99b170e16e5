#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "aten/core/tensor.h"
#include "stable/device.h"
#include "stable/headeronly_core.h"
#include "stable/shim.h"

namespace torch::stable {

using torch::headeronly::IntHeaderOnlyArrayRef;
using torch::headeronly::Layout;
using torch::headeronly::ScalarType;

/// A tensor of the stable interface: a counted handle, whose copies are the same tensor. Its methods are at::Tensor's; what else
/// can be done with it stands in stable/ops.h.
class Tensor {
 public:
  /// A tensor that is not defined.
  Tensor() : Tensor(at::Tensor()) {}
  /// Takes the handle over.
  explicit Tensor(AtenTensorHandle ath)
      : tensor_(reinterpret_cast<at::Tensor*>(ath)) {}
  explicit Tensor(at::Tensor tensor) : tensor_(std::make_shared<at::Tensor>(std::move(tensor))) {}

  /// The handle, which stays this object's.
  AtenTensorHandle get() const { return reinterpret_cast<AtenTensorHandle>(tensor_.get()); }

  void* data_ptr() const { return tensor_->data_ptr(); }
  void* mutable_data_ptr() const { return tensor_->mutable_data_ptr(); }
  const void* const_data_ptr() const { return tensor_->const_data_ptr(); }
  /// Throws c10::Error where T is not the type of the elements.
  template <class T>
  T* mutable_data_ptr() const {
    return tensor_->mutable_data_ptr<T>();
  }
  template <class T>
  const T* const_data_ptr() const {
    return tensor_->const_data_ptr<T>();
  }

  const Tensor& set_requires_grad(bool requires_grad) const {
    tensor_->set_requires_grad(requires_grad);
    return *this;
  }
  int64_t dim() const { return tensor_->dim(); }
  int64_t numel() const { return tensor_->numel(); }
  IntHeaderOnlyArrayRef sizes() const { return tensor_->sizes(); }
  IntHeaderOnlyArrayRef strides() const { return tensor_->strides(); }
  int64_t size(int64_t dim) const { return tensor_->size(dim); }
  int64_t stride(int64_t dim) const { return tensor_->stride(dim); }
  bool is_contiguous() const { return tensor_->is_contiguous(); }
  int8_t get_device() const { return static_cast<int8_t>(tensor_->get_device()); }
  DeviceIndex get_device_index() const { return static_cast<DeviceIndex>(tensor_->get_device()); }
  bool is_cuda() const { return tensor_->is_cuda(); }
  bool is_cpu() const { return tensor_->is_cpu(); }
  bool defined() const { return tensor_->defined(); }
  bool has_storage() const { return tensor_->has_storage(); }
  int64_t storage_offset() const { return tensor_->storage_offset(); }
  size_t element_size() const { return static_cast<size_t>(tensor_->element_size()); }
  ScalarType scalar_type() const { return tensor_->scalar_type(); }
  Device device() const { return Device(tensor_->device().type(), tensor_->device().index()); }
  Layout layout() const { return tensor_->layout(); }

 private:
  std::shared_ptr<at::Tensor> tensor_;
};

namespace detail {
inline at::Tensor& unwrap(const Tensor& t) { return *reinterpret_cast<at::Tensor*>(t.get()); }
}  // namespace detail

}  // namespace torch::stable
