#pragma once

#include <algorithm>
#include <utility>

#include "aten/core/boxing.h"
#include "aten/core/tensor.h"
#include "c10/dispatch/registry.h"

namespace at {

/// A tensor that holds other tensors and says itself what operators do with it: shards of a distributed tensor, a tensor that
/// logs or counts, one that computes its values when they are asked for. Derive from it, hold the inner tensors, and
/// implement handle() and shallow_copy():
///
///   class LoggingTensor final : public at::WrapperTensorImpl {
///    public:
///     explicit LoggingTensor(at::Tensor inner) : WrapperTensorImpl(inner), inner_(std::move(inner)) {}
///     void handle(const c10::OperatorHandle& op, c10::DispatchKeySet, c10::Stack* stack) const override {
///       log(toString(op.operator_name()));
///       at::transform_tensors(*stack, [](const at::Tensor& t) { return unwrapped(t); });
///       op.callBoxed(stack);
///       at::transform_tensors(*stack, [](const at::Tensor& t) { return wrapped(t); });
///     }
///     c10::intrusive_ptr<c10::TensorImpl> shallow_copy() const override { ... }
///   };
///
/// Such a tensor has sizes, strides, a dtype and a device, but no storage: data_ptr() throws. It lies below autograd: operators
/// record gradients as usual, and a gradient may be such a tensor too. What a handler returns for an in-place or an out= form
/// is replaced by the tensor that was written to, whose version is counted; what it returns for a view is tracked as a view.
class WrapperTensorImpl : public c10::TensorImpl {
 public:
  /// Looks like `like`: its sizes, strides, storage offset, dtype and device.
  explicit WrapperTensorImpl(const TensorBase& like);
  WrapperTensorImpl(ScalarType dtype, Device device, IntArrayRef sizes, IntArrayRef strides);

  /// Replaces the arguments on the stack, of which at least one is this tensor or in a list with it, by the results. Inner
  /// tensors take part in no recording unless it was recorded for them before.
  virtual void handle(const c10::OperatorHandle& op, c10::DispatchKeySet keys, c10::Stack* stack) const = 0;

  c10::intrusive_ptr<c10::TensorImpl> shallow_copy() const override = 0;
  const char* kind() const override { return "WrapperTensor"; }
};

/// The wrapper behind a tensor; null for other tensors.
const WrapperTensorImpl* wrapper_of(const TensorBase& t);
/// The same, where it is an Impl.
template <class Impl>
const Impl* wrapper_of(const TensorBase& t) {
  return dynamic_cast<const Impl*>(wrapper_of(t));
}

/// Replaces every tensor among the values, in lists too, by f(tensor).
template <class F>
void transform_tensors(c10::Stack& values, const F& f) {
  for (c10::IValue& value : values) {
    if (value.isTensor()) {
      value = c10::IValue(f(std::move(value).toTensor()));
    } else if (value.isList()) {
      const auto holds_some = [](const c10::IValue& element) { return element.isTensor() || element.isList(); };
      const auto list_of_value = value.toListRef();
      if (std::none_of(list_of_value.begin(), list_of_value.end(), holds_some)) continue;
      c10::Stack elements = list_of_value.vec();
      transform_tensors(elements, f);
      c10::impl::GenericList list(value.toList().elementType());
      for (const c10::IValue& element : elements) list.push_back(element);
      value = c10::IValue(list);
    }
  }
}

}  // namespace at
