#include "data/detail/tensors_of.h"

#include "aten/ops/view/ops.h"
#include "c10/core/accelerator.h"
#include "c10/value/ivalue.h"

namespace torch::data::detail {

c10::IValue replaced(const c10::IValue& value, const TensorFunction& function) {
  if (value.isTensor()) return value.toTensor().defined() ? c10::IValue(function(value.toTensor())) : value;
  if (value.isTensorList()) {
    std::vector<at::Tensor> tensors = value.toTensorVector();
    for (at::Tensor& tensor : tensors) {
      if (tensor.defined()) tensor = function(tensor);
    }
    return c10::IValue(std::move(tensors));
  }
  if (value.isTuple() || (value.isList() && !value.isIntList() && !value.isDoubleList() && !value.isBoolList())) {
    const c10::ArrayRef<c10::IValue> all = value.isTuple() ? value.toTupleRef().elementsArrayRef() : value.toListRef();
    std::vector<c10::IValue> elements(all.begin(), all.end());
    for (c10::IValue& element : elements) element = replaced(element, function);
    return value.isTuple() ? c10::IValue(c10::ivalue::Tuple::create(std::move(elements)))
                           : c10::IValue(std::move(elements));
  }
  if (value.isGenericDict()) {
    const c10::Dict<c10::IValue, c10::IValue> dict = value.toGenericDict();
    c10::Dict<c10::IValue, c10::IValue> result(dict.keyType(), dict.valueType());
    for (const auto& entry : dict) result.insert(entry.key(), replaced(entry.value(), function));
    return c10::IValue(result);
  }
  return value;
}

TensorFunction pinning(const std::string& device) {
  return [device](const at::Tensor& tensor) {
    if (!tensor.is_cpu()) return tensor;
    const std::optional<c10::DeviceType> type = device.empty() ? at::getAccelerator() : c10::Device(device).type();
    const at::AcceleratorHooksInterface* const hooks = type ? at::detail::acceleratorHooks(*type) : nullptr;
    return hooks != nullptr && hooks->isAvailable() ? at::pin_memory(tensor, type) : tensor;
  };
}

}  // namespace torch::data::detail
