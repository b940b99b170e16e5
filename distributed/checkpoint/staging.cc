#include "distributed/checkpoint/staging.h"

#include <utility>
#include <vector>

#include "aten/core/empty.h"
#include "aten/ops/copy/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "distributed/tensor/dtensor.h"

namespace torch::distributed::checkpoint {

using at::Tensor;
using c10::IValue;

Tensor BlockingAsyncStager::copy_of(const std::string& name, const Tensor& tensor) {
  if (const tensor::DTensorImpl* impl = tensor::detail::impl_of(tensor)) {
    return tensor::detail::wrap(copy_of(name, impl->local()), impl->spec());
  }
  TORCH_CHECK_TYPE(tensor.layout() == c10::Layout::Strided, "async_save: '", name, "' has the layout ", tensor.layout(),
                   ", which a checkpoint does not have");
  Tensor& kept = kept_[name];
  if (!kept.defined() || kept.sizes() != tensor.sizes() || kept.scalar_type() != tensor.scalar_type()) {
    kept = at::empty_contiguous(tensor.sizes(), tensor.scalar_type());
  }
  kept.copy_(tensor.detach());
  return kept;
}

IValue BlockingAsyncStager::copy_of(const std::string& name, const IValue& value) {
  if (value.isTensor()) return copy_of(name, value.toTensor());
  if (value.isGenericDict()) {
    c10::Dict<IValue, IValue> dict;
    for (const auto& entry : value.toGenericDict()) {
      const IValue key = entry.key();
      const std::string below = key.isString() ? key.toStringRef() : key.isInt() ? std::to_string(key.toInt()) : "";
      dict.insert(key, copy_of(name + "." + below, entry.value()));
    }
    return dict;
  }
  if (!value.isList() && !value.isTuple()) return value;
  std::vector<IValue> elements;
  for (const IValue& element : value.isList() ? value.toListRef() : value.toTupleRef().elements()) {
    elements.push_back(copy_of(c10::str(name, ".", elements.size()), element));
  }
  return value.isList() ? IValue(std::move(elements)) : IValue(c10::ivalue::Tuple::create(std::move(elements)));
}

StateDict BlockingAsyncStager::stage(const StateDict& state_dict) {
  const c10::NoGradGuard no_grad;
  StateDict staged;
  for (const auto& [name, value] : state_dict.items()) staged.set(name, copy_of(name, value.value));
  if (!cache_) kept_.clear();
  return staged;
}

}  // namespace torch::distributed::checkpoint
