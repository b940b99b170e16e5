#include "aten/core/wrapper_tensor.h"

#include "aten/core/view.h"

namespace at {
namespace {

using c10::DispatchKey;
using c10::DispatchKeySet;
using c10::IValue;
using c10::Stack;

const WrapperTensorImpl* first_wrapper(c10::ArrayRef<IValue> values) {
  for (const IValue& value : values) {
    if (value.isTensor()) {
      if (const WrapperTensorImpl* wrapper = wrapper_of(value.toTensor())) return wrapper;
    } else if (value.isList()) {
      if (const WrapperTensorImpl* wrapper = first_wrapper(value.toListRef())) return wrapper;
    }
  }
  return nullptr;
}

void count_write(const IValue& value) {
  if (value.isTensor()) {
    if (wrapper_of(value.toTensor()) != nullptr) value.unsafe_tensor_impl()->bump_version();
  } else if (value.isList()) {
    for (const IValue& element : value.toListRef()) count_write(element);
  }
}

// `result` as a view of `self`, as the kernels of views make it.
IValue tracked(const Tensor& self, const Tensor& result, bool multi_output) {
  if (wrapper_of(result) == nullptr || result.is_view()) return result;
  auto impl = result.getIntrusivePtr();
  if (result.is_same(self)) impl = impl->shallow_copy();
  return detail::tracked_view(self, std::move(impl), multi_output);
}

IValue tracked(const Tensor& self, const IValue& result) {
  if (result.isTensor()) return tracked(self, result.toTensor(), false);
  if (!result.isList()) return result;
  c10::impl::GenericList views(result.toList().elementType());
  for (const IValue& element : result.toListRef()) {
    views.push_back(element.isTensor() ? tracked(self, element.toTensor(), true) : element);
  }
  return IValue(views);
}

// Makes the results what the schema says they are: arguments that were written to, or views of an argument. A view
// without a derivative (detach) is in no graph.
void keep_aliases(const c10::OperatorHandle& op, const Stack& arguments, Stack& results) {
  const c10::FunctionSchema& schema = op.schema();
  const bool tracks = op.op().differentiation != c10::Differentiation::kNone;
  for (size_t i = 0; i < schema.returns().size() && i < results.size(); ++i) {
    const c10::Argument& result = schema.returns()[i];
    if (result.alias().empty()) continue;
    for (size_t j = 0; j < schema.arguments().size(); ++j) {
      if (schema.arguments()[j].alias() != result.alias()) continue;
      if (result.is_write()) {
        results[i] = arguments[j];
      } else if (tracks && arguments[j].isTensor()) {
        results[i] = tracked(arguments[j].toTensor(), results[i]);
      }
      break;
    }
  }
  for (size_t j = 0; j < schema.arguments().size(); ++j) {
    if (schema.arguments()[j].is_write()) count_write(arguments[j]);
  }
}

// Whether keep_aliases() has something to do.
bool has_aliases(const c10::FunctionSchema& schema) {
  const auto has_alias = [](const c10::Argument& argument) { return argument.alias_info() != nullptr; };
  return std::any_of(schema.returns().begin(), schema.returns().end(), has_alias) ||
         std::any_of(schema.arguments().begin(), schema.arguments().end(), has_alias);
}

void handle(void*, const c10::OperatorHandle& op, DispatchKeySet keys, Stack* stack) {
  const DispatchKeySet below = keys.remove(DispatchKey::Wrapper);
  const WrapperTensorImpl* wrapper = first_wrapper(*stack);
  if (wrapper == nullptr) return op.redispatchBoxed(below, stack);
  // The handler takes it off the stack.
  const auto alive = c10::intrusive_ptr<WrapperTensorImpl>::reclaim_copy(const_cast<WrapperTensorImpl*>(wrapper));
  if (!has_aliases(op.schema())) return wrapper->handle(op, below, stack);
  const Stack arguments = *stack;
  wrapper->handle(op, below, stack);
  keep_aliases(op, arguments, *stack);
}

constexpr c10::BoxedKernel kHandler{&handle, nullptr};

}  // namespace

WrapperTensorImpl::WrapperTensorImpl(const TensorBase& like)
    : WrapperTensorImpl(like.scalar_type(), like.device(), like.sizes(), like.strides()) {
  set_storage_offset(like.storage_offset());
}

WrapperTensorImpl::WrapperTensorImpl(ScalarType dtype, Device device, IntArrayRef sizes, IntArrayRef strides)
    : TensorImpl(c10::backend_key_set(device).add(DispatchKey::Wrapper), dtype, device, Layout::Strided, sizes, strides) {
  c10::detail::set_fallback(DispatchKey::Wrapper, &kHandler);
}

const WrapperTensorImpl* wrapper_of(const TensorBase& t) {
  if (!t.defined() || !t.key_set().has(DispatchKey::Wrapper)) return nullptr;
  return dynamic_cast<const WrapperTensorImpl*>(t.unsafeGetTensorImpl());
}

}  // namespace at
