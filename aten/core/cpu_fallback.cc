#include "aten/core/cpu_fallback.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "aten/core/boxing.h"
#include "aten/core/structured.h"
#include "aten/core/tensor.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

using c10::Argument;
using c10::IValue;
using c10::OperatorHandle;
using c10::Stack;

// A list of the same type, with f of each element.
template <class F>
IValue with_elements(const IValue& list, const F& f) {
  c10::impl::GenericList result(list.toList().elementType());
  for (const IValue& element : list.toListRef()) result.push_back(f(element));
  return IValue(std::move(result));
}

// One call: the arguments as they were given, and their copies on the CPU.
class FallbackCall {
 public:
  FallbackCall(const OperatorHandle& op, Stack& stack) : op_(op), stack_(stack) {}

  void run(bool error_on_views, c10::DispatchKey key) {
    const auto& arguments = op_.schema().arguments();
    const size_t first = stack_.size() - arguments.size();
    given_.assign(stack_.begin() + static_cast<ptrdiff_t>(first), stack_.end());
    for (size_t i = 0; i < arguments.size(); ++i) check_device(arguments[i], given_[i]);
    for (size_t i = 0; i < arguments.size(); ++i) stack_[first + i] = on_cpu(given_[i]);
    const std::vector<IValue> passed(stack_.begin() + static_cast<ptrdiff_t>(first), stack_.end());
    op_.redispatchBoxed(c10::DispatchKeySet(key), &stack_);
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].is_write()) write_back(given_[i], passed[i]);
    }
    const auto& returns = op_.schema().returns();
    for (size_t i = 0; i < returns.size(); ++i) {
      IValue& result = stack_[first + i];
      result = returns[i].is_write() ? written(returns[i], i) : to_device(returns[i], result, error_on_views);
    }
  }

 private:
  // --- which device ---
  void meet(const Tensor& t) {
    one_device_.meet(t);
    if (!device_.has_value() && !t.is_cpu()) device_ = t.device();
  }
  void check_device(const Argument& argument, const IValue& value) {
    if (value.isTensor()) {
      meet(value.toTensor());
    } else if (value.isList() && !argument.shape().element_optional) {
      for (const IValue& element : value.toListRef()) {
        if (element.isTensor()) meet(element.toTensor());
      }
    } else if (value.isList()) {
      for (const IValue& element : value.toListRef()) {
        if (element.isTensor() && !element.toTensor().is_cpu() && !device_.has_value()) device_ = element.toTensor().device();
      }
    } else if (value.isDevice() && !value.toDevice().is_cpu() && !device_.has_value()) {
      device_ = value.toDevice();
    }
    if (value.isGenerator()) {
      const Device device = value.toGenerator().device();
      TORCH_CHECK_NOT_IMPLEMENTED(device.is_cpu(), op_.schema().qualified_name(), ": the ", device.type(),
                                  " backend has no kernel for it, and the CPU's cannot draw from a generator of ", device);
    }
  }

  // --- arguments ---
  Tensor copy_to_cpu(const Tensor& t) {
    if (t.is_cpu()) return t;
    for (const auto& [impl, copy] : copies_) {
      if (impl == t.unsafeGetTensorImpl()) return copy;
    }
    Tensor copy = at::_to_copy(t, TensorOptions().device(kCPU));
    copies_.emplace_back(t.unsafeGetTensorImpl(), copy);
    return copy;
  }
  IValue on_cpu(const IValue& value) {
    if (value.isTensor()) return IValue(copy_to_cpu(value.toTensor()));
    if (value.isDevice()) return IValue(Device(kCPU));
    return value.isList() ? with_elements(value, [this](const IValue& element) { return on_cpu(element); }) : value;
  }

  // --- results ---
  static void write_back(const IValue& given, const IValue& passed) {
    if (given.isTensor()) {
      Tensor target = given.toTensor();
      const Tensor result = passed.toTensor();
      if (target.is_cpu()) return;
      if (target.sizes() != result.sizes()) at::resize_(target, result.sizes());
      at::copy_(target, result);
    } else if (given.isList()) {
      const auto &targets = given.toListRef(), &results = passed.toListRef();
      for (size_t i = 0; i < targets.size(); ++i) write_back(targets[i], results[i]);
    }
  }
  // A result that is one of the arguments: the one of the same alias set.
  IValue written(const Argument& result, size_t index) const {
    const auto& arguments = op_.schema().arguments();
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].is_write() && arguments[i].alias() == result.alias()) return given_[i];
    }
    TORCH_INTERNAL_ASSERT(false, op_.schema().qualified_name(), ": result ", index, " is none of the arguments");
    return IValue();
  }
  IValue to_device(const Argument& declared, const IValue& value, bool error_on_views) {
    if (!device_.has_value() || !(value.isTensor() || value.isList())) return value;
    TORCH_CHECK(!error_on_views || declared.alias().empty(), op_.schema().qualified_name(), ": the ", device_->type(),
                " backend has no kernel for this view, and a copy of a tensor on the CPU is none");
    return moved(value);
  }
  IValue moved(const IValue& value) const {
    if (value.isTensor()) return IValue(at::_to_copy(value.toTensor(), TensorOptions().device(*device_)));
    return value.isList() ? with_elements(value, [this](const IValue& element) { return moved(element); }) : value;
  }

  const OperatorHandle& op_;
  Stack& stack_;
  std::vector<IValue> given_;
  std::vector<std::pair<TensorImpl*, Tensor>> copies_;
  std::optional<Device> device_;
  structured::OneDevice one_device_;
};

}  // namespace

void cpu_fallback(const OperatorHandle& op, Stack* stack, bool error_on_views, c10::DispatchKey cpu_dispatch_key) {
  FallbackCall(op, *stack).run(error_on_views, cpu_dispatch_key);
}

}  // namespace at::native
