// Tensors, storages and generators as values.
#include "aten/core/tensor.h"
#include "c10/core/generator.h"
#include "c10/core/storage.h"
#include "c10/core/tensor_impl.h"
#include "c10/value/ivalue.h"

namespace c10 {

at::Tensor IValue::toTensor() const& {
  TensorImpl* impl = unsafe_tensor_impl();
  return impl == nullptr ? at::Tensor() : at::Tensor(intrusive_ptr<TensorImpl>::reclaim_copy(impl));
}

at::Tensor IValue::toTensor() && {
  TensorImpl* impl = unsafe_tensor_impl();
  if (impl == nullptr) return at::Tensor();
  tag_ = Tag::None;
  return at::Tensor(intrusive_ptr<TensorImpl>::reclaim(impl));
}

Storage IValue::toStorage() const { return Storage(shared<StorageImpl>(Tag::Storage)); }

at::Generator IValue::toGenerator() const { return at::Generator(shared<GeneratorImpl>(Tag::Generator)); }

List<at::Tensor> IValue::toTensorList() const {
  if (!isTensorList()) wrong_list("TensorList");
  return List<at::Tensor>(shared<detail::ListImpl>(Tag::GenericList));
}

List<std::optional<at::Tensor>> IValue::toOptionalTensorList() const {
  if (!isOptionalTensorList() && !isTensorList()) wrong_list("OptionalTensorList");
  return List<std::optional<at::Tensor>>(shared<detail::ListImpl>(Tag::GenericList));
}

std::vector<at::Tensor> IValue::toTensorVector() const { return to<std::vector<at::Tensor>>(); }

std::vector<std::optional<at::Tensor>> IValue::toOptionalTensorVector() const {
  return to<std::vector<std::optional<at::Tensor>>>();
}

}  // namespace c10
