// torch::overrides: tensors of your own kind, and handlers of all operators. Python has __torch_dispatch__ and
// __torch_function__ for this; here a class derives from at::WrapperTensorImpl (what operators do with a tensor) or
// at::DispatchMode (what operators do on a thread). docs/overrides.md has examples.
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "aten/core/dispatch_mode.h"
#include "aten/core/wrapper_tensor.h"
#include "c10/util/exception.h"

namespace torch::overrides {

/// A mode of your own derives from it; at::DispatchModeGuard pushes it.
using TorchDispatchMode = at::DispatchMode;
using TorchDispatchModeGuard = at::DispatchModeGuard;
/// A kind of tensor of your own derives from it, or from TensorSubclass.
using WrapperTensorImpl = at::WrapperTensorImpl;

/// A kind of tensor that holds one other tensor, `Self` being the class that derives from this. It does nothing else
/// than the tensor that it holds: handle(), which is called for every operator below autograd, calls the operator on
/// what is held, and the results are of the kind, too. Override handle() and call run() in it.
///
///   struct Counted final : torch::overrides::TensorSubclass<Counted> {
///     using TensorSubclass::TensorSubclass;
///     void handle(const c10::OperatorHandle& op, c10::DispatchKeySet, c10::Stack* stack) const override {
///       ++calls[toString(op.operator_name())];
///       run(op, stack);
///     }
///     static inline std::map<std::string, int> calls;
///   };
///   at::Tensor x = Counted::wrap(torch::ones({3}));
///   (x * 2).sum();                   // calls: aten::mul.Tensor, aten::sum
///
/// Fields of `Self` are not carried to results; run() may be followed by what sets them.
template <class Self>
class TensorSubclass : public at::WrapperTensorImpl {
 public:
  explicit TensorSubclass(at::Tensor inner) : WrapperTensorImpl(inner), inner_(std::move(inner)) {}

  /// A tensor of the kind. Undefined tensors stay undefined.
  static at::Tensor wrap(const at::Tensor& inner) {
    return inner.defined() ? at::Tensor(c10::make_intrusive<Self>(inner)) : inner;
  }
  /// What a tensor of the kind holds; other tensors are what they are.
  static at::Tensor unwrap(const at::Tensor& tensor) {
    const Self* self = at::wrapper_of<Self>(tensor);
    return self != nullptr ? self->inner() : tensor;
  }
  static bool is_instance(const at::TensorBase& tensor) { return at::wrapper_of<Self>(tensor) != nullptr; }
  const at::Tensor& inner() const { return inner_; }

  void handle(const c10::OperatorHandle& op, c10::DispatchKeySet, c10::Stack* stack) const override { run(op, stack); }

  c10::intrusive_ptr<c10::TensorImpl> shallow_copy() const override {
    auto copy = c10::make_intrusive<Self>(at::Tensor(inner_.unsafeGetTensorImpl()->shallow_copy()));
    copy->copy_metadata_from(*this);
    return copy;
  }
  void shallow_copy_from(const c10::TensorImpl& other) override {
    WrapperTensorImpl::shallow_copy_from(other);
    inner_ = static_cast<const Self&>(other).inner();
  }

 protected:
  /// Replaces the arguments on the stack by the results: the operator on what they hold, wrapped again. What is resized
  /// in place is resized here, too.
  static void run(const c10::OperatorHandle& op, c10::Stack* stack) {
    const c10::Stack before = *stack;
    at::transform_tensors(*stack, [](const at::Tensor& t) { return unwrap(t); });
    op.callBoxed(*stack);
    at::transform_tensors(*stack, [](const at::Tensor& t) { return wrap(t); });
    const auto& arguments = op.schema().arguments();
    for (size_t i = 0; i < arguments.size() && i < before.size(); ++i) {
      if (!arguments[i].is_write() || !before[i].isTensor()) continue;
      const at::Tensor written = before[i].toTensor();
      const Self* self = at::wrapper_of<Self>(written);
      if (self == nullptr || (self->sizes() == self->inner().sizes() && self->strides() == self->inner().strides()))
        continue;
      written.unsafeGetTensorImpl()->set_sizes_and_strides(self->inner().sizes(), self->inner().strides());
    }
  }

 private:
  at::Tensor inner_;
};

/// Whether a tensor is of a kind of somebody's own: operators on it go to a handler.
inline bool is_tensor_subclass(const at::TensorBase& tensor) {
  return at::wrapper_of(tensor) != nullptr;
}

/// The name that a handler sees an operator by, "aten::add.Tensor".
inline std::string resolve_name(const c10::OperatorHandle& op) {
  return toString(op.operator_name());
}

}  // namespace torch::overrides
